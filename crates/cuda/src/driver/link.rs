//! The linker: several PTX texts become one. What it answers in place of a cubin is that text, which the loaders here take.

use crate::driver::ptx_of;
use crate::errors::{self, Code};
use crate::fatbin::{self, Image};
use crate::log;
use crate::state::{Object, State, state};
use crate::types::*;
use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

/// What has been added so far.
#[derive(Default)]
pub struct Linker {
    texts: Vec<Vec<u8>>,
    /// The result, with its NUL; C has a pointer to it until the linker is destroyed.
    linked: Vec<u8>,
}

/// The body of a text behind its `.version`, `.target` and `.address_size`, and these.
fn split(text: &str) -> (Vec<&str>, String) {
    let (mut head, mut body) = (vec![], String::new());
    for line in text.lines() {
        let start = line.trim_start();
        match [".version", ".target", ".address_size"].iter().find(|d| start.starts_with(**d)) {
            Some(_) => head.push(start),
            None => {
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    (head, body)
}

/// One text out of several: the head of the one with the highest version, then all bodies.
pub fn join(texts: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    if let [one] = texts {
        return Ok(one.clone());
    }
    let version = |head: &[&str]| -> (u32, u32) {
        let numbers = head.iter().find_map(|line| line.strip_prefix(".version")).unwrap_or("").trim();
        let (major, minor) = numbers.split_once('.').unwrap_or((numbers, "0"));
        let digits = |s: &str| s.chars().take_while(char::is_ascii_digit).collect::<String>();
        (digits(major).parse().unwrap_or(0), digits(minor).parse().unwrap_or(0))
    };
    let mut best: Option<Vec<String>> = None;
    let mut best_version = (0, 0);
    let mut bodies = String::new();
    for text in texts {
        let text = std::str::from_utf8(text).map_err(|e| e.to_string())?;
        let (head, body) = split(text);
        if best.is_none() || version(&head) > best_version {
            best_version = version(&head);
            best = Some(head.iter().map(ToString::to_string).collect());
        }
        bodies.push_str(&body);
    }
    let bodies = declared_as_defined(&bodies);
    Ok((best.unwrap_or_default().join("\n") + "\n" + &bodies).into_bytes())
}

/// The name of the function that a text goes on with, behind `.func`: results may stand before it.
fn function_name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let text = if text.starts_with('(') { text.split_once(')')?.1.trim_start() } else { text };
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_$%".contains(c))).unwrap_or(text.len());
    Some(&text[..end]).filter(|name| !name.is_empty())
}

/// What one text declares as external and another defines is in one text now: declared as it is defined, or the linkages would differ.
fn declared_as_defined(bodies: &str) -> String {
    const EXTERNAL: &str = ".extern .func";
    let defined: HashSet<&str> = bodies.split(".visible .func").skip(1).filter_map(function_name).collect();
    let mut parts = bodies.split(EXTERNAL);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let here = function_name(part).is_some_and(|name| defined.contains(name));
        out.push_str(if here { ".visible .func" } else { EXTERNAL });
        out.push_str(part);
    }
    out
}

fn linker(state: &State, handle: Handle) -> Result<Arc<Mutex<Linker>>, Code> {
    match state.object(handle) {
        Some(Object::Linker(linker)) => Ok(linker),
        _ => Err(errors::INVALID_HANDLE),
    }
}

fn add(handle: Handle, bytes: Vec<u8>) -> Result<(), Code> {
    let state = state()?;
    let linker = linker(state, handle)?;
    let image = if fatbin::is_fatbin(&bytes) {
        Image::Fatbin(bytes)
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
    linker.lock().unwrap_or_else(|e| e.into_inner()).texts.push(ptx);
    Ok(())
}

api! {
    fn cuLinkCreate_v2(_count: c_uint, _options: *const c_int, _values: *mut *mut c_void, to: *mut Handle) {
        let handle = state()?.insert(Object::Linker(Arc::default()));
        // SAFETY: the caller's promise, here and below.
        unsafe { out(to, handle) }
    }

    fn cuLinkAddData_v2(linker: Handle, _kind: c_int, data: *const c_void, size: usize, _name: *const c_char, _count: c_uint, _options: *const c_int, _values: *mut *mut c_void) {
        if data.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: as above: there are `size` bytes.
        add(linker, unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) }.to_vec())
    }

    fn cuLinkAddFile_v2(linker: Handle, _kind: c_int, path: *const c_char, _count: c_uint, _options: *const c_int, _values: *mut *mut c_void) {
        // SAFETY: as above.
        let path = unsafe { text(path) }.ok_or(errors::INVALID_VALUE)?;
        add(linker, std::fs::read(path).map_err(|_| errors::FILE_NOT_FOUND)?)
    }

    fn cuLinkComplete(linker_handle: Handle, data: *mut *mut c_void, size: *mut usize) {
        let linker = linker(state()?, linker_handle)?;
        let mut linker = linker.lock().unwrap_or_else(|e| e.into_inner());
        let mut linked = join(&linker.texts).map_err(|why| {
            log::explain(&format!("cuLinkComplete: {why}"));
            errors::INVALID_PTX
        })?;
        linked.push(0);
        linker.linked = linked;
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
    fn texts_are_joined_under_the_newest_head() {
        let one = b".version 7.0\n.target sm_80\n.address_size 64\n.extern .func f;\n".to_vec();
        let two =
            b"// two\n.version 8.8\n.target sm_90\n.address_size 64\n.visible .func f { ret; }\n".to_vec();
        assert_eq!(join(std::slice::from_ref(&one)), Ok(one.clone()));
        let joined = join(&[one, two]).expect("text");
        assert_eq!(
            String::from_utf8_lossy(&joined),
            ".version 8.8\n.target sm_90\n.address_size 64\n.visible .func f;\n// two\n.visible .func f { ret; }\n"
        );
    }
}
