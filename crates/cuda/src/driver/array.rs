//! Arrays: elements in one to three dimensions, to be copied to and from. Here they lie row by row; what reads them in kernels (textures, surfaces) is
//! not there yet.

use crate::driver::{copy_async, copy_now};
use crate::errors::{self, Code};
use crate::ops::{Copy, Side};
use crate::state::{MemoryKind, Object, State, ready, state};
use crate::types::*;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ArrayDescriptor {
    pub width: usize,
    pub height: usize,
    pub format: c_uint,
    pub channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Array3dDescriptor {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: c_uint,
    pub channels: c_uint,
    pub flags: c_uint,
}

/// An array.
pub struct ArrayObject {
    /// What it was made as.
    pub shape: Array3dDescriptor,
    /// Where its elements lie.
    address: u64,
}

/// Bytes of a channel; none for formats that are not there.
fn channel(format: c_uint) -> Option<u64> {
    Some(match format {
        0x01 | 0x08 => 1,
        0x02 | 0x09 | 0x10 => 2,
        0x03 | 0x0a | 0x20 => 4,
        _ => return None,
    })
}

impl ArrayObject {
    /// Bytes of an element.
    pub fn element(&self) -> u64 {
        channel(self.shape.format).unwrap_or(1) * u64::from(self.shape.channels)
    }

    fn row(&self) -> u64 {
        self.shape.width as u64 * self.element()
    }

    /// The side of a copy of so many bytes, rows and slices, from a place on that is counted so, too.
    pub fn side(&self, at: [u64; 3], extent: [u64; 3]) -> Result<Side, Code> {
        let rows = self.shape.height.max(1) as u64;
        let all = [self.row(), rows, self.shape.depth.max(1) as u64];
        for (i, all) in all.into_iter().enumerate() {
            if at[i].checked_add(extent[i]).is_none_or(|end| end > all) {
                return Err(errors::INVALID_VALUE);
            }
        }
        let (pitch, slice) = (self.row(), self.row() * rows);
        Ok(Side { at: self.address + at[0] + at[1] * pitch + at[2] * slice, pitch, slice })
    }

    /// The side of a copy of bytes in a row that may go on in the next rows.
    pub fn line(&self, at: u64, bytes: u64) -> Result<Side, Code> {
        let all = self.row() * self.shape.height.max(1) as u64;
        match at.checked_add(bytes) {
            Some(end) if end <= all => Ok(Side { at: self.address + at, pitch: bytes, slice: bytes }),
            _ => Err(errors::INVALID_VALUE),
        }
    }
}

impl State {
    /// The array of a handle.
    pub fn array(&self, handle: Handle) -> Result<Arc<ArrayObject>, Code> {
        match self.object(handle) {
            Some(Object::Array(array)) => Ok(array),
            _ => Err(errors::INVALID_HANDLE),
        }
    }
}

/// Makes one; answers its handle.
pub fn create_array(shape: Array3dDescriptor) -> Result<Handle, Code> {
    let state = ready()?;
    let Some(size) = channel(shape.format) else {
        crate::log::explain(&format!("arrays of format {:#x} are not supported yet", shape.format));
        return Err(errors::NOT_SUPPORTED);
    };
    if !matches!(shape.channels, 1 | 2 | 4) || shape.width == 0 {
        return Err(errors::INVALID_VALUE);
    }
    // Sparse ones, and those whose memory comes later.
    if shape.flags & 0xc0 != 0 {
        crate::log::explain("sparse arrays and arrays with deferred mapping are not supported yet");
        return Err(errors::NOT_SUPPORTED);
    }
    let dimensions = [shape.width, shape.height.max(1), shape.depth.max(1)];
    let elements = dimensions.iter().try_fold(1u64, |all, n| all.checked_mul(*n as u64));
    let bytes = elements.and_then(|n| n.checked_mul(size * u64::from(shape.channels)));
    let address = state.alloc(bytes.ok_or(errors::OUT_OF_MEMORY)?, 512, MemoryKind::Array)?;
    Ok(state.insert(Object::Array(Arc::new(ArrayObject { shape, address }))))
}

/// Ends one.
pub fn destroy_array(handle: Handle) -> Result<(), Code> {
    let state = ready()?;
    let array = state.array(handle)?;
    let waited = state.wait_all();
    state.remove(handle);
    state.release(array.address);
    waited
}

fn linear(at: u64, bytes: u64) -> Side {
    Side { at, pitch: bytes, slice: bytes }
}

fn line_of(array: Handle, at: usize, bytes: usize) -> Result<Side, Code> {
    state()?.array(array)?.line(at as u64, bytes as u64)
}

fn across(to: Side, from: Side, bytes: usize) -> Copy {
    Copy { to, from, width: bytes as u64, height: 1, depth: 1, taken: None }
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

fn from_memory(array: Handle, at: usize, from: u64, bytes: usize) -> Result<Copy, Code> {
    Ok(across(line_of(array, at, bytes)?, linear(from, bytes as u64), bytes))
}

fn to_memory(to: u64, array: Handle, at: usize, bytes: usize) -> Result<Copy, Code> {
    Ok(across(linear(to, bytes as u64), line_of(array, at, bytes)?, bytes))
}

api! {
    fn cuArrayCreate_v2(to: *mut Handle, shape: *const ArrayDescriptor) {
        // SAFETY: the caller's promise, here and below.
        let s = unsafe { shape.as_ref() }.ok_or(errors::INVALID_VALUE)?;
        let shape = Array3dDescriptor { width: s.width, height: s.height, depth: 0, format: s.format, channels: s.channels, flags: 0 };
        // SAFETY: as above.
        unsafe { out(to, create_array(shape)?) }
    }

    fn cuArray3DCreate_v2(to: *mut Handle, shape: *const Array3dDescriptor) {
        // SAFETY: as above.
        unsafe { out(to, create_array(*shape.as_ref().ok_or(errors::INVALID_VALUE)?)?) }
    }

    fn cuArrayGetDescriptor_v2(to: *mut ArrayDescriptor, array: Handle) {
        let s = state()?.array(array)?.shape;
        // SAFETY: as above.
        unsafe { out(to, ArrayDescriptor { width: s.width, height: s.height, format: s.format, channels: s.channels }) }
    }

    fn cuArray3DGetDescriptor_v2(to: *mut Array3dDescriptor, array: Handle) {
        let shape = state()?.array(array)?.shape;
        // SAFETY: as above.
        unsafe { out(to, shape) }
    }

    fn cuArrayDestroy(array: Handle) {
        destroy_array(array)
    }

    fn cuMemcpyHtoA_v2 / cuMemcpyHtoA_v2_ptds(array: Handle, at: usize, from: *const c_void, bytes: usize) {
        copy_now(from_memory(array, at, address(from), bytes)?, 0)
    }

    fn cuMemcpyAtoH_v2 / cuMemcpyAtoH_v2_ptds(to: *mut c_void, array: Handle, at: usize, bytes: usize) {
        copy_now(to_memory(address(to), array, at, bytes)?, 0)
    }

    fn cuMemcpyHtoAAsync_v2 / cuMemcpyHtoAAsync_v2_ptsz(array: Handle, at: usize, from: *const c_void, bytes: usize, stream: Handle) {
        copy_async(from_memory(array, at, address(from), bytes)?, stream)
    }

    fn cuMemcpyAtoHAsync_v2 / cuMemcpyAtoHAsync_v2_ptsz(to: *mut c_void, array: Handle, at: usize, bytes: usize, stream: Handle) {
        copy_async(to_memory(address(to), array, at, bytes)?, stream)
    }

    fn cuMemcpyDtoA_v2 / cuMemcpyDtoA_v2_ptds(array: Handle, at: usize, from: CUdeviceptr, bytes: usize) {
        copy_now(from_memory(array, at, from, bytes)?.between(true, true)?, 0)
    }

    fn cuMemcpyAtoD_v2 / cuMemcpyAtoD_v2_ptds(to: CUdeviceptr, array: Handle, at: usize, bytes: usize) {
        copy_now(to_memory(to, array, at, bytes)?.between(true, true)?, 0)
    }

    fn cuMemcpyAtoA_v2 / cuMemcpyAtoA_v2_ptds(to: Handle, at: usize, from: Handle, from_at: usize, bytes: usize) {
        copy_now(across(line_of(to, at, bytes)?, line_of(from, from_at, bytes)?, bytes), 0)
    }
}
