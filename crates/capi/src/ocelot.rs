//! gpuocelot's `ptx_run`: PTX and host pointers in, results in the host's memory.
//!
//! The device has [raw pointers](hostwarp::DeviceBuilder::raw_pointers): before each launch all memory of the process that can be read and
//! written is [exposed](hostwarp::memory::DeviceMemory::expose), as `/proc/self/maps` has it. So an address at which there is nothing is a fault
//! with its explanation; one of somebody else's memory is not noticed. Nothing is copied.

use crate::api::guard;
use hostwarp::{Arg, Device, Error, Kernel};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Mappings larger than this are exposed only if an argument points into them: the table of them would take memory that nobody needs.
const LARGE: u64 = 4 << 30;
/// Loaded modules that are kept. All go when there are more.
const KEPT: usize = 1024;

struct Ocelot {
    device: Device,
    kernels: HashMap<Vec<u8>, Kernel>,
}

/// One launch at a time: what is exposed must not change under another.
static OCELOT: Mutex<Option<Ocelot>> = Mutex::new(None);

/// The ranges that can be read and written, neighbours merged.
fn mappings(maps: &str, args: &[u64]) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = vec![];
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(access)) = (words.next(), words.next()) else { continue };
        let Some((from, to)) = range.split_once('-') else { continue };
        let (Ok(from), Ok(to)) = (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16)) else {
            continue;
        };
        if !access.starts_with("rw") {
            continue;
        }
        if to - from > LARGE && !args.iter().any(|a| (from..to).contains(a)) {
            continue;
        }
        match all.last_mut() {
            Some(last) if last.end == from => last.end = to,
            _ => all.push(from..to),
        }
    }
    all
}

fn run(source: &[u8], args: &[u64], grid: [c_int; 3], block: [c_int; 3], shared: c_int) -> Result<(), Error> {
    let mut state = OCELOT.lock().unwrap_or_else(PoisonError::into_inner);
    let state = match &mut *state {
        Some(state) => state,
        none => {
            let device = Device::builder().raw_pointers().build()?;
            none.insert(Ocelot { device, kernels: HashMap::new() })
        }
    };
    let kernel = match state.kernels.get(source) {
        Some(kernel) => kernel.clone(),
        None => {
            let module = state.device.load("ptx_run", source)?;
            let kernel = module.kernels().into_iter().next();
            let kernel =
                kernel.ok_or_else(|| Error::Launch("ptx_run: there is no kernel in the text".into()))?;
            if state.kernels.len() >= KEPT {
                state.kernels.clear();
            }
            state.kernels.insert(source.to_vec(), kernel.clone());
            kernel
        }
    };
    let sizes = |name: &str, v: [c_int; 3]| {
        let all = v.map(|n| u32::try_from(n).ok().filter(|n| *n > 0));
        match all {
            [Some(x), Some(y), Some(z)] => Ok([x, y, z]),
            _ => Err(Error::Launch(format!("ptx_run: {name} {v:?} must be at least 1 in every direction"))),
        }
    };
    let shared = u32::try_from(shared)
        .map_err(|_| Error::Launch(format!("ptx_run: {shared} bytes of shared memory")))?;
    let params = kernel.params();
    if params.len() != args.len() {
        let (given, signature) = (args.len(), kernel.signature());
        return Err(Error::Launch(format!(
            "ptx_run: {given} arguments for {signature}, which has {}",
            params.len()
        )));
    }
    let mut launch =
        kernel.launch().grid(sizes("the grid", grid)?).block(sizes("the block", block)?).shared(shared);
    for (param, arg) in params.iter().zip(args) {
        let Some(bytes) = arg.to_le_bytes().get(..param.size as usize).map(<[u8]>::to_vec) else {
            let (name, size) = (&param.name, param.size);
            return Err(Error::Launch(format!(
                "ptx_run: parameter `{name}` has {size} bytes, an argument 8"
            )));
        };
        launch = launch.arg(Arg::bytes(bytes));
    }
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|e| {
        Error::Launch(format!("ptx_run: /proc/self/maps, which says what host memory there is: {e}"))
    })?;
    // SAFETY: the ranges are readable and writable now, and whoever calls `ptx_run` hands kernels the process's memory: it promises that they
    // use only what is meant for them, and that none of that is unmapped before it returns. No other launch on this device is under way.
    unsafe { state.device.memory().expose(&mappings(&maps, args)) };
    let ran = launch.run().map(drop);
    let printed = state.device.printed();
    if !printed.is_empty() {
        print!("{}", String::from_utf8_lossy(&printed));
    }
    ran
}

/// Runs the first kernel of a PTX text on the host's memory: each of `args` is a value, widened to 64 bits, pointers as they are. Answers 0,
/// or what `hostwarp_error` then explains; stderr gets the explanation too, as gpuocelot's users do not look at results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_run(
    source: *const c_char,
    n_args: c_int,
    args: *const *const c_void,
    block_x: c_int,
    block_y: c_int,
    block_z: c_int,
    grid_x: c_int,
    grid_y: c_int,
    grid_z: c_int,
    shared: c_int,
) -> c_int {
    guard(|| {
        let n_args = usize::try_from(n_args).unwrap_or(0);
        let result = if source.is_null() || (args.is_null() && n_args > 0) {
            Err(Error::Launch("ptx_run: `source` or `args` is NULL".into()))
        } else {
            // SAFETY: the caller's promise: a text that ends with NUL, and so many arguments.
            let (source, args) = unsafe {
                let args: Vec<u64> = (0..n_args).map(|i| (*args.add(i)).addr() as u64).collect();
                (CStr::from_ptr(source).to_bytes(), args)
            };
            run(source, &args, [grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared)
        };
        result.map_err(|error| {
            eprintln!("hostwarp: {error}");
            crate::api::failed(error)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_is_exposed_and_neighbours_are_one() {
        let maps = "1000-2000 r--p 0 0 0\n2000-3000 rw-p 0 0 0 /x\n3000-5000 rw-p 0 0 0 [heap]\n7000-8000 rwxp 0 0 0\n10000-9000010000 rw-p 0 0 0\n";
        assert_eq!(mappings(maps, &[]), [0x2000..0x5000, 0x7000..0x8000]);
        assert_eq!(mappings(maps, &[0x20000])[2], 0x10000..0x90_0001_0000);
    }
}
