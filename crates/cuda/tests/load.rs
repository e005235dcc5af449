//! Many threads that launch, allocate and free all the time: results are right, and what they took is given back.
#![allow(clippy::undocumented_unsafe_blocks)]

use hostwarp_cuda::driver::*;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const THREADS: usize = 64;
const LAUNCHES: u32 = 1000;

const PTX: &CStr = c"
.version 8.8
.target sm_90
.address_size 64
.visible .entry triple(.param .u64 data, .param .u32 by) {
    .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [by];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r3, [%rd3];
    mad.lo.u32 %r4, %r3, 3, %r1;
    st.global.u32 [%rd3], %r4;
    ret;
}";

fn arg<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    assert_eq!(unsafe { cuMemGetInfo_v2(&mut free, &mut total) }, 0);
    free
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("there is such a file");
    4096 * text.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok()).expect("a number")
}

/// One thread: each launch has memory of its own, half of it ordered by the stream.
fn thread(context: usize, triple: usize, number: u32) {
    unsafe {
        assert_eq!(cuCtxSetCurrent(context), 0);
        let mut stream = 0;
        assert_eq!(cuStreamCreate(&mut stream, 1), 0);
        for i in 0..LAUNCHES {
            let (mut data, in_stream) = (0, i % 2 == 1);
            assert_eq!(
                if in_stream {
                    cuMemAllocAsync(&mut data, 128, stream)
                } else {
                    cuMemAlloc_v2(&mut data, 128)
                },
                0
            );
            assert_eq!(cuMemsetD32Async(data, i, 32, stream), 0);
            let mut by = number;
            let mut params = [arg(&mut data), arg(&mut by)];
            assert_eq!(
                cuLaunchKernel(triple, 1, 1, 1, 32, 1, 1, 0, stream, params.as_mut_ptr(), null_mut()),
                0
            );
            let mut values = [0u32; 32];
            assert_eq!(cuMemcpyDtoHAsync_v2(values.as_mut_ptr().cast(), data, 128, stream), 0);
            assert_eq!(cuStreamSynchronize(stream), 0);
            assert_eq!(values, [3 * i + number; 32]);
            assert_eq!(if in_stream { cuMemFreeAsync(data, stream) } else { cuMemFree_v2(data) }, 0);
        }
        assert_eq!(cuStreamDestroy_v2(stream), 0);
    }
}

#[test]
fn sixty_four_threads_of_a_thousand_launches() {
    let (mut context, mut module, mut triple) = (0, 0, 0);
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&mut module, PTX.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut triple, module, c"triple".as_ptr()), 0);
    }
    let all = || {
        std::thread::scope(|scope| {
            for number in 0..THREADS {
                scope.spawn(move || thread(context, triple, number as u32));
            }
        });
        assert_eq!(unsafe { cuCtxSynchronize() }, 0);
        (free_memory(), resident())
    };
    let before = free_memory();
    let (free, settled) = all();
    assert_eq!(free, before);
    let (free, after) = all();
    assert_eq!(free, before);
    println!(
        "{} launches: {} MB resident, then {}",
        2 * THREADS as u32 * LAUNCHES,
        settled >> 20,
        after >> 20
    );
    assert!(after < settled + (16 << 20), "{settled} bytes resident after half of it, {after} in the end");
}
