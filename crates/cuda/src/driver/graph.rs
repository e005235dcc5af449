//! Graphs, as far as tinygrad and cuda-core use them: nodes that launch, copy, fill and call the host.

use crate::driver::{copy_3d, prepare};
use crate::errors::{self, Code};
use crate::ops::{Fill, Graph, GraphExec, HostCall, Op, queue};
use crate::state::{Object, ready, state};
use crate::types::*;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

/// # Safety
/// There are `count` dependencies.
unsafe fn add(
    node: *mut Handle,
    graph: Handle,
    (after, count): (*const Handle, usize),
    op: Op,
) -> Result<(), Code> {
    let graph = state()?.graph(graph)?;
    let mut graph = graph.lock().unwrap_or_else(|e| e.into_inner());
    let after = match (after.is_null(), count) {
        (_, 0) => vec![],
        (true, _) => return Err(errors::INVALID_VALUE),
        // SAFETY: the caller's promise.
        (false, _) => unsafe { std::slice::from_raw_parts(after, count) }.to_vec(),
    };
    if after.iter().any(|n| !graph.nodes.iter().any(|node| node.handle == *n)) {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { out(node, graph.add(op, after)) }
}

/// # Safety
/// `params` points to what a kernel node needs, its arguments included.
unsafe fn kernel_op(params: *const KernelNodeParams, kernel: Handle) -> Result<Op, Code> {
    if params.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let p = unsafe { *params };
    let function = if p.func == 0 { kernel } else { p.func };
    // SAFETY: the caller's promise.
    let launch =
        unsafe { prepare(ready()?, function, p.grid, p.block, p.shared, (p.params, p.extra), false) }?;
    Ok(Op::Kernel(launch))
}

fn exec(handle: Handle) -> Result<Arc<Mutex<GraphExec>>, Code> {
    match state()?.object(handle) {
        Some(Object::GraphExec(exec)) => Ok(exec),
        _ => Err(errors::INVALID_VALUE),
    }
}

fn set(handle: Handle, node: Handle, op: Op) -> Result<(), Code> {
    let exec = exec(handle)?;
    let mut exec = exec.lock().unwrap_or_else(|e| e.into_inner());
    let found = exec.ops.iter_mut().find(|(n, _)| *n == node).ok_or(errors::INVALID_VALUE)?;
    if found.1.node_type() != op.node_type() {
        return Err(errors::INVALID_VALUE);
    }
    found.1 = op;
    Ok(())
}

fn instantiate(to: *mut Handle, graph: Handle) -> Result<(), Code> {
    let state = ready()?;
    let graph = state.graph(graph)?;
    let exec = graph.lock().unwrap_or_else(|e| e.into_inner()).order().ok_or(errors::INVALID_VALUE)?;
    // SAFETY: the callers' promise.
    unsafe { out(to, state.insert(Object::GraphExec(Arc::new(Mutex::new(exec))))) }
}

/// # Safety
/// `params` is null or points to what a fill node needs.
unsafe fn fill_op(params: *const MemsetNodeParams) -> Result<Op, Code> {
    if params.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let p = unsafe { *params };
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
    };
    fill.check(ready()?)?;
    Ok(Op::Fill(fill))
}

api! {
    fn cuGraphCreate(to: *mut Handle, _flags: c_uint) {
        let handle = ready()?.insert(Object::Graph(Arc::new(Mutex::new(Graph::default()))));
        // SAFETY: the caller's promise, here and below.
        unsafe { out(to, handle) }
    }

    fn cuGraphDestroy(graph: Handle) {
        let state = state()?;
        state.graph(graph)?;
        state.remove(graph);
        Ok(())
    }

    fn cuGraphAddKernelNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const KernelNodeParams) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), kernel_op(params, 0)?) }
    }

    fn cuGraphAddKernelNode_v2(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const KernelNodeParams2) {
        // SAFETY: as above; the first version is the head of the second.
        unsafe {
            let kernel = params.as_ref().ok_or(errors::INVALID_VALUE)?.kernel;
            add(node, graph, (after, count), kernel_op(params.cast(), kernel)?)
        }
    }

    fn cuGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: *const KernelNodeParams) {
        // SAFETY: as above.
        set(exec, node, unsafe { kernel_op(params, 0) }?)
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: Handle, node: Handle, params: *const KernelNodeParams2) {
        // SAFETY: as above.
        unsafe {
            let kernel = params.as_ref().ok_or(errors::INVALID_VALUE)?.kernel;
            set(exec, node, kernel_op(params.cast(), kernel)?)
        }
    }

    fn cuGraphAddMemcpyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, copy: *const Memcpy3d, _context: Handle) {
        // SAFETY: as above.
        unsafe {
            let copy = copy_3d(copy)?;
            copy.check(ready()?)?;
            add(node, graph, (after, count), Op::Copy(copy))
        }
    }

    fn cuGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, copy: *const Memcpy3d, _context: Handle) {
        // SAFETY: as above.
        let copy = unsafe { copy_3d(copy) }?;
        copy.check(ready()?)?;
        set(exec, node, Op::Copy(copy))
    }

    fn cuGraphAddMemsetNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const MemsetNodeParams, _context: Handle) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), fill_op(params)?) }
    }

    fn cuGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: *const MemsetNodeParams, _context: Handle) {
        // SAFETY: as above.
        set(exec, node, unsafe { fill_op(params) }?)
    }

    fn cuGraphAddHostNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const HostNodeParams) {
        // SAFETY: as above.
        unsafe {
            let p = *params.as_ref().ok_or(errors::INVALID_VALUE)?;
            let call = HostCall::Function(p.function, p.data.expose_provenance());
            add(node, graph, (after, count), Op::Host(call))
        }
    }

    fn cuGraphAddEmptyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize) {
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), Op::Empty) }
    }

    fn cuGraphAddChildGraphNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, child: Handle) {
        let child = state()?.graph(child)?;
        let child = child.lock().unwrap_or_else(|e| e.into_inner()).order().ok_or(errors::INVALID_VALUE)?;
        let ops = child.ops.into_iter().map(|(_, op)| op).collect();
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), Op::Graph(Arc::new(ops))) }
    }

    fn cuGraphAddEventRecordNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event: Handle) {
        let event = state()?.event(event)?;
        // SAFETY: as above.
        unsafe { add(node, graph, (after, count), Op::Record(event)) }
    }

    fn cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        let graph = state()?.graph(graph)?;
        let mut graph = graph.lock().unwrap_or_else(|e| e.into_inner());
        for i in 0..count {
            // SAFETY: as above.
            let (from, to) = unsafe { (*from.add(i), *to.add(i)) };
            let node = graph.nodes.iter_mut().find(|n| n.handle == to).ok_or(errors::INVALID_VALUE)?;
            node.after.push(from);
        }
        Ok(())
    }

    fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let graph = state()?.graph(graph)?;
        let graph = graph.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: as above.
        unsafe {
            if !nodes.is_null() && !count.is_null() {
                for (i, node) in graph.nodes.iter().take(*count).enumerate() {
                    nodes.add(i).write(node.handle);
                }
            }
            put(count, graph.nodes.len());
        }
        Ok(())
    }

    fn cuGraphNodeGetType(node: Handle, kind: *mut c_int) {
        let state = state()?;
        let found = state.find_node(node).ok_or(errors::INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe { out(kind, found) }
    }

    fn cuGraphInstantiate_v2(to: *mut Handle, graph: Handle, _node: *mut Handle, _log: *mut c_char, _size: usize) {
        instantiate(to, graph)
    }

    fn cuGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, _flags: u64) {
        instantiate(to, graph)
    }

    fn cuGraphInstantiateWithParams / cuGraphInstantiateWithParams_ptsz(to: *mut Handle, graph: Handle, _params: *mut c_void) {
        instantiate(to, graph)
    }

    fn cuGraphExecDestroy(handle: Handle) {
        exec(handle)?;
        state()?.remove(handle);
        Ok(())
    }

    fn cuGraphUpload / cuGraphUpload_ptsz(handle: Handle, _stream: Handle) {
        exec(handle).map(drop)
    }

    fn cuGraphLaunch / cuGraphLaunch_ptsz(handle: Handle, stream: Handle) {
        let state = ready()?;
        let exec = exec(handle)?;
        let ops = exec.lock().unwrap_or_else(|e| e.into_inner()).ops.iter().map(|(_, op)| op.clone()).collect();
        queue(state, &state.stream(stream)?, Op::Graph(Arc::new(ops)))
    }

    fn cuGraphExecUpdate_v2(handle: Handle, graph: Handle, info: *mut [usize; 3]) {
        let exec = exec(handle)?;
        let graph = state()?.graph(graph)?;
        let new = graph.lock().unwrap_or_else(|e| e.into_inner()).order().ok_or(errors::INVALID_VALUE)?;
        let mut exec = exec.lock().unwrap_or_else(|e| e.into_inner());
        let same = exec.ops.len() == new.ops.len()
            && exec.ops.iter().zip(&new.ops).all(|(a, b)| a.1.node_type() == b.1.node_type());
        // SAFETY: as above: the result, 0 or 1 for a changed topology, and two nodes.
        unsafe { put(info, [usize::from(!same), 0, 0]) };
        if !same {
            // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
            return Err(Code(910));
        }
        *exec = new;
        Ok(())
    }
}
