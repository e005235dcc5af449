//! The runtime's functions as code that nvcc makes calls them.
// Each call is one that a C program may make.
#![allow(clippy::undocumented_unsafe_blocks)]

use hostwarp_cuda::runtime::*;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const PTX: &[u8] = b".version 8.8\n.target sm_90\n.address_size 64\n.const .align 4 .u32 factor = 3;\n.visible .global .align 4 .u32 last;\n\
.visible .entry k(.param .u64 p, .param .u32 v) { .reg .b64 %rd<3>; .reg .b32 %r<4>; ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v];\n\
ld.const.u32 %r2, [factor]; mul.lo.u32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3; mov.u64 %rd2, last; st.global.u32 [%rd2], %r1; ret; }\n\0";

/// A fat binary with the text stored, and the wrapper that nvcc puts around it.
fn wrapper() -> *const c_void {
    let padded = PTX.len().next_multiple_of(8);
    let mut entry = vec![0u8; 64 + padded];
    entry[0..2].copy_from_slice(&1u16.to_le_bytes());
    entry[4..8].copy_from_slice(&64u32.to_le_bytes());
    entry[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
    entry[28..32].copy_from_slice(&90u32.to_le_bytes());
    entry[64..64 + PTX.len()].copy_from_slice(PTX);
    let mut all = 0xBA55_ED50u32.to_le_bytes().to_vec();
    all.extend_from_slice(&[1, 0, 16, 0]);
    all.extend_from_slice(&(entry.len() as u64).to_le_bytes());
    all.extend_from_slice(&entry);
    let data = all.leak().as_ptr() as usize as u64;
    let wrapper = [u64::from(0x4662_43B1u32) | 1 << 32, data, 0];
    Box::leak(Box::new(wrapper)).as_ptr().cast()
}

#[test]
fn a_registered_kernel_is_launched_and_its_variables_are_found() {
    // Stubs and host variables are only addresses here.
    let (stub, factor, last, unknown) = (&1u8, &2u32, &3u32, &4u8);
    let address = |p: *const u8| p.cast::<c_void>();
    let (one, three) = (Dim3 { x: 1, y: 1, z: 1 }, Dim3 { x: 3, y: 1, z: 1 });
    unsafe {
        let handle = __cudaRegisterFatBinary(wrapper());
        let (stub, none) = (address(stub), null_mut());
        __cudaRegisterFunction(
            handle,
            stub,
            none,
            c"k".as_ptr(),
            -1,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
        );
        for (host, name) in [(factor, c"factor"), (last, c"last")] {
            let host = std::ptr::from_ref(host).cast_mut().cast();
            __cudaRegisterVar(handle, host, null_mut(), name.as_ptr(), 0, 4, 0, 0);
        }
        __cudaRegisterFatBinaryEnd(handle);

        let (mut data, mut value, mut result) = (0u64, 7u32, 0u32);
        assert_eq!(cudaMalloc(&mut data, 4), 0);
        let mut args = [(&raw mut data).cast::<c_void>(), (&raw mut value).cast()];
        // As CUDA 13 does it: pushed by `<<<>>>`, popped by the stub.
        assert_eq!(__cudaPushCallConfiguration(one, three, 5, 0), 0);
        let (mut grid, mut block, mut shared, mut stream, mut kernel) = (three, one, 0, 9usize, 0);
        assert_eq!(
            __cudaPopCallConfiguration(&mut grid, &mut block, &mut shared, (&raw mut stream).cast()),
            0
        );
        assert_eq!((grid, block, shared, stream), (one, three, 5, 0));
        assert_eq!(__cudaGetKernel(&mut kernel, stub), 0);
        assert_eq!(__cudaLaunchKernel(kernel, grid, block, args.as_mut_ptr(), shared, 0), 0);
        let to = (&raw mut result).cast::<c_void>();
        assert_eq!(cudaMemcpy(to, std::ptr::with_exposed_provenance(data as usize), 4, 2), 0);
        assert_eq!(result, 21);
        let (factor, last) =
            (address(std::ptr::from_ref(factor).cast()), address(std::ptr::from_ref(last).cast()));
        assert_eq!((cudaMemcpyFromSymbol(to, last, 4, 0, 2), result), (0, 7));
        assert_eq!(cudaMemcpyToSymbol(factor, [100u32].as_ptr().cast(), 4, 0, 1), 0);
        // As CUDA 12 does it.
        assert_eq!(cudaLaunchKernel(stub, one, one, args.as_mut_ptr(), 0, 0), 0);
        assert_eq!(
            (cudaMemcpy(to, std::ptr::with_exposed_provenance(data as usize), 4, 4), result),
            (0, 700)
        );

        assert_eq!(cudaLaunchKernel(address(unknown), one, one, null_mut(), 0, 0), 98);
        assert_eq!((cudaPeekAtLastError(), cudaGetLastError(), cudaGetLastError()), (98, 98, 0));
        let many = Dim3 { x: 2048, y: 1, z: 1 };
        assert_eq!(cudaLaunchKernel(stub, one, many, args.as_mut_ptr(), 0, 0), 9);
        assert_eq!(CStr::from_ptr(cudaGetErrorName(cudaGetLastError())), c"cudaErrorInvalidConfiguration");

        let mut attributes = PointerAttributes { kind: 0, device: 0, device_pointer: 0, host_pointer: 0 };
        assert_eq!(
            cudaPointerGetAttributes(&mut attributes, std::ptr::with_exposed_provenance(data as usize)),
            0
        );
        assert_eq!((attributes.kind, attributes.device_pointer), (2, data));
        // Both layouts of the properties, with a byte behind that nobody may touch.
        for (get, size) in [
            (cudaGetDeviceProperties as unsafe extern "C" fn(*mut u8, i32) -> i32, 1008),
            (cudaGetDeviceProperties_v2, 1032),
        ] {
            let mut all = vec![0xa5u8; size + 1];
            assert_eq!(get(all.as_mut_ptr(), 0), 0);
            assert_eq!(
                (&all[..9], &all[360..368], all[size]),
                (&b"Hostwarp\0"[..], &[9, 0, 0, 0, 0, 0, 0, 0][..], 0xa5)
            );
        }
        // Directions: what is to be the device's must be.
        let mut host = 0u32;
        let (on_host, on_device) =
            ((&raw mut host).cast::<c_void>(), std::ptr::with_exposed_provenance_mut(data as usize));
        for (to, from, kind, code) in [
            (on_device, on_host, 1, 0),
            (on_host, on_device, 2, 0),
            (on_device, on_host, 2, 1),
            (on_host, on_device, 1, 1),
            (on_device, on_host, 3, 1),
            (on_host, on_host, 0, 0),
            (on_device, on_host, 5, 21),
        ] {
            assert_eq!(cudaMemcpy(to, from, 4, kind), code, "direction {kind}");
        }
        assert_eq!(cudaFree(data), 0);

        // A program keeps the handle of a kernel over a reset, which takes everything else; variables begin anew.
        assert_eq!(cudaDeviceReset(), 0);
        assert_eq!((cudaGetLastError(), cudaMalloc(&mut data, 4)), (0, 0));
        assert_eq!(__cudaLaunchKernel(kernel, one, one, args.as_mut_ptr(), 0, 0), 0);
        assert_eq!((cudaMemcpy(to, std::ptr::with_exposed_provenance(data as usize), 4, 2), result), (0, 21));
        let mut flags = 0;
        assert_eq!((cudaSetDeviceFlags(4), cudaGetDeviceFlags(&mut flags), flags), (0, 0, 4));
        assert_eq!(cudaSetDeviceFlags(3), 1);
        __cudaUnregisterFatBinary(handle);
    }
}
