//! A kernel of the suite in one variant and size: its inputs, as `fill` in `bench/suite/main.cc` makes them, and its launch.

use super::rows::{Grid, Row};
use super::variants::Variant;
use hostwarp::jit::Speculation;
use hostwarp::{Arg, Buffer, Device, Effort, Emit, Engine, Error, Kernel, LaunchBuilder, Module};
use std::time::{Duration, Instant};

/// How a kernel is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Way {
    pub(crate) engine: Engine,
    pub(crate) effort: Option<Effort>,
    pub(crate) speculation: Option<Speculation>,
    pub(crate) width: Option<u32>,
    pub(crate) threads: usize,
    /// Instructions after which CTAs change between the engines.
    pub(crate) turn: Option<u64>,
}

impl Way {
    pub(crate) const fn new(engine: Engine, effort: Option<Effort>) -> Way {
        Way { engine, effort, speculation: None, width: None, threads: 1, turn: None }
    }
}

/// A row in a variant and a size.
pub(crate) struct Job<'a> {
    pub(crate) row: &'a Row,
    pub(crate) variant: Variant,
    pub(crate) numbers: [i32; 2],
}

impl Job<'_> {
    /// A letter each for what `a`, `b` and `out` hold.
    pub(crate) fn kinds(&self) -> String {
        let element = kind_of(self.variant.element);
        self.row.kinds.replace('e', &element.to_string())
    }

    pub(crate) fn elements(&self) -> [usize; 3] {
        (self.row.sizes)(self.numbers[0] as usize, self.numbers[1] as usize)
    }

    fn grid(&self) -> [u32; 3] {
        let [n, m] = self.numbers.map(|n| n as u32);
        let [x, y] = self.variant.block;
        // Fewer CTAs than the data asks for, and no divisor of it, so that some threads have one iteration more.
        let fewer = |ctas: u32| if self.variant.stride { ctas.div_ceil(3) } else { ctas };
        let [x, y] = match self.row.grid {
            Grid::Items => [fewer(n.div_ceil(x * y)), 1],
            Grid::Plane => [fewer(n.div_ceil(x)), fewer(m.div_ceil(y))],
            Grid::Of(grid) => grid([n, m], [x, y]),
        };
        [x, y, 1]
    }

    fn bytes(&self) -> [usize; 3] {
        let kinds = self.kinds().into_bytes();
        let elements = self.elements();
        [0, 1, 2].map(|n| size(kinds[n]) * elements[n])
    }

    /// The kernel of a module in PTX, with its buffers.
    pub(crate) fn load(&self, ptx: &str) -> Result<Loaded<'_>, Error> {
        self.load_on(&Device::new()?, ptx, &self.inputs())
    }

    /// What `a` and `b` hold.
    pub(crate) fn inputs(&self) -> [Vec<u8>; 2] {
        let (bytes, kinds) = (self.bytes(), self.kinds().into_bytes());
        [0, 1].map(|n| fill(kinds[n], bytes[n], n as u64 + 1))
    }

    /// On a device, with these inputs.
    pub(crate) fn load_on(
        &self,
        device: &Device,
        ptx: &str,
        inputs: &[Vec<u8>; 2],
    ) -> Result<Loaded<'_>, Error> {
        let module = device.load(self.row.name, ptx)?;
        let mut buffers = vec![];
        for (n, bytes) in self.bytes().into_iter().enumerate() {
            let buffer = device.buffer_named(["a", "b", "out"][n], bytes)?;
            if let Some(input) = inputs.get(n) {
                buffer.write(0, input)?;
            }
            buffers.push(buffer);
        }
        Ok(Loaded { job: self, kernel: module.kernel(self.row.name)?, _module: module, buffers })
    }
}

/// A kernel that can be launched.
pub(crate) struct Loaded<'a> {
    job: &'a Job<'a>,
    kernel: Kernel,
    _module: Module,
    buffers: Vec<Buffer<u8>>,
}

impl Loaded<'_> {
    fn launch(&self, way: Way) -> LaunchBuilder<'_> {
        let [x, y] = self.job.variant.block;
        let block = if matches!(self.job.row.grid, Grid::Items) { [x * y, 1, 1] } else { [x, y, 1] };
        let mut launch = self.kernel.launch().grid(self.job.grid()).block(block);
        launch = launch.engine(way.engine).threads(way.threads).timeout(Duration::from_secs(120));
        if let Some(effort) = way.effort {
            launch = launch.effort(effort);
        }
        if let Some(speculation) = way.speculation {
            launch = launch.speculation(speculation);
        }
        if let Some(width) = way.width {
            launch = launch.width(width);
        }
        if let Some(turn) = way.turn {
            launch = launch.in_turns(turn);
        }
        for buffer in &self.buffers {
            launch = launch.arg(Arg::from(buffer));
        }
        launch.arg(self.job.numbers[0]).arg(self.job.numbers[1])
    }

    /// Runs it once, from an output of zeros.
    pub(crate) fn run(&self, way: Way) -> Result<Duration, Error> {
        self.buffers[2].write(0, &vec![0; self.job.bytes()[2]])?;
        let start = Instant::now();
        self.launch(way).run()?;
        Ok(start.elapsed())
    }

    pub(crate) fn output(&self) -> Result<Vec<u8>, Error> {
        self.buffers[2].to_vec()
    }

    /// Of the output, in which every NaN of f64 is the same: which it is differs between compilers of the kernel.
    pub(crate) fn hash(&self) -> Result<u64, Error> {
        let mut bytes = self.output()?;
        if self.job.kinds().as_bytes()[2] == b'd' {
            for double in bytes.chunks_exact_mut(8) {
                if f64::from_le_bytes(double.try_into().expect("8 bytes")).is_nan() {
                    double.fill(0xff);
                }
            }
        }
        Ok(hash(&bytes))
    }

    pub(crate) fn llvm_lines(&self, way: Way) -> Result<usize, Error> {
        Ok(self.launch(way).emit(Emit::Llvm)?.lines().count())
    }
}

pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf29ce484222325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100000001b3))
}

fn kind_of(element: &str) -> char {
    match element {
        "float" => 'f',
        "double" => 'd',
        "int" | "unsigned" => 'i',
        "long long" | "unsigned long long" => 'l',
        "short" | "unsigned short" => 'h',
        _ => 'b',
    }
}

fn size(kind: u8) -> usize {
    match kind {
        b'b' => 1,
        b'h' => 2,
        b'd' | b'l' => 8,
        _ => 4,
    }
}

fn fill(kind: u8, bytes: usize, mut seed: u64) -> Vec<u8> {
    let mut out = vec![];
    let piece = if kind == b'd' { 8 } else { 4 };
    for _ in 0..bytes / piece {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let word = (seed >> 32) as u32;
        let float = (word >> 8) as f32 * (3.0 / 16777216.0) - 1.5;
        match kind {
            b'd' => out.extend_from_slice(&f64::from(float).to_le_bytes()),
            b'f' => out.extend_from_slice(&float.to_le_bytes()),
            _ => out.extend_from_slice(&word.to_le_bytes()),
        }
    }
    out.resize(bytes, 0);
    out
}
