//! The fixed-width integers that cross between registers and memory, and what atomics do to them.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for u128 {}
}

/// A value of 1, 2, 4, 8 or 16 bytes. Every bit pattern is a value; floats and signed integers travel as their bits.
pub trait Scalar: Copy + Default + Eq + std::fmt::Debug + Send + Sync + sealed::Sealed + 'static {
    /// Bytes in memory, and the alignment an access needs.
    const SIZE: u64;

    /// Reads a value that other threads may be writing.
    ///
    /// # Safety
    /// `ptr` is valid for reads of `SIZE` bytes, a multiple of `SIZE`, and written to only by [`Scalar::store`], the
    /// atomics of this crate and compiled kernels while other threads use it.
    #[doc(hidden)]
    unsafe fn load(ptr: *const u8) -> Self;

    /// Writes a value that other threads may be reading or writing.
    ///
    /// # Safety
    /// As for [`Scalar::load`], and valid for writes.
    #[doc(hidden)]
    unsafe fn store(ptr: *mut u8, value: Self);
}

macro_rules! scalar {
    ($int:ty, $atomic:ty) => {
        impl Scalar for $int {
            const SIZE: u64 = size_of::<$int>() as u64;

            #[inline(always)]
            unsafe fn load(ptr: *const u8) -> Self {
                // SAFETY: aligned and valid by the caller; relaxed, so a race gives some value and nothing worse.
                unsafe { <$atomic>::from_ptr(ptr.cast_mut().cast()).load(Ordering::Relaxed) }
            }

            #[inline(always)]
            unsafe fn store(ptr: *mut u8, value: Self) {
                // SAFETY: as in `load`.
                unsafe { <$atomic>::from_ptr(ptr.cast()).store(value, Ordering::Relaxed) }
            }
        }
    };
}

scalar!(u8, AtomicU8);
scalar!(u16, AtomicU16);
scalar!(u32, AtomicU32);
scalar!(u64, AtomicU64);

/// 16 bytes are two halves: PTX promises single-copy atomicity only up to 64 bits for plain accesses.
impl Scalar for u128 {
    const SIZE: u64 = 16;

    #[inline(always)]
    unsafe fn load(ptr: *const u8) -> Self {
        // SAFETY: both halves are inside the 16 bytes and aligned to 8.
        let (low, high) = unsafe { (u64::load(ptr), u64::load(ptr.add(8))) };
        u128::from(low) | u128::from(high) << 64
    }

    #[inline(always)]
    unsafe fn store(ptr: *mut u8, value: Self) {
        // SAFETY: both halves are inside the 16 bytes and aligned to 8.
        unsafe {
            u64::store(ptr, value as u64);
            u64::store(ptr.add(8), (value >> 64) as u64);
        }
    }
}

/// An integer read-modify-write operation. Floats and packed halves go through `atomic_update` with the caller's own
/// arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// The operand.
    Exch,
    /// The wrapping sum.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The lesser, as signed integers.
    MinSigned,
    /// The greater, as signed integers.
    MaxSigned,
    /// The lesser, as unsigned integers.
    MinUnsigned,
    /// The greater, as unsigned integers.
    MaxUnsigned,
    /// Counts up: 0 once the operand is reached, else one more.
    Inc,
    /// Counts down: the operand where memory is 0 or above it, else one less.
    Dec,
}

/// A value that has the integer read-modify-write operations: 32 and 64 bits.
pub trait AtomicInt: AtomicScalar {
    /// What `op` leaves in memory that held `old`.
    fn apply(op: AtomicOp, old: Self, operand: Self) -> Self;

    /// # Safety
    /// As for [`Scalar::store`].
    #[doc(hidden)]
    unsafe fn rmw(ptr: *mut u8, op: AtomicOp, operand: Self) -> Self;
}

/// A value that has compare-and-swap and update: 16, 32, 64 and 128 bits.
pub trait AtomicScalar: Scalar {
    /// Stores `new` where memory holds `compare`; answers what it held.
    ///
    /// # Safety
    /// As for [`Scalar::store`].
    #[doc(hidden)]
    unsafe fn cas(ptr: *mut u8, compare: Self, new: Self) -> Self;

    /// Replaces what memory holds by `f` of it; answers what it held. `f` may be called more than once.
    ///
    /// # Safety
    /// As for [`Scalar::store`].
    #[doc(hidden)]
    #[inline]
    unsafe fn update(ptr: *mut u8, mut f: impl FnMut(Self) -> Self) -> Self {
        // SAFETY: handed on from the caller.
        let mut old = unsafe { Self::load(ptr) };
        loop {
            // SAFETY: handed on from the caller.
            let seen = unsafe { Self::cas(ptr, old, f(old)) };
            if seen == old {
                return old;
            }
            old = seen;
        }
    }
}

macro_rules! cas {
    ($int:ty, $atomic:ty) => {
        impl AtomicScalar for $int {
            #[inline]
            unsafe fn cas(ptr: *mut u8, compare: Self, new: Self) -> Self {
                // SAFETY: aligned and valid by the caller.
                let cell = unsafe { <$atomic>::from_ptr(ptr.cast()) };
                match cell.compare_exchange(compare, new, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(old) | Err(old) => old,
                }
            }
        }
    };
}

cas!(u16, AtomicU16);
cas!(u32, AtomicU32);
cas!(u64, AtomicU64);

/// Not every host has a 16-byte compare-and-swap, so 128-bit atomics are atomic among themselves only, under a lock.
impl AtomicScalar for u128 {
    unsafe fn cas(ptr: *mut u8, compare: Self, new: Self) -> Self {
        static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _held = LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: handed on from the caller.
        unsafe {
            let old = Self::load(ptr);
            if old == compare {
                Self::store(ptr, new);
            }
            old
        }
    }
}

macro_rules! atomic_int {
    ($int:ty, $signed:ty, $atomic:ty, $atomic_signed:ty) => {
        impl AtomicInt for $int {
            #[inline]
            fn apply(op: AtomicOp, old: Self, operand: Self) -> Self {
                match op {
                    AtomicOp::Exch => operand,
                    AtomicOp::Add => old.wrapping_add(operand),
                    AtomicOp::And => old & operand,
                    AtomicOp::Or => old | operand,
                    AtomicOp::Xor => old ^ operand,
                    AtomicOp::MinSigned => (old as $signed).min(operand as $signed) as $int,
                    AtomicOp::MaxSigned => (old as $signed).max(operand as $signed) as $int,
                    AtomicOp::MinUnsigned => old.min(operand),
                    AtomicOp::MaxUnsigned => old.max(operand),
                    AtomicOp::Inc => {
                        if old >= operand {
                            0
                        } else {
                            old + 1
                        }
                    }
                    AtomicOp::Dec => {
                        if old == 0 || old > operand {
                            operand
                        } else {
                            old - 1
                        }
                    }
                }
            }

            #[inline]
            unsafe fn rmw(ptr: *mut u8, op: AtomicOp, operand: Self) -> Self {
                const ORDER: Ordering = Ordering::SeqCst;
                // SAFETY: aligned and valid by the caller.
                let cell = unsafe { <$atomic>::from_ptr(ptr.cast()) };
                // SAFETY: as above; signed and unsigned atomics of one width are the same in memory.
                let signed = unsafe { <$atomic_signed>::from_ptr(ptr.cast()) };
                match op {
                    AtomicOp::Exch => cell.swap(operand, ORDER),
                    AtomicOp::Add => cell.fetch_add(operand, ORDER),
                    AtomicOp::And => cell.fetch_and(operand, ORDER),
                    AtomicOp::Or => cell.fetch_or(operand, ORDER),
                    AtomicOp::Xor => cell.fetch_xor(operand, ORDER),
                    AtomicOp::MinSigned => signed.fetch_min(operand as $signed, ORDER) as $int,
                    AtomicOp::MaxSigned => signed.fetch_max(operand as $signed, ORDER) as $int,
                    AtomicOp::MinUnsigned => cell.fetch_min(operand, ORDER),
                    AtomicOp::MaxUnsigned => cell.fetch_max(operand, ORDER),
                    AtomicOp::Inc | AtomicOp::Dec => {
                        // SAFETY: handed on from the caller.
                        unsafe { Self::update(ptr, |old| Self::apply(op, old, operand)) }
                    }
                }
            }
        }
    };
}

atomic_int!(u32, i32, AtomicU32, AtomicI32);
atomic_int!(u64, i64, AtomicU64, AtomicI64);
