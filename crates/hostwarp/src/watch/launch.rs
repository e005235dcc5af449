//! How a launch is told to be watched.

use super::{Asked, Shape, TraceSink};
use crate::module::{Instrumented, KernelCache};
use crate::{Engine, Error, LaunchBuilder};
use hostwarp_compile::{self as compile, Probes};
use hostwarp_interp::Limits;
use std::sync::Arc;

impl<'a> LaunchBuilder<'a> {
    /// Counts what is executed, by instruction and opcode, and accesses to memory: [`Report::stats`](crate::Report::stats). The interpreter runs the
    /// launch, whatever engine is asked for.
    ///
    /// ```
    /// # fn main() -> Result<(), hostwarp::Error> {
    /// # let ptx = ".version 8.8 .target sm_90 .address_size 64
    /// #     .visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1; ret; }";
    /// let kernel = hostwarp::Device::new()?.load("k.ptx", ptx)?.kernel("k")?;
    /// let report = kernel.launch().block([64, 1, 1]).stats().run()?;
    /// let stats = report.stats.expect("they were asked for");
    /// assert_eq!((stats.warp_instructions(), stats.active_lanes()), (6, 32.0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(mut self) -> Self {
        self.watched.stats = true;
        self
    }

    /// Tells of every instruction that one thread executes, in order, the last one before a fault included. The interpreter runs the launch, whatever engine
    /// is asked for.
    ///
    /// ```
    /// # fn main() -> Result<(), hostwarp::Error> {
    /// # let ptx = ".version 8.8 .target sm_90 .address_size 64
    /// #     .visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1; ret; }";
    /// let kernel = hostwarp::Device::new()?.load("k.ptx", ptx)?.kernel("k")?;
    /// let steps = std::sync::Mutex::new(vec![]);
    /// let sink = |step: &hostwarp::TraceStep| steps.lock().unwrap().push(step.clone());
    /// kernel.launch().block([64, 1, 1]).trace([0, 0, 0], [5, 0, 0], &sink).run()?;
    /// let steps = steps.into_inner().unwrap();
    /// assert_eq!(steps[1].text, "add.u32 %r2, %r1, 1");
    /// assert_eq!((&*steps[1].written[0].register, steps[1].written[0].bits), ("%r2", 6));
    /// # Ok(())
    /// # }
    /// ```
    pub fn trace(mut self, cta: [u32; 3], thread: [u32; 3], sink: &'a TraceSink<'a>) -> Self {
        self.watched.trace = Some((cta, thread, sink));
        self
    }

    /// Makes reliance on what PTX leaves open an error, with line and thread: registers and shared memory that are read and were never written, shuffles from lanes
    /// that do not take part, masks that do not name the lane itself, integer division by zero, races within a warp on shared memory, and copies in the background
    /// (`cp.async` and in bulk) that are relied on before they were waited for. Bits stay as they are.
    ///
    /// ```
    /// # fn main() -> Result<(), hostwarp::Error> {
    /// # let ptx = ".version 8.8 .target sm_90 .address_size 64
    /// #     .visible .entry k() { .reg .b32 %r<3>; add.u32 %r2, %r1, 1; ret; }";
    /// let kernel = hostwarp::Device::new()?.load("k.ptx", ptx)?.kernel("k")?;
    /// kernel.launch().run()?;
    /// let error = kernel.launch().strict().run().unwrap_err();
    /// assert!(error.to_string().contains("`%r1` is read and was never written"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn strict(mut self) -> Self {
        self.watched.strict = true;
        self
    }

    /// Runs CTAs one after the other in an order that the seed decides on; on the interpreter, which [`Engine::Auto`] is then, warps too: which one goes on, and for
    /// how long, down to single accesses to memory. The same seed gives the same order. A kernel whose results differ between seeds relies on an order that
    /// nothing promises; one whose results do not may still do so.
    pub fn schedule(mut self, seed: u64) -> Self {
        self.schedule = Some(seed);
        self
    }

    fn probes(&self) -> Probes {
        let yields = self.schedule.is_some() && self.engine != Engine::Jit;
        Probes { yields, ..self.watched.probes() }
    }

    /// Gets the kernel with probes, if any are wanted, and goes to the interpreter where only that will do.
    pub(crate) fn instrument(&mut self, block: [u32; 3], limits: &Limits) -> Result<(), Error> {
        if let Some((cta, thread, _)) = self.watched.trace {
            check_index("CTA", cta, "grid", self.grid)?;
            check_index("thread", thread, "block", block)?;
        }
        let counted = self.watched.stats || self.watched.trace.is_some();
        if counted && self.engine == Engine::Jit {
            let what = if self.watched.stats { "statistics are counted" } else { "traces are made" };
            self.note = Some(format!("{what} there, not in compiled code"));
        }
        if counted || self.schedule.is_some() && self.engine == Engine::Auto {
            self.engine = Engine::Interp;
        }
        if self.schedule.is_some() && self.engine == Engine::Jit {
            self.note =
                Some("the schedule is one of CTAs only: warps are not permuted in compiled code".into());
        }
        let probes = self.probes();
        if probes.any() {
            self.instrumented = Some(self.kernel.module().instrumented(probes, limits)?);
        }
        Ok(())
    }

    pub(crate) fn shape(&self, block: [u32; 3]) -> Shape {
        let first_shared = self.compiled().info.shared_reserved;
        Shape { grid: self.grid, block, first_shared }
    }

    /// The kernel, with probes if there are any.
    pub(crate) fn compiled(&self) -> &compile::Kernel {
        match &self.instrumented {
            Some(with) => &with.compiled.kernels[self.kernel.index()],
            None => self.kernel.compiled(),
        }
    }

    pub(crate) fn cache(&self) -> &KernelCache {
        match &self.instrumented {
            Some(with) => &with.kernels[self.kernel.index()],
            None => self.kernel.cache(),
        }
    }

    pub(crate) fn watch<'w>(
        asked: Asked<'w>,
        with: &'w Option<Arc<Instrumented>>,
        shape: Shape,
    ) -> Option<super::Watch<'w>>
    where
        'a: 'w,
    {
        let sites = &with.as_ref()?.compiled.sites;
        asked.probes().any().then(|| super::Watch::new(asked, sites, shape))
    }
}

fn check_index(what: &str, index: [u32; 3], of: &str, size: [u32; 3]) -> Result<(), Error> {
    if index.iter().zip(size).all(|(at, size)| *at < size) {
        return Ok(());
    }
    let show = |[x, y, z]: [u32; 3], by: &str| format!("{x}{by}{y}{by}{z}");
    let (index, size) = (show(index, ", "), show(size, "×"));
    Err(Error::launch(format!("there is no {what} ({index}) to trace: the {of} is {size}")))
}
