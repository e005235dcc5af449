//! Graphs and captures: what nodes there are, in which order they run, which streams are recorded.

use crate::driver::UserReference;
use crate::errors::{self, Code};
use crate::ops::Op;
use crate::state::{MemoryKind, StreamObject, state};
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A graph being made.
#[derive(Default)]
pub struct Graph {
    /// Nodes by handle, in the order they were added.
    pub nodes: Vec<Node>,
    /// Things of the program's that are to live as long as it, and what is made of it.
    pub users: Vec<Arc<UserReference>>,
}

/// A node.
pub struct Node {
    /// Its handle, which no other node has.
    pub handle: usize,
    /// What it does.
    pub op: Op,
    /// The handles of nodes it waits for.
    pub after: Vec<usize>,
    /// The node of another graph that this is a copy of.
    pub copy_of: usize,
    /// Addresses of parameters, for who asks for a kernel node's: C keeps a pointer to them.
    pub shown: Vec<usize>,
}

/// A graph that can be launched.
pub struct GraphExec {
    /// What it does, in an order that respects all dependencies.
    pub steps: Vec<Step>,
    users: Vec<Arc<UserReference>>,
}

/// A node of a graph that can be launched.
pub struct Step {
    /// The handle of the node it was made from.
    pub node: usize,
    /// What it does.
    pub op: Op,
    /// Whether it is left out.
    pub disabled: bool,
    /// The steps it waits for.
    after: BTreeSet<usize>,
}

/// A graph behind a lock.
pub type SharedGraph = Arc<Mutex<Graph>>;

/// Locks a graph.
pub fn lock(graph: &SharedGraph) -> MutexGuard<'_, Graph> {
    graph.lock().unwrap_or_else(|e| e.into_inner())
}

impl Graph {
    /// Adds a node.
    pub fn add(&mut self, op: Op, after: Vec<usize>) -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0x4000_0000_0010);
        let handle = NEXT.fetch_add(0x10, Ordering::Relaxed);
        self.nodes.push(Node { handle, op, after, copy_of: 0, shown: vec![] });
        handle
    }

    /// A node by its handle.
    pub fn node(&mut self, handle: usize) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|n| n.handle == handle)
    }

    /// Whether all of these are nodes of the graph.
    pub fn has_all(&self, nodes: &[usize]) -> bool {
        nodes.iter().all(|n| self.nodes.iter().any(|node| node.handle == *n))
    }

    /// Removes a node; what waited for it waits for it no more.
    pub fn remove(&mut self, handle: usize) {
        self.nodes.retain(|n| n.handle != handle);
        for node in &mut self.nodes {
            node.after.retain(|n| *n != handle);
        }
    }

    /// A copy with nodes of its own.
    pub fn copy(&self) -> Graph {
        let mut copy = Graph { users: self.users.clone(), ..Graph::default() };
        let place = |handle: &usize| self.nodes.iter().position(|n| n.handle == *handle);
        for node in &self.nodes {
            copy.add(node.op.clone(), vec![]);
            copy.nodes.last_mut().expect("it was just added").copy_of = node.handle;
        }
        for (i, node) in self.nodes.iter().enumerate() {
            let after = node.after.iter().filter_map(place).map(|p| copy.nodes[p].handle).collect();
            copy.nodes[i].after = after;
        }
        copy
    }

    /// Pairs of nodes, the second of which waits for the first.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        self.nodes.iter().flat_map(|n| n.after.iter().map(|from| (*from, n.handle))).collect()
    }

    /// These nodes and all they wait for, directly or not.
    fn ancestors(&self, of: &[usize]) -> HashSet<usize> {
        let mut found = HashSet::new();
        let mut open = of.to_vec();
        while let Some(next) = open.pop() {
            if found.insert(next)
                && let Some(node) = self.nodes.iter().find(|n| n.handle == next)
            {
                open.extend(&node.after);
            }
        }
        found
    }

    /// The nodes in an order that respects all dependencies; none if there is a cycle.
    pub fn order(&self) -> Option<GraphExec> {
        let mut steps: Vec<Step> = vec![];
        let mut places = std::collections::HashMap::new();
        while steps.len() < self.nodes.len() {
            let before = steps.len();
            for node in &self.nodes {
                if places.contains_key(&node.handle) || !node.after.iter().all(|n| places.contains_key(n)) {
                    continue;
                }
                let after = node.after.iter().map(|n| places[n]).collect();
                places.insert(node.handle, steps.len());
                steps.push(Step { node: node.handle, op: node.op.clone(), disabled: false, after });
            }
            if steps.len() == before {
                return None;
            }
        }
        Some(GraphExec { steps, users: self.users.clone() })
    }
}

impl GraphExec {
    /// What a launch does.
    pub fn ops(&self) -> Vec<Op> {
        self.steps.iter().filter(|s| !s.disabled).map(|s| s.op.clone()).collect()
    }

    /// The step made from a node.
    pub fn step(&mut self, node: usize) -> Result<&mut Step, Code> {
        self.steps.iter_mut().find(|s| s.node == node).ok_or(errors::INVALID_VALUE)
    }

    /// Takes over what another graph of the same shape does; the names of nodes stay. False if the shape is another.
    pub fn update(&mut self, new: GraphExec) -> bool {
        let same = self.steps.len() == new.steps.len()
            && self
                .steps
                .iter()
                .zip(&new.steps)
                .all(|(a, b)| a.op.node_type() == b.op.node_type() && a.after == b.after);
        if same {
            for (old, step) in self.steps.iter_mut().zip(new.steps) {
                old.op = step.op;
            }
            self.users = new.users;
        }
        same
    }
}

/// Memory that a graph allocates: at one address as long as the graph, or something made of it, is there.
pub struct GraphMemory {
    /// Where it is.
    pub address: u64,
}

impl GraphMemory {
    /// Allocates it.
    pub fn new(bytes: u64) -> Result<Arc<GraphMemory>, Code> {
        let address = state()?.alloc(bytes, 512, MemoryKind::Graph)?;
        Ok(Arc::new(GraphMemory { address }))
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        if let Ok(state) = state() {
            let _ = state.free(self.address);
        }
    }
}

/// A capture under way: the streams that take part add to one graph.
pub struct Session {
    /// The graph.
    pub graph: SharedGraph,
    /// Its handle.
    pub handle: usize,
    /// Whether it has ended.
    pub over: AtomicBool,
    /// Whether something was done that cannot be captured.
    pub invalid: AtomicBool,
    /// The streams that take part.
    streams: Mutex<Vec<Weak<StreamObject>>>,
}

/// A stream's part of a capture.
#[derive(Clone)]
pub struct Capture {
    /// The capture.
    pub session: Arc<Session>,
    /// What the stream's next node depends on.
    pub after: Vec<usize>,
    /// Whether this is the stream on which it began.
    pub origin: bool,
}

impl Capture {
    /// Adds a node behind the stream's last.
    pub fn add(&mut self, op: Op) -> Result<(), Code> {
        if self.session.invalid.load(Ordering::Relaxed) {
            return Err(errors::STREAM_CAPTURE_INVALIDATED);
        }
        self.after = vec![lock(&self.session.graph).add(op, std::mem::take(&mut self.after))];
        Ok(())
    }
}

fn streams(session: &Session) -> MutexGuard<'_, Vec<Weak<StreamObject>>> {
    session.streams.lock().unwrap_or_else(|e| e.into_inner())
}

/// Begins a capture on a stream.
pub fn begin(
    stream: &Arc<StreamObject>,
    graph: SharedGraph,
    handle: usize,
    after: Vec<usize>,
) -> Result<(), Code> {
    let mut capture = stream.capture();
    if capture.is_some() {
        return Err(errors::ILLEGAL_STATE);
    }
    let session = Session {
        graph,
        handle,
        over: AtomicBool::new(false),
        invalid: AtomicBool::new(false),
        streams: Mutex::new(vec![Arc::downgrade(stream)]),
    };
    *capture = Some(Capture { session: Arc::new(session), after, origin: true });
    Ok(())
}

/// Lets a stream wait for an event that was recorded in a capture: it takes part from now on.
pub fn join(stream: &Arc<StreamObject>, event: &Capture) -> Result<(), Code> {
    if event.session.over.load(Ordering::Relaxed) {
        return Err(errors::CAPTURED_EVENT);
    }
    let mut capture = stream.capture();
    match capture.as_mut() {
        Some(own) if Arc::ptr_eq(&own.session, &event.session) => {
            own.after
                .extend(event.after.iter().filter(|n| !own.after.contains(n)).copied().collect::<Vec<_>>());
        }
        Some(own) => {
            own.session.invalid.store(true, Ordering::Relaxed);
            event.session.invalid.store(true, Ordering::Relaxed);
            return Err(errors::STREAM_CAPTURE_MERGE);
        }
        None => {
            streams(&event.session).push(Arc::downgrade(stream));
            *capture = Some(Capture { origin: false, ..event.clone() });
        }
    }
    Ok(())
}

/// Ends the capture of a stream and answers the graph's handle.
pub fn end(stream: &Arc<StreamObject>) -> Result<usize, Code> {
    let own = stream.capture().clone().ok_or(errors::ILLEGAL_STATE)?;
    if !own.origin {
        own.session.invalid.store(true, Ordering::Relaxed);
        return Err(errors::STREAM_CAPTURE_UNMATCHED);
    }
    own.session.over.store(true, Ordering::Relaxed);
    let others: Vec<_> = streams(&own.session).drain(..).filter_map(|s| s.upgrade()).collect();
    let parts: Vec<_> = others.iter().filter_map(|s| s.capture().take()).collect();
    if own.session.invalid.load(Ordering::Relaxed) {
        return Err(errors::STREAM_CAPTURE_INVALIDATED);
    }
    let joined = lock(&own.session.graph).ancestors(&own.after);
    if parts.iter().flat_map(|part| &part.after).any(|last| !joined.contains(last)) {
        return Err(errors::STREAM_CAPTURE_UNJOINED);
    }
    Ok(own.session.handle)
}

/// What cannot be captured ends the capture.
pub fn refuse(stream: &StreamObject) -> Result<(), Code> {
    if let Some(capture) = stream.capture().as_ref() {
        capture.session.invalid.store(true, Ordering::Relaxed);
        return Err(errors::STREAM_CAPTURE_UNSUPPORTED);
    }
    Ok(())
}
