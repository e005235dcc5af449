//! What other tests show of code that the jit makes with care, of code that it makes quickly.

#[path = "faults.rs"]
mod faults;
#[path = "wide.rs"]
mod wide;
#[path = "windows.rs"]
mod windows;
