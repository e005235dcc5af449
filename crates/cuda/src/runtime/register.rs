//! What programs register before `main`, and how it is found again.

use super::ensure;
use crate::driver;
use crate::errors::{self, Code};
use crate::fatbin;
use crate::log;
use crate::state;
use crate::types::*;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

#[derive(Default)]
struct Registered {
    /// By the number that was given out.
    binaries: HashMap<usize, Binary>,
    /// Host stubs: the binary and the device's name.
    kernels: HashMap<usize, (usize, String)>,
    /// Host variables: the binary, the device's name.
    variables: HashMap<usize, (usize, String)>,
    /// The host stubs of handles that programs were given. They keep them, and a reset must not end them.
    given: HashMap<Handle, usize>,
    next: usize,
}

struct Binary {
    /// The wrapper nvcc made.
    wrapper: usize,
    module: Option<Handle>,
    /// Host pointers that are to hold the address of a managed variable.
    managed: Vec<(usize, String)>,
}

static REGISTERED: Mutex<Option<Registered>> = Mutex::new(None);

fn registered<T>(with: impl FnOnce(&mut Registered) -> T) -> T {
    with(REGISTERED.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert_default())
}

/// Loads a binary when something of it is first used.
fn module_of(binary: usize) -> Result<Handle, Code> {
    let state = ensure()?;
    registered(|all| {
        let found = all.binaries.get_mut(&binary).ok_or(errors::INVALID_DEVICE_FUNCTION)?;
        if let Some(module) = found.module.filter(|m| state.module(*m).is_ok()) {
            return Ok(module);
        }
        let wrapper = std::ptr::with_exposed_provenance::<u8>(found.wrapper);
        // SAFETY: what nvcc registered is a wrapper that lives as long as the program.
        let image = unsafe { fatbin::image(wrapper) };
        let module = driver::load_image(image, &driver::Logs::default(), 0)?;
        found.module = Some(module);
        for (pointer, name) in &found.managed {
            let (address, _) = driver::variable(state, module, name)?;
            // SAFETY: the program registered the pointer for that.
            unsafe {
                std::ptr::with_exposed_provenance_mut::<usize>(*pointer).write(address as usize);
            }
        }
        Ok(module)
    })
}

/// The kernel behind a host stub, or a kernel's handle itself.
pub fn kernel_of(function: *const c_void) -> Result<Handle, Code> {
    let state = ensure()?;
    if state.kernel(function.addr()).is_ok() {
        return Ok(function.addr());
    }
    let found = registered(|all| {
        let stub = all.given.get(&function.addr()).copied().unwrap_or(function.addr());
        all.kernels.get(&stub).cloned()
    });
    let (binary, name) = found.ok_or(errors::INVALID_DEVICE_FUNCTION)?;
    let module = module_of(binary)?;
    driver::kernel_handle(state, module, &name).map_err(|_| {
        log::explain(&format!("the fat binary has no kernel `{name}`"));
        errors::INVALID_DEVICE_FUNCTION
    })
}

/// The handle of the kernel behind a host stub, for a program that keeps it.
fn give(stub: *const c_void) -> Result<Handle, Code> {
    let kernel = kernel_of(stub)?;
    registered(|all| {
        if all.kernels.contains_key(&stub.addr()) {
            all.given.insert(kernel, stub.addr());
        }
    });
    Ok(kernel)
}

/// The managed variable that lies at an address.
fn managed_at(address: usize) -> Option<(usize, String)> {
    registered(|all| {
        all.binaries.iter().filter(|(_, binary)| binary.module.is_some()).find_map(|(number, binary)| {
            let lies = |(pointer, _): &&(usize, String)| {
                // SAFETY: the program registered the pointer, and the module that gave it its value is loaded.
                address == unsafe { std::ptr::with_exposed_provenance::<usize>(*pointer).read() }
            };
            binary.managed.iter().find(lies).map(|(_, name)| (*number, name.clone()))
        })
    })
}

/// Address and size of the variable behind a host symbol.
pub fn variable_of(symbol: *const c_void) -> Result<(u64, u64), Code> {
    let state = ensure()?;
    let found = registered(|all| all.variables.get(&symbol.addr()).cloned());
    // What C++ passes for a managed variable is where it lies, which the registered pointer holds.
    let (binary, name) = found.or_else(|| managed_at(symbol.addr())).ok_or(errors::INVALID_SYMBOL)?;
    driver::variable(state, module_of(binary)?, &name)
}

/// Forgets what a reset has unloaded: it is loaded again when it is used.
pub fn forget_modules() {
    let Ok(state) = state::state() else { return };
    let modules: Vec<Handle> =
        registered(|all| all.binaries.values_mut().filter_map(|b| b.module.take()).collect());
    for module in modules {
        let _ = driver::unload(state, module);
    }
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    let number = registered(|all| {
        all.next += 1;
        let binary = Binary { wrapper: wrapper.expose_provenance(), module: None, managed: vec![] };
        all.binaries.insert(all.next, binary);
        all.next
    });
    // Programs only hand it back; some compilers look whether it is null.
    Box::into_raw(Box::new(std::ptr::without_provenance_mut(number)))
}

/// The number behind a handle.
///
/// # Safety
/// It was given out by `__cudaRegisterFatBinary`.
unsafe fn number(handle: *mut *mut c_void) -> usize {
    // SAFETY: the caller's promise.
    if handle.is_null() { 0 } else { unsafe { *handle }.addr() }
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    // SAFETY: nvcc's code hands back what it got.
    let number = unsafe { number(handle) };
    // The process ends; what is queued may still use the module, so it stays.
    registered(|all| all.binaries.remove(&number));
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    stub: *const c_void,
    _device: *mut c_char,
    name: *const c_char,
    _limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _warp: *mut c_int,
) {
    // SAFETY: nvcc's code hands back what it got, and a name.
    let (number, name) = unsafe { (number(handle), text(name)) };
    if let Some(name) = name {
        registered(|all| all.kernels.insert(stub.addr(), (number, name.to_string())));
    }
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _device: *mut c_char,
    name: *const c_char,
    _ext: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: as above.
    let (number, name) = unsafe { (number(handle), text(name)) };
    if let Some(name) = name {
        registered(|all| all.variables.insert(host.addr(), (number, name.to_string())));
    }
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    host: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
    _ext: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: as above.
    let (number, name) = unsafe { (number(handle), text(name)) };
    if let Some(name) = name {
        let host = host.expose_provenance();
        registered(|all| {
            all.variables.insert(host, (number, name.to_string()));
            if let Some(binary) = all.binaries.get_mut(&number) {
                binary.managed.push((host, name.to_string()));
            }
        });
    }
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
    // SAFETY: as above.
    let number = unsafe { number(handle) };
    c_char::from(module_of(number).is_ok())
}

runtime_api! {
    fn __cudaGetKernel(to: *mut Handle, stub: *const c_void) {
        let kernel = give(stub)?;
        // SAFETY: the caller's promise, here and below.
        unsafe { out(to, kernel) }
    }

    fn cudaGetKernel(to: *mut Handle, stub: *const c_void) {
        let kernel = give(stub)?;
        // SAFETY: as above.
        unsafe { out(to, kernel) }
    }

    fn cudaGetFuncBySymbol(to: *mut Handle, stub: *const c_void) {
        let kernel = give(stub)?;
        // SAFETY: as above.
        unsafe { out(to, kernel) }
    }

    fn cudaGetSymbolAddress(to: *mut *mut c_void, symbol: *const c_void) {
        let (address, _) = variable_of(symbol)?;
        // SAFETY: as above.
        unsafe { out(to, std::ptr::with_exposed_provenance_mut(address as usize)) }
    }

    fn cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) {
        let (_, size) = variable_of(symbol)?;
        // SAFETY: as above.
        unsafe { out(to, size as usize) }
    }
}

forward! {
    fn cudaLibraryGetKernelCount(count: *mut u32, library: Handle) = cuLibraryGetKernelCount;
    fn cudaLibraryEnumerateKernels(to: *mut Handle, count: u32, library: Handle) = cuLibraryEnumerateKernels;
    fn cudaLibraryGetManaged(to: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) = cuLibraryGetManaged;
    fn cudaLibraryLoadData(to: *mut Handle, data: *const c_void, options: *const c_int, values: *mut *mut c_void, count: u32, library: *const c_int, library_values: *const *mut c_void, library_count: u32) = cuLibraryLoadData;
    fn cudaLibraryUnload(library: Handle) = cuLibraryUnload;
    fn cudaLibraryGetKernel(to: *mut Handle, library: Handle, name: *const c_char) = cuLibraryGetKernel;
    fn cudaLibraryGetGlobal(to: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) = cuLibraryGetGlobal;
}
