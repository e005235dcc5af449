//! Arrays.

use super::ensure;
use super::memory::{Extent, directed};
use crate::driver::{Array3dDescriptor, copy_async, copy_now, create_array, destroy_array};
use crate::errors::{self, Code};
use crate::ops::{Copy, Side};
use crate::state::state;
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};

/// `cudaChannelFormatDesc`: bits of each channel, and 0 signed, 1 unsigned, 2 float.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ChannelDesc {
    pub bits: [c_int; 4],
    pub kind: c_int,
}

/// The driver's format and number of channels.
fn format(desc: &ChannelDesc) -> Result<(c_uint, c_uint), Code> {
    let channels = desc.bits.iter().take_while(|b| **b != 0).count();
    let same = desc.bits[..channels].iter().all(|b| *b == desc.bits[0]);
    // `cudaErrorInvalidChannelDescriptor`
    let bad = Code(20);
    if !same || desc.bits[channels..].iter().any(|b| *b != 0) || !matches!(channels, 1 | 2 | 4) {
        return Err(bad);
    }
    let format = match (desc.bits[0], desc.kind) {
        (8, 1) => 0x01,
        (16, 1) => 0x02,
        (32, 1) => 0x03,
        (8, 0) => 0x08,
        (16, 0) => 0x09,
        (32, 0) => 0x0a,
        (16, 2) => 0x10,
        (32, 2) => 0x20,
        (_, kind) if kind > 3 => return Err(errors::NOT_SUPPORTED),
        _ => return Err(bad),
    };
    Ok((format, channels as c_uint))
}

fn desc_of(shape: &Array3dDescriptor) -> ChannelDesc {
    let (bits, kind) = match shape.format {
        0x01 => (8, 1),
        0x02 => (16, 1),
        0x03 => (32, 1),
        0x08 => (8, 0),
        0x09 => (16, 0),
        0x0a => (32, 0),
        0x10 => (16, 2),
        _ => (32, 2),
    };
    let mut all = [0; 4];
    all[..shape.channels as usize].fill(bits);
    ChannelDesc { bits: all, kind }
}

/// # Safety
/// The pointers are null or may be read and written.
unsafe fn create(
    to: *mut Handle,
    desc: *const ChannelDesc,
    extent: Extent,
    flags: c_uint,
) -> Result<(), Code> {
    ensure()?;
    // SAFETY: the caller's promise.
    let (format, channels) = format(unsafe { desc.as_ref() }.ok_or(errors::INVALID_VALUE)?)?;
    let shape =
        Array3dDescriptor { width: extent.x, height: extent.y, depth: extent.z, format, channels, flags };
    // SAFETY: as above.
    unsafe { out(to, create_array(shape)?) }
}

/// The side of a copy that is an array: places and extents in bytes, rows and slices.
pub(super) fn array_side(array: Handle, at: [usize; 3], extent: [usize; 3]) -> Result<Side, Code> {
    ensure()?.array(array)?.side(at.map(|n| n as u64), extent.map(|n| n as u64))
}

/// Bytes of an element of the array.
pub(super) fn element(array: Handle) -> Result<usize, Code> {
    Ok(state()?.array(array)?.element() as usize)
}

fn flat(at: u64, pitch: usize) -> Side {
    Side { at, pitch: pitch as u64, slice: 0 }
}

fn rows(to: Side, from: Side, width: usize, height: usize) -> Copy {
    Copy { to, from, width: width as u64, height: height as u64, depth: 1, taken: None }
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// Where a linear copy begins: bytes from the first row's beginning on.
fn line(array: Handle, x: usize, y: usize, bytes: usize) -> Result<Side, Code> {
    let array = ensure()?.array(array)?;
    let row = array.shape.width as u64 * array.element();
    let at = row.checked_mul(y as u64).and_then(|n| n.checked_add(x as u64)).ok_or(errors::INVALID_VALUE)?;
    array.line(at, bytes as u64)
}

fn to_array(
    array: Handle,
    [x, y]: [usize; 2],
    from: *const c_void,
    pitch: usize,
    [width, height]: [usize; 2],
    kind: c_int,
) -> Result<Copy, Code> {
    if width > pitch {
        return Err(Code(12));
    }
    let to = array_side(array, [x, y, 0], [width, height, 1])?;
    directed(rows(to, flat(address(from), pitch), width, height), kind)
}

fn from_array(
    to: *mut c_void,
    pitch: usize,
    array: Handle,
    [x, y]: [usize; 2],
    [width, height]: [usize; 2],
    kind: c_int,
) -> Result<Copy, Code> {
    if width > pitch {
        return Err(Code(12));
    }
    let from = array_side(array, [x, y, 0], [width, height, 1])?;
    directed(rows(flat(address(to), pitch), from, width, height), kind)
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
) -> ChannelDesc {
    ChannelDesc { bits: [x, y, z, w], kind }
}

runtime_api! {
    fn cudaMallocArray(to: *mut Handle, desc: *const ChannelDesc, width: usize, height: usize, flags: c_uint) {
        // SAFETY: the caller's promise, here and below.
        unsafe { create(to, desc, Extent { x: width, y: height, z: 0 }, flags) }
    }

    fn cudaMalloc3DArray(to: *mut Handle, desc: *const ChannelDesc, extent: Extent, flags: c_uint) {
        // SAFETY: as above.
        unsafe { create(to, desc, extent, flags) }
    }

    fn cudaFreeArray(array: Handle) {
        ensure()?;
        if array == 0 { Ok(()) } else { destroy_array(array) }
    }

    fn cudaArrayGetInfo(desc: *mut ChannelDesc, extent: *mut Extent, flags: *mut c_uint, array: Handle) {
        let shape = ensure()?.array(array)?.shape;
        // SAFETY: as above.
        unsafe {
            put(desc, desc_of(&shape));
            put(extent, Extent { x: shape.width, y: shape.height, z: shape.depth });
            put(flags, shape.flags);
        }
        Ok(())
    }

    fn cudaGetChannelDesc(desc: *mut ChannelDesc, array: Handle) {
        let shape = ensure()?.array(array)?.shape;
        // SAFETY: as above.
        unsafe { out(desc, desc_of(&shape)) }
    }

    fn cudaMemcpy2DToArray / cudaMemcpy2DToArray_ptds(array: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int) {
        copy_now(to_array(array, [x, y], from, pitch, [width, height], kind)?, 0)
    }

    fn cudaMemcpy2DToArrayAsync / cudaMemcpy2DToArrayAsync_ptsz(array: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int, stream: Handle) {
        copy_async(to_array(array, [x, y], from, pitch, [width, height], kind)?, stream)
    }

    fn cudaMemcpy2DFromArray / cudaMemcpy2DFromArray_ptds(to: *mut c_void, pitch: usize, array: Handle, x: usize, y: usize, width: usize, height: usize, kind: c_int) {
        copy_now(from_array(to, pitch, array, [x, y], [width, height], kind)?, 0)
    }

    fn cudaMemcpy2DFromArrayAsync / cudaMemcpy2DFromArrayAsync_ptsz(to: *mut c_void, pitch: usize, array: Handle, x: usize, y: usize, width: usize, height: usize, kind: c_int, stream: Handle) {
        copy_async(from_array(to, pitch, array, [x, y], [width, height], kind)?, stream)
    }

    fn cudaMemcpy2DArrayToArray / cudaMemcpy2DArrayToArray_ptds(to: Handle, x: usize, y: usize, from: Handle, from_x: usize, from_y: usize, width: usize, height: usize, kind: c_int) {
        let to = array_side(to, [x, y, 0], [width, height, 1])?;
        let from = array_side(from, [from_x, from_y, 0], [width, height, 1])?;
        copy_now(directed(rows(to, from, width, height), kind)?, 0)
    }

    fn cudaMemcpyToArray / cudaMemcpyToArray_ptds(array: Handle, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int) {
        copy_now(directed(rows(line(array, x, y, bytes)?, flat(address(from), bytes), bytes, 1), kind)?, 0)
    }

    fn cudaMemcpyToArrayAsync / cudaMemcpyToArrayAsync_ptsz(array: Handle, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int, stream: Handle) {
        copy_async(directed(rows(line(array, x, y, bytes)?, flat(address(from), bytes), bytes, 1), kind)?, stream)
    }

    fn cudaMemcpyFromArray / cudaMemcpyFromArray_ptds(to: *mut c_void, array: Handle, x: usize, y: usize, bytes: usize, kind: c_int) {
        copy_now(directed(rows(flat(address(to), bytes), line(array, x, y, bytes)?, bytes, 1), kind)?, 0)
    }

    fn cudaMemcpyFromArrayAsync / cudaMemcpyFromArrayAsync_ptsz(to: *mut c_void, array: Handle, x: usize, y: usize, bytes: usize, kind: c_int, stream: Handle) {
        copy_async(directed(rows(flat(address(to), bytes), line(array, x, y, bytes)?, bytes, 1), kind)?, stream)
    }

    fn cudaMemcpyArrayToArray / cudaMemcpyArrayToArray_ptds(to: Handle, x: usize, y: usize, from: Handle, from_x: usize, from_y: usize, bytes: usize, kind: c_int) {
        copy_now(directed(rows(line(to, x, y, bytes)?, line(from, from_x, from_y, bytes)?, bytes, 1), kind)?, 0)
    }
}
