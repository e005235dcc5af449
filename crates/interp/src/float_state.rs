//! The floating-point control state kernels rely on: round to nearest, subnormals kept, nothing trapped.

/// Runs `f` with the default floating-point control state of the CPU and puts the caller's back afterwards. Programs that set
/// flush-to-zero (many do, through `-ffast-math` in some library) would otherwise change the bits of kernels.
pub fn with_default_float_state<R>(f: impl FnOnce() -> R) -> R {
    let _restore = Restore(swap(DEFAULT));
    f()
}

struct Restore(u32);

impl Drop for Restore {
    fn drop(&mut self) {
        swap(self.0);
    }
}

/// MXCSR after reset: all exceptions masked, round to nearest, no flushing.
#[cfg(target_arch = "x86_64")]
const DEFAULT: u32 = 0x1f80;
/// FPCR after reset.
#[cfg(not(target_arch = "x86_64"))]
const DEFAULT: u32 = 0;

#[cfg(target_arch = "x86_64")]
fn swap(new: u32) -> u32 {
    let mut old = 0u32;
    // SAFETY: stores and loads MXCSR through two live variables. Rust code assumes the default state, which is what `new` is
    // while kernels run; what is put back was the caller's own doing. Sticky exception flags may differ, which nothing reads.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut old, options(nostack));
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const new, options(nostack));
    }
    old
}

#[cfg(target_arch = "aarch64")]
fn swap(new: u32) -> u32 {
    let old: u64;
    // SAFETY: reads and writes FPCR, as above.
    unsafe {
        std::arch::asm!("mrs {}, fpcr", out(reg) old, options(nomem, nostack));
        std::arch::asm!("msr fpcr, {}", in(reg) u64::from(new), options(nomem, nostack));
    }
    old as u32
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn swap(new: u32) -> u32 {
    new // there is no such state, or no way to it
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn subnormals_are_kept_inside_and_the_callers_state_comes_back() {
        let flush = DEFAULT | 0x8040;
        let before = swap(flush);
        // Black all around: the compiler may compute it at any other time.
        let product = || black_box(black_box(f32::MIN_POSITIVE) * black_box(0.5));
        let (outside, inside, after) = (product(), with_default_float_state(product), product());
        let panics = std::panic::catch_unwind(|| with_default_float_state(|| panic!("on purpose")));
        let after_a_panic = product();
        swap(before);
        assert_eq!((outside, inside.to_bits(), after), (0.0, 0x0040_0000, 0.0));
        assert_eq!((panics.is_err(), after_a_panic), (true, 0.0));
    }
}
