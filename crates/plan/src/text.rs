//! The plan as text, for `run --emit plan`.

use crate::{Invariance, Plan, Shape};
use std::fmt;

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Uniform => f.write_str("uniform"),
            Shape::Affine { stride, may_wrap, by_row } => {
                let by_row = if *by_row { " in each row" } else { "" };
                write!(f, "affine {stride}{by_row}{}", if *may_wrap { " unless it wraps" } else { "" })
            }
            Shape::Varying => f.write_str("varying"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "frame {} bytes per lane, {} words alive at most", self.frame.bytes, self.pressure)?;
        for (at, b) in self.order.iter().enumerate() {
            let depth = self.loop_of[b.index()].map_or(0, |l| self.loops[l].depth);
            // Of many loops the innermost stand in one column: lines stay as long as what they say.
            write!(f, "{at:4} {:indent$}{b}", "", indent = 2 * depth.min(32) as usize)?;
            for (flag, name) in [
                (self.suspends[b.index()], "suspends"),
                (self.masked[b.index()], "masked"),
                (self.divergent[b.index()], "diverges"),
            ] {
                if flag {
                    write!(f, " {name}")?;
                }
            }
            let needs: Vec<String> = self.live_in[b.index()].iter().map(|v| v.to_string()).collect();
            writeln!(f, " needs [{}]", needs.join(" "))?;
        }
        for (from, to) in &self.back_edges {
            writeln!(f, "back-edge {from} -> {to}")?;
        }
        for (v, shape) in self.shape.iter().enumerate() {
            write!(f, "v{v}: {shape}")?;
            match self.invariance[v] {
                Invariance::Launch => f.write_str(", invariant in the launch")?,
                Invariance::Cta => f.write_str(", invariant in the CTA")?,
                Invariance::None => {}
            }
            match self.frame.slot[v] {
                Some(slot) if self.frame.local[v] => writeln!(f, ", slot {slot} (local)")?,
                Some(slot) => writeln!(f, ", slot {slot}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}
