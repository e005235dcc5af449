//! Foreign allocations against a list of ranges: what kernels reach of the host's memory is what they were given, to the byte.
#![cfg(all(unix, target_pointer_width = "64"))]

use hostwarp_memory::{Access, DeviceMemory, FaultKind, GRANULE, MemoryError};
use proptest::prelude::*;

const REGION: u64 = 4096;

#[derive(Clone, Debug)]
enum Step {
    Map { at: u64, size: u64 },
    Unmap { which: usize, off_by: u64 },
    Access { at: u64, log_size: u32 },
    Run { at: u64, count: usize },
    Copy { from: u64, to: u64, len: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let at = prop_oneof![0..REGION, (0..REGION / 256).prop_map(|n| n * 256)];
    let size = prop_oneof![1..40u64, 1..700u64, 1..2000u64, Just(256)];
    prop_oneof![
        3 => (at.clone(), size.clone()).prop_map(|(at, size)| Step::Map { at, size }),
        1 => (0..64usize, prop_oneof![4 => Just(0u64), 1 => 1..300u64])
            .prop_map(|(which, off_by)| Step::Unmap { which, off_by }),
        8 => (at.clone(), 0..5u32).prop_map(|(at, log_size)| Step::Access { at, log_size }),
        2 => (at.clone(), 0..200usize).prop_map(|(at, count)| Step::Run { at, count }),
        2 => (at.clone(), at, size).prop_map(|(from, to, len)| Step::Copy { from, to, len }),
    ]
}

/// The ranges that are mapped, as offsets into the region.
#[derive(Default)]
struct Model {
    live: Vec<(u64, u64)>,
}

impl Model {
    fn holds(&self, at: u64, len: u64) -> bool {
        self.live.iter().any(|(base, size)| *base <= at && at + len <= base + size)
    }
}

/// The check as compiled kernels make it, from the raw view alone.
fn inline_check(device: &DeviceMemory, addr: u64, size: u64) -> bool {
    let view = device.raw_view();
    let offset = addr.wrapping_sub(view.global_base);
    offset < view.global_size && {
        // SAFETY: inside the table, which lives as long as the device.
        let valid = unsafe { *view.granules.add((offset / GRANULE) as usize) };
        (offset & 255) + size <= u64::from(valid)
    }
}

fn run_step(device: &DeviceMemory, model: &mut Model, base: u64, bytes: &mut [u8], step: Step) {
    match step {
        Step::Map { at, size } => {
            // SAFETY: the region outlives the device's use of it, and only this thread uses it.
            let mapped = unsafe { device.map_foreign(base + at, size, "region") };
            if model.live.iter().any(|(b, s)| *b < at + size && at < b + s) {
                assert!(matches!(mapped, Err(MemoryError::Foreign { .. })), "overlap");
            } else {
                mapped.unwrap();
                model.live.push((at, size));
            }
        }
        Step::Unmap { which, off_by } => {
            let Some(&(at, _)) = model.live.get(which % model.live.len().max(1)) else { return };
            let at = at + off_by;
            let unmapped = device.unmap_foreign(base + at);
            let before = model.live.len();
            model.live.retain(|(b, _)| *b != at);
            assert_eq!(unmapped.is_ok(), model.live.len() < before);
        }
        Step::Access { at, log_size } => {
            let size = 1u64 << log_size;
            let addr = base + at;
            let there = model.holds(at, size);
            assert!(there || !inline_check(device, addr, size), "the table vouches for what is not there");
            let good = there && addr.is_multiple_of(size);
            assert_eq!(device.diagnose(addr, size, size, Access::Load).is_none(), good);
            let host = device.check_global(addr, size);
            assert_eq!(host.is_ok(), good);
            if let Ok(host) = host {
                assert_eq!(host as u64, addr);
                let value = device.load::<u8>(addr).unwrap();
                assert_eq!(value, bytes[at as usize]);
                device.store(addr, value.wrapping_mul(5).wrapping_add(1)).unwrap();
                bytes[at as usize] = value.wrapping_mul(5).wrapping_add(1);
            }
        }
        Step::Run { at, count } => {
            let run = device.global_run::<u32>(base + at, count);
            let good = (base + at).is_multiple_of(4) && model.holds(at, 4 * count as u64);
            if count > 0 {
                assert_eq!(run.is_some(), good);
            }
        }
        Step::Copy { from, to, len } => {
            let copied = device.copy(base + to, base + from, len);
            let good = model.holds(from, len) && model.holds(to, len);
            assert_eq!(copied.is_ok(), good);
            if good {
                bytes.copy_within(from as usize..(from + len) as usize, to as usize);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn reaches_what_was_given_and_no_more(shift in 0..256usize, steps in prop::collection::vec(step(), 1..150)) {
        let device = DeviceMemory::raw_pointers(1 << 20).unwrap();
        // Wider than steps reach, so that the model's copy and the region have the same places.
        let len = 3 * REGION as usize;
        let mut region: Vec<u8> = (0..len + 256).map(|i| i as u8).collect();
        let begin = region.as_mut_ptr().wrapping_add(shift);
        let base = begin.expose_provenance() as u64;
        let mut bytes: Vec<u8> = (shift..shift + len).map(|i| i as u8).collect();
        let mut model = Model::default();
        for step in steps {
            run_step(&device, &mut model, base, &mut bytes, step);
        }
        // SAFETY: inside the vector, which nobody else uses.
        let now = unsafe { std::slice::from_raw_parts(begin, len) };
        prop_assert!(now == bytes, "something else was written");
        for (at, _) in model.live {
            device.unmap_foreign(base + at).unwrap();
        }
        prop_assert!((0..len as u64).all(|at| device.load::<u8>(base + at).is_err()));
    }
}

#[test]
fn what_can_be_no_foreign_allocation() {
    let mut host = [0u8; 1024];
    let at = host.as_mut_ptr().expose_provenance() as u64;
    let plain = DeviceMemory::with_capacity(1 << 20).unwrap();
    // SAFETY: these are refused, or the array outlives the use, here and below.
    assert!(matches!(unsafe { plain.map_foreign(at, 16, "x") }, Err(MemoryError::Foreign { .. })));
    let device = DeviceMemory::raw_pointers(1 << 20).unwrap();
    let own = device.alloc(256).unwrap();
    for (at, size) in [(0, 16), (at, 0), (1 << 47, 1), (u64::MAX, 2), (own, 16), (at, 1 << 47)] {
        // SAFETY: as above.
        let refused = unsafe { device.map_foreign(at, size, "x") };
        assert!(matches!(refused, Err(MemoryError::Foreign { .. })), "{at:#x} {size}");
    }
    assert!(matches!(device.unmap_foreign(at), Err(MemoryError::InvalidFree { .. })));
}

#[test]
fn faults_tell_of_them() {
    let mut host = [0u8; 1024];
    let at = (host.as_mut_ptr().expose_provenance() as u64).next_multiple_of(256) + 12;
    let device = DeviceMemory::raw_pointers(1 << 20).unwrap();
    // SAFETY: the array outlives the use, and only this thread uses it.
    unsafe { device.map_foreign(at, 100, "registered") }.unwrap();
    let say = |addr| device.diagnose(addr, 4, 4, Access::Load).unwrap().to_string();
    let name = format!("the 100-byte allocation at {at:#x} (`registered`)");
    assert_eq!(say(at - 4), format!("4-byte load at {:#x} is 4 bytes before {name}", at - 4));
    assert_eq!(say(at + 100), format!("4-byte load at {:#x} is directly past the end of {name}", at + 100));
    assert_eq!(device.lookup(at + 99).map(|found| (found.base, found.size)), Some((at, 100)));
    device.unmap_foreign(at).unwrap();
    assert_eq!(device.check_global(at + 4, 4), Err(FaultKind::UseAfterFree));
    assert_eq!(
        say(at + 4),
        format!("4-byte load at {:#x} is 4 bytes into {name}, which has been freed", at + 4)
    );
    assert_eq!(device.lookup(at), None);
}
