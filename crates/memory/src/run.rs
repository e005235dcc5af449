//! Whole columns of global memory behind one check.

use crate::scalar::Scalar;
use std::marker::PhantomData;
use std::ptr;

/// Consecutive values in global memory that were alive when they were looked up.
#[derive(Clone, Copy, Debug)]
pub struct GlobalRun<'a, T> {
    host: *mut u8,
    count: usize,
    lives: PhantomData<(&'a (), T)>,
}

impl<T: Scalar> GlobalRun<'_, T> {
    /// # Safety
    /// `host` is valid for `count` values and aligned for them, for as long as the lifetime lasts.
    #[inline]
    pub(crate) unsafe fn new(host: *mut u8, count: usize) -> Self {
        GlobalRun { host, count, lives: PhantomData }
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where they lie on the host, for as long as the run lives. Others may write there meanwhile: the crate's documentation says what
    /// that means.
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        self.host.cast_const().cast()
    }

    /// Copies all values out.
    ///
    /// # Panics
    /// Where `out` is not as long as the run.
    #[inline]
    pub fn read(&self, out: &mut [T]) {
        assert_eq!(out.len(), self.count);
        // SAFETY: as many values on both sides; `out` is the caller's own and cannot overlap the arena.
        unsafe {
            ptr::copy_nonoverlapping(self.host.cast_const(), out.as_mut_ptr().cast::<u8>(), size_of_val(out))
        }
    }

    /// Copies all values in.
    ///
    /// # Panics
    /// Where `values` is not as long as the run.
    #[inline]
    pub fn write(&self, values: &[T]) {
        assert_eq!(values.len(), self.count);
        // SAFETY: as in `read`.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), self.host, size_of_val(values)) }
    }

    /// The value at `index`.
    ///
    /// # Panics
    /// Where the run is not as long.
    #[inline]
    pub fn get(&self, index: usize) -> T {
        assert!(index < self.count);
        // SAFETY: inside the run, which is aligned.
        unsafe { T::load(self.host.add(index * size_of::<T>())) }
    }

    /// Stores the value at `index`, for columns where only some lanes are active.
    ///
    /// # Panics
    /// Where the run is not as long.
    #[inline]
    pub fn set(&self, index: usize, value: T) {
        assert!(index < self.count);
        // SAFETY: inside the run, which is aligned.
        unsafe { T::store(self.host.add(index * size_of::<T>()), value) }
    }
}
