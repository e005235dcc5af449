//! Telling whoever watches a launch of the probes that lanes come to ([`hostwarp_ir::SystemCall::Probe`]).

use crate::cta::{Cta, WARP};
use crate::fault::KernelFaultKind;
use crate::launch::Launch;

/// Lanes of a warp at a probe.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The index of their CTA.
    pub cta: [u32; 3],
    /// Their warp in it.
    pub warp: u32,
    /// Which lanes: all of the warp that execute it together on the interpreter, one at a time in compiled code.
    pub lanes: u32,
    /// The probe.
    pub site: u64,
    /// The line it stands in; 0 if not known.
    pub line: u32,
    /// What each lane has there; of others, anything.
    pub operands: &'a [u64; WARP as usize],
}

/// Who watches a launch. Lanes of one CTA are told of one after the other, those of several at the same time.
pub trait Observer: Sync {
    /// Lanes have come to a probe. The error ends the launch: the lane of the warp that is at fault, and why.
    fn observe(&self, at: Observed<'_>) -> Result<(), (u32, KernelFaultKind)>;

    /// So many CTAs from this number on are done.
    fn done(&self, first: u64, count: u64);
}

/// Tells of lanes at probes.
pub(crate) fn observe(
    launch: &Launch<'_>,
    cta: &Cta,
    warp: usize,
    lanes: u32,
    sites: &[u64; WARP as usize],
    operands: &[u64; WARP as usize],
    line: u32,
) -> Result<(), (u32, KernelFaultKind)> {
    let Some(observer) = launch.observer else { return Ok(()) };
    let (number, in_cta) = cta.cta_of(warp);
    let [x, y, z] = cta.index;
    let mut open = lanes;
    // Nearly always one, but nothing keeps passes from merging two probes.
    while open != 0 {
        let site = sites[open.trailing_zeros() as usize];
        let same = (0..WARP).filter(|l| open >> l & 1 != 0 && sites[*l as usize] == site);
        let lanes = same.fold(0, |mask, l| mask | 1 << l);
        open &= !lanes;
        let cta = [x + number as u32, y, z];
        observer.observe(Observed { cta, warp: in_cta as u32, lanes, site, line, operands })?;
    }
    Ok(())
}
