//! What an H200 made of kernels, as text: a line for each kernel, for each output its first bytes and a hash of each chunk.

use std::collections::BTreeMap;

/// Bytes at the beginning of each output that are kept as they are.
const SAMPLE: usize = 16;

/// What is kept of one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its first bytes.
    pub sample: Vec<u8>,
    /// A hash of each chunk.
    pub chunks: Vec<u32>,
}

/// What came of a kernel on the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// What is in its outputs.
    Outputs(Vec<Output>),
    /// Nothing to hold anyone to, and why: two runs differed, it could not be assembled, it failed.
    Not(String),
}

/// Kernels (`file kernel`) and what came of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Where it comes from.
    pub head: String,
    /// By file and kernel.
    pub kernels: BTreeMap<String, Recorded>,
}

/// A hash of bytes (FNV-1a over words of 8 bytes, folded).
pub fn hash(bytes: &[u8]) -> u32 {
    let all = bytes.chunks(8).fold(0xcbf2_9ce4_8422_2325u64, |h, word| {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        (h ^ u64::from_le_bytes(padded)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    });
    (all ^ all >> 32) as u32
}

impl Output {
    /// Of the bytes of an output, in so many chunks.
    pub fn new(bytes: &[u8], chunks: u32) -> Output {
        let each = (bytes.len() / chunks as usize).max(1);
        let mut hashes: Vec<u32> = bytes.chunks(each).map(hash).collect();
        hashes.resize(chunks as usize, 0);
        Output { sample: bytes[..SAMPLE.min(bytes.len())].to_vec(), chunks: hashes }
    }

    fn print(&self) -> String {
        let sample: String = self.sample.iter().map(|b| format!("{b:02x}")).collect();
        let chunks: String = self.chunks.iter().map(|h| format!("{h:08x}")).collect();
        format!("{sample}:{chunks}")
    }

    fn parse(text: &str) -> Option<Output> {
        let (sample, chunks) = text.split_once(':')?;
        let hex = |text: &str, each: usize| -> Option<Vec<u32>> {
            if !text.len().is_multiple_of(each) {
                return None;
            }
            let parts = (0..text.len() / each).map(|i| text.get(i * each..(i + 1) * each));
            parts.map(|p| u32::from_str_radix(p?, 16).ok()).collect()
        };
        let sample = hex(sample, 2)?.into_iter().map(|b| b as u8).collect();
        Some(Output { sample, chunks: hex(chunks, 8)? })
    }
}

impl Recorded {
    /// As it stands behind a kernel's name.
    pub fn print(&self) -> String {
        match self {
            Recorded::Not(why) => format!("not {}", why.replace('\n', " ")),
            Recorded::Outputs(all) => all.iter().map(Output::print).collect::<Vec<_>>().join(" "),
        }
    }
}

impl Recording {
    /// From text.
    pub fn parse(text: &str) -> Result<Recording, String> {
        let mut all = Recording::default();
        for line in text.lines() {
            if line.starts_with('#') {
                all.head += line;
                all.head.push('\n');
                continue;
            }
            let mut words = line.splitn(3, ' ');
            let (Some(file), Some(kernel)) = (words.next(), words.next()) else { continue };
            let rest = words.next().unwrap_or_default();
            let recorded = match rest.strip_prefix("not ") {
                Some(why) => Recorded::Not(why.into()),
                None => {
                    let outputs: Option<Vec<Output>> = rest.split_whitespace().map(Output::parse).collect();
                    Recorded::Outputs(outputs.ok_or_else(|| format!("`{file} {kernel}`: not a recording"))?)
                }
            };
            all.kernels.insert(format!("{file} {kernel}"), recorded);
        }
        Ok(all)
    }

    /// As text.
    pub fn print(&self) -> String {
        let lines = self.kernels.iter().map(|(name, r)| format!("{name} {}\n", r.print()));
        self.head.clone() + &lines.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_back() {
        let mut all = Recording { head: "# of a GPU\n".into(), ..Recording::default() };
        let bytes: Vec<u8> = (0..100).collect();
        let outputs = vec![Output::new(&bytes, 4), Output::new(&bytes[..3], 1)];
        assert_ne!(outputs[0].chunks[0], outputs[0].chunks[1]);
        all.kernels.insert("a.ptx k".into(), Recorded::Outputs(outputs));
        all.kernels.insert("a.ptx l".into(), Recorded::Not("two runs differ".into()));
        assert_eq!(Recording::parse(&all.print()).unwrap(), all);
        assert!(Recording::parse("a b 12:zz").is_err());
    }
}
