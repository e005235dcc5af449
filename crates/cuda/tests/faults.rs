//! A fault ends a context and no more. In a process of its own: the device is the process's.
// Each call is one that a C program may make.
#![allow(clippy::undocumented_unsafe_blocks)]

use hostwarp_cuda::driver::*;
use hostwarp_cuda::types::Handle;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const PTX: &CStr = c".version 8.8 .target sm_90 .address_size 64
.visible .entry store(.param .u64 p) { .reg .b64 %rd; ld.param.u64 %rd, [p]; st.global.u32 [%rd], 1; ret; }
.visible .entry stop() { trap; }";

unsafe fn function(name: &CStr) -> Handle {
    let (mut module, mut function) = (0, 0);
    unsafe {
        assert_eq!(cuModuleLoadData(&mut module, PTX.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, name.as_ptr()), 0);
    }
    function
}

unsafe fn store(to: u64) -> i32 {
    let mut to = to;
    let mut params = [(&raw mut to).cast::<c_void>()];
    unsafe { cuLaunchKernel(function(c"store"), 1, 1, 1, 1, 1, 1, 0, 0, params.as_mut_ptr(), null_mut()) }
}

#[test]
fn a_fault_is_sticky_until_the_context_is_gone() {
    unsafe {
        assert_eq!(cuCtxSynchronize(), 3, "before cuInit");
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuCtxSynchronize(), 201, "no context");
        let mut context = 0;
        for (fault, code) in [(0x10, 700), (0x0200_0000_0001, 716), (0, 700)] {
            assert_eq!(cuCtxCreate_v4(&mut context, null_mut(), 0, 0), 0);
            let mut good = 0;
            assert_eq!(cuMemAlloc_v2(&mut good, 4), 0);
            assert_eq!((store(good), cuCtxSynchronize()), (0, 0));
            assert_eq!(store(fault), 0, "the launch itself is right");
            assert_eq!(cuCtxSynchronize(), code);
            let mut more = 0;
            assert_eq!(cuMemAlloc_v2(&mut more, 4), code, "and stays");
            assert_eq!(cuCtxDestroy_v2(context), 0);
        }
        // By the names of before.
        assert_eq!((cuCtxCreate(&mut context, 0, 0), cuCtxDestroy(context)), (0, 0));
        assert_eq!(cuCtxSynchronize(), 201);
        assert_eq!(cuCtxCreate_v2(&mut context, 0, 0), 0);
        let stop = function(c"stop");
        assert_eq!(cuLaunchKernel(stop, 1, 1, 1, 1, 1, 1, 0, 0, null_mut(), null_mut()), 0);
        assert_eq!(cuStreamSynchronize(0), 719);
        assert_eq!(cuCtxDestroy_v2(context), 0);
    }
}
