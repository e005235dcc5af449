//! The codes: a closed list. A code never changes its meaning and is never used again for another.

use super::Severity;
use std::fmt;

macro_rules! codes {
    ($($name:ident $text:literal $title:literal),* $(,)?) => {
        /// What a diagnostic is about.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // the titles say it
        pub enum Code { $($name),* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// As it is shown: `E0030`.
            pub const fn text(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }

            /// One line: what is wrong.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$name => $title),* }
            }
        }
    };
}

codes! {
    UnknownCharacter "P0001" "a character that has no place in PTX",
    NotUtf8 "P0002" "bytes that are not text",
    BadNumber "P0003" "a malformed number",
    IntegerTooLarge "P0004" "an integer of more than 64 bits",
    UnclosedString "P0005" "a string without its closing quote",
    UnclosedComment "P0006" "a comment that is never closed",
    TextTooLong "P0007" "a text that is too long",
    UnexpectedText "P0010" "something else was expected here",
    UnclosedBlock "P0011" "a block that is never closed",
    UnmatchedBrace "P0012" "a brace that closes nothing",
    UnexpectedToken "P0013" "no statement begins like this",
    UnknownDirective "P0014" "no such directive",
    InstructionOutsideFunction "P0015" "an instruction outside a function",
    MissingLabel "P0016" "a directive that needs a label",
    NestedFunction "P0017" "a function inside a function",
    NestedTooDeeply "P0020" "nested too deeply",
    TooManySyntaxErrors "P0021" "too many syntax errors",

    MissingVersion "E0001" "the module has no `.version`",
    MissingTarget "E0002" "the module has no `.target`",
    BadVersion "E0003" "a `.version` that does not exist",
    BadTarget "E0004" "a `.target` that does not exist",
    BadAddressSize "E0005" "an `.address_size` that is neither 32 nor 64",
    BadDirective "E0006" "a directive with unfit arguments",

    BadType "E0010" "a type that is not one, or not allowed here",
    BadSpace "E0011" "a variable in a state space where it cannot be",
    Duplicate "E0012" "a name defined twice",
    BadAlignment "E0013" "an alignment that is not a power of two",
    BadDimension "E0014" "an array without a usable size",
    BadInitialiser "E0015" "an initialiser that does not fit",
    NoInitialiser "E0016" "an initialiser where none is allowed",
    TooLarge "E0017" "more memory than there is",
    BadRegisterCount "E0018" "a register range that is not one",

    UnknownName "E0020" "a name that is not defined",
    UnknownLabel "E0021" "a label that is not defined",
    BadGuard "E0023" "a guard that is no predicate",
    ReadOnly "E0024" "a destination that cannot be written",
    BadConstant "E0025" "a constant expression without a value",

    UnknownOpcode "E0030" "an instruction that does not exist",
    UnknownModifier "E0031" "a modifier the instruction does not have",
    ModifierConflict "E0032" "two modifiers that do not go together",
    ModifierNotHere "E0033" "a modifier that has no place in this form",
    ModifierRepeated "E0034" "a modifier written twice",
    ModifierMissing "E0035" "a modifier is missing",
    OperandCount "E0036" "too many or too few operands",
    BadOperand "E0037" "an operand that does not fit",
    NeedsVersion "E0038" "newer than the module's `.version`",
    NeedsTarget "E0039" "not available on the module's `.target`",
    BrokenRule "E0040" "a combination the instruction forbids",
    SpaceMismatch "E0041" "a variable of another state space",
    BadAddress "E0042" "an address that is not one",
    BadCall "E0043" "a call that does not fit the function",

    Undocumented "W0001" "accepted by ptxas, but not in the manual",
    RepeatedModifier "W0002" "a modifier written twice, without effect",
    NarrowAddress "W0003" "an address that is narrower than those of the module",
    HidesSpecial "W0004" "a register that hides a special register",
    NewerVersion "W0005" "a `.version` newer than Hostwarp",

    UnsupportedInstruction "U0001" "an instruction Hostwarp does not do yet",
    UnsupportedFeature "U0002" "something else Hostwarp does not do yet",

    TooMany "N0001" "more was found than is shown",
}

impl Code {
    /// From `E0030` (any case).
    pub fn from_text(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|c| c.text().eq_ignore_ascii_case(text))
    }

    /// How bad it is: the code's letter says so, but for one that ptxas takes.
    pub fn severity(self) -> Severity {
        if self == Code::IntegerTooLarge {
            return Severity::Warning;
        }
        match self.text().as_bytes()[0] {
            b'W' => Severity::Warning,
            b'U' => Severity::Unsupported,
            b'N' => Severity::Note,
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
