//! Graphs: making, asking about, instantiating and launching them. What single nodes do is in `graph_nodes.rs`.

use crate::errors::{self, Code};
use crate::graph::{GraphExec, SharedGraph, lock};
use crate::ops::{Op, queue};
use crate::state::{Object, ready, state};
use crate::types::*;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

/// What can be launched, by its handle.
pub fn exec(handle: Handle) -> Result<Arc<Mutex<GraphExec>>, Code> {
    match state()?.object(handle) {
        Some(Object::GraphExec(exec)) => Ok(exec),
        _ => Err(errors::INVALID_VALUE),
    }
}

fn instantiate(to: *mut Handle, graph: Handle) -> Result<(), Code> {
    let state = ready()?;
    let graph = state.graph(graph)?;
    let exec = lock(&graph).order().ok_or(errors::INVALID_VALUE)?;
    // SAFETY: the callers' promise.
    unsafe { out(to, state.insert(Object::GraphExec(Arc::new(Mutex::new(exec))))) }
}

/// Lists things into an array of C's: as many as there is room for, zeros behind them, and how many there are; without an array the number alone.
///
/// # Safety
/// `count` is null or may be read and written; each array is null or has as many elements as it says.
pub unsafe fn list<const N: usize>(
    all: &[[Handle; N]],
    to: [*mut Handle; N],
    count: *mut usize,
) -> Result<(), Code> {
    if count.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let room = unsafe { *count };
    let mut filled = all.len();
    for (column, to) in to.into_iter().enumerate() {
        if to.is_null() {
            continue;
        }
        filled = room.min(all.len());
        for i in 0..room {
            // SAFETY: the caller's promise.
            unsafe { to.add(i).write(all.get(i).map_or(0, |row| row[column])) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { count.write(filled) };
    Ok(())
}

/// No edge here has data: zeros for who asks.
///
/// # Safety
/// `data` is null or has `count` elements, unless that is null.
unsafe fn no_data(data: *mut u64, count: *const usize) {
    if !data.is_null() && !count.is_null() {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::write_bytes(data, 0, *count) };
    }
}

/// # Safety
/// As `list`.
unsafe fn dependencies(node: Handle, to: *mut Handle, count: *mut usize) -> Result<(), Code> {
    let (_, graph) = state()?.graph_of(node)?;
    let mut graph = lock(&graph);
    let after = graph.node(node).map_or(vec![], |n| n.after.iter().map(|n| [*n]).collect());
    // SAFETY: the caller's promise.
    unsafe { list(&after, [to], count) }
}

/// # Safety
/// As `list`.
unsafe fn dependents(node: Handle, to: *mut Handle, count: *mut usize) -> Result<(), Code> {
    let (_, graph) = state()?.graph_of(node)?;
    let all: Vec<_> = lock(&graph).edges().iter().filter(|e| e.0 == node).map(|e| [e.1]).collect();
    // SAFETY: the caller's promise.
    unsafe { list(&all, [to], count) }
}

/// # Safety
/// As `list`.
unsafe fn edges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) -> Result<(), Code> {
    let graph = state()?.graph(graph)?;
    let all: Vec<_> = lock(&graph).edges().iter().map(|e| [e.0, e.1]).collect();
    // SAFETY: the caller's promise.
    unsafe { list(&all, [from, to], count) }
}

/// Changes edges from each of some nodes to each of others in turn.
///
/// # Safety
/// Both arrays have `count` elements.
unsafe fn change_edges(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    count: usize,
    change: impl Fn(&mut Vec<usize>, usize) -> Result<(), Code>,
) -> Result<(), Code> {
    if count > 0 && (from.is_null() || to.is_null()) {
        return Err(errors::INVALID_VALUE);
    }
    let graph = state()?.graph(graph)?;
    let mut graph = lock(&graph);
    for i in 0..count {
        // SAFETY: the caller's promise.
        let (from, to) = unsafe { (*from.add(i), *to.add(i)) };
        graph.node(from).ok_or(errors::INVALID_VALUE)?;
        change(&mut graph.node(to).ok_or(errors::INVALID_VALUE)?.after, from)?;
    }
    Ok(())
}

fn add_edge(after: &mut Vec<usize>, from: usize) -> Result<(), Code> {
    if after.contains(&from) {
        return Err(errors::INVALID_VALUE);
    }
    after.push(from);
    Ok(())
}

fn remove_edge(after: &mut Vec<usize>, from: usize) -> Result<(), Code> {
    let before = after.len();
    after.retain(|n| *n != from);
    if after.len() == before { Err(errors::INVALID_VALUE) } else { Ok(()) }
}

/// The graph in the language of Graphviz.
fn dot(graph: &SharedGraph) -> String {
    const KINDS: [&str; 12] = [
        "kernel",
        "memcpy",
        "memset",
        "host",
        "graph",
        "empty",
        "wait",
        "record",
        "signal",
        "semaphore",
        "alloc",
        "free",
    ];
    let graph = lock(graph);
    let mut text = String::from("digraph dot {\n");
    for (i, node) in graph.nodes.iter().enumerate() {
        let name = match &node.op {
            Op::Kernel(launch) => launch.kernel.name(),
            _ => KINDS[node.op.node_type() as usize],
        };
        let _ = writeln!(text, "\"{:#x}\" [label=\"{i} {name}\"];", node.handle);
    }
    for (from, to) in graph.edges() {
        let _ = writeln!(text, "\"{from:#x}\" -> \"{to:#x}\";");
    }
    text + "}\n"
}

/// Puts a graph of the same shape in place of what can be launched, and says whether that worked.
fn update(handle: Handle, graph: Handle) -> Result<bool, Code> {
    let exec = exec(handle)?;
    let graph = state()?.graph(graph)?;
    let new = lock(&graph).order().ok_or(errors::INVALID_VALUE)?;
    Ok(exec.lock().unwrap_or_else(|e| e.into_inner()).update(new))
}

api! {
    fn cuGraphCreate(to: *mut Handle, _flags: c_uint) {
        let handle = ready()?.insert(Object::Graph(SharedGraph::default()));
        // SAFETY: the caller's promise, here and below.
        unsafe { out(to, handle) }
    }

    fn cuGraphDestroy(graph: Handle) {
        let state = state()?;
        state.graph(graph)?;
        state.remove(graph);
        Ok(())
    }

    fn cuGraphClone(to: *mut Handle, graph: Handle) {
        let state = state()?;
        let copy = lock(&state.graph(graph)?).copy();
        // SAFETY: as above.
        unsafe { out(to, state.insert(Object::Graph(Arc::new(Mutex::new(copy))))) }
    }

    fn cuGraphNodeFindInClone(to: *mut Handle, node: Handle, clone: Handle) {
        let clone = state()?.graph(clone)?;
        let found = lock(&clone).nodes.iter().find(|n| n.copy_of == node).map(|n| n.handle);
        // SAFETY: as above.
        unsafe { out(to, found.ok_or(errors::INVALID_VALUE)?) }
    }

    fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let graph = state()?.graph(graph)?;
        let all: Vec<_> = lock(&graph).nodes.iter().map(|n| [n.handle]).collect();
        // SAFETY: as above.
        unsafe { list(&all, [nodes], count) }
    }

    fn cuGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let graph = state()?.graph(graph)?;
        let all: Vec<_> = lock(&graph).nodes.iter().filter(|n| n.after.is_empty()).map(|n| [n.handle]).collect();
        // SAFETY: as above.
        unsafe { list(&all, [nodes], count) }
    }

    fn cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) {
        // SAFETY: as above.
        unsafe { edges(graph, from, to, count) }
    }

    fn cuGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, data: *mut u64, count: *mut usize) {
        // SAFETY: as above.
        unsafe {
            no_data(data, count);
            edges(graph, from, to, count)
        }
    }

    fn cuGraphNodeGetDependencies(node: Handle, to: *mut Handle, count: *mut usize) {
        // SAFETY: as above.
        unsafe { dependencies(node, to, count) }
    }

    fn cuGraphNodeGetDependencies_v2(node: Handle, to: *mut Handle, data: *mut u64, count: *mut usize) {
        // SAFETY: as above.
        unsafe {
            no_data(data, count);
            dependencies(node, to, count)
        }
    }

    fn cuGraphNodeGetDependentNodes(node: Handle, to: *mut Handle, count: *mut usize) {
        // SAFETY: as above.
        unsafe { dependents(node, to, count) }
    }

    fn cuGraphNodeGetDependentNodes_v2(node: Handle, to: *mut Handle, data: *mut u64, count: *mut usize) {
        // SAFETY: as above.
        unsafe {
            no_data(data, count);
            dependents(node, to, count)
        }
    }

    fn cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        // SAFETY: as above.
        unsafe { change_edges(graph, from, to, count, add_edge) }
    }

    fn cuGraphAddDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, _data: *const u64, count: usize) {
        // SAFETY: as above.
        unsafe { change_edges(graph, from, to, count, add_edge) }
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        // SAFETY: as above.
        unsafe { change_edges(graph, from, to, count, remove_edge) }
    }

    fn cuGraphRemoveDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, _data: *const u64, count: usize) {
        // SAFETY: as above.
        unsafe { change_edges(graph, from, to, count, remove_edge) }
    }

    fn cuGraphDestroyNode(node: Handle) {
        let (_, graph) = state()?.graph_of(node)?;
        lock(&graph).remove(node);
        Ok(())
    }

    fn cuGraphNodeGetContainingGraph(node: Handle, graph: *mut Handle) {
        let (handle, _) = state()?.graph_of(node)?;
        // SAFETY: as above.
        unsafe { out(graph, handle) }
    }

    fn cuGraphDebugDotPrint(graph: Handle, path: *const c_char, _flags: c_uint) {
        let graph = state()?.graph(graph)?;
        // SAFETY: as above.
        let path = unsafe { text(path) }.ok_or(errors::INVALID_VALUE)?;
        std::fs::write(path, dot(&graph)).map_err(|_| errors::OPERATING_SYSTEM)
    }

    fn cuGraphInstantiate_v2(to: *mut Handle, graph: Handle, _node: *mut Handle, _log: *mut c_char, _size: usize) {
        instantiate(to, graph)
    }

    fn cuGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, _flags: u64) {
        instantiate(to, graph)
    }

    fn cuGraphInstantiateWithParams / cuGraphInstantiateWithParams_ptsz(to: *mut Handle, graph: Handle, params: *mut GraphInstantiateParams) {
        instantiate(to, graph)?;
        // SAFETY: as above.
        if let Some(params) = unsafe { params.as_mut() } {
            (params.error_node, params.result) = (0, 0);
        }
        Ok(())
    }

    fn cuGraphExecGetFlags(handle: Handle, flags: *mut u64) {
        exec(handle)?;
        // SAFETY: as above.
        unsafe { out(flags, 0) }
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
        let ops = exec.lock().unwrap_or_else(|e| e.into_inner()).ops();
        queue(state, &state.stream(stream)?, Op::Graph(Arc::new(ops)))
    }

    fn cuGraphExecUpdate(handle: Handle, graph: Handle, node: *mut Handle, result: *mut c_int) {
        let same = update(handle, graph)?;
        // SAFETY: as above. 2: the topology is another.
        unsafe {
            put(node, 0);
            put(result, if same { 0 } else { 2 });
        }
        if same { Ok(()) } else { Err(errors::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    fn cuGraphExecUpdate_v2(handle: Handle, graph: Handle, info: *mut [usize; 3]) {
        let same = update(handle, graph)?;
        // SAFETY: as above: the result, as above, and two nodes.
        unsafe { put(info, [if same { 0 } else { 2 }, 0, 0]) };
        if same { Ok(()) } else { Err(errors::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    fn cuDeviceGraphMemTrim(_dev: CUdevice) {
        ready().map(drop)
    }

    fn cuGraphNodeGetType(node: Handle, kind: *mut c_int) {
        let (_, graph) = state()?.graph_of(node)?;
        let found = lock(&graph).node(node).map(|n| n.op.node_type());
        // SAFETY: as above.
        unsafe { out(kind, found.ok_or(errors::INVALID_VALUE)?) }
    }

    fn cuUserObjectCreate(to: *mut Handle, data: *mut c_void, destroy: HostFn, count: c_uint, _flags: c_uint) {
        let object = UserObject { data: data.expose_provenance(), destroy, count: Mutex::new(count) };
        // SAFETY: as above.
        unsafe { out(to, state()?.insert(Object::User(Arc::new(object)))) }
    }

    fn cuUserObjectRetain(object: Handle, count: c_uint) {
        *user(object)?.count.lock().unwrap_or_else(|e| e.into_inner()) += count;
        Ok(())
    }

    fn cuUserObjectRelease(object: Handle, count: c_uint) {
        release_user(object, count)
    }

    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) {
        let graph = state()?.graph(graph)?;
        let found = user(object)?;
        // Flag 1: the caller's references move to the graph.
        if flags & 1 == 0 {
            *found.count.lock().unwrap_or_else(|e| e.into_inner()) += count;
        }
        lock(&graph).users.push(Arc::new(UserReference { object, count }));
        Ok(())
    }

    fn cuGraphReleaseUserObject(graph: Handle, object: Handle, _count: c_uint) {
        let graph = state()?.graph(graph)?;
        let mut graph = lock(&graph);
        let at = graph.users.iter().position(|u| u.object == object).ok_or(errors::INVALID_VALUE)?;
        let gone = graph.users.remove(at);
        drop(graph);
        drop(gone);
        Ok(())
    }
}

/// Something of the program's that is destroyed when nothing refers to it any more.
pub struct UserObject {
    data: usize,
    destroy: HostFn,
    count: Mutex<c_uint>,
}

/// What a graph refers to.
pub struct UserReference {
    object: Handle,
    count: c_uint,
}

impl Drop for UserReference {
    fn drop(&mut self) {
        let _ = release_user(self.object, self.count);
    }
}

fn user(handle: Handle) -> Result<Arc<UserObject>, Code> {
    match state()?.object(handle) {
        Some(Object::User(user)) => Ok(user),
        _ => Err(errors::INVALID_VALUE),
    }
}

fn release_user(handle: Handle, count: c_uint) -> Result<(), Code> {
    let found = user(handle)?;
    let left = {
        let mut all = found.count.lock().unwrap_or_else(|e| e.into_inner());
        *all = all.checked_sub(count).ok_or(errors::INVALID_VALUE)?;
        *all
    };
    if left == 0 {
        state()?.remove(handle);
        (found.destroy)(std::ptr::with_exposed_provenance_mut(found.data));
    }
    Ok(())
}
