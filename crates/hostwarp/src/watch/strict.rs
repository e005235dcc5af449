//! What a strict launch refuses: reliance on what PTX leaves open.
//!
//! Shared memory has a shadow: for every byte who wrote it last, when, and what. Time is counted for each CTA, by synchronisations (`bar`,
//! `barrier`, `bar.warp.sync`, mbarriers). An access races with a write of another lane of the warp if neither of the two has synchronised since. Volatile,
//! relaxed and stronger accesses and atomics never race. Copies in the background are in `background.rs`; what one has brought a thread of any warp
//! may read that has synchronised, or read what is ordered, since the copy was waited for.
//!
//! Blind spots: the write of one warp and the access of another, but for copies; a write after another lane's read; lanes that synchronised, but not with
//! each other; global memory.

use super::background::{Copies, Copy};
use super::{Shape, lanes, space};
use hostwarp_compile::{Access, Site, SiteKind};
use hostwarp_interp::{KernelFaultKind, Misuse, Observed, TooEarly};
use hostwarp_ir::Space;
use hostwarp_isa::{Background, Unspecified};
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
    copies: Copies,
    now: u32,
    warps: HashMap<u32, Clock>,
    /// Of each thread the store whose values are told next.
    stores: HashMap<u32, Store>,
}

/// Who wrote a byte last.
#[derive(Clone, Copy)]
pub(super) struct Written {
    /// Linear.
    pub(super) thread: u32,
    pub(super) line: u32,
    pub(super) time: u32,
    pub(super) value: u8,
    pub(super) strong: bool,
    /// The copy that may still write it, or 0.
    pub(super) copy: u32,
    /// A copy that was waited for has written it.
    pub(super) copied: bool,
}

#[derive(Clone, Copy, Default)]
struct Clock {
    /// When each lane synchronised last.
    synchronised: [u32; 32],
    /// When each lane last went on behind that, or behind an access that is ordered.
    resumed: [u32; 32],
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

fn halves(operand: u64) -> (u32, u32) {
    (operand as u32, (operand >> 32) as u32)
}

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
        if matches!(at.site, Unspecified::SYNCHRONISES | Unspecified::RESUMES) {
            let mut ctas = self.ctas.lock().unwrap_or_else(PoisonError::into_inner);
            let shadow = ctas.entry(self.shape.linear_cta(at.cta)).or_default();
            shadow.now += 1;
            let clock = shadow.warps.entry(at.warp).or_default();
            let times = match at.site {
                Unspecified::SYNCHRONISES => &mut clock.synchronised,
                _ => &mut clock.resumed,
            };
            lanes(at.lanes).for_each(|lane| times[lane as usize] = shadow.now);
            return Ok(());
        }
        if let Some(what) = Background::at(at.site) {
            let mut ctas = self.ctas.lock().unwrap_or_else(PoisonError::into_inner);
            let shadow = ctas.entry(self.shape.linear_cta(at.cta)).or_default();
            return lanes(at.lanes).try_for_each(|lane| self.background(shadow, what, at, lane));
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
                let orders = *strong && *access != Access::Store;
                let mut ctas = self.ctas.lock().unwrap_or_else(PoisonError::into_inner);
                let shadow = ctas.entry(self.shape.linear_cta(at.cta)).or_default();
                if orders {
                    shadow.now += 1;
                    let clock = shadow.warps.entry(at.warp).or_default();
                    lanes(at.lanes).for_each(|lane| clock.resumed[lane as usize] = shadow.now);
                }
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
            SiteKind::Filled => {
                let mut ctas = self.ctas.lock().unwrap_or_else(PoisonError::into_inner);
                let shadow = ctas.entry(self.shape.linear_cta(at.cta)).or_default();
                for lane in lanes(at.lanes) {
                    let (first, bytes) = halves(at.operands[lane as usize]);
                    let (first, end) = (first as usize, first as usize + bytes as usize);
                    if shadow.bytes.len() < end {
                        shadow.bytes.resize(end, None);
                    }
                    let (thread, time) = (at.warp * 32 + lane, shadow.now);
                    let line = site.line;
                    shadow.bytes[first..end].fill(Some(Written {
                        thread,
                        line,
                        time,
                        value: 0,
                        strong: false,
                        copy: 0,
                        copied: false,
                    }));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What a lane does to copies in the background.
    fn background(&self, shadow: &mut Shadow, what: Background, at: &Observed<'_>, lane: u32) -> Verdict {
        let thread = at.warp * 32 + lane;
        let operand = at.operands[lane as usize];
        let (low, high) = halves(operand);
        let copies = &mut shadow.copies;
        let mut done = vec![];
        match what {
            Background::Copies | Background::BulkWrites => {
                let bulk = what == Background::BulkWrites;
                let number = copies.begin((thread, at.line), (low, high), bulk, false);
                let place = low as usize..low as usize + high as usize;
                for byte in shadow.bytes.get_mut(place).into_iter().flatten().flatten() {
                    byte.copy = number;
                }
            }
            Background::BulkReads => {
                for address in low..low.saturating_add(high) {
                    let write = shadow.bytes.get(address as usize).copied().flatten();
                    if let Some(copy) = write.and_then(|write| shadow.copies.under_way(write.copy)) {
                        return self.under_way(lane, address, TooEarly::Read, copy);
                    }
                }
                shadow.copies.begin((thread, at.line), (low, high), true, true);
            }
            Background::Joins => copies.join(thread),
            Background::Commits => copies.commit(thread, false),
            Background::BulkCommits => copies.commit(thread, true),
            Background::Waits => done = copies.wait(thread, false, Some(low), at.line),
            Background::WaitsForAll => done = copies.wait(thread, false, None, at.line),
            Background::BulkWaits => done = copies.wait(thread, true, Some(low), at.line),
            Background::Follows => copies.report(thread, false, (low, high)),
            Background::Reports => copies.report(thread, true, (low, high)),
            Background::Ended => done = copies.ended((low, high)),
        }
        for number in done {
            shadow.copies.done(number, &mut shadow.bytes, shadow.now, what == Background::Ended);
        }
        Ok(())
    }

    fn under_way(&self, lane: u32, address: u32, access: TooEarly, copy: &Copy) -> Verdict {
        let (other, line, wait) = (self.shape.thread(copy.thread), copy.line, copy.wait);
        refuse(lane, Misuse::UnderWay { address, access, other, line, wait })
    }

    fn load(&self, shadow: &mut Shadow, warp: u32, lane: u32, at: Store, bytes: u32) -> Verdict {
        let clock = *shadow.warps.entry(warp).or_default();
        for address in at.address..at.address + u64::from(bytes) {
            let address = address as u32;
            let Some(write) = shadow.bytes.get(address as usize).copied().flatten() else {
                return refuse(lane, Misuse::UninitialisedShared { address });
            };
            if let Some(copy) = shadow.copies.under_way(write.copy) {
                return self.under_way(lane, address, TooEarly::Read, copy);
            }
            let elsewhere = write.thread / 32 != warp;
            if elsewhere && write.copied && !write.strong && !at.strong {
                let (other, line) = (self.shape.thread(write.thread), write.line);
                if clock.resumed[lane as usize] <= write.time {
                    return refuse(lane, Misuse::CopyRace { address, other, line });
                }
            }
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
                time: shadow.now,
                value: *value,
                strong: at.strong,
                copy: 0,
                copied: false,
            };
            if let Some(copy) = shadow.copies.reader(place as u32) {
                return self.under_way(lane, place as u32, TooEarly::Overwrite, copy);
            }
            let Some(old) = shadow.bytes[place].replace(new) else { continue };
            if let Some(copy) = shadow.copies.under_way(old.copy)
                && (copy.bulk || old.value != *value)
            {
                return self.under_way(lane, place as u32, TooEarly::Write, copy);
            }
            let another = old.thread / 32 == warp && old.thread % 32 != lane && old.value != *value;
            if another && !at.strong && !old.strong && clock.races(&old, lane) {
                let (address, other) = (place as u32, self.shape.thread(old.thread));
                return refuse(lane, Misuse::WriteRace { address, other, line: old.line });
            }
        }
        Ok(())
    }
}
