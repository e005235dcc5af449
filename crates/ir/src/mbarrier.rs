//! Barriers in memory (`mbarrier`): the 64 bits of one, and what each operation makes of them.
//!
//! The manual leaves the layout open. Here, from the highest bit down:
//!
//! ```text
//! 63      phase: its parity
//! 62..43  pending: arrivals that the phase still waits for
//! 42..22  tx: what is still to be brought, in two's complement
//! 21..2   expected: arrivals that the next phase waits for
//! 1       1, or it is no mbarrier
//! 0       the layout it was initialised with, 0 or 1: the first has larger counts, the second reports of operations between GPUs, of which there are none
//! ```
//!
//! Memory that nobody has initialised is 0, and so is one that was invalidated: neither is one. What `arrive` answers is all of it, as it was before.

use std::fmt;

/// The largest count, of arrivals and of what is to be brought.
pub const MOST: u64 = (1 << 20) - 1;
/// Where the phase is.
pub const PHASE: u32 = 63;
/// Where the pending count is: so many bits from there on as [`MOST`] has.
pub const PENDING: u32 = 43;
/// What [`MARK_BITS`] of every mbarrier are.
pub const MARK: u64 = 0b10;
/// The bits that tell one from other memory.
pub const MARK_BITS: u64 = 0b10;
/// The bit that is 1 in one of `.layout::v1`.
pub const LAYOUT: u64 = 0b01;
/// The largest count of arrivals in `.layout::v1`.
pub const MOST_V1: u64 = (1 << 9) - 1;

const TX: u32 = 22;
const EXPECTED: u32 = 2;

/// What is done to one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MbarrierOp {
    /// (count in the low half, the layout in the high half): it is one from now on.
    Init,
    /// It is none from now on.
    Inval,
    /// (count in the low half, tx in the high half): expects tx, and then so many arrive. Answers what was there.
    Arrive,
    /// As `Arrive`, in a phase that does not end by it.
    ArriveNoComplete,
    /// As `Arrive`, and those who arrive are not expected in the next phase.
    Drop,
    /// Both.
    DropNoComplete,
    /// (tx): so much is to be brought.
    ExpectTx,
    /// (tx): so much has been brought.
    CompleteTx,
    /// One more is expected in this phase, and arrives.
    CopyArrive,
    /// A lane has found that it has to wait. Changes nothing.
    Wait,
}

impl MbarrierOp {
    /// Every one.
    pub const ALL: [MbarrierOp; 10] = {
        use MbarrierOp::*;
        [Init, Inval, Arrive, ArriveNoComplete, Drop, DropNoComplete, ExpectTx, CompleteTx, CopyArrive, Wait]
    };
}

/// Why something cannot be done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Misuse {
    /// There is no mbarrier.
    None,
    /// A count of arrivals that is 0 or too large.
    Count(u64),
    /// More arrive than are pending.
    Arrivals {
        /// So many arrive.
        count: u64,
        /// So many are pending.
        pending: u64,
    },
    /// More leave for ever than are expected.
    Drops {
        /// So many leave.
        count: u64,
        /// So many are expected.
        expected: u64,
    },
    /// The phase would end, though the instruction promises that it does not.
    Completes,
    /// Too many are pending.
    Pending,
    /// Too much is to be brought, or too much has been.
    Tx(i64),
    /// It is in no shared memory.
    Elsewhere,
    /// It is initialised though it is one already, and was not invalidated.
    Again,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::None => {
                f.write_str("was never initialised, or is invalid since `mbarrier.inval`, or was overwritten")
            }
            Misuse::Count(n) => {
                write!(f, "is given a count of {n}; counts are 1 to {MOST}, of layout 1 to {MOST_V1}")
            }
            Misuse::Arrivals { count, pending } => {
                write!(f, "waits for {pending} arrivals in this phase, and {count} arrive")
            }
            Misuse::Drops { count, expected } => {
                write!(f, "expects {expected} arrivals, and {count} drop out")
            }
            Misuse::Completes => f.write_str("completes its phase, which `.noComplete` says it does not"),
            Misuse::Pending => write!(f, "would wait for more than {MOST} arrivals"),
            Misuse::Tx(n) => {
                write!(f, "would have a tx-count of {n}, which is not between -{MOST} and {MOST}")
            }
            Misuse::Elsewhere => f.write_str("is not in shared memory"),
            Misuse::Again => f.write_str("is initialised again without `mbarrier.inval` in between"),
        }
    }
}

#[derive(Clone, Copy)]
struct Fields {
    phase: bool,
    pending: u64,
    tx: i64,
    expected: u64,
    layout: u64,
}

impl Fields {
    fn read(bits: u64) -> Result<Fields, Misuse> {
        if bits & MARK_BITS != MARK {
            return Err(Misuse::None);
        }
        let count = |at: u32| bits >> at & MOST;
        let tx = (bits << (64 - PENDING)) as i64 >> (64 - PENDING + TX);
        let (pending, expected) = (count(PENDING), count(EXPECTED));
        Ok(Fields { phase: bits >> PHASE != 0, pending, tx, expected, layout: bits & LAYOUT })
    }

    fn write(self) -> u64 {
        let tx = (self.tx as u64 & (2 * MOST + 1)) << TX;
        u64::from(self.phase) << PHASE
            | self.pending << PENDING
            | tx
            | self.expected << EXPECTED
            | MARK
            | self.layout
    }

    /// The largest count of arrivals.
    fn most(&self) -> u64 {
        if self.layout == 0 { MOST } else { MOST_V1 }
    }

    fn add_tx(&mut self, n: i64) -> Result<(), Misuse> {
        self.tx += n;
        if self.tx.unsigned_abs() <= MOST { Ok(()) } else { Err(Misuse::Tx(self.tx)) }
    }

    fn arrive(&mut self, count: u64, drop: bool) -> Result<(), Misuse> {
        if count == 0 || count > MOST {
            return Err(Misuse::Count(count));
        }
        if drop {
            let left = self.expected.checked_sub(count);
            self.expected = left.ok_or(Misuse::Drops { count, expected: self.expected })?;
        }
        let left = self.pending.checked_sub(count);
        self.pending = left.ok_or(Misuse::Arrivals { count, pending: self.pending })?;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.pending == 0 && self.tx == 0
    }

    /// Begins the next phase where nothing is pending.
    fn settle(mut self) -> u64 {
        if self.is_complete() {
            self.phase = !self.phase;
            self.pending = self.expected;
        }
        self.write()
    }
}

/// What an operation leaves of the 64 bits of an mbarrier.
pub fn apply(op: MbarrierOp, bits: u64, operand: u64) -> Result<u64, Misuse> {
    let (low, high) = (operand & 0xffff_ffff, operand >> 32);
    if op == MbarrierOp::Init {
        let f = Fields { phase: false, pending: low, tx: 0, expected: low, layout: high };
        return if (1..=f.most()).contains(&low) { Ok(f.write()) } else { Err(Misuse::Count(low)) };
    }
    let mut f = Fields::read(bits)?;
    match op {
        MbarrierOp::Init | MbarrierOp::Inval => return Ok(0),
        MbarrierOp::Wait => return Ok(bits),
        MbarrierOp::ExpectTx => f.add_tx(low as i64)?,
        MbarrierOp::CompleteTx => f.add_tx(-(low as i64))?,
        MbarrierOp::CopyArrive if f.pending == f.most() => return Err(Misuse::Pending),
        MbarrierOp::CopyArrive => {}
        MbarrierOp::Arrive | MbarrierOp::ArriveNoComplete | MbarrierOp::Drop | MbarrierOp::DropNoComplete => {
            f.add_tx(high as i64)?;
            f.arrive(low, matches!(op, MbarrierOp::Drop | MbarrierOp::DropNoComplete))?;
            let promised = matches!(op, MbarrierOp::ArriveNoComplete | MbarrierOp::DropNoComplete);
            if promised && f.is_complete() {
                return Err(Misuse::Completes);
            }
        }
    }
    Ok(f.settle())
}
