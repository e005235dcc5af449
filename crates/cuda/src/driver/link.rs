//! The linker. What it answers in place of a cubin are the PTX texts themselves, one behind the other, which the loaders here take.

use crate::driver::{Logs, ptx_of};
use crate::errors::{self, Code};
use crate::fatbin::{self, Image};
use crate::log;
use crate::state::{self, Object, State, state};
use crate::types::*;
use hostwarp::Module;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

/// What has been added so far.
#[derive(Default)]
pub struct Linker {
    texts: Vec<(String, Vec<u8>)>,
    /// The result, with its NUL; C has a pointer to it until the linker is destroyed.
    linked: Vec<u8>,
    logs: Logs,
}

/// What a linked image begins with. Each text has a line of its own before it: its length and its name.
const HEAD: &str = "// Hostwarp: linked\n";

/// One image out of several texts.
fn pack(texts: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut image = HEAD.as_bytes().to_vec();
    for (name, text) in texts {
        image.extend_from_slice(format!("// {} {}\n", text.len(), name.replace('\n', " ")).as_bytes());
        image.extend_from_slice(text);
        image.push(b'\n');
    }
    image
}

/// The texts of an image that was linked; none for any other.
pub fn unpack(image: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut rest = image.strip_prefix(HEAD.as_bytes())?;
    let mut texts = vec![];
    while !rest.is_empty() {
        let line = rest.iter().position(|b| *b == b'\n')?;
        let head = std::str::from_utf8(&rest[..line]).ok()?.strip_prefix("// ")?;
        let (len, name) = head.split_once(' ')?;
        let (text, after) = rest[line + 1..].split_at_checked(len.parse().ok()?)?;
        texts.push((name, text));
        rest = after.strip_prefix(b"\n")?;
    }
    Some(texts)
}

/// Loads PTX, of one text or linked; what the linker has made is taken as it is.
pub fn load_texts(state: &State, image: &[u8]) -> Result<Module, hostwarp::Error> {
    if let Some(module) = state.take_linked(image) {
        return Ok(module);
    }
    let options = hostwarp::Options { profile: state.profile };
    match unpack(image) {
        Some(texts) => state.device.link(&texts, options),
        None => state.device.load_with("module.ptx", image, options),
    }
}

fn linker(state: &State, handle: Handle) -> Result<Arc<Mutex<Linker>>, Code> {
    match state.object(handle) {
        Some(Object::Linker(linker)) => Ok(linker),
        _ => Err(errors::INVALID_HANDLE),
    }
}

/// Whether this is `libcudadevrt.a`, which clients add for what there is here anyway.
fn is_device_runtime(bytes: &[u8]) -> bool {
    let member = b"cuda_device_runtime.o";
    bytes.starts_with(b"!<arch>")
        && bytes[..bytes.len().min(1 << 16)].windows(member.len()).any(|w| w == member)
}

fn add(handle: Handle, bytes: Vec<u8>, name: &str) -> Result<(), Code> {
    let state = state()?;
    let linker = linker(state, handle)?;
    let image = if fatbin::is_fatbin(&bytes) {
        Image::Fatbin(bytes)
    } else if is_device_runtime(&bytes) {
        return Ok(());
    } else if bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"!<arch>") {
        log::explain(
            "cuLinkAddData: machine code cannot be linked; give PTX (numba: without nvJitLink in the environment)",
        );
        return Err(errors::NO_BINARY_FOR_GPU);
    } else {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Image::Ptx(bytes[..end].to_vec())
    };
    let ptx = ptx_of(state, image)?;
    linker.lock().unwrap_or_else(|e| e.into_inner()).texts.push((name.to_string(), ptx));
    Ok(())
}

/// What the one text that was added calls and does not define. Several are an error to the compiler already.
fn undefined(texts: &[(String, Vec<u8>)], module: &Module) -> Option<String> {
    let name = texts.first().map_or("", |(name, _)| name);
    let of = |function: &String| format!("error   : undefined reference to '{function}' in '{name}'");
    let lines: Vec<String> = module.compiled().undefined.iter().map(of).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

api! {
    fn cuLinkCreate_v2(count: c_uint, options: *const c_int, values: *mut *mut c_void, to: *mut Handle) {
        // SAFETY: the caller's promise, here and below: the log's buffers are there as long as the linker.
        let logs = unsafe { Logs::new(count, options, values) };
        let linker = Linker { logs, ..Linker::default() };
        // SAFETY: as above.
        unsafe { out(to, state()?.insert(Object::Linker(Arc::new(Mutex::new(linker))))) }
    }

    fn cuLinkAddData_v2(linker: Handle, _kind: c_int, data: *const c_void, size: usize, name: *const c_char, _count: c_uint, _options: *const c_int, _values: *mut *mut c_void) {
        if data.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: as above: there are `size` bytes.
        unsafe {
            let bytes = std::slice::from_raw_parts(data.cast::<u8>(), size).to_vec();
            add(linker, bytes, text(name).filter(|name| !name.is_empty()).unwrap_or("module.ptx"))
        }
    }

    fn cuLinkAddFile_v2(linker: Handle, _kind: c_int, path: *const c_char, _count: c_uint, _options: *const c_int, _values: *mut *mut c_void) {
        // SAFETY: as above.
        let path = unsafe { text(path) }.ok_or(errors::INVALID_VALUE)?;
        add(linker, std::fs::read(path).map_err(|_| errors::FILE_NOT_FOUND)?, path)
    }

    fn cuLinkComplete(linker_handle: Handle, data: *mut *mut c_void, size: *mut usize) {
        let state = state()?;
        let linker = linker(state, linker_handle)?;
        let mut linker = linker.lock().unwrap_or_else(|e| e.into_inner());
        let image = match &linker.texts[..] {
            [(_, one)] => one.clone(),
            several => pack(several),
        };
        let module = load_texts(state, &image).map_err(|error| {
            linker.logs.write(&error.to_string());
            log::explain(&error.to_string());
            state::code_of(&error)
        })?;
        if let Some(undefined) = undefined(&linker.texts, &module) {
            linker.logs.write(&undefined);
            log::explain(&format!("cuLinkComplete: {undefined}"));
            return Err(errors::NO_BINARY_FOR_GPU);
        }
        linker.logs.write("");
        state.keep_linked(image.clone(), module);
        linker.linked = image;
        linker.linked.push(0);
        // SAFETY: as above.
        unsafe {
            put(data, linker.linked.as_mut_ptr().cast());
            put(size, linker.linked.len());
        }
        Ok(())
    }

    fn cuLinkDestroy(linker_handle: Handle) {
        let state = state()?;
        linker(state, linker_handle)?;
        state.remove(linker_handle);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_image_says_what_it_is_made_of() {
        let texts = [
            ("a.ptx".to_string(), b".version 8.0\n".to_vec()),
            ("b\nc".to_string(), b"// no newline".to_vec()),
        ];
        let image = pack(&texts);
        assert!(!image.contains(&0), "loaders read up to a NUL");
        assert_eq!(unpack(&image), Some(vec![("a.ptx", &texts[0].1[..]), ("b c", &texts[1].1[..])]));
        assert_eq!(unpack(b".version 8.0\n"), None);
        assert_eq!(unpack(&image[..image.len() - 3]), None, "cut off");
    }
}
