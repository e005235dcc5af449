//! From IR text to running code, on every libLLVM this machine has and every step of x86-64 its CPU has.

#![cfg(target_arch = "x86_64")]

use std::path::Path;
use std::time::Instant;

use hostwarp_jit::llvm::{Llvm, Stage, Tier};
use hostwarp_jit::object::{LoadError, Loaded, undefined_symbols};
use hostwarp_jit::target::{Arch, Target, X86Level};

/// One library per major version.
fn llvms() -> Vec<Llvm> {
    let names =
        |v: u32| [format!("libLLVM.so.{v}.1"), format!("libLLVM-{v}.so.1"), format!("libLLVM-{v}.so")];
    (15..24).filter_map(|v| names(v).iter().find_map(|name| Llvm::open(Path::new(name)).ok())).collect()
}

/// The host and every plain step of x86-64 that it can run.
fn targets() -> Vec<Target> {
    let host = Target::host().unwrap();
    let levels = [X86Level::Sse42, X86Level::Avx2, X86Level::Avx512].map(Target::x86);
    let mut targets: Vec<Target> = levels.into_iter().filter(|target| target.runs_on(&host)).collect();
    targets.push(host);
    targets
}

/// Compiles `text` for everything there is, in both tiers, and hands each result to `check`.
fn everywhere(text: &str, needs: &[&str], check: impl Fn(&Loaded)) {
    for llvm in llvms() {
        for target in targets().iter().filter(|target| needs.iter().all(|f| target.has(f))) {
            for tier in [Tier::light(), Tier::full()] {
                let start = Instant::now();
                let object = match llvm.compile(text, target, &tier) {
                    Ok(object) => object.0,
                    Err(error) => panic!("{llvm:?}, {target}: {error}"),
                };
                println!("{llvm:?} {} bits, {tier}: {:?}", target.vector_bits, start.elapsed());
                assert_eq!(undefined_symbols(&object).unwrap(), [""; 0], "{llvm:?}, {target}");
                check(&Loaded::new(&object).unwrap());
            }
        }
    }
}

/// Calls `kernel` with pointers to the columns.
fn call(loaded: &Loaded, a: &[u32], b: &[u32], out: &mut [u32]) {
    type Kernel = unsafe extern "C" fn(*const u32, *const u32, *mut u32);
    let kernel = loaded.get("kernel").unwrap();
    // SAFETY: the tests' kernels have this signature and stay within the columns they are given.
    unsafe { std::mem::transmute::<*const u8, Kernel>(kernel)(a.as_ptr(), b.as_ptr(), out.as_mut_ptr()) }
}

fn column(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn vectors_of_a_warp_with_a_constant_pool() {
    let text = "
        define void @kernel(ptr %a, ptr %b, ptr %out) nounwind {
          %x = load <32 x i32>, ptr %a, align 4
          %y = load <32 x i32>, ptr %b, align 4
          %p = mul <32 x i32> %x, %y
          %iota = shufflevector <32 x i32> %p, <32 x i32> zeroinitializer, <32 x i32> <
            i32 31, i32 30, i32 29, i32 28, i32 27, i32 26, i32 25, i32 24, i32 23, i32 22, i32 21, i32 20, i32 19, i32 18, i32 17, i32 16,
            i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
          %k = add <32 x i32> %iota, <
            i32 0, i32 101, i32 202, i32 303, i32 404, i32 505, i32 606, i32 707, i32 808, i32 909, i32 1010, i32 1111, i32 1212, i32 1313,
            i32 1414, i32 1515, i32 1616, i32 1717, i32 1818, i32 1919, i32 2020, i32 2121, i32 2222, i32 2323, i32 2424, i32 2525, i32 2626,
            i32 2727, i32 2828, i32 2929, i32 3030, i32 3131>
          store <32 x i32> %k, ptr %out, align 4
          ret void
        }";
    everywhere(text, &[], |loaded| {
        let (a, b, mut out) = (column(|i| i * 77_777), column(|i| i + 3), vec![0; 32]);
        call(loaded, &a, &b, &mut out);
        assert_eq!(out, column(|i| ((31 - i) * 77_777).wrapping_mul(34 - i).wrapping_add(101 * i)));
    });
}

#[test]
fn masked_loads_stores_gathers_and_scatters_touch_only_active_lanes() {
    let text = "
        declare <32 x i32> @llvm.masked.load.v32i32.p0(ptr, i32, <32 x i1>, <32 x i32>)
        declare void @llvm.masked.store.v32i32.p0(<32 x i32>, ptr, i32, <32 x i1>)
        declare <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr>, i32, <32 x i1>, <32 x i32>)
        declare void @llvm.masked.scatter.v32i32.v32p0(<32 x i32>, <32 x ptr>, i32, <32 x i1>)
        define void @kernel(ptr %a, ptr %b, ptr %out) nounwind {
          %index = load <32 x i32>, ptr %b, align 4
          %in_range = icmp ult <32 x i32> %index, <i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32,
            i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32,
            i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32>
          %wide = zext <32 x i32> %index to <32 x i64>
          %at = getelementptr i32, ptr %a, <32 x i64> %wide
          %got = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %at, i32 4, <32 x i1> %in_range, <32 x i32> zeroinitializer)
          %old = call <32 x i32> @llvm.masked.load.v32i32.p0(ptr %out, i32 4, <32 x i1> %in_range, <32 x i32> zeroinitializer)
          %sum = add <32 x i32> %got, %old
          call void @llvm.masked.store.v32i32.p0(<32 x i32> %sum, ptr %out, i32 4, <32 x i1> %in_range)
          %second = getelementptr i8, ptr %out, i64 128
          %to = getelementptr i32, ptr %second, <32 x i64> %wide
          call void @llvm.masked.scatter.v32i32.v32p0(<32 x i32> %sum, <32 x ptr> %to, i32 4, <32 x i1> %in_range)
          ret void
        }";
    everywhere(text, &[], |loaded| {
        let a = column(|i| 1000 + i);
        // Odd lanes are off, with an index that would fault.
        let b = column(|i| if i % 2 == 1 { 0xf000_0000 + i } else { 31 - i });
        let mut out = vec![7; 64];
        call(loaded, &a, &b, &mut out);
        let first = column(|i| if i % 2 == 1 { 7 } else { 1000 + (31 - i) + 7 });
        let second = column(|i| if i % 2 == 1 { 1000 + i + 7 } else { 7 });
        assert_eq!(out[..32], first);
        assert_eq!(out[32..], second);
    });
}

#[test]
fn fma_rounds_once() {
    let text = "
        declare <32 x float> @llvm.fma.v32f32(<32 x float>, <32 x float>, <32 x float>)
        define void @kernel(ptr %a, ptr %b, ptr %out) nounwind {
          %x = load <32 x float>, ptr %a, align 4
          %y = load <32 x float>, ptr %b, align 4
          %m = fneg <32 x float> %y
          %r = call <32 x float> @llvm.fma.v32f32(<32 x float> %x, <32 x float> %x, <32 x float> %m)
          store <32 x float> %r, ptr %out, align 4
          ret void
        }";
    everywhere(text, &["fma"], |loaded| {
        let x = |i: u32| 1.0 + (2 * i + 1) as f32 * f32::EPSILON;
        let (a, b, mut out) = (column(|i| x(i).to_bits()), column(|i| (x(i) * x(i)).to_bits()), vec![0; 32]);
        call(loaded, &a, &b, &mut out);
        assert_eq!(out, column(|i| x(i).mul_add(x(i), -(x(i) * x(i))).to_bits()));
        assert!(out.iter().any(|&bits| bits != 0), "the rounding error of the product is what is left");
    });
}

#[test]
fn multiply_and_add_are_never_fused() {
    let text = "
        define void @kernel(ptr %a, ptr %b, ptr %out) nounwind {
          %x = load <32 x float>, ptr %a, align 4
          %y = load <32 x float>, ptr %b, align 4
          %p = fmul <32 x float> %x, %x
          %r = fsub <32 x float> %p, %y
          store <32 x float> %r, ptr %out, align 4
          ret void
        }";
    everywhere(text, &["fma"], |loaded| {
        let x = |i: u32| 1.0 + (2 * i + 1) as f32 * f32::EPSILON;
        let (a, b, mut out) = (column(|i| x(i).to_bits()), column(|i| (x(i) * x(i)).to_bits()), vec![1; 32]);
        call(loaded, &a, &b, &mut out);
        assert_eq!(out, [0; 32]);
    });
}

#[test]
fn jump_tables_lookup_tables_and_calls_are_linked() {
    let text = "
        @table = internal constant [4 x ptr] [ptr @f0, ptr @f1, ptr @f0, ptr @f1]
        define internal i32 @f0(i32 %x) noinline nounwind {
          %r = add i32 %x, 100
          ret i32 %r
        }
        define internal i32 @f1(i32 %x) noinline nounwind {
          %r = mul i32 %x, 3
          ret i32 %r
        }
        define void @kernel(ptr %a, ptr %b, ptr %out) nounwind {
        entry:
          br label %loop
        loop:
          %i = phi i64 [0, %entry], [%next, %join]
          %pa = getelementptr i32, ptr %a, i64 %i
          %x = load i32, ptr %pa, align 4
          switch i32 %x, label %other [i32 0, label %c0  i32 1, label %c1  i32 2, label %c2  i32 3, label %c3  i32 4, label %c4  i32 5, label %c5]
        c0:
          %r0 = call i32 @f0(i32 %x)
          br label %join
        c1:
          %r1 = call i32 @f1(i32 7)
          br label %join
        c2:
          store volatile i32 1, ptr %out, align 4
          br label %join
        c3:
          %v3 = load volatile i32, ptr %a, align 4
          br label %join
        c4:
          %r4 = sub i32 0, %x
          br label %join
        c5:
          %even = and i64 %i, 3
          %slot = getelementptr [4 x ptr], ptr @table, i64 0, i64 %even
          %f = load ptr, ptr %slot, align 8
          %r5 = call i32 %f(i32 50)
          br label %join
        other:
          switch i32 %x, label %join [i32 10, label %d0  i32 11, label %d1  i32 12, label %d2  i32 13, label %d3]
        d0:
          br label %join
        d1:
          br label %join
        d2:
          br label %join
        d3:
          br label %join
        join:
          %r = phi i32 [%r0, %c0], [%r1, %c1], [9, %c2], [%v3, %c3], [%r4, %c4], [%r5, %c5], [-1, %other], [17, %d0], [23, %d1], [92, %d2], [41, %d3]
          %po = getelementptr i32, ptr %out, i64 %i
          store i32 %r, ptr %po, align 4
          %next = add i64 %i, 1
          %done = icmp eq i64 %next, 32
          br i1 %done, label %exit, label %loop
        exit:
          ret void
        }";
    everywhere(text, &[], |loaded| {
        let (a, mut out) = (column(|i| i % 16), vec![0; 32]);
        call(loaded, &a, &a, &mut out);
        let expected = column(|i| match i % 16 {
            0 => 100,
            1 => 21,
            2 => 9,
            3 => 0,
            4 => 0u32.wrapping_sub(4),
            5 => 150,
            10 => 17,
            11 => 23,
            12 => 92,
            13 => 41,
            _ => u32::MAX,
        });
        // Case 5 is reached at i = 5 and 21 only, both odd, so the table's second function runs; case 2 clobbers the first word.
        assert_eq!(out[1..], expected[1..]);
    });
}

#[test]
fn what_llvm_dislikes_is_an_error_with_its_words() {
    let target = Target::host().unwrap();
    for llvm in llvms() {
        let compile = |text: &str, tier: &Tier| llvm.compile(text, &target, tier).unwrap_err();
        let error = compile("\ndefine void @f() {\n  bogus\n}", &Tier::light());
        assert_eq!(error.stage, Stage::Parse);
        assert!(error.message.contains("kernel:3:"), "the line is that of the text: {error}");
        let error = compile(
            "define i32 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n %x = add i32 1, 2\n br label %b\nb:\n ret i32 %x\n}",
            &Tier::light(),
        );
        assert!(matches!(error.stage, Stage::Verify | Stage::Parse), "{error}");
        assert!(error.message.contains("dominate"), "{error}");
        let nonsense = Tier { passes: "no-such-pass".into(), ..Tier::light() };
        let error = compile("define void @f() {\n ret void\n}", &nonsense);
        assert_eq!(error.stage, Stage::Passes);
        assert!(error.message.contains("no-such-pass"), "{error}");
        // A register that does not exist: reported through the context, after which LLVM goes on as if nothing had happened.
        let error = compile(
            "define i32 @f() {\n %r = call i32 asm \"\", \"={bogus}\"()\n ret i32 %r\n}",
            &Tier::light(),
        );
        assert_eq!(error.stage, Stage::Codegen, "{error}");
        // More stack than the thread that runs it has: a warning to LLVM, the end of the process to us.
        let large = |bytes: u32| {
            format!(
                "declare void @g(ptr)\ndefine void @f() {{\n %p = alloca [{bytes} x i8]\n call void @g(ptr %p)\n ret void\n}}"
            )
        };
        let error = compile(&large(2 << 20), &Tier::light());
        assert_eq!(error.stage, Stage::Codegen, "{error}");
        assert!(error.message.contains("too much is kept at once"), "{error}");
        assert!(llvm.compile(&large(1 << 19), &target, &Tier::light()).is_ok());
    }
}

#[test]
fn a_fatal_error_leaves_the_process_and_the_library_alive() {
    // No instruction selector knows this intrinsic, and LLVM's answer to that is to end the process.
    let text = "
        declare <4 x i32> @llvm.aarch64.neon.sdot.v4i32.v16i8(<4 x i32>, <16 x i8>, <16 x i8>)
        define <4 x i32> @kernel(<4 x i32> %a, <16 x i8> %b) nounwind {
          %r = call <4 x i32> @llvm.aarch64.neon.sdot.v4i32.v16i8(<4 x i32> %a, <16 x i8> %b, <16 x i8> %b)
          ret <4 x i32> %r
        }";
    let target = Target::host().unwrap();
    for llvm in llvms() {
        let error = llvm.compile(text, &target, &Tier::light()).unwrap_err();
        assert_eq!(error.stage, Stage::Fatal, "{error}");
        assert!(error.message.contains("annot select"), "{error}");
        let fine = llvm.compile("define void @kernel() {\n ret void\n}", &target, &Tier::light());
        assert!(fine.is_ok());
    }
}

#[test]
fn compiling_is_pure_also_from_many_threads() {
    let text =
        |k: u32| format!("define i32 @kernel(i32 %x) nounwind {{\n %r = mul i32 %x, {k}\n ret i32 %r\n}}");
    let target = Target::host().unwrap();
    for llvm in llvms() {
        std::thread::scope(|scope| {
            for k in 3..7 {
                let (text, target) = (text(k), &target);
                scope.spawn(move || {
                    let first = llvm.compile(&text, target, &Tier::light()).unwrap();
                    let second = llvm.compile(&text, target, &Tier::light()).unwrap();
                    assert_eq!(first, second);
                    let loaded = Loaded::new(&first.0).unwrap();
                    let f = loaded.get("kernel").unwrap();
                    // SAFETY: the text above has this signature.
                    let f = unsafe { std::mem::transmute::<*const u8, extern "C" fn(u32) -> u32>(f) };
                    assert_eq!(f(10), 10 * k);
                });
            }
        });
    }
}

#[test]
fn what_a_kernel_may_not_have_is_refused_by_name() {
    let target = Target::host().unwrap();
    for llvm in llvms() {
        let load =
            |text: &str| Loaded::new(&llvm.compile(text, &target, &Tier::light()).unwrap().0).unwrap_err();
        let error = load(
            "declare dso_local float @fmodf(float, float)
             define float @kernel(float %x) nounwind {\n %r = call float @fmodf(float %x, float %x)\n ret float %r\n}",
        );
        assert_eq!(error, LoadError::Undefined(vec!["fmodf".into()]));
        let counter = |init: &str| {
            format!(
                "@counter = internal global i32 {init}
                 define i32 @kernel(i32 %x) nounwind {{
                   %r = load volatile i32, ptr @counter, align 4
                   store volatile i32 %x, ptr @counter, align 4
                   ret i32 %r
                 }}"
            )
        };
        for init in ["0", "5"] {
            let error = load(&counter(init));
            assert!(matches!(&error, LoadError::Refused(what) if what.contains("writable")), "{error}");
        }
    }
}

#[test]
fn an_object_for_another_machine_is_refused() {
    let mut arm = Target::host().unwrap();
    (arm.arch, arm.cpu, arm.tune) = (Arch::Aarch64, "generic".into(), "generic".into());
    arm.features.clear();
    for llvm in llvms() {
        // A library need not have every target.
        if let Ok(object) = llvm.compile("define void @kernel() {\n ret void\n}", &arm, &Tier::light()) {
            assert_eq!(Loaded::new(&object.0).unwrap_err(), LoadError::WrongArch);
        }
    }
}

/// Objects come from a cache: whatever has happened to the bytes, loading ends with an answer. Nothing loaded here is run.
#[test]
fn damaged_objects_never_break_the_loader() {
    let text = "
        define i32 @kernel(i32 %x) nounwind {
          switch i32 %x, label %d [i32 0, label %a  i32 1, label %b  i32 2, label %c  i32 3, label %d  i32 4, label %e]
        a:
          ret i32 12
        b:
          %q = call i32 @kernel(i32 0)
          ret i32 %q
        c:
          ret i32 77
        d:
          ret i32 3
        e:
          ret i32 2
        }";
    let Some(llvm) = llvms().into_iter().next() else { return };
    let whole = llvm.compile(text, &Target::host().unwrap(), &Tier::light()).unwrap().0;
    assert!(Loaded::new(&whole).is_ok());
    for length in 0..whole.len() {
        let _ = Loaded::new(&whole[..length]);
    }
    for at in 0..whole.len() {
        for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            let _ = Loaded::new(&damaged);
        }
    }
    // Pairs of damages, from a fixed sequence.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..5_000 {
        let mut damaged = whole.clone();
        for _ in 0..2 {
            let at = random() as usize % damaged.len();
            damaged[at] = random() as u8;
        }
        let _ = Loaded::new(&damaged);
    }
}
