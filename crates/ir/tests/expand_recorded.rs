//! What an H200 gave (sm_90 code from ptxas 13.4 at -O0) where the manual leaves the result open: which results .ftz flushes just
//! below the smallest normal number, and which NaN f64 arithmetic returns.

mod support;

use hostwarp_ir::*;
use support::*;

type Case = (fn(Round, bool) -> Op, Elem, Round, &'static [u64], u64);

macro_rules! binary_ops {
    ($($name:ident)*) => {
        $(#[allow(non_snake_case)]
        fn $name(round: Round, ftz: bool) -> Op {
            Op::Float { op: FBin::$name, round, ftz }
        })*
    };
}

binary_ops! { Add Sub Mul Div }

#[allow(non_snake_case)]
fn Fma(round: Round, ftz: bool) -> Op {
    Op::Fma { round, ftz }
}

#[allow(non_snake_case)]
fn Sqrt(round: Round, ftz: bool) -> Op {
    Op::Sqrt { round, ftz }
}

fn check_cases(cases: &[Case], ftz: bool) {
    for (op, elem, round, args, want) in cases {
        // Twice, for formats that go in pairs.
        let columns: Vec<Vec<u64>> = args.iter().map(|x| vec![*x; 2]).collect();
        check(op(*round, ftz), &vec![*elem; args.len()], *elem, &columns, |_| *want);
    }
}

#[test]
fn flushing_near_the_smallest_normal_number() {
    use Elem::{F16, F32};
    use Round::{Down, Nearest, Up, Zero};
    #[rustfmt::skip]
    let cases: &[Case] = &[
        (Mul, F32, Nearest, &[0xb1bfc1ea, 0xe2ae1ea], 0x80000000),
        (Mul, F32, Nearest, &[0x28254cb8, 0x17c63be0], 0x0),
        (Mul, F32, Nearest, &[0x2cdaf84e, 0x9315a567], 0x80000000),
        (Mul, F32, Nearest, &[0xae461cb6, 0x91a566b9], 0x800000),
        (Mul, F32, Nearest, &[0x29bce380, 0x162d7a54], 0x800000),
        (Fma, F32, Nearest, &[0xb74164d8, 0x89296fc2, 0x80800000], 0x800000),
        (Fma, F32, Nearest, &[0xb2bf1f65, 0xdab733c, 0x800001], 0x80000000),
        (Fma, F32, Nearest, &[0xa8ca0fe7, 0x17a22afe, 0x800001], 0x80000000),
        (Fma, F32, Nearest, &[0xb345b61d, 0x8d25bc8f, 0x80800002], 0x0),
        (Fma, F32, Nearest, &[0x2e803e18, 0x11ff840d, 0x80800001], 0x800000),
        (Mul, F32, Zero, &[0xb1bfc1ea, 0xe2ae1ea], 0x80000000),
        (Fma, F32, Zero, &[0xb74164d8, 0x89296fc2, 0x80800000], 0x0),
        (Mul, F32, Down, &[0xb1bfc1ea, 0xe2ae1ea], 0x80000000),
        (Mul, F32, Down, &[0xa3015c33, 0x1cfd4eeb], 0x80000000),
        (Mul, F32, Down, &[0x2cdaf84e, 0x9315a567], 0x80800000),
        (Mul, F32, Down, &[0x2cd119cd, 0x931cb588], 0x80000000),
        (Mul, F32, Down, &[0xb5cb0e9e, 0xa215f92], 0x80800000),
        (Fma, F32, Down, &[0xb74164d8, 0x89296fc2, 0x80800000], 0x0),
        (Fma, F32, Down, &[0xb2bf1f65, 0xdab733c, 0x800001], 0x80800000),
        (Fma, F32, Down, &[0xa480b9de, 0x1bfe8e5c, 0x800000], 0x80000000),
        (Fma, F32, Down, &[0x36fd4c2f, 0x89815d9a, 0x800002], 0x80000000),
        (Fma, F32, Down, &[0xafad9a27, 0x10bcc0e1, 0x800002], 0x80800000),
        (Mul, F32, Up, &[0xb1bfc1ea, 0xe2ae1ea], 0x80000000),
        (Mul, F32, Up, &[0x28254cb8, 0x17c63be0], 0x800000),
        (Mul, F32, Up, &[0xa91e7821, 0x96cec73c], 0x0),
        (Mul, F32, Up, &[0x35de0730, 0xa1395be], 0x800000),
        (Mul, F32, Up, &[0x246e3ef1, 0x1b8989e0], 0x0),
        (Fma, F32, Up, &[0xb74164d8, 0x89296fc2, 0x80800000], 0x800000),
        (Fma, F32, Up, &[0xb2bf1f65, 0xdab733c, 0x800001], 0x80000000),
        (Fma, F32, Up, &[0xb345b61d, 0x8d25bc8f, 0x80800002], 0x800000),
        (Fma, F32, Up, &[0x24a2edbf, 0x1bc91e61, 0x80800002], 0x0),
        (Fma, F32, Up, &[0x35fb5c6d, 0xa825cbf, 0x80800001], 0x0),
        (Mul, F16, Nearest, &[0x83f, 0x3787], 0x0),
        (Mul, F16, Nearest, &[0xa56a, 0x19e9], 0x8400),
        (Mul, F16, Nearest, &[0xd3c, 0x321d], 0x400),
        (Mul, F16, Nearest, &[0xa31a, 0x9c81], 0x0),
        (Mul, F16, Nearest, &[0x9ed6, 0xa0ae], 0x0),
        (Fma, F16, Nearest, &[0x1506, 0x2e5f, 0x8402], 0x0),
        (Fma, F16, Nearest, &[0x8e2c, 0xb52f, 0x8400], 0x0),
        (Fma, F16, Nearest, &[0x9cc5, 0xa6b6, 0x8401], 0x0),
        (Fma, F16, Nearest, &[0x9c0, 0x3992, 0x8402], 0x400),
        (Fma, F16, Nearest, &[0x16d3, 0xacb1, 0x401], 0x8400),
    ];
    check_cases(cases, true);
}

#[test]
fn nan_of_f64() {
    use Elem::F64;
    use Round::Nearest;
    #[rustfmt::skip]
    let cases: &[Case] = &[
        (Add, F64, Nearest, &[0x7ff8000000000001, 0xfff0000000000004], 0xfff8000000000004),
        (Add, F64, Nearest, &[0xfff0000000000004, 0x7ff8000000000001], 0x7ff8000000000001),
        (Add, F64, Nearest, &[0xfff0000000000004, 0x3ff0000000000000], 0xfff8000000000004),
        (Add, F64, Nearest, &[0x3ff0000000000000, 0xfff0000000000004], 0xfff8000000000004),
        (Add, F64, Nearest, &[0x7ff0000000000000, 0xfff0000000000000], 0xfff8000000000000),
        (Sub, F64, Nearest, &[0x7ff8000000000001, 0xfff0000000000004], 0xfff8000000000004),
        (Sub, F64, Nearest, &[0x3ff0000000000000, 0xfff0000000000004], 0xfff8000000000004),
        (Mul, F64, Nearest, &[0x7ff8000000000001, 0xfff0000000000004], 0xfff8000000000004),
        (Mul, F64, Nearest, &[0x0, 0x7ff0000000000000], 0xfff8000000000000),
        (Div, F64, Nearest, &[0x7ff8000000000001, 0xfff0000000000004], 0x7ff8000000000001),
        (Div, F64, Nearest, &[0xfff0000000000004, 0x7ff8000000000001], 0xfff8000000000004),
        (Div, F64, Nearest, &[0x0, 0x0], 0xfff8000000000000),
        (Fma, F64, Nearest, &[0x7ff8000000000001, 0xfff0000000000004, 0x7ff0000000000003], 0xfff8000000000004),
        (Fma, F64, Nearest, &[0x7ff8000000000001, 0x0, 0x7ff0000000000003], 0x7ff8000000000003),
        (Fma, F64, Nearest, &[0x3ff0000000000000, 0xfff0000000000004, 0x7ff0000000000003], 0xfff8000000000004),
        (Fma, F64, Nearest, &[0xfff0000000000004, 0x0, 0x0], 0xfff8000000000004),
        (Fma, F64, Nearest, &[0x0, 0x7ff0000000000000, 0x7ff0000000000003], 0x7ff8000000000003),
        (Fma, F64, Nearest, &[0x0, 0x7ff0000000000000, 0x0], 0xfff8000000000000),
        (Sqrt, F64, Nearest, &[0xfff0000000000004], 0xfff8000000000004),
        (Sqrt, F64, Nearest, &[0xbff0000000000000], 0xfff8000000000000),
    ];
    check_cases(cases, false);
}
