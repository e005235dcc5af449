//! Where things are: parameters, images, shared and local memory.

use hostwarp_compile::{Data, Module, Options, Relocation, Style, compile, render};
use hostwarp_ir::Space;
use hostwarp_isa::Ty;

fn module(text: &str) -> Module {
    let source = format!(".version 8.8\n.target sm_90\n.address_size 64\n{text}");
    let output = compile(&hostwarp_syntax::parse(&source), &Options::default());
    let shown = render(&output.diagnostics, &source, "layout.ptx", Style::default());
    assert!(output.diagnostics.is_empty(), "{shown}");
    output.module
}

#[test]
fn head() {
    let m = module("");
    assert_eq!((m.version, m.sm, m.address_size), ((8, 8), 90, 64));
}

#[test]
fn parameters() {
    let m = module(
        ".entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .u16 c, .param .align 8 .b8 d[12], .param .f32 e[3]) \
         .reqntid 32, 2 .maxnreg 40 { ret; }",
    );
    let k = m.kernel("k").unwrap();
    let places: Vec<_> = k.params.iter().map(|p| (p.name.as_str(), p.offset, p.size, p.align)).collect();
    assert_eq!(places, [("a", 0, 1, 1), ("b", 8, 8, 8), ("c", 16, 2, 2), ("d", 24, 12, 8), ("e", 36, 12, 4)]);
    assert_eq!(k.params[1].pointer, Some((Some(Space::Global), 16)));
    assert_eq!((k.params[3].array, k.params[0].array), (true, false));
    assert_eq!(k.info.param_bytes, 48);
    assert_eq!(k.limits.required_cta, Some([32, 2, 1]));
    assert_eq!(k.limits.max_registers, Some(40));
    assert_eq!(k.lines, (4, 4));
}

#[test]
fn initial_values() {
    let m = module(
        ".global .u8 a = 0x1ff;\n.global .align 8 .u16 b[3] = {1, -1};\n.visible .global .v2 .f32 c = {1.0, 0f40000000};\n\
         .global .b8 gap[4096];\n.global .u32 d[2][2] = {{1}, {2, 3}};\n.global .f64 e = 0f3f800000;\n.const .u32 f[] = {7, WARP_SZ};",
    );
    let offset = |name: &str| m.globals.symbol(name).unwrap().offset;
    assert_eq!([offset("a"), offset("b"), offset("c"), offset("gap"), offset("d")], [0, 8, 16, 24, 4120]);
    assert_eq!(m.globals.size, offset("e") + 8);
    assert_eq!(
        (m.globals.symbol("c").unwrap().visible, m.globals.symbol("a").unwrap().visible),
        (true, false)
    );
    let bytes: Vec<u8> =
        [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40].into();
    assert_eq!(m.globals.data[0], Data { offset: 0, bytes });
    // The long gap is no part of the data.
    let bytes: Vec<u8> = [1u32, 0, 2, 3, 0, 0, 0, 0x3ff0_0000].iter().flat_map(|w| w.to_le_bytes()).collect();
    assert_eq!(m.globals.data[1].offset, 4120);
    assert_eq!(m.globals.data[1].bytes[..16], bytes[..16]);
    assert_eq!(m.globals.data[1].bytes[m.globals.data[1].bytes.len() - 8..], bytes[24..]);
    assert_eq!(m.constants.data, [Data { offset: 0, bytes: vec![7, 0, 0, 0, 32, 0, 0, 0] }]);
    assert_eq!(m.constants.symbols[0].ty, Ty::U32);
}

#[test]
fn addresses_of_variables() {
    let m = module(
        ".global .u32 a[4];\n.const .u32 c;\n.global .u64 p[3] = {a, a + 8, generic(c)};\n.global .u8 bytes[2] = {0xff(a), 0xff00(a)};",
    );
    let plain = Relocation {
        offset: 16,
        bytes: 8,
        space: Space::Global,
        target: 0,
        addend: 0,
        generic: false,
        mask: u64::MAX,
    };
    let r = &m.globals.relocations;
    assert_eq!(r[0], plain);
    assert_eq!(r[1], Relocation { offset: 24, addend: 8, ..plain });
    assert_eq!(r[2], Relocation { offset: 32, space: Space::Const, generic: true, ..plain });
    assert_eq!(r[3], Relocation { offset: 40, bytes: 1, mask: 0xff, ..plain });
    let values: Vec<u64> = r.iter().map(|r| r.value(0x7_1234)).collect();
    assert_eq!(values, [0x7_1234, 0x7_123c, Space::Const.window(), 0x34, 0x12]);
}

#[test]
fn shared_and_local_memory() {
    let m = module(
        ".shared .b8 unused[1000];\n.shared .align 4 .b8 used[6];\n.extern .shared .align 32 .b8 dynamic[];\n\
         .entry k() {\n .reg .b32 %r<4>; .reg .b64 %rd;\n .shared .u64 own;\n .local .align 16 .b8 stack[20];\n\
         mov.u32 %r0, used; mov.u32 %r1, own; mov.u32 %r2, dynamic; ld.shared.u32 %r3, [dynamic+4]; mov.u64 %rd, stack;\n ret; }\n\
         .entry none() { ret; }",
    );
    let k = m.kernel("k").unwrap();
    assert_eq!((k.info.declared_shared(), k.info.local_bytes), (32, 32));
    let text = k.function.as_ref().unwrap().to_string();
    // Behind what is reserved: used first, own 8 bytes further on, dynamic memory at the next multiple of 32.
    for constant in ["const 0x400", "const 0x408", "const 0x420"] {
        assert!(text.contains(constant), "no {constant} in\n{text}");
    }
    assert_eq!(m.kernel("none").unwrap().info.shared_bytes, 0);
}
