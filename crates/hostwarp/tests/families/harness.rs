//! Kernels of many forms, run and compared.

use hostwarp::isa::{self, Instance, Ty};
use hostwarp::jit::target::{Target, X86Level};
use hostwarp::{Device, Effort, Engine};
use hostwarp_oracle::Oracle;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

/// An instruction on `%d`, `%a`, `%b` and perhaps `%c`, with what the oracle knows of it.
pub struct Form {
    pub text: String,
    pub ty: Ty,
    /// The types of `%a`, `%b` and `%c`, as many as there are.
    pub sources: Vec<Ty>,
    /// The manual has it; others are taken by ptxas all the same.
    pub documented: bool,
    pub oracle: Oracle,
}

impl Form {
    /// A form the instruction set lists must be one that the oracle knows; of undocumented ones it may know nothing.
    fn new(instance: &Instance, documented: bool) -> Option<Form> {
        let text = instance.text();
        let (names, sources): (Vec<_>, Vec<_>) =
            instance.operands.iter().filter(|o| !o.dest).map(|o| (o.name, o.ty)).unzip();
        assert_eq!(names, ["a", "b", "c"][..names.len()], "{text}");
        let ty = instance.operands[0].ty;
        match Oracle::parse(&text) {
            Ok(oracle) => Some(Form { text, ty, sources, documented, oracle }),
            Err(_) if !documented => None,
            Err(why) => panic!("the oracle does not know `{text}`: {why}"),
        }
    }
}

/// Bytes of an operand or a result.
fn bytes(ty: Ty) -> usize {
    ty.bits() as usize / 8
}

/// The register type for an operand.
fn register(ty: Ty) -> &'static str {
    match ty {
        Ty::F32 => ".f32",
        Ty::F64 => ".f64",
        _ => [".b16", ".b32", ".b64"][ty.bits() as usize / 32],
    }
}

/// Every form of an opcode; where there are too many selectors, once without and once with random ones.
pub fn forms(opcode: &str) -> Vec<Form> {
    let (entry, opcode) =
        isa::find(opcode).unwrap_or_else(|| panic!("`{opcode}` is not in the instruction set"));
    let mut random = Random(0x5eed);
    let mut out = vec![];
    for parsed in entry.forms.iter().filter(|p| !p.form.later) {
        let selectors: Vec<_> = (parsed.operands.iter().enumerate())
            .filter_map(|(slot, o)| Some((slot, o.selector.as_ref()?.0)))
            .filter(|(_, members)| members.len() > 15)
            .collect();
        for instance in isa::instances(opcode, parsed, 0) {
            let documented = !parsed.form.undocumented;
            if !selectors.is_empty() {
                let mut selected = instance.clone();
                for (slot, members) in &selectors {
                    selected.operands[*slot].selector = Some(random.of(members));
                }
                out.extend(Form::new(&selected, documented));
            }
            out.extend(Form::new(&instance, documented));
        }
    }
    out
}

/// About one form in `n`, the same ones every time.
pub fn sampled(forms: Vec<Form>, n: u64) -> Vec<Form> {
    let hash = |text: &str| text.bytes().fold(1, |h, b| Random(h ^ u64::from(b)).next());
    forms.into_iter().filter(|form| hash(&form.text).is_multiple_of(n)).collect()
}

/// Forms that run on the same operands, all of the same types: lane i of a column is the operand of thread i.
pub struct Batch<'a> {
    pub forms: &'a [Form],
    /// The values of `%a`, `%b` and `%c`.
    pub columns: [Vec<u64>; 3],
}

impl Batch<'_> {
    fn lanes(&self) -> usize {
        self.columns[0].len()
    }

    /// The types of the columns. Forms with fewer operands leave the last ones alone.
    fn types(&self) -> [Ty; 3] {
        let most = self.forms.iter().map(|f| &f.sources).max_by_key(|sources| sources.len()).expect("a form");
        let same = |form: &Form| most.iter().zip(&form.sources).all(|(a, b)| register(*a) == register(*b));
        assert!(
            self.forms.iter().all(|f| same(f) && register(f.ty) == register(self.forms[0].ty)),
            "forms of different types"
        );
        [0, 1, 2].map(|i| most.get(i).copied().unwrap_or(self.forms[0].ty))
    }

    /// `forms(in, out)`: `in` holds the columns, one after the other; the result of form k is element k·lanes + i of `out`.
    fn ptx(&self) -> String {
        let (lanes, width) = (self.lanes(), bytes(self.forms[0].ty));
        let result = register(self.forms[0].ty);
        let mut s = String::from(".version 8.8\n.target sm_100\n.address_size 64\n");
        s += ".visible .entry forms(.param .u64 in, .param .u64 out)\n{\n";
        let _ = writeln!(s, "    .reg {result} %d;");
        s += "    .reg .b32 %cta, %size, %thread;\n    .reg .b64 %in, %out, %at, %from;\n";
        s += "    mov.u32 %cta, %ctaid.x;\n    mov.u32 %size, %ntid.x;\n    mov.u32 %thread, %tid.x;\n";
        s += "    mad.lo.u32 %thread, %cta, %size, %thread;\n";
        let _ = writeln!(s, "    mul.wide.u32 %at, %thread, {width};");
        s += "    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n    add.u64 %out, %out, %at;\n";
        let mut start = 0;
        for (name, ty) in ["a", "b", "c"].into_iter().zip(self.types()) {
            let _ = writeln!(s, "    .reg {} %{name};", register(ty));
            let _ =
                writeln!(s, "    mul.wide.u32 %at, %thread, {};\n    add.u64 %from, %in, %at;", bytes(ty));
            let _ = writeln!(s, "    ld.global{} %{name}, [%from+{start}];", register(ty));
            start += lanes * bytes(ty);
        }
        for (k, form) in self.forms.iter().enumerate() {
            let _ = writeln!(s, "    {};", form.text);
            let _ = writeln!(s, "    st.global{result} [%out+{}], %d;", k * lanes * width);
        }
        s + "    ret;\n}\n"
    }

    /// What an engine makes of it, `[form][lane]`.
    fn run(&self, device: &Device, engine: Engine, width_of_jit: u32) -> Result<Vec<u64>, hostwarp::Error> {
        let (lanes, width) = (self.lanes(), bytes(self.forms[0].ty));
        let columns = self.columns.iter().zip(self.types());
        let input = columns
            .flat_map(|(c, ty)| c.iter().flat_map(move |v| v.to_le_bytes().into_iter().take(bytes(ty))));
        let input: Vec<u8> = input.collect();
        let input = device.buffer_from(&input)?;
        let output = device.buffer::<u8>(self.forms.len() * lanes * width)?;
        let kernel = device.load("forms", self.ptx())?.kernel("forms")?;
        let block = lanes.min(256);
        assert_eq!(lanes % block, 0, "lanes fill their CTAs");
        let launch = kernel.launch().grid([(lanes / block) as u32, 1, 1]).block([block as u32, 1, 1]);
        let report = launch.engine(engine).exact_width(width_of_jit).arg(&input).arg(&output).run()?;
        assert_eq!(report.engine, engine);
        assert!(report.width.is_none_or(|w| w <= width_of_jit), "asked for {width_of_jit} lanes: {report:?}");
        let wide = |v: &[u8]| v.iter().rev().fold(0, |acc, b| acc << 8 | u64::from(*b));
        Ok(output.to_vec()?.chunks_exact(width).map(wide).collect())
    }

    fn operands(&self, form: &Form, lane: usize) -> Vec<u64> {
        self.columns.iter().take(form.oracle.source_count()).map(|c| c[lane]).collect()
    }
}

/// A comparison of many batches; what differs is told at the end, in all.
pub struct Check {
    device: Device,
    engines: Vec<Engine>,
    batches: usize,
    results: usize,
    wrong: usize,
    /// By opcode.
    told: BTreeMap<String, Vec<String>>,
}

/// Forms of an opcode told of when they are wrong; the rest is counted.
const TOLD: usize = 4;

impl Check {
    /// A comparison on these engines, less the jit where there is no libLLVM.
    pub fn new(engines: &[Engine]) -> Check {
        Check::on(Device::builder().effort(Effort::Best).build().expect("a device"), engines)
    }

    /// A comparison on code that the jit makes quickly.
    pub fn quick() -> Check {
        Check::on(Device::builder().effort(Effort::Quick).build().expect("a device"), &[Engine::Jit])
    }

    /// For each step of older CPUs that this one holds: the jit as it runs there.
    pub fn older_cpus() -> impl Iterator<Item = (X86Level, Check)> {
        let levels = X86Level::ALL.into_iter().filter(|level| Target::host_up_to(*level).is_some());
        levels.map(|level| {
            let device = Device::builder().cpu(level).effort(Effort::Best).build().expect("a device");
            (level, Check::on(device, &[Engine::Jit]))
        })
    }

    fn on(device: Device, engines: &[Engine]) -> Check {
        let mut engines = engines.to_vec();
        if let (true, Err(why)) = (engines.contains(&Engine::Jit), device.llvm()) {
            let required = std::env::var("HOSTWARP_REQUIRE_LLVM").is_ok_and(|v| v == "1");
            assert!(!required, "HOSTWARP_REQUIRE_LLVM is set, and there is no LLVM: {why}");
            // Not by a macro that the test runner would keep to itself.
            let _ = writeln!(std::io::stderr(), "note: the jit is NOT tested here: {why}");
            engines.retain(|e| *e != Engine::Jit);
        }
        Check { device, engines, batches: 0, results: 0, wrong: 0, told: BTreeMap::new() }
    }

    pub fn batch(&mut self, batch: &Batch<'_>) {
        if self.engines.is_empty() {
            return;
        }
        let lanes = batch.lanes();
        let mut expected = Vec::with_capacity(batch.forms.len() * lanes);
        for form in batch.forms {
            expected.extend((0..lanes).map(|lane| form.oracle.eval(&batch.operands(form, lane))[0]));
        }
        // All widths take turns: none changes a bit.
        let width = [32, 16, 8][self.batches % 3];
        self.batches += 1;
        for &engine in &self.engines {
            let got = batch.run(&self.device, engine, width).unwrap_or_else(|e| {
                panic!("{engine:?} does not run the kernel from `{}` on: {e}", batch.forms[0].text)
            });
            assert_eq!(got.len(), expected.len());
            self.results += got.len();
            for (k, form) in batch.forms.iter().enumerate() {
                let of_form = k * lanes..(k + 1) * lanes;
                let (got, expected) = (&got[of_form.clone()], &expected[of_form]);
                let different = (0..lanes).filter(|lane| got[*lane] != expected[*lane]).count();
                let Some(lane) = (0..lanes).find(|lane| got[*lane] != expected[*lane]) else { continue };
                self.wrong += 1;
                let opcode = form.text.split('.').next().unwrap_or_default();
                let told = self.told.entry(opcode.to_string()).or_default();
                if told.len() < TOLD {
                    let operands: Vec<String> =
                        batch.operands(form, lane).iter().map(|v| format!("{v:#x}")).collect();
                    told.push(format!(
                        "`{}` on {engine:?}, {different} of {lanes} lanes: {} gives {:#x}, the oracle says {:#x}",
                        form.text,
                        operands.join(", "),
                        got[lane],
                        expected[lane],
                    ));
                }
            }
        }
    }

    pub fn finish(self) {
        let told = self.told.into_values().flatten().collect::<Vec<_>>().join("\n");
        assert_eq!(self.wrong, 0, "forms that differ from the oracle; the first of each opcode:\n{told}");
        assert!(self.results > 0 || self.engines.is_empty(), "nothing was compared");
        println!("{} results compared on {:?}", self.results, self.engines);
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.next() % values.len() as u64) as usize]
    }
}
