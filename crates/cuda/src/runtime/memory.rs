//! Memory.

use super::array::{array_side, element};
use super::{ensure, ok, variable_of};
use crate::driver::{self, copy_async, copy_now};
use crate::errors::{self, Code};
use crate::ops::{Copy, Fill, Side};
use crate::state::MemoryKind;
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct PitchedPtr {
    pub ptr: *mut c_void,
    pub pitch: usize,
    pub x: usize,
    pub y: usize,
}

/// `cudaExtent`, and `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Extent {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Copy3d {
    pub src_array: Handle,
    pub src_pos: Extent,
    pub src: PitchedPtr,
    pub dst_array: Handle,
    pub dst_pos: Extent,
    pub dst: PitchedPtr,
    pub extent: Extent,
    pub kind: c_int,
}

/// `cudaPointerAttributes` as CUDA 12 has it; that of CUDA 13 has reserved words behind, which are left alone.
#[repr(C)]
#[allow(missing_docs)]
pub struct PointerAttributes {
    pub kind: c_int,
    pub device: c_int,
    pub device_pointer: u64,
    pub host_pointer: u64,
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// `cudaMemcpy3DPeerParms`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct PeerCopy3d {
    pub src_array: Handle,
    pub src_pos: Extent,
    pub src: PitchedPtr,
    pub src_device: c_int,
    pub dst_array: Handle,
    pub dst_pos: Extent,
    pub dst: PitchedPtr,
    pub dst_device: c_int,
    pub extent: Extent,
}

fn peer_copy(params: *const PeerCopy3d) -> Result<Copy, Code> {
    // SAFETY: the callers' promise.
    let p = unsafe { params.as_ref() }.ok_or(errors::INVALID_VALUE)?;
    if p.src_device != 0 || p.dst_device != 0 {
        return Err(errors::INVALID_DEVICE);
    }
    copy_3d(&Copy3d {
        src_array: p.src_array,
        src_pos: p.src_pos,
        src: p.src,
        dst_array: p.dst_array,
        dst_pos: p.dst_pos,
        dst: p.dst,
        extent: p.extent,
        kind: 4,
    })
}

fn box_of(at: PitchedPtr, value: c_int, extent: Extent) -> Fill {
    Fill {
        at: address(at.ptr),
        pitch: at.pitch as u64,
        value: [value as u8; 4],
        size: 1,
        width: extent.x as u64,
        height: extent.y as u64,
        slice: (at.pitch * at.y) as u64,
        depth: extent.z as u64,
    }
}

/// The copy that a 3D structure describes.
pub(super) fn copy_3d(params: *const Copy3d) -> Result<Copy, Code> {
    if params.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the callers' promise.
    let p = unsafe { *params };
    let Extent { mut x, y, z } = p.extent;
    // Where an array takes part, the extent is in its elements.
    for array in [p.src_array, p.dst_array].into_iter().filter(|a| *a != 0).take(1) {
        x = x.checked_mul(element(array)?).ok_or(errors::INVALID_VALUE)?;
    }
    let side = |array: Handle, ptr: PitchedPtr, pos: Extent| {
        if array != 0 {
            let at = pos.x.checked_mul(element(array)?).ok_or(errors::INVALID_VALUE)?;
            return array_side(array, [at, pos.y, pos.z], [x, y, z]);
        }
        let pitch = ptr.pitch as u64;
        let slice = pitch * ptr.y as u64;
        Ok(Side {
            at: address(ptr.ptr) + pos.x as u64 + pos.y as u64 * pitch + pos.z as u64 * slice,
            pitch,
            slice,
        })
    };
    let (width, height, depth) = (x as u64, y as u64, z as u64);
    let copy = Copy {
        to: side(p.dst_array, p.dst, p.dst_pos)?,
        from: side(p.src_array, p.src, p.src_pos)?,
        width,
        height,
        depth,
        taken: None,
    };
    directed(copy, p.kind)
}

/// What the direction says of both sides: 0 host to host, 1 to the device, 2 from it, 3 within it, 4 told by the addresses.
pub(super) fn directed(copy: Copy, kind: c_int) -> Result<Copy, Code> {
    let (to, from) = match kind {
        0 | 4 => (false, false),
        1 => (true, false),
        2 => (false, true),
        3 => (true, true),
        // `cudaErrorInvalidMemcpyDirection`
        _ => return Err(Code(21)),
    };
    copy.between(to, from)
}

fn copy_2d(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
) -> Result<Copy, Code> {
    if width > to_pitch || width > from_pitch {
        // `cudaErrorInvalidPitchValue`
        return Err(Code(12));
    }
    let side = |at: u64, pitch: usize| Side { at, pitch: pitch as u64, slice: 0 };
    let (to, from) = (side(address(to), to_pitch), side(address(from), from_pitch));
    Ok(Copy { to, from, width: width as u64, height: height as u64, depth: 1, taken: None })
}

/// A range of a variable.
pub fn symbol(of: *const c_void, offset: usize, count: usize) -> Result<u64, Code> {
    let (address, size) = variable_of(of)?;
    match offset.checked_add(count) {
        Some(end) if end as u64 <= size => Ok(address + offset as u64),
        _ => Err(errors::INVALID_VALUE),
    }
}

runtime_api! {
    fn cudaMalloc(to: *mut u64, bytes: usize) {
        ensure()?;
        if bytes == 0 {
            // SAFETY: the caller's promise, here and below.
            return unsafe { out(to, 0) };
        }
        // SAFETY: as above.
        ok(unsafe { driver::cuMemAlloc_v2(to, bytes) })
    }

    fn cudaMallocPitch(to: *mut u64, pitch: *mut usize, width: usize, height: usize) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuMemAllocPitch_v2(to, pitch, width, height, 4) })
    }

    fn cudaMalloc3D(to: *mut PitchedPtr, extent: Extent) {
        ensure()?;
        let (mut at, mut pitch) = (0, 0);
        // SAFETY: as above.
        unsafe {
            ok(driver::cuMemAllocPitch_v2(&mut at, &mut pitch, extent.x, extent.y * extent.z, 4))?;
            let ptr = std::ptr::with_exposed_provenance_mut(at as usize);
            out(to, PitchedPtr { ptr, pitch, x: extent.x, y: extent.y })
        }
    }

    fn cudaMallocHost(to: *mut *mut c_void, bytes: usize) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuMemHostAlloc(to, bytes, 0) })
    }

    fn cudaMemcpy / cudaMemcpy_ptds(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) {
        ensure()?;
        copy_now(directed(Copy::row(address(to), address(from), bytes as u64), kind)?, 0)
    }

    fn cudaMemcpyAsync / cudaMemcpyAsync_ptsz(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int, stream: Handle) {
        ensure()?;
        copy_async(directed(Copy::row(address(to), address(from), bytes as u64), kind)?, stream)
    }

    fn cudaMemcpyPeer(to: *mut c_void, _to: c_int, from: *const c_void, _from: c_int, bytes: usize) {
        ensure()?;
        copy_now(Copy::row(address(to), address(from), bytes as u64), 0)
    }

    fn cudaMemcpy2D / cudaMemcpy2D_ptds(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int) {
        ensure()?;
        copy_now(directed(copy_2d(to, to_pitch, from, from_pitch, width, height)?, kind)?, 0)
    }

    fn cudaMemcpy2DAsync / cudaMemcpy2DAsync_ptsz(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int, stream: Handle) {
        ensure()?;
        copy_async(directed(copy_2d(to, to_pitch, from, from_pitch, width, height)?, kind)?, stream)
    }

    fn cudaMemcpy3D / cudaMemcpy3D_ptds(params: *const Copy3d) {
        ensure()?;
        copy_now(copy_3d(params)?, 0)
    }

    fn cudaMemcpy3DAsync / cudaMemcpy3DAsync_ptsz(params: *const Copy3d, stream: Handle) {
        ensure()?;
        copy_async(copy_3d(params)?, stream)
    }

    fn cudaMemcpyToSymbol / cudaMemcpyToSymbol_ptds(of: *const c_void, from: *const c_void, count: usize, offset: usize, kind: c_int) {
        copy_now(directed(Copy::row(symbol(of, offset, count)?, address(from), count as u64), kind)?, 0)
    }

    fn cudaMemcpyFromSymbol / cudaMemcpyFromSymbol_ptds(to: *mut c_void, of: *const c_void, count: usize, offset: usize, kind: c_int) {
        copy_now(directed(Copy::row(address(to), symbol(of, offset, count)?, count as u64), kind)?, 0)
    }

    fn cudaMemcpyToSymbolAsync / cudaMemcpyToSymbolAsync_ptsz(of: *const c_void, from: *const c_void, count: usize, offset: usize, kind: c_int, stream: Handle) {
        copy_async(directed(Copy::row(symbol(of, offset, count)?, address(from), count as u64), kind)?, stream)
    }

    fn cudaMemcpyFromSymbolAsync / cudaMemcpyFromSymbolAsync_ptsz(to: *mut c_void, of: *const c_void, count: usize, offset: usize, kind: c_int, stream: Handle) {
        copy_async(directed(Copy::row(address(to), symbol(of, offset, count)?, count as u64), kind)?, stream)
    }

    fn cudaMemset / cudaMemset_ptds(at: u64, value: c_int, count: usize) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuMemsetD8_v2(at, value as u8, count) })
    }

    fn cudaMemsetAsync / cudaMemsetAsync_ptsz(at: u64, value: c_int, count: usize, stream: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuMemsetD8Async(at, value as u8, count, stream) })
    }

    fn cudaMemset2D / cudaMemset2D_ptds(at: u64, pitch: usize, value: c_int, width: usize, height: usize) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuMemsetD2D8_v2(at, pitch, value as u8, width, height) })
    }

    fn cudaMemset2DAsync / cudaMemset2DAsync_ptsz(at: u64, pitch: usize, value: c_int, width: usize, height: usize, stream: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuMemsetD2D8Async(at, pitch, value as u8, width, height, stream) })
    }

    fn cudaMemset3D / cudaMemset3D_ptds(at: PitchedPtr, value: c_int, extent: Extent) {
        ensure()?;
        driver::fill(box_of(at, value, extent), 0, true)
    }

    fn cudaMemset3DAsync / cudaMemset3DAsync_ptsz(at: PitchedPtr, value: c_int, extent: Extent, stream: Handle) {
        ensure()?;
        driver::fill(box_of(at, value, extent), stream, false)
    }

    fn cudaMemcpy3DPeer / cudaMemcpy3DPeer_ptds(params: *const PeerCopy3d) {
        ensure()?;
        copy_now(peer_copy(params)?, 0)
    }

    fn cudaMemcpy3DPeerAsync / cudaMemcpy3DPeerAsync_ptsz(params: *const PeerCopy3d, stream: Handle) {
        ensure()?;
        copy_async(peer_copy(params)?, stream)
    }

    fn cudaMemcpyPeerAsync(to: *mut c_void, _to: c_int, from: *const c_void, _from: c_int, bytes: usize, stream: Handle) {
        ensure()?;
        copy_async(Copy::row(address(to), address(from), bytes as u64), stream)
    }

    fn cudaStreamAttachMemAsync / cudaStreamAttachMemAsync_ptsz(stream: Handle, _at: u64, _length: usize, _flags: c_uint) {
        ensure()?.stream(stream).map(drop)
    }

    fn cudaPointerGetAttributes(to: *mut PointerAttributes, pointer: *const c_void) {
        let state = ensure()?;
        let at = address(pointer);
        let found = state.allocation(at).map(|(_, a)| a.kind);
        let (kind, device, device_pointer, host_pointer) = match found {
            Some(MemoryKind::Host) => (1, 0, at, at),
            Some(MemoryKind::Managed) => (3, 0, at, at),
            Some(_) => (2, 0, at, 0),
            None if state.is_device(at) => (2, 0, at, 0),
            None => match state.registered(at) {
                Some((_, found)) => (1, 0, if found.mapped { at } else { 0 }, at),
                None => (0, -2, 0, at),
            },
        };
        // SAFETY: as above.
        unsafe { out(to, PointerAttributes { kind, device, device_pointer, host_pointer }) }
    }
}

forward! {
    fn hostwarp13_cudaMemAdvise(at: u64, count: usize, advice: c_int, location: u64) = cuMemAdvise_v2;
    fn hostwarp13_cudaMemPrefetchAsync / hostwarp13_cudaMemPrefetchAsync_ptsz(at: u64, count: usize, location: u64, flags: c_uint, stream: Handle) = cuMemPrefetchAsync_v2;
    fn cudaMemRangeGetAttribute(to: *mut c_void, size: usize, attribute: c_int, at: u64, count: usize) = cuMemRangeGetAttribute;
    fn cudaMemRangeGetAttributes(to: *mut *mut c_void, sizes: *const usize, attributes: *const c_int, number: usize, at: u64, count: usize) = cuMemRangeGetAttributes;
    fn cudaMallocFromPoolAsync / cudaMallocFromPoolAsync_ptsz(to: *mut u64, bytes: usize, pool: Handle, stream: Handle) = cuMemAllocFromPoolAsync;
    fn cudaMemPoolCreate(to: *mut Handle, properties: *const MemPoolProps) = cuMemPoolCreate;
    fn cudaMemPoolDestroy(pool: Handle) = cuMemPoolDestroy;
    fn cudaMemPoolTrimTo(pool: Handle, keep: usize) = cuMemPoolTrimTo;
    fn cudaMemPoolSetAttribute(pool: Handle, attribute: c_int, value: *const c_void) = cuMemPoolSetAttribute;
    fn cudaMemPoolGetAttribute(pool: Handle, attribute: c_int, value: *mut c_void) = cuMemPoolGetAttribute;
    fn cudaMemPoolSetAccess(pool: Handle, map: *const MemAccess, count: usize) = cuMemPoolSetAccess;
    fn cudaMemPoolGetAccess(flags: *mut c_int, pool: Handle, location: *const MemLocation) = cuMemPoolGetAccess;
    fn cudaMemGetDefaultMemPool(to: *mut Handle, location: *const MemLocation, kind: c_int) = cuMemGetDefaultMemPool;
    fn cudaMemGetMemPool(to: *mut Handle, location: *const MemLocation, kind: c_int) = cuMemGetMemPool;
    fn cudaDeviceGetDefaultMemPool(to: *mut Handle, device: c_int) = cuDeviceGetDefaultMemPool;
    fn cudaDeviceGetMemPool(to: *mut Handle, device: c_int) = cuDeviceGetMemPool;
    fn cudaDeviceSetMemPool(device: c_int, pool: Handle) = cuDeviceSetMemPool;
    fn cudaMallocManaged(to: *mut u64, bytes: usize, flags: c_uint) = cuMemAllocManaged;
    fn cudaHostAlloc(to: *mut *mut c_void, bytes: usize, flags: c_uint) = cuMemHostAlloc;
    fn cudaHostGetDevicePointer(to: *mut u64, pointer: *mut c_void, flags: c_uint) = cuMemHostGetDevicePointer_v2;
    fn cudaHostGetFlags(flags: *mut c_uint, pointer: *mut c_void) = cuMemHostGetFlags;
    fn cudaHostRegister(pointer: *mut c_void, bytes: usize, flags: c_uint) = cuMemHostRegister_v2;
    fn cudaHostUnregister(pointer: *mut c_void) = cuMemHostUnregister;
    fn cudaFree(address: u64) = cuMemFree_v2;
    fn cudaFreeHost(pointer: *mut c_void) = cuMemFreeHost;
    fn cudaMallocAsync / cudaMallocAsync_ptsz(to: *mut u64, bytes: usize, stream: Handle) = cuMemAllocAsync;
    fn cudaFreeAsync / cudaFreeAsync_ptsz(address: u64, stream: Handle) = cuMemFreeAsync;
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) = cuMemGetInfo_v2;
}
