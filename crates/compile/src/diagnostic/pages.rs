//! The page behind each code: what `hostwarp explain` shows and the error index holds.

use super::Code;

/// PTX that shows something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Example {
    /// A whole file.
    File(&'static str),
    /// Declarations and functions behind the usual head.
    Module(&'static str),
    /// Statements in a kernel that has some registers.
    Body(&'static str),
}

impl Example {
    /// What is worth showing.
    pub fn text(self) -> &'static str {
        match self {
            Example::File(text) | Example::Module(text) | Example::Body(text) => text,
        }
    }

    /// The whole file, with the head and the declarations that go without saying.
    pub fn file(self) -> String {
        const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";
        match self {
            Example::File(text) => text.to_string(),
            Example::Module(text) => format!("{HEAD}{text}\n"),
            Example::Body(text) => format!(
                "{HEAD}.visible .entry example(.param .u64 data) {{\n    .reg .b32 %r<8>;\n    .reg .b64 %rd<8>;\n    \
                 .reg .pred %p<4>;\n    .reg .f32 %f<8>;\n    .reg .b16 %h<8>;\n    {text}\n    ret;\n}}\n"
            ),
        }
    }
}

/// What there is to know about a code.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Some sentences.
    pub explanation: &'static str,
    /// PTX with this diagnostic.
    pub wrong: Option<Example>,
    /// The same without it.
    pub right: Option<Example>,
}

const fn page(explanation: &'static str, wrong: Example, right: Example) -> Page {
    Page { explanation, wrong: Some(wrong), right: Some(right) }
}

const fn words(explanation: &'static str) -> Page {
    Page { explanation, wrong: None, right: None }
}

/// The error index: a page for each code and one that lists them, as file names and Markdown.
pub fn error_index() -> Vec<(String, String)> {
    let mut list =
        String::from("# Diagnostics\n\n`P`: syntax, `E`: errors, `W`: warnings, `U`: not supported yet.\n\n");
    let mut files = vec![];
    for code in Code::ALL {
        list.push_str(&format!("- [{0}]({0}.md): {1}\n", code.text(), code.title()));
        files.push((format!("{code}.md"), code.markdown()));
    }
    files.push(("README.md".into(), list));
    files
}

impl Code {
    /// Its page as Markdown: title, explanation, examples.
    pub fn markdown(self) -> String {
        let page = self.page();
        let mut out = format!("# {}: {}\n\n{}\n", self.text(), self.title(), page.explanation);
        for (heading, example) in [("Wrong", page.wrong), ("Right", page.right)] {
            if let Some(example) = example {
                out.push_str(&format!("\n{heading}:\n\n```ptx\n{}\n```\n", example.text()));
            }
        }
        out
    }

    /// Its page.
    pub fn page(self) -> Page {
        use Code::*;
        use Example::*;
        match self {
            UnknownCharacter => page(
                "PTX is written in ASCII letters, digits and a few signs. Other characters may stand in comments and strings \
                 only. A dollar sign may be part of a name.",
                Body("add.u32 %r1, %r2, £5;"),
                Body("add.u32 %r1, %r2, 5;"),
            ),
            NotUtf8 => words(
                "The file holds bytes that are not text. A compiled module (cubin, fatbin) cannot be read; ask the compiler for \
                 PTX instead, for instance with `nvcc -ptx`.",
            ),
            BadNumber => page(
                "Integers are decimal, hexadecimal (`0x2a`), octal (`052`) or binary (`0b101010`), with `U` behind them if they are \
                 unsigned. Floats are decimal, or `0f` and eight hexadecimal digits for the bits of a single, `0d` and sixteen for \
                 those of a double.",
                Body("mov.f32 %f1, 0f3f8;"),
                Body("mov.f32 %f1, 0f3f800000;"),
            ),
            IntegerTooLarge => page(
                "An integer literal has at most 64 bits. Of a longer one ptxas takes the low 64, and so does Hostwarp, with this warning.",
                Body("mov.u64 %rd1, 0x10000000000000000;"),
                Body("mov.u64 %rd1, 0xffffffffffffffff;"),
            ),
            UnclosedString => words("A string ends with a quote on the line where it begins."),
            UnclosedComment => words("A comment that begins with `/*` ends with `*/`. Comments do not nest."),
            TextTooLong => words("A module may have at most 1 GiB of text."),
            UnexpectedText => page(
                "The text does not go on as PTX does: a comma, a semicolon, an operand or a bracket is missing or one too many. The \
                 message says what was expected and what stands there.",
                Body("add.u32 %r1 %r2, %r3;"),
                Body("add.u32 %r1, %r2, %r3;"),
            ),
            UnclosedBlock => page(
                "Every `{` of a function or block needs its `}`.",
                Module(".visible .entry k() {\n    ret;"),
                Module(".visible .entry k() {\n    ret;\n}"),
            ),
            UnmatchedBrace => page(
                "There are more closing braces than opening ones.",
                Module(".visible .entry k() {\n    ret;\n}\n}"),
                Module(".visible .entry k() {\n    ret;\n}"),
            ),
            UnexpectedToken => page(
                "A statement begins with an opcode, a guard `@p`, a label, a directive or a brace.",
                Body("+ add.u32 %r1, %r2, %r3;"),
                Body("add.u32 %r1, %r2, %r3;"),
            ),
            UnknownDirective => page(
                "A directive of this name does not exist. State spaces and types are directives too: perhaps one is misspelt.",
                Module(".gobal .u32 counter;"),
                Module(".global .u32 counter;"),
            ),
            InstructionOutsideFunction => page(
                "Instructions and labels belong into the body of an `.entry` or `.func`.",
                Module("ret;"),
                Module(".visible .entry k() { ret; }"),
            ),
            MissingLabel => words(
                "`.callprototype`, `.calltargets` and `.branchtargets` are used by name, so a label stands before them: \
                 `targets: .branchtargets A, B;`.",
            ),
            NestedFunction => page(
                "A function begins before the one above it was closed.",
                Module(".visible .entry a() {\n    ret;\n.visible .entry b() {\n    ret;\n}"),
                Module(".visible .entry a() {\n    ret;\n}\n.visible .entry b() {\n    ret;\n}"),
            ),
            NestedTooDeeply => words("Blocks and expressions are read up to a depth of 128."),
            TooManySyntaxErrors => {
                words("The text has so many syntax errors that the rest of them is not shown.")
            }

            MissingVersion => page(
                "A module begins with the PTX version it is written for; what exists depends on it.",
                File(".target sm_90\n.address_size 64\n.visible .entry k() { ret; }"),
                File(".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }"),
            ),
            MissingTarget => page(
                "A module names the architecture it is written for; what exists depends on it.",
                File(".version 8.8\n.address_size 64\n.visible .entry k() { ret; }"),
                File(".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }"),
            ),
            BadVersion => page(
                "There is no PTX of this version, or it is of a major version that is newer than Hostwarp.",
                File(".version 88.0\n.target sm_90\n.visible .entry k() { ret; }"),
                File(".version 8.8\n.target sm_90\n.visible .entry k() { ret; }"),
            ),
            BadTarget => page(
                "There is no such architecture, or the module's `.version` is older than it.",
                File(".version 8.8\n.target sm_91\n.visible .entry k() { ret; }"),
                File(".version 8.8\n.target sm_90\n.visible .entry k() { ret; }"),
            ),
            BadAddressSize => page(
                "Addresses have 32 or 64 bits.",
                File(".version 8.8\n.target sm_90\n.address_size 48\n.visible .entry k() { ret; }"),
                File(".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }"),
            ),
            BadDirective => page(
                "`.maxntid` and `.reqntid` take one to three positive numbers, `.minnctapersm` and `.maxnreg` one.",
                Module(".visible .entry k() .maxntid 0 { ret; }"),
                Module(".visible .entry k() .maxntid 256 { ret; }"),
            ),

            BadType => page(
                "Variables have one of the fundamental types. `.pred` exists in registers only. `.bf16`, `.tf32` and the packed types \
                 other than `.f16x2` are types of instructions, not of variables: their registers are `.b16` and `.b32`.",
                Body(".reg .bf16 %x;"),
                Body(".reg .b16 %x;"),
            ),
            BadSpace => page(
                "Registers and local memory belong to a function, parameters to its head. A kernel's parameters are scalars or arrays in \
                 `.param`.",
                Module(".reg .u32 %r1;"),
                Module(".visible .entry k() {\n    .reg .u32 %r1;\n    ret;\n}"),
            ),
            Duplicate => page(
                "A name can be defined once in each scope. A block in braces is a scope of its own and may define it anew.",
                Body(".reg .u32 i;\n    .reg .s32 i;"),
                Body(".reg .u32 i;\n    { .reg .s32 i; }"),
            ),
            BadAlignment => page(
                "An alignment is a power of two.",
                Module(".global .align 3 .b8 buffer[16];"),
                Module(".global .align 4 .b8 buffer[16];"),
            ),
            BadDimension => page(
                "The size of an array must be known: from its bounds, or the first of them from its initialiser. Only `.extern` arrays go \
                 without.",
                Module(".global .u32 table[];"),
                Module(".global .u32 table[] = {1, 2, 3};"),
            ),
            BadInitialiser => page(
                "The initial value does not go with the variable: too many values, a float for an integer or the other way round, or the \
                 address of something that has none before a launch.",
                Module(".global .u32 table[2] = {1, 2, 3};"),
                Module(".global .u32 table[3] = {1, 2, 3};"),
            ),
            NoInitialiser => page(
                "Only variables in `.global` and `.const` have initial values, and not those of 16-bit float types.",
                Module(".shared .u32 counter = 1;"),
                Module(".global .u32 counter = 1;"),
            ),
            TooLarge => page(
                "There are 64 KiB for constants, 48 KiB for static shared memory and 32764 bytes for the parameters of a kernel. More \
                 shared memory can be had at launch: declare it `.extern .shared` without a bound.",
                Module(".const .b8 table[100000];"),
                Module(".global .b8 table[100000];"),
            ),
            BadRegisterCount => page(
                "`%r<4>` declares the registers %r0 to %r3. Only registers can be declared like this.",
                Module(".global .u32 x<4>;"),
                Module(".global .u32 x[4];"),
            ),

            UnknownName => page(
                "Registers and variables must be declared before they are used. `%r<4>` declares %r0 to %r3 and no %r4.",
                Body("add.u32 %r1, %r2, %r8;"),
                Body("add.u32 %r1, %r2, %r7;"),
            ),
            UnknownLabel => page(
                "The label to go to does not exist, or is inside a block in braces that this instruction is not in.",
                Body("bra done;"),
                Body("bra done;\ndone:"),
            ),
            BadGuard => page(
                "The guard of an instruction is a register of type `.pred`, made with `setp` for instance.",
                Body("@%r1 add.u32 %r2, %r2, 1;"),
                Body("setp.ne.u32 %p1, %r1, 0;\n    @%p1 add.u32 %r2, %r2, 1;"),
            ),
            ReadOnly => page(
                "A result goes to a register. Special registers cannot be written.",
                Body("mov.u32 %tid.x, %r1;"),
                Body("mov.u32 %r1, %tid.x;"),
            ),
            BadConstant => page(
                "A constant expression is made of literals, `WARP_SZ` and operators. Integers and floats are not mixed, and nothing is \
                 divided by zero.",
                Body("add.u32 %r1, %r1, 4 / 0;"),
                Body("add.u32 %r1, %r1, 4 / 2;"),
            ),

            UnknownOpcode => page(
                "PTX has no instruction of this name.",
                Body("vabsdif4.u32.u32.u32 %r1, %r2, %r3, %r4;"),
                Body("vabsdiff4.u32.u32.u32 %r1, %r2, %r3, %r4;"),
            ),
            UnknownModifier => page(
                "No form of the instruction has this modifier.",
                Body("add.u32.saturate %r1, %r2, %r3;"),
                Body("add.sat.s32 %r1, %r2, %r3;"),
            ),
            ModifierConflict => page(
                "Each of the two modifiers exists on this instruction, but no form has both.",
                Body("vadd4.u32.u32.u32.sat.add %r1, %r2, %r3, %r4;"),
                Body("vadd4.u32.u32.u32.add %r1, %r2, %r3, %r4;"),
            ),
            ModifierNotHere => page(
                "The instruction has this modifier, but not in the form that the other modifiers ask for. Types also keep their order: the \
                 type of the result comes first.",
                Body(".reg .f64 %d;\n    cvt.rn.f64.f32 %d, %f1;"),
                Body(".reg .f64 %d;\n    cvt.f64.f32 %d, %f1;"),
            ),
            ModifierRepeated => page(
                "A modifier is written once. (A second `.sat` or `.relu` is accepted with a warning, because ptxas accepts it.)",
                Body("vadd4.u32.u32.u32.u32 %r1, %r2, %r3, %r4;"),
                Body("vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;"),
            ),
            ModifierMissing => page(
                "The instruction needs one more modifier. The rounding of a half-precision `fma` must be written although the manual calls \
                 `.rn` the default: ptxas does not accept it without.",
                Body("fma.f16 %h1, %h2, %h3, %h4;"),
                Body("fma.rn.f16 %h1, %h2, %h3, %h4;"),
            ),
            OperandCount => page(
                "The instruction takes another number of operands. The SIMD video instructions always take four.",
                Body("vadd4.u32.u32.u32 %r1, %r2, %r3;"),
                Body("vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;"),
            ),
            BadOperand => page(
                "The operand has the wrong type or kind. A register must be as wide as the type says; `.b` registers go with every type of \
                 their width, signed and unsigned integers with each other, floats with the same float only. A mask on a SIMD video \
                 instruction names each element once, highest first; the manual's `.b00` is not accepted by ptxas either.",
                Body("add.u32 %r1, %r2, %f1;"),
                Body("add.u32 %r1, %r2, %r3;"),
            ),
            NeedsVersion => page(
                "The instruction, or this form of it, came with a later PTX version than the module's `.version`.",
                File(
                    ".version 8.0\n.target sm_90\n.visible .entry k() {\n    .reg .b16 %h<4>;\n    fma.rn.oob.f16 %h0, %h1, %h2, %h3;\n    ret;\n}",
                ),
                File(
                    ".version 8.1\n.target sm_90\n.visible .entry k() {\n    .reg .b16 %h<4>;\n    fma.rn.oob.f16 %h0, %h1, %h2, %h3;\n    ret;\n}",
                ),
            ),
            NeedsTarget => page(
                "The instruction, or this form of it, does not exist on the module's `.target`.",
                File(
                    ".version 8.8\n.target sm_75\n.visible .entry k() {\n    .reg .b16 %h<4>;\n    fma.rn.bf16 %h0, %h1, %h2, %h3;\n    ret;\n}",
                ),
                File(
                    ".version 8.8\n.target sm_80\n.visible .entry k() {\n    .reg .b16 %h<4>;\n    fma.rn.bf16 %h0, %h1, %h2, %h3;\n    ret;\n}",
                ),
            ),
            BrokenRule => page(
                "Each part of the instruction is right, but together they are not allowed. The message says which rule it is.",
                Body("vmad.s32.s32.s32 %r1, -%r2, %r3, -%r4;"),
                Body("vmad.s32.s32.s32 %r1, -%r2, %r3, %r4;"),
            ),
            SpaceMismatch => page(
                "The variable is in another state space than the instruction says. Without a state space the address is generic; variables in \
                 `.const` and `.param` cannot be reached like that.",
                Module(
                    ".shared .u32 tile[32];\n.visible .entry k() {\n    .reg .u32 %r1;\n    ld.global.u32 %r1, [tile];\n    ret;\n}",
                ),
                Module(
                    ".shared .u32 tile[32];\n.visible .entry k() {\n    .reg .u32 %r1;\n    ld.shared.u32 %r1, [tile];\n    ret;\n}",
                ),
            ),
            BadAddress => page(
                "An address is a register of 32 or 64 integer bits or a variable, with a constant added to it if need be.",
                Body("ld.global.u32 %r1, [%f1];"),
                Body("ld.global.u32 %r1, [%rd1+4];"),
            ),
            BadCall => page(
                "A call names a function (not a kernel) that is declared before it and hands over as many values as the function has \
                 parameters, each of the same size: registers or constants, or variables in `.param`.",
                Module(
                    ".func (.reg .u32 y) twice(.reg .u32 x) {\n    add.u32 y, x, x;\n    ret;\n}\n.visible .entry k() {\n    .reg .u32 %r1;\n    \
                     call (%r1), twice;\n    ret;\n}",
                ),
                Module(
                    ".func (.reg .u32 y) twice(.reg .u32 x) {\n    add.u32 y, x, x;\n    ret;\n}\n.visible .entry k() {\n    .reg .u32 %r1;\n    \
                     call (%r1), twice, (%r1);\n    ret;\n}",
                ),
            ),

            Undocumented => page(
                "The manual does not have this form, ptxas accepts it all the same, and so does Hostwarp. What it does was recorded on \
                 hardware; a later ptxas may refuse it.",
                Body("fma.rn.oob.sat.f16 %h1, %h2, %h3, %h4;"),
                Body("fma.rn.oob.relu.f16 %h1, %h2, %h3, %h4;"),
            ),
            RepeatedModifier => page(
                "The second `.sat`, `.relu`, `.NaN`, `.uni`, `.sync` or `.cc` has no effect. ptxas accepts it too.",
                Body("vadd.u32.u32.u32.sat.sat %r1, %r2, %r3;"),
                Body("vadd.u32.u32.u32.sat %r1, %r2, %r3;"),
            ),
            NarrowAddress => page(
                "An address in a register that is too narrow is zero-extended; one of 32 bits is an error (E0042) where it may be of global \
                 memory, as ptxas 13 has it.",
                Body("ld.global.u32 %r1, [%h2];"),
                Body("ld.global.u32 %r1, [%rd2];"),
            ),

            HidesSpecial => page(
                "A register may be called like a special register, and hides it then: `%tid.x` is no longer the thread's index but a \
                 component of that register. In a range like `%clock<65>` it is easily missed.",
                Body(".reg .u32 %tid;"),
                Body(".reg .u32 %index;"),
            ),
            NewerVersion => page(
                "The module is of a later version of PTX than Hostwarp knows, but of the same major one: it is read as if it were of that version. What \
                 came with it is reported as an error, where it is used. A newer major version is an error (E0003).",
                File(".version 9.9\n.target sm_90\n.visible .entry k() { ret; }"),
                File(".version 9.4\n.target sm_90\n.visible .entry k() { ret; }"),
            ),

            UnsupportedInstruction => words(
                "This is right PTX, and Hostwarp does not do it yet. Kernels that contain it cannot be launched; all other kernels of the \
                 module can.",
            ),
            UnsupportedFeature => words(
                "This is right PTX, and Hostwarp does not do it yet: textures, variables and functions of other modules, addresses of \
                 functions and the like. Kernels that use it cannot be launched; all other kernels of the module can.",
            ),
            TooMany => words("Only the first diagnostics are shown; the rest are counted."),
        }
    }
}
