//! PTX out of the containers nvcc and others pack it in.
//!
//! A *wrapper* (24 bytes, magic `0x466243B1`) points to a *fat binary* (magic `0xBA55ED50`, u16 version, u16 header size, u64 bytes that follow), which
//! is a row of entries: PTX, machine code and others, compressed or not.

use std::fmt;

const WRAPPER: u32 = 0x4662_43B1;
const FATBIN: u32 = 0xBA55_ED50;
const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");

const KIND_PTX: u16 = 1;
const KIND_CUBIN: u16 = 2;
const KIND_MANY: u16 = 0x100;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;

/// The most that an entry may say it unpacks to.
const MOST: u64 = 1 << 30;

/// Why there is no PTX.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoPtx {
    /// There is only machine code, for these architectures.
    MachineCode(Vec<u32>),
    /// The container is damaged, or of a kind nobody has described.
    Damaged(String),
}

impl fmt::Display for NoPtx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPtx::MachineCode(archs) => {
                let archs: Vec<String> = archs.iter().map(|n| format!("sm_{n}")).collect();
                let of = if archs.is_empty() { String::new() } else { format!(" for {}", archs.join(", ")) };
                write!(
                    f,
                    "the program holds only machine code{of}, which needs a GPU; build it with PTX inside, e.g. \
                     nvcc -gencode arch=compute_90,code=compute_90"
                )
            }
            NoPtx::Damaged(why) => write!(f, "the fat binary cannot be read: {why}"),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// What an image that a program hands over is.
#[derive(Debug, PartialEq, Eq)]
pub enum Image {
    /// PTX text.
    Ptx(Vec<u8>),
    /// A fat binary's bytes.
    Fatbin(Vec<u8>),
    /// Machine code.
    Elf,
}

/// Reads what a program hands over without a size.
///
/// # Safety
/// It is a wrapper, a fat binary, an ELF file or a string that ends with NUL, as CUDA's manual asks.
pub unsafe fn image(at: *const u8) -> Image {
    // SAFETY: each of them has at least four bytes or a NUL before them; bytes are read one by one up to that.
    let head: Vec<u8> = unsafe {
        let mut head = vec![];
        while head.len() < 4 && (head.is_empty() || head[head.len() - 1] != 0) {
            head.push(*at.add(head.len()));
        }
        head
    };
    match u32_at(&head, 0) {
        Some(WRAPPER) => {
            // SAFETY: a wrapper is 24 bytes, with a pointer to the fat binary at 8.
            let data = unsafe { at.add(8).cast::<*const u8>().read_unaligned() };
            // SAFETY: the pointer of a wrapper points to a fat binary.
            unsafe { image(data) }
        }
        Some(FATBIN) => {
            // SAFETY: a fat binary has 16 bytes of header, which say how many follow.
            let bytes = unsafe {
                let header = std::slice::from_raw_parts(at, 16);
                let len =
                    usize::from(u16_at(header, 6).unwrap_or(16)) as u64 + u64_at(header, 8).unwrap_or(0);
                std::slice::from_raw_parts(at, len as usize)
            };
            Image::Fatbin(bytes.to_vec())
        }
        Some(ELF) => Image::Elf,
        // SAFETY: what is none of the others ends with NUL.
        _ => Image::Ptx(unsafe { std::ffi::CStr::from_ptr(at.cast()) }.to_bytes().to_vec()),
    }
}

/// The PTX texts of an image; those of one fat binary are the same program for different architectures.
pub fn texts(image: Image) -> Result<Vec<Text>, NoPtx> {
    match image {
        Image::Ptx(bytes) => Ok(vec![Text { arch: 0, bytes }]),
        Image::Elf => Err(NoPtx::MachineCode(vec![])),
        Image::Fatbin(bytes) => entries(&bytes),
    }
}

/// A PTX text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// The architecture the container says it is for.
    pub arch: u32,
    /// The text without its NUL.
    pub bytes: Vec<u8>,
}

/// The one to take for a device of this architecture: the newest that is not newer, else the oldest.
pub fn choose(mut texts: Vec<Text>, arch: u32) -> Option<Text> {
    texts.sort_by_key(|t| t.arch);
    let best = texts.iter().rposition(|t| t.arch <= arch).unwrap_or(0);
    (!texts.is_empty()).then(|| texts.swap_remove(best))
}

/// Whether these bytes are a fat binary.
pub fn is_fatbin(bytes: &[u8]) -> bool {
    u32_at(bytes, 0) == Some(FATBIN)
}

/// The PTX in a fat binary. One without any entries has none, which is no error: nvcc makes such.
pub fn entries(bytes: &[u8]) -> Result<Vec<Text>, NoPtx> {
    let cut = || NoPtx::Damaged("it ends too early".into());
    let header = usize::from(u16_at(bytes, 6).ok_or_else(cut)?);
    let body = u64_at(bytes, 8).ok_or_else(cut)? as usize;
    let end = header.checked_add(body).filter(|end| *end <= bytes.len()).ok_or_else(cut)?;
    let (mut at, mut found, mut machine) = (header, vec![], vec![]);
    let mut others = vec![];
    while at + 64 <= end {
        let entry = &bytes[at..end];
        let kind = u16_at(entry, 0).ok_or_else(cut)?;
        let head = u32_at(entry, 4).ok_or_else(cut)? as usize;
        let size = u64_at(entry, 8).ok_or_else(cut)? as usize;
        let next = head.checked_add(size).filter(|n| *n <= entry.len() && *n >= 64).ok_or_else(cut)?;
        let payload = &entry[head..next];
        let arch = u32_at(entry, 28).ok_or_else(cut)?;
        match kind {
            KIND_PTX => found.push(Text { arch, bytes: text(unpack(entry, payload)?) }),
            KIND_CUBIN => machine.push(arch),
            KIND_MANY => many(entry, head, payload, &mut found)?,
            other => others.push(other),
        }
        at += next;
    }
    if found.is_empty() && !machine.is_empty() {
        return Err(NoPtx::MachineCode(machine));
    }
    if found.is_empty() && !others.is_empty() {
        return Err(NoPtx::Damaged(format!("it holds only entries of kind {:#x}", others[0])));
    }
    Ok(found)
}

/// An entry that packs several: copies of their headers, then all of them in one frame.
fn many(entry: &[u8], head: usize, payload: &[u8], found: &mut Vec<Text>) -> Result<(), NoPtx> {
    let cut = || NoPtx::Damaged("an entry of several ends too early".into());
    let count = u32_at(entry, 0x40).ok_or_else(cut)? as usize;
    let unpacked = unpack(entry, payload)?;
    let mut at = 0x48;
    for _ in 0..count {
        let inner = entry.get(at..head).ok_or_else(cut)?;
        let kind = u16_at(inner, 0).ok_or_else(cut)?;
        let offset = u32_at(inner, 4).ok_or_else(cut)? as usize;
        let size = u64_at(inner, 8).ok_or_else(cut)? as usize;
        if kind == KIND_PTX {
            let end = offset.checked_add(size).ok_or_else(cut)?;
            let bytes = unpacked.get(offset..end.min(unpacked.len())).ok_or_else(cut)?.to_vec();
            found.push(Text { arch: u32_at(inner, 28).ok_or_else(cut)?, bytes: text(bytes) });
        }
        at += 64;
    }
    Ok(())
}

fn unpack(entry: &[u8], payload: &[u8]) -> Result<Vec<u8>, NoPtx> {
    let cut = || NoPtx::Damaged("an entry ends too early".into());
    let packed = u32_at(entry, 16).ok_or_else(cut)? as usize;
    let flags = u64_at(entry, 40).ok_or_else(cut)?;
    let size = u64_at(entry, 56).ok_or_else(cut)?;
    if packed == 0 {
        return Ok(payload.to_vec());
    }
    let packed = payload.get(..packed).ok_or_else(cut)?;
    if size > MOST {
        return Err(NoPtx::Damaged(format!("an entry says it has {size} bytes")));
    }
    if flags & FLAG_LZ4 != 0 {
        return lz4_flex::block::decompress(packed, size as usize)
            .map_err(|e| NoPtx::Damaged(format!("LZ4: {e}")));
    }
    if flags & FLAG_ZSTD != 0 {
        use std::io::Read;
        let damaged = |e: String| NoPtx::Damaged(format!("zstd: {e}"));
        let frames = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|e| damaged(e.to_string()))?;
        let mut out = Vec::with_capacity(size as usize);
        frames.take(size).read_to_end(&mut out).map_err(|e| damaged(e.to_string()))?;
        return if out.len() as u64 == size { Ok(out) } else { Err(cut()) };
    }
    Err(NoPtx::Damaged(format!("an entry is packed in a way nobody knows (flags {flags:#x})")))
}

/// Without the NUL and the padding behind it.
fn text(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, arch: u32, payload: &[u8], packed: u32, flags: u64, size: u64) -> Vec<u8> {
        let padded = payload.len().next_multiple_of(8);
        let mut out = vec![0; 72];
        out[0..2].copy_from_slice(&kind.to_le_bytes());
        out[2..4].copy_from_slice(&0x0101u16.to_le_bytes());
        out[4..8].copy_from_slice(&72u32.to_le_bytes());
        out[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
        out[16..20].copy_from_slice(&packed.to_le_bytes());
        out[28..32].copy_from_slice(&arch.to_le_bytes());
        out[40..48].copy_from_slice(&flags.to_le_bytes());
        out[56..64].copy_from_slice(&size.to_le_bytes());
        out.extend_from_slice(payload);
        out.resize(72 + padded, 0);
        out
    }

    fn fatbin(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut out = FATBIN.to_le_bytes().to_vec();
        out.extend_from_slice(&1u16.to_le_bytes());
        out.extend_from_slice(&16u16.to_le_bytes());
        out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    #[test]
    fn stored_and_packed_texts_are_found() {
        let text = b".version 8.8\n.target sm_80\n// text text text text text\n\0".to_vec();
        let packed = lz4_flex::block::compress(&text);
        let all = fatbin(&[
            entry(KIND_CUBIN, 75, b"\x7fELF", 0, 0x11, 0),
            entry(KIND_PTX, 80, &text, 0, 0x11, 0),
            entry(KIND_PTX, 90, &packed, packed.len() as u32, 0x11 | FLAG_LZ4, text.len() as u64),
        ]);
        let found = entries(&all).expect("two texts");
        assert_eq!(found.iter().map(|t| t.arch).collect::<Vec<_>>(), [80, 90]);
        assert!(found.iter().all(|t| t.bytes == text[..text.len() - 1]));
        assert_eq!(choose(found.clone(), 86).map(|t| t.arch), Some(80));
        assert_eq!(choose(found.clone(), 90).map(|t| t.arch), Some(90));
        assert_eq!(choose(found, 70).map(|t| t.arch), Some(80), "the oldest is better than none");
    }

    #[test]
    fn a_zstd_frame_is_unpacked() {
        // A frame of one raw block: magic, a header that says 5 bytes, the block, no checksum.
        let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 41, 0, 0][..], b"ptx!\0"].concat();
        let all = fatbin(&[entry(KIND_PTX, 90, &frame, frame.len() as u32, 0x11 | FLAG_ZSTD, 5)]);
        assert_eq!(entries(&all).expect("one text")[0].bytes, b"ptx!");
    }

    #[test]
    fn machine_code_alone_says_how_to_build() {
        let all = fatbin(&[entry(KIND_CUBIN, 90, b"\x7fELF", 0, 0x11, 0)]);
        let why = entries(&all).expect_err("no PTX");
        assert_eq!(why, NoPtx::MachineCode(vec![90]));
        assert!(why.to_string().contains("compute_90"));
        assert_eq!(entries(&fatbin(&[])), Ok(vec![]));
    }

    #[test]
    fn damaged_bytes_are_errors() {
        let text = b".version 8.8 // xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\0".to_vec();
        let packed = lz4_flex::block::compress(&text);
        let all =
            fatbin(&[entry(KIND_PTX, 90, &packed, packed.len() as u32, 0x11 | FLAG_LZ4, text.len() as u64)]);
        for cut in 0..all.len() {
            let _ = entries(&all[..cut]);
        }
        for at in 0..all.len() {
            for bit in 0..8 {
                let mut wrong = all.clone();
                wrong[at] ^= 1 << bit;
                let _ = entries(&wrong);
            }
        }
    }

    #[test]
    fn images_are_told_apart() {
        let all = fatbin(&[]);
        // SAFETY: all of them are what they should be.
        unsafe {
            assert_eq!(image(all.as_ptr()), Image::Fatbin(all.clone()));
            assert_eq!(image(b"\x7fELF".as_ptr()), Image::Elf);
            assert_eq!(image(c".version".as_ptr().cast()), Image::Ptx(b".version".to_vec()));
            assert_eq!(image(c"".as_ptr().cast()), Image::Ptx(vec![]));
            let mut wrapper = [WRAPPER.to_le_bytes(), 1u32.to_le_bytes()].concat();
            wrapper.extend_from_slice(&(all.as_ptr() as usize).to_le_bytes());
            wrapper.extend_from_slice(&[0; 8]);
            assert_eq!(image(wrapper.as_ptr()), Image::Fatbin(all.clone()));
        }
    }
}
