//! Many threads on one device, and the layout compiled kernels rely on.

use hostwarp_memory::map::GLOBAL_BASE;
use hostwarp_memory::{
    AtomicInt, AtomicOp, Block, CtaMemory, DeviceMemory, GRANULE, LocalMemory, RawView, Space,
};
use std::mem::offset_of;
use std::sync::Arc;
use std::thread;

const THREADS: u64 = 4;
const ROUNDS: u64 = 20_000;

/// Runs `f(thread, round)` on all threads at once.
fn everywhere(f: impl Fn(u64, u64) + Sync) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let f = &f;
            scope.spawn(move || (0..ROUNDS).for_each(|round| f(thread, round)));
        }
    });
}

#[test]
fn global_atomics_lose_nothing() {
    let device = DeviceMemory::with_capacity(1 << 20).unwrap();
    let at = device.alloc(256).unwrap();
    let [add, min, max, inc, dec, float, cas16, wide, xor] = std::array::from_fn(|i| at + 16 * i as u64);
    device.store(min, u32::MAX).unwrap();
    everywhere(|thread, round| {
        let n = thread * ROUNDS + round;
        device.atomic(AtomicOp::Add, add, 3u64).unwrap();
        device.atomic(AtomicOp::MinUnsigned, min, n as u32 + 5).unwrap();
        device.atomic(AtomicOp::MaxSigned, max, n as u32).unwrap();
        assert!(device.atomic(AtomicOp::Inc, inc, 6u32).unwrap() <= 6);
        assert!(device.atomic(AtomicOp::Dec, dec, 9u64).unwrap() <= 9);
        device.atomic_update(float, |bits: u32| (f32::from_bits(bits) + 1.0).to_bits()).unwrap();
        device.atomic_update(cas16, |v: u16| v.wrapping_add(1)).unwrap();
        device.atomic_update(wide, |v: u128| v + (1 << 64) + 1).unwrap();
        device.atomic(AtomicOp::Xor, xor, (n as u32).wrapping_mul(0x9e37_79b9)).unwrap();
    });
    let total = THREADS * ROUNDS;
    assert_eq!(device.load::<u64>(add), Ok(3 * total));
    assert_eq!(device.load::<u32>(min), Ok(5));
    assert_eq!(device.load::<u32>(max), Ok(total as u32 - 1));
    assert_eq!(device.load::<u32>(inc), Ok((total % 7) as u32));
    assert_eq!(device.load::<u64>(dec), Ok((10 - total % 10) % 10));
    assert_eq!(device.load::<u32>(float).map(f32::from_bits), Ok(total as f32));
    assert_eq!(device.load::<u16>(cas16), Ok(total as u16));
    assert_eq!(device.load::<u128>(wide), Ok(u128::from(total) * ((1 << 64) + 1)));
    let all = (0..total).fold(0, |x, n| x ^ (n as u32).wrapping_mul(0x9e37_79b9));
    assert_eq!(device.load::<u32>(xor), Ok(all));
}

/// Global memory, shared memory and the definition agree on every operation.
fn agree<T: AtomicInt>(samples: &[T]) {
    use AtomicOp::*;
    let device = DeviceMemory::with_capacity(4096).unwrap();
    let at = device.alloc(16).unwrap();
    let mut cta = CtaMemory::new(Arc::new(Block::new(Space::Const)), Arc::new(Block::new(Space::Param)));
    cta.begin(16, 1, 16);
    for op in [Exch, Add, And, Or, Xor, MinSigned, MaxSigned, MinUnsigned, MaxUnsigned, Inc, Dec] {
        for &old in samples {
            for &operand in samples {
                for (space, addr) in
                    [(Space::Global, at), (Space::Shared, 8), (Space::Local, 8), (Space::Generic, at)]
                {
                    cta.store(&device, space, 0, addr, old).unwrap();
                    assert_eq!(cta.atomic(&device, space, 0, op, addr, operand), Ok(old));
                    assert_eq!(
                        cta.load(&device, space, 0, addr),
                        Ok(T::apply(op, old, operand)),
                        "{op:?}.{space}"
                    );
                    for compare in [old, operand] {
                        cta.store(&device, space, 0, addr, old).unwrap();
                        assert_eq!(cta.atomic_cas(&device, space, 0, addr, compare, operand), Ok(old));
                        let left = if compare == old { operand } else { old };
                        assert_eq!(cta.load(&device, space, 0, addr), Ok(left));
                    }
                }
            }
        }
    }
}

#[test]
fn every_operation_is_the_same_in_every_space() {
    agree::<u32>(&[0, 1, 5, 6, 0x7fff_ffff, 0x8000_0000, u32::MAX]);
    agree::<u64>(&[0, 1, 5, 6, i64::MAX as u64, 1 << 63, u64::MAX]);
}

#[test]
fn counting_is_as_the_manual_says() {
    let apply = |op, old, operand| u32::apply(op, old, operand);
    assert_eq!([0, 2, 3, 4].map(|old| apply(AtomicOp::Inc, old, 3)), [1, 3, 0, 0]);
    assert_eq!([0, 1, 3, 4].map(|old| apply(AtomicOp::Dec, old, 3)), [3, 0, 2, 3]);
    assert_eq!(apply(AtomicOp::MinSigned, 1, u32::MAX), u32::MAX);
    assert_eq!(apply(AtomicOp::MinUnsigned, 1, u32::MAX), 1);
    assert_eq!(apply(AtomicOp::MaxSigned, 1, u32::MAX), 1);
    assert_eq!(apply(AtomicOp::MaxUnsigned, 1, u32::MAX), u32::MAX);
}

#[test]
fn threads_allocate_and_free_at_once() {
    let device = DeviceMemory::with_capacity(1 << 20).unwrap();
    thread::scope(|scope| {
        for thread in 1..=THREADS {
            let device = &device;
            scope.spawn(move || {
                for round in 1..2000u64 {
                    let count = (thread * 31 + round * 7) % 500 + 1;
                    let at = device.alloc(4 * count).unwrap();
                    let run = device.global_run::<u32>(at, count as usize).unwrap();
                    assert!((0..run.len()).all(|i| run.get(i) == 0), "not zeroed");
                    (0..run.len()).for_each(|i| run.set(i, thread as u32));
                    assert!(
                        (0..run.len()).all(|i| run.get(i) == thread as u32),
                        "shared with another thread"
                    );
                    device.free(at).unwrap();
                }
            });
        }
    });
    let info = device.info();
    assert_eq!((info.free, info.allocations), (info.capacity, 0));
}

#[test]
fn raw_view_is_laid_out_for_compiled_kernels() {
    assert_eq!(offset_of!(RawView, global_base), 0);
    assert_eq!(offset_of!(RawView, global_size), 8);
    assert_eq!(offset_of!(RawView, host), 16);
    assert_eq!(offset_of!(RawView, granules), 16 + size_of::<usize>());
    let device = DeviceMemory::with_capacity(1 << 20).unwrap();
    let at = device.alloc(600).unwrap();
    device.store(at + 256, 0x1234_5678u32).unwrap();
    let view = device.raw_view();
    assert_eq!((view.global_base, view.global_size, view.host as usize % 4096), (GLOBAL_BASE, 1 << 20, 0));
    let first = ((at - GLOBAL_BASE) / GRANULE) as usize;
    // SAFETY: the table has an entry for every granule, and the address is inside an allocation.
    let (granules, value) = unsafe {
        let granules: Vec<u32> = (0..5).map(|i| *view.granules.add(first + i)).collect();
        (granules, *view.host.add((at + 256 - GLOBAL_BASE) as usize).cast::<u32>())
    };
    assert_eq!(granules, [600, 344, 88, 0, 0]);
    assert_eq!(value, 0x1234_5678);
}

#[test]
fn large_allocations_cost_only_what_is_touched() {
    let device = DeviceMemory::new().unwrap();
    let size = device.info().capacity / 16;
    let at = device.alloc(size).unwrap();
    device.write(at + size - 4, &[1, 2, 3, 4]).unwrap();
    assert_eq!(device.load::<u32>(at + size - 4), Ok(0x0403_0201));
    assert!(device.load::<u32>(at + size).is_err());
    device.free(at).unwrap();
    let again = device.alloc(size).unwrap();
    assert_eq!(device.load::<u32>(again + size - 4), Ok(0));
}

#[test]
fn allocations_can_be_listed_and_looked_up() {
    let device = DeviceMemory::with_capacity(1 << 20).unwrap();
    let x = device.alloc_named(10, "x").unwrap();
    let y = device.alloc_with(10, 4096, None).unwrap();
    assert_eq!(y % 4096, 0);
    let found = device.lookup(x + 9).unwrap();
    assert_eq!((found.base, found.size, found.name.as_deref()), (x, 10, Some("x")));
    assert_eq!(device.lookup(x + 10), None);
    assert_eq!(device.allocations().iter().map(|a| a.base).collect::<Vec<_>>(), [x, y]);
}

#[test]
fn blocks_are_aligned_and_zeroed_on_reuse() {
    let mut cta = CtaMemory::new(
        Arc::new(Block::from_bytes(Space::Const, &[1, 2, 3])),
        Arc::new(Block::from_bytes(Space::Param, &[4, 5, 6, 7])),
    );
    assert_eq!(cta.constant.bytes(), [1, 2, 3]);
    for (shared, lanes, local) in [(1000, 32, 20), (100, 64, 8), (5000, 16, 100), (0, 1, 0)] {
        cta.begin(shared, lanes, local);
        assert_eq!(cta.shared.as_ptr() as usize % 128, 0);
        assert!(cta.shared.bytes().iter().all(|&b| b == 0));
        cta.shared.bytes_mut().fill(0xff);
        for lane in 0..lanes {
            for offset in 0..local as u64 {
                assert_eq!(cta.local.load::<u8>(lane, offset), Ok(0));
                cta.local.store(lane, offset, 0xffu8).unwrap();
            }
        }
    }
}

#[test]
fn lanes_have_their_own_local_memory() {
    let mut local = LocalMemory::new();
    local.reset(33, 20);
    for lane in 0..33 {
        local.store(lane, 16, lane as u32).unwrap();
    }
    assert_eq!((local.stride(), local.as_mut_ptr() as usize % 128), (32, 0));
    // SAFETY: lane 5's bytes begin at 5 strides.
    assert_eq!(unsafe { *local.as_mut_ptr().add(5 * 32 + 16) }, 5);
    local.grow(100);
    local.grow(8);
    assert_eq!(local.per_lane(), 100);
    for lane in 0..33 {
        assert_eq!(local.load::<u32>(lane, 16), Ok(lane as u32));
        assert_eq!(local.load::<u32>(lane, 96), Ok(0));
        local.store_vec(lane, 32, [1u64, 2, 3, 4]).unwrap();
        assert_eq!(local.load_vec::<u64, 4>(lane, 32), Ok([1, 2, 3, 4]));
    }
}
