//! Typed buffers in device memory.

use crate::{Device, Error};
use std::marker::PhantomData;
use std::sync::Arc;

/// What a [`Buffer`] may hold: plain numbers, any bit pattern valid.
pub use bytemuck::Pod;

/// `len` elements in device memory, freed when dropped and no work on a [`Stream`](crate::Stream) needs them.
///
/// ```
/// # fn main() -> Result<(), hostwarp::Error> {
/// let device = hostwarp::Device::new()?;
/// let x = device.buffer_from(&[1.0f32, 2.0, 3.0])?;
/// x.write(1, &[20.0])?;
/// assert_eq!(x.to_vec()?, [1.0, 20.0, 3.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Buffer<T: Pod> {
    memory: Arc<Owned>,
    len: usize,
    marker: PhantomData<T>,
}

/// An allocation. Launches and copies that are under way hold it too.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) device: Device,
    address: u64,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // The address is ours and alive: nothing to report.
        let _ = self.device.memory().free(self.address);
    }
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn new(device: &Device, len: usize, name: Option<&str>) -> Result<Buffer<T>, Error> {
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64).ok_or_else(|| {
            Error::launch(format!(
                "{len} elements of {} bytes are more than any memory holds",
                size_of::<T>()
            ))
        })?;
        let address = match name {
            Some(name) => device.memory().alloc_named(bytes, name)?,
            None => device.memory().alloc(bytes)?,
        };
        let memory = Arc::new(Owned { device: device.clone(), address });
        Ok(Buffer { memory, len, marker: PhantomData })
    }

    /// The device it is on. Kernels of others cannot have it.
    pub fn device(&self) -> &Device {
        &self.memory.device
    }

    /// The device address of the first element: what a kernel is given.
    pub fn address(&self) -> u64 {
        self.memory.address
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies elements in, from `at` on.
    pub fn write(&self, at: usize, values: &[T]) -> Result<(), Error> {
        self.range(at, values.len())?;
        let offset = (at * size_of::<T>()) as u64;
        Ok(self.device().memory().write(self.address() + offset, bytemuck::cast_slice(values))?)
    }

    /// Copies elements out, from `at` on.
    pub fn read(&self, at: usize, values: &mut [T]) -> Result<(), Error> {
        self.range(at, values.len())?;
        let offset = (at * size_of::<T>()) as u64;
        Ok(self.device().memory().read(self.address() + offset, bytemuck::cast_slice_mut(values))?)
    }

    /// All elements.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut out = vec![T::zeroed(); self.len];
        self.read(0, &mut out)?;
        Ok(out)
    }

    /// The same memory once more, for what runs beside the host.
    pub(crate) fn share(&self) -> Buffer<T> {
        Buffer { memory: self.memory.clone(), len: self.len, marker: PhantomData }
    }

    pub(crate) fn memory(&self) -> &Arc<Owned> {
        &self.memory
    }

    pub(crate) fn range(&self, at: usize, count: usize) -> Result<(), Error> {
        match at.checked_add(count) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(Error::launch(format!(
                "{count} elements from {at} on do not fit a buffer of {}",
                self.len
            ))),
        }
    }
}
