//! Audit: every difference between the manual and the GPU must belong to an erratum that predicts it.
//!
//! For each recorded form: the `sm_90` profile must give the recorded bits; where the `isa` profile gives others, an erratum must cover
//! the form, and the `isa` bits must be what an independent reading of the manual gives.

use crate::cases::{Case, cases};
use crate::file::Recorded;
use crate::generate::{Program, programs_of};
use crate::replay::{
    Difference, Job, Selection, Vector, Verdict, Why, compare, in_parallel, run, small_device,
};
use crate::vectors::ALL;
use hostwarp::{Effort, Engine, ErrorKind, Profile};
use hostwarp_isa::{Erratum, Instance, Ty, errata};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// What the manual says a form gives for these source operands, from somebody who shares no code with the engines; `None` for a form
/// the manual does not have.
pub type Manual<'a> = dyn Fn(&str) -> Option<Reading> + Sync + 'a;

/// What one form gives for source operands, in the order of the text: one value for each destination.
pub type Reading = Box<dyn Fn(&[u64]) -> Vec<u64>>;

/// How far an erratum reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reach {
    /// Recorded forms whose condition it fulfils.
    pub covered: usize,
    /// Of these, forms where GPU and manual differ on some recorded vector.
    pub differing: usize,
}

/// What an audit found.
#[derive(Debug, Default)]
pub struct Audit {
    /// Forms looked at.
    pub forms: usize,
    /// Forms on which manual and GPU differ, by opcode.
    pub departing: BTreeMap<String, usize>,
    /// By the id of the erratum.
    pub reach: BTreeMap<String, Reach>,
    /// The `sm_90` profile does not give the recorded bits.
    pub mispredicted: Vec<Difference>,
    /// The `isa` profile differs from the GPU and no erratum covers the form.
    pub unexplained: Vec<Difference>,
    /// The `isa` profile differs from the GPU, but is not what the manual says.
    pub unmanual: Vec<Difference>,
}

impl Audit {
    /// Every difference is explained.
    pub fn is_clean(&self) -> bool {
        self.mispredicted.is_empty() && self.unexplained.is_empty() && self.unmanual.is_empty()
    }

    fn add(&mut self, other: Audit) {
        self.forms += other.forms;
        for (opcode, n) in other.departing {
            *self.departing.entry(opcode).or_default() += n;
        }
        for (id, r) in other.reach {
            let sum = self.reach.entry(id).or_default();
            sum.covered += r.covered;
            sum.differing += r.differing;
        }
        self.mispredicted.extend(other.mispredicted);
        self.unexplained.extend(other.unexplained);
        self.unmanual.extend(other.unmanual);
    }
}

/// Audits what is recorded in `dir`, on the reference engine.
pub fn audit(dir: &Path, selection: &Selection, manual: &Manual<'_>) -> Result<Audit, String> {
    let jobs = Job::all(dir, selection)?;
    let work: Vec<(&Job, &Program)> =
        jobs.iter().flat_map(|job| job.programs.iter().map(move |p| (job, p))).collect();
    let found = in_parallel(work.len(), |i| audit_program(work[i].1, &work[i].0.recorded, manual));
    let mut audit = Audit::default();
    for f in found {
        audit.add(f?);
    }
    Ok(audit)
}

fn audit_program(
    program: &Program,
    recorded: &HashMap<String, Recorded>,
    manual: &Manual<'_>,
) -> Result<Audit, String> {
    let results = |profile| {
        let device = small_device(Effort::Best)?;
        run(&device, program, Engine::Interp, profile)
    };
    let both = results(Profile::Isa).and_then(|isa| Ok((isa, results(Profile::Sm90)?)));
    let (isa, sm90) = match (both, program.cases.len()) {
        (Ok(both), _) => both,
        (Err(e), n) if e.kind() == ErrorKind::Unsupported => {
            let mut audit = Audit::default();
            let (low, high) = program.cases.split_at(n / 2);
            for half in [low, high]
                .into_iter()
                .filter(|_| n > 1)
                .flat_map(|h| programs_of(&program.opcode, h.to_vec()))
            {
                audit.add(audit_program(&half, recorded, manual)?);
            }
            return Ok(audit);
        }
        (Err(e), _) => return Err(format!("{}: {e}", program.cases[0].text)),
    };
    let mut audit = Audit { forms: program.cases.len(), ..Audit::default() };
    let words = program.words();
    let results = isa.chunks(ALL * words).zip(sm90.chunks(ALL * words));
    for (case, (isa, sm90)) in program.cases.iter().zip(results) {
        let difference = |v: usize, expected: u64, got: u64| {
            Difference::new(case, Ok(Vector { operands: program.operands(v), expected, got }))
        };
        match compare(&recorded[&case.text], sm90) {
            Verdict::Same => {}
            Verdict::Raw { vector, recorded, got } => {
                audit.mispredicted.push(difference(vector, recorded, got));
            }
            Verdict::Hash => audit.mispredicted.push(Difference::new(case, Err(Why::Hash))),
        }
        let differing: Vec<usize> = (0..ALL * words).filter(|i| isa[*i] != sm90[*i]).collect();
        let covers = |e: &&Erratum| case.instance.as_ref().is_some_and(|i| e.covers_instance(i));
        let rules: Vec<&Erratum> = errata().filter(covers).collect();
        for rule in &rules {
            let reach = audit.reach.entry(rule.id.into()).or_default();
            reach.covered += 1;
            reach.differing += usize::from(!differing.is_empty());
        }
        let Some(&first) = differing.first() else { continue };
        *audit.departing.entry(program.opcode.clone()).or_default() += 1;
        if rules.is_empty() {
            audit.unexplained.push(difference(first / words, sm90[first], isa[first]));
        }
        match manual(&case.text) {
            Some(says) => {
                let wrong = differing.iter().find_map(|i| {
                    let (v, word) = (i / words, i % words);
                    let operands: Vec<u64> = program.inputs.iter().map(|column| column[v]).collect();
                    let said = program.pack(&says(&operands))[word];
                    (said != isa[*i]).then(|| difference(v, said, isa[*i]))
                });
                audit.unmanual.extend(wrong);
            }
            None if case.instance.as_ref().is_some_and(documented) => {
                let why = "a documented form that the reading of the manual does not know";
                audit.unmanual.push(Difference::new(case, Err(Why::Failed(why.into()))));
            }
            None => {}
        }
    }
    Ok(audit)
}

fn documented(i: &Instance) -> bool {
    i.matched().is_some_and(|m| !m.parsed.form.undocumented)
}

/// An instruction that shows an erratum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The instruction.
    pub text: String,
    /// Its operands.
    pub operands: Vec<(String, u64)>,
    /// What the manual says.
    pub isa: u64,
    /// What the GPU gives.
    pub sm90: u64,
}

/// The simplest form and the smallest operands that show an erratum; forms that no other erratum covers come first.
pub fn counterexample(erratum: &Erratum) -> Result<Counterexample, String> {
    let mut forms: Vec<Case> = (erratum.opcodes.iter())
        .flat_map(|o| cases(o))
        .filter(|c| c.instance.as_ref().is_some_and(|i| erratum.covers_instance(i)))
        .collect();
    forms.sort_by_cached_key(|c| (c.text.len(), c.text.clone()));
    forms.truncate(256);
    forms.sort_by_cached_key(|c| {
        errata().filter(|e| c.instance.as_ref().is_some_and(|i| e.covers_instance(i))).count()
    });
    forms.truncate(64);
    let rank = |text: &str| forms.iter().position(|c| c.text == text);
    let mut best: Option<(usize, Counterexample)> = None;
    let device = small_device(Effort::Best).map_err(|e| e.to_string())?;
    for mut program in programs_of(erratum.opcodes[0], forms.clone()) {
        program.inputs = small_operands(&program.types);
        let results = |profile| run(&device, &program, Engine::Interp, profile).map_err(|e| e.to_string());
        let (isa, sm90) = (results(Profile::Isa)?, results(Profile::Sm90)?);
        let words = program.words();
        let both = isa.chunks(ALL * words).zip(sm90.chunks(ALL * words));
        for (case, (isa, sm90)) in program.cases.iter().zip(both) {
            let Some(i) = (0..ALL * words).find(|i| isa[*i] != sm90[*i]) else { continue };
            let rank = rank(&case.text).unwrap_or(usize::MAX);
            if best.as_ref().is_none_or(|(r, _)| rank < *r) {
                let (text, operands) = (case.for_eval().unwrap_or_default(), program.operands(i / words));
                best = Some((rank, Counterexample { text, operands, isa: isa[i], sm90: sm90[i] }));
            }
        }
    }
    best.map(|(_, c)| c).ok_or_else(|| format!("{} cannot be shown on small operands", erratum.id))
}

/// Plain values, the plainest first.
const WORDS: [u64; 10] = [0, 1, 2, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff, 0x80, 0xff, 0x100, 0x1_0000];
/// 0, 1, -1, 2, 0.5 of bf16; then the same of f16.
const HALVES: [u64; 10] = [0, 0x3f80, 0xbf80, 0x4000, 0x3f00, 0x3c00, 0xbc00, 0x4200, 0x3800, 0x7fff];

/// Combinations of plain values, `[operand][vector]`, the plainest first.
fn small_operands(types: &[Ty]) -> Vec<Vec<u64>> {
    let table = |ty: &Ty| if ty.bits() == 16 { &HALVES } else { &WORDS };
    let mut picks: Vec<Vec<usize>> = vec![vec![]];
    for _ in types {
        picks = picks.iter().flat_map(|p| (0..10).map(|i| [p.as_slice(), &[i]].concat())).collect();
    }
    picks.sort_by_key(|p| p.iter().sum::<usize>());
    picks.resize(ALL, vec![0; types.len()]);
    let value = |ty: &Ty, pick: usize| if *ty == Ty::Pred { pick as u64 % 2 } else { table(ty)[pick] };
    types.iter().enumerate().map(|(o, ty)| picks.iter().map(|p| value(ty, p[o])).collect()).collect()
}
