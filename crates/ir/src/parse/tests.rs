use super::*;

/// Adding an op without a place in the list above does not compile; one that is in no list is not read back.
fn listed(op: &Op) -> bool {
    match op {
        Op::Const(_) | Op::Extract(_) | Op::Permute(_) | Op::Address(_) => false,
        Op::Special(_) | Op::Int(_) | Op::IntUn(_) | Op::Cmp(_) | Op::Select | Op::Zext | Op::Sext => true,
        Op::Trunc | Op::Bitcast | Op::Build | Op::HSum { .. } | Op::Lookup(_) | Op::Float { .. } => true,
        Op::Fma { .. } | Op::FmaOdd { .. } | Op::Sqrt { .. } | Op::FMin { .. } | Op::FMax { .. } => true,
        Op::Propagate => true,
        Op::FNeg | Op::FAbs | Op::Ftz | Op::FCmp(_) | Op::ToBits | Op::FromBits | Op::FCvt(_) => true,
        Op::FRound(_) | Op::FToInt { .. } | Op::IntToF { .. } | Op::Load(_) | Op::Store(_) => true,
        Op::Dot(_)
        | Op::Mma(_)
        | Op::Atomic(..)
        | Op::Fence(_)
        | Op::LaneRead
        | Op::Ballot
        | Op::ActiveMask => true,
    }
}

#[test]
fn no_two_ops_are_spelled_alike() {
    let all = every_op();
    assert!(all.iter().all(listed));
    assert_eq!(mnemonics().len(), all.len());
}

#[test]
fn every_op_is_read_back() {
    let mut ops = every_op();
    ops.extend([Op::Const(0), Op::Const(u64::MAX), Op::Extract(7), Op::Permute([7, 6, 5, 4, 3, 2, 1, 0])]);
    ops.extend([Symbol::Slot(3), Symbol::StackTop, Symbol::StackLimit, Symbol::Shared(9)].map(Op::Address));
    ops.push(Op::Address(Symbol::DynamicShared { align: 128 }));
    for op in ops {
        let text =
            format!("kernel k (param 0, shared 0, local 0) {{\nb0():\n    v0: i32 = {op}\n    exit\n}}\n");
        let parsed = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(parsed.kernels[0].blocks[0].insts[0].op, op, "{text}");
    }
}

const MODULE: &str = r#"shared0: 64 bytes, align 16
taken f1, f0
f0 = func twice(v0: i32) -> (i32, i64) {
    slot0: 8 bytes, align 8
b0():
    v1: i32 = address slot0
    v2: i64 = zext v0                                        ; line 3 (wide)
    store.local v1, v2
    (v3: i32, v4: i64) = call [v2](v0), stack v1, b1(v0)     ; line 4
b1(v5: i32):
    return v3, v4                                            ; line 5
}
f1 = none
kernel k (param 8, shared 64, local 0) {
b0():
    v9: i32 = special tid.x
    v1: i1 = trunc v9
    switch v9, [b1, b2(v9), b2(v9)]
b1():
    @v1 store.global.relaxed.gpu v9, v9
    barrier.sync v9, v9, b3
b2(v2: i32):
    () = call f0(v2, v9), stack v2, b3
b3():
    warp_sync v9, b4
b4():
    unsupported "a \"string\"; with \\ and \n"
}
"#;

#[test]
fn a_module_is_read_back() {
    let parsed = parse(MODULE).unwrap();
    assert_eq!(parsed.to_string(), MODULE);
    assert_eq!(parsed.module.taken, [FuncId(1), FuncId(0)]);
    assert_eq!(parsed.kernels[0].unsupported, ["a \"string\"; with \\ and \n"]);
}

/// Any text gives a result: cut off anywhere, and with any one character gone or another.
#[test]
fn no_text_makes_it_panic() {
    for n in 0..MODULE.len() {
        let _ = parse(&MODULE[..n]);
        let _ = parse(&format!("{}{}", &MODULE[..n], &MODULE[n + 1..]));
        for other in ["(", ":", "v", "9", "\"", "\\", "é", "\n"] {
            let _ = parse(&format!("{}{other}{}", &MODULE[..n], &MODULE[n + 1..]));
        }
    }
    assert!(
        parse("kernel k (param 0, shared 0, local 0) {\nb0():\n    v4294967295: i32 = const 0x0\n").is_err()
    );
}

#[test]
fn errors_name_the_line() {
    let at = |text: &str| parse(text).unwrap_err().line;
    assert_eq!(
        at("kernel k (param 0, shared 0, local 0) {\nb0():\n    v0: i32 = frobnicate\n    exit\n}\n"),
        3
    );
    assert_eq!(at("\n\nfunc f(v0 i32) -> () {\n"), 3);
}
