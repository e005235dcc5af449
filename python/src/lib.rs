//! `hostwarp._native`: what the Python files beside it are written with. Users see `hostwarp`, not this.
//!
//! # Safety
//!
//! `Device.launch`, `write` and `read` take addresses of NumPy arrays. The Python side holds the arrays while they are used and has looked at their
//! layout; it is the only caller.

use hostwarp::compile::{self, Code, Severity, Style};
use hostwarp::isa::{self, manual};
use hostwarp::{Arg, Buffer, Device, Engine, Error, ErrorKind, Kernel, Module, Options, Profile};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

create_exception!(hostwarp, HostwarpError, PyRuntimeError, "Something went wrong; the text says what, where and why.");
create_exception!(hostwarp, PtxError, HostwarpError, "The PTX is wrong.");
create_exception!(hostwarp, LaunchError, HostwarpError, "The launch is wrong: arguments, sizes, memory.");
create_exception!(hostwarp, KernelFault, HostwarpError, "The kernel faulted or reached a limit.");
create_exception!(hostwarp, Unsupported, HostwarpError, "PTX that Hostwarp does not do yet.");

/// How often a launch looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Input => PtxError::new_err(text),
        ErrorKind::Launch => LaunchError::new_err(text),
        ErrorKind::Fault => KernelFault::new_err(text),
        ErrorKind::Unsupported => Unsupported::new_err(text),
        ErrorKind::Bug => HostwarpError::new_err(text),
    }
}

fn profile(name: &str) -> PyResult<Profile> {
    match name {
        "isa" => Ok(Profile::Isa),
        "sm_90" => Ok(Profile::Sm90),
        other => Err(PyValueError::new_err(format!("there is no profile {other:?}: \"isa\" or \"sm_90\""))),
    }
}

#[pyclass(name = "Device", frozen)]
struct PyDevice {
    device: Device,
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (memory=None, threads=None))]
    fn new(memory: Option<u64>, threads: Option<usize>) -> PyResult<PyDevice> {
        let builder = || {
            let mut builder = Device::builder();
            if let Some(bytes) = memory {
                builder = builder.memory(bytes);
            }
            if let Some(threads) = threads {
                builder = builder.threads(threads);
            }
            builder
        };
        // One device of a process has its memory where the host can use it; others are as good but for `zeros` and `empty`.
        let device = builder().at_host_addresses().build().or_else(|_| builder().build()).map_err(raise)?;
        Ok(PyDevice { device })
    }

    /// Whether the host can use device addresses.
    fn shares_addresses(&self) -> bool {
        self.device.memory().is_at_host_addresses()
    }

    /// Whether these bytes lie in one allocation of the device.
    fn holds(&self, address: u64, bytes: u64) -> bool {
        self.shares_addresses()
            && self.device.memory().lookup(address).is_some_and(|a| address - a.base + bytes <= a.size)
    }

    #[pyo3(signature = (bytes, name=None))]
    fn buffer(&self, bytes: usize, name: Option<&str>) -> PyResult<PyBuffer> {
        let buffer = match name {
            Some(name) => self.device.buffer_named(name, bytes),
            None => self.device.buffer(bytes),
        };
        Ok(PyBuffer { buffer: buffer.map_err(raise)? })
    }

    fn load(&self, py: Python<'_>, name: String, ptx: Vec<u8>, bits: &str) -> PyResult<PyModule_> {
        let options = Options { profile: profile(bits)? };
        let module = py.allow_threads(|| self.device.load_with(&name, &ptx, options)).map_err(raise)?;
        Ok(PyModule_ { module })
    }

    fn printed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.device.printed())
    }

    #[getter]
    fn threads(&self) -> usize {
        self.device.threads()
    }

    /// The version of the libLLVM that the fast engine uses, or why there is none.
    fn llvm(&self) -> (bool, String) {
        match self.device.llvm() {
            Ok(llvm) => (true, format!("{llvm:?}")),
            Err(why) => (false, why),
        }
    }
}

#[pyclass(name = "Buffer", frozen)]
struct PyBuffer {
    buffer: Buffer<u8>,
}

#[pymethods]
impl PyBuffer {
    #[getter]
    fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// Copies in from a host address.
    fn write(&self, py: Python<'_>, from: usize, bytes: usize) -> PyResult<()> {
        // SAFETY: the Python side holds a contiguous array of so many bytes there.
        let data = unsafe { slice(from, bytes) };
        py.allow_threads(|| self.buffer.write(0, data)).map_err(raise)
    }

    /// Copies out to a host address.
    fn read(&self, py: Python<'_>, to: usize, bytes: usize) -> PyResult<()> {
        let pointer = std::ptr::with_exposed_provenance_mut::<u8>(to);
        // SAFETY: as above; the array is writable.
        let data: &mut [u8] = if bytes == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(pointer, bytes) } };
        py.allow_threads(|| self.buffer.read(0, data)).map_err(raise)
    }
}

/// # Safety
/// So many bytes are there, for as long as the slice is used.
unsafe fn slice<'a>(from: usize, bytes: usize) -> &'a [u8] {
    match bytes {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(from), bytes) },
    }
}

#[pyclass(name = "Module", frozen)]
struct PyModule_ {
    module: Module,
}

#[pymethods]
impl PyModule_ {
    fn names(&self) -> Vec<String> {
        self.module.kernels().iter().map(|k| k.name().to_string()).collect()
    }

    fn kernel(&self, name: &str) -> PyResult<PyKernel> {
        Ok(PyKernel { kernel: self.module.kernel(name).map_err(raise)? })
    }

    fn read_symbol<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.module.read_symbol(name).map_err(raise)?))
    }

    fn write_symbol(&self, name: &str, bytes: &[u8]) -> PyResult<()> {
        self.module.write_symbol(name, bytes).map_err(raise)
    }
}

#[pyclass(name = "Kernel", frozen)]
struct PyKernel {
    kernel: Kernel,
}

#[pymethods]
impl PyKernel {
    #[getter]
    fn name(&self) -> &str {
        self.kernel.name()
    }

    #[getter]
    fn signature(&self) -> String {
        self.kernel.signature()
    }

    /// Name, type, bytes and whether it is an array, for each parameter.
    fn params(&self) -> Vec<(String, String, u64, bool)> {
        let each = |p: &compile::Param| {
            let ty = p.ty.to_string();
            (p.name.clone(), ty.trim_start_matches('.').to_string(), u64::from(p.size), p.array)
        };
        self.kernel.params().iter().map(each).collect()
    }

    /// Runs it. Answers the engine and the seconds it took.
    #[pyo3(signature = (grid, block, shared, args, engine="auto", timeout=None, fuel=None, cooperative=false))]
    #[allow(clippy::too_many_arguments)]
    fn launch(
        &self,
        py: Python<'_>,
        grid: [u32; 3],
        block: Option<[u32; 3]>,
        shared: u32,
        args: Vec<Vec<u8>>,
        engine: &str,
        timeout: Option<f64>,
        fuel: Option<u64>,
        cooperative: bool,
    ) -> PyResult<(&'static str, f64)> {
        let cancel = Arc::new(AtomicBool::new(false));
        let mut launch = self.kernel.launch().grid(grid).shared(shared).cancel(cancel.clone());
        if let Some(block) = block {
            launch = launch.block(block);
        }
        for arg in args {
            launch = launch.arg(Arg::bytes(arg));
        }
        launch = launch.engine(match engine {
            "auto" => Engine::Auto,
            "interp" => Engine::Interp,
            "jit" => Engine::Jit,
            other => {
                return Err(PyValueError::new_err(format!("there is no engine {other:?}: auto, interp or jit")));
            }
        });
        if let Some(seconds) = timeout {
            let time = Duration::try_from_secs_f64(seconds).map_err(|e| PyValueError::new_err(e.to_string()))?;
            launch = launch.timeout(time);
        }
        if let Some(fuel) = fuel {
            launch = launch.fuel(fuel);
        }
        if cooperative {
            launch = launch.cooperative();
        }
        // Beside this thread, which looks for Ctrl-C meanwhile.
        let ran = std::thread::scope(|scope| {
            let (done, wait) = mpsc::channel();
            // Only this thread waits; the lock says so to the compiler.
            let wait = Mutex::new(wait);
            scope.spawn(move || {
                // Nobody is left to tell if this thread has gone.
                let _ = done.send(launch.run());
            });
            let mut interrupted = None;
            loop {
                let look = || wait.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
                let got = py.allow_threads(look);
                match got {
                    Ok(ran) => return interrupted.map_or(Ok(ran), Err),
                    Err(mpsc::RecvTimeoutError::Disconnected) => {
                        return Err(HostwarpError::new_err("this is a bug in Hostwarp: the launch panicked"));
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) if interrupted.is_none() => {
                        if let Err(error) = py.check_signals() {
                            cancel.store(true, Ordering::Relaxed);
                            interrupted = Some(error);
                        }
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                }
            }
        })?;
        let report = ran.map_err(raise)?;
        let name = match report.engine {
            Engine::Jit => "jit",
            _ => "interp",
        };
        Ok((name, report.run.as_secs_f64()))
    }
}

/// The diagnostics of a text: rendered, as one JSON object per line, and whether there are errors or things not supported.
#[pyfunction]
fn check(py: Python<'_>, name: String, ptx: Vec<u8>) -> (String, String, bool, bool) {
    py.allow_threads(|| {
        let parsed = hostwarp::syntax::parse(&ptx);
        let options = compile::Options { check_only: true, ..compile::Options::default() };
        let found = compile::compile(&parsed, &options).diagnostics;
        let text = parsed.module.source();
        let any = |s: Severity| found.iter().any(|d| d.severity == s);
        (
            compile::render(&found, text, &name, Style::default()),
            compile::to_json(&found, text, &name),
            any(Severity::Error),
            any(Severity::Unsupported),
        )
    })
}

/// Name, type and bits of each register written.
#[pyfunction]
fn eval(text: &str, inputs: Vec<(String, u128)>, bits: &str) -> PyResult<Vec<(String, String, u128)>> {
    let inputs: Vec<(&str, u128)> = inputs.iter().map(|(n, v)| (n.as_str(), *v)).collect();
    let out = hostwarp::eval(text, &inputs, profile(bits)?).map_err(raise)?;
    let each = |v: hostwarp::EvalValue| (v.name, v.ty.to_string().trim_start_matches('.').to_string(), v.bits);
    Ok(out.outputs.into_iter().map(each).collect())
}

/// What there is to say about an opcode or the code of a diagnostic.
#[pyfunction]
fn explain(name: &str) -> PyResult<String> {
    if let Some(code) = Code::from_text(name) {
        return Ok(code.markdown());
    }
    let opcode = name.split('.').next().unwrap_or(name);
    let Some((entry, _)) = isa::find(opcode) else {
        let near = isa::near(opcode, manual::all());
        let hint = near.first().map(|n| format!("; did you mean {n:?}?")).unwrap_or_default();
        return Err(PyValueError::new_err(format!("there is no instruction or diagnostic {name:?}{hint}")));
    };
    let mut out = format!("{opcode}: {}\n\n", entry.room.title);
    for parsed in &entry.forms {
        let since = parsed.form.since;
        let later = if parsed.form.later { ", not supported yet" } else { "" };
        out += &format!("  {}  (PTX {}.{}, sm_{}{later})\n", parsed.shown(), since.ptx / 10, since.ptx % 10, since.sm);
    }
    out += &format!("\n{}\n", entry.room.doc);
    for note in entry.room.notes {
        out += &format!("\n- {note}\n");
    }
    Ok(out)
}

#[pymodule]
fn _native(py: Python<'_>, m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyDevice>()?;
    m.add_class::<PyBuffer>()?;
    m.add_class::<PyModule_>()?;
    m.add_class::<PyKernel>()?;
    m.add_function(wrap_pyfunction!(check, m)?)?;
    m.add_function(wrap_pyfunction!(eval, m)?)?;
    m.add_function(wrap_pyfunction!(explain, m)?)?;
    m.add("Error", py.get_type::<HostwarpError>())?;
    m.add("PtxError", py.get_type::<PtxError>())?;
    m.add("LaunchError", py.get_type::<LaunchError>())?;
    m.add("KernelFault", py.get_type::<KernelFault>())?;
    m.add("Unsupported", py.get_type::<Unsupported>())?;
    Ok(())
}
