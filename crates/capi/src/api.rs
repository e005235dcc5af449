//! The functions of `hostwarp.h`.

use hostwarp::compile::{self, Severity, Style};
use hostwarp::{Arg, Buffer, Device, Engine, Error, ErrorKind, Kernel, Module, Options, Profile};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A device of C's.
pub struct hostwarp_device(Device);

/// A module, and the names of its kernels as C wants them.
pub struct hostwarp_module {
    module: Module,
    names: Vec<CString>,
}

/// A kernel.
pub struct hostwarp_kernel(Kernel);

/// A buffer, in bytes.
pub struct hostwarp_buffer(Buffer<u8>);

/// Settings of a device. `size` says how much of it the caller knows.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct hostwarp_device_options {
    size: usize,
    memory: u64,
    threads: u32,
    reserved: u32,
}

/// A launch. `size` says how much of it the caller knows.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct hostwarp_launch_options {
    size: usize,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    engine: u32,
    threads: u32,
    cooperative: u32,
    fuel: u64,
    timeout_ms: u64,
}

const LAUNCH: i32 = 3;

thread_local! {
    /// The text of the last error of this thread.
    static LAST: RefCell<CString> = RefCell::default();
}

/// What went wrong: a status and the text.
pub(crate) type Failed = (i32, String);

pub(crate) fn failed(error: Error) -> Failed {
    let status = match error.kind() {
        ErrorKind::Input => 1,
        ErrorKind::Launch => LAUNCH,
        ErrorKind::Fault => 4,
        ErrorKind::Unsupported => 5,
        ErrorKind::Bug => 70,
    };
    (status, error.to_string())
}

fn wrong(text: impl Into<String>) -> Failed {
    (LAUNCH, text.into())
}

fn remember(text: String) {
    // C's strings end at the first NUL.
    let text = CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = text);
}

/// Runs a function's body and keeps what it has to say. No panic gets through to C.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Failed>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err((status, text))) => {
            remember(text);
            status
        }
        Err(_) => {
            remember("this is a bug in Hostwarp: it panicked".into());
            70
        }
    }
}

/// What a pointer leads to; `what` names it where it is NULL.
unsafe fn get<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failed> {
    // SAFETY: the caller's promise: NULL or valid for the call.
    unsafe { pointer.as_ref() }.ok_or_else(|| wrong(format!("`{what}` is NULL")))
}

/// Puts a new object where the caller wants its handle.
unsafe fn give<T>(out: *mut *mut T, value: T) -> Result<(), Failed> {
    if out.is_null() {
        return Err(wrong("there is no place for the result: `out` is NULL"));
    }
    // SAFETY: not NULL, so the caller's own.
    unsafe { *out = Box::into_raw(Box::new(value)) };
    Ok(())
}

unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: made by `give`, and the caller's promise that it is freed once.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<std::borrow::Cow<'a, str>, Failed> {
    if pointer.is_null() {
        return Err(wrong(format!("`{what}` is NULL")));
    }
    // SAFETY: the caller's promise: it ends with NUL.
    Ok(unsafe { CStr::from_ptr(pointer) }.to_string_lossy())
}

unsafe fn bytes<'a>(pointer: *const c_void, len: usize, what: &str) -> Result<&'a [u8], Failed> {
    match len {
        0 => Ok(&[]),
        _ if pointer.is_null() => Err(wrong(format!("`{what}` is NULL"))),
        // SAFETY: the caller's promise: so many bytes are there.
        _ => Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), len) }),
    }
}

/// Options of a caller that may have been built with another version: fields it does not know are 0, and what we do not know must be.
unsafe fn options<T: Copy + Default>(pointer: *const T, what: &str) -> Result<T, Failed> {
    let mut known = T::default();
    if pointer.is_null() {
        return Ok(known);
    }
    // SAFETY: every such structure begins with its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    if !(size_of::<usize>()..=4096).contains(&size) {
        return Err(wrong(format!("`{what}.size` is {size}: set it to sizeof(*{what})")));
    }
    // SAFETY: the caller says that so many bytes are there; all of ours are integers.
    unsafe {
        let more = std::slice::from_raw_parts(pointer.cast::<u8>(), size);
        if more.iter().skip(size_of::<T>()).any(|byte| *byte != 0) {
            return Err((5, format!("`{what}` has settings that this version does not know")));
        }
        std::ptr::copy_nonoverlapping(more.as_ptr(), (&raw mut known).cast(), size.min(size_of::<T>()));
    }
    Ok(known)
}

fn profile(number: u32) -> Result<Profile, Failed> {
    match number {
        0 => Ok(Profile::default()),
        90 => Ok(Profile::Sm90),
        other => Err(wrong(format!("there is no profile {other}: HOSTWARP_ISA or HOSTWARP_SM_90"))),
    }
}

/// The version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn hostwarp_api_version() -> u32 {
    1
}

/// The text of this thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn hostwarp_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// Checks PTX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_check(name: *const c_char, ptx: *const c_char, len: usize) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (name, ptx) = unsafe { (text(name, "name")?, bytes(ptx.cast(), len, "ptx")?) };
        let parsed = hostwarp::syntax::parse(ptx);
        let options = compile::Options { check_only: true, ..compile::Options::default() };
        let found = compile::compile(&parsed, &options).diagnostics;
        let rendered = compile::render(&found, parsed.module.source(), &name, Style::default());
        let any = |s: Severity| found.iter().any(|d| d.severity == s);
        match (any(Severity::Error), any(Severity::Unsupported)) {
            (true, _) => Err((1, rendered)),
            (_, true) => Err((5, rendered)),
            _ => {
                // Warnings, or nothing.
                remember(rendered);
                Ok(())
            }
        }
    })
}

/// Makes a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_device_new(
    asked: *const hostwarp_device_options,
    out: *mut *mut hostwarp_device,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let asked = unsafe { options(asked, "options") }?;
        let mut builder = Device::builder();
        if asked.memory != 0 {
            builder = builder.memory(asked.memory);
        }
        if asked.threads != 0 {
            builder = builder.threads(asked.threads as usize);
        }
        let device = builder.build().map_err(failed)?;
        // SAFETY: as above.
        unsafe { give(out, hostwarp_device(device)) }
    })
}

/// Ends a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_device_free(device: *mut hostwarp_device) {
    // SAFETY: the caller's promise.
    unsafe { free(device) }
}

/// What kernels have printed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_device_printed(
    device: *const hostwarp_device,
    to: *mut c_char,
    room: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let Some(device) = (unsafe { device.as_ref() }) else { return 0 };
    let printed = device.0.printed();
    if !to.is_null() && room > 0 {
        let count = printed.len().min(room - 1);
        // SAFETY: `room` bytes are there, the caller says.
        unsafe {
            std::ptr::copy_nonoverlapping(printed.as_ptr(), to.cast(), count);
            *to.add(count) = 0;
        }
    }
    printed.len()
}

/// Loads a module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_module_load(
    device: *const hostwarp_device,
    name: *const c_char,
    ptx: *const c_char,
    len: usize,
    bits: u32,
    out: *mut *mut hostwarp_module,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (device, name, ptx) =
            unsafe { (get(device, "device")?, text(name, "name")?, bytes(ptx.cast(), len, "ptx")?) };
        let module = device.0.load_with(&name, ptx, Options { profile: profile(bits)? }).map_err(failed)?;
        let names = module.kernels().iter().map(|k| CString::new(k.name()).unwrap_or_default()).collect();
        // SAFETY: as above.
        unsafe { give(out, hostwarp_module { module, names }) }
    })
}

/// Unloads a module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_module_free(module: *mut hostwarp_module) {
    // SAFETY: the caller's promise.
    unsafe { free(module) }
}

/// How many kernels there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_module_kernel_count(module: *const hostwarp_module) -> usize {
    // SAFETY: the caller's promise.
    unsafe { module.as_ref() }.map_or(0, |m| m.names.len())
}

/// The name of one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_module_kernel_name(
    module: *const hostwarp_module,
    index: usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { module.as_ref() }.and_then(|m| m.names.get(index)).map_or(std::ptr::null(), |n| n.as_ptr())
}

/// A kernel by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_kernel_get(
    module: *const hostwarp_module,
    name: *const c_char,
    out: *mut *mut hostwarp_kernel,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (module, name) = unsafe { (get(module, "module")?, text(name, "name")?) };
        let kernel = module.module.kernel(&name).map_err(failed)?;
        // SAFETY: as above.
        unsafe { give(out, hostwarp_kernel(kernel)) }
    })
}

/// Ends a kernel's handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_kernel_free(kernel: *mut hostwarp_kernel) {
    // SAFETY: the caller's promise.
    unsafe { free(kernel) }
}

/// How many parameters it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_kernel_param_count(kernel: *const hostwarp_kernel) -> usize {
    // SAFETY: the caller's promise.
    unsafe { kernel.as_ref() }.map_or(0, |k| k.0.params().len())
}

/// Bytes of one of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_kernel_param_size(kernel: *const hostwarp_kernel, index: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { kernel.as_ref() }.and_then(|k| k.0.params().get(index)).map_or(0, |p| p.size as usize)
}

/// Makes a buffer of zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_buffer_new(
    device: *const hostwarp_device,
    size: usize,
    name: *const c_char,
    out: *mut *mut hostwarp_buffer,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let device = unsafe { get(device, "device") }?;
        let buffer = match name.is_null() {
            true => device.0.buffer(size),
            // SAFETY: as above.
            false => device.0.buffer_named(&unsafe { text(name, "name") }?, size),
        };
        // SAFETY: as above.
        unsafe { give(out, hostwarp_buffer(buffer.map_err(failed)?)) }
    })
}

/// Frees a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_buffer_free(buffer: *mut hostwarp_buffer) {
    // SAFETY: the caller's promise.
    unsafe { free(buffer) }
}

/// Its device address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_buffer_address(buffer: *const hostwarp_buffer) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { buffer.as_ref() }.map_or(0, |b| b.0.address())
}

/// Copies in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_buffer_write(
    buffer: *const hostwarp_buffer,
    at: usize,
    data: *const c_void,
    len: usize,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (buffer, data) = unsafe { (get(buffer, "buffer")?, bytes(data, len, "data")?) };
        buffer.0.write(at, data).map_err(failed)
    })
}

/// Copies out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_buffer_read(
    buffer: *const hostwarp_buffer,
    at: usize,
    data: *mut c_void,
    len: usize,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let buffer = unsafe { get(buffer, "buffer") }?;
        // Checked first, so that nothing is made of a length that is wrong.
        if data.is_null() && len > 0 {
            return Err(wrong("`data` is NULL"));
        }
        let mut copy = vec![0u8; len.min(buffer.0.len().saturating_add(1))];
        if copy.len() < len {
            return Err(wrong(format!("{len} bytes from {at} on do not fit a buffer of {}", buffer.0.len())));
        }
        buffer.0.read(at, &mut copy).map_err(failed)?;
        // SAFETY: as above; what is there may be uninitialised, so no slice is made of it.
        unsafe { std::ptr::copy_nonoverlapping(copy.as_ptr(), data.cast(), len) };
        Ok(())
    })
}

/// Launches a kernel and waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hostwarp_launch(
    kernel: *const hostwarp_kernel,
    asked: *const hostwarp_launch_options,
    args: *const *const c_void,
    count: usize,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let (kernel, asked) = unsafe { (get(kernel, "kernel")?, options(asked, "options")?) };
        let params = kernel.0.params();
        if count != params.len() {
            return Err(wrong(format!(
                "{count} arguments for {}, which has {} parameters",
                kernel.0.signature(),
                params.len()
            )));
        }
        let one = |n: [u32; 3]| n.map(|n| n.max(1));
        let mut launch = kernel.0.launch().grid(one(asked.grid)).shared(asked.shared);
        if asked.block != [0; 3] {
            launch = launch.block(one(asked.block));
        }
        for (i, param) in params.iter().enumerate() {
            // SAFETY: as above: `count` pointers, each to a value of its parameter's size.
            let value =
                unsafe { bytes(*get(args.wrapping_add(i), "args")?, param.size as usize, &param.name)? };
            launch = launch.arg(Arg::bytes(value));
        }
        launch = launch.engine(match asked.engine {
            0 => Engine::Auto,
            1 => Engine::Interp,
            2 => Engine::Jit,
            other => return Err(wrong(format!("there is no engine {other}"))),
        });
        if asked.threads != 0 {
            launch = launch.threads(asked.threads as usize);
        }
        if asked.fuel != 0 {
            launch = launch.fuel(asked.fuel);
        }
        if asked.timeout_ms != 0 {
            launch = launch.timeout(Duration::from_millis(asked.timeout_ms));
        }
        if asked.cooperative != 0 {
            launch = launch.cooperative();
        }
        launch.run().map(drop).map_err(failed)
    })
}
