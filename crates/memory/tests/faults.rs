//! Every way an access can be wrong, with the words it is told in.

use hostwarp_memory::map::{
    CONST_BASE, GLOBAL_BASE, GLOBAL_LIMIT, LOCAL_BASE, NULL_LIMIT, SHARED_BASE, WINDOW_SIZE,
};
use hostwarp_memory::{Access, Block, CtaMemory, DeviceMemory, Fault, FaultKind, MemoryError, Place, Space};
use std::sync::Arc;

fn device() -> DeviceMemory {
    DeviceMemory::with_capacity(1 << 20).unwrap()
}

fn cta() -> CtaMemory {
    let constant = Block::from_bytes(Space::Const, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let param = Block::from_bytes(Space::Param, &[9; 24]);
    let mut cta = CtaMemory::new(Arc::new(constant), Arc::new(param));
    cta.begin(1024, 64, 40);
    cta
}

/// The fault of a 4-byte access, from the access itself and from the cold path of compiled kernels, which must agree.
fn fault(device: &DeviceMemory, cta: &mut CtaMemory, space: Space, addr: u64, access: Access) -> Fault {
    let kind = match access {
        Access::Store => cta.store(device, space, 3, addr, 7u32).unwrap_err(),
        Access::Atomic => cta.atomic_update(device, space, 3, addr, |v: u32| v + 1).unwrap_err(),
        _ => cta.load::<u32>(device, space, 3, addr).unwrap_err(),
    };
    let fault = device.fault(kind, space, addr, 4, access);
    assert_eq!(cta.diagnose(device, space, addr, 4, 4, access).as_ref(), Some(&fault));
    fault
}

#[test]
fn null_pointers() {
    let (device, mut cta) = (device(), cta());
    for space in [Space::Global, Space::Generic] {
        for addr in [0, 2, 64, NULL_LIMIT - 4] {
            let fault = fault(&device, &mut cta, space, addr, Access::Store);
            assert_eq!(fault.kind, FaultKind::NullPointer);
        }
    }
    let fault = fault(&device, &mut cta, Space::Global, 16, Access::Load);
    assert_eq!(fault.to_string(), "4-byte load at 0x10 goes through a null pointer");
}

#[test]
fn out_of_bounds() {
    let (device, mut cta) = (device(), cta());
    let x = device.alloc_named(1000, "x").unwrap();
    let y = device.alloc_named(1024, "y").unwrap();
    assert_eq!((x, y), (0x200_0000_0000, 0x200_0000_0600));
    let mut say = |addr, access| {
        let fault = fault(&device, &mut cta, Space::Global, addr, access);
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
        fault.to_string()
    };
    assert_eq!(
        say(y + 1032, Access::Load),
        "4-byte load at 0x20000000a08 is 8 bytes past the end of the 1024-byte allocation at 0x20000000600 (`y`)"
    );
    assert_eq!(
        say(x + 1000, Access::Store),
        "4-byte store at 0x200000003e8 is directly past the end of the 1000-byte allocation at 0x20000000000 (`x`)"
    );
    assert_eq!(
        say(y - 4, Access::Atomic),
        "4-byte atomic at 0x200000005fc is 4 bytes before the 1024-byte allocation at 0x20000000600 (`y`)"
    );
    assert_eq!(
        say(x - 4, Access::Load),
        "4-byte load at 0x1fffffffffc is 4 bytes before the 1000-byte allocation at 0x20000000000 (`x`)"
    );
    for addr in
        [GLOBAL_BASE - (1 << 25), GLOBAL_BASE + (1 << 26), NULL_LIMIT, GLOBAL_LIMIT, SHARED_BASE - 4, !3]
    {
        assert_eq!(say(addr, Access::Load), format!("4-byte load at {addr:#x} is in no allocation"));
    }
    let z = device.alloc(6).unwrap();
    let fault = device.diagnose(z + 4, 4, 4, Access::Load).unwrap();
    assert_eq!(fault.nearest.as_ref().unwrap().place, Place::Over(2));
    assert_eq!(
        fault.to_string(),
        format!("4-byte load at {:#x} runs 2 bytes over the end of the 6-byte allocation at {z:#x}", z + 4)
    );
}

#[test]
fn use_after_free() {
    let (device, mut cta) = (device(), cta());
    let y = device.alloc_named(1024, "y").unwrap();
    device.free(y).unwrap();
    // Somebody else's memory must not hide it.
    let z = device.alloc(1024).unwrap();
    assert_ne!(y, z);
    let fault = fault(&device, &mut cta, Space::Generic, y + 16, Access::Store);
    assert_eq!(fault.kind, FaultKind::UseAfterFree);
    assert!(fault.write());
    assert_eq!(
        fault.to_string(),
        "4-byte store at 0x20000000010 is 16 bytes into the 1024-byte allocation at 0x20000000000 (`y`), \
         which has been freed"
    );
}

#[test]
fn misaligned() {
    let (device, mut cta) = (device(), cta());
    let y = device.alloc_named(64, "y").unwrap();
    let fault = fault(&device, &mut cta, Space::Global, y + 2, Access::Load);
    assert_eq!(fault.kind, FaultKind::Misaligned { align: 4 });
    assert_eq!(
        fault.to_string(),
        "4-byte load at 0x20000000002 is misaligned: the address must be a multiple of 4 \
         (in the 64-byte allocation at 0x20000000000 (`y`))"
    );
    let vector = device.load_vec::<u32, 4>(y + 8).unwrap_err();
    assert_eq!(vector, FaultKind::Misaligned { align: 16 });
    assert_eq!(device.atomic_cas(y + 1, 0u16, 1).unwrap_err(), FaultKind::Misaligned { align: 2 });
    for (space, base) in [
        (Space::Shared, 0),
        (Space::Local, 0),
        (Space::Const, 0),
        (Space::Param, 0),
        (Space::Generic, SHARED_BASE),
    ] {
        let fault = self::fault(&device, &mut cta, space, base + 1, Access::Load);
        assert_eq!(fault.kind, FaultKind::Misaligned { align: 4 });
    }
    assert_eq!(cta.shared.load_vec::<u64, 2>(8).unwrap_err(), FaultKind::Misaligned { align: 16 });
    assert_eq!(cta.local.store_vec(0, 8, [1u64, 2]).unwrap_err(), FaultKind::Misaligned { align: 16 });
}

#[test]
fn out_of_window() {
    let (device, mut cta) = (device(), cta());
    for (space, len, owner) in [
        (Space::Shared, 1024, "the CTA's shared memory (1024 bytes)"),
        (Space::Local, 40, "the thread's local memory (40 bytes)"),
        (Space::Const, 8, "the constant bank (8 bytes)"),
        (Space::Param, 24, "the kernel's parameters (24 bytes)"),
    ] {
        let kind = FaultKind::OutOfWindow { space, len };
        for addr in [len, len + 4, WINDOW_SIZE - 4] {
            let direct = fault(&device, &mut cta, space, addr, Access::Load);
            assert_eq!(direct.kind, kind);
            let generic = fault(&device, &mut cta, Space::Generic, space.to_generic(addr), Access::Load);
            assert_eq!(generic.kind, kind);
            assert_eq!(generic.nearest, None);
        }
        let say = |fault: Fault| fault.to_string();
        assert_eq!(
            say(fault(&device, &mut cta, space, len, Access::Load)),
            format!("4-byte {space} load at offset {len:#x} is directly past the end of {owner}")
        );
        let generic = space.to_generic(len + 4);
        assert_eq!(
            say(fault(&device, &mut cta, Space::Generic, generic, Access::Load)),
            format!("4-byte load at {generic:#x} is 4 bytes past the end of {owner}")
        );
    }
    for minus_four in [0xffff_fffc, 0xffff_ffff_ffff_fffc] {
        let fault = fault(&device, &mut cta, Space::Shared, minus_four, Access::Store);
        let said = format!(
            "4-byte shared store at offset {minus_four:#x} is 4 bytes before the CTA's shared memory"
        );
        assert_eq!(fault.to_string(), said);
    }
    cta.begin(6, 1, 6);
    assert!(cta.shared.load::<u16>(4).is_ok());
    let over = fault(&device, &mut cta, Space::Shared, 4, Access::Load);
    assert_eq!(
        over.to_string(),
        "4-byte shared load at offset 0x4 runs 2 bytes over the end of the CTA's shared memory (6 bytes)"
    );
}

#[test]
fn wrong_space() {
    let (device, mut cta) = (device(), cta());
    let x = device.alloc(64).unwrap();
    let global = fault(&device, &mut cta, Space::Global, SHARED_BASE + 16, Access::Load);
    assert_eq!(global.kind, FaultKind::WrongSpace { actual: Space::Shared });
    assert_eq!(
        global.to_string(),
        "4-byte load at 0x1000000000010 lies in shared memory, not in global memory"
    );
    for (addr, actual) in [(x, Space::Global), (SHARED_BASE, Space::Shared), (LOCAL_BASE, Space::Local)] {
        let shared = fault(&device, &mut cta, Space::Shared, addr, Access::Atomic);
        assert_eq!(shared.kind, FaultKind::WrongSpace { actual });
    }
    let shared = fault(&device, &mut cta, Space::Shared, x, Access::Atomic);
    assert_eq!(
        shared.to_string(),
        "4-byte shared atomic at offset 0x20000000000 is a generic address in global memory, \
         not an offset into shared memory"
    );
}

#[test]
fn read_only() {
    let (device, mut cta) = (device(), cta());
    for (space, addr) in [(Space::Const, 0), (Space::Param, 4), (Space::Generic, CONST_BASE + 4)] {
        for access in [Access::Store, Access::Atomic] {
            let fault = fault(&device, &mut cta, space, addr, access);
            assert!(matches!(fault.kind, FaultKind::ReadOnly { .. }));
        }
    }
    assert_eq!(
        cta.atomic_cas(&device, Space::Const, 0, 0, 1u32, 2),
        Err(FaultKind::ReadOnly { space: Space::Const })
    );
    let fault = fault(&device, &mut cta, Space::Const, 0, Access::Store);
    assert_eq!(
        fault.to_string(),
        "4-byte const store at offset 0x0 writes to const memory, which kernels can only read"
    );
}

#[test]
fn host_copies() {
    let device = device();
    let x = device.alloc_named(100, "x").unwrap();
    let y = device.alloc(100).unwrap();
    let error = device.write(x + 90, &[0; 16]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "16-byte host write at 0x2000000005a runs 6 bytes over the end of the 100-byte allocation at \
         0x20000000000 (`x`)"
    );
    assert!(device.read(x, &mut [0; 1000]).is_err(), "a copy over several allocations");
    assert!(device.copy(x, y, 101).is_err());
    assert!(device.fill(x, &[1, 2], u64::MAX).is_err());
    assert!(device.read(0, &mut []).is_ok());
    device.free(y).unwrap();
    let MemoryError::Access(fault) = device.read(y + 1, &mut [0; 8]).unwrap_err() else { panic!() };
    assert_eq!((fault.kind, fault.access), (FaultKind::UseAfterFree, Access::HostRead));
    let MemoryError::Access(fault) = device.read(8, &mut [0; 8]).unwrap_err() else { panic!() };
    assert_eq!(fault.kind, FaultKind::NullPointer);
}

#[test]
fn frees() {
    let device = device();
    let x = device.alloc_named(100, "x").unwrap();
    assert_eq!(
        device.free(x + 8).unwrap_err().to_string(),
        "cannot free 0x20000000008: it is not the start of the 100-byte allocation at 0x20000000000 (`x`)"
    );
    assert_eq!(
        device.free(0).unwrap_err().to_string(),
        "cannot free 0x0: it is not the start of an allocation"
    );
    device.free(x).unwrap();
    assert_eq!(
        device.free(x).unwrap_err().to_string(),
        "double free of the 100-byte allocation at 0x20000000000 (`x`), which has been freed"
    );
}

#[test]
fn allocation_errors() {
    let device = device();
    device.alloc(600 << 10).unwrap();
    let error = device.alloc(500 << 10).unwrap_err();
    assert_eq!(
        error,
        MemoryError::OutOfDeviceMemory { asked: 500 << 10, free: (424 << 10) - 3072, capacity: 1 << 20 }
    );
    assert_eq!(error.to_string(), "out of device memory: 512000 bytes asked for, 431104 of 1048576 free");
    assert_eq!(device.alloc_with(8, 24, None), Err(MemoryError::BadAlignment(24)));
    assert!(matches!(DeviceMemory::with_capacity(u64::MAX), Err(MemoryError::Reserve { .. })));
}

#[test]
fn no_bytes_have_an_address_that_nothing_may_use() {
    let device = device();
    let (a, b, c) = (device.alloc(0).unwrap(), device.alloc_named(0, "b").unwrap(), device.alloc(4).unwrap());
    assert!(a != b && b != c && a != c && a % 256 == 0);
    assert_eq!(device.info().allocations, 3);
    for address in [a, b] {
        assert_eq!(device.load::<u8>(address), Err(FaultKind::OutOfBounds));
        assert_eq!(device.store(address, 1u32), Err(FaultKind::OutOfBounds));
        assert!(device.write(address, &[1]).is_err() && device.lookup(address).is_none());
        device.write(address, &[]).unwrap();
    }
    let fault = device.diagnose(b, 1, 1, Access::Store).unwrap().to_string();
    assert!(fault.contains("0-byte allocation") && fault.contains("`b`"), "{fault}");
    device.store(c, 7u32).unwrap();
    for address in [a, b, c] {
        device.free(address).unwrap();
    }
    assert!(device.free(a).is_err());
    // What comes where nothing was is all there and all zero.
    assert_eq!(device.load::<u64>(device.alloc(8).unwrap()), Ok(0));
}
