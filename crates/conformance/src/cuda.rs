//! The CUDA driver, loaded at run time: just what running a test kernel takes.

use hostwarp_system::seam::{self, Kind};
use libloading::{Library, Symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, String>;

/// A GPU with a context on it, current on the thread that opened it.
pub struct Gpu {
    lib: Library,
    /// Its name, e.g. `NVIDIA H200`.
    pub name: String,
    /// The CUDA version of the driver, e.g. `13.0`.
    pub driver: String,
    /// Compute capability, e.g. `90`.
    pub sm: u32,
}

/// A loaded module.
pub struct Module<'g> {
    gpu: &'g Gpu,
    handle: *mut c_void,
}

/// Device memory, freed when dropped.
pub struct Memory<'g> {
    gpu: &'g Gpu,
    address: u64,
    len: usize,
}

impl Gpu {
    /// Opens the first GPU.
    pub fn open() -> Result<Gpu> {
        // SAFETY: loading the CUDA driver runs its initialisers, which is what it is made for.
        let lib = ["libcuda.so.1", "libcuda.so", "nvcuda.dll"]
            .iter()
            .find_map(|n| seam::ask(Kind::Library).ok().and_then(|()| unsafe { Library::new(n) }.ok()))
            .ok_or("no CUDA driver found (libcuda.so.1): recording needs an NVIDIA GPU")?;
        let mut gpu = Gpu { lib, name: String::new(), driver: String::new(), sm: 0 };
        let (mut device, mut version): (c_int, c_int) = (0, 0);
        let mut text = [0u8; 256];
        let mut context: *mut c_void = std::ptr::null_mut();
        // SAFETY: the calls and types are those of cuda.h; every pointer is to a live variable of the right type.
        unsafe {
            gpu.call::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit", |f| f(0))?;
            gpu.call::<unsafe extern "C" fn(*mut c_int) -> c_int>("cuDriverGetVersion", |f| f(&mut version))?;
            gpu.call::<unsafe extern "C" fn(*mut c_int, c_int) -> c_int>("cuDeviceGet", |f| {
                f(&mut device, 0)
            })?;
            gpu.call::<unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int>("cuDeviceGetName", |f| {
                f(text.as_mut_ptr().cast(), 255, device)
            })?;
            let mut sm = [0; 2];
            for (i, attribute) in [75, 76].into_iter().enumerate() {
                gpu.call::<unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int>(
                    "cuDeviceGetAttribute",
                    |f| f(&mut sm[i], attribute, device),
                )?;
            }
            gpu.sm = (sm[0] * 10 + sm[1]) as u32;
            gpu.call::<unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int>(
                "cuDevicePrimaryCtxRetain",
                |f| f(&mut context, device),
            )?;
            gpu.call::<unsafe extern "C" fn(*mut c_void) -> c_int>("cuCtxSetCurrent", |f| f(context))?;
        }
        gpu.name =
            CStr::from_bytes_until_nul(&text).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        gpu.driver = format!("{}.{}", version / 1000, version % 1000 / 10);
        Ok(gpu)
    }

    /// Calls a driver function and turns its result code into an error.
    ///
    /// # Safety
    /// `F` must be the function's type in cuda.h.
    unsafe fn call<F: Copy>(&self, name: &str, call: impl FnOnce(F) -> c_int) -> Result<()> {
        // SAFETY: the caller vouches for the type.
        let f: Symbol<'_, F> = unsafe { self.lib.get(name.as_bytes()) }.map_err(|e| e.to_string())?;
        match call(*f) {
            0 => Ok(()),
            code => Err(format!("{name}: {}", self.error(code))),
        }
    }

    fn error(&self, code: c_int) -> String {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the type is that of cuda.h; the text it gives is static.
        unsafe {
            let f: std::result::Result<
                Symbol<'_, unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int>,
                _,
            > = self.lib.get(b"cuGetErrorString");
            if let Ok(f) = f
                && f(code, &mut text) == 0
                && !text.is_null()
            {
                return CStr::from_ptr(text).to_string_lossy().into_owned();
            }
        }
        format!("error {code}")
    }

    /// Loads a cubin, or PTX text for the driver's own assembler.
    pub fn load(&self, image: &[u8]) -> Result<Module<'_>> {
        let mut image = image.to_vec();
        image.push(0); // PTX text must end in NUL; a cubin does not mind
        let mut handle: *mut c_void = std::ptr::null_mut();
        // SAFETY: the type is that of cuda.h; the image lives through the call, which copies it.
        unsafe {
            self.call::<unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int>(
                "cuModuleLoadData",
                |f| f(&mut handle, image.as_ptr().cast()),
            )?;
        }
        Ok(Module { gpu: self, handle })
    }

    /// Assembles PTX text as asked for and loads it; an error is what the driver's assembler says.
    pub fn assemble(&self, text: &str, how: Assembly) -> Result<Module<'_>> {
        let text = CString::new(text).map_err(|e| e.to_string())?;
        let mut log = vec![0u8; 4096];
        let (mut options, mut values): (Vec<c_int>, Vec<*mut c_void>) = (vec![], vec![]);
        let mut option = |name: c_int, value: *mut c_void| {
            options.push(name);
            values.push(value);
        };
        let number = |n: usize| std::ptr::without_provenance_mut(n);
        // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_MAX_REGISTERS
        option(5, log.as_mut_ptr().cast());
        option(6, number(log.len() - 1));
        option(7, number(how.level as usize));
        if let Some(registers) = how.registers {
            option(0, number(registers as usize));
        }
        let mut handle: *mut c_void = std::ptr::null_mut();
        type LoadDataEx = unsafe extern "C" fn(
            *mut *mut c_void,
            *const c_void,
            c_uint,
            *const c_int,
            *mut *mut c_void,
        ) -> c_int;
        let count = options.len() as c_uint;
        // SAFETY: the type is that of cuda.h; text, options and the buffer for messages live through the call.
        let loaded = unsafe {
            self.call::<LoadDataEx>("cuModuleLoadDataEx", |f| {
                f(&mut handle, text.as_ptr().cast(), count, options.as_ptr(), values.as_mut_ptr())
            })
        };
        loaded.map_err(|e| {
            let said = CStr::from_bytes_until_nul(&log).map(|s| s.to_string_lossy().into_owned());
            format!("{e}: {}", said.unwrap_or_default().trim())
        })?;
        Ok(Module { gpu: self, handle })
    }

    /// Lets every thread have so many bytes of stack, for functions that call themselves.
    pub fn stack(&self, bytes: usize) -> Result<()> {
        const STACK_SIZE: c_int = 0;
        // SAFETY: types as in cuda.h.
        unsafe {
            self.call::<unsafe extern "C" fn(c_int, usize) -> c_int>("cuCtxSetLimit", |f| {
                f(STACK_SIZE, bytes)
            })
        }
    }

    /// Zeroed device memory.
    pub fn memory(&self, len: usize) -> Result<Memory<'_>> {
        let mut address = 0u64;
        // SAFETY: types as in cuda.h.
        unsafe {
            self.call::<unsafe extern "C" fn(*mut u64, usize) -> c_int>("cuMemAlloc_v2", |f| {
                f(&mut address, len)
            })?;
        }
        let memory = Memory { gpu: self, address, len };
        memory.clear()?;
        Ok(memory)
    }
}

impl Memory<'_> {
    /// The device address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Sets it to zero.
    pub fn clear(&self) -> Result<()> {
        // SAFETY: types as in cuda.h; the range is ours.
        unsafe {
            self.gpu.call::<unsafe extern "C" fn(u64, u8, usize) -> c_int>("cuMemsetD8_v2", |f| {
                f(self.address, 0, self.len)
            })
        }
    }

    /// Copies words in.
    pub fn write(&self, words: &[u64]) -> Result<()> {
        self.write_bytes(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// Copies bytes in.
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<()> {
        assert!(bytes.len() <= self.len);
        // SAFETY: types as in cuda.h; both ranges hold that many bytes.
        unsafe {
            self.gpu
                .call::<unsafe extern "C" fn(u64, *const c_void, usize) -> c_int>("cuMemcpyHtoD_v2", |f| {
                    f(self.address, bytes.as_ptr().cast(), bytes.len())
                })
        }
    }

    /// Copies `count` words out.
    pub fn read(&self, count: usize) -> Result<Vec<u64>> {
        let bytes = self.read_bytes(count * 8)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w)).collect())
    }

    /// Copies `count` bytes out.
    pub fn read_bytes(&self, count: usize) -> Result<Vec<u8>> {
        assert!(count <= self.len);
        let mut bytes = vec![0u8; count];
        // SAFETY: types as in cuda.h; both ranges hold that many bytes.
        unsafe {
            self.gpu
                .call::<unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int>("cuMemcpyDtoH_v2", |f| {
                    f(bytes.as_mut_ptr().cast(), self.address, count)
                })?;
        }
        Ok(bytes)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: types as in cuda.h; the address came from cuMemAlloc and is freed once. Errors have nowhere to go.
        let _ = unsafe {
            self.gpu.call::<unsafe extern "C" fn(u64) -> c_int>("cuMemFree_v2", |f| f(self.address))
        };
    }
}

/// How PTX is assembled by the driver.
#[derive(Clone, Copy, Debug)]
pub struct Assembly {
    /// 0 to 4.
    pub level: u32,
    /// At most so many registers for a thread.
    pub registers: Option<u32>,
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// All CTAs at once.
    pub cooperative: bool,
}

impl Module<'_> {
    /// Runs a kernel with these bytes as parameters and waits for it.
    pub fn run(&self, kernel: &str, grid: [u32; 3], block: [u32; 3], params: &[Vec<u8>]) -> Result<()> {
        self.launch(kernel, Grid { grid, block, shared: 0, cooperative: false }, params)
    }

    /// Runs a kernel with these bytes as parameters and waits for it.
    pub fn launch(&self, kernel: &str, how: Grid, params: &[Vec<u8>]) -> Result<()> {
        self.begin(kernel, how, params)?;
        // SAFETY: the type is that of cuda.h.
        unsafe { self.gpu.call::<unsafe extern "C" fn() -> c_int>("cuCtxSynchronize", |f| f()) }
    }

    /// Runs a kernel with these bytes as parameters and waits for it, but not for longer than this. Says whether it has ended: if not, the
    /// context is of no use any more.
    pub fn launch_within(&self, kernel: &str, how: Grid, params: &[Vec<u8>], time: Duration) -> Result<bool> {
        const NOT_READY: c_int = 600;
        self.begin(kernel, how, params)?;
        let began = Instant::now();
        loop {
            let mut runs = false;
            // SAFETY: the type is that of cuda.h; no stream is the default one.
            unsafe {
                self.gpu.call::<unsafe extern "C" fn(*mut c_void) -> c_int>("cuStreamQuery", |f| {
                    let code = f(std::ptr::null_mut());
                    runs = code == NOT_READY;
                    if runs { 0 } else { code }
                })?;
            }
            if !runs || began.elapsed() > time {
                return Ok(!runs);
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    fn begin(&self, kernel: &str, how: Grid, params: &[Vec<u8>]) -> Result<()> {
        let Grid { grid, block, shared, cooperative } = how;
        let name = CString::new(kernel).map_err(|e| e.to_string())?;
        let mut function: *mut c_void = std::ptr::null_mut();
        let pointers: Vec<*const u8> = params.iter().map(|p| p.as_ptr()).collect();
        type LaunchKernel = unsafe extern "C" fn(
            *mut c_void,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            *mut c_void,
            *const *const u8,
            *const c_void,
        ) -> c_int;
        type LaunchCooperative = unsafe extern "C" fn(
            *mut c_void,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            *mut c_void,
            *const *const u8,
        ) -> c_int;
        // SAFETY: types as in cuda.h; the parameter values live through the call.
        unsafe {
            self.gpu.call::<unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int>(
                "cuModuleGetFunction",
                |f| f(&mut function, self.handle, name.as_ptr()),
            )?;
            let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
            let (stream, pointers) = (std::ptr::null_mut(), pointers.as_ptr());
            if cooperative {
                self.gpu.call::<LaunchCooperative>("cuLaunchCooperativeKernel", |f| {
                    f(function, gx, gy, gz, bx, by, bz, shared, stream, pointers)
                })
            } else {
                self.gpu.call::<LaunchKernel>("cuLaunchKernel", |f| {
                    f(function, gx, gy, gz, bx, by, bz, shared, stream, pointers, std::ptr::null())
                })
            }
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: types as in cuda.h; the handle came from cuModuleLoadData and is unloaded once.
        let _ = unsafe {
            self.gpu.call::<unsafe extern "C" fn(*mut c_void) -> c_int>("cuModuleUnload", |f| f(self.handle))
        };
    }
}
