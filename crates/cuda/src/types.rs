//! C's types, as NVIDIA's headers lay them out.
#![allow(missing_docs)]

use std::ffi::{c_char, c_int, c_uint, c_void};

pub type CUdevice = c_int;
pub type CUdeviceptr = u64;
/// Handles are numbers: keys of the table in [`state`](crate::state).
pub type Handle = usize;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memcpy2d {
    pub src_x: usize,
    pub src_y: usize,
    pub src_type: c_uint,
    pub src_host: u64,
    pub src_device: u64,
    pub src_array: usize,
    pub src_pitch: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_type: c_uint,
    pub dst_host: u64,
    pub dst_device: u64,
    pub dst_array: usize,
    pub dst_pitch: usize,
    pub width: usize,
    pub height: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memcpy3d {
    pub src_x: usize,
    pub src_y: usize,
    pub src_z: usize,
    pub src_lod: usize,
    pub src_type: c_uint,
    pub src_host: u64,
    pub src_device: u64,
    pub src_array: usize,
    pub reserved0: usize,
    pub src_pitch: usize,
    pub src_height: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_z: usize,
    pub dst_lod: usize,
    pub dst_type: c_uint,
    pub dst_host: u64,
    pub dst_device: u64,
    pub dst_array: usize,
    pub reserved1: usize,
    pub dst_pitch: usize,
    pub dst_height: usize,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared: c_uint,
    pub stream: Handle,
    pub attrs: *const LaunchAttribute,
    pub num_attrs: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct LaunchAttribute {
    pub id: c_uint,
    pub pad: u32,
    pub value: [u32; 16],
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`, and the head of `_v2`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNodeParams {
    pub func: Handle,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared: c_uint,
    pub params: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNodeParams2 {
    pub v1: KernelNodeParams,
    pub kernel: Handle,
    pub context: Handle,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemsetNodeParams {
    pub dst: u64,
    pub pitch: usize,
    pub value: c_uint,
    pub element: c_uint,
    pub width: usize,
    pub height: usize,
}

/// `CUgraphNodeParams`: what stands in the middle depends on the kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GraphNodeParams {
    pub kind: c_int,
    pub reserved: [c_int; 3],
    pub of: [u64; 29],
    pub reserved2: u64,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GraphInstantiateParams {
    pub flags: u64,
    pub upload_stream: Handle,
    pub error_node: Handle,
    pub result: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemLocation {
    pub kind: c_int,
    pub id: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemAccess {
    pub location: MemLocation,
    pub flags: c_int,
}

/// The head of `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemPoolProps {
    pub allocation: c_int,
    pub handles: c_int,
    pub location: MemLocation,
    pub security: *mut c_void,
    pub limit: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemAllocNodeParams {
    pub properties: MemPoolProps,
    pub access: *const MemAccess,
    pub access_count: usize,
    pub bytes: usize,
    pub address: u64,
}

pub type HostFn = extern "C" fn(*mut c_void);
pub type StreamCallback = extern "C" fn(Handle, c_int, *mut c_void);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostNodeParams {
    pub function: HostFn,
    pub data: *mut c_void,
}

/// The text behind a C string; none for null or bytes that are no UTF-8.
///
/// # Safety
/// `text` is null or ends with NUL.
pub unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(text) }).and_then(|s| s.to_str().ok())
}

/// Writes where C wants an answer, if it wants one.
///
/// # Safety
/// `to` is null or may be written to.
pub unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) }
    }
}

/// Writes where C must want an answer.
///
/// # Safety
/// `to` is null or may be written to.
pub unsafe fn out<T>(to: *mut T, value: T) -> Result<(), crate::errors::Code> {
    if to.is_null() {
        return Err(crate::errors::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}
