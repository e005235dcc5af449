//! The text form, for people: `run --emit ir`, test expectations, failure messages.

use crate::*;
use std::fmt;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.block)?;
        if !self.args.is_empty() {
            write!(f, "({})", list(&self.args))?;
        }
        Ok(())
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(|v| v.to_string()).collect::<Vec<_>>().join(", ")
}

/// How a trap without a message is spelled.
pub(crate) fn trap(kind: TrapKind) -> String {
    snake(&format!("{kind:?}"))
}

/// How a barrier is spelled.
pub(crate) fn barrier(kind: BarrierKind) -> String {
    format!("barrier.{}", snake(&format!("{kind:?}")))
}

/// `AddSatU` → `add_sat_u`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn rounding(round: Round, ftz: bool) -> String {
    let r = match round {
        Round::Nearest => "",
        Round::Zero => ".rz",
        Round::Down => ".rm",
        Round::Up => ".rp",
        Round::Away => ".rna",
    };
    format!("{r}{}", if ftz { ".ftz" } else { "" })
}

impl fmt::Display for Mem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", snake(&format!("{:?}", self.space)))?;
        if self.order != Order::Weak {
            write!(f, ".{}.{}", snake(&format!("{:?}", self.order)), snake(&format!("{:?}", self.scope)))?;
        }
        Ok(())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Op::Const(bits) => write!(f, "const {bits:#x}"),
            Op::Special(s) => {
                let name = match s {
                    Special::Tid(a) => format!("tid.{a:?}"),
                    Special::Ntid(a) => format!("ntid.{a:?}"),
                    Special::Ctaid(a) => format!("ctaid.{a:?}"),
                    Special::Nctaid(a) => format!("nctaid.{a:?}"),
                    other => snake(&format!("{other:?}")),
                };
                write!(f, "special {}", name.to_lowercase())
            }
            Op::Address(symbol) => match symbol {
                Symbol::Slot(n) => write!(f, "address slot{n}"),
                Symbol::Shared(n) => write!(f, "address shared{n}"),
                Symbol::DynamicShared { align } => write!(f, "address dynamic_shared.{align}"),
                other => write!(f, "address {}", snake(&format!("{other:?}"))),
            },
            Op::Int(op) => f.write_str(&snake(&format!("{op:?}"))),
            Op::IntUn(op) => f.write_str(&snake(&format!("{op:?}"))),
            Op::Cmp(op) => write!(f, "cmp.{}", snake(&format!("{op:?}"))),
            Op::Extract(i) => write!(f, "extract {i}"),
            Op::Permute(p) => write!(f, "permute {p:?}"),
            Op::HSum { signed } => write!(f, "hsum.{}", if signed { "s" } else { "u" }),
            Op::Lookup(table) => write!(f, "lookup.{}", snake(&format!("{table:?}"))),
            Op::Dot(Dot { a, b, words, sum }) => {
                write!(f, "{}", snake(&format!("dot.{a:?}.{b:?}.{sum:?}.{words}")).replace("._", "."))
            }
            Op::Mma(Mma { dot, halves, part }) => {
                let dot = Op::Dot(dot).to_string();
                write!(f, "mma{}.{halves}.{part}", dot.strip_prefix("dot").unwrap_or_default())
            }
            Op::Float { op, round, ftz } => {
                write!(f, "f{}{}", snake(&format!("{op:?}")), rounding(round, ftz))
            }
            Op::Fma { round, ftz } => write!(f, "fma{}", rounding(round, ftz)),
            Op::FmaOdd { halves } => write!(f, "fma_odd{}", if halves { ".halves" } else { "" }),
            Op::Sqrt { round, ftz } => write!(f, "sqrt{}", rounding(round, ftz)),
            Op::FMin { nan } => write!(f, "fmin{}", if nan { ".nan" } else { "" }),
            Op::FMax { nan } => write!(f, "fmax{}", if nan { ".nan" } else { "" }),
            Op::Propagate => f.write_str("propagate"),
            Op::FNeg => f.write_str("fneg"),
            Op::FAbs => f.write_str("fabs"),
            Op::FCmp(op) => write!(f, "fcmp.{}", snake(&format!("{op:?}"))),
            Op::FCvt(round) => write!(f, "fcvt{}", rounding(round, false)),
            Op::FRound(round) => write!(f, "fround{}", rounding(round, false)),
            Op::FToInt { signed } => write!(f, "ftoint.{}", if signed { "s" } else { "u" }),
            Op::IntToF { signed, round } => {
                write!(f, "inttof.{}{}", if signed { "s" } else { "u" }, rounding(round, false))
            }
            Op::Load(m) => write!(f, "load{m}"),
            Op::Store(m) => write!(f, "store{m}"),
            Op::Atomic(op, m) => match op {
                AtomicOp::FAdd { remote } => {
                    write!(f, "atomic.fadd{}{m}", if remote { ".remote" } else { "" })
                }
                AtomicOp::System(call) => {
                    let name = format!("{call:?}").replace(['(', ')'], "");
                    write!(f, "system.{}{m}", snake(&name))
                }
                op => write!(f, "atomic.{}{m}", snake(&format!("{op:?}"))),
            },
            Op::Fence(s) => write!(f, "fence.{}", snake(&format!("{s:?}"))),
            other => f.write_str(&snake(&format!("{other:?}"))),
        }
    }
}

impl Function {
    /// One instruction as text.
    pub fn show(&self, i: &Inst) -> String {
        let mut s = String::new();
        if let Some(g) = i.guard {
            s += &format!("@{g} ");
        }
        if let Some(r) = i.result {
            s += &format!("{r}: {} = ", self.ty(r));
        }
        s += &i.op.to_string();
        if !i.args.is_empty() {
            s += &format!(" {}", list(&i.args));
        }
        s
    }

    /// A terminator as text.
    pub fn show_term(&self, term: &Term) -> String {
        match term {
            Term::Jump(t) => format!("jump {t}"),
            Term::Branch(c, a, b) => format!("branch {c}, {a}, {b}"),
            Term::Switch(c, ts) => {
                let ts: Vec<String> = ts.iter().map(|t| t.to_string()).collect();
                format!("switch {c}, [{}]", ts.join(", "))
            }
            Term::Exit => "exit".into(),
            Term::Trap(TrapKind::Unsupported(n)) => {
                let message = self.unsupported.get(*n as usize).map_or("", String::as_str);
                format!("unsupported {message:?}")
            }
            Term::Trap(kind) => trap(*kind),
            Term::Barrier { kind, id, count, next } => {
                let count = count.map(|c| format!(", {c}")).unwrap_or_default();
                format!("{} {id}{count}, {next}", barrier(*kind))
            }
            Term::Call(call) => {
                let callee = match call.callee {
                    Callee::Direct(id) => format!("f{}", id.0),
                    Callee::Indirect(pointer) => format!("[{pointer}]"),
                };
                let results = call.results.iter().map(|r| format!("{r}: {}", self.ty(*r)));
                let results: Vec<String> = results.collect();
                let (results, args) = (results.join(", "), list(&call.args));
                format!("({results}) = call {callee}({args}), stack {}, {}", call.stack, call.next)
            }
            Term::Return(values) if values.is_empty() => "return".into(),
            Term::Return(values) => format!("return {}", list(values)),
            Term::WarpSync { mask, next } => format!("warp_sync {mask}, {next}"),
        }
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, Slot { size, align }) in self.shared.iter().enumerate() {
            writeln!(f, "shared{n}: {size} bytes, align {align}")?;
        }
        if !self.taken.is_empty() {
            let taken: Vec<String> = self.taken.iter().map(|id| format!("f{}", id.0)).collect();
            writeln!(f, "taken {}", taken.join(", "))?;
        }
        for (n, function) in self.functions.iter().enumerate() {
            match function {
                Some(function) => write!(f, "f{n} = {function}")?,
                None => writeln!(f, "f{n} = none")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelInfo { param_bytes, shared_bytes, local_bytes, .. } = self.info;
        if self.params.is_empty() && self.results.is_empty() {
            let sizes = format!("param {param_bytes}, shared {shared_bytes}, local {local_bytes}");
            writeln!(f, "kernel {} ({sizes}) {{", self.name)?;
        } else {
            let params: Vec<String> = self.params.iter().map(|p| format!("{p}: {}", self.ty(*p))).collect();
            let results: Vec<String> = self.results.iter().map(|t| t.to_string()).collect();
            writeln!(f, "func {}({}) -> ({}) {{", self.name, params.join(", "), results.join(", "))?;
        }
        for (n, Slot { size, align }) in self.slots.iter().enumerate() {
            writeln!(f, "    slot{n}: {size} bytes, align {align}")?;
        }
        for b in self.block_ids() {
            let data = self.block(b);
            let params: Vec<String> = data.params.iter().map(|p| format!("{p}: {}", self.ty(*p))).collect();
            writeln!(f, "{b}({}):", params.join(", "))?;
            let mut line = 0;
            // Where it comes from is said where that changes.
            let mut show = |text: String, from: u32, name: Option<&String>| {
                let mut note = String::new();
                if from != line {
                    line = from;
                    note = format!(" line {line}");
                }
                note += &name.map(|n| format!(" ({n})")).unwrap_or_default();
                if note.is_empty() {
                    writeln!(f, "    {text}")
                } else {
                    writeln!(f, "    {text:<56} ;{note}")
                }
            };
            for i in &data.insts {
                show(self.show(i), i.line, i.result.and_then(|r| self.names.get(&r)))?;
            }
            show(self.show_term(&data.term), data.term_line, None)?;
        }
        writeln!(f, "}}")
    }
}
