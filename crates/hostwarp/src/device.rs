//! A device: memory, and the engines that work on it.

use crate::executor::Executor;
use crate::jit::llvm::Llvm;
use crate::jit::target::{Target, X86Level};
use crate::threads::Threads;
use crate::{Buffer, Cache, Effort, Error, Limits, Module, Options, Pod};
use hostwarp_interp::Heap;
use hostwarp_memory::{DEFAULT_CAPACITY, DeviceMemory};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A virtual GPU. Cheap to clone: clones share memory. Usable from many threads.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    memory: DeviceMemory,
    threads: Threads,
    llvm_path: Option<PathBuf>,
    /// Once it is found. What is not there now may be there later.
    llvm: OnceLock<Llvm>,
    cache: Option<Cache>,
    cpu: Option<X86Level>,
    effort: Option<Effort>,
    launches: AtomicU64,
    executor: Arc<Executor>,
    output: Option<Output>,
    printed: Mutex<VecDeque<u8>>,
    heap: Heap,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.executor.close();
    }
}

/// A function that takes what kernels print.
type Sink = dyn Fn(&[u8]) + Send + Sync;

/// Who gets what kernels print.
#[derive(Clone)]
struct Output(Arc<Sink>);

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}

/// Bytes of what kernels print that are kept until somebody asks, as many as CUDA keeps: of more the first are lost.
const KEPT_OUTPUT: usize = 1 << 20;

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

/// Settings of a [`Device`].
#[derive(Clone, Debug, Default)]
pub struct DeviceBuilder {
    memory: Option<u64>,
    at_host_addresses: bool,
    raw_pointers: bool,
    threads: Option<usize>,
    llvm: Option<PathBuf>,
    cache: Option<Cache>,
    cpu: Option<X86Level>,
    effort: Option<Effort>,
    output: Option<Output>,
    heap: Option<u64>,
}

impl DeviceBuilder {
    /// Bytes of device memory; 16 GiB, or what the host has if that is less, unless set. They are reserved, not used, until a kernel or a
    /// copy touches them.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Lets the host use device addresses, as programs do with managed memory: an allocation lies at the same address on both sides. Kernels reach no
    /// more than otherwise. There can be one such device in a process, on Linux only.
    pub fn at_host_addresses(mut self) -> Self {
        self.at_host_addresses = true;
        self
    }

    /// Device addresses are the host's, and kernels may use the host memory that [`DeviceMemory::expose`] is told of, an unsafe function: `ptx_run` of the
    /// drop-in `libgpuocelot.so` needs it. See docs/security.md. The device has 1 GiB of memory of its own unless [told otherwise](Self::memory).
    pub fn raw_pointers(mut self) -> Self {
        self.raw_pointers = true;
        self
    }

    /// Threads that run CTAs, the caller's among them; as many as cores unless set. The others are started by the first launch that needs
    /// them, and kept.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// The libLLVM to use for the fast engine; searched for unless set.
    pub fn llvm(mut self, path: impl Into<PathBuf>) -> Self {
        self.llvm = Some(path.into());
        self
    }

    /// Keeps compiled kernels in files, for other processes and later ones. A kernel found there runs without libLLVM. Nothing is kept
    /// unless this is set.
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Makes code for x86 CPUs of this step and uses nothing beyond it, whatever this CPU has. Bits do not depend on it; it is for tests and comparisons.
    pub fn cpu(mut self, level: X86Level) -> Self {
        self.cpu = Some(level);
        self
    }

    /// How much the compiler does for launches that [ask for the jit](crate::Engine::Jit) and do not [say so](crate::LaunchBuilder::effort) themselves: little
    /// at first, more when it pays, unless this is set.
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// Called with what kernels print (`vprintf`), from the threads that run them: once for each `printf`, with all of its text. Those of one thread of a kernel
    /// come in its order. Unless this is set the last MiB is kept for [`Device::printed`].
    ///
    /// ```
    /// # fn main() -> Result<(), hostwarp::Error> {
    /// let device = hostwarp::Device::builder().output(|text| print!("{}", String::from_utf8_lossy(text))).build()?;
    /// # let _ = device;
    /// # Ok(())
    /// # }
    /// ```
    pub fn output(mut self, output: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        self.output = Some(Output(Arc::new(output)));
        self
    }

    /// Bytes that kernels can have from `malloc`: 8 MiB unless set, as CUDA has it.
    pub fn heap(mut self, bytes: u64) -> Self {
        self.heap = Some(bytes);
        self
    }

    /// The device.
    pub fn build(self) -> Result<Device, Error> {
        let of_host = Limits::new().memory_limit();
        let memory = match self.memory {
            capacity if self.raw_pointers => DeviceMemory::raw_pointers(capacity.unwrap_or(1 << 30))?,
            capacity if self.at_host_addresses => {
                DeviceMemory::at_host_addresses(capacity.or((of_host < DEFAULT_CAPACITY).then_some(of_host)))?
            }
            Some(bytes) => DeviceMemory::with_capacity(bytes)?,
            // More than the host has would end the process when it is used.
            None if of_host < DEFAULT_CAPACITY => {
                DeviceMemory::with_capacity(of_host).or_else(|_| DeviceMemory::new())?
            }
            None => DeviceMemory::new()?,
        };
        let threads =
            self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        Ok(Device {
            inner: Arc::new(Inner {
                memory,
                threads: Threads::new(threads),
                llvm_path: self.llvm,
                llvm: OnceLock::new(),
                cache: self.cache,
                cpu: self.cpu,
                effort: self.effort,
                launches: AtomicU64::new(0),
                executor: Arc::default(),
                output: self.output,
                printed: Mutex::default(),
                heap: Heap::new(self.heap.unwrap_or(Heap::DEFAULT)),
            }),
        })
    }
}

impl Device {
    /// A device with default settings.
    pub fn new() -> Result<Device, Error> {
        Device::builder().build()
    }

    /// Settings first.
    pub fn builder() -> DeviceBuilder {
        DeviceBuilder::default()
    }

    /// Loads a PTX module. `name` is what messages call it: the file's name.
    pub fn load(&self, name: &str, ptx: impl AsRef<[u8]>) -> Result<Module, Error> {
        self.load_with(name, ptx, Options::default())
    }

    /// Loads a PTX module with options.
    pub fn load_with(&self, name: &str, ptx: impl AsRef<[u8]>, options: Options) -> Result<Module, Error> {
        self.load_within(name, ptx, options, &Limits::new())
    }

    /// Loads a PTX module within limits: reading, checking and lowering it count.
    pub fn load_within(
        &self,
        name: &str,
        ptx: impl AsRef<[u8]>,
        options: Options,
        limits: &Limits,
    ) -> Result<Module, Error> {
        Module::load(self, &[(name, ptx.as_ref())], options, limits)
    }

    /// Loads PTX modules that belong together, each with its name, as one: what one declares `.extern` is what another defines `.visible`, `.weak` or `.common`.
    ///
    /// ```
    /// let head = ".version 8.8\n.target sm_90\n.address_size 64\n";
    /// let a = format!("{head}.extern .global .u32 x;\n.entry k() {{ .reg .u32 r; mov.u32 r, 7; st.global.u32 [x], r; }}");
    /// let b = format!("{head}.visible .global .u32 x;");
    /// let device = hostwarp::Device::new()?;
    /// let module = device.link(&[("a.ptx", a.as_bytes()), ("b.ptx", b.as_bytes())], Default::default())?;
    /// module.kernel("k")?.launch().run()?;
    /// assert_eq!(module.read_symbol("x")?, [7, 0, 0, 0]);
    /// # Ok::<(), hostwarp::Error>(())
    /// ```
    pub fn link(&self, files: &[(&str, &[u8])], options: Options) -> Result<Module, Error> {
        self.link_within(files, options, &Limits::new())
    }

    /// As [`Device::link`], within limits.
    pub fn link_within(
        &self,
        files: &[(&str, &[u8])],
        options: Options,
        limits: &Limits,
    ) -> Result<Module, Error> {
        Module::load(self, files, options, limits)
    }

    /// A buffer of `len` zeros.
    pub fn buffer<T: Pod>(&self, len: usize) -> Result<Buffer<T>, Error> {
        Buffer::new(self, len, None)
    }

    /// A buffer of `len` zeros with a name, which messages about bad addresses use.
    pub fn buffer_named<T: Pod>(&self, name: &str, len: usize) -> Result<Buffer<T>, Error> {
        Buffer::new(self, len, Some(name))
    }

    /// A buffer with these elements.
    pub fn buffer_from<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.buffer(values.len())?;
        buffer.write(0, values)?;
        Ok(buffer)
    }

    /// Whether both are the same device: one a clone of the other.
    pub fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The device's memory.
    pub fn memory(&self) -> &DeviceMemory {
        &self.inner.memory
    }

    /// Threads that run CTAs unless a launch says otherwise.
    pub fn threads(&self) -> usize {
        self.inner.threads.count()
    }

    pub(crate) fn kept_threads(&self) -> &Threads {
        &self.inner.threads
    }

    pub(crate) fn executor(&self) -> &Arc<Executor> {
        &self.inner.executor
    }

    /// The libLLVM of the fast engine, or why there is none.
    pub fn llvm(&self) -> Result<Llvm, String> {
        if let Some(found) = self.inner.llvm.get() {
            return Ok(*found);
        }
        let found = Llvm::find(self.inner.llvm_path.as_deref()).map_err(|e| e.to_string())?;
        Ok(*self.inner.llvm.get_or_init(|| found))
    }

    /// The CPU that the fast engine makes code for, or why it makes none.
    pub fn target(&self) -> Result<Target, String> {
        let mut target = match self.inner.cpu {
            None => Target::host().ok_or("the jit does not know this CPU; use the interpreter")?,
            Some(level) => Target::host_up_to(level).ok_or_else(|| format!("this CPU has no {level}"))?,
        };
        target.base = self.memory().raw_view().global_base;
        Ok(target)
    }

    /// What launches make compiled code with, if they do not say.
    pub(crate) fn effort(&self) -> Option<Effort> {
        self.inner.effort
    }

    /// Where compiled kernels are kept, if anywhere.
    pub fn cache(&self) -> Option<&Cache> {
        self.inner.cache.as_ref()
    }

    /// What kernels have printed since this was last asked, the last MiB of it; nothing if [somebody else gets it](DeviceBuilder::output).
    pub fn printed(&self) -> Vec<u8> {
        let mut printed = self.inner.printed.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *printed).into()
    }

    /// Takes what a kernel prints.
    pub(crate) fn print(&self, text: &[u8]) {
        if let Some(Output(output)) = &self.inner.output {
            return output(text);
        }
        let mut printed = self.inner.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.extend(text);
        let more = printed.len().saturating_sub(KEPT_OUTPUT);
        printed.drain(..more);
    }

    /// What `malloc` of kernels has to give.
    pub(crate) fn heap(&self) -> &Heap {
        &self.inner.heap
    }

    pub(crate) fn next_launch(&self) -> u64 {
        self.inner.launches.fetch_add(1, Ordering::Relaxed)
    }
}
