//! Copies and fills in all directions and dimensions.

use crate::errors::{self, Code};
use crate::ops::{Copy, Fill, Op, Side, queue, queue_and_wait};
use crate::state::{ready, state};
use crate::types::*;
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

/// A copy that is done when the call returns.
pub fn copy_now(copy: Copy, stream: Handle) -> Result<(), Code> {
    let state = ready()?;
    let stream = state.stream(stream)?;
    copy.check(state)?;
    queue_and_wait(state, &stream, Op::Copy(copy))
}

/// A copy that runs beside the host where the host's memory is page-locked. From other memory it takes what is there now, to other memory it waits.
pub fn copy_async(mut copy: Copy, stream: Handle) -> Result<(), Code> {
    let state = ready()?;
    let stream = state.stream(stream)?;
    copy.check(state)?;
    if copy.is_empty() {
        return Ok(());
    }
    if stream.capture().is_none() {
        if !state.is_pinned(copy.to.at) {
            return queue_and_wait(state, &stream, Op::Copy(copy));
        }
        if !state.is_pinned(copy.from.at) {
            copy.take();
        }
    }
    queue(state, &stream, Op::Copy(copy))
}

/// A fill; the caller waits for it or not.
pub fn fill(fill: Fill, stream: Handle, wait: bool) -> Result<(), Code> {
    let state = ready()?;
    let stream = state.stream(stream)?;
    if !fill.at.is_multiple_of(fill.size as u64) || !fill.pitch.is_multiple_of(fill.size as u64) {
        return Err(errors::INVALID_VALUE);
    }
    fill.check(state)?;
    match wait {
        true => queue_and_wait(state, &stream, Op::Fill(fill)),
        false => queue(state, &stream, Op::Fill(fill)),
    }
}

fn row(at: u64, value: u32, size: usize, width: usize) -> Fill {
    Fill {
        at,
        pitch: 0,
        value: value.to_le_bytes(),
        size,
        width: width as u64,
        height: 1,
        slice: 0,
        depth: 1,
    }
}

fn rows(at: u64, pitch: usize, value: u32, size: usize, width: usize, height: usize) -> Fill {
    let (width, height) = (width as u64, height as u64);
    Fill { at, pitch: pitch as u64, value: value.to_le_bytes(), size, width, height, slice: 0, depth: 1 }
}

/// One side of a copy as the structures describe it; memory types: 1 host, 2 device, 3 array, 4 told by the address.
fn side(
    (kind, host, device, array): (c_uint, u64, u64, Handle),
    (pitch, height): (usize, usize),
    at: [usize; 3],
    extent: [usize; 3],
) -> Result<Side, Code> {
    let base = match kind {
        1 => host,
        2 | 4 => device,
        3 => {
            let array = state()?.array(array)?;
            return array.side(at.map(|n| n as u64), extent.map(|n| n as u64));
        }
        _ => return Err(errors::INVALID_VALUE),
    };
    let pitch = if pitch == 0 { extent[0] } else { pitch } as u64;
    let slice = pitch * height as u64;
    let [x, y, z] = at.map(|n| n as u64);
    Ok(Side { at: base + x + y * pitch + z * slice, pitch, slice })
}

/// The copy that a 2D structure describes.
///
/// # Safety
/// `copy` is null or points to one.
pub unsafe fn copy_2d(copy: *const Memcpy2d) -> Result<Copy, Code> {
    if copy.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let c = unsafe { *copy };
    let extent = [c.width, c.height, 1];
    let src = (c.src_type, c.src_host, c.src_device, c.src_array);
    let dst = (c.dst_type, c.dst_host, c.dst_device, c.dst_array);
    let from = side(src, (c.src_pitch, c.height), [c.src_x, c.src_y, 0], extent)?;
    let to = side(dst, (c.dst_pitch, c.height), [c.dst_x, c.dst_y, 0], extent)?;
    if c.height > 1 && (from.pitch < c.width as u64 || to.pitch < c.width as u64) {
        return Err(errors::INVALID_VALUE);
    }
    Ok(Copy { to, from, width: c.width as u64, height: c.height as u64, depth: 1, taken: None })
}

/// The copy that a 3D structure describes.
///
/// # Safety
/// `copy` is null or points to one.
pub unsafe fn copy_3d(copy: *const Memcpy3d) -> Result<Copy, Code> {
    if copy.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let c = unsafe { *copy };
    let height = |h: usize| if h == 0 { c.height } else { h };
    let (src, dst) = ((c.src_pitch, height(c.src_height)), (c.dst_pitch, height(c.dst_height)));
    let extent = [c.width, c.height, c.depth];
    let from = (c.src_type, c.src_host, c.src_device, c.src_array);
    let to = (c.dst_type, c.dst_host, c.dst_device, c.dst_array);
    let from = side(from, src, [c.src_x, c.src_y, c.src_z], extent)?;
    let to = side(to, dst, [c.dst_x, c.dst_y, c.dst_z], extent)?;
    let (width, height, depth) = (c.width as u64, c.height as u64, c.depth as u64);
    Ok(Copy { to, from, width, height, depth, taken: None })
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

api! {
    fn cuMemcpy / cuMemcpy_ptds(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy_now(Copy::row(to, from, bytes as u64), 0)
    }

    fn cuMemcpyAsync / cuMemcpyAsync_ptsz(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: Handle) {
        copy_async(Copy::row(to, from, bytes as u64), stream)
    }

    fn cuMemcpyHtoD_v2 / cuMemcpyHtoD_v2_ptds(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        copy_now(Copy::row(to, address(from), bytes as u64).between(true, false)?, 0)
    }

    fn cuMemcpyDtoH_v2 / cuMemcpyDtoH_v2_ptds(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        copy_now(Copy::row(address(to), from, bytes as u64).between(false, true)?, 0)
    }

    fn cuMemcpyDtoD_v2 / cuMemcpyDtoD_v2_ptds(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy_now(Copy::row(to, from, bytes as u64).between(true, true)?, 0)
    }

    fn cuMemcpyHtoDAsync_v2 / cuMemcpyHtoDAsync_v2_ptsz(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: Handle) {
        copy_async(Copy::row(to, address(from), bytes as u64).between(true, false)?, stream)
    }

    fn cuMemcpyDtoHAsync_v2 / cuMemcpyDtoHAsync_v2_ptsz(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: Handle) {
        copy_async(Copy::row(address(to), from, bytes as u64).between(false, true)?, stream)
    }

    fn cuMemcpyDtoDAsync_v2 / cuMemcpyDtoDAsync_v2_ptsz(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: Handle) {
        copy_async(Copy::row(to, from, bytes as u64).between(true, true)?, stream)
    }

    fn cuMemcpyPeer / cuMemcpyPeer_ptds(to: CUdeviceptr, _to: Handle, from: CUdeviceptr, _from: Handle, bytes: usize) {
        copy_now(Copy::row(to, from, bytes as u64), 0)
    }

    fn cuMemcpyPeerAsync / cuMemcpyPeerAsync_ptsz(to: CUdeviceptr, _to: Handle, from: CUdeviceptr, _from: Handle, bytes: usize, stream: Handle) {
        copy_async(Copy::row(to, from, bytes as u64), stream)
    }

    fn cuMemcpy2D_v2 / cuMemcpy2D_v2_ptds(copy: *const Memcpy2d) {
        // SAFETY: the caller's promise, here and below.
        copy_now(unsafe { copy_2d(copy) }?, 0)
    }

    fn cuMemcpy2DUnaligned_v2 / cuMemcpy2DUnaligned_v2_ptds(copy: *const Memcpy2d) {
        // SAFETY: as above.
        copy_now(unsafe { copy_2d(copy) }?, 0)
    }

    fn cuMemcpy2DAsync_v2 / cuMemcpy2DAsync_v2_ptsz(copy: *const Memcpy2d, stream: Handle) {
        // SAFETY: as above.
        copy_async(unsafe { copy_2d(copy) }?, stream)
    }

    fn cuMemcpy3D_v2 / cuMemcpy3D_v2_ptds(copy: *const Memcpy3d) {
        // SAFETY: as above.
        copy_now(unsafe { copy_3d(copy) }?, 0)
    }

    fn cuMemcpy3DAsync_v2 / cuMemcpy3DAsync_v2_ptsz(copy: *const Memcpy3d, stream: Handle) {
        // SAFETY: as above.
        copy_async(unsafe { copy_3d(copy) }?, stream)
    }

    fn cuMemcpy3DPeer / cuMemcpy3DPeer_ptds(copy: *const Memcpy3d) {
        // SAFETY: as above; contexts stand where the other structure has nothing.
        copy_now(unsafe { copy_3d(copy) }?, 0)
    }

    fn cuMemcpy3DPeerAsync / cuMemcpy3DPeerAsync_ptsz(copy: *const Memcpy3d, stream: Handle) {
        // SAFETY: as above.
        copy_async(unsafe { copy_3d(copy) }?, stream)
    }

    fn cuMemsetD8_v2 / cuMemsetD8_v2_ptds(at: CUdeviceptr, value: c_uchar, count: usize) {
        fill(row(at, value.into(), 1, count), 0, true)
    }

    fn cuMemsetD16_v2 / cuMemsetD16_v2_ptds(at: CUdeviceptr, value: c_ushort, count: usize) {
        fill(row(at, value.into(), 2, count), 0, true)
    }

    fn cuMemsetD32_v2 / cuMemsetD32_v2_ptds(at: CUdeviceptr, value: c_uint, count: usize) {
        fill(row(at, value, 4, count), 0, true)
    }

    fn cuMemsetD8Async / cuMemsetD8Async_ptsz(at: CUdeviceptr, value: c_uchar, count: usize, stream: Handle) {
        fill(row(at, value.into(), 1, count), stream, false)
    }

    fn cuMemsetD16Async / cuMemsetD16Async_ptsz(at: CUdeviceptr, value: c_ushort, count: usize, stream: Handle) {
        fill(row(at, value.into(), 2, count), stream, false)
    }

    fn cuMemsetD32Async / cuMemsetD32Async_ptsz(at: CUdeviceptr, value: c_uint, count: usize, stream: Handle) {
        fill(row(at, value, 4, count), stream, false)
    }

    fn cuMemsetD2D8_v2 / cuMemsetD2D8_v2_ptds(at: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, height: usize) {
        fill(rows(at, pitch, value.into(), 1, width, height), 0, true)
    }

    fn cuMemsetD2D16_v2 / cuMemsetD2D16_v2_ptds(at: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, height: usize) {
        fill(rows(at, pitch, value.into(), 2, width, height), 0, true)
    }

    fn cuMemsetD2D32_v2 / cuMemsetD2D32_v2_ptds(at: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize) {
        fill(rows(at, pitch, value, 4, width, height), 0, true)
    }

    fn cuMemsetD2D8Async / cuMemsetD2D8Async_ptsz(at: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, height: usize, stream: Handle) {
        fill(rows(at, pitch, value.into(), 1, width, height), stream, false)
    }

    fn cuMemsetD2D16Async / cuMemsetD2D16Async_ptsz(at: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, height: usize, stream: Handle) {
        fill(rows(at, pitch, value.into(), 2, width, height), stream, false)
    }

    fn cuMemsetD2D32Async / cuMemsetD2D32Async_ptsz(at: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize, stream: Handle) {
        fill(rows(at, pitch, value, 4, width, height), stream, false)
    }
}
