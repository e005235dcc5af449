//! libLLVM, opened at run time, as one pure function: [`Llvm::compile`], from IR text to a relocatable object.
//!
//! Only the C interface is used, and only what is the same from LLVM 15 on. A library once opened stays open: LLVM keeps
//! process-wide state that does not survive being unloaded.

mod api;
mod ending;
mod search;

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, mpsc};

use crate::engine::MOST_STACK;
use crate::target::{Arch, Target};
use api::Api;
pub use ending::{FirstUse, wait_at_end, wait_for_first_use};
pub use search::NotFound;

/// The oldest LLVM that takes the text we write (opaque pointers).
pub const OLDEST: u32 = 15;

/// An opened libLLVM. Cheap to copy, usable from any thread.
#[derive(Clone, Copy)]
pub struct Llvm {
    library: &'static Library,
}

struct Library {
    api: Api,
    path: PathBuf,
    version: Version,
}

/// A version of LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 19 in 19.1.7.
    pub major: u32,
    /// 1 in 19.1.7. Zero where the library cannot tell (15).
    pub minor: u32,
    /// 7 in 19.1.7. Zero where the library cannot tell (15).
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == (Version { major: OLDEST, minor: 0, patch: 0 }) {
            return write!(f, "{OLDEST}"); // it has no LLVMGetVersion, so no more is known
        }
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// How hard to work on a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tier {
    /// A pass pipeline in `opt`'s notation; empty for none.
    pub passes: String,
    /// The effort of instruction selection and scheduling.
    pub codegen: Codegen,
}

/// The effort of instruction selection and scheduling, LLVM's -O0 to -O3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Codegen {
    /// -O0
    None = 0,
    /// -O1
    Less = 1,
    /// -O2
    Default = 2,
    /// -O3
    Aggressive = 3,
}

impl Tier {
    /// Nothing: a third of what [`Tier::light`] takes, and less. Code keeps nothing in registers from block to block. What lives longer is better left
    /// in memory then: as values that blocks hand on it would be copied from one place to another at every turn.
    pub fn quick() -> Tier {
        Tier { passes: String::new(), codegen: Codegen::None }
    }

    /// A few cheap passes: milliseconds for most kernels, and within a tenth of the best code.
    pub fn light() -> Tier {
        Tier { passes: "sroa,early-cse,instcombine,simplifycfg".into(), codegen: Codegen::Less }
    }

    /// LLVM's own -O2, without its vectorisers (the text is vector code already). For rolled loops that run long.
    pub fn full() -> Tier {
        Tier { passes: "default<O2>".into(), codegen: Codegen::Default }
    }
}

impl Tier {
    /// The pipeline as this version of LLVM wants it: from 18 on `instcombine`, named alone, ends the process when one more
    /// round of it would find something to do.
    fn for_version(&self, version: Version) -> Tier {
        let mut tier = self.clone();
        if version.major >= 18 {
            let words = tier.passes.split(',').map(|pass| match pass {
                "instcombine" => "instcombine<no-verify-fixpoint>",
                other => other,
            });
            tier.passes = words.collect::<Vec<_>>().join(",");
        }
        tier
    }
}

/// One line that holds everything about the tier that can change the object made: part of a cache key.
impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "O{} {}", self.codegen as i32, self.passes)
    }
}

/// A relocatable ELF object, as LLVM wrote it; [`crate::object::Loaded::new`] makes it callable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object(pub Vec<u8>);

/// Why LLVM made no object. Whatever the cause, it is a fault of the text we wrote or of the library, not of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// How far it came.
    pub stage: Stage,
    /// LLVM's own words.
    pub message: String,
}

/// A step of [`Llvm::compile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Starting a thread to compile on. Another time there may be one.
    Thread,
    /// Making a target machine for the CPU.
    Target,
    /// Reading the text.
    Parse,
    /// Checking the module.
    Verify,
    /// Running the pass pipeline.
    Passes,
    /// Selecting instructions and writing the object.
    Codegen,
    /// LLVM met what it calls a fatal error. The thread that was compiling is parked for good.
    Fatal,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Thread => "no thread to compile on",
            Stage::Target => "LLVM does not know the target CPU",
            Stage::Parse => "LLVM could not read the generated code",
            Stage::Verify => "LLVM refused the generated code",
            Stage::Passes => "LLVM's optimiser failed",
            Stage::Codegen => "LLVM's code generator failed",
            Stage::Fatal => "LLVM gave up",
        };
        write!(f, "{stage}: {}", self.message.trim_end())
    }
}

impl std::error::Error for CompileError {}

impl fmt::Debug for Llvm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LLVM {} ({})", self.version(), self.path().display())
    }
}

/// A pipeline over vectors of pointers recurses deeply in instruction selection; the pages are only touched when used.
const COMPILE_STACK: usize = 256 << 20;

impl Llvm {
    /// Opens the library at `path` (a file, or a bare name for the system's loader). The error says why it will not do.
    pub fn open(path: &Path) -> Result<Llvm, String> {
        static OPENED: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());
        let mut opened = OPENED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(library) = opened.iter().find(|library| library.path == path) {
            return Ok(Llvm { library });
        }
        let _wait = ending::Work::begin().ok_or("the process is ending")?;
        let (api, version) = api::open(path)?;
        ending::watch();
        let library: &'static Library = Box::leak(Box::new(Library { api, path: path.to_owned(), version }));
        // SAFETY: the handler is a plain function of the expected signature that lives as long as the process.
        unsafe { (library.api.install_fatal_error_handler)(on_fatal_error) };
        library.api.initialize_targets();
        warm_up(&library.api, version);
        ending::watch();
        ending::is_warm();
        opened.push(library);
        Ok(Llvm { library })
    }

    /// Opens the first usable library on this machine, preferring the versions Hostwarp is tested with. Given a path, that one or none.
    pub fn find(explicit: Option<&Path>) -> Result<Llvm, NotFound> {
        search::find(explicit)
    }

    /// The version of the library.
    pub fn version(self) -> Version {
        self.library.version
    }

    /// What it was opened as.
    pub fn path(self) -> &'static Path {
        &self.library.path
    }

    /// Compiles IR text for a target: a pure function, safe to call from many threads at once.
    ///
    /// The text must name no triple and no data layout; both come from `target`, and so do the CPU attributes of every function.
    ///
    /// The work is done on a thread of its own, for two reasons: LLVM recurses deeply, and its fatal errors end the process when
    /// their handler returns, so ours never returns: it reports the error and parks the thread.
    pub fn compile(self, text: &str, target: &Target, tier: &Tier) -> Result<Object, CompileError> {
        ending::is_warm();
        let fatal = |message: String| CompileError { stage: Stage::Fatal, message };
        let ending = || fatal("the process is ending".into());
        let _wait = ending::Work::begin().ok_or_else(ending)?;
        let (report, result) = mpsc::channel();
        let (text, target, tier) = (text.to_owned(), target.clone(), tier.for_version(self.version()));
        let work = move || {
            REPORT.set(Some(report.clone()));
            let made = compile_here(&self.library.api, &text, &target, &tier);
            REPORT.set(None);
            // The receiver only goes away when its thread does; there is nobody left to tell then.
            let _ = report.send(made);
        };
        let thread = std::thread::Builder::new().name("hostwarp-llvm".into()).stack_size(COMPILE_STACK);
        let thread = hostwarp_system::thread::spawn(thread, work)
            .map_err(|e| CompileError { stage: Stage::Thread, message: e.to_string() })?;
        let made = result.recv().unwrap_or_else(|_| Err(fatal("the compiling thread ended early".into())));
        if !matches!(&made, Err(e) if e.stage == Stage::Fatal) {
            // What it has of LLVM's goes with it, and should have gone before the process ends.
            let _ = thread.join();
        }
        made
    }
}

type Report = mpsc::Sender<Result<Object, CompileError>>;

thread_local! {
    /// Where a fatal error on this thread is to be told.
    static REPORT: Cell<Option<Report>> = const { Cell::new(None) };
}

/// LLVM calls this, holding no lock of its own, and ends the process if it returns.
extern "C" fn on_fatal_error(reason: *const c_char) {
    let Some(report) = REPORT.take() else { return };
    let message = if reason.is_null() {
        String::from("no reason given")
    } else {
        // SAFETY: LLVM passes a terminated string that lives until this handler returns.
        unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned()
    };
    let _ = report.send(Err(CompileError { stage: Stage::Fatal, message }));
    drop(report);
    loop {
        std::thread::park();
    }
}

/// What LLVM reports about the module while it works on it.
#[derive(Default)]
struct Diagnostics(RefCell<Vec<String>>);

struct DiagnosticSink<'a> {
    api: &'a Api,
    errors: Diagnostics,
}

extern "C" fn on_diagnostic(info: api::Diagnostic, sink: *mut c_void) {
    // SAFETY: `sink` is the `DiagnosticSink` that `compile_here` gave to the context and keeps alive longer than it.
    let sink = unsafe { &*sink.cast::<DiagnosticSink<'_>>() };
    // SAFETY: `info` is valid for the time of this call; the description is ours to free.
    let (severity, description) = unsafe {
        let severity = (sink.api.get_diag_info_severity)(info);
        (severity, sink.api.take_message((sink.api.get_diag_info_description)(info)))
    };
    let too_much = severity == api::SEVERITY_WARNING && description.contains("stack frame size");
    let error = match severity {
        api::SEVERITY_ERROR => description,
        _ if too_much => {
            let what = description.trim_start_matches("<unknown>:0:0: ");
            format!("too much is kept at once, which a smaller width may help ({what})")
        }
        _ => return,
    };
    sink.errors.0.borrow_mut().push(error);
}

/// Calls `free` on `handle` when it goes out of scope.
struct Owned<T: Copy> {
    handle: T,
    free: unsafe extern "C" fn(T),
}

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: made only beside the call that returned `handle`, with LLVM's own function for disposing of it, and dropped once.
        unsafe { (self.free)(self.handle) }
    }
}

fn c_string(text: &str, stage: Stage) -> Result<CString, CompileError> {
    CString::new(text).map_err(|_| CompileError { stage, message: "a NUL byte in a name".into() })
}

/// Compiles a function that does nothing: the library makes variables of its own when it first compiles, and asks for handlers of the process's end that
/// undo them. A handler that is asked for after that comes before those, so that no compilation is under way when they run.
fn warm_up(api: &Api, version: Version) {
    if let Some(target) = Target::host() {
        let _ = compile_here(
            api,
            "define void @nothing() { ret void }",
            &target,
            &Tier::light().for_version(version),
        );
    }
}

fn compile_here(api: &Api, text: &str, target: &Target, tier: &Tier) -> Result<Object, CompileError> {
    let error = |stage, message| CompileError { stage, message };
    let triple = c_string(target.arch.triple(), Stage::Target)?;
    let cpu = c_string(&target.cpu, Stage::Target)?;
    let features = c_string(&target.feature_string(), Stage::Target)?;
    let passes = c_string(&tier.passes, Stage::Passes)?;

    // Declared before the context, so that it outlives it.
    let sink = DiagnosticSink { api, errors: Diagnostics::default() };

    // SAFETY: every call below follows the LLVM-C contract: handles come from the functions that make them and are freed once, by
    // `Owned`, in reverse order of creation (a module before its context); strings are terminated and outlive the call; nothing is
    // shared with another thread, as the context is our own.
    unsafe {
        let mut machine_target = ptr::null_mut();
        let mut message = ptr::null_mut();
        if (api.get_target_from_triple)(triple.as_ptr(), &mut machine_target, &mut message) != 0 {
            return Err(error(Stage::Target, api.take_message(message)));
        }
        let machine = (api.create_target_machine)(
            machine_target,
            triple.as_ptr(),
            cpu.as_ptr(),
            features.as_ptr(),
            tier.codegen as i32,
            api::RELOC_PIC,
            api::CODE_MODEL_SMALL,
        );
        if machine.is_null() {
            return Err(error(Stage::Target, target.to_string()));
        }
        let machine = Owned { handle: machine, free: api.dispose_target_machine };
        let layout =
            Owned { handle: (api.create_target_data_layout)(machine.handle), free: api.dispose_target_data };
        let layout = api.take_message((api.copy_string_rep_of_target_data)(layout.handle));

        let context = Owned { handle: (api.context_create)(), free: api.context_dispose };
        (api.context_set_diagnostic_handler)(
            context.handle,
            on_diagnostic,
            (&raw const sink).cast_mut().cast(),
        );
        (api.context_set_yield_callback)(context.handle, ending::on_yield, ptr::null_mut());

        // On the first line, so that line numbers in messages stay those of the text.
        let text =
            format!("target datalayout = \"{layout}\" target triple = \"{}\" {text}", target.arch.triple());
        let buffer = (api.create_memory_buffer_with_memory_range_copy)(
            text.as_ptr().cast(),
            text.len(),
            c"kernel".as_ptr(),
        );
        let mut module = ptr::null_mut();
        // The parser takes the buffer over, also when it fails.
        if (api.parse_ir_in_context)(context.handle, buffer, &mut module, &mut message) != 0 {
            return Err(error(Stage::Parse, api.take_message(message)));
        }
        let module = Owned { handle: module, free: api.dispose_module };

        let invalid = (api.verify_module)(module.handle, api::RETURN_STATUS, &mut message) != 0;
        let message = api.take_message(message); // allocated either way
        if invalid {
            return Err(error(Stage::Verify, message));
        }
        set_cpu_attributes(api, module.handle, target)?;

        if !tier.passes.is_empty() {
            let options =
                Owned { handle: (api.create_pass_builder_options)(), free: api.dispose_pass_builder_options };
            (api.pass_builder_options_set_loop_vectorization)(options.handle, 0);
            (api.pass_builder_options_set_slp_vectorization)(options.handle, 0);
            let failed = (api.run_passes)(module.handle, passes.as_ptr(), machine.handle, options.handle);
            if !failed.is_null() {
                let text = (api.get_error_message)(failed); // consumes the error
                let message = CStr::from_ptr(text).to_string_lossy().into_owned();
                (api.dispose_error_message)(text);
                return Err(error(Stage::Passes, message));
            }
        }

        let mut object = ptr::null_mut();
        let mut message = ptr::null_mut();
        let failed = (api.target_machine_emit_to_memory_buffer)(
            machine.handle,
            module.handle,
            api::OBJECT_FILE,
            &mut message,
            &mut object,
        ) != 0;
        if failed {
            return Err(error(Stage::Codegen, api.take_message(message)));
        }
        let object = Owned { handle: object, free: api.dispose_memory_buffer };
        let bytes = std::slice::from_raw_parts(
            (api.get_buffer_start)(object.handle).cast::<u8>(),
            (api.get_buffer_size)(object.handle),
        )
        .to_vec();

        let errors = sink.errors.0.take();
        if errors.is_empty() { Ok(Object(bytes)) } else { Err(error(Stage::Codegen, errors.join("\n"))) }
    }
}

/// Gives every function body what the target says about vectors and scheduling; LLVM takes these only as attributes.
fn set_cpu_attributes(api: &Api, module: api::Module, target: &Target) -> Result<(), CompileError> {
    let tune = c_string(&target.tune, Stage::Target)?;
    let bits = c_string(&target.vector_bits.to_string(), Stage::Target)?;
    let stack = c_string(&MOST_STACK.to_string(), Stage::Target)?;
    let mut attributes = vec![(c"tune-cpu", tune.as_c_str()), (c"warn-stack-size", stack.as_c_str())];
    if target.arch == Arch::X86_64 {
        // Else 512-bit types are split for a CPU that LLVM thinks better off with 256.
        attributes.push((c"prefer-vector-width", bits.as_c_str()));
    }
    // SAFETY: the module is alive and ours; its functions are walked with LLVM's own iterator, which attributes do not disturb.
    unsafe {
        let mut function = (api.get_first_function)(module);
        while !function.is_null() {
            if (api.is_declaration)(function) == 0 {
                for (name, value) in &attributes {
                    (api.add_target_dependent_function_attr)(function, name.as_ptr(), value.as_ptr());
                }
            }
            function = (api.get_next_function)(function);
        }
    }
    Ok(())
}
