//! Who takes part: Hostwarp's engines in this process, C and OpenCL as programs that take orders over a pipe.

use crate::case::{Case, Scalar};
use crate::generate;
use hostwarp::jit::target::X86Level;
use hostwarp::{Buffer, Device, Effort, Engine, Kernel};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What went wrong, in words.
pub type Result<T = ()> = std::result::Result<T, String>;

/// Someone who runs cases.
pub trait Contestant {
    fn name(&self) -> &'static str;
    /// Takes over a case's arguments; what it had is dropped.
    fn load(&mut self, case: &Case) -> Result;
    /// Fills the output buffer as it was in the beginning.
    fn reset(&mut self, case: &Case) -> Result;
    /// Runs the case `repeat` times; none where it cannot.
    fn run(&mut self, case: &Case, repeat: u32) -> Result<Option<Duration>>;
    fn output(&mut self, case: &Case) -> Result<Vec<u32>>;
    /// Runs the case until it is as fast as it gets.
    fn warm_up(&mut self, _case: &Case) -> Result {
        Ok(())
    }
}

/// One of Hostwarp's engines.
pub struct Hostwarp {
    name: &'static str,
    engine: Engine,
    device: Rc<Device>,
    buffers: Rc<RefCell<Vec<Buffer<u32>>>>,
    kernel: Option<Kernel>,
}

impl Hostwarp {
    /// Both engines; they share a device and its buffers.
    pub fn both() -> Result<[Hostwarp; 2]> {
        Hostwarp::on(Device::new().map_err(|e| e.to_string())?)
    }

    /// The jit as if this CPU had nothing beyond a step.
    pub fn up_to(level: X86Level) -> Result<[Hostwarp; 1]> {
        let [jit, _] = Hostwarp::on(Device::builder().cpu(level).build().map_err(|e| e.to_string())?)?;
        Ok([jit])
    }

    /// The jit with code that is made with this effort only.
    pub fn with(effort: Effort) -> Result<[Hostwarp; 1]> {
        let [jit, _] = Hostwarp::on(Device::builder().effort(effort).build().map_err(|e| e.to_string())?)?;
        Ok([jit])
    }

    fn on(device: Device) -> Result<[Hostwarp; 2]> {
        let device = Rc::new(device);
        let buffers = Rc::new(RefCell::new(vec![]));
        Ok([("jit", Engine::Jit), ("interp", Engine::Interp)].map(|(name, engine)| Hostwarp {
            name,
            engine,
            device: device.clone(),
            buffers: buffers.clone(),
            kernel: None,
        }))
    }
}

impl Contestant for Hostwarp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn load(&mut self, case: &Case) -> Result {
        let module = self.device.load(&case.kernel, &case.ptx).map_err(|e| e.to_string())?;
        if let Some((index, symbol)) = case.constant {
            let bytes = bytemuck::cast_slice(&case.buffers[index]);
            module.write_symbol(symbol, bytes).map_err(|e| e.to_string())?;
        }
        self.kernel = Some(module.kernel(&case.kernel).map_err(|e| e.to_string())?);
        let mut buffers = self.buffers.borrow_mut();
        if self.engine != Engine::Jit && !buffers.is_empty() {
            // The first one has loaded the buffers of both.
            return Ok(());
        }
        buffers.clear();
        for words in &case.buffers {
            buffers.push(self.device.buffer_from(words).map_err(|e| e.to_string())?);
        }
        Ok(())
    }

    fn reset(&mut self, case: &Case) -> Result {
        let buffers = self.buffers.borrow();
        buffers[case.output].write(0, &case.buffers[case.output]).map_err(|e| e.to_string())
    }

    fn run(&mut self, case: &Case, repeat: u32) -> Result<Option<Duration>> {
        let buffers = self.buffers.borrow();
        let kernel = self.kernel.as_ref().ok_or("no case loaded")?;
        let began = Instant::now();
        for _ in 0..repeat {
            launch(kernel, case, &buffers).engine(self.engine).run().map_err(|e| e.to_string())?;
        }
        Ok(Some(began.elapsed()))
    }

    fn output(&mut self, case: &Case) -> Result<Vec<u32>> {
        self.buffers.borrow()[case.output].to_vec().map_err(|e| e.to_string())
    }

    fn warm_up(&mut self, case: &Case) -> Result {
        let buffers = self.buffers.borrow();
        let kernel = self.kernel.as_ref().ok_or("no case loaded")?;
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(5) {
            let launch = launch(kernel, case, &buffers).engine(self.engine);
            if launch.run().map_err(|e| e.to_string())?.effort != Some(Effort::Quick) {
                break;
            }
        }
        Ok(())
    }
}

/// A launch of the case's kernel.
pub fn launch<'a>(kernel: &'a Kernel, case: &Case, buffers: &[Buffer<u32>]) -> hostwarp::LaunchBuilder<'a> {
    let mut launch = kernel.launch().grid(case.grid).block(case.block).threads(case.threads);
    for (i, buffer) in buffers.iter().enumerate() {
        if case.constant.is_none_or(|(constant, _)| constant != i) {
            launch = launch.arg(buffer);
        }
    }
    for scalar in &case.scalars {
        launch = match *scalar {
            Scalar::U(v) => launch.arg(v),
            Scalar::F(v) => launch.arg(v),
        };
    }
    launch
}

/// A program that takes orders; see `native/protocol.h`.
struct Process {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    buffers: usize,
}

impl Process {
    fn start(program: &Path, env: &[(&str, String)]) -> Result<Process> {
        let mut child = Command::new(program)
            .envs(env.iter().map(|(k, v)| (k, v)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        Ok(Process { child, to, from, buffers: 0 })
    }

    fn send(&mut self, order: &str, bytes: &[u8]) -> Result {
        let to = self.to.as_mut().ok_or("no pipe")?;
        to.write_all(order.as_bytes())
            .and_then(|()| to.write_all(b"\n"))
            .and_then(|()| to.write_all(bytes))
            .and_then(|()| to.flush())
            .map_err(|e| format!("{order}: {e}"))
    }

    fn ask(&mut self, order: &str, bytes: &[u8]) -> Result<String> {
        self.send(order, bytes)?;
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(n) if n > 0 => Ok(line.trim_end().to_string()),
            _ => Err(format!("no answer to `{order}`")),
        }
    }

    fn load(&mut self, case: &Case) -> Result {
        self.ask("clear", &[])?;
        self.buffers = case.buffers.len();
        for (i, words) in case.buffers.iter().enumerate() {
            self.ask(&format!("buffer {i} {}", words.len() * 4), bytemuck::cast_slice(words))?;
        }
        for (i, scalar) in case.scalars.iter().enumerate() {
            self.ask(&format!("scalar {i} {:x}", scalar.bits()), &[])?;
        }
        Ok(())
    }

    fn reset(&mut self, case: &Case) -> Result {
        let words = &case.buffers[case.output];
        let order = format!("buffer {} {}", case.output, words.len() * 4);
        self.ask(&order, bytemuck::cast_slice(words)).map(|_| ())
    }

    fn time(&mut self, order: &str) -> Result<Option<Duration>> {
        let answer = self.ask(order, &[])?;
        if answer == "none" {
            return Ok(None);
        }
        answer
            .parse()
            .map(|ns| Some(Duration::from_nanos(ns)))
            .map_err(|_| format!("`{answer}` to `{order}`"))
    }

    fn output(&mut self, case: &Case) -> Result<Vec<u32>> {
        let mut words = vec![0u32; case.buffers[case.output].len()];
        self.send(&format!("read {}", case.output), &[])?;
        self.from.read_exact(bytemuck::cast_slice_mut(&mut words)).map_err(|e| e.to_string())?;
        Ok(words)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without orders it ends.
        self.to = None;
        let _ = self.child.wait();
    }
}

/// C at one vector width, or with intrinsics: functions of one program, which share its buffers.
pub struct Native {
    name: &'static str,
    suffix: &'static str,
    process: Rc<RefCell<Process>>,
}

const CLANG: &str = "clang-19";

/// Compiles C.
fn clang(args: &[&str]) -> Result {
    compile_by(CLANG, args)
}

fn compile_by(compiler: &str, args: &[&str]) -> Result {
    let status = Command::new(compiler).args(args).status().map_err(|e| format!("{compiler}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{compiler} {}` failed", args.join(" "))) }
}

fn source(name: &str) -> String {
    format!("{}/native/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl Native {
    /// Builds the program into `dir`; its widths and the intrinsics.
    pub fn all(dir: &Path) -> Result<[Native; 3]> {
        let at = |name: &str| -> PathBuf { dir.join(name) };
        let text = |p: &Path| p.display().to_string();
        let large = at("large.c");
        std::fs::write(&large, generate::c(generate::LARGE)).map_err(|e| e.to_string())?;
        let mut objects = vec![];
        // Nothing is fused that is not written as fused, as in Hostwarp.
        let common = ["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-c"];
        for width in ["256", "512"] {
            for from in [source("kernels.c"), text(&large)] {
                let object = text(&at(&format!("{width}-{}.o", objects.len())));
                let prefer = format!("-mprefer-vector-width={width}");
                let define = format!("-DWIDTH={width}");
                clang(&[&common[..], &[&prefer, &define, &from, "-o", &object]].concat())?;
                objects.push(object);
            }
        }
        let hand = text(&at("hand.o"));
        clang(&[&common[..], &[&source("intrinsics.c"), "-o", &hand]].concat())?;
        objects.push(hand);
        let program = at("native");
        let main = source("main.c");
        let program_text = text(&program);
        let mut args = vec!["-O2", "-rdynamic", &main, "-o", &program_text];
        args.extend(objects.iter().map(String::as_str));
        args.extend(["-lpthread", "-lm", "-ldl"]);
        clang(&args)?;
        let process = Rc::new(RefCell::new(Process::start(&program, &[])?));
        Ok([("C 256", "256"), ("C 512", "512"), ("intrinsics", "hand")].map(|(name, suffix)| Native {
            name,
            suffix,
            process: process.clone(),
        }))
    }
}

impl Native {
    /// The program of `native/matrix.c`. Any compiler will do: vectors are spelled out.
    pub fn matrix(dir: &Path) -> Result<Native> {
        let [object, program] = ["matrix.o", "matrix"].map(|name| dir.join(name).display().to_string());
        compile_by(
            "cc",
            &["-O3", "-march=native", "-ffp-contract=fast", "-c", &source("matrix.c"), "-o", &object],
        )?;
        compile_by(
            "cc",
            &[
                "-O2",
                "-rdynamic",
                "-DCPU_TIME",
                &source("main.c"),
                &object,
                "-o",
                &program,
                "-lpthread",
                "-lm",
                "-ldl",
            ],
        )?;
        let process = Rc::new(RefCell::new(Process::start(Path::new(&program), &[])?));
        Ok(Native { name: "C", suffix: "hand", process })
    }
}

impl Contestant for Native {
    fn name(&self) -> &'static str {
        self.name
    }

    fn load(&mut self, case: &Case) -> Result {
        let mut process = self.process.borrow_mut();
        // The first one loads for all.
        if self.suffix == "256" || process.buffers == 0 { process.load(case) } else { Ok(()) }
    }

    fn reset(&mut self, case: &Case) -> Result {
        self.process.borrow_mut().reset(case)
    }

    fn run(&mut self, case: &Case, repeat: u32) -> Result<Option<Duration>> {
        let Case { native, units, grain, threads, .. } = case;
        let order = format!("run {native}_{} {units} {grain} {threads} {repeat}", self.suffix);
        self.process.borrow_mut().time(&order)
    }

    fn output(&mut self, case: &Case) -> Result<Vec<u32>> {
        self.process.borrow_mut().output(case)
    }
}

/// OpenCL.
pub struct Pocl {
    process: Process,
}

impl Pocl {
    /// Builds the host program into `dir`.
    pub fn new(dir: &Path, threads: usize) -> Result<Pocl> {
        let program = dir.join("pocl");
        let text = program.display().to_string();
        clang(&["-O2", "-Wno-deprecated-declarations", &source("pocl.c"), "-o", &text, "-lOpenCL"])?;
        let env = [("POCL_MAX_PTHREAD_COUNT", threads.to_string())];
        Ok(Pocl { process: Process::start(&program, &env)? })
    }
}

impl Contestant for Pocl {
    fn name(&self) -> &'static str {
        "pocl"
    }

    fn load(&mut self, case: &Case) -> Result {
        let path = format!("{}/opencl/kernels.cl", env!("CARGO_MANIFEST_DIR"));
        let text = match case.kernel.as_str() {
            "large" => generate::opencl(generate::LARGE),
            _ => std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?,
        };
        match self.process.ask(&format!("source {}", text.len()), text.as_bytes())?.as_str() {
            "ok" => self.process.load(case),
            _ => Err("the OpenCL kernels do not compile".into()),
        }
    }

    fn reset(&mut self, case: &Case) -> Result {
        self.process.reset(case)
    }

    fn run(&mut self, case: &Case, repeat: u32) -> Result<Option<Duration>> {
        if case.no_opencl.is_some() {
            return Ok(None);
        }
        let [x, y, z] = std::array::from_fn(|i| u64::from(case.grid[i]) * u64::from(case.block[i]));
        let [cx, cy, cz] = case.block;
        self.process.time(&format!("run {} {x} {y} {z} {cx} {cy} {cz} {repeat}", case.kernel))
    }

    fn output(&mut self, case: &Case) -> Result<Vec<u32>> {
        self.process.output(case)
    }
}
