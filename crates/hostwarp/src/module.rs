//! Modules and kernels.

use crate::code::Codes;
use crate::error::InputError;
use crate::jit::Speculation;
use crate::launch::{Asked, LaunchBuilder, Ready};
use crate::{Device, Error, Limits};
use hostwarp_compile as compile;
use hostwarp_compile::{Diagnostic, Severity, Unusable};
use hostwarp_interp::Program;
use hostwarp_ir as ir;
use hostwarp_ir::reshape::Reshape;
use hostwarp_isa::Profile;
use hostwarp_memory::{Block, Space};
use hostwarp_plan::Assume;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// How a module is loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whose bits: the manual's or an H200's.
    pub profile: Profile,
}

/// Bytes that a byte of PTX takes while a module is loaded, at most: its tree, names and IR.
const MEMORY_FACTOR: u64 = 24;

/// A loaded module: checked, its variables in device memory. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<ModuleInner>,
}

#[derive(Debug)]
struct ModuleInner {
    device: Device,
    compiled: compile::Module,
    /// Of each file.
    diagnostics: Vec<Vec<Diagnostic>>,
    globals: Option<u64>,
    constants: RwLock<Arc<Block>>,
    kernels: Vec<Arc<KernelCache>>,
    /// What it was made of, by name, to make it anew with probes.
    sources: Vec<(String, Vec<u8>)>,
    options: Options,
    instrumented: Mutex<HashMap<compile::Probes, Arc<Instrumented>>>,
}

/// A module with probes in it.
#[derive(Debug)]
pub(crate) struct Instrumented {
    pub(crate) compiled: compile::Module,
    pub(crate) kernels: Vec<Arc<KernelCache>>,
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        if let Some(address) = self.globals {
            // Ours and alive: nothing to report.
            let _ = self.device.memory().free(address);
        }
    }
}

/// What has been made of a kernel so far.
#[derive(Debug, Default)]
pub(crate) struct KernelCache {
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
pub(crate) struct Made {
    /// The primitive function, once asked for.
    primitive: Option<ir::Function>,
    /// The same for [reshaped](Reshape) launches; none if the kernel has to be launched as it is.
    reshaped: HashMap<Reshape, Option<ir::Function>>,
    programs: HashMap<(Option<Reshape>, Assume), Arc<Program>>,
    pub(crate) jit: HashMap<(Option<Reshape>, Assume, Speculation), Arc<Codes>>,
    /// What all this came to.
    pub(crate) ready: HashMap<Asked, Ready>,
}

impl KernelCache {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Made {
    fn primitive(&mut self, kernel: &compile::Kernel) -> Result<&ir::Function, Error> {
        match &mut self.primitive {
            Some(f) => Ok(f),
            none => Ok(none.insert(primitive(kernel)?)),
        }
    }

    /// The kernel for launches that are reshaped in this way, if it can be.
    fn reshaped(&mut self, kernel: &compile::Kernel, how: Reshape) -> Result<Option<&ir::Function>, Error> {
        if !self.reshaped.contains_key(&how) {
            let reshaped = ir::reshape::reshape(self.primitive(kernel)?, &how);
            self.reshaped.insert(how, reshaped);
        }
        Ok(self.reshaped.get(&how).and_then(Option::as_ref))
    }

    /// Whether the kernel can be launched reshaped in this way.
    pub(crate) fn can_be_reshaped(&mut self, kernel: &compile::Kernel, how: Reshape) -> Result<bool, Error> {
        Ok(self.reshaped(kernel, how)?.is_some())
    }

    /// The planned kernel under these assumptions.
    pub(crate) fn program(
        &mut self,
        kernel: &compile::Kernel,
        reshape: Option<Reshape>,
        assume: Assume,
    ) -> Result<Arc<Program>, Error> {
        if let Some(p) = self.programs.get(&(reshape, assume)) {
            return Ok(p.clone());
        }
        let reshaped = match reshape {
            Some(how) => self.reshaped(kernel, how)?.cloned(),
            None => None,
        };
        let func = match reshaped {
            Some(reshaped) => reshaped,
            None => self.primitive(kernel)?.clone(),
        };
        let program = Arc::new(Program::new(func, assume));
        self.programs.insert((reshape, assume), program.clone());
        Ok(program)
    }
}

/// Name and purpose of every pass over the IR.
pub fn passes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ir::passes::PASSES.iter().map(|p| (p.name, p.about))
}

/// The kernel's function, with all it calls.
pub(crate) fn linked(kernel: &compile::Kernel) -> Result<ir::Function, Error> {
    match &kernel.function {
        Ok(f) => Ok(f.clone()),
        Err(Unusable::Unsupported { line, what }) => {
            Err(Error::Unsupported { kernel: kernel.name.clone(), line: *line, what: what.clone() })
        }
        Err(other) => Err(Error::Bug(format!("kernel `{}` has no function: {other:?}", kernel.name))),
    }
}

/// The kernel's function in primitive ops, simplified.
pub(crate) fn primitive(kernel: &compile::Kernel) -> Result<ir::Function, Error> {
    let mut f = linked(kernel)?;
    ir::passes::lower(&mut f);
    match ir::verify_primitive(&f) {
        Ok(()) => Ok(f),
        Err(e) => Err(Error::Bug(format!("kernel `{}` came out wrong: {e}", kernel.name))),
    }
}

/// A variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its space: `Global` or `Const`.
    pub space: Space,
    /// Its size in bytes.
    pub size: u64,
    /// The type of an element.
    pub ty: hostwarp_isa::Ty,
    /// Device address, or offset in the constant bank.
    pub address: u64,
}

/// Bytes that compiling these takes at most.
fn size_of_sources(sources: &[(String, Vec<u8>)]) -> u64 {
    let bytes = sources.iter().map(|(_, ptx)| ptx.len() as u64).sum::<u64>();
    bytes.saturating_mul(MEMORY_FACTOR)
}

type Compiled = (Vec<hostwarp_syntax::Parsed>, (compile::Module, Vec<Vec<Diagnostic>>));

fn compile_sources(sources: &[(String, Vec<u8>)], options: &compile::Options) -> Compiled {
    let parsed: Vec<_> = sources.iter().map(|(_, ptx)| hostwarp_syntax::parse(ptx)).collect();
    let modules: Vec<_> = sources.iter().zip(&parsed).map(|((name, _), p)| (name.as_str(), p)).collect();
    let out = compile::compile_all(&modules, options);
    (parsed, out)
}

impl Module {
    pub(crate) fn load(
        device: &Device,
        files: &[(&str, &[u8])],
        options: Options,
        limits: &Limits,
    ) -> Result<Module, Error> {
        let limit = Error::limit("while the module was loaded");
        let sources: Vec<(String, Vec<u8>)> =
            files.iter().map(|(name, ptx)| (name.to_string(), ptx.to_vec())).collect();
        let _held = limits.hold(size_of_sources(&sources)).map_err(&limit)?;
        let module_options = options;
        let options = compile::Options { profile: options.profile, ..Default::default() };
        let (parsed, (compiled, diagnostics)) =
            limits.within(|| compile_sources(&sources, &options)).map_err(limit)?;
        let is_wrong = |list: &Vec<Diagnostic>| list.iter().any(|d| d.severity == Severity::Error);
        if diagnostics.iter().any(is_wrong) {
            let each = parsed.iter().zip(&sources).zip(&diagnostics).filter(|(_, list)| is_wrong(list));
            let mut errors: Vec<InputError> = each
                .map(|((parsed, (name, _)), list)| InputError {
                    name: name.clone(),
                    // What the spans refer to: not always the bytes given.
                    text: parsed.module.source().to_string(),
                    diagnostics: list.clone(),
                    others: vec![],
                })
                .collect();
            let mut first = errors.remove(0);
            first.others = errors;
            return Err(Error::Input(Box::new(first)));
        }
        let image = &compiled.globals;
        let globals = match image.size {
            0 => None,
            size => Some(device.memory().alloc_with(size, image.align.max(256), Some("module variables"))?),
        };
        let base = globals.unwrap_or(0);
        for (offset, bytes) in contents(image, base) {
            device.memory().write(base + offset, &bytes)?;
        }
        let mut bank = vec![0; compiled.constants.size as usize];
        for (offset, bytes) in contents(&compiled.constants, base) {
            if let Some(to) = bank.get_mut(offset as usize..offset as usize + bytes.len()) {
                to.copy_from_slice(&bytes);
            }
        }
        let kernels = new_caches(&compiled);
        Ok(Module {
            inner: Arc::new(ModuleInner {
                device: device.clone(),
                compiled,
                diagnostics,
                globals,
                constants: RwLock::new(Arc::new(Block::from_bytes(Space::Const, &bank))),
                kernels,
                sources,
                options: module_options,
                instrumented: Mutex::default(),
            }),
        })
    }

    /// The module compiled with these probes.
    pub(crate) fn instrumented(
        &self,
        probes: compile::Probes,
        limits: &Limits,
    ) -> Result<Arc<Instrumented>, Error> {
        let kept = || self.inner.instrumented.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(made) = kept().get(&probes) {
            return Ok(made.clone());
        }
        let limit = Error::limit("while the kernel was made ready");
        let _held = limits.hold(size_of_sources(&self.inner.sources)).map_err(&limit)?;
        let options = compile::Options { profile: self.inner.options.profile, probes, ..Default::default() };
        let (_, (compiled, _)) =
            limits.within(|| compile_sources(&self.inner.sources, &options)).map_err(limit)?;
        let kernels = new_caches(&compiled);
        let made = Arc::new(Instrumented { compiled, kernels });
        kept().insert(probes, made.clone());
        Ok(made)
    }

    /// Warnings, and what is not supported yet.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.inner.diagnostics.first().map_or(&[], |list| list)
    }

    /// The same of each file it was [linked](crate::Device::link) from.
    pub fn diagnostics_by_file(&self) -> &[Vec<Diagnostic>] {
        &self.inner.diagnostics
    }

    /// An error with the file it happened in and the line there, where there are several.
    pub(crate) fn located(&self, error: Error) -> Error {
        if self.inner.sources.len() < 2 {
            return error;
        }
        match error {
            Error::Fault(mut fault) if fault.line > 0 => {
                let (file, line) = self.inner.compiled.place(fault.line);
                (fault.file, fault.line) = (Some(file.to_string()), line);
                Error::Fault(fault)
            }
            Error::Unsupported { kernel, line, what } if line > 0 => {
                let (file, line) = self.inner.compiled.place(line);
                Error::Unsupported { kernel, line, what: format!("{what} (in {file})") }
            }
            other => other,
        }
    }

    /// The kernels in text order.
    pub fn kernels(&self) -> Vec<Kernel> {
        (0..self.inner.kernels.len()).map(|index| Kernel { module: self.clone(), index }).collect()
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let all = &self.inner.compiled.kernels;
        match all.iter().position(|k| k.name == name) {
            Some(index) => Ok(Kernel { module: self.clone(), index }),
            None => {
                let names: Vec<&str> = all.iter().map(|k| k.name.as_str()).collect();
                if self.inner.compiled.functions.iter().any(|f| f == name) {
                    let kernels = if names.is_empty() { "none".into() } else { names.join(", ") };
                    return Err(Error::launch(format!(
                        "`{name}` is a function (.func), which only kernels can call; kernels (.entry): {kernels}"
                    )));
                }
                if let Some(near) = hostwarp_isa::near(name, names.iter().copied()).first() {
                    return Err(Error::launch(format!(
                        "there is no kernel `{name}`; did you mean `{near}`? The module has {}",
                        names.join(", ")
                    )));
                }
                Err(Error::launch(match names.as_slice() {
                    [] => format!("there is no kernel `{name}`: the module has none"),
                    _ => format!("there is no kernel `{name}`; the module has {}", names.join(", ")),
                }))
            }
        }
    }

    /// The variable of that name.
    pub fn symbol(&self, name: &str) -> Result<Symbol, Error> {
        let m = &self.inner.compiled;
        if let Some(s) = m.globals.symbol(name) {
            let address = self.globals_base() + s.offset;
            return Ok(Symbol { space: Space::Global, size: s.size, ty: s.ty, address });
        }
        if let Some(s) = m.constants.symbol(name) {
            return Ok(Symbol { space: Space::Const, size: s.size, ty: s.ty, address: s.offset });
        }
        let names: Vec<&str> =
            m.globals.symbols.iter().chain(&m.constants.symbols).map(|s| s.name.as_str()).collect();
        Err(Error::launch(match names.as_slice() {
            [] => format!("there is no variable `{name}`: the module has none"),
            _ => format!("there is no variable `{name}`; the module has {}", names.join(", ")),
        }))
    }

    /// Sets a variable, from its beginning.
    pub fn write_symbol(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let s = self.symbol(name)?;
        if bytes.len() as u64 > s.size {
            return Err(Error::launch(format!(
                "{} bytes do not fit `{name}`, which has {}",
                bytes.len(),
                s.size
            )));
        }
        match s.space {
            Space::Const => {
                let mut bank = self.inner.constants.write().unwrap_or_else(|e| e.into_inner());
                let mut new = bank.bytes().to_vec();
                new[s.address as usize..s.address as usize + bytes.len()].copy_from_slice(bytes);
                *bank = Arc::new(Block::from_bytes(Space::Const, &new));
                Ok(())
            }
            _ => Ok(self.inner.device.memory().write(s.address, bytes)?),
        }
    }

    /// The bytes of a variable.
    pub fn read_symbol(&self, name: &str) -> Result<Vec<u8>, Error> {
        let s = self.symbol(name)?;
        match s.space {
            Space::Const => {
                Ok(self.constants().bytes()[s.address as usize..(s.address + s.size) as usize].to_vec())
            }
            _ => {
                let mut out = vec![0; s.size as usize];
                self.inner.device.memory().read(s.address, &mut out)?;
                Ok(out)
            }
        }
    }

    /// The device it is loaded on.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// What the compiler knows of it.
    pub fn compiled(&self) -> &compile::Module {
        &self.inner.compiled
    }

    pub(crate) fn globals_base(&self) -> u64 {
        self.inner.globals.unwrap_or(0)
    }

    pub(crate) fn constants(&self) -> Arc<Block> {
        self.inner.constants.read().unwrap_or_else(|e| e.into_inner()).clone()
    }
}

fn new_caches(compiled: &compile::Module) -> Vec<Arc<KernelCache>> {
    compiled.kernels.iter().map(|_| Arc::default()).collect()
}

/// The bytes of an image with addresses filled in.
fn contents(image: &compile::Image, globals_base: u64) -> Vec<(u64, Vec<u8>)> {
    let data = image.data.iter().map(|d| (d.offset, d.bytes.clone()));
    let addresses = image.relocations.iter().map(|r| {
        let bytes = r.value(globals_base).to_le_bytes();
        (r.offset, bytes[..(r.bytes as usize).min(8)].to_vec())
    });
    data.chain(addresses).collect()
}

/// A kernel of a loaded module. Cheap to clone; compiled code is kept with the module.
#[derive(Clone, Debug)]
pub struct Kernel {
    module: Module,
    index: usize,
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.compiled().name
    }

    /// Its parameters.
    pub fn params(&self) -> &[compile::Param] {
        &self.compiled().params
    }

    /// Its signature in one line, for messages.
    pub fn signature(&self) -> String {
        let params: Vec<String> = self.params().iter().map(show_param).collect();
        format!("{}({})", self.name(), params.join(", "))
    }

    /// The module it belongs to.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// What the compiler knows of it.
    pub fn compiled(&self) -> &compile::Kernel {
        &self.module.inner.compiled.kernels[self.index]
    }

    /// A launch, to be filled in.
    pub fn launch(&self) -> LaunchBuilder<'_> {
        LaunchBuilder::new(self)
    }

    /// Its place among the module's.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn cache(&self) -> &KernelCache {
        &self.module.inner.kernels[self.index]
    }
}

fn show_param(p: &compile::Param) -> String {
    if p.array {
        let count = p.size / (p.ty.bits() / 8).max(1);
        return format!("{}: {}[{count}]", p.name, p.ty);
    }
    format!("{}: {}", p.name, p.ty)
}
