//! What the device says about itself.

use crate::state::State;
use hostwarp::{MAX_CTA_THREADS, MAX_SHARED};

/// Bytes of shared memory a CTA has without asking for more.
pub const SHARED_WITHOUT_ASKING: i32 = 48 * 1024;
/// Threads that are resident on a multiprocessor.
pub const THREADS_PER_SM: i32 = 2048;
/// Blocks that are.
pub const BLOCKS_PER_SM: i32 = 32;
/// Shared memory of a multiprocessor.
pub const SHARED_PER_SM: i32 = 228 * 1024;

/// The value of a device attribute; none for numbers nobody has given a meaning.
pub fn device(state: &State, attribute: i32) -> Option<i32> {
    let managed = i32::from(state.device.memory().is_at_host_addresses());
    Some(match attribute {
        // Sizes of launches.
        1 => MAX_CTA_THREADS as i32,
        2 | 3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65535,
        8 => SHARED_WITHOUT_ASKING,
        9 => 65536,
        10 => 32,
        11 => i32::MAX,
        12 | 82 => 65536,
        // Clocks in kHz, the width of the bus and the second-level cache: those of an H200, for programs that divide by them.
        13 => 1_980_000,
        36 => 3_201_000,
        37 => 6144,
        38 => 60 << 20,
        14 => 512,
        30 => 512,
        51 => 32,
        16 => state.device.threads() as i32,
        39 => THREADS_PER_SM,
        106 => BLOCKS_PER_SM,
        81 => SHARED_PER_SM,
        97 => MAX_SHARED as i32,
        111 => 1024,
        75 => state.sm.0,
        76 => state.sm.1,
        87 => 2,
        // What it can do.
        15 | 31 | 41 | 78 | 79 | 80 | 90 | 92..=94 | 99 | 115 | 122 | 123 => 1,
        19 | 83 | 89 | 101 => managed,
        91 => i32::from(state.device.memory().takes_foreign()),
        40 => 1,
        86 => 1,
        95 => i32::from(state.sm.0 >= 6),
        // Where it is: nowhere.
        33 | 34 | 50 => 0,
        // No timeout, not integrated, default compute mode, no ECC, no TCC.
        17 | 18 | 20 | 32 | 35 => 0,
        // Sizes of textures and surfaces, which are not there yet: as on any device, so that programs that only look go on.
        21 | 22 | 23 | 45 | 46 | 52..=57 | 61 | 63 | 64 | 66 | 67 | 42 | 27 | 28 | 73 | 74 | 77 => 32768,
        24..=26 | 47..=49 | 58..=60 => 16384,
        29 | 43 | 62 | 65 | 68 => 2048,
        69..=72 => 131_072,
        44 => 0,
        // Pageable memory, several devices, virtual memory, handles, clusters and what came later.
        84 | 85 | 88 | 96 | 98 | 100 | 102..=105 | 107..=110 | 112..=114 | 116..=121 | 124..=161 => 0,
        _ => return None,
    })
}

/// Blocks that are resident on a multiprocessor.
pub fn occupancy(threads: i32, shared: u64) -> i32 {
    if threads <= 0 || threads > MAX_CTA_THREADS as i32 || shared > MAX_SHARED {
        return 0;
    }
    let by_threads = THREADS_PER_SM / ((threads + 31) / 32 * 32);
    let by_shared = (SHARED_PER_SM as u64 / (shared + 1024)) as i32;
    by_threads.min(BLOCKS_PER_SM).min(by_shared)
}
