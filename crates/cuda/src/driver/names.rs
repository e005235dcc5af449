//! Errors' names and texts, and functions by name.

use crate::errors::{self, Code};
use crate::types::*;
use std::ffi::{c_char, c_int, c_void};

/// A function as `cuGetProcAddress` knows it.
struct Entry {
    name: &'static str,
    version: i32,
    ptds: bool,
    done: bool,
    symbol: &'static str,
    address: *const (),
}

// SAFETY: addresses of functions.
unsafe impl Sync for Entry {}

static TABLE: &[Entry] = include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// The function of that name as of a version: the newest that is not newer. Flag 2 asks for the variant with the thread's default stream.
pub fn find(name: &str, version: c_int, flags: u64) -> Option<*const ()> {
    let of = |ptds: bool| {
        let fits =
            |e: &&Entry| (e.name == name || e.symbol == name) && e.ptds == ptds && e.version <= version;
        TABLE.iter().filter(fits).max_by_key(|e| e.version)
    };
    let found = if flags & 2 != 0 { of(true).or_else(|| of(false)) } else { of(false) };
    found.map(|e| e.address)
}

/// How many of the driver's functions do something, and how many there are.
pub fn counts() -> (usize, usize) {
    (TABLE.iter().filter(|e| e.done).count(), TABLE.len())
}

/// # Safety
/// The pointers are null or what the functions below promise.
unsafe fn look_up(
    name: *const c_char,
    to: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> Result<bool, Code> {
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) }.ok_or(errors::INVALID_VALUE)?;
    let found = find(name, version, flags);
    // SAFETY: the caller's promise.
    unsafe { put(to, found.unwrap_or(std::ptr::null()).cast_mut().cast()) };
    Ok(found.is_some())
}

api! {
    fn cuGetProcAddress(name: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64) {
        // SAFETY: the caller's promise, here and below.
        match unsafe { look_up(name, to, version, flags) }? {
            true => Ok(()),
            false => Err(errors::NOT_FOUND),
        }
    }

    fn cuGetProcAddress_v2(name: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64, status: *mut c_int) {
        // SAFETY: as above. The status: 0 found, 1 not found.
        unsafe {
            let found = look_up(name, to, version, flags)?;
            put(status, c_int::from(!found));
            if found { Ok(()) } else { Err(errors::NOT_FOUND) }
        }
    }

    fn cuGetErrorName(code: c_int, to: *mut *const c_char) {
        let name = errors::c_name(code);
        // SAFETY: as above.
        unsafe { put(to, name.map_or(std::ptr::null(), |s| s.as_ptr().cast())) };
        name.map(drop).ok_or(errors::INVALID_VALUE)
    }

    fn cuGetErrorString(code: c_int, to: *mut *const c_char) {
        let text = errors::c_name(code).and(errors::c_text(code));
        // SAFETY: as above.
        unsafe { put(to, text.map_or(std::ptr::null(), |s| s.as_ptr().cast())) };
        text.map(drop).ok_or(errors::INVALID_VALUE)
    }
}
