//! What a strict launch refuses: reliance on what PTX leaves open.
//!
//! Shared memory has a shadow: for every byte who wrote it last, when, and what. Time is counted for each warp, by its synchronisations (`bar`,
//! `barrier`, `bar.warp.sync`). An access races with a write of another lane of the warp if neither of the two has synchronised since. Volatile, relaxed and
//! stronger accesses and atomics never race.
//!
//! Blind spots: the write of one warp and the access of another; a write after another lane's read; lanes that synchronised, but not with each other;
//! global memory.

use super::{Shape, lanes, space};
use hostwarp_compile::{Access, Site, SiteKind};
use hostwarp_interp::{KernelFaultKind, Misuse, Observed};
use hostwarp_ir::Space;
use hostwarp_isa::Unspecified;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

pub(super) struct Strict {
    shape: Shape,
    /// The shadows of CTAs that are under way, by number.
    ctas: Mutex<HashMap<u64, Shadow>>,
}

#[derive(Default)]
struct Shadow {
    bytes: Vec<Option<Written>>,
    warps: HashMap<u32, Clock>,
    /// Of each thread the store whose values are told next.
    stores: HashMap<u32, Store>,
}

/// Who wrote a byte last.
#[derive(Clone, Copy)]
struct Written {
    /// Linear.
    thread: u32,
    line: u32,
    time: u32,
    value: u8,
    strong: bool,
}

#[derive(Clone, Copy, Default)]
struct Clock {
    now: u32,
    /// When each lane synchronised last.
    synchronised: [u32; 32],
}

#[derive(Clone, Copy)]
struct Store {
    address: u64,
    line: u32,
    strong: bool,
}

impl Clock {
    /// Whether what a lane of the warp did at this time may still be under way for another.
    fn races(&self, write: &Written, by: u32) -> bool {
        let unordered = |lane: u32| self.synchronised[lane as usize % 32] <= write.time;
        unordered(write.thread % 32) && unordered(by)
    }
}

type Verdict = Result<(), (u32, KernelFaultKind)>;

fn refuse(lane: u32, misuse: Misuse) -> Verdict {
    Err((lane, KernelFaultKind::Strict(misuse)))
}

impl Strict {
    pub(super) fn new(shape: Shape) -> Strict {
        Strict { shape, ctas: Mutex::default() }
    }

    pub(super) fn done(&self, first: u64, count: u64) {
        let mut ctas = self.ctas.lock().unwrap_or_else(PoisonError::into_inner);
        for number in first..first + count {
            ctas.remove(&number);
        }
    }

    /// Probes with numbers of their own.
    pub(super) fn reserved(&self, at: &Observed<'_>) -> Verdict {
        let Some(lane) = lanes(at.lanes).next() else { return Ok(()) };
        let operand = at.operands[lane as usize] as u32;
        if at.site == Unspecified::SYNCHRONISES {
            let mut ctas = self.ctas.lock().unwrap_or_else(PoisonError::into_inner);
            let shadow = ctas.entry(self.shape.linear_cta(at.cta)).or_default();
            let clock = shadow.warps.entry(at.warp).or_default();
            clock.now += 1;
            for lane in lanes(at.lanes) {
                clock.synchronised[lane as usize] = clock.now;
            }
            return Ok(());
        }
        let Some(what) = Unspecified::ALL.get(at.site as usize) else { return Ok(()) };
        let misuse = match what {
            Unspecified::DivisionByZero => Misuse::DivisionByZero,
            Unspecified::ShuffleSource => Misuse::ShuffleSource { lane: operand % 32 },
            Unspecified::NotInMask => Misuse::NotInMask { mask: operand },
        };
        refuse(lane, misuse)
    }

    pub(super) fn observe(&self, site: &Site, at: &Observed<'_>) -> Verdict {
        match &site.what {
            SiteKind::Uninitialised { register } => {
                let Some(lane) = lanes(at.lanes).next() else { return Ok(()) };
                refuse(lane, Misuse::Uninitialised { register: register.clone() })
            }
            SiteKind::Access { access, space: named, bytes, strong } => {
                if !matches!(named, Space::Shared | Space::Generic) {
                    return Ok(());
                }
                let mut ctas = self.ctas.lock().unwrap_or_else(PoisonError::into_inner);
                let shadow = ctas.entry(self.shape.linear_cta(at.cta)).or_default();
                for lane in lanes(at.lanes) {
                    let thread = at.warp * 32 + lane;
                    let (space, address) = space::resolve(*named, at.operands[lane as usize]);
                    if *access == Access::Store {
                        // Values that are told next are of this one, wherever it went.
                        shadow.stores.remove(&thread);
                    }
                    if space != Space::Shared || address < self.shape.first_shared.into() {
                        continue;
                    }
                    let store = Store { address, line: site.line, strong: *strong };
                    match access {
                        Access::Store => _ = shadow.stores.insert(thread, store),
                        Access::Load => self.load(shadow, at.warp, lane, store, *bytes)?,
                        Access::Atomic => {
                            self.load(shadow, at.warp, lane, store, *bytes)?;
                            self.store(shadow, at.warp, lane, store, &[0; 16][..*bytes as usize % 17])?;
                        }
                    }
                }
                Ok(())
            }
            SiteKind::Stored { offset, bytes } => {
                let mut ctas = self.ctas.lock().unwrap_or_else(PoisonError::into_inner);
                let shadow = ctas.entry(self.shape.linear_cta(at.cta)).or_default();
                for lane in lanes(at.lanes) {
                    let Some(store) = shadow.stores.get(&(at.warp * 32 + lane)).copied() else { continue };
                    let store = Store { address: store.address + u64::from(*offset), ..store };
                    let value = at.operands[lane as usize].to_le_bytes();
                    self.store(shadow, at.warp, lane, store, &value[..(*bytes as usize).min(8)])?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn load(&self, shadow: &mut Shadow, warp: u32, lane: u32, at: Store, bytes: u32) -> Verdict {
        let clock = *shadow.warps.entry(warp).or_default();
        for address in at.address..at.address + u64::from(bytes) {
            let address = address as u32;
            let Some(write) = shadow.bytes.get(address as usize).copied().flatten() else {
                return refuse(lane, Misuse::UninitialisedShared { address });
            };
            let another = write.thread / 32 == warp && write.thread % 32 != lane;
            if another && !at.strong && !write.strong && clock.races(&write, lane) {
                let other = self.shape.thread(write.thread);
                return refuse(lane, Misuse::ReadRace { address, other, line: write.line });
            }
        }
        Ok(())
    }

    fn store(&self, shadow: &mut Shadow, warp: u32, lane: u32, at: Store, value: &[u8]) -> Verdict {
        let clock = *shadow.warps.entry(warp).or_default();
        let end = at.address as usize + value.len();
        if shadow.bytes.len() < end {
            shadow.bytes.resize(end, None);
        }
        for (place, value) in (at.address as usize..).zip(value) {
            let new = Written {
                thread: warp * 32 + lane,
                line: at.line,
                time: clock.now,
                value: *value,
                strong: at.strong,
            };
            let Some(old) = shadow.bytes[place].replace(new) else { continue };
            let another = old.thread / 32 == warp && old.thread % 32 != lane && old.value != *value;
            if another && !at.strong && !old.strong && clock.races(&old, lane) {
                let (address, other) = (place as u32, self.shape.thread(old.thread));
                return refuse(lane, Misuse::WriteRace { address, other, line: old.line });
            }
        }
        Ok(())
    }
}
