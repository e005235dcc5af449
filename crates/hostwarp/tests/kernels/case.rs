//! A kernel file: what its comments ask for, run.

use crate::formula::{self, Formula, Names, Number};
use hostwarp::isa::Ty;
use hostwarp::jit::Speculation;
use hostwarp::jit::target::X86Level;
use hostwarp::{Arg, Buffer, Device, Effort, Engine, Error, Kernel, Module};
use std::time::Duration;

/// A file of `tests/kernels`.
#[derive(Debug, Default)]
pub struct Case {
    pub engines: Vec<Engine>,
    pub widths: Vec<u32>,
    pub threads: Vec<usize>,
    pub launches: Vec<Launch>,
}

/// One launch, with what it must leave behind.
#[derive(Debug)]
pub struct Launch {
    line: usize,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    cooperative: bool,
    /// The order of a warp's accesses is part of the result.
    ordered: bool,
    arguments: Vec<(String, Value)>,
    expectations: Vec<Expectation>,
}

#[derive(Debug)]
enum Value {
    Scalar(Formula),
    Buffer(Ty, usize, Vec<Formula>),
    Alias(String, u64),
    Bytes(Vec<u8>),
}

#[derive(Debug)]
struct Expectation {
    line: usize,
    name: String,
    /// Elements it is about; all if none.
    range: Option<(Formula, Formula)>,
    formulas: Vec<Formula>,
}

impl Case {
    /// Reads the comments `// launch:`, `// expect:`, `// engines:`, `// widths:` and `// threads:`.
    pub fn parse(text: &str) -> Result<Case, String> {
        let mut case = Case {
            engines: vec![Engine::Interp, Engine::Jit],
            widths: vec![8, 16, 32],
            threads: vec![1, 2],
            launches: vec![],
        };
        for (line, comment) in text.lines().enumerate() {
            let Some((key, rest)) = comment.strip_prefix("// ").and_then(|c| c.split_once(':')) else {
                continue;
            };
            let (line, rest) = (line + 1, rest.trim());
            let at = |e: String| format!("line {line}: {e}");
            match key {
                "launch" => case.launches.push(Launch::parse(line, rest).map_err(at)?),
                "expect" => {
                    let launch = case.launches.last_mut().ok_or(at("no launch before it".into()))?;
                    launch.expectations.push(Expectation::parse(line, rest).map_err(at)?);
                }
                "engines" => {
                    let engine = |word: &str| match word {
                        "interp" => Ok(Engine::Interp),
                        "jit" => Ok(Engine::Jit),
                        "auto" => Ok(Engine::Auto),
                        _ => Err(at(format!("`{word}` is no engine"))),
                    };
                    case.engines = rest.split_whitespace().map(engine).collect::<Result<_, _>>()?;
                }
                "widths" => case.widths = numbers(rest).map_err(at)?,
                "threads" => case.threads = numbers(rest).map_err(at)?,
                _ => {}
            }
        }
        match case.launches.iter().find(|l| l.expectations.is_empty()) {
            Some(l) => Err(format!("line {}: nothing is expected of this launch", l.line)),
            None if case.launches.is_empty() => Err("there is no `// launch:` in it".into()),
            None => Ok(case),
        }
    }
}

fn numbers<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split_whitespace().map(|w| w.parse().map_err(|_| format!("`{w}` is no number"))).collect()
}

impl Launch {
    fn parse(line: usize, text: &str) -> Result<Launch, String> {
        let mut words = text.split_whitespace();
        let kernel = words.next().ok_or("no kernel is named")?.to_string();
        let mut launch = Launch {
            line,
            kernel,
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            cooperative: false,
            ordered: false,
            arguments: vec![],
            expectations: vec![],
        };
        while let Some(word) = words.next() {
            let mut next = || words.next().ok_or(format!("no value behind {word}"));
            match word {
                "--grid" => launch.grid = extents(next()?)?,
                "--block" => launch.block = extents(next()?)?,
                "--cooperative" => launch.cooperative = true,
                "--ordered" => launch.ordered = true,
                "--shared" => launch.shared = next()?.parse().map_err(|_| "--shared takes bytes")?,
                _ => {
                    let (name, value) = word.split_once('=').ok_or(format!("`{word}` is no NAME=VALUE"))?;
                    launch.arguments.push((name.into(), Value::parse(value)?));
                }
            }
        }
        Ok(launch)
    }

    /// Runs it once and gives back what every buffer holds then, in the order of the arguments, or why it could not run.
    pub fn run(
        &self,
        module: &Module,
        engine: Engine,
        (width, speculation): (Option<u32>, Option<Speculation>),
        threads: usize,
        turn: Option<u64>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let kernel: Kernel = module.kernel(&self.kernel)?;
        let mut launch = kernel.launch().grid(self.grid).block(self.block).shared(self.shared);
        launch = launch.engine(engine).threads(threads).timeout(patience());
        if let Some(turn) = turn {
            launch = launch.in_turns(turn);
        }
        if self.cooperative {
            launch = launch.cooperative();
        }
        if let Some(width) = width {
            launch = if self.ordered { launch.width(width) } else { launch.exact_width(width) };
        }
        if let Some(speculation) = speculation {
            launch = launch.speculation(speculation);
        }
        let mut buffers: Vec<(&str, Buffer<u8>)> = vec![];
        for (name, value) in &self.arguments {
            let wrong = |e: String| Error::Launch(format!("line {}: {name}: {e}", self.line));
            let arg: Arg = match value {
                Value::Buffer(..) => {
                    let bytes = self.before(name).map_err(wrong)?;
                    let buffer = module.device().buffer_named(name, bytes.len())?;
                    buffer.write(0, &bytes)?;
                    let arg = Arg::from(&buffer);
                    buffers.push((name, buffer));
                    arg
                }
                Value::Alias(of, offset) => {
                    let of = buffers.iter().find(|(n, _)| n == of);
                    let (_, of) = of.ok_or(wrong("there is no such buffer before it".into()))?;
                    Arg::from(of.address() + offset)
                }
                Value::Bytes(bytes) => Arg::bytes(bytes.clone()),
                Value::Scalar(formula) => {
                    let p = kernel.params().iter().find(|p| p.name == *name);
                    let ty = p.ok_or(wrong("there is no such parameter".into()))?.ty;
                    let number = formula.value(self, &[]).map_err(wrong)?;
                    Arg::bytes(bytes_of(number, ty).map_err(wrong)?)
                }
            };
            launch = launch.arg_named(name, arg);
        }
        launch.run()?;
        buffers.iter().map(|(_, b)| b.to_vec()).collect()
    }

    /// Compares what buffers and variables hold with what they should.
    pub fn check(&self, module: &Module, after: &[Vec<u8>]) -> Result<(), String> {
        for e in &self.expectations {
            let buffers = self.arguments.iter().filter_map(|(name, value)| match value {
                Value::Buffer(ty, ..) => Some((name, *ty)),
                _ => None,
            });
            let (ty, bytes) = match buffers.zip(after).find(|((name, _), _)| **name == e.name) {
                Some(((_, ty), bytes)) => (ty, bytes.clone()),
                None => {
                    let symbol = module.symbol(&e.name).map_err(|e| e.to_string())?;
                    (symbol.ty, module.read_symbol(&e.name).map_err(|e| e.to_string())?)
                }
            };
            e.check(self, ty, &bytes).map_err(|why| format!("line {}: {}{why}", e.line, e.name))?;
        }
        Ok(())
    }

    /// What a buffer holds before the launch.
    fn before(&self, name: &str) -> Result<Vec<u8>, String> {
        let value = self.arguments.iter().find(|(n, _)| n == name);
        let Some((_, Value::Buffer(ty, len, formulas))) = value else {
            return Err(format!("`{name}` is no buffer"));
        };
        let mut out = vec![];
        for i in 0..*len {
            let number = match formulas.as_slice() {
                [] => Number::Int(0),
                [one] => one.value(self, &[("i", i as i128), ("iota", i as i128)])?,
                many if many.len() == *len => many[i].value(self, &[("i", i as i128)])?,
                many => return Err(format!("{} values for {len} elements", many.len())),
            };
            out.extend(bytes_of(number, *ty)?);
        }
        Ok(out)
    }
}

impl Names for Launch {
    fn scalar(&self, name: &str) -> Option<Number> {
        self.arguments.iter().find(|(n, _)| n == name).and_then(|(_, v)| match v {
            Value::Scalar(f) => f.value(self, &[]).ok(),
            _ => None,
        })
    }

    fn element(&self, name: &str, index: i128) -> Result<Number, String> {
        let value = self.arguments.iter().find(|(n, _)| n == name);
        let Some((_, Value::Buffer(ty, len, formulas))) = value else {
            return Err(format!("`{name}` is no buffer"));
        };
        let at = usize::try_from(index).ok().filter(|i| i < len);
        let at = at.ok_or(format!("{name} has no element {index}"))?;
        let number = match formulas.as_slice() {
            [] => Number::Int(0),
            [one] => one.value(self, &[("i", index), ("iota", index)])?,
            many => many.get(at).ok_or("too few values")?.value(self, &[("i", index)])?,
        };
        Ok(number_of(&bytes_of(number, *ty)?, *ty))
    }
}

fn extents(text: &str) -> Result<[u32; 3], String> {
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split(['x', ',']).collect();
    if parts.len() > 3 {
        return Err(format!("`{text}` has more than three directions"));
    }
    for (o, part) in out.iter_mut().zip(parts) {
        *o = part.parse().map_err(|_| format!("`{text}` is no size"))?;
    }
    Ok(out)
}

impl Value {
    fn parse(text: &str) -> Result<Value, String> {
        if let Some(rest) = text.strip_prefix('&') {
            let (name, offset) = rest.split_once('+').unwrap_or((rest, "0"));
            return Ok(Value::Alias(name.into(), offset.parse().map_err(|_| "no offset behind `+`")?));
        }
        if let Some(digits) = text.strip_prefix("hex:") {
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            let bytes = digits.as_bytes().chunks(2).map(byte).collect::<Option<_>>();
            return bytes.map(Value::Bytes).ok_or(format!("`{digits}` are no bytes"));
        }
        if let Some((element, rest)) = text.split_once('[')
            && let Some(ty) = Ty::parse(&format!(".{element}")).filter(|ty| (8..=64).contains(&ty.bits()))
        {
            let (len, fill) = rest.split_once(']').ok_or("the `]` is missing")?;
            let len = len.parse().map_err(|_| format!("`{len}` is no number of elements"))?;
            let fill = match fill.strip_prefix([':', '=']) {
                Some(fill) => formula::parse(fill)?,
                None if fill.is_empty() => vec![],
                None => return Err(format!("`{fill}`: `:` or `=` comes before what is in a buffer")),
            };
            return Ok(Value::Buffer(ty, len, fill));
        }
        match formula::parse(text)?.as_slice() {
            [one] => Ok(Value::Scalar(one.clone())),
            _ => Err(format!("`{text}` is no one number")),
        }
    }
}

impl Expectation {
    fn parse(line: usize, text: &str) -> Result<Expectation, String> {
        let (left, right) = text.split_once('=').ok_or("`=` is missing")?;
        let left = left.trim();
        let formulas = formula::parse(right)?;
        let one = |text: &str| match formula::parse(text)?.as_slice() {
            [one] => Ok(one.clone()),
            _ => Err(format!("`{text}` is no index")),
        };
        let (name, range) = match left.strip_suffix(']').and_then(|l| l.split_once('[')) {
            None => (left, None),
            Some((name, "i")) => (name, None),
            Some((name, index)) => match index.split_once("..") {
                Some((from, to)) => (name, Some((one(from)?, one(to)?))),
                None => (name, Some((one(index)?, one(&format!("{index} + 1"))?))),
            },
        };
        Ok(Expectation { line, name: name.into(), range, formulas })
    }

    fn check(&self, launch: &Launch, ty: Ty, bytes: &[u8]) -> Result<(), String> {
        let size = ty.bits() as usize / 8;
        let len = bytes.len() / size;
        let index = |f: &Formula| f.value(launch, &[])?.int().map(|i| i as usize);
        let range = match &self.range {
            Some((from, to)) => index(from)?..index(to)?,
            None => 0..len,
        };
        if self.formulas.len() > 1 && self.formulas.len() != range.len() {
            return Err(format!(": {} values for {} elements", self.formulas.len(), range.len()));
        }
        let mut wrong = vec![];
        for i in range.clone() {
            let formula =
                if self.formulas.len() > 1 { &self.formulas[i - range.start] } else { &self.formulas[0] };
            let want = formula.value(launch, &[("i", i as i128), ("iota", i as i128)]);
            let want = bytes_of(want.map_err(|e| format!("[{i}]: {e}"))?, ty)?;
            let got = bytes.get(i * size..(i + 1) * size).ok_or(format!(" has no element {i}"))?;
            if got != want {
                wrong.push(format!("[{i}] is {}, should be {}", show(got, ty), show(&want, ty)));
            }
        }
        match wrong.as_slice() {
            [] => Ok(()),
            [first, ..] => Err(format!("{first} ({} of {} elements are wrong)", wrong.len(), range.len())),
        }
    }
}

fn bytes_of(number: Number, ty: Ty) -> Result<Vec<u8>, String> {
    let size = ty.bits() as usize / 8;
    Ok(match ty {
        Ty::F32 => formula::bits32(number.float()).to_le_bytes().to_vec(),
        Ty::F64 => number.float().to_le_bytes().to_vec(),
        _ => number.int()?.to_le_bytes()[..size].to_vec(),
    })
}

fn number_of(bytes: &[u8], ty: Ty) -> Number {
    let bits = bytes.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
    let unused = 64 - ty.bits();
    match ty {
        Ty::F32 => Number::Float(f32::from_bits(bits as u32).into()),
        Ty::F64 => Number::Float(f64::from_bits(bits)),
        _ if ty.is_signed() => Number::Int(((bits << unused) as i64 >> unused).into()),
        _ => Number::Int(bits.into()),
    }
}

fn show(bytes: &[u8], ty: Ty) -> String {
    let bits = bytes.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
    match number_of(bytes, ty) {
        Number::Int(v) => format!("{v} ({bits:#x})"),
        Number::Float(v) => format!("{v} ({bits:#x})"),
    }
}

/// How long a launch may take; an emulated CPU is slow.
fn patience() -> Duration {
    let seconds = std::env::var("HOSTWARP_TEST_TIMEOUT").ok().and_then(|s| s.parse().ok());
    Duration::from_secs(seconds.unwrap_or(20))
}

/// The bytes of every variable of a module, to put back between launches.
pub fn variables(module: &Module) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let compiled = module.compiled();
    let symbols = compiled.globals.symbols.iter().chain(&compiled.constants.symbols);
    symbols.map(|s| Ok((s.name.clone(), module.read_symbol(&s.name)?))).collect()
}

/// A device for a case: small, so that many of them are cheap.
pub fn device(cpu: Option<X86Level>, effort: Option<Effort>) -> Result<Device, Error> {
    let device = Device::builder().memory(1 << 26).threads(2);
    let device = cpu.map_or(device.clone(), |level| device.cpu(level));
    effort.map_or(device.clone(), |effort| device.effort(effort)).build()
}
