//! `cudaDeviceProp`, which is a page of numbers.

use crate::attributes;
use crate::errors::{self, Code};
use crate::state;
use std::ffi::c_int;

/// How the structure is laid out: its size, where numbers of 32 bits lie and the device attribute each is, and the same for 64 bits.
struct Layout {
    size: usize,
    ints: &'static [(usize, i32)],
    sizes: &'static [(usize, i32)],
}

/// As in the headers of CUDA 13.
const V13: Layout = Layout {
    size: 1008,
    ints: &[
        (304, 12),
        (308, 10),
        (320, 1),
        (324, 2),
        (328, 3),
        (332, 4),
        (336, 5),
        (340, 6),
        (344, 7),
        (360, 75),
        (364, 76),
        (384, 16),
        (388, 18),
        (392, 19),
        (560, 31),
        (564, 32),
        (584, 40),
        (588, 41),
        (592, 37),
        (596, 38),
        (604, 39),
        (608, 78),
        (612, 79),
        (616, 80),
        (632, 82),
        (636, 83),
        (648, 86),
        (656, 89),
        (660, 90),
        (664, 91),
        (668, 95),
        (684, 101),
        (688, 106),
        (704, 99),
        (720, 115),
    ],
    sizes: &[
        (296, 8),
        (312, 11),
        (352, 9),
        (368, 14),
        (376, 51),
        (552, 30),
        (624, 81),
        (672, 97),
        (696, 111),
    ],
};

/// As in the headers of CUDA 12.
const V12: Layout = Layout {
    size: 1032,
    ints: &[
        (304, 12),
        (308, 10),
        (320, 1),
        (324, 2),
        (328, 3),
        (332, 4),
        (336, 5),
        (340, 6),
        (344, 7),
        (348, 13),
        (360, 75),
        (364, 76),
        (384, 15),
        (388, 16),
        (392, 17),
        (396, 18),
        (400, 19),
        (404, 20),
        (576, 31),
        (580, 32),
        (600, 40),
        (604, 41),
        (608, 36),
        (612, 37),
        (616, 38),
        (624, 39),
        (628, 78),
        (632, 79),
        (636, 80),
        (648, 82),
        (652, 83),
        (664, 86),
        (668, 87),
        (676, 89),
        (680, 90),
        (684, 91),
        (688, 95),
        (708, 101),
        (712, 106),
        (728, 99),
    ],
    sizes: &[
        (296, 8),
        (312, 11),
        (352, 9),
        (368, 14),
        (376, 51),
        (568, 30),
        (640, 81),
        (696, 97),
        (720, 111),
    ],
};

/// # Safety
/// `to` is null or points to a structure of that layout.
unsafe fn fill(to: *mut u8, device: c_int, layout: &Layout) -> Result<(), Code> {
    let state = state::init()?;
    if device != 0 {
        return Err(errors::INVALID_DEVICE);
    }
    if to.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    let mut all = vec![0u8; layout.size];
    let get = |n| attributes::device(state, n).unwrap_or(0);
    all[..8].copy_from_slice(b"Hostwarp");
    all[256..272].copy_from_slice(b"Hostwarp device0");
    all[288..296].copy_from_slice(&state.capacity.to_le_bytes());
    for (at, n) in layout.ints {
        all[*at..at + 4].copy_from_slice(&get(*n).to_le_bytes());
    }
    for (at, n) in layout.sizes {
        all[*at..at + 8].copy_from_slice(&i64::from(get(*n)).to_le_bytes());
    }
    // SAFETY: the caller's structure has as many bytes.
    unsafe { std::ptr::copy_nonoverlapping(all.as_ptr(), to, all.len()) };
    Ok(())
}

runtime_api! {
    fn cudaGetDeviceProperties(to: *mut u8, device: c_int) {
        // SAFETY: programs that ask for this name were compiled with CUDA 13's headers.
        unsafe { fill(to, device, &V13) }
    }

    fn cudaGetDeviceProperties_v2(to: *mut u8, device: c_int) {
        // SAFETY: programs that ask for this name were compiled with CUDA 12's headers.
        unsafe { fill(to, device, &V12) }
    }
}
