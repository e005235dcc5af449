//! NumPy's `.npy`: a magic number, a header that is a Python dictionary, the elements.
//!
//! Written here because the part that is needed is a page: little-endian elements in C order.

use crate::number::{size, type_name};
use crate::value::Data;
use hostwarp::isa::Ty;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Whether the bytes begin as `.npy` does.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads an array.
pub fn read(bytes: &[u8]) -> Result<Data, String> {
    let short = || "the file ends inside its header".to_string();
    let version = *bytes.get(6).ok_or_else(short)?;
    let (len, start) = match version {
        1 => (bytes.get(8..10).map(|b| u16::from_le_bytes([b[0], b[1]]) as usize), 10),
        2 | 3 => (bytes.get(8..12).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize), 12),
        v => return Err(format!("version {v} of .npy is not known")),
    };
    let end = len.and_then(|l| l.checked_add(start)).ok_or_else(short)?;
    let header = std::str::from_utf8(bytes.get(start..end).ok_or_else(short)?)
        .map_err(|_| "the header is not text".to_string())?;

    if field(header, "fortran_order")?.starts_with("True") {
        return Err("the array is in Fortran order; save `numpy.ascontiguousarray(a)`".into());
    }
    let ty = element_type(field(header, "descr")?)?;
    let shape = field(header, "shape")?;
    let shape = shape.strip_prefix('(').and_then(|s| s.split_once(')')).ok_or("the shape is malformed")?.0;
    let shape: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(|s| s.parse().map_err(|_| format!("`{s}` in the shape is no number")))
        .collect::<Result<_, _>>()?;
    let wanted = shape.iter().try_fold(size(ty), |a, n| a.checked_mul(*n)).ok_or("the shape is too large")?;
    let elements = &bytes[end..];
    if elements.len() != wanted {
        return Err(format!("the shape needs {wanted} bytes, the file has {}", elements.len()));
    }
    Ok(Data { ty, shape, bytes: elements.to_vec() })
}

/// What stands behind `'key':`.
fn field<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let missing = || format!("the header has no '{key}'");
    let at = [format!("'{key}'"), format!("\"{key}\"")]
        .iter()
        .find_map(|k| header.find(k.as_str()).map(|i| i + k.len()))
        .ok_or_else(missing)?;
    Ok(header[at..].trim_start().strip_prefix(':').ok_or_else(missing)?.trim_start())
}

fn element_type(text: &str) -> Result<Ty, String> {
    let quoted = text.strip_prefix(['\'', '"']).and_then(|t| t.split_once(['\'', '"']));
    let Some((descr, _)) = quoted else {
        return Err("its elements are records; save one field".into());
    };
    let (order, kind) = descr.split_at(descr.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(0));
    let ty = match kind {
        "u1" | "b1" => Ty::U8,
        "u2" => Ty::U16,
        "u4" => Ty::U32,
        "u8" => Ty::U64,
        "i1" => Ty::S8,
        "i2" => Ty::S16,
        "i4" => Ty::S32,
        "i8" => Ty::S64,
        "f2" => Ty::F16,
        "f4" => Ty::F32,
        "f8" => Ty::F64,
        "V2" => Ty::BF16, // as ml_dtypes writes it
        _ => return Err(format!("elements of type '{descr}' have no PTX type")),
    };
    if order == ">" {
        return Err(format!("its elements are big endian; save `a.astype('<{kind}')`"));
    }
    Ok(ty)
}

/// Writes an array. NumPy has no bf16: its bits are written as `u2`.
pub fn write(data: &Data) -> Vec<u8> {
    let descr = match type_name(data.ty) {
        "u8" | "b8" => "|u1",
        "u16" | "b16" | "bf16" => "<u2",
        "u32" | "b32" => "<u4",
        "u64" | "b64" => "<u8",
        "s8" => "|i1",
        "s16" => "<i2",
        "s32" => "<i4",
        "s64" => "<i8",
        "f16" => "<f2",
        "f32" => "<f4",
        _ => "<f8",
    };
    let extents: String = data.shape.iter().map(|n| format!("{n}, ")).collect();
    let extents = if data.shape.len() == 1 { extents.trim_end() } else { extents.trim_end_matches(", ") };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    // The elements begin at a multiple of 64.
    let pad = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', pad));
    header.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(&data.bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, elements: &[u8]) -> Vec<u8> {
        let mut f = MAGIC.to_vec();
        f.extend([1, 0]);
        f.extend((header.len() as u16).to_le_bytes());
        f.extend(header.as_bytes());
        f.extend(elements);
        f
    }

    #[test]
    fn what_is_written_reads_back() {
        for shape in [vec![6], vec![2, 3], vec![]] {
            let count: usize = shape.iter().product();
            let data = Data { ty: Ty::F16, bytes: (0..count as u8 * 2).collect(), shape };
            let file = write(&data);
            assert_eq!((file.len() - data.bytes.len()) % 64, 0);
            assert_eq!(read(&file), Ok(data));
        }
    }

    #[test]
    fn numpys_own_header_is_read() {
        let f = file(
            "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }     \n",
            &[1, 0, 0, 0, 2, 0, 0, 0],
        );
        let data = read(&f).unwrap();
        assert_eq!((data.ty, &data.shape[..]), (Ty::S32, &[2][..]));
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let wrong = |h: &str| read(&file(h, &[0; 4])).unwrap_err();
        assert!(wrong("{'descr': '>i4', 'fortran_order': False, 'shape': (1,)}").contains("big endian"));
        assert!(wrong("{'descr': '<i4', 'fortran_order': True, 'shape': (1,)}").contains("Fortran"));
        assert!(wrong("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}").contains("8 bytes"));
        assert!(wrong("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}").contains("c8"));
        assert!(
            wrong("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}").contains("records")
        );
        assert!(wrong("{}").contains("fortran_order"));
        let whole = file("{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}", &[0; 4]);
        for cut in 6..whole.len() {
            assert!(read(&whole[..cut]).is_err(), "{cut}");
        }
    }
}
