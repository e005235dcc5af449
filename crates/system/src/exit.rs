//! The end of the process: at once, and not where an error will do.

/// Ends the process without waiting for anybody: neither for other threads nor for what libraries have asked to be done at the end. Where that is not to be had
/// it is a usual end. Files that are half written go.
#[allow(unsafe_code)]
pub fn now(code: i32) -> ! {
    crate::file::remove_unfinished();
    #[cfg(target_os = "linux")]
    // SAFETY: does not return, and nothing of this process is used after it.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(target_os = "linux"))]
    std::process::exit(code)
}

/// Makes a file that grows beyond the limit on its size (`ulimit -f`) an error of whoever writes it. Else it is the end of the process, and parts of
/// files stay. Processes that this one becomes inherit it.
#[allow(unsafe_code)]
pub fn not_for_large_files() {
    #[cfg(target_os = "linux")]
    // SAFETY: no handler is called: the signal is ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
