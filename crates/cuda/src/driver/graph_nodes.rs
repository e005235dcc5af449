//! Nodes of graphs: what they do, and changing it, in a graph or in what can be launched.

use crate::driver::{copy_3d, exec, prepare};
use crate::errors::{self, Code};
use crate::graph::{GraphMemory, lock};
use crate::ops::{Copy, Fill, HostCall, Op, Side};
use crate::state::{ready, state};
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

/// Nodes that a new one waits for, as C has them.
pub type After = (*const Handle, usize);

/// Adds a node to a graph.
///
/// # Safety
/// There are as many nodes to wait for as it says, and `node` is null or may be written.
pub unsafe fn add(node: *mut Handle, graph: Handle, (after, count): After, op: Op) -> Result<(), Code> {
    let graph = state()?.graph(graph)?;
    let mut graph = lock(&graph);
    let after = match (after.is_null(), count) {
        (_, 0) => vec![],
        (true, _) => return Err(errors::INVALID_VALUE),
        // SAFETY: the caller's promise.
        (false, _) => unsafe { std::slice::from_raw_parts(after, count) }.to_vec(),
    };
    if !graph.has_all(&after) {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { out(node, graph.add(op, after)) }
}

/// Changes what a node of a graph does; its kind stays.
pub fn set(node: Handle, op: Op) -> Result<(), Code> {
    let (_, graph) = state()?.graph_of(node)?;
    let mut graph = lock(&graph);
    let node = graph.node(node).filter(|n| n.op.node_type() == op.node_type());
    node.ok_or(errors::INVALID_VALUE)?.op = op;
    Ok(())
}

/// Changes what a node of something that can be launched does; its kind stays.
pub fn set_step(handle: Handle, node: Handle, op: Op) -> Result<(), Code> {
    let exec = exec(handle)?;
    let mut exec = exec.lock().unwrap_or_else(|e| e.into_inner());
    let step = exec.step(node)?;
    if step.op.node_type() != op.node_type() {
        return Err(errors::INVALID_VALUE);
    }
    step.op = op;
    Ok(())
}

/// What a node does.
fn get<T>(node: Handle, read: impl Fn(&Op) -> Option<T>) -> Result<T, Code> {
    let (_, graph) = state()?.graph_of(node)?;
    let mut graph = lock(&graph);
    graph.node(node).and_then(|n| read(&n.op)).ok_or(errors::INVALID_VALUE)
}

/// # Safety
/// `params` points to what a kernel node needs, its arguments included.
unsafe fn kernel_op(params: *const KernelNodeParams, kernel: Handle) -> Result<Op, Code> {
    // SAFETY: the caller's promise.
    let p = unsafe { params.as_ref() }.ok_or(errors::INVALID_VALUE)?;
    let function = if p.func == 0 { kernel } else { p.func };
    // SAFETY: the caller's promise.
    let launch =
        unsafe { prepare(ready()?, function, p.grid, p.block, p.shared, (p.params, p.extra), false) }?;
    Ok(Op::Kernel(launch))
}

/// # Safety
/// As `kernel_op`; the first version is the head of the second.
unsafe fn kernel_op_2(params: *const KernelNodeParams2) -> Result<Op, Code> {
    // SAFETY: the caller's promise.
    unsafe { kernel_op(params.cast(), params.as_ref().ok_or(errors::INVALID_VALUE)?.kernel) }
}

/// The parameters of a kernel node. The pointers lead into the node and are good until it is changed.
fn kernel_params(node: Handle) -> Result<KernelNodeParams, Code> {
    let (_, graph) = state()?.graph_of(node)?;
    let mut graph = lock(&graph);
    let node = graph.node(node).ok_or(errors::INVALID_VALUE)?;
    let Op::Kernel(launch) = &node.op else { return Err(errors::INVALID_VALUE) };
    let block = launch.params.as_ptr().expose_provenance();
    node.shown = launch.kernel.params().iter().map(|p| block + p.offset as usize).collect();
    Ok(KernelNodeParams {
        func: launch.handle,
        grid: launch.grid,
        block: launch.block,
        shared: launch.shared,
        params: node.shown.as_mut_ptr().cast(),
        extra: std::ptr::null_mut(),
    })
}

/// # Safety
/// `copy` is null or points to one.
unsafe fn copy_op(copy: *const Memcpy3d) -> Result<Op, Code> {
    // SAFETY: the caller's promise.
    let copy = unsafe { copy_3d(copy) }?;
    checked_copy(copy)
}

/// A node that copies.
pub fn checked_copy(copy: Copy) -> Result<Op, Code> {
    copy.check(ready()?)?;
    Ok(Op::Copy(copy))
}

fn copy_params(copy: &Copy) -> Option<Memcpy3d> {
    let state = state().ok()?;
    let kind = |side: Side| if state.is_device(side.at) { 2 } else { 1 };
    let height = |side: Side| side.slice.checked_div(side.pitch).unwrap_or(0) as usize;
    // SAFETY: numbers, of which 0 is one.
    let mut all: Memcpy3d = unsafe { std::mem::zeroed() };
    (all.src_type, all.src_host, all.src_device) = (kind(copy.from), copy.from.at, copy.from.at);
    (all.dst_type, all.dst_host, all.dst_device) = (kind(copy.to), copy.to.at, copy.to.at);
    (all.src_pitch, all.src_height) = (copy.from.pitch as usize, height(copy.from));
    (all.dst_pitch, all.dst_height) = (copy.to.pitch as usize, height(copy.to));
    (all.width, all.height, all.depth) = (copy.width as usize, copy.height as usize, copy.depth as usize);
    Some(all)
}

/// # Safety
/// `params` is null or points to what a fill node needs.
unsafe fn fill_op(params: *const MemsetNodeParams) -> Result<Op, Code> {
    // SAFETY: the caller's promise.
    let p = unsafe { params.as_ref() }.ok_or(errors::INVALID_VALUE)?;
    if ![1, 2, 4].contains(&p.element) {
        return Err(errors::INVALID_VALUE);
    }
    let fill = Fill {
        at: p.dst,
        pitch: p.pitch as u64,
        value: p.value.to_le_bytes(),
        size: p.element as usize,
        width: p.width as u64,
        height: p.height.max(1) as u64,
        slice: 0,
        depth: 1,
    };
    fill.check(ready()?)?;
    Ok(Op::Fill(fill))
}

fn fill_params(op: &Op) -> Option<MemsetNodeParams> {
    let Op::Fill(fill) = op else { return None };
    Some(MemsetNodeParams {
        dst: fill.at,
        pitch: fill.pitch as usize,
        value: u32::from_le_bytes(fill.value),
        element: fill.size as u32,
        width: fill.width as usize,
        height: fill.height as usize,
    })
}

/// # Safety
/// `params` is null or points to what a node that calls the host needs.
unsafe fn host_op(params: *const HostNodeParams) -> Result<Op, Code> {
    // SAFETY: the caller's promise.
    let p = unsafe { params.as_ref() }.ok_or(errors::INVALID_VALUE)?;
    Ok(Op::Host(HostCall::Function(p.function, p.data.expose_provenance())))
}

fn child_op(child: Handle) -> Result<Op, Code> {
    let child = state()?.graph(child)?;
    let child = lock(&child).order().ok_or(errors::INVALID_VALUE)?;
    Ok(Op::Graph(Arc::new(child.ops())))
}

/// What a node of any kind is to do.
///
/// # Safety
/// `params` is null or points to parameters of the kind it names.
pub unsafe fn any_op(params: *mut GraphNodeParams) -> Result<Op, Code> {
    // SAFETY: the caller's promise.
    let p = unsafe { params.as_mut() }.ok_or(errors::INVALID_VALUE)?;
    let of = p.of.as_mut_ptr();
    // SAFETY: the caller's promise: what stands there is of the kind that is named.
    unsafe {
        match p.kind {
            0 => kernel_op_2(of.cast()),
            // Flags, and a context.
            1 => copy_op(of.byte_add(16).cast()),
            2 => fill_op(of.cast()),
            3 => host_op(of.cast()),
            4 => child_op(*of.cast()),
            5 => Ok(Op::Empty),
            6 => Ok(Op::Wait(state()?.event(*of.cast())?)),
            7 => Ok(Op::Record(state()?.event(*of.cast())?)),
            10 => alloc_op(of.cast()),
            11 => Ok(Op::Free(*of.cast())),
            kind => {
                crate::log::explain(&format!("graph nodes of type {kind} are not supported yet"));
                Err(errors::NOT_SUPPORTED)
            }
        }
    }
}

/// # Safety
/// `params` is null or points to what a node that allocates needs.
unsafe fn alloc_op(params: *mut MemAllocNodeParams) -> Result<Op, Code> {
    // SAFETY: the caller's promise.
    let p = unsafe { params.as_mut() }.ok_or(errors::INVALID_VALUE)?;
    let memory = GraphMemory::new(p.bytes as u64)?;
    p.address = memory.address;
    Ok(Op::Alloc(memory))
}

fn enabled(handle: Handle, node: Handle, set: Option<bool>) -> Result<bool, Code> {
    let exec = exec(handle)?;
    let mut exec = exec.lock().unwrap_or_else(|e| e.into_inner());
    let step = exec.step(node)?;
    if !matches!(step.op, Op::Kernel(_) | Op::Copy(_) | Op::Fill(_)) {
        return Err(errors::INVALID_VALUE);
    }
    step.disabled = set.map_or(step.disabled, |on| !on);
    Ok(!step.disabled)
}

api! {
    fn cuGraphAddNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *mut GraphNodeParams) {
        // SAFETY: the caller's promise, here and below.
        unsafe { add(node, graph, (after, count), any_op(params)?) }
    }

    fn cuGraphAddNode_v2(node: *mut Handle, graph: Handle, after: *const Handle, _data: *const u64, count: usize, params: *mut GraphNodeParams) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), any_op(params)?) }
    }

    fn cuGraphAddNode_v3(node: *mut Handle, graph: Handle, after: *const Handle, _data: *const u64, count: usize, params: *mut GraphNodeParams) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), any_op(params)?) }
    }

    fn cuGraphNodeSetParams(node: Handle, params: *mut GraphNodeParams) {
        // SAFETY: as above.
        set(node, unsafe { any_op(params) }?)
    }

    fn cuGraphNodeSetParams_v2(node: Handle, params: *mut GraphNodeParams) {
        // SAFETY: as above.
        set(node, unsafe { any_op(params) }?)
    }

    fn cuGraphExecNodeSetParams(exec: Handle, node: Handle, params: *mut GraphNodeParams) {
        // SAFETY: as above.
        set_step(exec, node, unsafe { any_op(params) }?)
    }

    fn cuGraphAddKernelNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const KernelNodeParams) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), kernel_op(params, 0)?) }
    }

    fn cuGraphAddKernelNode_v2(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const KernelNodeParams2) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), kernel_op_2(params)?) }
    }

    fn cuGraphKernelNodeGetParams(node: Handle, params: *mut KernelNodeParams) {
        // SAFETY: as above.
        unsafe { out(params, kernel_params(node)?) }
    }

    fn cuGraphKernelNodeGetParams_v2(node: Handle, params: *mut KernelNodeParams2) {
        let v1 = kernel_params(node)?;
        // SAFETY: as above.
        unsafe { out(params, KernelNodeParams2 { v1, kernel: 0, context: 0 }) }
    }

    fn cuGraphKernelNodeSetParams(node: Handle, params: *const KernelNodeParams) {
        // SAFETY: as above.
        set(node, unsafe { kernel_op(params, 0) }?)
    }

    fn cuGraphKernelNodeSetParams_v2(node: Handle, params: *const KernelNodeParams2) {
        // SAFETY: as above.
        set(node, unsafe { kernel_op_2(params) }?)
    }

    fn cuGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: *const KernelNodeParams) {
        // SAFETY: as above.
        set_step(exec, node, unsafe { kernel_op(params, 0) }?)
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: Handle, node: Handle, params: *const KernelNodeParams2) {
        // SAFETY: as above.
        set_step(exec, node, unsafe { kernel_op_2(params) }?)
    }

    fn cuGraphKernelNodeSetAttribute(node: Handle, attribute: c_uint, value: *const [u32; 16]) {
        // SAFETY: as above; 2: whether the launch is cooperative. The others change no result.
        let value = unsafe { value.as_ref() }.ok_or(errors::INVALID_VALUE)?;
        let (_, graph) = state()?.graph_of(node)?;
        let mut graph = lock(&graph);
        match graph.node(node).map(|n| &mut n.op) {
            Some(Op::Kernel(launch)) if attribute == 2 => launch.cooperative = value[0] != 0,
            Some(Op::Kernel(_)) => {}
            _ => return Err(errors::INVALID_VALUE),
        }
        Ok(())
    }

    fn cuGraphKernelNodeGetAttribute(node: Handle, attribute: c_uint, value: *mut [u32; 16]) {
        let cooperative = get(node, |op| match op {
            Op::Kernel(launch) => Some(launch.cooperative),
            _ => None,
        })?;
        let mut all = [0; 16];
        all[0] = u32::from(attribute == 2 && cooperative);
        // SAFETY: as above.
        unsafe { out(value, all) }
    }

    fn cuGraphAddMemcpyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, copy: *const Memcpy3d, _context: Handle) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), copy_op(copy)?) }
    }

    fn cuGraphMemcpyNodeGetParams(node: Handle, copy: *mut Memcpy3d) {
        let found = get(node, |op| match op {
            Op::Copy(copy) => copy_params(copy),
            _ => None,
        })?;
        // SAFETY: as above.
        unsafe { out(copy, found) }
    }

    fn cuGraphMemcpyNodeSetParams(node: Handle, copy: *const Memcpy3d) {
        // SAFETY: as above.
        set(node, unsafe { copy_op(copy) }?)
    }

    fn cuGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, copy: *const Memcpy3d, _context: Handle) {
        // SAFETY: as above.
        set_step(exec, node, unsafe { copy_op(copy) }?)
    }

    fn cuGraphAddMemsetNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const MemsetNodeParams, _context: Handle) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), fill_op(params)?) }
    }

    fn cuGraphMemsetNodeGetParams(node: Handle, params: *mut MemsetNodeParams) {
        // SAFETY: as above.
        unsafe { out(params, get(node, fill_params)?) }
    }

    fn cuGraphMemsetNodeSetParams(node: Handle, params: *const MemsetNodeParams) {
        // SAFETY: as above.
        set(node, unsafe { fill_op(params) }?)
    }

    fn cuGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: *const MemsetNodeParams, _context: Handle) {
        // SAFETY: as above.
        set_step(exec, node, unsafe { fill_op(params) }?)
    }

    fn cuGraphAddHostNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const HostNodeParams) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), host_op(params)?) }
    }

    fn cuGraphHostNodeGetParams(node: Handle, params: *mut HostNodeParams) {
        let found = get(node, |op| match op {
            Op::Host(HostCall::Function(function, data)) => {
                Some(HostNodeParams { function: *function, data: std::ptr::with_exposed_provenance_mut(*data) })
            }
            _ => None,
        })?;
        // SAFETY: as above.
        unsafe { out(params, found) }
    }

    fn cuGraphHostNodeSetParams(node: Handle, params: *const HostNodeParams) {
        // SAFETY: as above.
        set(node, unsafe { host_op(params) }?)
    }

    fn cuGraphExecHostNodeSetParams(exec: Handle, node: Handle, params: *const HostNodeParams) {
        // SAFETY: as above.
        set_step(exec, node, unsafe { host_op(params) }?)
    }

    fn cuGraphAddEmptyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), Op::Empty) }
    }

    fn cuGraphAddChildGraphNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, child: Handle) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), child_op(child)?) }
    }

    fn cuGraphExecChildGraphNodeSetParams(exec: Handle, node: Handle, child: Handle) {
        set_step(exec, node, child_op(child)?)
    }

    fn cuGraphAddEventRecordNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), Op::Record(state()?.event(event)?)) }
    }

    fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) {
        set(node, Op::Record(state()?.event(event)?))
    }

    fn cuGraphExecEventRecordNodeSetEvent(exec: Handle, node: Handle, event: Handle) {
        set_step(exec, node, Op::Record(state()?.event(event)?))
    }

    fn cuGraphAddEventWaitNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), Op::Wait(state()?.event(event)?)) }
    }

    fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) {
        set(node, Op::Wait(state()?.event(event)?))
    }

    fn cuGraphExecEventWaitNodeSetEvent(exec: Handle, node: Handle, event: Handle) {
        set_step(exec, node, Op::Wait(state()?.event(event)?))
    }

    fn cuGraphAddMemAllocNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *mut MemAllocNodeParams) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), alloc_op(params)?) }
    }

    fn cuGraphAddMemFreeNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, address: CUdeviceptr) {
        state()?.allocation(address).filter(|found| found.0 == address).ok_or(errors::INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), Op::Free(address)) }
    }

    fn cuGraphMemFreeNodeGetParams(node: Handle, address: *mut c_void) {
        let found = get(node, |op| if let Op::Free(address) = op { Some(*address) } else { None })?;
        // SAFETY: as above.
        unsafe { out(address.cast(), found) }
    }

    fn cuGraphNodeSetEnabled(exec: Handle, node: Handle, on: c_uint) {
        enabled(exec, node, Some(on != 0)).map(drop)
    }

    fn cuGraphNodeGetEnabled(exec: Handle, node: Handle, on: *mut c_int) {
        // SAFETY: as above.
        unsafe { out(on, c_int::from(enabled(exec, node, None)?)) }
    }
}
