//! Forms: the manual's own notation for the syntax of an instruction, read into something that can match, enumerate and explain.
//!
//! ```text
//! vmad.dtype.atype.btype{.sat}{.scale}  d:x32, {-}a{.asel}:x32, {-}b{.bsel}:x32, {-}c:x32
//! ```
//!
//! - `.name` is a set if the form's `sets` has one of that name, otherwise a literal modifier; `{.name}` may be left out.
//! - An operand is a name with its type behind a colon (left out when shown to people): a type (`u32`), a modifier slot whose
//!   type it takes (`.dtype`), `2.type` for twice as wide, or a [class](Class). `!` behind the type means "no immediate", `#` "only an immediate", `?` that `_` may
//!   stand there and drop the result, `4*b32` a vector of four (`*b32`, `*.type`: of as many as the room's rule says), `<0..15>` which immediates may stand there, `<32../32>` from 32 on in steps of 32,
//!   `<-1;1>` one of two, `<2^32..512>` a power of two, `<..name>` one that is not above what stands in the place `name`, `<0..1]>` a
//!   float above 0 and up to 1.
//! - `{-}a`: may be negated. `{!}a`: may be complemented. `a{.asel}`: may have a selector; `d.dsel`: must have one.
//! - `[a]`: an address; `[a]:b64@.shared`: a variable that is named there is in that space, whether or not the instruction says so. `d|p`: a pair; `d{|p}`: the second may be left out. `{, c}`: the operand may be left out.

use crate::ty::Ty;
use std::panic::Location;
use std::sync::LazyLock;

/// Since when something exists: PTX version × 10 + minor, and the lowest target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Since {
    /// PTX version, major × 10 + minor (`88` is 8.8).
    pub ptx: u16,
    /// Target, as in `sm_90`.
    pub sm: u16,
}

/// Since PTX `ptx` (major × 10 + minor) and `sm_<sm>`.
pub const fn since(ptx: u16, sm: u16) -> Since {
    Since { ptx, sm }
}

/// One line of the manual's syntax section.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The notation; see the module's documentation.
    pub syntax: &'static str,
    /// The sets behind names: `(".dtype", ".u32 .s32")`.
    pub sets: &'static [(&'static str, &'static str)],
    /// Since when.
    pub since: Since,
    /// Since when on newer targets, where it was there in an older version than on others.
    pub sooner: Option<Since>,
    /// Modifiers (or `set.member`-free plain members) that came later than the form; `.cc.s64` means the two together, `%a` a register
    /// in the place `a`, `=a` anything there; `-.aligned` that it may be left out until then.
    pub needs: &'static [(&'static str, Since)],
    /// Accepted by ptxas and not in the manual: accepted with a warning that says so.
    pub undocumented: bool,
    /// No longer there where both the version and the target are this new.
    pub until: Option<Since>,
    /// Which targets with a suffix have it, `100f 120f 90a`; empty if all do. See [`crate::Features::has`].
    pub only: &'static str,
    /// Modifiers that only some targets with a suffix have: as `needs`, and as `only`.
    pub restricted: &'static [(&'static str, &'static str)],
    /// Known and checked, but without a meaning yet: reported as not supported.
    pub later: bool,
    /// Where it is written.
    at: &'static Location<'static>,
}

impl Form {
    /// A form that the manual has.
    #[track_caller]
    pub const fn new(
        syntax: &'static str,
        sets: &'static [(&'static str, &'static str)],
        since: Since,
    ) -> Form {
        let at = Location::caller();
        Form {
            syntax,
            sets,
            since,
            sooner: None,
            needs: &[],
            undocumented: false,
            until: None,
            only: "",
            restricted: &[],
            later: false,
            at,
        }
    }

    /// The source file it is written in, from the root of the repository.
    pub fn file(&self) -> &'static str {
        self.at.file()
    }

    /// With modifiers that came later.
    pub const fn needs(self, needs: &'static [(&'static str, Since)]) -> Form {
        Form { needs, ..self }
    }

    /// There in an older version already on newer targets.
    pub const fn sooner(self, sooner: Since) -> Form {
        Form { sooner: Some(sooner), ..self }
    }

    /// Not in the manual.
    pub const fn undocumented(self) -> Form {
        Form { undocumented: true, ..self }
    }

    /// Gone where both the version and the target are this new.
    pub const fn until(self, until: Since) -> Form {
        Form { until: Some(until), ..self }
    }

    /// Only on these targets with a suffix.
    pub const fn only(self, only: &'static str) -> Form {
        Form { only, ..self }
    }

    /// With modifiers that only these targets with a suffix have.
    pub const fn restricted(self, restricted: &'static [(&'static str, &'static str)]) -> Form {
        Form { restricted, ..self }
    }

    /// Legal, but not done yet.
    pub const fn later(self) -> Form {
        Form { later: true, ..self }
    }
}

/// A place for one modifier.
#[derive(Clone, Debug)]
pub struct ModSlot {
    /// Its name with the dot; a literal's is the modifier itself.
    pub name: &'static str,
    /// What may stand there, with dots.
    pub members: &'static [&'static str],
    /// May be left out.
    pub optional: bool,
}

/// What may stand in an operand place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A register (or immediate) of this type, by the manual's rule for operands.
    Is(Ty),
    /// The type in this modifier slot.
    Slot(usize),
    /// Twice as wide as the type in this modifier slot.
    Wide(usize),
    /// At least as wide as the type in this modifier slot (`ld`, `st`, `cvt`): written `>.type`.
    AtLeast(usize),
    /// `x32`: an integer register of 32 bits, as video instructions take it: .b32 .u32 .s32 and .f16x2.
    Video32,
    /// `label`: a label.
    Label,
    /// `vec.type`, or `vecs.type` if it is [loose](OperandSlot::loose): a scalar, or a vector of as many elements as the `.vec` slot says, each at least as wide as that type.
    Vector(usize),
    /// `name`: the name of a variable or function.
    Name,
    /// `4*b32`, `*b32`, `*.type`: a vector of registers of this type, of this many elements; 0 if the room's rule says how many.
    List(u8, Of),
    /// `[t]:tuple`: an address in brackets that has several parts: `[map, {x, y}]`.
    Tuple,
    /// `handle`: a texture, sampler or surface, by name or in a register; in brackets too.
    Handle,
    /// `operand`: a register, a vector of them or a constant.
    Operand,
    /// `any.type`: a register, constant, special register, vector or name that makes up a value of that type (`mov`, `cvta`);
    /// the room's rule says which. Elements of a vector come in their own widths.
    Any(usize),
}

/// The type of the elements of a [`Class::List`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// This one.
    Is(Ty),
    /// What registers hold of the type in this modifier slot: two halves or four bytes share one of 32 bits.
    Slot(usize),
}

/// Which immediates may stand in a place, taken as unsigned words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least.
    pub least: u32,
    /// The greatest.
    pub most: u32,
    /// Which of those between.
    pub which: Which,
}

/// Which numbers of a [`Range`] it means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The multiples of this.
    Multiples(u32),
    /// The least and the greatest.
    Ends,
    /// The powers of two.
    Powers,
    /// Those that are not above the constant in the place of this name.
    NotAbove(&'static str),
    /// Floats above the least, up to the greatest.
    Floats,
}

impl Range {
    /// `0..15`, `32../32`, `-1;1`, `2^32..512`, `..total`, `0..1]`
    fn parse(text: &'static str) -> Option<Range> {
        if let Some(powers) = text.strip_prefix("2^") {
            let (least, most) = powers.split_once("..").unwrap_or(("1", "4294967295"));
            return Some(Range {
                least: least.parse().ok()?,
                most: most.parse().ok()?,
                which: Which::Powers,
            });
        }
        if let Some(floats) = text.strip_suffix(']') {
            let (least, most) = floats.split_once("..")?;
            return Some(Range {
                least: least.parse().ok()?,
                most: most.parse().ok()?,
                which: Which::Floats,
            });
        }
        if let Some(name) = text.strip_prefix("..") {
            return Some(Range { least: 0, most: u32::MAX, which: Which::NotAbove(name) });
        }
        if let Some((one, other)) = text.split_once(';') {
            let number = |text: &str| text.parse::<i64>().ok().map(|n| n as u32);
            let (one, other) = (number(one)?, number(other)?);
            return Some(Range { least: one.min(other), most: one.max(other), which: Which::Ends });
        }
        let (text, step) = text.split_once('/').unwrap_or((text, "1"));
        let (least, most) = text.split_once("..")?;
        let most = if most.is_empty() { u32::MAX } else { most.parse().ok()? };
        Some(Range { least: least.parse().ok()?, most, which: Which::Multiples(step.parse().ok()?) })
    }

    /// Whether the number is one of them.
    pub fn contains(&self, n: u32) -> bool {
        (self.least..=self.most).contains(&n)
            && match self.which {
                Which::Multiples(step) => n.is_multiple_of(step),
                Which::Ends => n == self.least || n == self.most,
                Which::Powers => n.is_power_of_two(),
                Which::NotAbove(_) | Which::Floats => true,
            }
    }

    /// Whether the float is one of them.
    pub fn contains_float(&self, x: f64) -> bool {
        self.which != Which::Floats || x > f64::from(self.least) && x <= f64::from(self.most)
    }

    /// One of them, another for each `i` as long as there are others that are not too large.
    pub fn some(&self, i: u32) -> u32 {
        match self.which {
            Which::Multiples(step) => {
                let steps = (self.most.min(self.least.saturating_add(4096)) - self.least) / step;
                self.least + i % (steps + 1) * step
            }
            Which::Ends => [self.least, self.most][i as usize % 2],
            Which::Powers => {
                let (least, most) = (self.least.trailing_zeros(), self.most.min(4096).trailing_zeros());
                1 << (least + i % (most - least + 1))
            }
            Which::NotAbove(_) => 0,
            Which::Floats => 0.5f32.to_bits(),
        }
    }

    /// [One of them](Range::some) as it is written.
    pub fn text(&self, i: u32) -> String {
        match self.which {
            Which::Ends => (self.some(i) as i32).to_string(),
            Which::Floats => "0f3f000000".into(),
            _ => self.some(i).to_string(),
        }
    }

    /// What they are, in words.
    pub fn in_words(&self) -> String {
        match self.which {
            Which::Ends => format!("{} or {}", self.least as i32, self.most as i32),
            Which::Powers if self.least == 1 && self.most == u32::MAX => "a power of two".into(),
            Which::Powers => format!("a power of two from {} to {}", self.least, self.most),
            Which::NotAbove(name) => format!("at most what `{name}` is"),
            Which::Floats => format!("above {} and at most {}", self.least, self.most),
            Which::Multiples(step) => {
                let upper = match self.most {
                    u32::MAX => String::new(),
                    most => format!("at most {most}, "),
                };
                let step = if step > 1 { format!(" and a multiple of {step}") } else { String::new() };
                format!("{upper}at least {}{step}", self.least)
            }
        }
    }
}

/// A place for one operand.
#[derive(Clone, Debug)]
pub struct OperandSlot {
    /// Its name in the manual.
    pub name: &'static str,
    /// What may stand there.
    pub class: Class,
    /// An immediate may stand there.
    pub immediate: bool,
    /// Nothing but an immediate may stand there.
    pub constant: bool,
    /// Which immediates may stand there.
    pub range: Option<Range>,
    /// `{-}`: may be negated.
    pub neg: bool,
    /// `{!}`: may be complemented.
    pub not: bool,
    /// Members of its selector set, with dots, and whether it may be left out.
    pub selector: Option<(&'static [&'static str], bool)>,
    /// An address in brackets.
    pub address: bool,
    /// A vector may have two or four elements where `.vec` says nothing, and a constant stands for one.
    pub loose: bool,
    /// The space, with its dot, of variables named in this address.
    pub within: Option<&'static str>,
    /// The second of a pair `d|p`: rides on the operand before it.
    pub pair: bool,
    /// May be left out.
    pub optional: bool,
    /// Written to: `d`, `f`, `p`, `q` of the first operand place, and `report` in the second.
    pub dest: bool,
    /// `_` may stand there.
    pub sink: bool,
}

/// A form, read.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The form it comes from.
    pub form: &'static Form,
    /// Modifier places in order.
    pub mods: Vec<ModSlot>,
    /// Operand places in order.
    pub operands: Vec<OperandSlot>,
}

impl Parsed {
    /// Reads a form. Panics on a malformed one: they are constants of this crate and a test reads them all.
    pub fn new(form: &'static Form) -> Parsed {
        let (head, tail) = form.syntax.split_once(char::is_whitespace).unwrap_or((form.syntax, ""));
        let set = |name: &str| form.sets.iter().find(|(n, _)| *n == name).map(|(_, m)| members(m));
        let mut mods = vec![];
        let mut rest = &head[head.find(['.', '{']).unwrap_or(head.len())..];
        while !rest.is_empty() {
            let optional = rest.starts_with('{');
            let text = rest.trim_start_matches('{');
            let end = text[1..].find(['.', '{', '}']).map_or(text.len(), |i| i + 1);
            let name = &text[..end];
            rest = text[end..].trim_start_matches('}');
            // `::` joins sub-qualifiers into one modifier.
            mods.push(ModSlot { name, members: set(name).unwrap_or_else(|| members(name)), optional });
        }
        let mut operands: Vec<OperandSlot> = vec![];
        let mut optional = false;
        for part in split_operands(tail) {
            let mut text = part.trim();
            if let Some(t) = text.strip_prefix("{,") {
                optional = true;
                text = t.trim_end_matches('}').trim();
            }
            let first = operands.is_empty();
            operands.extend(parse_operand(text, first, optional, &mods, &set, form.syntax));
        }
        Parsed { form, mods, operands }
    }

    /// The syntax as the manual writes it, types of operands left out.
    pub fn shown(&self) -> String {
        strip_types(self.form.syntax)
    }
}

/// The members of a set: a list, or one of the two large regular sets `@bxyzw` (four digits 0 to 7) and `@hxy` (two digits 0
/// to 3). Kept for the life of the program: forms are read once.
fn members(text: &'static str) -> &'static [&'static str] {
    static BYTES: LazyLock<Vec<&'static str>> = LazyLock::new(|| selectors('b', 4, 8));
    static HALVES: LazyLock<Vec<&'static str>> = LazyLock::new(|| selectors('h', 2, 4));
    match text {
        "@bxyzw" => &BYTES,
        "@hxy" => &HALVES,
        list => list.split_whitespace().collect::<Vec<_>>().leak(),
    }
}

/// `.b0000`, `.b0001`, … in order; one buffer for all.
fn selectors(letter: char, digits: u32, base: u32) -> Vec<&'static str> {
    let count = base.pow(digits);
    let mut buffer = String::new();
    for i in 0..count {
        buffer.push('.');
        buffer.push(letter);
        for d in (0..digits).rev() {
            buffer.push(char::from(b'0' + (i / base.pow(d) % base) as u8));
        }
    }
    let buffer: &'static str = buffer.leak();
    let len = digits as usize + 2;
    (0..count as usize).map(|i| &buffer[i * len..(i + 1) * len]).collect()
}

/// Whether a set has a member; large sets are sorted.
pub(crate) fn is_member(members: &[&str], m: &str) -> bool {
    if members.len() > 64 { members.binary_search(&m).is_ok() } else { members.contains(&m) }
}

/// Splits at commas outside of brackets; an optional tail `{, c}` stays in one piece.
fn split_operands(tail: &'static str) -> Vec<&'static str> {
    let mut out = vec![];
    let (mut depth, mut start) = (0, 0);
    let bytes = tail.as_bytes();
    for (i, c) in bytes.iter().enumerate() {
        match c {
            b'{' if bytes.get(i + 1) == Some(&b',') => {
                out.push(&tail[start..i]);
                start = i;
                depth += 1;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                out.push(&tail[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(&tail[start..]);
    out.retain(|s| !s.trim().is_empty());
    out
}

fn parse_operand(
    text: &'static str,
    first: bool,
    optional: bool,
    mods: &[ModSlot],
    set: &dyn Fn(&str) -> Option<&'static [&'static str]>,
    syntax: &str,
) -> Vec<OperandSlot> {
    // A pair: both halves have their own type.
    if let Some((a, b)) = text.split_once('|') {
        let second_optional = a.ends_with('{');
        let mut v = parse_operand(a.trim_end_matches('{'), first, optional, mods, set, syntax);
        let mut w = parse_operand(b.trim_end_matches('}'), first, optional, mods, set, syntax);
        for o in &mut w {
            o.pair = true;
            o.optional = second_optional;
        }
        v.append(&mut w);
        return v;
    }
    let (mut name, ty) = text.split_once(':').unwrap_or_else(|| panic!("`{text}` in `{syntax}` has no type"));
    let neg = name.starts_with("{-}");
    let not = name.starts_with("{!}");
    name = name.trim_start_matches("{-}").trim_start_matches("{!}");
    let address = name.starts_with('[');
    name = name.trim_start_matches('[').trim_end_matches(']');
    let ty = ty.trim_end_matches(']');
    let (ty, within) = match ty.split_once('@') {
        Some((ty, space)) => (ty, Some(space)),
        None => (ty, None),
    };
    let mut selector = None;
    if let Some(i) = name.find(['{', '.']) {
        let sel_optional = name[i..].starts_with('{');
        let sel = name[i..].trim_matches(['{', '}']);
        let chosen = set(sel).unwrap_or_else(|| panic!("no selector set `{sel}` in `{syntax}`"));
        selector = Some((chosen, sel_optional));
        name = &name[..i];
    }
    let dest = !address && if first { matches!(name, "d" | "f" | "p" | "q") } else { name == "report" };
    let (ty, range) = match ty.split_once('<') {
        Some((ty, range)) => {
            let read = Range::parse(range.trim_end_matches('>'));
            (ty, Some(read.unwrap_or_else(|| panic!("no range `{range}` in `{syntax}`"))))
        }
        None => (ty, None),
    };
    let immediate = !ty.ends_with('!') && !dest;
    let sink = ty.ends_with('?');
    let constant = ty.ends_with('#');
    let ty = ty.trim_end_matches(['!', '?', '#']);
    let slot = |n: &str| {
        mods.iter().position(|m| m.name == n).unwrap_or_else(|| panic!("no modifier `{n}` in `{syntax}`"))
    };
    let named =
        |t: &str| Ty::parse(&format!(".{t}")).unwrap_or_else(|| panic!("no type `{t}` in `{syntax}`"));
    let loose = ty.starts_with("vecs");
    let class = if let Some((count, of)) = ty.split_once('*') {
        let of = if of.starts_with('.') { Of::Slot(slot(of)) } else { Of::Is(named(of)) };
        Class::List(count.parse().unwrap_or(0), of)
    } else if let Some(n) = ty.strip_prefix("vecs").or_else(|| ty.strip_prefix("vec")) {
        Class::Vector(slot(n))
    } else if let Some(n) = ty.strip_prefix("any") {
        Class::Any(slot(n))
    } else if let Some(n) = ty.strip_prefix('>') {
        Class::AtLeast(slot(n))
    } else if let Some(n) = ty.strip_prefix('2') {
        Class::Wide(slot(n))
    } else if ty.starts_with('.') {
        Class::Slot(slot(ty))
    } else {
        match ty {
            "x32" => Class::Video32,
            "label" => Class::Label,
            "name" => Class::Name,
            "tuple" => Class::Tuple,
            "handle" => Class::Handle,
            "operand" => Class::Operand,
            t => Class::Is(named(t)),
        }
    };
    vec![OperandSlot {
        name,
        class,
        immediate,
        constant,
        range,
        neg,
        not,
        selector,
        address,
        within,
        loose,
        pair: false,
        optional,
        dest,
        sink,
    }]
}

fn strip_types(syntax: &str) -> String {
    let mut out = String::new();
    let mut skip = false;
    // The head has `::` in sub-qualifiers, so types are stripped from operands only.
    let at = syntax.find(char::is_whitespace).unwrap_or(syntax.len());
    out.push_str(&syntax[..at]);
    for c in syntax[at..].chars() {
        match c {
            ':' => skip = true,
            ',' | ']' | '|' | '}' | '{' => {
                skip = false;
                out.push(c);
            }
            _ if skip => {}
            _ => out.push(c),
        }
    }
    out
}
