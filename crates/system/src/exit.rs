//! The end of the process, at once.

/// Ends the process without waiting for anybody: neither for other threads nor for what libraries have asked to be done at the end. Where that is not to be had
/// it is a usual end.
#[allow(unsafe_code)]
pub fn now(code: i32) -> ! {
    #[cfg(target_os = "linux")]
    // SAFETY: does not return, and nothing of this process is used after it.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(target_os = "linux"))]
    std::process::exit(code)
}
