//! A bounded run, and everything that ever failed.

use hostwarp_torture::campaign::{Campaign, Event, Results};
use hostwarp_torture::generate::{WIDE, generate};
use hostwarp_torture::run::{Bench, Case};
use hostwarp_torture::shapes::{Op, SHAPES, Term};
use hostwarp_torture::subject::Subject;

/// Whether there is an LLVM to test with; its absence must not go unnoticed where it is expected.
fn has_llvm() -> bool {
    let missing = Bench::new(None, None).err();
    if let Some(why) = &missing {
        assert!(std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_none(), "{why}");
        eprintln!("skipped: {why}");
    }
    missing.is_none()
}

#[test]
fn kernels_give_the_same_bits_everywhere() {
    same_bits(0);
}

#[test]
fn kernels_for_wide_groups_give_the_same_bits_everywhere() {
    same_bits(WIDE);
}

#[test]
fn the_last_seed_is_followed_by_the_first_of_its_kind() {
    if !has_llvm() {
        return;
    }
    let last = WIDE | (SHAPES - 1);
    let campaign = Campaign { kernels: 2, one_width: true, jobs: 1, seed: last, ..Campaign::default() };
    let seen = std::sync::Mutex::new(vec![]);
    let results = campaign.run(&|event| {
        if let Event::Begin(seed) = event {
            seen.lock().unwrap().push(seed);
        }
    });
    assert!(results.unwrap().found.is_empty());
    assert_eq!(*seen.lock().unwrap(), [last, WIDE]);
}

/// Runs kernels from a seed on for some seconds.
fn same_bits(seed: u64) {
    if !has_llvm() {
        return;
    }
    let campaign =
        Campaign { kernels: 2000, seconds: Some(8), one_width: true, jobs: 2, seed, ..Campaign::default() };
    let results = campaign.run(&|_| ()).unwrap();
    assert_none_failed(&results);
    assert!(results.coverage.kernels >= 5, "{}", results.coverage.table());
}

fn assert_none_failed(results: &Results) {
    let shown: Vec<String> = (results.found.iter())
        .map(|f| {
            let text = f.reduced.as_ref().map_or("", |(case, _)| &case.text);
            format!("seed {}: {}\n{text}", f.seed, f.failure)
        })
        .collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    assert!(results.coverage.unsupported.is_empty(), "{}", results.coverage.table());
}

#[test]
fn past_failures_stay_fixed() {
    if !has_llvm() {
        return;
    }
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/torture");
    let mut bench = Bench::new(None, None).unwrap();
    bench.all_widths = true;
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let case = Case::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let failure = bench.run(&case).failure;
            assert!(failure.is_none(), "{}: {}", path.display(), failure.unwrap());
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn a_kernel_that_does_not_compile_is_not_like_one_that_deadlocks() {
    if !has_llvm() {
        return;
    }
    let bench = Bench::new(None, None).unwrap();
    let failure = |statement: &str| {
        let text = format!(
            ".version 8.8\n.target sm_90\n.address_size 64\n.entry torture(.param .u64 input, .param .u64 memory, .param .u32 limit, \
             .param .b8 bag[32]) {{ .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.lt.u32 %p, %r, 32; {statement} ret; }}"
        );
        let head = "// torture: seed 1 block 64 1 1 grid 1 1 1 limit 0 input 64 memory 64\n";
        bench.run(&Case::parse(&format!("{head}{text}")).unwrap()).failure.unwrap()
    };
    let deadlock = failure("@%p barrier.sync 1, 64; @!%p barrier.sync 2, 64;");
    assert!(deadlock.to_string().contains("deadlock"), "{deadlock}");
    let other = failure("@%p barrier.sync 3, 64; @!%p barrier.sync 4, 64;");
    let no_kernel = failure("@%p barrier.sync 1, 64; @!%q barrier.sync 2, 64;");
    assert!(deadlock.is_like(&other), "{other}");
    assert!(!deadlock.is_like(&no_kernel), "{no_kernel}");
}

#[test]
fn a_seed_gives_one_kernel() {
    for seed in (0..50).chain(WIDE..WIDE + 50) {
        let case = Case::of(&generate(seed));
        assert_eq!(case, Case::of(&generate(seed)));
        assert_eq!(case, Case::parse(&case.text).unwrap());
    }
    for seed in SHAPES..SHAPES + 50 {
        let case = Subject::make(seed).case();
        assert_eq!(case, Subject::make(seed).case());
        assert_eq!(Case { want: None, ..case.clone() }, Case::parse(&case.text).unwrap());
    }
}

/// A fixed sample: long runs are in docs/torture.md.
#[test]
fn any_control_flow_gives_the_bits_of_the_simulator() {
    if !has_llvm() {
        return;
    }
    let campaign = Campaign { kernels: 25, one_width: true, jobs: 2, seed: SHAPES, ..Campaign::default() };
    assert_none_failed(&campaign.run(&|_| ()).unwrap());
}

/// What no engine gives is found, in memory and by its digest, and made small.
#[test]
fn a_difference_from_the_simulator_is_found_and_reduced() {
    if !has_llvm() {
        return;
    }
    let bench = Bench::new(None, None).unwrap();
    let subject = Subject::make(SHAPES);
    let mut case = subject.case();
    assert_eq!(bench.run(&case).failure, None);
    case.want.as_mut().unwrap()[70] ^= 1;
    let failure = bench.run(&case).failure.unwrap().to_string();
    assert!(failure.contains("interp") && failure.contains("1 words of memory differ; word 70"), "{failure}");
    case.want = None;
    case.expect = case.expect.map(|d| d ^ 1);
    let failure = bench.run(&case).failure.unwrap().to_string();
    assert!(failure.contains("not what the simulator left"), "{failure}");
    // As if divergent branches were what fails.
    let (small, _) = subject.reduce(|case| case.text.contains("bra B"));
    assert!(small.text.len() < case.text.len() / 2, "{}", small.text);
    assert_eq!(bench.run(&small).failure, None);
}

/// What the simulator says is what thread by thread is written down here.
#[test]
fn the_simulator_runs_lanes_that_diverge() {
    use hostwarp_torture::shapes::{
        Arith, Bank, Block, Class, Cmp, Func, Place, Program, Reg, Special, Src, sim,
    };
    let word = |n| Reg::new(Bank::R, Class::Varying, n);
    let (x, n, i, p) = (word(0), word(1), word(2), Reg::new(Bank::P, Class::Varying, 0));
    let add = |r| Op::Arith(Arith::Add, r, Src::Reg(r), Src::Const(1)).into();
    let block = |insts, term| Block { insts, term };
    let zero = Src::Const(0);
    // Lanes with x = 1 go round once without counting i.
    let blocks = vec![
        block(vec![], Term::Goto(1.into())),
        block(
            vec![add(n), Op::Compare(Cmp::Eq, false, p, x, zero).into()],
            Term::If(p, false, 3.into(), 2.into()),
        ),
        block(vec![Op::Move(x, zero).into()], Term::Goto(1.into())),
        block(
            vec![add(i), Op::Compare(Cmp::Lt, false, p, i, Src::Const(3)).into()],
            Term::If(p, false, 1.into(), 4.into()),
        ),
        block(vec![Op::Store(Place::Column(0), n).into()], Term::Leave { exit: false }),
    ];
    let init = vec![
        Op::Special(x, Special::Tid(0)).into(),
        Op::Arith(Arith::And, x, Src::Reg(x), Src::Const(1)).into(),
    ];
    let layout = (0..blocks.len()).collect();
    let func = Func { params: vec![], results: vec![], by_register: false, init, blocks, layout };
    let p = Program { seed: 0, block: [4, 1, 1], grid: [1; 3], limit: 0, depth: 0, funcs: vec![func] };
    let done = sim::simulate(&p, &vec![0; p.input_words() as usize], &vec![0; p.memory_words() as usize]);
    let done = done.unwrap();
    assert_eq!(done.memory[64..68], [3, 4, 3, 4]);
    assert_eq!(done.divergent.into_iter().collect::<Vec<_>>(), [(0, 1)]);
}

/// The IR of generated kernels, as linked and as engines get it, is read back from its text.
#[test]
fn the_text_of_the_ir_is_read_back() {
    use hostwarp::ir;
    let device = hostwarp::Device::new().unwrap();
    let check = |func: &ir::Function| {
        let text = func.to_string();
        let parsed = ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert!(parsed.kernels[0].blocks == func.blocks && parsed.to_string() == text, "{text}");
    };
    for seed in (0..24).flat_map(|n| [n, WIDE | n]) {
        let module = device.load("torture", generate(seed).text().as_bytes()).unwrap();
        let mut func = module.kernel("torture").unwrap().compiled().function.clone().unwrap();
        check(&func);
        ir::passes::lower(&mut func);
        check(&func);
    }
}
