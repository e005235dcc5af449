//! Watching a launch: statistics, the trace of a thread, and what a strict launch refuses.
//!
//! A kernel that is to be watched is compiled anew with [probes](hostwarp_compile::Probes) in it; the engines tell a [`Watch`] of the lanes that come to
//! them. A launch that is not watched has none of this.

mod background;
mod launch;
mod space;
mod stats;
mod strict;
mod trace;

pub use stats::{InstructionStats, MemoryStats, OpcodeStats, Stats};
pub use trace::{TraceAccess, TraceStep, TraceValue};

use hostwarp_compile::{FIRST_SITE, Probes, Site, SiteKind};
use hostwarp_interp::{KernelFaultKind, Observed, Observer};
use strict::Strict;
use trace::Trace;

/// Gets each step of a thread that is traced.
pub type TraceSink<'a> = dyn Fn(&TraceStep) + Sync + 'a;

/// What a launch is watched for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) stats: bool,
    pub(crate) trace: Option<([u32; 3], [u32; 3], &'a TraceSink<'a>)>,
    pub(crate) strict: bool,
}

impl Asked<'_> {
    pub(crate) fn probes(&self) -> Probes {
        Probes {
            execution: self.stats || self.trace.is_some(),
            values: self.trace.is_some(),
            strict: self.strict,
            yields: false,
        }
    }
}

/// The launch that is watched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Where shared memory begins that belongs to the kernel.
    pub(crate) first_shared: u32,
}

impl Shape {
    fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / x / y]
    }

    fn linear_thread(&self, [x, y, z]: [u32; 3]) -> u32 {
        (z * self.block[1] + y) * self.block[0] + x
    }

    fn linear_cta(&self, index: [u32; 3]) -> u64 {
        let ([x, y, z], [width, height, _]) = (index.map(u64::from), self.grid.map(u64::from));
        (z * height + y) * width + x
    }
}

/// Who is told of probes.
pub(crate) struct Watch<'a> {
    sites: &'a [Site],
    stats: Option<stats::Counters>,
    trace: Option<Trace<'a>>,
    strict: Option<Strict>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(asked: Asked<'a>, sites: &'a [Site], shape: Shape) -> Watch<'a> {
        Watch {
            sites,
            stats: asked.stats.then(|| stats::Counters::new(sites.len())),
            trace: asked.trace.map(|(cta, thread, sink)| Trace::new(shape, cta, thread, sink)),
            strict: asked.strict.then(|| Strict::new(shape)),
        }
    }

    /// The launch is over, however it ended.
    pub(crate) fn finish(&self) -> Option<Stats> {
        if let Some(trace) = &self.trace {
            trace.finish();
        }
        self.stats.as_ref().map(|counters| counters.finish(self.sites))
    }
}

impl Observer for Watch<'_> {
    fn observe(&self, at: Observed<'_>) -> Result<(), (u32, KernelFaultKind)> {
        let Some(number) = at.site.checked_sub(FIRST_SITE) else {
            return self.strict.as_ref().map_or(Ok(()), |strict| strict.reserved(&at));
        };
        let Some(site) = self.sites.get(number as usize) else { return Ok(()) };
        if let Some(stats) = &self.stats {
            stats.observe(number as usize, site, &at);
        }
        if let Some(trace) = &self.trace {
            trace.observe(site, &at);
        }
        match &self.strict {
            Some(strict) if !matches!(site.what, SiteKind::Instruction { .. }) => strict.observe(site, &at),
            _ => Ok(()),
        }
    }

    fn done(&self, first: u64, count: u64) {
        if let Some(strict) = &self.strict {
            strict.done(first, count);
        }
    }
}

/// The lanes in a mask, ascending.
fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}
