//! Branches, calls and the end of threads: small programs, since these instructions have no results of their own.

use crate::cases::{Case, Register, Setting};
use hostwarp_isa::Ty;

/// Instructions that name functions and lists of labels, and have no forms for that.
pub const WITHOUT_FORMS: &[&str] = &["brx", "call"];

/// What the programs call.
pub const FUNCTIONS: &str = "\
.func (.param .b32 r) difference(.param .b32 x, .param .b32 y)
{
    .reg .b32 %x, %y;
    ld.param.b32 %x, [x];
    ld.param.b32 %y, [y];
    sub.s32 %x, %x, %y;
    st.param.b32 [r], %x;
    ret;
}
.func (.param .b32 r) in_spaces(.param .b32 x, .param .b32 y)
{
    .reg .b32 %x, %y;
    ld.param::func.b32 %x, [x];
    ld.param::func.b32 %y, [y];
    xor.b32 %x, %x, %y;
    st.param::func.b32 [r], %x;
    ret.uni;
}
.func (.reg .b32 r) by_registers(.reg .b32 x, .reg .b32 y)
{
    .reg .pred %p;
    setp.lt.u32 %p, x, y;
    mov.b32 r, y;
    @%p ret;
    mov.b32 r, x;
    ret;
}
.func (.param .align 8 .b8 r[16]) structures(.param .align 8 .b8 x[16])
{
    .reg .b32 %x<4>;
    ld.param.v2.b32 {%x0, %x1}, [x];
    ld.param.v2.b32 {%x2, %x3}, [x+8];
    add.u32 %x0, %x0, %x2;
    st.param.v2.b32 [r], {%x3, %x0};
    st.param.b16 [r+8], %x1;
    st.param.b8 [r+10], %x2;
    ld.param.s8 %x1, [x+15];
    st.param.b32 [r+12], %x1;
    ret;
}
.func (.param .b32 r) nested(.param .b32 x, .param .b32 y)
{
    .reg .b32 %x, %y;
    .param .b32 i, j, o;
    ld.param.b32 %x, [x];
    ld.param.b32 %y, [y];
    st.param.b32 [i], %y;
    st.param.b32 [j], %x;
    call.uni (o), difference, (i, j);
    ld.param.b32 %x, [o];
    mul.lo.u32 %x, %x, 3;
    st.param.b32 [r], %x;
    ret;
}
.func ends(.param .b32 x)
{
    .reg .b32 %x;
    .reg .pred %p;
    ld.param.b32 %x, [x];
    and.b32 %x, %x, 1;
    setp.ne.u32 %p, %x, 0;
    @%p exit;
    ret;
}
";

/// The cases of an opcode of this family.
pub fn cases(opcode: &str) -> Vec<Case> {
    CASES.iter().filter(|(o, ..)| *o == opcode).map(|(_, text, body)| case(text, body)).collect()
}

fn case(text: &str, body: &str) -> Case {
    let functions = body.contains("call");
    let alone = text.contains("in a kernel") || body.contains("ends");
    let registers = vec![
        Register::source("a", Ty::U32),
        Register::source("b", Ty::U32),
        Register::source("p", Ty::Pred),
        Register::dest("d", Ty::B32),
    ];
    let setting = Setting { block: Some(32), functions, alone, ..Setting::default() };
    Case { text: text.into(), instance: None, registers, setting, body: format!("    {{\n{body}    }}\n") }
}

/// Opcode, instruction and program. They read `%a`, `%b` and the predicate `%p`, and write `%d`.
const CASES: &[(&str, &str, &str)] = &[
    ("bra", "bra L", "    mov.b32 %d, %a;\n    bra L;\n    mov.b32 %d, %b;\nL:\n"),
    ("bra", "bra.uni L", "    mov.b32 %d, %a;\n    bra.uni L;\n    mov.b32 %d, %b;\nL:\n"),
    ("bra", "@%p bra L", "    mov.b32 %d, %a;\n    @%p bra L;\n    mov.b32 %d, %b;\nL:\n"),
    ("bra", "@!%p bra L", "    mov.b32 %d, %a;\n    @!%p bra L;\n    mov.b32 %d, %b;\nL:\n"),
    (
        "bra",
        "@%p bra L // either way",
        "    @%p bra YES;\n    sub.u32 %d, %a, %b;\n    bra L;\nYES:\n    add.u32 %d, %a, %b;\nL:\n    add.u32 %d, %d, 1;\n",
    ),
    (
        "bra",
        "@%q bra L // back, a & 31 times",
        "    .reg .pred %q;\n    .reg .b32 %n;\n    and.b32 %n, %a, 31;\n    mov.b32 %d, %b;\nL:\n    mad.lo.u32 %d, %d, 5, %n;\n    \
         setp.ne.u32 %q, %n, 0;\n    sub.u32 %n, %n, 1;\n    @%q bra L;\n",
    ),
    (
        "bra",
        "@%q bra L // a loop in a loop, left in the middle",
        "    .reg .pred %q;\n    .reg .b32 %n, %m;\n    and.b32 %n, %a, 7;\n    mov.b32 %d, 1;\nOUTER:\n    and.b32 %m, %b, 7;\nINNER:\n    \
         mad.lo.u32 %d, %d, 7, %m;\n    and.b32 %t6, %d, 63;\n    setp.eq.u32 %q, %t6, 9;\n    @%q bra L;\n    setp.ne.u32 %q, %m, 0;\n    \
         sub.u32 %m, %m, 1;\n    @%q bra INNER;\n    setp.ne.u32 %q, %n, 0;\n    sub.u32 %n, %n, 1;\n    @%q bra OUTER;\n    \
         add.u32 %d, %d, %a;\nL:\n",
    ),
    (
        "brx",
        "brx.idx %k, table",
        "    .reg .b32 %k;\n    and.b32 %k, %a, 3;\ntable: .branchtargets L0, L1, L2, L3;\n    brx.idx %k, table;\nL0:\n    mov.b32 %d, %b;\n    \
         bra END;\nL1:\n    add.u32 %d, %a, %b;\n    bra END;\nL2:\n    xor.b32 %d, %a, %b;\nL3:\n    not.b32 %d, %b;\nEND:\n",
    ),
    (
        "brx",
        "brx.idx.uni %k, table",
        "    .reg .b32 %k;\n    and.b32 %k, %t0, 1;\ntable: .branchtargets L0, L1;\n    brx.idx.uni %k, table;\nL0:\n    mov.b32 %d, %b;\n    \
         bra END;\nL1:\n    add.u32 %d, %a, %b;\nEND:\n",
    ),
    (
        "brx",
        "@%p brx.idx %k, table",
        "    .reg .b32 %k;\n    and.b32 %k, %a, 1;\n    mov.b32 %d, 7;\ntable: .branchtargets L0, L1;\n    @%p brx.idx %k, table;\n    bra END;\nL0:\n    \
         mov.b32 %d, %b;\n    bra END;\nL1:\n    add.u32 %d, %a, %b;\nEND:\n",
    ),
    (
        "call",
        "call (r), difference, (x, y)",
        "    .param .b32 x, y, r;\n    st.param.b32 [x], %a;\n    st.param.b32 [y], %b;\n    call (r), difference, (x, y);\n    ld.param.b32 %d, [r];\n",
    ),
    (
        "call",
        "call.uni (r), difference, (x, y)",
        "    .param .b32 x, y, r;\n    st.param.b32 [x], %a;\n    st.param.b32 [y], %b;\n    call.uni (r), difference, (x, y);\n    ld.param.b32 %d, [r];\n",
    ),
    (
        "call",
        "call (r), difference, (x, y) // in one branch",
        "    mov.b32 %d, %b;\n    @!%p bra END;\n    {\n    .param .b32 x, y, r;\n    st.param.b32 [x], %a;\n    st.param.b32 [y], %b;\n    \
         call (r), difference, (x, y);\n    ld.param.b32 %d, [r];\n    }\nEND:\n",
    ),
    (
        "call",
        "call (r), in_spaces, (x, y)",
        "    .param .b32 x, y, r;\n    st.param::func.b32 [x], %a;\n    st.param::func.b32 [y], %b;\n    call (r), in_spaces, (x, y);\n    \
         ld.param::func.b32 %d, [r];\n",
    ),
    ("call", "call (%d), by_registers, (%a, %b)", "    call (%d), by_registers, (%a, %b);\n"),
    (
        "call",
        "call (r), structures, (x)",
        "    .reg .b32 %e<3>;\n    .param .align 8 .b8 x[16], r[16];\n    st.param.v2.b32 [x], {%a, %b};\n    st.param.b32 [x+8], %b;\n    \
         st.param.b16 [x+12], %a;\n    st.param.b16 [x+14], %b;\n    call (r), structures, (x);\n    ld.param.v2.b32 {%d, %e0}, [r];\n    \
         ld.param.b32 %e1, [r+8];\n    ld.param.b32 %e2, [r+12];\n    and.b32 %e1, %e1, 0xffffff;\n    mad.lo.u32 %d, %d, 31, %e0;\n    \
         mad.lo.u32 %d, %d, 31, %e1;\n    mad.lo.u32 %d, %d, 31, %e2;\n",
    ),
    (
        "call",
        "call (r), nested, (x, y)",
        "    .param .b32 x, y, r;\n    st.param.b32 [x], %a;\n    st.param.b32 [y], %b;\n    call (r), nested, (x, y);\n    ld.param.b32 %d, [r];\n",
    ),
    ("ret", "@%p ret // in a kernel", "    mov.b32 %d, %a;\n    @%p ret;\n"),
    ("ret", "@!%p ret // in a kernel", "    mov.b32 %d, %a;\n    @!%p ret;\n"),
    (
        "ret",
        "ret.uni // in a kernel",
        "    mov.b32 %d, %a;\n    and.b32 %t6, %t0, 1;\n    setp.ne.u32 %p, %t6, 0;\n    @%p ret.uni;\n",
    ),
    ("ret", "@%p ret // in a function", "    call (%d), by_registers, (%b, %a);\n"),
    ("exit", "@%p exit // in a kernel", "    mov.b32 %d, %a;\n    @%p exit;\n"),
    ("exit", "exit // in a kernel, behind a branch", "    mov.b32 %d, %b;\n    @%p bra L;\n    exit;\nL:\n"),
    (
        "exit",
        "@%p exit // in a function",
        "    .param .b32 x;\n    mov.b32 %d, %b;\n    st.param.b32 [x], %a;\n    call ends, (x);\n",
    ),
];
