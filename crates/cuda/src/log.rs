//! What every exported function goes through: tracing, panics, results.

use crate::errors::{self, Code};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Once, OnceLock};

/// Defines exported functions: `fn name(args) { body }`, where the body answers `Result<(), Code>`. A second name behind a slash is the variant whose
/// default stream is the calling thread's.
macro_rules! api {
    () => {};
    (fn $name:ident / $per_thread:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        // The names are C's.
        #[allow(missing_docs, clippy::duplicate_underscore_argument)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $per_thread($($arg: $ty),*) -> i32 {
            // SAFETY: the same call.
            $crate::state::with_per_thread_default(|| unsafe { $name($($arg),*) })
        }
        api! { fn $name($($arg: $ty),*) $body $($rest)* }
    };
    (fn $name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        // The names are C's.
        #[allow(missing_docs, clippy::duplicate_underscore_argument)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            $crate::log::guard(stringify!($name), || $body)
        }
        api! { $($rest)* }
    };
}

/// As `api!`, for the runtime: errors are kept for `cudaGetLastError`.
macro_rules! runtime_api {
    () => {};
    (fn $name:ident / $per_thread:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        // The names are C's.
        #[allow(missing_docs, clippy::duplicate_underscore_argument)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $per_thread($($arg: $ty),*) -> i32 {
            // SAFETY: the same call.
            $crate::state::with_per_thread_default(|| unsafe { $name($($arg),*) })
        }
        runtime_api! { fn $name($($arg: $ty),*) $body $($rest)* }
    };
    (fn $name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        // The names are C's.
        #[allow(missing_docs, clippy::duplicate_underscore_argument)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            $crate::runtime::remember($crate::log::guard(stringify!($name), || $body))
        }
        runtime_api! { $($rest)* }
    };
}

/// Functions of the runtime that are one of the driver's, for a thread that may have no context yet: `fn name(args) = driver's;`.
macro_rules! forward {
    ($(fn $name:ident $(/ $per_thread:ident)? ($($arg:ident: $ty:ty),* $(,)?) = $driver:ident;)*) => {
        runtime_api! {
            $(fn $name $(/ $per_thread)? ($($arg: $ty),*) {
                $crate::runtime::ensure()?;
                // SAFETY: the caller's promise is the one the driver's function asks for.
                $crate::runtime::ok(unsafe { $crate::driver::$driver($($arg),*) })
            })*
        }
    };
}

fn traced() -> bool {
    static TRACED: OnceLock<bool> = OnceLock::new();
    *TRACED.get_or_init(|| std::env::var_os("HOSTWARP_LOG").is_some_and(|v| !v.is_empty() && v != "0"))
}

/// Runs a function's body: traces it if asked to, and lets no panic through to C.
pub fn guard(name: &str, body: impl FnOnce() -> Result<(), Code>) -> i32 {
    let code = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code.0,
        Err(_) => {
            eprintln!("hostwarp: this is a bug in Hostwarp: {name} panicked");
            errors::UNKNOWN.0
        }
    };
    if traced() {
        // Those whose parameters differ between CUDA 12 and 13 go by their own names.
        let name = name.trim_start_matches("hostwarp12_").trim_start_matches("hostwarp13_");
        match code {
            0 => eprintln!("hostwarp: {name}"),
            _ => eprintln!("hostwarp: {name} = {code} ({})", errors::name(code).unwrap_or("?")),
        }
    }
    code
}

/// Says once that a function is not there yet.
pub fn missing(once: &Once, name: &str) {
    once.call_once(|| eprintln!("hostwarp: {name} is not supported yet; it returns \"not supported\""));
}

/// Tells the user something, however the program treats the error.
pub fn explain(text: &str) {
    eprintln!("hostwarp: {}", text.trim_end());
}
