//! What a host of WebAssembly calls: it writes a file's text to [`input`] and calls [`check`]; [`output`] says what is wrong.
//! `xtask/src/platforms/kernels.mjs` is such a host.

use crate::case::Case;
use crate::run;
use hostwarp::Engine;
use std::sync::Mutex;

static INPUT: Mutex<Vec<u8>> = Mutex::new(vec![]);
static OUTPUT: Mutex<String> = Mutex::new(String::new());

/// Where a text of so many bytes goes.
// SAFETY: no other symbol of the module has the name.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    let mut input = INPUT.lock().unwrap();
    input.clear();
    input.resize(len, 0);
    input.as_mut_ptr()
}

/// Runs the kernels of the text on the interpreter. The number of bytes in [`output`]: 0 if all is well.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> usize {
    // A panic ends the module: what it said is all there is.
    std::panic::set_hook(Box::new(|info| *OUTPUT.lock().unwrap() = info.to_string()));
    let text = String::from_utf8(INPUT.lock().unwrap().clone()).expect("kernels are text");
    let checked = Case::parse(&text).and_then(|case| run(&case, "kernel.ptx", &text, Engine::Interp));
    let said = checked.err().unwrap_or_default();
    let len = said.len();
    *OUTPUT.lock().unwrap() = said;
    len
}

/// What is wrong.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.lock().unwrap().as_ptr()
}

/// How many bytes that has.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn output_len() -> usize {
    OUTPUT.lock().unwrap().len()
}
