//! How kernels are launched, as text: a line for each.
//!
//! ```text
//! # file     kernel      grid block
//! scan.*     scan_block  1    256     in:s32(-9,9):256 out:b32:256 s32=256
//! math_f32.* f2f_*       512  256     in:f32.wide:131072 out:b32:131072  chunks=32
//! text.*     text_fault  not  reads what it should not
//! ```
//!
//! A file or kernel may end in `*`. Sizes are `X`, `XxY` or `XxYxZ`. Arguments stand in the order of the parameters: `in:KIND:COUNT` is the address of a
//! buffer ([`Kind`]), `io` one that is compared afterwards as well, `out` one of zeros that is compared; `s32=5`, `f32=1.5`, `f32=0x7f800000` are values; `{a b}` is a structure
//! by value. `shared=N` is dynamic shared memory, `chunks=N` says that each Nth of the grid has a part of every buffer of its own, `cooperative` what it says,
//! `here` that an H200's bits may be others (it prints, or the order of its threads shows).
//! A kernel that cannot be run has `not` and the reason.

use super::data::Kind;

/// Entries in order.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// A line each; after [`Manifest::resolve`] a kernel each.
    pub entries: Vec<Entry>,
}

/// A kernel, or the kernels of a pattern.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The file's name.
    pub file: String,
    /// The kernel's name.
    pub kernel: String,
    /// How it is launched.
    pub launch: Launch,
    /// The rest of the line as it stands.
    text: String,
}

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub enum Launch {
    /// It is.
    Run(Sizes),
    /// It is not, for a reason.
    Not(String),
}

/// What a launch takes.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Parts that are hashed, and can be run, alone.
    pub chunks: u32,
    /// Barriers of the whole grid.
    pub cooperative: bool,
    /// Not for recording.
    pub here: bool,
    /// In the order of the parameters.
    pub arguments: Vec<Argument>,
}

/// An argument.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A value.
    Bytes(Vec<u8>),
    /// The address of a buffer.
    Buffer {
        /// What it holds at first; zeros if nothing.
        kind: Option<Kind>,
        /// Bytes of an element.
        size: usize,
        /// Elements.
        count: usize,
        /// Compared afterwards.
        output: bool,
    },
}

impl Argument {
    /// Whether it is compared afterwards.
    pub fn is_output(&self) -> bool {
        matches!(self, Argument::Buffer { output: true, .. })
    }

    /// What the `part`th of `of` parts of a buffer holds, argument number `i`.
    pub fn generate(&self, i: usize, part: u32, of: u32) -> Vec<u8> {
        match self {
            Argument::Bytes(bytes) => bytes.clone(),
            Argument::Buffer { kind, size, count, .. } => {
                let each = count / of as usize;
                match kind {
                    // The low bits say which argument it is; kinds with edges look at them.
                    Some(kind) => kind.fill(i as u64 | 0x5eed << 8, part as usize * each, each),
                    None => vec![0; each * size],
                }
            }
        }
    }
}

impl Entry {
    /// File and kernel.
    pub fn name(&self) -> String {
        format!("{} {}", self.file, self.kernel)
    }

    /// How it is launched, if it is.
    pub fn sizes(&self) -> Option<&Sizes> {
        match &self.launch {
            Launch::Run(sizes) => Some(sizes),
            Launch::Not(_) => None,
        }
    }

    fn parse(line: &str) -> Result<Entry, String> {
        let mut words = line.split_whitespace();
        let mut next = |what: &str| words.next().ok_or_else(|| format!("no {what}"));
        let (file, kernel, grid) = (next("file")?.into(), next("kernel")?.into(), next("grid")?);
        let rest: Vec<&str> = words.clone().collect();
        let text = std::iter::once(grid).chain(rest.iter().copied()).collect::<Vec<_>>().join(" ");
        if grid == "not" {
            if rest.is_empty() {
                return Err("no reason".into());
            }
            return Ok(Entry { file, kernel, launch: Launch::Not(rest.join(" ")), text });
        }
        let block = words.next().ok_or("no block")?;
        let mut sizes = Sizes {
            grid: size(grid)?,
            block: size(block)?,
            shared: 0,
            chunks: 1,
            cooperative: false,
            here: false,
            arguments: vec![],
        };
        let mut structure: Option<Structure> = None;
        for word in words {
            match (word, &mut structure) {
                ("{", None) => structure = Some(Structure { bytes: vec![], align: 1 }),
                ("}", Some(_)) => sizes.arguments.extend(structure.take().map(Structure::done)),
                (_, Some(s)) => s.add(&value(word)?),
                ("cooperative", None) => sizes.cooperative = true,
                ("here", None) => sizes.here = true,
                (_, None) => match word.split_once('=') {
                    Some(("shared", n)) => sizes.shared = number(n)?,
                    Some(("chunks", n)) => sizes.chunks = number(n)?,
                    Some(_) => sizes.arguments.push(Argument::Bytes(value(word)?)),
                    None => sizes.arguments.push(buffer(word)?),
                },
            }
        }
        if structure.is_some() {
            return Err("a structure does not end".into());
        }
        if !sizes.grid[0].is_multiple_of(sizes.chunks.max(1)) || sizes.chunks == 0 {
            return Err("the grid cannot be cut into so many chunks".into());
        }
        Ok(Entry { file, kernel, launch: Launch::Run(sizes), text })
    }
}

struct Structure {
    bytes: Vec<u8>,
    align: usize,
}

impl Structure {
    fn add(&mut self, field: &[u8]) {
        self.bytes.resize(self.bytes.len().next_multiple_of(field.len()), 0);
        self.bytes.extend(field);
        self.align = self.align.max(field.len());
    }

    fn done(mut self) -> Argument {
        self.bytes.resize(self.bytes.len().next_multiple_of(self.align), 0);
        Argument::Bytes(self.bytes)
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn size(text: &str) -> Result<[u32; 3], String> {
    let mut all = [1; 3];
    let parts: Vec<&str> = text.split('x').collect();
    if parts.len() > 3 {
        return Err(format!("`{text}` is no size"));
    }
    for (to, part) in all.iter_mut().zip(parts) {
        *to = number(part)?;
    }
    Ok(all)
}

/// `s32=5` as bytes.
fn value(word: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{word}` is no value");
    let (ty, text) = word.split_once('=').ok_or_else(wrong)?;
    let size = match ty {
        "u8" | "s8" | "b8" => 1,
        "u16" | "s16" | "b16" => 2,
        "u32" | "s32" | "b32" | "f32" => 4,
        "u64" | "s64" | "b64" | "f64" => 8,
        _ => return Err(wrong()),
    };
    let bits = match (text.strip_prefix("0x"), ty) {
        (Some(hex), _) => u64::from_str_radix(hex, 16).map_err(|_| wrong())?,
        (None, "f32") => u64::from(text.parse::<f32>().map_err(|_| wrong())?.to_bits()),
        (None, "f64") => text.parse::<f64>().map_err(|_| wrong())?.to_bits(),
        (None, _) => text.parse::<i64>().map_err(|_| wrong())? as u64,
    };
    Ok(bits.to_le_bytes()[..size].to_vec())
}

fn buffer(word: &str) -> Result<Argument, String> {
    let wrong = || format!("`{word}` is no argument");
    let (direction, rest) = word.split_once(':').ok_or_else(wrong)?;
    let (kind, count) = rest.rsplit_once(':').ok_or_else(wrong)?;
    let (kind, count) = (Kind::parse(kind)?, number(count)? as usize);
    let (filled, output) = match direction {
        "in" => (true, false),
        "io" => (true, true),
        "out" => (false, true),
        _ => return Err(wrong()),
    };
    Ok(Argument::Buffer { size: kind.size, kind: filled.then_some(kind), count, output })
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

impl Manifest {
    /// From text.
    pub fn parse(text: &str) -> Result<Manifest, String> {
        let mut entries = vec![];
        for (i, line) in text.lines().enumerate() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                entries.push(Entry::parse(line).map_err(|e| format!("line {} of the manifest: {e}", i + 1))?);
            }
        }
        Ok(Manifest { entries })
    }

    /// As text.
    pub fn print(&self) -> String {
        self.entries.iter().map(|e| format!("{} {} {}\n", e.file, e.kernel, e.text)).collect()
    }

    /// An entry for each of these kernels, by the first line that fits. A kernel without a line and a line without a kernel are errors.
    pub fn resolve(&self, kernels: &[(String, String)]) -> Result<Manifest, String> {
        let mut used = vec![false; self.entries.len()];
        let mut entries = vec![];
        for (file, kernel) in kernels {
            let fits = |e: &Entry| matches(&e.file, file) && matches(&e.kernel, kernel);
            let Some(i) = self.entries.iter().position(fits) else {
                return Err(format!("no line of the manifest is about {file} {kernel}"));
            };
            used[i] = true;
            entries.push(Entry { file: file.clone(), kernel: kernel.clone(), ..self.entries[i].clone() });
        }
        match used.iter().position(|u| !u) {
            Some(i) => Err(format!("no kernel fits `{}` of the manifest", self.entries[i].name())),
            None => Ok(Manifest { entries }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let text = "a.* k* 2x3 32 in:s32(-9,9):64 out:b32:64 { s8=1 f64=2 s16=-1 } f32=0x7f800000 chunks=2 shared=16\nb.ptx x not why\n";
        let manifest = Manifest::parse(text).unwrap();
        let sizes = manifest.entries[0].sizes().unwrap();
        assert_eq!((sizes.grid, sizes.block, sizes.shared, sizes.chunks), ([2, 3, 1], [32, 1, 1], 16, 2));
        let Argument::Bytes(structure) = &sizes.arguments[2] else { panic!() };
        assert_eq!(structure.len(), 24);
        let kernels =
            [("a.1", "k1"), ("a.2", "k2"), ("b.ptx", "x")].map(|(f, k)| (f.to_string(), k.to_string()));
        let all = manifest.resolve(&kernels).unwrap();
        assert_eq!(
            all.print().lines().nth(1),
            Some(
                "a.2 k2 2x3 32 in:s32(-9,9):64 out:b32:64 { s8=1 f64=2 s16=-1 } f32=0x7f800000 chunks=2 shared=16"
            )
        );
        assert_eq!(Manifest::parse(&all.print()).unwrap().print(), all.print());
        assert!(manifest.resolve(&kernels[..2]).unwrap_err().contains("b.ptx x"));
        assert!(manifest.resolve(&[("c".into(), "k".into())]).unwrap_err().contains("c k"));
        for wrong in
            ["a k 1", "a k 1 1 in:b32", "a k 3 1 chunks=2", "a k not", "a k 1 1 { s32=1", "a k 1 1 s33=1"]
        {
            assert!(Manifest::parse(wrong).is_err(), "{wrong}");
        }
    }
}
