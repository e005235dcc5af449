//! The one device of the process: its contexts, handles, allocations and errors.

use crate::driver::pool::Pools;
use crate::errors::{self, Code};
use crate::graph::{Capture, GraphExec, SharedGraph};
use crate::log;
use hostwarp::memory::FaultKind;
use hostwarp::memory::map::GLOBAL_BASE;
use hostwarp::{Device, Engine, Error, Event, Kernel, KernelFaultKind, Module, Profile, Stream};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

/// Everything there is of the process's device.
pub struct State {
    /// The library's device; its addresses are host addresses too.
    pub device: Device,
    /// Compute capability, major and minor.
    pub sm: (i32, i32),
    /// Whose bits.
    pub profile: Profile,
    /// Which engine runs the kernels: `HOSTWARP_ENGINE`.
    pub engine: Engine,
    /// Whether reliance on what PTX leaves open is an error: `HOSTWARP_STRICT`.
    pub strict: bool,
    /// The file that gets a line of JSON for each launch, counted on the interpreter: `HOSTWARP_STATS`.
    pub stats: Option<PathBuf>,
    /// Bytes of device memory in all.
    pub capacity: u64,
    /// Whether allocations end where a GPU's do, not where the program asked.
    pad: bool,
    objects: RwLock<HashMap<usize, Object>>,
    next: AtomicUsize,
    /// The error that a fault has left for all calls to come; 0 if there is none.
    sticky: AtomicI32,
    null: RwLock<Arc<StreamObject>>,
    /// All streams, to wait for.
    streams: Mutex<Vec<std::sync::Weak<StreamObject>>>,
    /// Those that were destroyed with something under way, which others wait for all the same.
    leaving: Mutex<Vec<Arc<StreamObject>>>,
    /// Queuing on the default stream orders it with the others; one at a time.
    order: Mutex<()>,
    memory: Mutex<Memory>,
    /// What was linked last, for who loads it.
    linked: Mutex<Option<(Vec<u8>, Module)>>,
    /// The primary context's handle and how often it is retained.
    pub primary: Mutex<Primary>,
}

/// The primary context.
#[derive(Default)]
pub struct Primary {
    /// Its handle once there is one.
    pub handle: usize,
    /// How often it is retained.
    pub retained: usize,
    /// Its flags.
    pub flags: u32,
}

/// What a handle stands for.
#[derive(Clone)]
pub enum Object {
    /// A context.
    Context(Arc<ContextObject>),
    /// A module or a library.
    Module(Arc<ModuleObject>),
    /// A kernel, of either.
    Kernel(Arc<KernelObject>),
    /// A stream.
    Stream(Arc<StreamObject>),
    /// An event.
    Event(Arc<EventObject>),
    /// A graph.
    Graph(SharedGraph),
    /// A graph that can be launched.
    GraphExec(Arc<Mutex<GraphExec>>),
    /// Something of the program's that graphs refer to.
    User(Arc<crate::driver::UserObject>),
    /// An array.
    Array(Arc<crate::driver::ArrayObject>),
    /// A linker.
    Linker(Arc<Mutex<crate::driver::link::Linker>>),
}

/// A context: a name for who owns what.
pub struct ContextObject {
    /// Its flags.
    pub flags: AtomicU32,
    /// Limits set with `cuCtxSetLimit`.
    pub limits: Mutex<HashMap<i32, usize>>,
}

/// A loaded module.
pub struct ModuleObject {
    /// The library's module.
    pub module: Module,
    /// Handles of kernels given out so far, by name.
    pub kernels: Mutex<HashMap<String, usize>>,
    /// Where constants lie in device memory: kernels read the bank, programs copy here.
    pub constants: Mutex<HashMap<String, u64>>,
    /// The context it was loaded in; 0 for libraries.
    pub context: usize,
}

/// A kernel with what was set for it.
pub struct KernelObject {
    /// The library's kernel.
    pub kernel: Kernel,
    /// Its module's handle.
    pub module: usize,
    /// Dynamic shared memory it may ask for.
    pub max_dynamic: AtomicI32,
    /// Preferred shared memory, as set.
    pub carveout: AtomicI32,
    /// What the functions of before CUDA 4 have set for the next launch.
    pub old: Mutex<OldLaunch>,
}

/// A launch as the functions of before CUDA 4 put it together.
#[derive(Default)]
pub struct OldLaunch {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory.
    pub shared: u32,
    /// The parameter block.
    pub params: Vec<u8>,
}

/// A stream.
pub struct StreamObject {
    /// The library's stream.
    pub stream: Stream,
    /// Its flags; 1: does not wait for the default stream.
    pub flags: u32,
    /// Its priority.
    pub priority: i32,
    /// A number of its own.
    pub id: u64,
    /// The graph that what is queued goes to instead, while it captures.
    capture: Mutex<Option<Capture>>,
}

/// An event.
pub struct EventObject {
    /// The library's event.
    pub event: Event,
    /// Its flags; 2: no times.
    pub flags: u32,
    /// Where it was recorded in a capture.
    pub captured: Mutex<Option<Capture>>,
}

/// What an allocation is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    /// The device.
    Device,
    /// Page-locked host memory.
    Host,
    /// Managed memory.
    Managed,
    /// The shadow of a constant.
    Constant,
    /// The elements of an array.
    Array,
    /// The device, as long as the graph that allocates it is there.
    Graph,
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// Its size as asked for.
    pub size: u64,
    /// What it is for.
    pub kind: MemoryKind,
    /// The context it belongs to.
    pub context: usize,
    /// A number of its own.
    pub id: u64,
    /// The pool it is from; 0 if none.
    pub pool: usize,
}

/// Host memory that is registered.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// Its size.
    pub size: u64,
    /// The flags it was registered with.
    pub flags: u32,
    /// Whether kernels can use it.
    pub mapped: bool,
    /// A number of its own, as an allocation has.
    pub id: u64,
    /// The context it belongs to.
    pub context: usize,
}

/// What a program has said about managed memory.
#[derive(Clone)]
pub struct Advice {
    /// It is mostly read.
    pub read_mostly: bool,
    /// Where it should be.
    pub preferred: i32,
    /// Who uses it.
    pub accessed: Vec<i32>,
    /// Where it was fetched to last.
    pub prefetched: i32,
}

#[derive(Default)]
struct Memory {
    live: BTreeMap<u64, Allocation>,
    constants: HashMap<u64, (std::sync::Weak<ModuleObject>, String)>,
    registered: BTreeMap<u64, Registered>,
    count: u64,
    pools: Pools,
    advice: HashMap<u64, Advice>,
}

static STATE: OnceLock<State> = OnceLock::new();
/// Held while the device is made: whether it could not be.
static FAILED: Mutex<bool> = Mutex::new(false);

thread_local! {
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(vec![]) };
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
    static OWN_STREAM: RefCell<Option<Arc<StreamObject>>> = const { RefCell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Runs a call whose default stream is the calling thread's own.
pub fn with_per_thread_default<T>(call: impl FnOnce() -> T) -> T {
    let before = PER_THREAD.replace(true);
    let result = call();
    PER_THREAD.set(before);
    result
}

/// Makes the device, once. Where there was not enough of something, the next call tries again.
pub fn init() -> Result<&'static State, Code> {
    if let Some(state) = STATE.get() {
        return Ok(state);
    }
    let mut failed = lock(&FAILED);
    match STATE.get().map_or_else(|| State::new().map(Some), |_| Ok(None)) {
        Ok(made) => {
            *failed = false;
            if let Some(made) = made {
                _ = STATE.set(made);
            }
            STATE.get().ok_or(errors::NO_DEVICE)
        }
        Err(why) => {
            *failed = true;
            log::explain(&format!("there is no device: {why}"));
            Err(errors::NO_DEVICE)
        }
    }
}

/// The device, if `cuInit` has been called.
pub fn state() -> Result<&'static State, Code> {
    match STATE.get() {
        Some(state) => Ok(state),
        None if *lock(&FAILED) => Err(errors::NO_DEVICE),
        None => Err(errors::NOT_INITIALIZED),
    }
}

/// The device, where the calling thread has a context and no fault has ended it.
pub fn ready() -> Result<&'static State, Code> {
    let state = state()?;
    current().ok_or(errors::INVALID_CONTEXT)?;
    state.check()?;
    Ok(state)
}

/// The calling thread's context.
pub fn current() -> Option<usize> {
    CONTEXTS.with_borrow(|stack| stack.last().copied()).filter(|&c| c != 0)
}

/// Changes the calling thread's stack of contexts.
pub fn contexts<T>(change: impl FnOnce(&mut Vec<usize>) -> T) -> T {
    CONTEXTS.with_borrow_mut(change)
}

fn parse_sm() -> (i32, i32) {
    let text = std::env::var("HOSTWARP_SM").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    match digits.parse::<i32>() {
        Ok(n) if (10..1000).contains(&n) => (n / 10, n % 10),
        _ => (9, 0),
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let scale = match unit.trim_end_matches(['b', 'B', 'i']) {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << scale)
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0")
}

impl State {
    fn new() -> Result<State, Error> {
        let mut builder = Device::builder().at_host_addresses();
        if let Some(bytes) = std::env::var("HOSTWARP_MEMORY").ok().as_deref().and_then(parse_size) {
            builder = builder.memory(bytes);
        }
        if let Some(n) = std::env::var("HOSTWARP_THREADS").ok().and_then(|n| n.parse().ok()) {
            builder = builder.threads(n);
        }
        // What kernels print goes where the program's own output goes. Nothing can be done if that fails.
        let device = builder.output(|text| _ = std::io::stdout().write_all(text)).build()?;
        let null = Arc::new(StreamObject::new(&device, 0, 0, 0));
        let profile = match std::env::var("HOSTWARP_PROFILE").as_deref() {
            Ok("sm_90") => Profile::Sm90,
            _ => Profile::default(),
        };
        let engine = match std::env::var("HOSTWARP_ENGINE").as_deref() {
            Ok("interp") => Engine::Interp,
            Ok("jit") => Engine::Jit,
            _ => Engine::Auto,
        };
        Ok(State {
            capacity: device.memory().info().capacity,
            device,
            pad: is_set("HOSTWARP_PAD"),
            strict: is_set("HOSTWARP_STRICT"),
            stats: std::env::var_os("HOSTWARP_STATS").filter(|v| !v.is_empty()).map(PathBuf::from),
            sm: parse_sm(),
            profile,
            engine,
            objects: RwLock::default(),
            next: AtomicUsize::new(0x10),
            sticky: AtomicI32::new(0),
            null: RwLock::new(null),
            streams: Mutex::default(),
            leaving: Mutex::default(),
            order: Mutex::default(),
            memory: Mutex::default(),
            linked: Mutex::default(),
            primary: Mutex::default(),
        })
    }

    // Handles.

    /// A handle for something.
    pub fn insert(&self, object: Object) -> usize {
        // Aligned like pointers, and clear of the numbers that stand for default streams.
        let handle = self.next.fetch_add(1, Ordering::Relaxed) * 0x100;
        self.objects.write().unwrap_or_else(|e| e.into_inner()).insert(handle, object);
        handle
    }

    /// Forgets a handle.
    pub fn remove(&self, handle: usize) -> Option<Object> {
        self.objects.write().unwrap_or_else(|e| e.into_inner()).remove(&handle)
    }

    /// What a handle stands for.
    pub fn object(&self, handle: usize) -> Option<Object> {
        self.objects.read().unwrap_or_else(|e| e.into_inner()).get(&handle).cloned()
    }

    /// The context of a handle.
    pub fn context(&self, handle: usize) -> Result<Arc<ContextObject>, Code> {
        match self.object(handle) {
            Some(Object::Context(c)) => Ok(c),
            _ => Err(errors::INVALID_CONTEXT),
        }
    }

    /// The module of a handle.
    pub fn module(&self, handle: usize) -> Result<Arc<ModuleObject>, Code> {
        match self.object(handle) {
            Some(Object::Module(m)) => Ok(m),
            _ => Err(errors::INVALID_HANDLE),
        }
    }

    /// The kernel of a handle.
    pub fn kernel(&self, handle: usize) -> Result<Arc<KernelObject>, Code> {
        match self.object(handle) {
            Some(Object::Kernel(k)) => Ok(k),
            _ => Err(errors::INVALID_HANDLE),
        }
    }

    /// The event of a handle.
    pub fn event(&self, handle: usize) -> Result<Arc<EventObject>, Code> {
        match self.object(handle) {
            Some(Object::Event(e)) => Ok(e),
            _ => Err(errors::INVALID_HANDLE),
        }
    }

    /// The graph of a handle.
    pub fn graph(&self, handle: usize) -> Result<SharedGraph, Code> {
        match self.object(handle) {
            Some(Object::Graph(g)) => Ok(g),
            _ => Err(errors::INVALID_VALUE),
        }
    }

    /// The graph that has a node, and its handle.
    pub fn graph_of(&self, node: usize) -> Result<(usize, SharedGraph), Code> {
        let objects = self.objects.read().unwrap_or_else(|e| e.into_inner());
        let found = objects.iter().find_map(|(handle, object)| match object {
            Object::Graph(graph) if crate::graph::lock(graph).node(node).is_some() => {
                Some((*handle, graph.clone()))
            }
            _ => None,
        });
        found.ok_or(errors::INVALID_VALUE)
    }

    /// Keeps a module that was linked: as a rule the same image is loaded next.
    pub fn keep_linked(&self, image: Vec<u8>, module: Module) {
        *lock(&self.linked) = Some((image, module));
    }

    /// The module of an image, if it was linked last and is not loaded yet.
    pub fn take_linked(&self, image: &[u8]) -> Option<Module> {
        Some(lock(&self.linked).take_if(|(kept, _)| kept == image)?.1)
    }

    // Streams.

    /// The stream of a handle: 0 is the default one, 1 the one all wait for, 2 the calling thread's.
    pub fn stream(&self, handle: usize) -> Result<Arc<StreamObject>, Code> {
        match handle {
            0 if !PER_THREAD.get() => Ok(self.null()),
            1 => Ok(self.null()),
            0 | 2 => Ok(self.own_stream()),
            _ => match self.object(handle) {
                Some(Object::Stream(s)) => Ok(s),
                _ => Err(errors::INVALID_HANDLE),
            },
        }
    }

    fn null(&self) -> Arc<StreamObject> {
        self.null.read().unwrap_or_else(|e| e.into_inner()).clone()
    }

    fn own_stream(&self) -> Arc<StreamObject> {
        OWN_STREAM.with_borrow_mut(|own| match own {
            Some(stream) if stream.stream.error().is_none() => stream.clone(),
            _ => own.insert(self.new_stream(0, 0)).clone(),
        })
    }

    /// A new stream.
    pub fn new_stream(&self, flags: u32, priority: i32) -> Arc<StreamObject> {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let id = COUNT.fetch_add(1, Ordering::Relaxed) as u64;
        let stream = Arc::new(StreamObject::new(&self.device, flags, priority, id));
        let mut streams = lock(&self.streams);
        streams.retain(|s| s.strong_count() > 0);
        streams.push(Arc::downgrade(&stream));
        stream
    }

    /// Queues work with the order that default streams have: what is queued on the default stream comes after everything in blocking streams, and
    /// they after it.
    pub fn queue(&self, on: &Arc<StreamObject>, work: impl FnOnce() -> Result<(), Error> + Send + 'static) {
        let _one = lock(&self.order);
        self.order(on);
        on.stream.enqueue(move || {
            let done = work();
            if let Err(error) = &done
                && let Ok(state) = state()
            {
                state.fail(error);
            }
            done
        });
    }

    /// Does something on a stream that takes no time, and then lets it wait for an event.
    pub fn queue_then_wait(
        &self,
        on: &Arc<StreamObject>,
        begin: impl FnOnce() + Send + 'static,
        until: &Event,
    ) {
        let _one = lock(&self.order);
        self.order(on);
        on.stream.enqueue(move || {
            begin();
            Ok(())
        });
        on.stream.wait(until);
    }

    /// Records an event with the same order.
    pub fn mark(&self, on: &Arc<StreamObject>, event: &Event) {
        let _one = lock(&self.order);
        self.order(on);
        on.stream.record(event);
    }

    fn order(&self, on: &Arc<StreamObject>) {
        let null = self.null();
        if Arc::ptr_eq(on, &null) {
            let others: Vec<_> = lock(&self.streams).iter().filter_map(std::sync::Weak::upgrade).collect();
            for other in others.iter().filter(|s| s.flags & 1 == 0 && !s.stream.is_idle()) {
                let event = Event::new();
                other.stream.record(&event);
                null.stream.wait(&event);
            }
        } else if on.flags & 1 == 0 && !null.stream.is_idle() {
            let event = Event::new();
            null.stream.record(&event);
            on.stream.wait(&event);
        }
    }

    /// Waits for a stream.
    pub fn wait(&self, on: &StreamObject) -> Result<(), Code> {
        let done = on.stream.synchronize();
        self.check()?;
        done.map_err(|e| code_of(&e))
    }

    /// Waits for everything.
    pub fn wait_all(&self) -> Result<(), Code> {
        let streams: Vec<_> = lock(&self.streams).iter().filter_map(std::sync::Weak::upgrade).collect();
        for stream in &streams {
            let _ = stream.stream.synchronize();
        }
        let _ = self.null().stream.synchronize();
        lock(&self.leaving).retain(|s| !s.stream.is_idle());
        self.check()
    }

    /// A stream's handle means nothing any more; what is under way goes on.
    pub fn leave(&self, stream: Arc<StreamObject>) {
        let mut leaving = lock(&self.leaving);
        leaving.retain(|s| !s.stream.is_idle());
        if !stream.stream.is_idle() {
            leaving.push(stream);
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        let streams: Vec<_> = lock(&self.streams).iter().filter_map(std::sync::Weak::upgrade).collect();
        streams.iter().all(|s| s.stream.is_idle()) && self.null().stream.is_idle()
    }

    // Errors.

    /// The error that a fault has left.
    pub fn check(&self) -> Result<(), Code> {
        match self.sticky.load(Ordering::Acquire) {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// Keeps an error for all calls to come, and explains it.
    pub fn fail(&self, error: &Error) {
        let code = code_of(error);
        if self.sticky.compare_exchange(0, code.0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            log::explain(&error.to_string());
        }
    }

    /// Begins anew after a fault: the streams that had it are dead.
    pub fn reset(&self) {
        // Who waits for a value would wait for good.
        crate::driver::release_all();
        let _ = self.wait_all();
        *self.null.write().unwrap_or_else(|e| e.into_inner()) =
            Arc::new(StreamObject::new(&self.device, 0, 0, 0));
        self.sticky.store(0, Ordering::Release);
    }

    // Memory.

    /// Allocates for the calling thread's context.
    pub fn alloc(&self, size: u64, align: u64, kind: MemoryKind) -> Result<u64, Code> {
        self.alloc_from(size, align, kind, 0)
    }

    /// Allocates out of a pool, unless that is 0.
    pub fn alloc_from(&self, size: u64, align: u64, kind: MemoryKind, pool: usize) -> Result<u64, Code> {
        if size == 0 {
            return Err(errors::INVALID_VALUE);
        }
        lock(&self.memory).pools.room(pool, size)?;
        // A GPU hands out memory in pieces of 512 bytes and finds nothing wrong within one.
        let whole = if self.pad { size.next_multiple_of(512) } else { size };
        let address = match self.device.memory().alloc_with(whole, align.max(512), None) {
            Ok(address) => address,
            // What is freed behind kernels may be enough.
            Err(_) => {
                self.wait_all()?;
                let again = self.device.memory().alloc_with(whole, align.max(512), None);
                again.map_err(|_| errors::OUT_OF_MEMORY)?
            }
        };
        let mut memory = lock(&self.memory);
        memory.count += 1;
        let id = memory.count;
        memory.pools.took(pool, size);
        memory.live.insert(address, Allocation { size, kind, context: current().unwrap_or(0), id, pool });
        Ok(address)
    }

    /// Frees at once.
    pub fn free(&self, address: u64) -> Result<(), Code> {
        let mut memory = lock(&self.memory);
        let removed = memory.live.remove(&address).ok_or(errors::INVALID_VALUE)?;
        memory.pools.gave_back(removed.pool, removed.size);
        memory.advice.remove(&address);
        drop(memory);
        self.device.memory().free(address).map_err(|_| errors::INVALID_VALUE)
    }

    /// Frees what a program is done with; what belongs to a graph stays for its next launch.
    pub fn release(&self, address: u64) {
        if self.allocation(address).is_some_and(|(_, found)| found.kind != MemoryKind::Graph) {
            let _ = self.free(address);
        }
    }

    /// Reads or changes what was said about an allocation of managed memory.
    pub fn advice<T>(&self, base: u64, with: impl FnOnce(&mut Advice) -> T) -> T {
        with(lock(&self.memory).advice.entry(base).or_default())
    }

    /// The pools of memory.
    pub fn pools<T>(&self, with: impl FnOnce(&mut Pools) -> T) -> T {
        with(&mut lock(&self.memory).pools)
    }

    /// Frees everything of a context.
    pub fn free_all(&self, context: usize) {
        let of_it: Vec<u64> = lock(&self.memory)
            .live
            .iter()
            .filter(|(_, a)| {
                a.context == context && !matches!(a.kind, MemoryKind::Constant | MemoryKind::Graph)
            })
            .map(|(address, _)| *address)
            .collect();
        for address in of_it {
            let _ = self.free(address);
        }
        let registered: Vec<u64> = lock(&self.memory)
            .registered
            .iter()
            .filter(|(_, r)| r.context == context)
            .map(|(address, _)| *address)
            .collect();
        for address in registered {
            let _ = self.unregister(address);
        }
    }

    /// The allocation around an address.
    pub fn allocation(&self, address: u64) -> Option<(u64, Allocation)> {
        let memory = lock(&self.memory);
        let (base, found) = memory.live.range(..=address).next_back()?;
        (address < base + found.size.max(1)).then_some((*base, *found))
    }

    /// Whether an address is one of the device's.
    pub fn is_device(&self, address: u64) -> bool {
        address.wrapping_sub(GLOBAL_BASE) < self.capacity
    }

    /// Makes host memory page-locked and lets kernels use it.
    ///
    /// # Safety
    /// It can be read and written until it is unregistered.
    pub unsafe fn register(&self, address: u64, size: u64, flags: u32) -> Result<(), Code> {
        let end = address.checked_add(size).ok_or(errors::INVALID_VALUE)?;
        let mut memory = lock(&self.memory);
        let overlaps = memory.registered.range(..end).next_back().is_some_and(|(a, r)| a + r.size > address);
        let own = memory.live.range(..end).next_back();
        if overlaps || own.is_some_and(|(a, found)| a + found.size > address) {
            return Err(errors::HOST_MEMORY_ALREADY_REGISTERED);
        }
        // SAFETY: the caller's promise; nobody is told of the memory after it has been unregistered, which waits for kernels.
        let mapped = unsafe { self.device.memory().map_foreign(address, size, "registered host memory") };
        if let Err(why) = &mapped {
            log::explain(&why.to_string());
        }
        let context = current().unwrap_or(0);
        memory.count += 1;
        let found = Registered { size, flags, mapped: mapped.is_ok(), id: memory.count, context };
        memory.registered.insert(address, found);
        Ok(())
    }

    /// Takes that back. Nothing under way may use it any more.
    pub fn unregister(&self, address: u64) -> Result<(), Code> {
        let mut memory = lock(&self.memory);
        let found = memory.registered.remove(&address).ok_or(errors::HOST_MEMORY_NOT_REGISTERED)?;
        match found.mapped {
            true => self.device.memory().unmap_foreign(address).map_err(|_| errors::UNKNOWN),
            false => Ok(()),
        }
    }

    /// The registered host memory around an address.
    pub fn registered(&self, address: u64) -> Option<(u64, Registered)> {
        let memory = lock(&self.memory);
        let (base, found) = memory.registered.range(..=address).next_back()?;
        (address - base < found.size).then_some((*base, *found))
    }

    /// Whether copies may use the host's memory while the host goes on.
    pub fn is_pinned(&self, address: u64) -> bool {
        self.is_device(address) || self.registered(address).is_some()
    }

    /// Keeps the place of a constant's shadow.
    pub fn shadow(&self, address: u64, of: &Arc<ModuleObject>, name: &str) {
        lock(&self.memory).constants.insert(address, (Arc::downgrade(of), name.to_string()));
    }

    /// What was written to a constant's shadow goes to the bank that kernels read.
    pub fn update_constant(&self, address: u64, len: u64) -> Result<(), Error> {
        let found = {
            let memory = lock(&self.memory);
            if memory.constants.is_empty() {
                return Ok(());
            }
            let Some((base, _)) = memory.live.range(..=address + len.max(1) - 1).next_back() else {
                return Ok(());
            };
            memory.constants.get(base).map(|(module, name)| (*base, module.clone(), name.clone()))
        };
        if let Some((base, module, name)) = found
            && let Some(module) = module.upgrade()
        {
            let mut bytes = vec![0; module.module.symbol(&name)?.size as usize];
            self.device.memory().read(base, &mut bytes)?;
            module.module.write_symbol(&name, &bytes)?;
        }
        Ok(())
    }
}

impl StreamObject {
    fn new(device: &Device, flags: u32, priority: i32, id: u64) -> StreamObject {
        StreamObject { stream: device.stream(), flags, priority, id, capture: Mutex::default() }
    }

    /// The capture it takes part in.
    pub fn capture(&self) -> MutexGuard<'_, Option<Capture>> {
        lock(&self.capture)
    }
}

/// The code for an error of the library's.
pub fn code_of(error: &Error) -> Code {
    match error {
        Error::Input(_) => errors::INVALID_PTX,
        Error::Launch(_) => errors::INVALID_VALUE,
        Error::Memory(hostwarp::MemoryError::OutOfDeviceMemory { .. }) => errors::OUT_OF_MEMORY,
        Error::Memory(_) => errors::INVALID_VALUE,
        Error::Unsupported { .. } => errors::NOT_SUPPORTED,
        Error::Limit { exceeded: hostwarp::Exceeded::Memory { .. }, .. } => errors::OUT_OF_MEMORY,
        Error::Limit { .. } => errors::LAUNCH_TIMEOUT,
        Error::Bug(_) => errors::UNKNOWN,
        Error::Fault(fault) => match &fault.kind {
            KernelFaultKind::Memory(fault) => match fault.kind {
                FaultKind::Misaligned { .. } => errors::MISALIGNED_ADDRESS,
                FaultKind::WrongSpace { .. } => errors::INVALID_ADDRESS_SPACE,
                _ => errors::ILLEGAL_ADDRESS,
            },
            KernelFaultKind::Assert(_) => errors::ASSERT,
            KernelFaultKind::BadCall | KernelFaultKind::BadReturn => errors::INVALID_PC,
            KernelFaultKind::StackOverflow => errors::HARDWARE_STACK_ERROR,
            KernelFaultKind::MissingLanes => errors::ILLEGAL_INSTRUCTION,
            KernelFaultKind::Deadlock { .. } | KernelFaultKind::OutOfFuel | KernelFaultKind::Timeout => {
                errors::LAUNCH_TIMEOUT
            }
            KernelFaultKind::OutOfMemory(_) => errors::OUT_OF_MEMORY,
            KernelFaultKind::BadBarrier { .. } => errors::ILLEGAL_INSTRUCTION,
            KernelFaultKind::Unsupported(_) => errors::NOT_SUPPORTED,
            _ => errors::LAUNCH_FAILED,
        },
    }
}
