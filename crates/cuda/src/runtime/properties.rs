//! `cudaDeviceProp`, which is a page of numbers.

use crate::attributes;
use crate::errors;
use crate::state;
use std::ffi::c_int;

/// Where numbers of 32 bits lie in CUDA 13's structure, and the device attribute each is.
const INTS: &[(usize, i32)] = &[
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
    (668, 95),
    (684, 101),
    (688, 106),
    (704, 99),
];
/// The same for 64 bits.
const SIZES: &[(usize, i32)] =
    &[(296, 8), (312, 11), (352, 9), (368, 14), (376, 51), (552, 30), (624, 81), (672, 97), (696, 111)];
/// Bytes of the structure.
const SIZE: usize = 1008;

runtime_api! {
    fn cudaGetDeviceProperties(to: *mut u8, device: c_int) {
        let state = state::init()?;
        if device != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        if to.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        let mut all = [0u8; SIZE];
        let get = |n| attributes::device(state, n).unwrap_or(0);
        all[..8].copy_from_slice(b"Hostwarp");
        all[256..272].copy_from_slice(b"Hostwarp device0");
        all[288..296].copy_from_slice(&state.capacity.to_le_bytes());
        for (at, n) in INTS {
            all[*at..at + 4].copy_from_slice(&get(*n).to_le_bytes());
        }
        for (at, n) in SIZES {
            all[*at..at + 8].copy_from_slice(&i64::from(get(*n)).to_le_bytes());
        }
        // SAFETY: the caller's structure has as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(all.as_ptr(), to, SIZE) };
        Ok(())
    }
}
