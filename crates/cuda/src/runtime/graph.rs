//! Graphs and captures. Kernels go by the stubs that the program has for them.

use super::{Copy3d, copy_3d, ensure, kernel_of, symbol};
use crate::driver::{self, add, any_op, checked_copy, set, set_step};
use crate::errors::{self, Code};
use crate::ops::{Copy, Op};
use crate::types::*;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// The parameters of a kernel node with the kernel's handle in place of its stub.
///
/// # Safety
/// `params` is null or points to them.
unsafe fn kernel_params(params: *const KernelNodeParams) -> Result<KernelNodeParams, Code> {
    // SAFETY: the caller's promise.
    let p = unsafe { params.as_ref() }.ok_or(errors::INVALID_VALUE)?;
    Ok(KernelNodeParams { func: kernel_of(std::ptr::without_provenance(p.func))?, ..*p })
}

/// What a node of any kind is to do.
///
/// # Safety
/// `params` is null or points to parameters of the kind it names.
pub(super) unsafe fn any(params: *mut GraphNodeParams) -> Result<Op, Code> {
    // SAFETY: the caller's promise.
    let p = unsafe { params.as_mut() }.ok_or(errors::INVALID_VALUE)?;
    match p.kind {
        0 => {
            let mut known = *p;
            known.of[0] = kernel_of(std::ptr::without_provenance(p.of[0] as usize))? as u64;
            // The kind of function stands where the driver has another way to name one.
            known.of[7] = 0;
            // SAFETY: the caller's promise.
            unsafe { any_op(&mut known) }
        }
        // Behind flags and a context.
        1 => checked_copy(copy_3d(p.of[2..].as_ptr().cast())?),
        // SAFETY: the caller's promise.
        _ => unsafe { any_op(p) },
    }
}

fn row(to: *const c_void, from: *const c_void, bytes: usize) -> Result<Op, Code> {
    let address = |p: *const c_void| p.expose_provenance() as u64;
    checked_copy(Copy::row(address(to), address(from), bytes as u64))
}

fn to_symbol(of: *const c_void, from: *const c_void, count: usize, offset: usize) -> Result<Op, Code> {
    checked_copy(Copy::row(symbol(of, offset, count)?, from.expose_provenance() as u64, count as u64))
}

fn from_symbol(to: *mut c_void, of: *const c_void, count: usize, offset: usize) -> Result<Op, Code> {
    checked_copy(Copy::row(to.expose_provenance() as u64, symbol(of, offset, count)?, count as u64))
}

runtime_api! {
    fn hostwarp13_cudaGraphAddNode(node: *mut Handle, graph: Handle, after: *const Handle, _data: *const u64, count: usize, params: *mut GraphNodeParams) {
        ensure()?;
        // SAFETY: the caller's promise, here and below.
        unsafe { add(node, graph, (after, count), any(params)?) }
    }

    fn cudaGraphNodeSetParams(node: Handle, params: *mut GraphNodeParams) {
        ensure()?;
        // SAFETY: as above.
        set(node, unsafe { any(params) }?)
    }

    fn cudaGraphExecNodeSetParams(exec: Handle, node: Handle, params: *mut GraphNodeParams) {
        ensure()?;
        // SAFETY: as above.
        set_step(exec, node, unsafe { any(params) }?)
    }

    fn cudaGraphAddKernelNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const KernelNodeParams) {
        ensure()?;
        // SAFETY: as above.
        super::ok(unsafe { driver::cuGraphAddKernelNode(node, graph, after, count, &kernel_params(params)?) })
    }

    fn cudaGraphKernelNodeSetParams(node: Handle, params: *const KernelNodeParams) {
        ensure()?;
        // SAFETY: as above.
        super::ok(unsafe { driver::cuGraphKernelNodeSetParams(node, &kernel_params(params)?) })
    }

    fn cudaGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: *const KernelNodeParams) {
        ensure()?;
        // SAFETY: as above.
        super::ok(unsafe { driver::cuGraphExecKernelNodeSetParams(exec, node, &kernel_params(params)?) })
    }

    fn cudaGraphAddMemcpyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const Copy3d) {
        ensure()?;
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), checked_copy(copy_3d(params)?)?) }
    }

    fn cudaGraphMemcpyNodeSetParams(node: Handle, params: *const Copy3d) {
        ensure()?;
        set(node, checked_copy(copy_3d(params)?)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, params: *const Copy3d) {
        ensure()?;
        set_step(exec, node, checked_copy(copy_3d(params)?)?)
    }

    fn cudaGraphAddMemcpyNode1D(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, to: *mut c_void, from: *const c_void, bytes: usize, _kind: c_int) {
        ensure()?;
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), row(to, from, bytes)?) }
    }

    fn cudaGraphMemcpyNodeSetParams1D(node: Handle, to: *mut c_void, from: *const c_void, bytes: usize, _kind: c_int) {
        ensure()?;
        set(node, row(to, from, bytes)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(exec: Handle, node: Handle, to: *mut c_void, from: *const c_void, bytes: usize, _kind: c_int) {
        ensure()?;
        set_step(exec, node, row(to, from, bytes)?)
    }

    fn cudaGraphAddMemcpyNodeToSymbol(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, of: *const c_void, from: *const c_void, bytes: usize, offset: usize, _kind: c_int) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), to_symbol(of, from, bytes, offset)?) }
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, to: *mut c_void, of: *const c_void, bytes: usize, offset: usize, _kind: c_int) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), from_symbol(to, of, bytes, offset)?) }
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(exec: Handle, node: Handle, of: *const c_void, from: *const c_void, bytes: usize, offset: usize, _kind: c_int) {
        set_step(exec, node, to_symbol(of, from, bytes, offset)?)
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec: Handle, node: Handle, to: *mut c_void, of: *const c_void, bytes: usize, offset: usize, _kind: c_int) {
        set_step(exec, node, from_symbol(to, of, bytes, offset)?)
    }

    fn cudaGraphAddMemsetNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const MemsetNodeParams) {
        ensure()?;
        // SAFETY: as above.
        super::ok(unsafe { driver::cuGraphAddMemsetNode(node, graph, after, count, params, 0) })
    }

    fn cudaGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: *const MemsetNodeParams) {
        ensure()?;
        // SAFETY: as above.
        super::ok(unsafe { driver::cuGraphExecMemsetNodeSetParams(exec, node, params, 0) })
    }
}

forward! {
    fn cudaGraphCreate(to: *mut Handle, flags: c_uint) = cuGraphCreate;
    fn cudaGraphDestroy(graph: Handle) = cuGraphDestroy;
    fn cudaGraphClone(to: *mut Handle, graph: Handle) = cuGraphClone;
    fn cudaGraphNodeFindInClone(to: *mut Handle, node: Handle, clone: Handle) = cuGraphNodeFindInClone;
    fn cudaGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) = cuGraphGetNodes;
    fn cudaGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) = cuGraphGetRootNodes;
    fn hostwarp13_cudaGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, data: *mut u64, count: *mut usize) = cuGraphGetEdges_v2;
    fn hostwarp13_cudaGraphNodeGetDependencies(node: Handle, to: *mut Handle, data: *mut u64, count: *mut usize) = cuGraphNodeGetDependencies_v2;
    fn hostwarp13_cudaGraphNodeGetDependentNodes(node: Handle, to: *mut Handle, data: *mut u64, count: *mut usize) = cuGraphNodeGetDependentNodes_v2;
    fn hostwarp13_cudaGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize) = cuGraphAddDependencies_v2;
    fn hostwarp13_cudaGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize) = cuGraphRemoveDependencies_v2;
    fn cudaGraphDestroyNode(node: Handle) = cuGraphDestroyNode;
    fn cudaGraphNodeGetType(node: Handle, kind: *mut c_int) = cuGraphNodeGetType;
    fn cudaGraphNodeGetContainingGraph(node: Handle, graph: *mut Handle) = cuGraphNodeGetContainingGraph;
    fn cudaGraphDebugDotPrint(graph: Handle, path: *const c_char, flags: c_uint) = cuGraphDebugDotPrint;
    fn cudaGraphKernelNodeGetParams(node: Handle, params: *mut KernelNodeParams) = cuGraphKernelNodeGetParams;
    fn cudaGraphKernelNodeSetAttribute(node: Handle, attribute: c_uint, value: *const [u32; 16]) = cuGraphKernelNodeSetAttribute;
    fn cudaGraphKernelNodeGetAttribute(node: Handle, attribute: c_uint, value: *mut [u32; 16]) = cuGraphKernelNodeGetAttribute;
    fn cudaGraphMemsetNodeGetParams(node: Handle, params: *mut MemsetNodeParams) = cuGraphMemsetNodeGetParams;
    fn cudaGraphMemsetNodeSetParams(node: Handle, params: *const MemsetNodeParams) = cuGraphMemsetNodeSetParams;
    fn cudaGraphAddHostNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const HostNodeParams) = cuGraphAddHostNode;
    fn cudaGraphHostNodeGetParams(node: Handle, params: *mut HostNodeParams) = cuGraphHostNodeGetParams;
    fn cudaGraphHostNodeSetParams(node: Handle, params: *const HostNodeParams) = cuGraphHostNodeSetParams;
    fn cudaGraphExecHostNodeSetParams(exec: Handle, node: Handle, params: *const HostNodeParams) = cuGraphExecHostNodeSetParams;
    fn cudaGraphAddChildGraphNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, child: Handle) = cuGraphAddChildGraphNode;
    fn cudaGraphExecChildGraphNodeSetParams(exec: Handle, node: Handle, child: Handle) = cuGraphExecChildGraphNodeSetParams;
    fn cudaGraphAddEmptyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize) = cuGraphAddEmptyNode;
    fn cudaGraphAddEventRecordNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) = cuGraphAddEventRecordNode;
    fn cudaGraphEventRecordNodeSetEvent(node: Handle, event: Handle) = cuGraphEventRecordNodeSetEvent;
    fn cudaGraphExecEventRecordNodeSetEvent(exec: Handle, node: Handle, event: Handle) = cuGraphExecEventRecordNodeSetEvent;
    fn cudaGraphAddEventWaitNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) = cuGraphAddEventWaitNode;
    fn cudaGraphEventWaitNodeSetEvent(node: Handle, event: Handle) = cuGraphEventWaitNodeSetEvent;
    fn cudaGraphExecEventWaitNodeSetEvent(exec: Handle, node: Handle, event: Handle) = cuGraphExecEventWaitNodeSetEvent;
    fn cudaGraphAddMemAllocNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *mut MemAllocNodeParams) = cuGraphAddMemAllocNode;
    fn cudaGraphAddMemFreeNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, address: u64) = cuGraphAddMemFreeNode;
    fn cudaGraphMemFreeNodeGetParams(node: Handle, address: *mut c_void) = cuGraphMemFreeNodeGetParams;
    fn cudaGraphNodeSetEnabled(exec: Handle, node: Handle, on: c_uint) = cuGraphNodeSetEnabled;
    fn cudaGraphNodeGetEnabled(exec: Handle, node: Handle, on: *mut c_int) = cuGraphNodeGetEnabled;
    fn cudaGraphInstantiate(to: *mut Handle, graph: Handle, flags: u64) = cuGraphInstantiateWithFlags;
    fn cudaGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, flags: u64) = cuGraphInstantiateWithFlags;
    fn cudaGraphInstantiateWithParams / cudaGraphInstantiateWithParams_ptsz(to: *mut Handle, graph: Handle, params: *mut GraphInstantiateParams) = cuGraphInstantiateWithParams;
    fn cudaGraphExecGetFlags(exec: Handle, flags: *mut u64) = cuGraphExecGetFlags;
    fn cudaGraphExecUpdate(exec: Handle, graph: Handle, info: *mut [usize; 3]) = cuGraphExecUpdate_v2;
    fn cudaGraphExecDestroy(exec: Handle) = cuGraphExecDestroy;
    fn cudaGraphUpload / cudaGraphUpload_ptsz(exec: Handle, stream: Handle) = cuGraphUpload;
    fn cudaGraphLaunch / cudaGraphLaunch_ptsz(exec: Handle, stream: Handle) = cuGraphLaunch;
    fn cudaDeviceGraphMemTrim(dev: c_int) = cuDeviceGraphMemTrim;
    fn cudaUserObjectCreate(to: *mut Handle, data: *mut c_void, destroy: HostFn, count: c_uint, flags: c_uint) = cuUserObjectCreate;
    fn cudaUserObjectRetain(object: Handle, count: c_uint) = cuUserObjectRetain;
    fn cudaUserObjectRelease(object: Handle, count: c_uint) = cuUserObjectRelease;
    fn cudaGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) = cuGraphRetainUserObject;
    fn cudaGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint) = cuGraphReleaseUserObject;
    fn cudaStreamBeginCapture / cudaStreamBeginCapture_ptsz(stream: Handle, mode: c_int) = cuStreamBeginCapture_v2;
    fn cudaStreamBeginCaptureToGraph / cudaStreamBeginCaptureToGraph_ptsz(stream: Handle, graph: Handle, after: *const Handle, data: *const u64, count: usize, mode: c_int) = cuStreamBeginCaptureToGraph;
    fn cudaStreamEndCapture / cudaStreamEndCapture_ptsz(stream: Handle, graph: *mut Handle) = cuStreamEndCapture;
    fn cudaStreamIsCapturing / cudaStreamIsCapturing_ptsz(stream: Handle, status: *mut c_int) = cuStreamIsCapturing;
    fn hostwarp13_cudaStreamGetCaptureInfo / hostwarp13_cudaStreamGetCaptureInfo_ptsz(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle, data: *mut *const c_void, count: *mut usize) = cuStreamGetCaptureInfo_v3;
    fn cudaStreamGetCaptureInfo_v2 / cudaStreamGetCaptureInfo_v2_ptsz(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle, count: *mut usize) = cuStreamGetCaptureInfo_v2;
    fn cudaStreamGetCaptureInfo_v3 / cudaStreamGetCaptureInfo_v3_ptsz(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle, data: *mut *const c_void, count: *mut usize) = cuStreamGetCaptureInfo_v3;
    fn hostwarp13_cudaStreamUpdateCaptureDependencies / hostwarp13_cudaStreamUpdateCaptureDependencies_ptsz(stream: Handle, nodes: *const Handle, data: *const u64, count: usize, flags: c_uint) = cuStreamUpdateCaptureDependencies_v2;
    fn cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) = cuThreadExchangeStreamCaptureMode;
}
