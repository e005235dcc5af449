//! Products of matrices against their definition, on numbers for which the short way is exact, is nearly not, and is not.

use super::mma::mma;
use super::ops::Cpu;
use super::{Shape, Text};
use crate::llvm::{Llvm, Tier};
use crate::object::Loaded;
use crate::target::{Target, X86Level};
use hostwarp_ir::dot::{Factor, Sum};
use hostwarp_ir::{Dot, Elem, Mma};
use std::fmt::Write;

const WARP: usize = 32;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A float with so many bits of fraction and exponent.
    fn float(&mut self, fraction: u32, exponent: u32, how: u32) -> u64 {
        let any = self.next();
        let (sign, bias) = ((any >> 63) << (fraction + exponent), (1u64 << (exponent - 1)) - 1);
        let ones = (1u64 << fraction) - 1;
        let with = |field: u64| sign | field << fraction | any & ones;
        match how {
            // Close to each other.
            0 => with(bias - 3 + (any >> 32) % 6),
            // Far from each other.
            1 => with((any >> 32) % ((1 << exponent) - 1)),
            // As large as can be for their exponent: sums need all bits there are.
            2 => {
                let sign = if any >> 40 & 7 == 0 { sign } else { 0 };
                sign | (bias + 1) << fraction | (ones - (any >> 8 & any & 1))
            }
            // Zeros, subnormals, whatever is small.
            3 => match any >> 32 & 3 {
                0 => sign,
                1 => sign | any & ones,
                _ => with((any >> 40) % 6),
            },
            // One in many is special.
            4 if (any >> 32).is_multiple_of(97) => with((1 << exponent) - 1),
            4 => with((any >> 32) % ((1 << exponent) - 1)),
            // Large.
            5 => with((1 << exponent) - 2 - (any >> 32) % 4),
            // Few different ones, so that sums cancel.
            6 => sign | (bias - 12 * (any >> 40 & 1)) << fraction | any >> 44 & 1,
            // Rows of large and of small ones.
            7 => with(bias + (any >> 32) % 3),
            8 => with(bias - bias / 2 + (any >> 32) % (bias / 8 + 2)),
            _ => sign,
        }
    }

    fn factor(&mut self, factor: Factor, how: u32) -> u32 {
        let half = |s: &mut Self, fraction, exponent| {
            [0, 16].map(|by| s.float(fraction, exponent, how) as u32 * (1 << by)).iter().sum()
        };
        match factor {
            Factor::F16 => half(self, 10, 5),
            Factor::Bf16 => half(self, 7, 8),
            Factor::Tf32 => (self.float(10, 8, how) << 13 | self.next() & 0x1fff) as u32,
            _ if how == 2 => [0x8080_8080, 0x7f7f_7f7f, u32::MAX, 0x8888_8888][self.next() as usize & 3],
            _ => self.next() as u32,
        }
    }

    fn addend(&mut self, sum: Sum, how: u32) -> u32 {
        match sum {
            Sum::F32 => self.float(23, 8, how) as u32,
            Sum::F16 => self.float(10, 5, how) as u32,
            _ if how == 2 => [0x7fff_ffff, 0x8000_0000, 0x7fff_0000, 0][self.next() as usize & 3],
            _ => self.next() as u32,
        }
    }
}

/// All that differ by more than what is asked for.
fn kinds() -> Vec<Mma> {
    let all = |words| Mma::all([words]).filter(move |mma| (mma.halves == 2) == (words == 8) && mma.part == 0);
    let one_half = Dot { a: Factor::F16, b: Factor::F16, words: 4, sum: Sum::F32 };
    let mut kinds: Vec<Mma> = all(4).chain(all(8)).collect();
    kinds.push(Mma { dot: one_half, halves: 2, part: 0 });
    kinds
}

/// A function for each that writes every element of a warp's product.
fn module(kinds: &[Mma], cpu: Cpu) -> String {
    let mut module = String::new();
    let mut declarations = std::collections::BTreeSet::new();
    for (n, kind) in kinds.iter().enumerate() {
        let mut t = Text::default();
        let [a, b, parts] = kind.registers();
        let words = Shape::new(Elem::I32, WARP as u32);
        let sum = if kind.dot.sum == Sum::F16 { words.with(Elem::I16) } else { words };
        let args: Vec<String> = (0..a + b + parts)
            .map(|i| {
                let at = t.inst(format_args!("getelementptr i8, ptr %in, i64 {}", i * 128));
                let word = t.inst(format_args!("load {words}, ptr {at}, align 1"));
                if i < a + b { word } else { t.convert("trunc", words, &word, sum) }
            })
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        for part in 0..parts {
            let element = mma(&mut t, cpu, Mma { part: part as u8, ..*kind }, &args);
            let element = t.convert("zext", sum, &element, words);
            let at = t.inst(format_args!("getelementptr i8, ptr %out, i64 {}", part * 128));
            t.line(format_args!("store {words} {element}, ptr {at}, align 1"));
        }
        assert_eq!(t.body.matches("call {").count(), 1, "one call for all parts:\n{}", t.body);
        let _ = write!(
            module,
            "define void @case{n}(ptr %in, ptr %out) nounwind {{\n{}{}  ret void\n}}\n",
            t.allocas.concat(),
            t.body
        );
        declarations.extend(t.declarations);
    }
    for declaration in declarations {
        let _ = writeln!(module, "{declaration}");
    }
    module
}

fn check(kinds: &[Mma], llvm: Llvm, target: &Target, tier: &Tier) {
    let text = module(kinds, Cpu::new(target));
    let object = llvm.compile(&text, target, tier).unwrap_or_else(|e| panic!("{llvm:?}, {target}: {e}")).0;
    let loaded = Loaded::new(&object).unwrap();
    let mut random = Random(7);
    for (n, kind) in kinds.iter().enumerate() {
        let run = loaded.get(&format!("case{n}")).unwrap();
        // SAFETY: the text above defines it so.
        let run = unsafe {
            std::mem::transmute::<*const u8, unsafe extern "C" fn(*const [u32; WARP], *mut [u32; WARP])>(run)
        };
        let [a, b, parts] = kind.registers();
        for round in 0..10 * 10 {
            // Every way of factors with every way of addends.
            let (of_factors, of_addend) = (round % 10, round / 10);
            let mut columns = vec![[0u32; WARP]; a + b + parts];
            for (i, column) in columns.iter_mut().enumerate() {
                let how = |lane: usize| if of_factors == 7 { 7 + lane as u32 / 4 % 2 } else { of_factors };
                *column = core::array::from_fn(|lane| match i {
                    _ if i < a => random.factor(kind.dot.a, how(lane)),
                    _ if i < a + b => random.factor(kind.dot.b, how(lane)),
                    _ => random.addend(kind.dot.sum, of_addend),
                });
            }
            let mut got = vec![[0u32; WARP]; parts];
            // SAFETY: there are as many columns as it reads and writes.
            unsafe { run(columns.as_ptr(), got.as_mut_ptr()) };
            for (part, got) in got.iter().enumerate() {
                let mma = Mma { part: part as u8, ..*kind };
                let add = |a: &[_], b: &[_], c| mma.dot.lanes(a, b, c);
                let want = mma.warp(&columns[..a], &columns[a..a + b], columns[a + b + part], add);
                assert_eq!(
                    *got, want,
                    "{llvm:?}, {target}, {mma:?}, factors {of_factors}, addends {of_addend}"
                );
            }
        }
    }
}

#[test]
fn products_agree_with_their_definition() {
    let (Ok(llvm), Some(host)) = (Llvm::find(None), Target::host()) else { return };
    check(&kinds(), llvm, &host, &Tier::light());
    let in_floats: Vec<Mma> = kinds().into_iter().filter(|k| k.dot.a.is_float()).collect();
    check(&in_floats, llvm, &host, &Tier::full());
}

/// One of each kind of algorithm.
#[test]
fn products_agree_on_every_cpu_step() {
    let Ok(llvm) = Llvm::find(None) else { return };
    let one_of_each = |dot: Dot| {
        dot.sum == Sum::Saturating
            && matches!((dot.a, dot.b), (Factor::S8, Factor::S8) | (Factor::U4, Factor::S4))
    };
    let kinds: Vec<Mma> =
        kinds().into_iter().filter(|k| k.halves == 2 && (k.dot.a.is_float() || one_of_each(k.dot))).collect();
    for target in X86Level::ALL.into_iter().filter_map(Target::host_up_to) {
        check(&kinds, llvm, &target, &Tier::light());
    }
}

/// Sums of factors that each lane has for itself.
#[test]
fn sums_in_every_lane_agree_with_their_definition() {
    let (Ok(llvm), Some(host)) = (Llvm::find(None), Target::host()) else { return };
    let words = Shape::new(Elem::I32, WARP as u32);
    for target in X86Level::ALL.into_iter().filter_map(Target::host_up_to).chain([host]) {
        let dots: Vec<Dot> = Dot::all([2, 8]).filter(|dot| dot.a.is_float()).collect();
        let (mut text, mut declarations) = (String::new(), std::collections::BTreeSet::new());
        for (n, dot) in dots.iter().enumerate() {
            let mut t = Text::default();
            let sum = if dot.sum == Sum::F16 { words.with(Elem::I16) } else { words };
            let last = 2 * usize::from(dot.words);
            let args: Vec<String> = (0..=last)
                .map(|i| {
                    let at = t.inst(format_args!("getelementptr i8, ptr %in, i64 {}", i * 128));
                    let word = t.inst(format_args!("load {words}, ptr {at}, align 1"));
                    if i < last { word } else { t.convert("trunc", words, &word, sum) }
                })
                .collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let result = super::dot::dot(&mut t, Cpu::new(&target), *dot, &args, WARP as u32);
            let result = t.convert("zext", sum, &result, words);
            t.line(format_args!("store {words} {result}, ptr %out, align 1"));
            let _ = write!(
                text,
                "define void @case{n}(ptr %in, ptr %out) nounwind {{\n{}  ret void\n}}\n",
                t.body
            );
            declarations.extend(t.declarations);
        }
        text.extend(declarations.iter().map(|d| format!("{d}\n")));
        let object = llvm
            .compile(&text, &target, &Tier::light())
            .unwrap_or_else(|e| panic!("{llvm:?}, {target}: {e}"))
            .0;
        let loaded = Loaded::new(&object).unwrap();
        let mut random = Random(11);
        for (n, dot) in dots.iter().enumerate() {
            let run = loaded.get(&format!("case{n}")).unwrap();
            // SAFETY: the text above defines it so.
            let run = unsafe {
                std::mem::transmute::<*const u8, unsafe extern "C" fn(*const [u32; WARP], *mut [u32; WARP])>(
                    run,
                )
            };
            for round in 0..200 {
                let (of_factors, of_addend) = (round % 10, round / 10 % 10);
                let side = usize::from(dot.words);
                let mut given = vec![[0u32; WARP]; 2 * side + 1];
                for (i, column) in given.iter_mut().enumerate() {
                    *column = core::array::from_fn(|_| match i {
                        _ if i < 2 * side => random.factor(dot.a, of_factors),
                        _ => random.addend(dot.sum, of_addend),
                    });
                }
                let mut got = [0u32; WARP];
                // SAFETY: there are as many columns as it reads and writes.
                unsafe { run(given.as_ptr(), &mut got) };
                let want = dot.lanes(&given[..side], &given[side..2 * side], given[2 * side]);
                assert_eq!(got, want, "{target}, {dot:?}, factors {of_factors}, addends {of_addend}");
            }
        }
    }
}
