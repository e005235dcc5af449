//! Copies that a GPU may still have under way: `cp.async`, and bulk copies.
//!
//! Engines do every copy where it stands. What a thread has begun is done, as far as a program may rely on it, when its own wait covers it
//! (`wait_group` those that were committed but for the last groups, `wait_all` all), or when somebody has seen the phase of an mbarrier end that it reports to.
//!
//! Blind spots: who waits for a phase waits for all of the CTA; what a copy writes to global memory, and what it reads there.

use super::strict::Written;
use hostwarp_interp::Wait;
use std::collections::HashMap;

/// Copies of a CTA.
#[derive(Default)]
pub(super) struct Copies {
    last: u32,
    under_way: HashMap<u32, Copy>,
    threads: HashMap<u32, Thread>,
    /// By mbarrier: of phases that nobody has seen end, oldest first, the parity and the copies that report to it.
    phases: HashMap<u32, Vec<(u32, Vec<u32>)>>,
    /// For each byte of shared memory the copy that read it last, or 0.
    read_by: Vec<u32>,
}

/// A copy that may be under way.
pub(super) struct Copy {
    /// Linear.
    pub(super) thread: u32,
    pub(super) line: u32,
    /// In bulk: what it brings is not known.
    pub(super) bulk: bool,
    reads: bool,
    address: u32,
    bytes: u32,
    /// Its number among the groups of its thread.
    group: Option<u32>,
    /// Why it may not be done.
    pub(super) wait: Wait,
}

/// What a thread has begun.
#[derive(Default)]
struct Thread {
    copies: Groups,
    bulk: Groups,
    /// Bulk copies that have not said yet whom they report to.
    new: Vec<u32>,
}

#[derive(Default)]
struct Groups {
    committed: u32,
    /// Those that may be under way.
    copies: Vec<u32>,
}

impl Copies {
    /// The copy with this number if it may be under way.
    pub(super) fn under_way(&self, copy: u32) -> Option<&Copy> {
        if copy == 0 { None } else { self.under_way.get(&copy) }
    }

    /// Who may still read this byte.
    pub(super) fn reader(&self, address: u32) -> Option<&Copy> {
        self.under_way(*self.read_by.get(address as usize)?)
    }

    /// A thread begins to copy so many bytes from an address on, or to there. Its number.
    pub(super) fn begin(
        &mut self,
        (thread, line): (u32, u32),
        (address, bytes): (u32, u32),
        bulk: bool,
        reads: bool,
    ) -> u32 {
        self.last += 1;
        let number = self.last;
        let copy = Copy { thread, line, bulk, reads, address, bytes, group: None, wait: Wait::None };
        self.under_way.insert(number, copy);
        let of = self.threads.entry(thread).or_default();
        if bulk {
            of.new.push(number)
        } else {
            of.copies.copies.push(number)
        }
        if reads {
            let (first, end) = (address as usize, address as usize + bytes as usize);
            if self.read_by.len() < end {
                self.read_by.resize(end, 0);
            }
            self.read_by[first..end].fill(number);
        }
        number
    }

    fn groups(&mut self, thread: u32, bulk: bool) -> &mut Groups {
        let of = self.threads.entry(thread).or_default();
        if bulk { &mut of.bulk } else { &mut of.copies }
    }

    /// The bulk copy that has just begun is one of the next group.
    pub(super) fn join(&mut self, thread: u32) {
        let of = self.threads.entry(thread).or_default();
        of.bulk.copies.append(&mut of.new);
    }

    pub(super) fn commit(&mut self, thread: u32, bulk: bool) {
        let of = self.groups(thread, bulk);
        let group = of.committed;
        of.committed += 1;
        for number in of.copies.clone() {
            if let Some(copy) = self.under_way.get_mut(&number) {
                copy.group.get_or_insert(group);
            }
        }
    }

    /// The thread waits for all groups but the last `left`, or for everything. What is done by that.
    pub(super) fn wait(&mut self, thread: u32, bulk: bool, left: Option<u32>, line: u32) -> Vec<u32> {
        let of = self.groups(thread, bulk);
        let (committed, copies) = (of.committed, std::mem::take(&mut of.copies));
        let (mut done, mut stay) = (vec![], vec![]);
        for number in copies {
            let Some(copy) = self.under_way.get_mut(&number) else { continue };
            match (left, copy.group) {
                (None, _) => done.push(number),
                (Some(left), Some(group)) if u64::from(group) + u64::from(left) < committed.into() => {
                    done.push(number);
                }
                (Some(_), None) => {
                    copy.wait = Wait::NotCommitted { line };
                    stay.push(number);
                }
                (Some(groups), Some(_)) => {
                    copy.wait = Wait::Left { line, groups };
                    stay.push(number);
                }
            }
        }
        self.groups(thread, bulk).copies = stay;
        done
    }

    /// The bulk copy that the thread has just begun, or all that it has begun otherwise, are done before this phase ends.
    pub(super) fn report(&mut self, thread: u32, bulk: bool, (mbarrier, parity): (u32, u32)) {
        let of = self.threads.entry(thread).or_default();
        let numbers = if bulk { std::mem::take(&mut of.new) } else { of.copies.copies.clone() };
        for number in &numbers {
            if let Some(copy) = self.under_way.get_mut(number)
                && copy.bulk
            {
                copy.wait = Wait::Phase { mbarrier };
            }
        }
        let phases = self.phases.entry(mbarrier).or_default();
        match phases.last_mut() {
            Some((last, copies)) if *last == parity => copies.extend(numbers),
            _ => phases.push((parity, numbers)),
        }
    }

    /// Somebody has seen this phase end. What is done by that, with those that reported to earlier ones.
    pub(super) fn ended(&mut self, (mbarrier, parity): (u32, u32)) -> Vec<u32> {
        let Some(phases) = self.phases.get_mut(&mbarrier) else { return vec![] };
        let Some(last) = phases.iter().rposition(|(p, _)| *p == parity) else { return vec![] };
        phases.drain(..=last).flat_map(|(_, copies)| copies).collect()
    }

    /// A copy is done. Of what it has written others may now read; `ordered` says that whoever saw it done is ordered behind it.
    pub(super) fn done(&mut self, number: u32, bytes: &mut [Option<Written>], now: u32, ordered: bool) {
        let Some(copy) = self.under_way.remove(&number) else { return };
        if copy.reads {
            return;
        }
        let place = copy.address as usize..copy.address as usize + copy.bytes as usize;
        for byte in bytes.get_mut(place).into_iter().flatten().flatten().filter(|b| b.copy == number) {
            *byte = Written { copy: 0, copied: true, time: now, strong: ordered, ..*byte };
        }
    }
}
