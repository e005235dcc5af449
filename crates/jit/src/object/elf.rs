//! The parts of ELF-64, little endian, relocatable, that LLVM writes. Every read is checked.

use super::LoadError;
use crate::target::Arch;

/// A relocatable object, its tables checked against the size of the file.
pub(super) struct Elf<'a> {
    pub(super) arch: Arch,
    pub(super) sections: Vec<Section<'a>>,
}

/// A section of the file.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    kind: u32,
    flags: u64,
    /// Empty for a section without bits.
    pub(super) data: &'a [u8],
    pub(super) size: u64,
    pub(super) align: u64,
    link: u32,
    info: u32,
}

/// An entry of the symbol table.
pub(super) struct Symbol<'a> {
    pub(super) name: &'a str,
    pub(super) value: u64,
    section: u16,
    is_first: bool,
}

/// A relocation with its addend.
pub(super) struct Relocation {
    pub(super) offset: u64,
    pub(super) kind: u32,
    pub(super) symbol: u32,
    pub(super) addend: i64,
}

const HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const RELOCATION: usize = 24;

const ET_REL: u16 = 1;
const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;

const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_RELA: u32 = 4;
const SHT_NOBITS: u32 = 8;
const SHT_REL: u32 = 9;
const SHT_SYMTAB_SHNDX: u32 = 18;

const SHF_WRITE: u64 = 1;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;
const SHF_TLS: u64 = 0x400;

const SHN_UNDEF: u16 = 0;
/// Indices from here on are not sections (absolute values, common blocks).
const SHN_LORESERVE: u16 = 0xff00;

fn malformed(what: &str) -> LoadError {
    LoadError::Malformed(what.to_owned())
}

/// `N` bytes at an offset, if they are there.
fn bytes<const N: usize>(data: &[u8], offset: usize) -> Result<[u8; N], LoadError> {
    data.get(offset..)
        .and_then(|rest| rest.first_chunk::<N>())
        .copied()
        .ok_or_else(|| malformed("it ends too early"))
}

fn u16_at(data: &[u8], offset: usize) -> Result<u16, LoadError> {
    bytes(data, offset).map(u16::from_le_bytes)
}

fn u32_at(data: &[u8], offset: usize) -> Result<u32, LoadError> {
    bytes(data, offset).map(u32::from_le_bytes)
}

fn u64_at(data: &[u8], offset: usize) -> Result<u64, LoadError> {
    bytes(data, offset).map(u64::from_le_bytes)
}

/// `size` bytes from `offset`, both as the file says.
fn range(file: &[u8], offset: u64, size: u64) -> Result<&[u8], LoadError> {
    let start = usize::try_from(offset).ok();
    let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok());
    start.zip(end).and_then(|(start, end)| file.get(start..end)).ok_or_else(|| malformed("it ends too early"))
}

/// The terminated string at an offset of a string table.
fn name_at(table: &[u8], offset: u32) -> Result<&str, LoadError> {
    let rest = table.get(offset as usize..).ok_or_else(|| malformed("a name outside the string table"))?;
    let end = rest.iter().position(|&b| b == 0).ok_or_else(|| malformed("a name without end"))?;
    std::str::from_utf8(&rest[..end]).map_err(|_| malformed("a name that is no text"))
}

impl<'a> Elf<'a> {
    pub(super) fn parse(file: &'a [u8]) -> Result<Elf<'a>, LoadError> {
        // 64-bit, little endian, version 1
        if file.len() < HEADER || !file.starts_with(b"\x7fELF\x02\x01\x01") {
            return Err(malformed("it is not 64-bit little-endian ELF"));
        }
        if u16_at(file, 16)? != ET_REL {
            return Err(malformed("it is not relocatable"));
        }
        let arch = match u16_at(file, 18)? {
            EM_X86_64 => Arch::X86_64,
            EM_AARCH64 => Arch::Aarch64,
            _ => return Err(LoadError::WrongArch),
        };
        let table = u64_at(file, 40)?;
        let (entry, count, names) = (u16_at(file, 58)?, u16_at(file, 60)?, u16_at(file, 62)?);
        if usize::from(entry) != SECTION_HEADER {
            return Err(malformed("a section header of unknown size"));
        }
        // Zero stands for "too many to say here": far beyond any kernel.
        if count == 0 || names >= count {
            return Err(malformed("no section table"));
        }
        let table = range(file, table, u64::from(count) * SECTION_HEADER as u64)?;
        let headers = || table.chunks_exact(SECTION_HEADER);

        let names_header = headers().nth(usize::from(names)).ok_or_else(|| malformed("no section names"))?;
        let names = range(file, u64_at(names_header, 24)?, u64_at(names_header, 32)?)?;
        let mut sections = Vec::with_capacity(usize::from(count));
        for header in headers() {
            let kind = u32_at(header, 4)?;
            let size = u64_at(header, 32)?;
            sections.push(Section {
                name: name_at(names, u32_at(header, 0)?)?,
                kind,
                flags: u64_at(header, 8)?,
                data: if kind == SHT_NOBITS || kind == 0 {
                    &[]
                } else {
                    range(file, u64_at(header, 24)?, size)?
                },
                size,
                align: u64_at(header, 48)?,
                link: u32_at(header, 40)?,
                info: u32_at(header, 44)?,
            });
        }
        if sections.iter().any(|s| s.kind == SHT_REL || s.kind == SHT_SYMTAB_SHNDX) {
            return Err(malformed("tables of a kind that LLVM does not write here"));
        }
        Ok(Elf { arch, sections })
    }

    /// The symbol table, in the order that relocations count it.
    pub(super) fn symbols(&self) -> Result<Vec<Symbol<'a>>, LoadError> {
        let mut tables = self.sections.iter().filter(|s| s.kind == SHT_SYMTAB);
        let (Some(table), None) = (tables.next(), tables.next()) else {
            return Err(malformed("not exactly one symbol table"));
        };
        let names = self.sections.get(table.link as usize).ok_or_else(|| malformed("no symbol names"))?;
        if table.data.len() % SYMBOL != 0 {
            return Err(malformed("a symbol table of odd size"));
        }
        let mut symbols = Vec::with_capacity(table.data.len() / SYMBOL);
        for (index, entry) in table.data.chunks_exact(SYMBOL).enumerate() {
            symbols.push(Symbol {
                name: name_at(names.data, u32_at(entry, 0)?)?,
                value: u64_at(entry, 8)?,
                section: u16_at(entry, 6)?,
                is_first: index == 0,
            });
        }
        Ok(symbols)
    }
}

impl Section<'_> {
    pub(super) fn is_allocated(&self) -> bool {
        self.flags & SHF_ALLOC != 0
    }

    pub(super) fn is_executable(&self) -> bool {
        self.flags & SHF_EXECINSTR != 0
    }

    pub(super) fn is_writable(&self) -> bool {
        self.flags & SHF_WRITE != 0
    }

    pub(super) fn is_thread_local(&self) -> bool {
        self.flags & SHF_TLS != 0
    }

    pub(super) fn has_no_bits(&self) -> bool {
        self.kind == SHT_NOBITS
    }

    pub(super) fn is_plain_data(&self) -> bool {
        self.kind == SHT_PROGBITS
    }

    /// The section that this table of relocations applies to, if it is one.
    pub(super) fn relocates(&self) -> Option<Result<usize, LoadError>> {
        (self.kind == SHT_RELA)
            .then(|| usize::try_from(self.info).map_err(|_| malformed("relocations for no section")))
    }

    pub(super) fn relocations(&self) -> Result<Vec<Relocation>, LoadError> {
        if !self.data.len().is_multiple_of(RELOCATION) {
            return Err(malformed("a relocation table of odd size"));
        }
        let read = |entry: &[u8]| {
            let info = u64_at(entry, 8)?;
            Ok(Relocation {
                offset: u64_at(entry, 0)?,
                kind: info as u32,
                symbol: (info >> 32) as u32,
                addend: u64_at(entry, 16)? as i64,
            })
        };
        self.data.chunks_exact(RELOCATION).map(read).collect()
    }
}

impl Symbol<'_> {
    /// The section the symbol lies in, if it lies in one.
    pub(super) fn section(&self) -> Option<usize> {
        (self.section != SHN_UNDEF && self.section < SHN_LORESERVE).then_some(usize::from(self.section))
    }

    /// Whether it is to be found elsewhere. The first entry of a table stands for nothing, and is not.
    pub(super) fn is_undefined(&self) -> bool {
        self.section == SHN_UNDEF && !self.is_first
    }
}
