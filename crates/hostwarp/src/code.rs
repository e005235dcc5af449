//! Compiled kernels: what there can be of each, and how it is made when it is wanted.

use crate::cache;
use crate::jit::llvm::{FirstUse, Object, Tier};
use crate::jit::target::Target;
use crate::jit::{JitError, JitKernel, KernelText, Speculation};
use crate::{Device, Effort};
use hostwarp_interp::Program;
use hostwarp_system::time::Instant;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// A kernel of the jit.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) kernel: Arc<JitKernel>,
    pub(crate) effort: Effort,
    /// How long it took to make.
    pub(crate) took: Duration,
    /// Whether another process compiled it.
    pub(crate) cached: bool,
}

/// Why there is no compiled code.
#[derive(Clone, Debug)]
pub(crate) struct NotMade {
    pub(crate) why: String,
    /// The system lacked something that it may have another time.
    pub(crate) passing: bool,
}

impl NotMade {
    /// It will be the same another time.
    pub(crate) fn for_good(why: impl ToString) -> NotMade {
        NotMade { why: why.to_string(), passing: false }
    }

    fn for_now(why: impl ToString) -> NotMade {
        NotMade { why: why.to_string(), passing: true }
    }
}

impl From<JitError> for NotMade {
    fn from(error: JitError) -> NotMade {
        NotMade { why: error.to_string(), passing: error.is_passing() }
    }
}

/// Compiled code, or why there is none.
pub(crate) type MadeCode = Result<Compiled, NotMade>;

/// The code there can be of a planned kernel.
#[derive(Debug)]
pub(crate) struct Codes {
    work: Arc<Work>,
    /// What was made quickly.
    quick: Arc<Soon>,
    /// What was made with care.
    best: Arc<Soon>,
    /// The same however long it takes, because somebody asked for it.
    asked: Arc<Soon>,
    /// What a launch begins with: the best from the device's cache if it is there, else what is made quickly, if that can be.
    first: Arc<Soon>,
    /// What relies on nothing, for kernels that have left the other code too often.
    pub(crate) deoptimised: Arc<Soon>,
}

impl Codes {
    pub(crate) fn new(device: &Device, program: &Arc<Program>, speculation: Speculation) -> Arc<Codes> {
        let work = |speculation| {
            let (device, program) = (device.clone(), program.clone());
            Arc::new(Work {
                device,
                program,
                speculation,
                written: Default::default(),
                lines: OnceLock::new(),
            })
        };
        let made = |work: &Arc<Work>, effort| {
            let work = work.clone();
            Soon::new(Box::new(move || work.compile(effort, MOST_LINES)))
        };
        let deoptimised = made(&work(Speculation::Off), Effort::Best);
        let work = work(speculation);
        let (quick, best) = (made(&work, Effort::Quick), made(&work, Effort::Best));
        let first = {
            let (work, quick, best) = (work.clone(), quick.clone(), best.clone());
            Soon::new(Box::new(move || match work.kept(Effort::Best) {
                Some(kept) => Ok(kept),
                // What is too much for one may not be for the other.
                None => quick.get().or_else(|_| best.get()),
            }))
        };
        let asked = {
            let (work, best) = (work.clone(), best.clone());
            Soon::new(Box::new(move || match work.takes_too_long() {
                true => work.compile(Effort::Best, usize::MAX),
                false => best.get(),
            }))
        };
        Arc::new(Codes { work, quick, best, asked, first, deoptimised })
    }

    /// What somebody asked for who would rather wait.
    pub(crate) fn asked(&self, effort: Effort) -> MadeCode {
        match effort {
            Effort::Quick => self.quick.get(),
            Effort::Best => self.asked.get(),
        }
    }

    /// What is made with this effort.
    pub(crate) fn of(&self, effort: Effort) -> &Arc<Soon> {
        match effort {
            Effort::Quick => &self.quick,
            Effort::Best => &self.best,
        }
    }

    /// The best there is by now, or why there is none.
    pub(crate) fn now(&self) -> Option<&MadeCode> {
        self.best.now().filter(|best| best.is_ok()).or_else(|| self.first.now())
    }

    /// Whether the best there is by now was made with care.
    pub(crate) fn is_best(&self) -> bool {
        matches!(self.now(), Some(Ok(Compiled { effort: Effort::Best, .. })))
    }

    /// Has code made on other threads; `much` if there is so much to do that good code is worth waiting for.
    pub(crate) fn begin(&self, much: bool) {
        if much {
            self.best.begin();
        }
        if !much || self.work.takes_long() || self.best.now().is_some_and(Result::is_err) {
            self.first.begin();
        }
    }

    /// Code to begin with, made now if need be; `much` as above.
    pub(crate) fn get(&self, much: bool) -> MadeCode {
        if let Some(now) = self.now() {
            return now.clone();
        }
        if much {
            if !self.work.takes_long() {
                return self.best.get().or_else(|_| self.first.get());
            }
            self.best.begin();
        }
        self.first.get()
    }
}

/// A kernel to compile.
struct Work {
    device: Device,
    program: Arc<Program>,
    speculation: Speculation,
    /// The text for each effort, from when it has been written until it is compiled.
    written: [Mutex<Option<KernelText>>; 2],
    /// Lines of the text that is compiled with care.
    lines: OnceLock<usize>,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("kernel", &self.program.func().name).finish_non_exhaustive()
    }
}

/// Lanes at once in code that is made quickly: four registers of words. Wider takes longer to make, and narrower to run. Of short rows, each of which takes
/// code of its own, a warp.
fn quick_lanes(program: &Program, target: &Target) -> u32 {
    if program.plan().assume.rows > 1 { 32 } else { (target.vector_bits / 8).max(32) }
}

/// A text of more lines takes LLVM longer than some forty milliseconds: too long for nothing to be done meanwhile.
const MANY_LINES: usize = 1200;

/// A text of more lines is only made quickly: the optimising tier's register allocation takes time that grows with the square (30,000 lines: 3 s, 55,000: 12 s,
/// 90,000: 40 s). Nobody waits for that who has not asked for it.
const MOST_LINES: usize = 40_000;

impl Work {
    fn tier(effort: Effort) -> Tier {
        match effort {
            Effort::Quick => Tier::quick(),
            Effort::Best => Tier::light(),
        }
    }

    fn written(&self, effort: Effort) -> MutexGuard<'_, Option<KernelText>> {
        self.written[effort as usize].lock().unwrap_or_else(|e| e.into_inner())
    }

    fn write(&self, effort: Effort) -> Result<KernelText, NotMade> {
        if let Some(text) = self.written(effort).take() {
            return Ok(text);
        }
        let target = self.device.target().map_err(NotMade::for_good)?;
        let text = match effort {
            Effort::Quick => {
                let lanes = quick_lanes(&self.program, &target);
                KernelText::in_groups_of(lanes, &self.program, &target, self.speculation)
            }
            Effort::Best => KernelText::new(&self.program, &target, self.speculation),
        };
        Ok(text?)
    }

    /// How long the text is that is compiled with care.
    fn lines(&self) -> usize {
        *self.lines.get_or_init(|| {
            let text = self.write(Effort::Best).ok();
            let lines = text.as_ref().map_or(0, |text| text.text().lines().count());
            *self.written(Effort::Best) = text;
            lines
        })
    }

    /// Whether it takes long to compile with care. Of a large kernel not even writing it is for whoever asks.
    fn takes_long(&self) -> bool {
        self.program.func().inst_count() > MANY_LINES || self.lines() > MANY_LINES
    }

    /// Whether it takes so long that nobody waits for it.
    fn takes_too_long(&self) -> bool {
        self.lines() > MOST_LINES
    }

    /// From the device's cache.
    fn kept(&self, effort: Effort) -> Option<Compiled> {
        let (began, cache) = (Instant::now(), self.device.cache()?);
        let text = self.write(effort).ok()?;
        let Some(object) = cache.get(&cache::key(&text, &Self::tier(effort))) else {
            *self.written(effort) = Some(text);
            return None;
        };
        let kernel = text.load(Object(object)).ok()?;
        Some(Self::done(kernel, effort, began, true))
    }

    /// From the device's cache if it is there, and only otherwise from LLVM.
    fn compile(&self, effort: Effort, most_lines: usize) -> MadeCode {
        let tier = Self::tier(effort);
        if let Some(kept) = self.kept(effort) {
            return Ok(kept);
        }
        // Without it there is nothing to write the text for.
        let llvm = self.device.llvm().map_err(NotMade::for_now)?;
        // How long it takes to find that says nothing about the kernel.
        let began = Instant::now();
        let text = self.write(effort)?;
        if effort == Effort::Best && text.text().lines().count() > most_lines {
            return Err(NotMade::for_good("it is too long to be optimised"));
        }
        let cache = self.device.cache().map(|cache| (cache, cache::key(&text, &tier)));
        let kernel = text.compile(llvm, &tier)?;
        if let Some((cache, key)) = cache {
            // A cache that cannot be written to costs time, nothing else.
            let _ = cache.put(&key, &kernel.object().0);
        }
        Ok(Self::done(kernel, effort, began, false))
    }

    fn done(kernel: JitKernel, effort: Effort, began: Instant, cached: bool) -> Compiled {
        Compiled { kernel: Arc::new(kernel), effort, took: began.elapsed(), cached }
    }
}

/// Makes compiled code, or says why there is none.
pub(crate) type Make = dyn Fn() -> MadeCode + Send + Sync;

/// Compiled code, or why there is none, once somebody has made it.
pub(crate) struct Soon {
    make: Box<Make>,
    made: OnceLock<MadeCode>,
    /// Held by who makes it.
    making: Mutex<()>,
    /// The process whose thread that is. The child of a fork has none of the others' threads, and would wait for ever.
    maker: AtomicU32,
    /// The process that has begun a thread to make it.
    begun: AtomicU32,
    /// How often that came to nothing for a reason that may pass.
    failed: AtomicU32,
    /// Nanoseconds that launches have spent in slower ways in its place.
    waited: AtomicU64,
}

impl std::fmt::Debug for Soon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Soon").field("made", &self.made).finish_non_exhaustive()
    }
}

impl Soon {
    pub(crate) fn new(make: Box<Make>) -> Arc<Soon> {
        Arc::new(Soon {
            make,
            made: OnceLock::new(),
            making: Mutex::new(()),
            maker: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            failed: AtomicU32::new(0),
            waited: AtomicU64::new(0),
        })
    }

    /// What there is.
    pub(crate) fn now(&self) -> Option<&MadeCode> {
        self.made.get()
    }

    /// What there is, or else what is made now. A failure that may pass is not kept: who asks again tries again.
    pub(crate) fn get(&self) -> MadeCode {
        let process = hostwarp_system::thread::process();
        let others = ![0, process].contains(&self.maker.load(Ordering::Relaxed));
        let _one_at_a_time = (!others).then(|| self.making.lock().unwrap_or_else(|e| e.into_inner()));
        if let Some(made) = self.made.get() {
            return made.clone();
        }
        self.maker.store(process, Ordering::Relaxed);
        match (self.make)() {
            Err(not_now) if not_now.passing => Err(not_now),
            made => self.made.get_or_init(|| made).clone(),
        }
    }

    /// In the background it is tried so often.
    const TRIES: u32 = 3;

    /// It was not made in the background, for now or, if that has been so too often, for good.
    fn not_made(&self, why: NotMade) {
        if !why.passing || self.failed.fetch_add(1, Ordering::Relaxed) + 1 >= Self::TRIES {
            let _ = self.made.set(Err(why));
        }
        self.begun.store(0, Ordering::Relaxed);
    }

    /// Has it made on a thread of its own, unless that has been done.
    pub(crate) fn begin(self: &Arc<Soon>) {
        let process = hostwarp_system::thread::process();
        if self.begun.swap(process, Ordering::Relaxed) == process {
            return;
        }
        let soon = self.clone();
        let first_use = FirstUse::begin();
        let work = move || {
            first_use.on_this_thread();
            let made = catch_unwind(AssertUnwindSafe(|| soon.get()));
            // Somebody may wait for it.
            let panicked = |_| Err(NotMade::for_good("there was a panic while it was compiled"));
            if let Err(why) = made.unwrap_or_else(panicked) {
                soon.not_made(why);
            }
        };
        // Where there can be no more threads the interpreter goes on.
        let thread = std::thread::Builder::new().name("hostwarp compiles".into());
        if let Err(e) = hostwarp_system::thread::spawn(thread, work) {
            self.not_made(NotMade::for_now(format!("no thread to compile on: {e}")));
        }
    }

    /// How long launches have gone a slower way.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// A launch has gone a slower way for so long.
    pub(crate) fn waits(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.waited.fetch_add(time, Ordering::Relaxed);
    }
}
