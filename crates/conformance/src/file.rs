//! Recordings on disk: one compressed file per opcode.
//!
//! Inside the zstd frame: one line of JSON (the [`Header`]), then for each case its text (u16 length, bytes), the width of a
//! result in bytes (u8, all destinations together), [`RAW`] results of that width, and the hash (u64) over the results of all other vectors. Little-endian.

use crate::vectors::RAW;
use hostwarp_system::file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Where a recording comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of this format.
    pub format: u32,
    /// The opcode.
    pub opcode: String,
    /// The GPU's name.
    pub gpu: String,
    /// Its compute capability.
    pub sm: u32,
    /// CUDA version of the driver.
    pub driver: String,
    /// Version of ptxas.
    pub ptxas: String,
    /// How ptxas was called.
    pub level: String,
    /// The day, `2026-11-15`.
    pub date: String,
}

/// What was recorded of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The instruction.
    pub text: String,
    /// Bytes of a result, all destinations together.
    pub width: u8,
    /// Results of the first [`RAW`] vectors; one of more than 8 bytes is several words, the lowest first.
    pub raw: Vec<u64>,
    /// [Hash](crate::vectors::hash) over the results of the others.
    pub hash: u64,
}

/// A recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Where it comes from.
    pub header: Header,
    /// The cases.
    pub cases: Vec<Recorded>,
}

impl Recording {
    /// As bytes.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let mut out = serde_json::to_vec(&self.header).map_err(|e| e.to_string())?;
        out.push(b'\n');
        for c in &self.cases {
            out.extend((c.text.len() as u16).to_le_bytes());
            out.extend(c.text.as_bytes());
            out.push(c.width);
            let words = usize::from(c.width).div_ceil(8);
            for v in c.raw.chunks(words) {
                let bytes: Vec<u8> = v.iter().flat_map(|w| w.to_le_bytes()).collect();
                out.extend(&bytes[..c.width as usize]);
            }
            out.extend(c.hash.to_le_bytes());
        }
        zstd::encode_all(out.as_slice(), 19).map_err(|e| e.to_string())
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Recording, String> {
        let data = zstd::decode_all(bytes).map_err(|e| format!("not a recording: {e}"))?;
        let end = data.iter().position(|b| *b == b'\n').ok_or("not a recording: no header")?;
        let header: Header =
            serde_json::from_slice(&data[..end]).map_err(|e| format!("not a recording: {e}"))?;
        if header.format != FORMAT {
            return Err(format!("recording format {} (this is for format {FORMAT})", header.format));
        }
        let mut rest = &data[end + 1..];
        let mut cases = vec![];
        while !rest.is_empty() {
            cases.push(decode_case(&mut rest).ok_or("the recording is cut off")?);
        }
        Ok(Recording { header, cases })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Recording, String> {
        let bytes = file::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Recording::decode(&bytes).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// Version of the format.
pub const FORMAT: u32 = 1;

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(n)?;
    *rest = tail;
    Some(head)
}

fn decode_case(rest: &mut &[u8]) -> Option<Recorded> {
    let len = u16::from_le_bytes(take(rest, 2)?.try_into().ok()?);
    let text = String::from_utf8(take(rest, len as usize)?.to_vec()).ok()?;
    let width = *take(rest, 1)?.first()?;
    if !(1..=64).contains(&width) {
        return None;
    }
    let raw = take(rest, RAW * width as usize)?
        .chunks(width as usize)
        .flat_map(|result| result.chunks(8))
        .map(|word| word.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b)))
        .collect();
    let hash = u64::from_le_bytes(take(rest, 8)?.try_into().ok()?);
    Some(Recorded { text, width, raw, hash })
}

/// The file of [`Finding`]s beside the recordings: a compressed JSON array.
const FINDINGS: &str = "findings.json.zst";

/// The findings of a directory of recordings; none if there is no file.
pub fn read_findings(dir: &Path) -> Result<Vec<Finding>, String> {
    let path = dir.join(FINDINGS);
    if !path.exists() {
        return Ok(vec![]);
    }
    let read = || -> Result<Vec<Finding>, String> {
        let bytes = file::read(&path).map_err(|e| e.to_string())?;
        let text = zstd::decode_all(bytes.as_slice()).map_err(|e| e.to_string())?;
        serde_json::from_slice(&text).map_err(|e| e.to_string())
    };
    read().map_err(|e| format!("{}: {e}", path.display()))
}

/// Writes the findings of a directory of recordings.
pub fn write_findings(dir: &Path, findings: &[Finding]) -> Result<(), String> {
    let text = serde_json::to_vec(findings).map_err(|e| e.to_string())?;
    let bytes = zstd::encode_all(text.as_slice(), 19).map_err(|e| e.to_string())?;
    let path = dir.join(FINDINGS);
    file::replace(&path, &bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// The opcodes a directory has recordings of, sorted.
pub fn recorded_opcodes(dir: &Path) -> Result<Vec<String>, String> {
    let paths = file::list(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let records = paths.iter().filter(|p| p.extension().is_some_and(|e| e == "rec"));
    let mut names: Vec<String> = records.filter_map(|p| Some(p.file_stem()?.to_str()?.to_string())).collect();
    names.sort_unstable();
    Ok(names)
}

/// The recording of an opcode.
pub fn path(dir: &Path, opcode: &str) -> std::path::PathBuf {
    dir.join(format!("{opcode}.rec"))
}

/// A difference between the reference (ptxas at -O0) and another way to the same GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The instruction.
    pub text: String,
    /// What differs from the reference: `ptxas -O3`, `driver 13.0`.
    pub assembler: String,
    /// How many vectors differ, of [`crate::vectors::ALL`].
    pub differing: usize,
    /// Operands of the first one.
    pub operands: Vec<u64>,
    /// What the reference gives.
    pub reference: u64,
    /// What the other gives.
    pub got: u64,
}

impl Finding {
    /// The opcode of its instruction.
    pub fn opcode(&self) -> &str {
        let guarded = self.text.strip_prefix('@').and_then(|t| t.split_once(' '));
        let instruction = guarded.map_or(self.text.as_str(), |(_, instruction)| instruction);
        instruction.split(['.', ' ']).next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Recording {
        let header = Header {
            format: FORMAT,
            opcode: "vadd".into(),
            gpu: "test".into(),
            sm: 90,
            driver: "13.0".into(),
            ptxas: "V13.4.92".into(),
            level: "-O0".into(),
            date: "2026-11-15".into(),
        };
        let raw = (0..RAW as u64).map(|i| i * 0x0101_0101).collect();
        Recording {
            header,
            cases: vec![Recorded { text: "vadd.u32.u32.u32 %d, %a, %b".into(), width: 4, raw, hash: 7 }],
        }
    }

    #[test]
    fn a_recording_survives_the_disk() {
        let r = sample();
        assert_eq!(Recording::decode(&r.encode().unwrap()).unwrap(), r);
    }

    #[test]
    fn broken_files_are_errors() {
        let bytes = sample().encode().unwrap();
        for end in 0..bytes.len() {
            assert!(Recording::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
        assert!(Recording::decode(b"hello").is_err());
    }
}
