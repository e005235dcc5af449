//! The text form read back: the inverse of `text.rs`, for filetests and for people who cut a case out of `--emit ir`.
//!
//! The grammar is the printer's, line by line. How an op is spelled is said once, in `text.rs`: the parser prints every op there is
//! ([`every_op`]) and looks its mnemonic up among them. What follows `;` is a comment, but for the note `; line N (name)` behind an
//! instruction or terminator, which is its place in the source. Any text gives a function or an error with its line; the function may
//! still be wrong, which is for [`verify`] to say. Types of values nobody defines are not part of the text: they come back as `i1`.

use crate::*;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Why a text is no IR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: usize,
    /// What was expected there.
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// What a text of the IR holds: a module, and the kernels behind its functions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parsed {
    /// What is numbered (`f0 = …`, `shared0: …`, `taken …`).
    pub module: Module,
    /// What is not: kernels, or functions on their own.
    pub kernels: Vec<Function>,
}

impl std::fmt::Display for Parsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.module)?;
        self.kernels.iter().try_for_each(|kernel| write!(f, "{kernel}"))
    }
}

/// Reads any number of functions, numbered or not, and what else a module has.
///
/// ```
/// let text = "kernel k (param 0, shared 0, local 0) {\nb0():\n    v0: i32 = const 0x7\n    exit\n}\n";
/// let parsed = hostwarp_ir::parse(text)?;
/// assert_eq!(parsed.to_string(), text);
/// # Ok::<(), hostwarp_ir::ParseError>(())
/// ```
pub fn parse(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    let mut lines = Lines::new(text);
    while let Some(mut at) = lines.next() {
        if at.eat("taken") {
            while !at.is_done() {
                parsed.module.taken.push(FuncId(at.numbered("f")?));
                at.eat(",");
            }
        } else if at.rest.starts_with("shared") {
            let slot = at.slot("shared", parsed.module.shared.len())?;
            parsed.module.shared.push(slot);
        } else if at.rest.starts_with("kernel ") || at.rest.starts_with("func ") {
            parsed.kernels.push(function(at, &mut lines)?);
        } else {
            let id = at.numbered("f")?;
            at.expect("=")?;
            if id as usize != parsed.module.functions.len() {
                return Err(at.error("functions are numbered in order"));
            }
            let function = if at.eat("none") { None } else { Some(function(at, &mut lines)?) };
            parsed.module.functions.push(function);
        }
    }
    Ok(parsed)
}

/// Values a text may number, at most: a hole in the numbering takes memory.
const MOST_VALUES: u32 = 1 << 24;

/// The lines that say something.
struct Lines<'a> {
    text: std::iter::Enumerate<std::str::Lines<'a>>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        Lines { text: text.lines().enumerate() }
    }

    fn next(&mut self) -> Option<Cursor<'a>> {
        for (n, line) in self.text.by_ref() {
            let end = comment_start(line);
            let rest = line[..end].trim();
            if !rest.is_empty() {
                return Some(Cursor { rest, note: line[end..].trim_start_matches(';').trim(), line: n + 1 });
            }
        }
        None
    }
}

/// Where the comment of a line begins: at a `;` that is in no string.
fn comment_start(line: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (n, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ';' if !quoted => return n,
            _ => {}
        }
    }
    line.len()
}

/// What is left of a line.
struct Cursor<'a> {
    rest: &'a str,
    note: &'a str,
    line: usize,
}

impl<'a> Cursor<'a> {
    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, message: message.into() }
    }

    fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    fn done(&self) -> Result<(), ParseError> {
        if self.is_done() { Ok(()) } else { Err(self.error(format!("`{}` is too much", self.rest))) }
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let (head, rest) = self.rest.split_at(bytes);
        self.rest = rest.trim_start();
        head
    }

    fn eat(&mut self, what: &str) -> bool {
        let there = self.rest.starts_with(what);
        if there {
            self.skip(what.len());
        }
        there
    }

    fn expect(&mut self, what: &str) -> Result<(), ParseError> {
        if self.eat(what) {
            return Ok(());
        }
        Err(self.error(format!("`{what}` expected before `{}`", self.rest)))
    }

    /// Up to a space, comma or closing bracket.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| c.is_whitespace() || ",()[]{}:".contains(c));
        self.skip(end.unwrap_or(self.rest.len()))
    }

    fn number(&mut self) -> Result<u64, ParseError> {
        let word = self.word();
        let number = match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => word.parse(),
        };
        number.map_err(|_| self.error(format!("a number expected, not `{word}`")))
    }

    fn number_u32(&mut self) -> Result<u32, ParseError> {
        u32::try_from(self.number()?).map_err(|_| self.error("this number has more than 32 bits"))
    }

    /// `v12`, `b3`, `f0`, …
    fn numbered(&mut self, prefix: &str) -> Result<u32, ParseError> {
        let word = self.word();
        let number = word.strip_prefix(prefix).and_then(|n| n.parse().ok());
        number
            .filter(|n| *n < MOST_VALUES)
            .ok_or_else(|| self.error(format!("`{prefix}` and a number expected, not `{word}`")))
    }

    fn value(&mut self) -> Result<Value, ParseError> {
        self.numbered("v").map(Value)
    }

    /// Values with commas between them, up to `end` or to the end of the line.
    fn values(&mut self, end: &str) -> Result<Vec<Value>, ParseError> {
        let mut list = vec![];
        while !self.is_done() && (end.is_empty() || !self.rest.starts_with(end)) {
            if !list.is_empty() {
                self.expect(",")?;
            }
            list.push(self.value()?);
        }
        if !end.is_empty() {
            self.expect(end)?;
        }
        Ok(list)
    }

    fn ty(&mut self) -> Result<Type, ParseError> {
        const ELEMS: [Elem; 9] = {
            use Elem::*;
            [I1, I8, I16, I32, I64, F16, BF16, F32, F64]
        };
        let word = self.word();
        let (elem, count) = word.split_once('x').unwrap_or((word, "1"));
        let elem = ELEMS.into_iter().find(|e| e.to_string() == elem);
        match (elem, count.parse()) {
            (Some(elem), Ok(count)) => Ok(Type::new(elem, count)),
            _ => Err(self.error(format!("a type expected, not `{word}`"))),
        }
    }

    /// `(v1: i32, v2: i64)`: values that are defined here.
    fn defined(&mut self, types: &mut Types) -> Result<Vec<Value>, ParseError> {
        self.expect("(")?;
        let mut list = vec![];
        while !self.eat(")") {
            if !list.is_empty() {
                self.expect(",")?;
            }
            let v = self.value()?;
            self.expect(":")?;
            types.set(v, self.ty()?);
            list.push(v);
        }
        Ok(list)
    }

    fn target(&mut self) -> Result<Target, ParseError> {
        let block = Block(self.numbered("b")?);
        let args = if self.eat("(") { self.values(")")? } else { vec![] };
        Ok(Target { block, args: args.into() })
    }

    /// `slot0: 16 bytes, align 4`
    fn slot(&mut self, kind: &str, n: usize) -> Result<Slot, ParseError> {
        if self.numbered(kind)? as usize != n {
            return Err(self.error("they are numbered in order"));
        }
        self.expect(":")?;
        let size = self.number()?;
        self.expect("bytes")?;
        self.expect(",")?;
        self.expect("align")?;
        let align = self.number()?;
        self.done()?;
        Ok(Slot { size, align })
    }

    /// A string as Rust writes it.
    fn string(&mut self) -> Result<String, ParseError> {
        let bad = |at: &Self| at.error("a string expected");
        let body = self.rest.strip_prefix('"').and_then(|s| s.strip_suffix('"')).ok_or_else(|| bad(self))?;
        let (mut out, mut chars) = (String::new(), body.chars());
        while let Some(c) = chars.next() {
            if c != '\\' {
                out.push(c);
                continue;
            }
            out.push(match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('0') => '\0',
                Some('u') => {
                    let code: String = chars.by_ref().take_while(|c| *c != '}').skip(1).collect();
                    u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).ok_or_else(|| bad(self))?
                }
                Some(c) => c,
                None => return Err(bad(self)),
            });
        }
        self.rest = "";
        Ok(out)
    }
}

/// The types of values, as they turn up.
#[derive(Default)]
struct Types(Vec<Type>);

impl Types {
    fn set(&mut self, v: Value, ty: Type) {
        if v.index() >= self.0.len() {
            self.0.resize(v.index() + 1, Type::I1);
        }
        self.0[v.index()] = ty;
    }
}

fn function(mut at: Cursor, lines: &mut Lines) -> Result<Function, ParseError> {
    let mut types = Types::default();
    let mut func = Function::new("");
    func.blocks.clear();
    if at.eat("kernel") {
        func.name = at.word().to_string();
        at.expect("(")?;
        at.expect("param")?;
        func.info.param_bytes = at.number_u32()?;
        at.expect(",")?;
        at.expect("shared")?;
        func.info.shared_bytes = at.number_u32()?;
        at.expect(",")?;
        at.expect("local")?;
        func.info.local_bytes = at.number_u32()?;
        at.expect(")")?;
    } else {
        at.expect("func")?;
        func.name = at.word().to_string();
        func.params = at.defined(&mut types)?;
        at.expect("->")?;
        at.expect("(")?;
        while !at.eat(")") {
            if !func.results.is_empty() {
                at.expect(",")?;
            }
            func.results.push(at.ty()?);
        }
    }
    at.expect("{")?;
    at.done()?;
    let mut last = at.line;
    // The block at hand: its parameters, instructions, and the line of the source its last one comes from.
    let mut open: Option<(Vec<Value>, Vec<Inst>, u32)> = None;
    while let Some(mut at) = lines.next() {
        last = at.line;
        if at.eat("}") {
            at.done()?;
            if open.is_some() {
                return Err(at.error("the last block has no terminator"));
            }
            func.types = types.0;
            return Ok(func);
        }
        if at.rest.starts_with("slot") && func.blocks.is_empty() && open.is_none() {
            let slot = at.slot("slot", func.slots.len())?;
            func.slots.push(slot);
            continue;
        }
        let Some((params, insts, line)) = &mut open else {
            if at.numbered("b")? as usize != func.blocks.len() {
                return Err(at.error("blocks are numbered in order"));
            }
            let params = at.defined(&mut types)?;
            at.expect(":")?;
            at.done()?;
            open = Some((params, vec![], 0));
            continue;
        };
        let (from, name) = place(&at)?;
        *line = from.unwrap_or(*line);
        match terminator(&mut at, &mut types, &mut func.unsupported)? {
            Some(term) => {
                let (params, insts, term_line) = (std::mem::take(params), std::mem::take(insts), *line);
                func.blocks.push(BlockData { params, insts, term, term_line });
                open = None;
            }
            None => {
                let inst = instruction(&mut at, &mut types, *line)?;
                if let (Some(r), Some(name)) = (inst.result, name) {
                    func.names.insert(r, name);
                }
                insts.push(inst);
            }
        }
        at.done()?;
    }
    Err(ParseError { line: last, message: "the function has no end: `}` expected".into() })
}

/// What the note behind a line says: `line 12 (name)`, either or nothing.
fn place(at: &Cursor) -> Result<(Option<u32>, Option<String>), ParseError> {
    let (line, rest) = match at.note.strip_prefix("line ") {
        None => (None, at.note),
        Some(rest) => {
            let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            (Some(number.parse().map_err(|_| at.error("the number of a line expected"))?), rest)
        }
    };
    let name = rest.trim().strip_prefix('(').and_then(|n| n.strip_suffix(')'));
    Ok((line, name.map(str::to_string)))
}

fn terminator(
    at: &mut Cursor,
    types: &mut Types,
    messages: &mut Vec<String>,
) -> Result<Option<Term>, ParseError> {
    const TRAPS: [TrapKind; 7] = {
        use TrapKind::*;
        [Trap, Breakpoint, BadCall, BadReturn, StackOverflow, Assert, MissingLanes]
    };
    if at.rest.starts_with('(') {
        return call(at, types).map(Some);
    }
    let end = at.rest.find(' ').unwrap_or(at.rest.len());
    let word = &at.rest[..end];
    if let Some(kind) = TRAPS.into_iter().find(|k| text::trap(*k) == word) {
        at.skip(end);
        return Ok(Some(Term::Trap(kind)));
    }
    let barrier = [BarrierKind::Sync, BarrierKind::Arrive].into_iter().find(|k| text::barrier(*k) == word);
    if barrier.is_none()
        && !["jump", "branch", "switch", "exit", "unsupported", "return", "warp_sync"].contains(&word)
    {
        return Ok(None);
    }
    at.skip(end);
    if let Some(kind) = barrier {
        let id = at.value()?;
        at.expect(",")?;
        let mut count = None;
        if at.rest.starts_with('v') {
            count = Some(at.value()?);
            at.expect(",")?;
        }
        return Ok(Some(Term::Barrier { kind, id, count, next: at.target()? }));
    }
    Ok(Some(match word {
        "jump" => Term::Jump(at.target()?),
        "branch" => {
            let c = at.value()?;
            at.expect(",")?;
            let yes = at.target()?;
            at.expect(",")?;
            Term::Branch(c, yes, at.target()?)
        }
        "switch" => {
            let c = at.value()?;
            at.expect(",")?;
            at.expect("[")?;
            let mut targets = vec![];
            while !at.eat("]") {
                if !targets.is_empty() {
                    at.expect(",")?;
                }
                targets.push(at.target()?);
            }
            Term::Switch(c, targets)
        }
        "unsupported" => {
            messages.push(at.string()?);
            Term::Trap(TrapKind::Unsupported(messages.len() as u32 - 1))
        }
        "return" => Term::Return(at.values("")?),
        "warp_sync" => {
            let mask = at.value()?;
            at.expect(",")?;
            Term::WarpSync { mask, next: at.target()? }
        }
        _ => Term::Exit,
    }))
}

/// `(v4: i32) = call f0(v1), stack v2, b3`
fn call(at: &mut Cursor, types: &mut Types) -> Result<Term, ParseError> {
    let results = at.defined(types)?;
    at.expect("=")?;
    at.expect("call")?;
    let callee = if at.eat("[") {
        let pointer = at.value()?;
        at.expect("]")?;
        Callee::Indirect(pointer)
    } else {
        Callee::Direct(FuncId(at.numbered("f")?))
    };
    at.expect("(")?;
    let args = at.values(")")?;
    at.expect(",")?;
    at.expect("stack")?;
    let stack = at.value()?;
    at.expect(",")?;
    Ok(Term::Call(Box::new(Call { callee, stack, args, results, next: at.target()? })))
}

fn instruction(at: &mut Cursor, types: &mut Types, line: u32) -> Result<Inst, ParseError> {
    let guard = if at.eat("@") { Some(at.value()?) } else { None };
    let is_value = |word: &str| word.strip_prefix('v').is_some_and(|n| n.parse::<u32>().is_ok());
    let result = match at.rest.split_once(':') {
        Some((word, _)) if is_value(word) => {
            let v = at.value()?;
            at.expect(":")?;
            types.set(v, at.ty()?);
            at.expect("=")?;
            Some(v)
        }
        _ => None,
    };
    let op = op(at)?;
    let args = at.values("")?;
    Ok(Inst { op, args: args.into(), guard, result, line })
}

fn op(at: &mut Cursor) -> Result<Op, ParseError> {
    let word = at.word();
    Ok(match word {
        "const" => Op::Const(at.number()?),
        "extract" => {
            let n = at.number()?;
            Op::Extract(u8::try_from(n).map_err(|_| at.error("no value has so many elements"))?)
        }
        "permute" => {
            at.expect("[")?;
            let mut from = [0; 8];
            for (n, slot) in from.iter_mut().enumerate() {
                if n > 0 {
                    at.expect(",")?;
                }
                *slot = u8::try_from(at.number()?).map_err(|_| at.error("no value has so many elements"))?;
            }
            at.expect("]")?;
            Op::Permute(from)
        }
        "address" => {
            let name = at.word();
            let number = |prefix: &str| name.strip_prefix(prefix).and_then(|n| n.parse().ok());
            Op::Address(match name {
                "stack_top" => Symbol::StackTop,
                "stack_limit" => Symbol::StackLimit,
                _ => (number("slot").map(Symbol::Slot))
                    .or_else(|| number("dynamic_shared.").map(|align| Symbol::DynamicShared { align }))
                    .or_else(|| number("shared").map(Symbol::Shared))
                    .ok_or_else(|| at.error(format!("no symbol is called `{name}`")))?,
            })
        }
        _ => {
            let spelled = if word == "special" { format!("special {}", at.word()) } else { word.to_string() };
            let known = mnemonics().get(spelled.as_str()).copied();
            known.ok_or_else(|| at.error(format!("no op is called `{spelled}`")))?
        }
    })
}

fn mnemonics() -> &'static FxHashMap<String, Op> {
    static ALL: OnceLock<FxHashMap<String, Op>> = OnceLock::new();
    ALL.get_or_init(|| every_op().into_iter().map(|op| (op.to_string(), op)).collect())
}

/// Every op whose mnemonic says all of it; the others (constants, elements, symbols) are read by [`op`].
fn every_op() -> Vec<Op> {
    const BOOLS: [bool; 2] = [false, true];
    const ROUNDS: [Round; 5] = [Round::Nearest, Round::Zero, Round::Down, Round::Up, Round::Away];
    const AXES: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];
    use Special::*;
    let mut all = vec![];
    for axis in AXES {
        all.extend([Tid(axis), Ntid(axis), Ctaid(axis), Nctaid(axis)].map(Op::Special));
    }
    all.extend(
        [
            LaneId,
            WarpId,
            NWarpId,
            SmId,
            NSmId,
            DynamicSharedSize,
            TotalSharedSize,
            Clock,
            Clock64,
            GlobalTimer,
            GridId,
            GlobalsBase,
            GridWorkspace,
        ]
        .map(Op::Special),
    );
    all.extend(IntBin::ALL.map(Op::Int));
    all.extend(IntUn::ALL.map(Op::IntUn));
    all.extend(IntCmp::ALL.map(Op::Cmp));
    all.extend(FCmp::ALL.map(Op::FCmp));
    all.extend(Table::ALL.map(Op::Lookup));
    for (a, b) in dot::Factor::ALL.iter().flat_map(|a| dot::Factor::ALL.map(|b| (*a, b))) {
        for (sum, words) in dot::Sum::ALL.iter().flat_map(|s| (1..=Dot::MOST_WORDS as u8).map(|w| (*s, w))) {
            all.extend(Some(Dot { a, b, words, sum }).filter(|dot| dot.is_valid()).map(Op::Dot));
        }
    }
    all.extend(Mma::all([4, 8]).map(Op::Mma));
    all.extend([Op::Select, Op::Zext, Op::Sext, Op::Trunc, Op::Bitcast, Op::Build, Op::FNeg, Op::FAbs]);
    all.push(Op::Propagate);
    all.extend([Op::Ftz, Op::ToBits, Op::FromBits, Op::LaneRead, Op::Ballot, Op::ActiveMask]);
    for flag in BOOLS {
        all.extend([Op::FMin { nan: flag }, Op::FMax { nan: flag }, Op::HSum { signed: flag }]);
        all.extend([Op::FmaOdd { halves: flag }, Op::FToInt { signed: flag }]);
    }
    for round in ROUNDS {
        all.extend([Op::FCvt(round), Op::FRound(round)]);
        for flag in BOOLS {
            all.extend([FBin::Add, FBin::Sub, FBin::Mul, FBin::Div].map(|op| Op::Float {
                op,
                round,
                ftz: flag,
            }));
            all.extend([Op::Fma { round, ftz: flag }, Op::Sqrt { round, ftz: flag }]);
            all.push(Op::IntToF { signed: flag, round });
        }
    }
    for mem in every_mem() {
        all.extend([Op::Load(mem), Op::Store(mem)]);
        all.extend(every_atomic().into_iter().map(|op| Op::Atomic(op, mem)));
    }
    all.extend([Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys].map(Op::Fence));
    all
}

fn every_mem() -> Vec<Mem> {
    use Order::*;
    const SPACES: [Space; 6] =
        [Space::Global, Space::Shared, Space::Local, Space::Const, Space::Param, Space::Generic];
    let mut all = SPACES.map(Mem::weak).to_vec();
    for space in SPACES {
        for order in [Volatile, Relaxed, Acquire, Release, AcqRel, SeqCst] {
            all.extend([Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys].map(|scope| Mem {
                space,
                order,
                scope,
            }));
        }
    }
    all
}

fn every_atomic() -> Vec<AtomicOp> {
    use AtomicOp::*;
    let mut all = vec![Exch, Cas, Add, And, Or, Xor, MinU, MinS, MaxU, MaxS, Inc, Dec];
    all.extend([false, true].map(|remote| FAdd { remote }));
    all.extend(SystemCall::all().map(System));
    all
}

#[cfg(test)]
mod tests;
