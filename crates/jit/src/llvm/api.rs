//! The C functions of LLVM that are called, by name. Signatures follow the headers `llvm-c/*.h`, the same from LLVM 15 on.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

use hostwarp_system::seam;
use libloading::Library;

use super::{OLDEST, Version};

/// Types that only LLVM knows, one for each kind of handle, so that handles cannot be mixed up.
pub(super) mod opaque {
    #[repr(C)]
    pub struct Context([u8; 0]);
    #[repr(C)]
    pub struct Module([u8; 0]);
    #[repr(C)]
    pub struct Value([u8; 0]);
    #[repr(C)]
    pub struct MemoryBuffer([u8; 0]);
    #[repr(C)]
    pub struct Target([u8; 0]);
    #[repr(C)]
    pub struct TargetMachine([u8; 0]);
    #[repr(C)]
    pub struct TargetData([u8; 0]);
    #[repr(C)]
    pub struct PassBuilderOptions([u8; 0]);
    #[repr(C)]
    pub struct Error([u8; 0]);
    #[repr(C)]
    pub struct Diagnostic([u8; 0]);
}

pub(super) type Context = *mut opaque::Context;
pub(super) type Module = *mut opaque::Module;
pub(super) type Value = *mut opaque::Value;
pub(super) type MemoryBuffer = *mut opaque::MemoryBuffer;
pub(super) type Target = *mut opaque::Target;
pub(super) type TargetMachine = *mut opaque::TargetMachine;
pub(super) type TargetData = *mut opaque::TargetData;
pub(super) type PassBuilderOptions = *mut opaque::PassBuilderOptions;
pub(super) type Error = *mut opaque::Error;
pub(super) type Diagnostic = *mut opaque::Diagnostic;

type Bool = c_int;
type FatalErrorHandler = extern "C" fn(reason: *const c_char);
type YieldCallback = extern "C" fn(Context, *mut c_void);
type DiagnosticHandler = extern "C" fn(Diagnostic, *mut c_void);

/// LLVMRelocPIC
pub(super) const RELOC_PIC: c_int = 2;
/// LLVMCodeModelSmall
pub(super) const CODE_MODEL_SMALL: c_int = 3;
/// LLVMObjectFile
pub(super) const OBJECT_FILE: c_int = 1;
/// LLVMReturnStatusAction
pub(super) const RETURN_STATUS: c_int = 2;
/// LLVMDSError
pub(super) const SEVERITY_ERROR: c_int = 0;
pub(super) const SEVERITY_WARNING: c_int = 1;

macro_rules! api {
    ($($field:ident = $symbol:literal: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions, looked up once. The library they point into is never closed.
        pub(super) struct Api {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            initializers: Vec<unsafe extern "C" fn()>,
        }

        impl Api {
            /// # Safety
            /// `library` is a libLLVM of version 15 or newer, whose functions have the signatures written here.
            unsafe fn look_up(library: &Library) -> Result<Api, String> {
                Ok(Api {
                    // SAFETY: by the contract of this function.
                    $($field: unsafe { symbol(library, $symbol)? },)*
                    // SAFETY: likewise; these take and return nothing.
                    initializers: unsafe { initializers(library) },
                })
            }
        }
    };
}

api! {
    context_create = "LLVMContextCreate": fn() -> Context;
    context_dispose = "LLVMContextDispose": fn(Context);
    context_set_diagnostic_handler = "LLVMContextSetDiagnosticHandler": fn(Context, DiagnosticHandler, *mut c_void);
    context_set_yield_callback = "LLVMContextSetYieldCallback": fn(Context, YieldCallback, *mut c_void);
    get_diag_info_severity = "LLVMGetDiagInfoSeverity": fn(Diagnostic) -> c_int;
    get_diag_info_description = "LLVMGetDiagInfoDescription": fn(Diagnostic) -> *mut c_char;
    install_fatal_error_handler = "LLVMInstallFatalErrorHandler": fn(FatalErrorHandler);
    dispose_message = "LLVMDisposeMessage": fn(*mut c_char);

    create_memory_buffer_with_memory_range_copy = "LLVMCreateMemoryBufferWithMemoryRangeCopy":
        fn(*const c_char, usize, *const c_char) -> MemoryBuffer;
    get_buffer_start = "LLVMGetBufferStart": fn(MemoryBuffer) -> *const c_char;
    get_buffer_size = "LLVMGetBufferSize": fn(MemoryBuffer) -> usize;
    dispose_memory_buffer = "LLVMDisposeMemoryBuffer": fn(MemoryBuffer);

    parse_ir_in_context = "LLVMParseIRInContext":
        fn(Context, MemoryBuffer, *mut Module, *mut *mut c_char) -> Bool;
    verify_module = "LLVMVerifyModule": fn(Module, c_int, *mut *mut c_char) -> Bool;
    dispose_module = "LLVMDisposeModule": fn(Module);
    get_first_function = "LLVMGetFirstFunction": fn(Module) -> Value;
    get_next_function = "LLVMGetNextFunction": fn(Value) -> Value;
    is_declaration = "LLVMIsDeclaration": fn(Value) -> Bool;
    add_target_dependent_function_attr = "LLVMAddTargetDependentFunctionAttr":
        fn(Value, *const c_char, *const c_char);

    get_target_from_triple = "LLVMGetTargetFromTriple":
        fn(*const c_char, *mut Target, *mut *mut c_char) -> Bool;
    create_target_machine = "LLVMCreateTargetMachine":
        fn(Target, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> TargetMachine;
    dispose_target_machine = "LLVMDisposeTargetMachine": fn(TargetMachine);
    create_target_data_layout = "LLVMCreateTargetDataLayout": fn(TargetMachine) -> TargetData;
    copy_string_rep_of_target_data = "LLVMCopyStringRepOfTargetData": fn(TargetData) -> *mut c_char;
    dispose_target_data = "LLVMDisposeTargetData": fn(TargetData);
    target_machine_emit_to_memory_buffer = "LLVMTargetMachineEmitToMemoryBuffer":
        fn(TargetMachine, Module, c_int, *mut *mut c_char, *mut MemoryBuffer) -> Bool;

    create_pass_builder_options = "LLVMCreatePassBuilderOptions": fn() -> PassBuilderOptions;
    pass_builder_options_set_loop_vectorization = "LLVMPassBuilderOptionsSetLoopVectorization":
        fn(PassBuilderOptions, Bool);
    pass_builder_options_set_slp_vectorization = "LLVMPassBuilderOptionsSetSLPVectorization":
        fn(PassBuilderOptions, Bool);
    dispose_pass_builder_options = "LLVMDisposePassBuilderOptions": fn(PassBuilderOptions);
    run_passes = "LLVMRunPasses": fn(Module, *const c_char, TargetMachine, PassBuilderOptions) -> Error;
    get_error_message = "LLVMGetErrorMessage": fn(Error) -> *mut c_char;
    dispose_error_message = "LLVMDisposeErrorMessage": fn(*mut c_char);
}

impl Api {
    /// Makes the code generators this library was built with known to it. Needed once per library.
    pub(super) fn initialize_targets(&self) {
        for initialize in &self.initializers {
            // SAFETY: these functions take nothing, and may be called at any time, by one thread at a time (`Llvm::open` holds a lock).
            unsafe { initialize() }
        }
    }

    /// Copies a message out of LLVM's memory and frees it. Null gives an empty string.
    ///
    /// # Safety
    /// `message` is null, or a message of this library that nobody else will use.
    pub(super) unsafe fn take_message(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: by the contract of this function it is a terminated string that is ours to free.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.dispose_message)(message);
            text
        }
    }
}

/// Options of the code generator, in the notation of `llc`. They hold for all the process does with this library.
///
/// Of the greedy register allocator the budget for growing a region round which a live range is split: the default (10,000 edges for each range) takes time with the
/// square of a function's length, as nearly every value of ours lives through cold blocks it is needed in. Up to half of codegen's time went there (crc32: 336 to
/// 191 ms, heat3d: 238 to 191), and the code was larger and slower for it (heat3d: 2.5 to 1.2 of C's time). Of others nothing came: `-regalloc=basic` is no
/// faster, `-pre-RA-sched`, `-enable-misched`, `-lcr-max-depth`, `-huge-size-for-split` and `-split-spill-mode` change little.
const OPTIONS: [&CStr; 2] = [c"hostwarp", c"-grow-region-complexity-budget=100"];

/// Sets [`OPTIONS`]. A library that does not know one goes on without.
///
/// # Safety
/// `library` is a libLLVM.
unsafe fn set_options(library: &Library) {
    type Parse = unsafe extern "C" fn(c_int, *const *const c_char, *const c_char);
    // SAFETY: the function has that type in all versions. It keeps no pointer, and ends the process for no option: what it would say goes nowhere.
    unsafe {
        if let Ok(parse) = symbol::<Parse>(library, "LLVMParseCommandLineOptions") {
            let words = OPTIONS.map(CStr::as_ptr);
            parse(words.len() as c_int, words.as_ptr(), c"".as_ptr());
        }
    }
}

/// # Safety
/// `T` is the type of the function that `library` has under `name`.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: by the contract of this function.
    match unsafe { library.get::<T>(name.as_bytes()) } {
        Ok(symbol) => Ok(*symbol),
        Err(_) => {
            Err(format!("it has no function {name}, so it is older than LLVM {OLDEST} or not LLVM at all"))
        }
    }
}

/// # Safety
/// `library` is a libLLVM.
unsafe fn initializers(library: &Library) -> Vec<unsafe extern "C" fn()> {
    let mut found = Vec::new();
    for target in ["X86", "AArch64"] {
        for part in ["TargetInfo", "Target", "TargetMC", "AsmPrinter"] {
            // A library may be built without a target; asking for code for it is an error later, not here.
            // SAFETY: functions of these names take and return nothing.
            if let Ok(initialize) = unsafe { symbol(library, &format!("LLVMInitialize{target}{part}")) } {
                found.push(initialize);
            }
        }
    }
    found
}

/// Opens a library and looks up what we call. The library is never closed.
pub(super) fn open(path: &Path) -> Result<(Api, Version), String> {
    seam::ask(seam::Kind::Library).map_err(|error| error.to_string())?;
    // SAFETY: opening libLLVM runs its static constructors, which LLVM means to be run in any process.
    let library = unsafe { Library::new(path) }.map_err(|error| reason(&error))?;
    // SAFETY: the signatures are those of `llvm-c/Core.h`.
    let version = unsafe {
        match symbol::<unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint)>(
            &library,
            "LLVMGetVersion",
        ) {
            Ok(get_version) => {
                let mut version = Version { major: 0, minor: 0, patch: 0 };
                get_version(&mut version.major, &mut version.minor, &mut version.patch);
                version
            }
            // LLVMGetVersion came with 16; this one came with 15, and is in no older library.
            Err(_) => {
                symbol::<unsafe extern "C" fn(Context, Bool)>(&library, "LLVMContextSetOpaquePointers")?;
                Version { major: 15, minor: 0, patch: 0 }
            }
        }
    };
    if version.major < OLDEST {
        return Err(format!("it is LLVM {version}, and {OLDEST} is the oldest that will do"));
    }
    // SAFETY: it is a libLLVM of version 15 or newer.
    let api = unsafe { Api::look_up(&library)? };
    // SAFETY: likewise.
    unsafe { set_options(&library) };
    std::mem::forget(library);
    Ok((api, version))
}

fn reason(error: &libloading::Error) -> String {
    match error {
        libloading::Error::DlOpen { .. } => {
            std::error::Error::source(error).map_or_else(|| error.to_string(), |source| source.to_string())
        }
        _ => error.to_string(),
    }
}
