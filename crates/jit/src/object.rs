//! A loader for the relocatable ELF objects that [`crate::llvm::Llvm::compile`] makes.
//!
//! Objects may come from a cache on disk, so nothing in them is believed: every offset, size and index is checked, and an object
//! that is damaged or asks for more than we grant is an error. What cannot be checked is the machine code itself: whoever keeps
//! objects outside the process must keep a checksum with them.
//!
//! Granted: code, read-only data, and references between the two. Refused: writable data (a kernel has no state of its own),
//! symbols from elsewhere, thread-local storage, constructors, a global offset table.

mod elf;
mod relocate;

use std::collections::HashMap;
use std::fmt;

use crate::target::Arch;
use elf::{Elf, Section};
use hostwarp_system::seam::{self, Kind};

/// Why an object cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// It is not a well-formed ELF object: what is wrong with it.
    Malformed(String),
    /// It is for another instruction set.
    WrongArch,
    /// It needs something that a kernel may not have.
    Refused(String),
    /// It refers to symbols it does not define.
    Undefined(Vec<String>),
    /// The system gave no executable memory.
    Memory(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Malformed(what) => write!(f, "malformed object: {what}"),
            LoadError::WrongArch => write!(f, "the object is for another instruction set"),
            LoadError::Refused(what) => {
                write!(f, "the object has {what}, which compiled kernels may not have")
            }
            LoadError::Undefined(names) => write!(f, "undefined symbols: {}", names.join(", ")),
            LoadError::Memory(why) => write!(f, "no executable memory: {why}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Every reference inside an object spans at most 31 bits, so an image below this size can always be linked.
const LARGEST_IMAGE: usize = 1 << 30;

/// A laid out object, linked for the address it will have.
struct Linked {
    /// Offsets in the image of the symbols that may be looked up.
    symbols: HashMap<String, usize>,
    size: usize,
    /// For each section of the file, its place in the image if it has one.
    places: Vec<Option<usize>>,
}

/// Code in memory, ready to be called.
pub struct Loaded {
    image: memmap2::Mmap,
    symbols: HashMap<String, usize>,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("size", &self.image.len()).field("symbols", &self.symbols).finish()
    }
}

impl Loaded {
    /// Loads an object for this process: lays it out, links it, and makes it executable and no longer writable.
    pub fn new(object: &[u8]) -> Result<Loaded, LoadError> {
        let elf = Elf::parse(object)?;
        if Arch::host() != Some(elf.arch) {
            return Err(LoadError::WrongArch);
        }
        let linked = lay_out(&elf)?;
        let memory = |e: std::io::Error| LoadError::Memory(e.to_string());
        seam::ask(Kind::Map).map_err(memory)?;
        let mut image = memmap2::MmapMut::map_anon(linked.size).map_err(memory)?;
        let base = image.as_ptr().addr() as u64;
        link(&elf, &linked, base, &mut image)?;
        seam::ask(Kind::Map).map_err(memory)?;
        let image = image.make_exec().map_err(memory)?;
        flush_instruction_cache(&image);
        Ok(Loaded { image, symbols: linked.symbols })
    }

    /// The address of a symbol the object defines. It stays valid as long as `self` does.
    ///
    /// Whoever calls it must know its signature, and trusts the object: that is where `unsafe` lies.
    pub fn get(&self, name: &str) -> Option<*const u8> {
        let offset = *self.symbols.get(name)?;
        self.image.get(offset..).map(<[u8]>::as_ptr)
    }

    /// Bytes of memory the image takes.
    pub fn size(&self) -> usize {
        self.image.len()
    }
}

/// The names of the symbols an object refers to but does not define. A compiled kernel has none.
pub fn undefined_symbols(object: &[u8]) -> Result<Vec<String>, LoadError> {
    let elf = Elf::parse(object)?;
    let mut names = Vec::new();
    for symbol in elf.symbols()? {
        if symbol.is_undefined() && !symbol.name.is_empty() {
            names.push(symbol.name.to_owned());
        }
    }
    Ok(names)
}

/// Decides where each section goes, and refuses what a kernel may not have.
fn lay_out(elf: &Elf<'_>) -> Result<Linked, LoadError> {
    let mut places = vec![None; elf.sections.len()];
    let mut size = 0usize;
    // Code and data are kept apart, so that stores of data never share a cache line with code.
    for executable in [true, false] {
        size = size.next_multiple_of(64);
        for (section, place) in elf.sections.iter().zip(&mut places) {
            if !is_loaded(section)? || section.is_executable() != executable {
                continue;
            }
            let align = usize::try_from(section.align.max(1)).unwrap_or(usize::MAX);
            if !align.is_power_of_two() || align > 4096 {
                return Err(LoadError::Malformed(format!(
                    "section {} asks for alignment {align}",
                    section.name
                )));
            }
            let start = size.next_multiple_of(align);
            size = start.saturating_add(section.data.len());
            if size > LARGEST_IMAGE {
                return Err(LoadError::Refused("more than a gigabyte of code".into()));
            }
            *place = Some(start);
        }
    }
    if size == 0 {
        return Err(LoadError::Malformed("it holds no code".into()));
    }

    let mut symbols = HashMap::new();
    for symbol in elf.symbols()? {
        let Some(section) = symbol.section() else { continue };
        let place = *places
            .get(section)
            .ok_or_else(|| LoadError::Malformed(format!("symbol {} is in no section", symbol.name)))?;
        let (Some(place), false) = (place, symbol.name.is_empty()) else { continue };
        let room = elf.sections[section].data.len() as u64;
        if symbol.value > room {
            return Err(LoadError::Malformed(format!("symbol {} lies outside its section", symbol.name)));
        }
        symbols.insert(symbol.name.to_owned(), place + symbol.value as usize);
    }
    Ok(Linked { symbols, size, places })
}

/// Whether a section goes into the image.
fn is_loaded(section: &Section<'_>) -> Result<bool, LoadError> {
    // Unwind tables are of no use to us: compiled code never unwinds.
    if !section.is_allocated() || section.name == ".eh_frame" || section.size == 0 {
        return Ok(false);
    }
    let refuse =
        |what: &str| Err(LoadError::Refused(format!("{what} ({}, {} bytes)", section.name, section.size)));
    if section.is_thread_local() {
        return refuse("thread-local data");
    }
    if section.has_no_bits() {
        return refuse("zero-initialised writable data");
    }
    // Written once, by the linking, and never after.
    let linked_only = section.name == ".data.rel.ro" || section.name.starts_with(".data.rel.ro.");
    if section.is_writable() && !linked_only {
        return refuse("writable data");
    }
    if !section.is_plain_data() {
        return refuse("a section of a special kind");
    }
    Ok(true)
}

/// Copies the sections into the image and applies the relocations for an image that will run at `base`.
fn link(elf: &Elf<'_>, linked: &Linked, base: u64, image: &mut [u8]) -> Result<(), LoadError> {
    for (section, place) in elf.sections.iter().zip(&linked.places) {
        if let Some(place) = *place {
            image[place..place + section.data.len()].copy_from_slice(section.data);
        }
    }

    let symbols = elf.symbols()?;
    let mut undefined: Vec<String> = Vec::new();
    for table in &elf.sections {
        let Some(target) = table.relocates() else { continue };
        let target = target?;
        let (Some(section), Some(place)) = (elf.sections.get(target), linked.places.get(target)) else {
            return Err(LoadError::Malformed("relocations for no section".into()));
        };
        let Some(place) = *place else { continue };
        for relocation in table.relocations()? {
            let symbol = symbols
                .get(relocation.symbol as usize)
                .ok_or_else(|| LoadError::Malformed("a relocation against no symbol".into()))?;
            if symbol.is_undefined() {
                let name = symbol.name.to_owned();
                if !undefined.contains(&name) {
                    undefined.push(name);
                }
                continue;
            }
            let home = symbol.section().and_then(|section| linked.places.get(section).copied().flatten());
            let Some(home) = home else {
                return Err(LoadError::Refused(format!(
                    "a reference to {}, which is not loaded",
                    symbol.name
                )));
            };
            let relocated = relocate::Site {
                address: base.wrapping_add(place as u64).wrapping_add(relocation.offset),
                value: base
                    .wrapping_add(home as u64)
                    .wrapping_add(symbol.value)
                    .wrapping_add_signed(relocation.addend),
            };
            let bytes = usize::try_from(relocation.offset)
                .ok()
                .and_then(|offset| image[place..place + section.data.len()].get_mut(offset..))
                .ok_or_else(|| LoadError::Malformed("a relocation outside its section".into()))?;
            relocate::apply(elf.arch, relocation.kind, relocated, bytes)?;
        }
    }
    if undefined.is_empty() { Ok(()) } else { Err(LoadError::Undefined(undefined)) }
}

/// Makes freshly written code visible to instruction fetch. x86 does it by itself.
#[cfg(not(target_arch = "aarch64"))]
fn flush_instruction_cache(_: &[u8]) {}

#[cfg(target_arch = "aarch64")]
fn flush_instruction_cache(image: &[u8]) {
    // The smallest line any core may have; a finer step than needed is only slower.
    const LINE: usize = 16;
    let start = image.as_ptr() as usize & !(LINE - 1);
    let end = image.as_ptr() as usize + image.len();
    // SAFETY: cache maintenance by address on memory that is mapped and readable changes no data; the order (clean data, barrier,
    // invalidate instructions, barrier) is the one the architecture asks for.
    unsafe {
        for line in (start..end).step_by(LINE) {
            std::arch::asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags));
        }
        std::arch::asm!("dsb ish", options(nostack, preserves_flags));
        for line in (start..end).step_by(LINE) {
            std::arch::asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags));
        }
        std::arch::asm!("dsb ish", "isb", options(nostack, preserves_flags));
    }
}
