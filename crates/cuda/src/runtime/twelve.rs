//! What CUDA 12 declares otherwise than CUDA 13.
//!
//! Ten functions have other parameters in 13 under the same name. Neither is exported by that name here: `libcudart.so.12` and `.13` are libraries of their
//! own that carry the names, with their version, and jump to `hostwarp12_` or `hostwarp13_` (`xtask/src/dropin.rs`, which has the list). So whatever
//! order a program loads libraries in, it gets what it was compiled for. What 13 has as the only form is `_v2` in 12.

use super::ensure;
use super::graph::any;
use crate::driver;
use crate::types::*;
use std::ffi::{c_int, c_uint};

runtime_api! {
    fn hostwarp12_cudaGraphAddNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *mut GraphNodeParams) {
        ensure()?;
        // SAFETY: the caller's promise, here and below.
        unsafe { driver::add(node, graph, (after, count), any(params)?) }
    }

    fn cudaGraphAddNode_v2(node: *mut Handle, graph: Handle, after: *const Handle, _data: *const u64, count: usize, params: *mut GraphNodeParams) {
        ensure()?;
        // SAFETY: as above.
        unsafe { driver::add(node, graph, (after, count), any(params)?) }
    }

    fn cudaThreadExit() {
        // SAFETY: as above.
        super::ok(unsafe { super::cudaDeviceReset() })
    }

    fn cudaSetDoubleForDevice(_value: *mut f64) {
        Ok(())
    }

    fn cudaSetDoubleForHost(_value: *mut f64) {
        Ok(())
    }
}

forward! {
    fn hostwarp12_cudaMemAdvise(at: u64, count: usize, advice: c_int, device: c_int) = cuMemAdvise;
    fn hostwarp12_cudaMemPrefetchAsync / hostwarp12_cudaMemPrefetchAsync_ptsz(at: u64, count: usize, device: c_int, stream: Handle) = cuMemPrefetchAsync;
    fn hostwarp12_cudaGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) = cuGraphGetEdges;
    fn hostwarp12_cudaGraphNodeGetDependencies(node: Handle, to: *mut Handle, count: *mut usize) = cuGraphNodeGetDependencies;
    fn hostwarp12_cudaGraphNodeGetDependentNodes(node: Handle, to: *mut Handle, count: *mut usize) = cuGraphNodeGetDependentNodes;
    fn hostwarp12_cudaGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) = cuGraphAddDependencies;
    fn hostwarp12_cudaGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) = cuGraphRemoveDependencies;
    fn hostwarp12_cudaStreamUpdateCaptureDependencies / hostwarp12_cudaStreamUpdateCaptureDependencies_ptsz(stream: Handle, nodes: *const Handle, count: usize, flags: c_uint) = cuStreamUpdateCaptureDependencies;
    fn hostwarp12_cudaStreamGetCaptureInfo / hostwarp12_cudaStreamGetCaptureInfo_ptsz(stream: Handle, status: *mut c_int, id: *mut u64) = cuStreamGetCaptureInfo;
    fn cudaMemAdvise_v2(at: u64, count: usize, advice: c_int, location: u64) = cuMemAdvise_v2;
    fn cudaMemPrefetchAsync_v2 / cudaMemPrefetchAsync_v2_ptsz(at: u64, count: usize, location: u64, flags: c_uint, stream: Handle) = cuMemPrefetchAsync_v2;
    fn cudaGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, data: *mut u64, count: *mut usize) = cuGraphGetEdges_v2;
    fn cudaGraphNodeGetDependencies_v2(node: Handle, to: *mut Handle, data: *mut u64, count: *mut usize) = cuGraphNodeGetDependencies_v2;
    fn cudaGraphNodeGetDependentNodes_v2(node: Handle, to: *mut Handle, data: *mut u64, count: *mut usize) = cuGraphNodeGetDependentNodes_v2;
    fn cudaGraphAddDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize) = cuGraphAddDependencies_v2;
    fn cudaGraphRemoveDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize) = cuGraphRemoveDependencies_v2;
    fn cudaStreamUpdateCaptureDependencies_v2 / cudaStreamUpdateCaptureDependencies_v2_ptsz(stream: Handle, nodes: *const Handle, data: *const u64, count: usize, flags: c_uint) = cuStreamUpdateCaptureDependencies_v2;
    fn cudaEventElapsedTime_v2(ms: *mut f32, start: Handle, end: Handle) = cuEventElapsedTime;
    fn cudaThreadGetLimit(value: *mut usize, limit: c_int) = cuCtxGetLimit;
    fn cudaThreadSetLimit(limit: c_int, value: usize) = cuCtxSetLimit;
    fn cudaThreadGetCacheConfig(config: *mut c_int) = cuCtxGetCacheConfig;
    fn cudaThreadSetCacheConfig(config: c_int) = cuCtxSetCacheConfig;
}
