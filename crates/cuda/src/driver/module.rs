//! Modules, libraries, kernels and variables.

use crate::attributes::SHARED_WITHOUT_ASKING;
use crate::errors::{self, Code};
use crate::fatbin::{self, Image};
use crate::log;
use crate::state::{self, KernelObject, MemoryKind, ModuleObject, Object, State, current, ready, state};
use crate::types::*;
use hostwarp::memory::Space;
use hostwarp::{MAX_CTA_THREADS, MAX_SHARED};
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

/// Where a loader writes what it has to say.
#[derive(Default)]
pub struct Logs {
    error: Option<(*mut u8, usize)>,
    sizes: Vec<*mut *mut c_void>,
    info_sizes: Vec<*mut *mut c_void>,
}

// SAFETY: the buffers are the caller's, who uses the linker they were given to from one thread at a time.
unsafe impl Send for Logs {}

impl Logs {
    /// The buffers among the options of `cuModuleLoadDataEx` and others.
    ///
    /// # Safety
    /// `options` and `values` have `count` elements.
    pub unsafe fn new(count: c_uint, options: *const c_int, values: *mut *mut c_void) -> Logs {
        let (mut logs, mut size, mut buffer) = (Logs::default(), 0, std::ptr::null_mut());
        if options.is_null() || values.is_null() {
            return logs;
        }
        for i in 0..count as usize {
            // SAFETY: the caller's promise.
            let (option, value) = unsafe { (*options.add(i), values.add(i)) };
            match option {
                4 => logs.info_sizes.push(value),
                // SAFETY: as above.
                5 => buffer = unsafe { *value }.cast::<u8>(),
                6 => {
                    // SAFETY: as above.
                    size = unsafe { *value }.addr();
                    logs.sizes.push(value);
                }
                _ => {}
            }
        }
        if !buffer.is_null() && size > 0 {
            logs.error = Some((buffer, size));
        }
        logs
    }

    /// Writes an error's text, cut to what fits, and how long it is.
    pub fn write(&self, text: &str) {
        let mut len = 0;
        if let Some((buffer, size)) = self.error {
            len = text.len().min(size - 1);
            // SAFETY: the buffer has `size` bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), buffer, len);
                buffer.add(len).write(0);
            }
        }
        for (all, len) in [(&self.sizes, len), (&self.info_sizes, 0)] {
            for to in all {
                // SAFETY: elements of the array of values, which the caller promised.
                unsafe { to.write(std::ptr::without_provenance_mut(len)) };
            }
        }
    }
}

/// The PTX of an image, for this device.
pub fn ptx_of(state: &State, image: Image) -> Result<Vec<u8>, Code> {
    let texts = fatbin::texts(image).map_err(|why| {
        log::explain(&why.to_string());
        errors::NO_BINARY_FOR_GPU
    })?;
    let arch = (state.sm.0 * 10 + state.sm.1) as u32;
    fatbin::choose(texts, arch).map(|text| text.bytes).ok_or(errors::NO_BINARY_FOR_GPU)
}

/// Loads PTX.
pub fn load(state: &State, ptx: &[u8], logs: &Logs, context: usize) -> Result<Arc<ModuleObject>, Code> {
    let module = crate::driver::load_texts(state, ptx).map_err(|error| {
        let text = error.to_string();
        logs.write(&text);
        log::explain(&text);
        state::code_of(&error)
    })?;
    logs.write("");
    let (kernels, constants) = (Mutex::default(), Mutex::default());
    Ok(Arc::new(ModuleObject { module, kernels, constants, context }))
}

/// Loads an image and answers its handle.
pub fn load_image(image: Image, logs: &Logs, context: usize) -> Result<Handle, Code> {
    let state = state()?;
    state.check()?;
    let ptx = ptx_of(state, image)?;
    Ok(state.insert(Object::Module(load(state, &ptx, logs, context)?)))
}

/// # Safety
/// As [`fatbin::image`].
unsafe fn load_data(to: *mut Handle, data: *const c_void, logs: &Logs, context: usize) -> Result<(), Code> {
    if data.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let handle = load_image(unsafe { fatbin::image(data.cast()) }, logs, context)?;
    // SAFETY: the caller's promise.
    unsafe { out(to, handle) }
}

fn image_of_file(name: Option<&str>) -> Result<Image, Code> {
    let bytes = std::fs::read(name.ok_or(errors::INVALID_VALUE)?).map_err(|_| errors::FILE_NOT_FOUND)?;
    Ok(if fatbin::is_fatbin(&bytes) {
        Image::Fatbin(bytes)
    } else if bytes.starts_with(b"\x7fELF") {
        Image::Elf
    } else {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Image::Ptx(bytes[..end].to_vec())
    })
}

/// The handle of a kernel by name.
pub fn kernel_handle(state: &State, module: Handle, name: &str) -> Result<Handle, Code> {
    let object = state.module(module)?;
    let mut kernels = object.kernels.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(handle) = kernels.get(name) {
        return Ok(*handle);
    }
    let kernel = object.module.kernel(name).map_err(|_| errors::NOT_FOUND)?;
    let statically = kernel.compiled().info.declared_shared() as i32;
    let handle = state.insert(Object::Kernel(Arc::new(KernelObject {
        kernel,
        module,
        max_dynamic: AtomicI32::new((SHARED_WITHOUT_ASKING - statically).max(0)),
        carveout: AtomicI32::new(-1),
        old: Mutex::default(),
    })));
    kernels.insert(name.to_string(), handle);
    Ok(handle)
}

/// Address and size of a variable. A constant's is that of a copy in global memory, which copies keep in step with the bank.
pub fn variable(state: &State, module: Handle, name: &str) -> Result<(u64, u64), Code> {
    let object = state.module(module)?;
    let symbol = object.module.symbol(name).map_err(|_| errors::NOT_FOUND)?;
    if symbol.space != Space::Const {
        return Ok((symbol.address, symbol.size));
    }
    let mut constants = object.constants.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(address) = constants.get(name) {
        return Ok((*address, symbol.size));
    }
    let address = state.alloc(symbol.size.max(1), 512, MemoryKind::Constant)?;
    let bytes = object.module.read_symbol(name).map_err(|e| state::code_of(&e))?;
    state.device.memory().write(address, &bytes).map_err(|_| errors::UNKNOWN)?;
    state.shadow(address, &object, name);
    constants.insert(name.to_string(), address);
    Ok((address, symbol.size))
}

/// Unloads a module with its kernels.
pub fn unload(state: &State, module: Handle) -> Result<(), Code> {
    let object = state.module(module)?;
    let _ = state.wait_all();
    state.remove(module);
    for (_, handle) in object.kernels.lock().unwrap_or_else(|e| e.into_inner()).drain() {
        state.remove(handle);
    }
    for (_, address) in object.constants.lock().unwrap_or_else(|e| e.into_inner()).drain() {
        let _ = state.free(address);
    }
    Ok(())
}

/// The value of a kernel's attribute.
pub fn kernel_attribute(state: &State, kernel: &KernelObject, attribute: c_int) -> Result<c_int, Code> {
    let compiled = kernel.kernel.compiled();
    let sm = state.sm.0 * 10 + state.sm.1;
    Ok(match attribute {
        0 => {
            let most = compiled.limits.max_cta.or(compiled.limits.required_cta);
            let most = most.map(|n| n.iter().map(|n| u64::from((*n).max(1))).product());
            most.unwrap_or(MAX_CTA_THREADS).min(MAX_CTA_THREADS) as c_int
        }
        1 => compiled.info.declared_shared() as c_int,
        2 => kernel.kernel.module().compiled().constants.size as c_int,
        3 => compiled.info.local_bytes as c_int,
        // As many as any kernel has that keeps a multiprocessor full.
        4 => 32,
        5 => kernel.kernel.module().compiled().sm as c_int,
        6 => sm,
        7 => 0,
        8 => kernel.max_dynamic.load(Ordering::Relaxed),
        9 => kernel.carveout.load(Ordering::Relaxed),
        10..=15 => 0,
        _ => return Err(errors::INVALID_VALUE),
    })
}

/// Sets a kernel's attribute.
pub fn set_kernel_attribute(kernel: &KernelObject, attribute: c_int, value: c_int) -> Result<(), Code> {
    match attribute {
        8 => {
            let statically = u64::from(kernel.kernel.compiled().info.declared_shared());
            if value < 0 || value as u64 + statically > MAX_SHARED {
                return Err(errors::INVALID_VALUE);
            }
            kernel.max_dynamic.store(value, Ordering::Relaxed);
        }
        9 => kernel.carveout.store(value, Ordering::Relaxed),
        10..=15 => {}
        _ => return Err(errors::INVALID_VALUE),
    }
    Ok(())
}

/// Offset and size of a parameter.
fn param(kernel: &KernelObject, index: usize) -> Result<(usize, usize), Code> {
    let param = kernel.kernel.params().get(index).ok_or(errors::INVALID_VALUE)?;
    Ok((param.offset as usize, param.size as usize))
}

fn name_of(kernel: &KernelObject) -> *const c_char {
    // Names live as long as the process: a few, and C keeps them as long as it likes.
    static NAMES: Mutex<Option<HashMap<String, &'static std::ffi::CStr>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(|e| e.into_inner());
    let name = kernel.kernel.name().to_string();
    let made = names.get_or_insert_default().entry(name).or_insert_with_key(|name| {
        &*Box::leak(std::ffi::CString::new(name.as_str()).unwrap_or_default().into_boxed_c_str())
    });
    made.as_ptr()
}

api! {
    fn cuModuleLoad(to: *mut Handle, name: *const c_char) {
        ready()?;
        // SAFETY: the caller's promise, here and below.
        let image = image_of_file(unsafe { text(name) })?;
        let handle = load_image(image, &Logs::default(), current().unwrap_or(0))?;
        // SAFETY: as above.
        unsafe { out(to, handle) }
    }

    fn cuModuleLoadData(to: *mut Handle, data: *const c_void) {
        ready()?;
        // SAFETY: as above.
        unsafe { load_data(to, data, &Logs::default(), current().unwrap_or(0)) }
    }

    fn cuModuleLoadDataEx(to: *mut Handle, data: *const c_void, count: c_uint, options: *const c_int, values: *mut *mut c_void) {
        ready()?;
        // SAFETY: as above.
        unsafe { load_data(to, data, &Logs::new(count, options, values), current().unwrap_or(0)) }
    }

    fn cuModuleLoadFatBinary(to: *mut Handle, data: *const c_void) {
        ready()?;
        // SAFETY: as above.
        unsafe { load_data(to, data, &Logs::default(), current().unwrap_or(0)) }
    }

    fn cuModuleUnload(module: Handle) {
        unload(state()?, module)
    }

    fn cuModuleGetLoadingMode(mode: *mut c_int) {
        state()?;
        // SAFETY: as above. Eager.
        unsafe { out(mode, 1) }
    }

    fn cuModuleGetFunction(to: *mut Handle, module: Handle, name: *const c_char) {
        let state = ready()?;
        // SAFETY: as above.
        unsafe { out(to, kernel_handle(state, module, text(name).ok_or(errors::INVALID_VALUE)?)?) }
    }

    fn cuModuleGetFunctionCount(count: *mut c_uint, module: Handle) {
        // SAFETY: as above.
        unsafe { out(count, ready()?.module(module)?.module.kernels().len() as c_uint) }
    }

    fn cuModuleGetGlobal_v2(address: *mut CUdeviceptr, bytes: *mut usize, module: Handle, name: *const c_char) {
        let state = ready()?;
        // SAFETY: as above.
        unsafe {
            let (at, size) = variable(state, module, text(name).ok_or(errors::INVALID_VALUE)?)?;
            put(address, at);
            put(bytes, size as usize);
        }
        Ok(())
    }

    fn cuLibraryLoadData(to: *mut Handle, data: *const c_void, options: *const c_int, values: *mut *mut c_void, count: c_uint, _library: *const c_int, _values: *const *mut c_void, _count: c_uint) {
        // SAFETY: as above.
        unsafe { load_data(to, data, &Logs::new(count, options, values), 0) }
    }

    fn cuLibraryLoadFromFile(to: *mut Handle, name: *const c_char, options: *const c_int, values: *mut *mut c_void, count: c_uint, _library: *const c_int, _values: *const *mut c_void, _count: c_uint) {
        // SAFETY: as above.
        unsafe {
            let handle = load_image(image_of_file(text(name))?, &Logs::new(count, options, values), 0)?;
            out(to, handle)
        }
    }

    fn cuLibraryUnload(library: Handle) {
        unload(state()?, library)
    }

    fn cuLibraryGetKernel(to: *mut Handle, library: Handle, name: *const c_char) {
        let state = state()?;
        // SAFETY: as above.
        unsafe { out(to, kernel_handle(state, library, text(name).ok_or(errors::INVALID_VALUE)?)?) }
    }

    fn cuLibraryGetKernelCount(count: *mut c_uint, library: Handle) {
        // SAFETY: as above.
        unsafe { out(count, state()?.module(library)?.module.kernels().len() as c_uint) }
    }

    fn cuLibraryEnumerateKernels(to: *mut Handle, count: c_uint, library: Handle) {
        let state = state()?;
        let all = state.module(library)?.module.kernels();
        for (i, kernel) in all.iter().take(count as usize).enumerate() {
            // SAFETY: as above; there is space for `count`.
            unsafe { to.add(i).write(kernel_handle(state, library, kernel.name())?) };
        }
        Ok(())
    }

    fn cuLibraryGetModule(to: *mut Handle, library: Handle) {
        state()?.module(library)?;
        // SAFETY: as above. Both are the same here.
        unsafe { out(to, library) }
    }

    fn cuLibraryGetGlobal(address: *mut CUdeviceptr, bytes: *mut usize, library: Handle, name: *const c_char) {
        let state = ready()?;
        // SAFETY: as above.
        unsafe {
            let (at, size) = variable(state, library, text(name).ok_or(errors::INVALID_VALUE)?)?;
            put(address, at);
            put(bytes, size as usize);
        }
        Ok(())
    }

    fn cuLibraryGetManaged(address: *mut CUdeviceptr, bytes: *mut usize, library: Handle, name: *const c_char) {
        let state = state()?;
        // SAFETY: as above.
        unsafe {
            let (at, size) = variable(state, library, text(name).ok_or(errors::INVALID_VALUE)?)?;
            put(address, at);
            put(bytes, size as usize);
        }
        Ok(())
    }

    fn cuKernelGetFunction(to: *mut Handle, kernel: Handle) {
        state()?.kernel(kernel)?;
        // SAFETY: as above. Both are the same here.
        unsafe { out(to, kernel) }
    }

    fn cuKernelGetLibrary(to: *mut Handle, kernel: Handle) {
        // SAFETY: as above.
        unsafe { out(to, state()?.kernel(kernel)?.module) }
    }

    fn cuFuncGetModule(to: *mut Handle, kernel: Handle) {
        // SAFETY: as above.
        unsafe { out(to, state()?.kernel(kernel)?.module) }
    }

    fn cuKernelGetAttribute(value: *mut c_int, attribute: c_int, kernel: Handle, _dev: CUdevice) {
        let state = state()?;
        // SAFETY: as above.
        unsafe { out(value, kernel_attribute(state, &*state.kernel(kernel)?, attribute)?) }
    }

    fn cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: Handle, _dev: CUdevice) {
        set_kernel_attribute(&*state()?.kernel(kernel)?, attribute, value)
    }

    fn cuKernelSetCacheConfig(kernel: Handle, _config: c_int, _dev: CUdevice) {
        state()?.kernel(kernel).map(drop)
    }

    fn cuKernelGetName(name: *mut *const c_char, kernel: Handle) {
        // SAFETY: as above.
        unsafe { out(name, name_of(&*state()?.kernel(kernel)?)) }
    }

    fn cuFuncGetName(name: *mut *const c_char, kernel: Handle) {
        // SAFETY: as above.
        unsafe { out(name, name_of(&*state()?.kernel(kernel)?)) }
    }

    fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: *mut usize, size: *mut usize) {
        let (at, bytes) = param(&*state()?.kernel(kernel)?, index)?;
        // SAFETY: as above.
        unsafe {
            put(offset, at);
            put(size, bytes);
        }
        Ok(())
    }

    fn cuFuncGetParamCount(kernel: Handle, count: *mut usize) {
        // SAFETY: as above.
        unsafe { out(count, state()?.kernel(kernel)?.kernel.params().len()) }
    }

    fn cuKernelGetParamCount(kernel: Handle, count: *mut usize) {
        // SAFETY: as above.
        unsafe { out(count, state()?.kernel(kernel)?.kernel.params().len()) }
    }

    fn cuModuleEnumerateFunctions(to: *mut Handle, count: c_uint, module: Handle) {
        let state = ready()?;
        let all = state.module(module)?.module.kernels();
        for (i, kernel) in all.iter().take(count as usize).enumerate() {
            // SAFETY: as above; there is space for `count`.
            unsafe { to.add(i).write(kernel_handle(state, module, kernel.name())?) };
        }
        Ok(())
    }

    fn cuFuncGetParamInfo(kernel: Handle, index: usize, offset: *mut usize, size: *mut usize) {
        let (at, bytes) = param(&*state()?.kernel(kernel)?, index)?;
        // SAFETY: as above.
        unsafe {
            put(offset, at);
            put(size, bytes);
        }
        Ok(())
    }

    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, kernel: Handle) {
        let state = state()?;
        // SAFETY: as above.
        unsafe { out(value, kernel_attribute(state, &*state.kernel(kernel)?, attribute)?) }
    }

    fn cuFuncSetAttribute(kernel: Handle, attribute: c_int, value: c_int) {
        set_kernel_attribute(&*state()?.kernel(kernel)?, attribute, value)
    }

    fn cuFuncSetCacheConfig(kernel: Handle, _config: c_int) {
        state()?.kernel(kernel).map(drop)
    }

    fn cuFuncSetSharedMemConfig(kernel: Handle, _config: c_int) {
        state()?.kernel(kernel).map(drop)
    }

    fn cuFuncIsLoaded(loaded: *mut c_int, kernel: Handle) {
        state()?.kernel(kernel)?;
        // SAFETY: as above.
        unsafe { out(loaded, 1) }
    }

    fn cuFuncLoad(kernel: Handle) {
        state()?.kernel(kernel).map(drop)
    }
}
