//! The text form of vector kernels.

use crate::ir::{Access, At, Extent, Form, Inst, Kernel, Op, Term, Ty};
use std::fmt::{self, Display, Formatter};

impl Display for Ty {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let each = match self.extent {
            Extent::Group => "",
            Extent::Rows => "/row",
            Extent::Lanes => "*",
        };
        write!(f, "{}{each}", self.of)
    }
}

/// Constants for lanes: what they begin with and go on by, where they do, or all of them.
fn offsets(f: &mut Formatter<'_>, o: &[i64]) -> fmt::Result {
    let step = o.get(1).map_or(0, |second| second - o[0]);
    if o.windows(2).all(|p| p[1].wrapping_sub(p[0]) == step) {
        return write!(f, "[{} by {step}]", o.first().unwrap_or(&0));
    }
    write!(f, "{o:?}")
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}.{} ", self.space, self.ty)?;
        match &self.at {
            At::Uniform(r) => write!(f, "at %{}", r.0)?,
            At::Lanes(r) => write!(f, "each at %{}", r.0)?,
            At::Rows { each, offsets: o } => {
                write!(f, "rows from %{} ", each.0)?;
                offsets(f, o)?;
            }
            At::Spread { first, offsets: o, form } => {
                write!(f, "from %{} ", first.0)?;
                match form {
                    Form::Row => f.write_str("row")?,
                    Form::Permuted(_) => f.write_str("permuted row")?,
                    Form::Strided(n) => write!(f, "every {n}th")?,
                    Form::Rows(n) => write!(f, "rows of {n}")?,
                    Form::Splats(n) => write!(f, "splats of {n}")?,
                    Form::Runs { runs, .. } => write!(f, "runs {runs:?}")?,
                    Form::Gather => {
                        f.write_str("gather ")?;
                        offsets(f, o)?;
                    }
                }
            }
        }
        if let Some(mask) = self.mask {
            write!(f, " if %{}", mask.0)?;
        }
        Ok(())
    }
}

struct Line<'a>(&'a Kernel, &'a Inst);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Line(k, i) = self;
        let name = |l: &crate::ir::Label| format!("{}@{}", k.blocks[l.0 as usize].name, l.0);
        if let Some(r) = i.result {
            write!(f, "%{}: {} = ", r.0, k.ty(r))?;
        }
        match &i.op {
            Op::Const(bits) => write!(f, "const {bits:#x}")?,
            Op::Each(o) => {
                f.write_str("each ")?;
                offsets(f, o)?;
            }
            Op::Spread(o) => {
                f.write_str("spread ")?;
                offsets(f, o)?;
            }
            Op::Widen(o) => {
                f.write_str("widen ")?;
                offsets(f, o)?;
            }
            Op::Origins(o) => {
                f.write_str("origins ")?;
                offsets(f, o)?;
            }
            Op::Core(op) => write!(f, "{op:?}")?,
            Op::Get(v) => write!(f, "get ${}", v.0)?,
            Op::Set(v) => write!(f, "set ${}", v.0)?,
            Op::Blend(v) => write!(f, "blend ${}", v.0)?,
            Op::Test(l) => write!(f, "test else {}", name(l))?,
            Op::Check(a, l) => write!(f, "check {a} else {}", name(l))?,
            Op::Fuel { cost, waits, exit, .. } => {
                write!(f, "fuel {cost}{} else {}", if *waits { " waits" } else { "" }, name(exit))?;
            }
            Op::Load(a) => write!(f, "load {a}")?,
            Op::Store(a) => write!(f, "store {a}")?,
            Op::Atomic(op, a) => write!(f, "atomic {op:?} {a}")?,
            Op::Ask { site, access } => write!(f, "ask {site} {access}")?,
            Op::FrameGet(p) => write!(f, "frame get {}", p.slot)?,
            Op::FramePut(p) => write!(f, "frame put {}", p.slot)?,
            Op::Permute(p) => write!(f, "permute {p:?}")?,
            other => write!(f, "{other:?}")?,
        }
        for a in &i.args {
            write!(f, " %{}", a.0)?;
        }
        Ok(())
    }
}

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {} in groups of {}", self.name, self.width)?;
        for (n, ty) in self.vars.iter().enumerate() {
            writeln!(f, "  ${n}: {ty}")?;
        }
        for (b, l) in &self.entries {
            writeln!(f, "  enter b{} at {}@{}", b.0, self.blocks[l.0 as usize].name, l.0)?;
        }
        for (n, b) in self.blocks.iter().enumerate().filter(|(_, b)| !b.name.is_empty()) {
            writeln!(f, "{}@{n}:", b.name)?;
            for i in &b.insts {
                writeln!(f, "  {}", Line(self, i))?;
            }
            let name = |l: &crate::ir::Label| format!("{}@{}", self.blocks[l.0 as usize].name, l.0);
            match &b.term {
                Term::Jump(l) => writeln!(f, "  jump {}", name(l))?,
                Term::Branch { condition, yes, no, .. } => {
                    writeln!(f, "  branch %{} {} {}", condition.0, name(yes), name(no))?;
                }
                Term::Switch(v, to) => {
                    writeln!(f, "  switch %{} {}", v.0, to.iter().map(name).collect::<Vec<_>>().join(" "))?;
                }
                Term::Barrier { from, to } => writeln!(f, "  barrier b{} then b{}", from.0, to.0)?,
                Term::Exited => writeln!(f, "  exited")?,
                Term::Leave { from } => {
                    writeln!(f, "  leave{}", from.map_or(String::new(), |b| format!(" at b{}", b.0)))?;
                }
            }
        }
        Ok(())
    }
}
