//! The driver's functions as programs call them.
// Each call is one that a C program may make.
#![allow(clippy::undocumented_unsafe_blocks)]

use hostwarp_cuda::driver::*;
use hostwarp_cuda::types::*;
use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

const PTX: &CStr = c"
.version 8.8
.target sm_90
.address_size 64
.visible .global .align 4 .u32 counter = 7;
.const .align 4 .u32 factor = 3;
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra done;
    mul.wide.u32 %rd4, %r5, 4;
    add.u64 %rd5, %rd1, %rd4; ld.global.f32 %f1, [%rd5];
    add.u64 %rd6, %rd2, %rd4; ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f1, %f2;
    add.u64 %rd7, %rd3, %rd4; st.global.f32 [%rd7], %f3;
done:
    ret;
}
.visible .entry scale(.param .u64 data) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.const.u32 %r1, [factor];
    ld.global.u32 %r2, [%rd1];
    mul.lo.u32 %r3, %r1, %r2;
    st.global.u32 [%rd1], %r3;
    ret;
}";

fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| assert_eq!(unsafe { cuInit(0) }, 0));
    let mut context = 0;
    // The primary context, as most programs do.
    assert_eq!(unsafe { cuDevicePrimaryCtxRetain(&mut context, 0) }, 0);
    assert_eq!(unsafe { cuCtxSetCurrent(context) }, 0);
}

fn module() -> Handle {
    let mut module = 0;
    assert_eq!(unsafe { cuModuleLoadData(&mut module, PTX.as_ptr().cast()) }, 0);
    module
}

fn function(module: Handle, name: &CStr) -> Handle {
    let mut function = 0;
    assert_eq!(unsafe { cuModuleGetFunction(&mut function, module, name.as_ptr()) }, 0);
    function
}

fn alloc(bytes: usize) -> u64 {
    let mut address = 0;
    assert_eq!(unsafe { cuMemAlloc_v2(&mut address, bytes) }, 0);
    address
}

fn arg<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

#[test]
fn vector_add_with_pointers_and_with_a_packed_block() {
    start();
    let add = function(module(), c"add");
    let n = 1000u32;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let (mut a, mut b, mut c, mut count) = (alloc(4000), alloc(4000), alloc(4000), n);
    for packed in [false, true] {
        let mut result = vec![0f32; n as usize];
        unsafe {
            assert_eq!(cuMemcpyHtoD_v2(a, x.as_ptr().cast(), 4000), 0);
            assert_eq!(cuMemcpyDtoD_v2(b, a, 4000), 0);
            assert_eq!(cuMemsetD32_v2(c, 0, 1000), 0);
            let mut params = [arg(&mut a), arg(&mut b), arg(&mut c), arg(&mut count)];
            let mut block =
                [a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes(), u64::from(n).to_le_bytes()].concat();
            let mut size = 28usize;
            let mut extra: [*mut c_void; 5] = [
                std::ptr::without_provenance_mut(1),
                block.as_mut_ptr().cast(),
                std::ptr::without_provenance_mut(2),
                arg(&mut size),
                null_mut(),
            ];
            let (params, extra) =
                if packed { (null_mut(), extra.as_mut_ptr()) } else { (params.as_mut_ptr(), null_mut()) };
            assert_eq!(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, 0, params, extra), 0);
            assert_eq!(cuMemcpyDtoH_v2(result.as_mut_ptr().cast(), c, 4000), 0);
        }
        assert!(result.iter().enumerate().all(|(i, y)| *y == 2.0 * i as f32));
    }
    for address in [a, b, c] {
        assert_eq!(unsafe { cuMemFree_v2(address) }, 0);
        assert_eq!(unsafe { cuMemFree_v2(address) }, 1, "twice");
    }
}

#[test]
fn streams_events_callbacks_and_captures() {
    start();
    let scale = function(module(), c"scale");
    let mut data = alloc(4);
    extern "C" fn count(to: *mut c_void) {
        unsafe { *to.cast::<u32>() += 1 };
    }
    unsafe {
        let (mut one, mut two, mut start, mut end) = (0, 0, 0, 0);
        assert_eq!((cuStreamCreate(&mut one, 1), cuStreamCreate(&mut two, 1)), (0, 0));
        assert_eq!((cuEventCreate(&mut start, 0), cuEventCreate(&mut end, 0)), (0, 0));
        let mut called = 0u32;
        let mut params = [arg(&mut data)];
        assert_eq!(cuMemsetD32Async(data, 1, 1, one), 0);
        assert_eq!(cuEventRecord(start, one), 0);
        for _ in 0..5 {
            assert_eq!(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, one, params.as_mut_ptr(), null_mut()), 0);
            assert_eq!(cuLaunchHostFunc(one, count, arg(&mut called)), 0);
        }
        assert_eq!(cuEventRecord(end, one), 0);
        assert_eq!(cuStreamWaitEvent(two, end, 0), 0);
        let mut host = null_mut();
        assert_eq!(cuMemHostAlloc(&mut host, 4, 0), 0);
        assert_eq!(cuMemcpyDtoHAsync_v2(host, data, 4, two), 0);
        assert_eq!(cuStreamSynchronize(two), 0);
        assert_eq!((host.cast::<u32>().read(), called), (243, 5));
        let mut ms = -1.0;
        assert_eq!(cuEventElapsedTime(&mut ms, start, end), 0);
        assert!(ms >= 0.0);

        let (mut graph, mut exec) = (0, 0);
        assert_eq!(cuStreamBeginCapture_v2(one, 0), 0);
        assert_eq!(cuMemsetD32Async(data, 2, 1, one), 0);
        assert_eq!(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, one, params.as_mut_ptr(), null_mut()), 0);
        assert_eq!(cuMemcpyDtoHAsync_v2(host, data, 4, one), 0);
        assert_eq!(cuStreamEndCapture(one, &mut graph), 0);
        assert_eq!(host.cast::<u32>().read(), 243, "nothing has run");
        let mut nodes = 0;
        assert_eq!((cuGraphGetNodes(graph, null_mut(), &mut nodes), nodes), (0, 3));
        assert_eq!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), 0);
        for _ in 0..3 {
            assert_eq!(cuGraphLaunch(exec, one), 0);
            assert_eq!(cuStreamSynchronize(one), 0);
            assert_eq!(host.cast::<u32>().replace(0), 6);
        }
        assert_eq!((cuGraphExecDestroy(exec), cuGraphDestroy(graph)), (0, 0));

        // What cannot be captured ends the capture.
        assert_eq!(cuStreamBeginCapture_v2(one, 0), 0);
        assert_eq!(cuStreamSynchronize(one), 900);
        assert_eq!(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, one, params.as_mut_ptr(), null_mut()), 901);
        assert_eq!(cuStreamEndCapture(one, &mut graph), 901);
        assert_eq!(cuStreamSynchronize(one), 0, "and all is as before");
        // A stream that has joined has to come back.
        assert_eq!(cuStreamBeginCapture_v2(one, 0), 0);
        assert_eq!(cuEventRecord(end, one), 0);
        assert_eq!(cuStreamWaitEvent(two, end, 0), 0);
        assert_eq!(cuMemsetD32Async(data, 2, 1, two), 0);
        assert_eq!(cuStreamEndCapture(two, &mut graph), 903);
        assert_eq!(cuStreamEndCapture(one, &mut graph), 901);
        assert_eq!(cuStreamBeginCapture_v2(one, 0), 0);
        assert_eq!(cuEventRecord(end, one), 0);
        assert_eq!(cuStreamWaitEvent(two, end, 0), 0);
        assert_eq!(cuMemsetD32Async(data, 2, 1, two), 0);
        assert_eq!((cuStreamEndCapture(one, &mut graph), graph), (904, 0));
        assert_eq!(cuStreamSynchronize(two), 0);
        assert_eq!((cuStreamDestroy_v2(one), cuStreamDestroy_v2(two)), (0, 0));
        assert_eq!(cuStreamSynchronize(one), 400);
        assert_eq!((cuMemFreeHost(host), cuMemFree_v2(data)), (0, 0));
    }
}

#[test]
fn managed_memory_variables_and_constants() {
    start();
    let module = module();
    let scale = function(module, c"scale");
    unsafe {
        let (mut managed, mut address, mut size) = (0u64, 0u64, 0usize);
        assert_eq!(cuMemAllocManaged(&mut managed, 4, 1), 0);
        let value = std::ptr::with_exposed_provenance_mut::<u32>(managed as usize);
        value.write(14);
        let mut params = [arg(&mut managed)];
        assert_eq!(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, 0, params.as_mut_ptr(), null_mut()), 0);
        assert_eq!(cuCtxSynchronize(), 0);
        assert_eq!(value.read(), 42);

        assert_eq!(cuModuleGetGlobal_v2(&mut address, &mut size, module, c"factor".as_ptr()), 0);
        assert_eq!(size, 4);
        assert_eq!(cuMemcpyHtoD_v2(address, [10u32].as_ptr().cast(), 4), 0);
        assert_eq!(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, 0, params.as_mut_ptr(), null_mut()), 0);
        assert_eq!(cuCtxSynchronize(), 0);
        assert_eq!(value.read(), 420, "kernels see what was copied to the constant");

        let mut counter = 0u32;
        assert_eq!(cuModuleGetGlobal_v2(&mut address, &mut size, module, c"counter".as_ptr()), 0);
        assert_eq!(cuMemcpyDtoH_v2(arg(&mut counter), address, 4), 0);
        assert_eq!(counter, 7);
        assert_eq!(cuModuleGetGlobal_v2(&mut address, &mut size, module, c"nothing".as_ptr()), 500);

        let (mut kind, mut is_managed) = (0 as c_uint, 0 as c_uint);
        assert_eq!(cuPointerGetAttribute(arg(&mut kind), 2, managed), 0);
        assert_eq!(cuPointerGetAttribute(arg(&mut is_managed), 8, managed), 0);
        assert_eq!((kind, is_managed), (2, 1));
        assert_eq!(cuPointerGetAttribute(arg(&mut kind), 2, &raw const kind as u64), 1);
        assert_eq!((cuMemFree_v2(managed), cuModuleUnload(module)), (0, 0));
        assert_eq!(cuModuleUnload(module), 400);
    }
}

#[test]
fn copies_in_two_and_three_dimensions() {
    start();
    let from: Vec<u8> = (0..=255).collect();
    let mut to = vec![0u8; 256];
    let (mut device, mut pitch) = (0, 0);
    unsafe {
        assert_eq!(cuMemAllocPitch_v2(&mut device, &mut pitch, 10, 8, 4), 0);
        let mut copy = Memcpy2d {
            src_x: 2,
            src_y: 1,
            src_type: 1,
            src_host: from.as_ptr() as u64,
            src_device: 0,
            src_array: 0,
            src_pitch: 16,
            dst_x: 1,
            dst_y: 0,
            dst_type: 2,
            dst_host: 0,
            dst_device: device,
            dst_array: 0,
            dst_pitch: pitch,
            width: 5,
            height: 3,
        };
        assert_eq!(cuMemcpy2D_v2(&copy), 0);
        (copy.src_type, copy.src_device, copy.src_pitch, copy.src_x, copy.src_y) = (2, device, pitch, 1, 0);
        (copy.dst_type, copy.dst_host, copy.dst_pitch, copy.dst_x, copy.dst_y) = (4, 0, 8, 0, 1);
        copy.dst_device = to.as_mut_ptr() as u64;
        assert_eq!(cuMemcpy2D_v2(&copy), 0);
        for y in 0..3 {
            assert_eq!(to[8 * (y + 1)..8 * (y + 1) + 5], from[16 * (y + 1) + 2..16 * (y + 1) + 7]);
        }
        assert_eq!(to[13..16], [0; 3]);
        copy.height = 9;
        assert_eq!(cuMemcpy2D_v2(&copy), 1, "more rows than there are");
        assert_eq!(cuMemcpyHtoD_v2(device + 8 * pitch as u64 - 1, from.as_ptr().cast(), 2), 1);
        assert_eq!(cuMemFree_v2(device), 0);
    }
}

#[test]
fn a_linker_answers_what_a_loader_takes() {
    start();
    let caller = CString::new(
        ".version 8.8\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) twice (.param .b32 x);\n\
         .visible .entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %rd<2>; .param .b32 x; .param .b32 y;\n\
         ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; st.param.b32 [x], %r1; call (y), twice, (x);\n\
         ld.param.b32 %r2, [y]; st.global.u32 [%rd1], %r2; ret; }",
    )
    .expect("no NUL");
    let callee = c".version 8.0\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 r) twice (.param .b32 x)\n{ .reg .b32 %r<3>; ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }";
    unsafe {
        let (mut linker, mut data, mut size, mut library, mut kernel) = (0, null_mut(), 0, 0, 0);
        assert_eq!(cuLinkCreate_v2(0, null(), null_mut(), &mut linker), 0);
        for text in [caller.as_c_str(), callee] {
            let bytes = text.to_bytes_with_nul();
            let added = cuLinkAddData_v2(
                linker,
                1,
                bytes.as_ptr().cast(),
                bytes.len(),
                null(),
                0,
                null(),
                null_mut(),
            );
            assert_eq!(added, 0);
        }
        assert_eq!(cuLinkComplete(linker, &mut data, &mut size), 0);
        // The caller alone: an error of the linker that names what is missing.
        let (mut alone, mut log) = (0, [0u8; 256]);
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        assert_eq!(cuLinkCreate_v2(2, [5, 6].as_ptr(), values.as_mut_ptr(), &mut alone), 0);
        let bytes = caller.to_bytes_with_nul();
        let from = bytes.as_ptr().cast();
        assert_eq!(
            cuLinkAddData_v2(alone, 1, from, bytes.len(), c"a.ptx".as_ptr(), 0, null(), null_mut()),
            0
        );
        let (mut nothing, mut none) = (null_mut(), 0);
        assert_eq!(cuLinkComplete(alone, &mut nothing, &mut none), 209);
        assert_eq!(cuLinkDestroy(alone), 0);
        let said = CStr::from_bytes_until_nul(&log).expect("a NUL").to_string_lossy();
        assert!(said.contains("undefined reference to 'twice' in 'a.ptx'"), "{said}");
        assert_eq!(cuLibraryLoadData(&mut library, data, null(), null_mut(), 0, null(), null(), 0), 0);
        assert_eq!(cuLinkDestroy(linker), 0);
        assert_eq!(cuLibraryGetKernel(&mut kernel, library, c"k".as_ptr()), 0);
        let mut value = 0u32;
        let mut at = alloc(4);
        assert_eq!(cuMemsetD32_v2(at, 21, 1), 0);
        let config =
            LaunchConfig { grid: [1; 3], block: [1; 3], shared: 0, stream: 0, attrs: null(), num_attrs: 0 };
        assert_eq!(cuLaunchKernelEx(&config, kernel, [arg(&mut at)].as_mut_ptr(), null_mut()), 0);
        assert_eq!(cuMemcpyDtoH_v2(arg(&mut value), at, 4), 0);
        assert_eq!(value, 42);
    }
}

#[test]
fn functions_are_found_by_name_and_version() {
    start();
    type Find = unsafe extern "C" fn();
    let find = |name: &CStr, version: c_int, flags: u64| unsafe {
        let (mut to, mut status) = (null_mut(), -1);
        let code = cuGetProcAddress_v2(name.as_ptr(), &mut to, version, flags, &mut status);
        (code, to.cast_const().cast::<Find>(), status)
    };
    let is = |found: (i32, *const Find, i32), address: *const ()| {
        found.0 == 0 && found.1.cast() == address && found.2 == 0
    };
    assert!(is(find(c"cuMemAlloc", 12000, 0), cuMemAlloc_v2 as *const ()));
    assert!(is(find(c"cuCtxCreate", 11000, 0), cuCtxCreate_v2 as *const ()));
    assert!(is(find(c"cuCtxCreate", 11080, 0), cuCtxCreate_v3 as *const ()));
    assert!(is(find(c"cuCtxCreate", 13000, 0), cuCtxCreate_v4 as *const ()));
    assert!(is(find(c"cuLaunchKernel", 13000, 2), cuLaunchKernel_ptsz as *const ()));
    assert!(is(find(c"cuInit", 13000, 2), cuInit as *const ()), "no variant: the plain one");
    let missing = find(c"cuNothing", 13000, 0);
    assert_eq!((missing.0, missing.2), (500, 1));
    let (mut name, mut text) = (null(), null());
    unsafe {
        assert_eq!((cuGetErrorName(700, &mut name), cuGetErrorString(700, &mut text)), (0, 0));
        assert_eq!(CStr::from_ptr(name), c"CUDA_ERROR_ILLEGAL_ADDRESS");
        assert_eq!(CStr::from_ptr(text), c"an illegal memory access was encountered");
        assert_eq!(cuGetErrorName(12345, &mut name), 1);
    }
    let (done, all) = counts();
    assert!(done > 200 && all > 600, "{done} of {all}");
}

#[test]
fn wrong_calls_are_errors() {
    start();
    let module = module();
    let add = function(module, c"add");
    unsafe {
        let (mut to, mut value, mut handle) = (0u64, 0 as c_int, 0);
        assert_eq!(cuMemAlloc_v2(&mut to, 0), 1);
        assert_eq!(cuMemAlloc_v2(&mut to, 1 << 50), 2);
        assert_eq!(cuDeviceGet(&mut value, 1), 101);
        assert_eq!(cuDeviceGetAttribute(&mut value, 9999, 0), 1);
        assert_eq!((cuDeviceGetAttribute(&mut value, 75, 0), value), (0, 9));
        assert_eq!(cuModuleGetFunction(&mut handle, module, c"none".as_ptr()), 500);
        let (mut kernels, mut count) = ([0; 4], 0);
        assert_eq!(cuModuleEnumerateFunctions(kernels.as_mut_ptr(), 4, module), 0);
        assert!(kernels.contains(&add) && kernels[2] == 0, "there are two");
        assert_eq!((cuFuncGetParamCount(add, &mut count), count), (0, 4));
        // The first version of what has had the same parameters since.
        let (mut event, mut context) = (0, 0);
        assert_eq!((cuEventCreate(&mut event, 0), cuEventDestroy(event), cuEventDestroy(event)), (0, 0, 400));
        assert_eq!(cuCtxPopCurrent(&mut context), 0);
        assert_eq!(cuCtxPushCurrent(context), 0);
        assert_eq!(cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, 0, null_mut(), null_mut()), 1);
        assert_eq!(cuLaunchKernel(12345, 1, 1, 1, 1, 1, 1, 0, 0, null_mut(), null_mut()), 400);
        assert_eq!(
            cuModuleLoadData(&mut handle, c".version 8.8 .target sm_90 nonsense".as_ptr().cast()),
            218
        );
        assert_eq!(cuModuleLoadData(&mut handle, b"\x7fELF----".as_ptr().cast()), 209);
        let mut log = vec![0u8; 200];
        let (mut options, mut values) =
            ([5, 6], [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(200)]);
        let text = c".version 8.8 .target sm_90 .address_size 64 .entry k() { nonsense; }";
        let code = cuModuleLoadDataEx(
            &mut handle,
            text.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        );
        assert_eq!(code, 218);
        assert!(String::from_utf8_lossy(&log).contains("nonsense"));
    }
    std::thread::spawn(|| unsafe {
        let mut to = 0;
        assert_eq!(cuMemAlloc_v2(&mut to, 4), 201, "another thread has no context");
    })
    .join()
    .expect("no panic");
}

#[test]
fn what_a_destroyed_stream_has_under_way_is_waited_for() {
    start();
    extern "C" fn later(done: *mut c_void) {
        std::thread::sleep(std::time::Duration::from_millis(40));
        unsafe { &*done.cast_const().cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
    }
    let done = AtomicU32::new(0);
    let queue = |flags| unsafe {
        let mut stream = 0;
        assert_eq!(cuStreamCreate(&mut stream, flags), 0);
        let to = std::ptr::from_ref(&done).cast_mut().cast();
        assert_eq!(cuLaunchHostFunc(stream, later, to), 0);
        assert_eq!(cuStreamDestroy_v2(stream), 0);
        assert_eq!(cuStreamSynchronize(stream), 400, "it is no stream any more");
    };
    queue(1);
    assert_eq!((unsafe { cuCtxSynchronize() }, done.load(Ordering::SeqCst)), (0, 1));
    // The default stream waits for one of the other kind.
    queue(0);
    assert_eq!(unsafe { cuMemsetD32_v2(alloc(4), 0, 1) }, 0);
    assert_eq!((unsafe { cuStreamSynchronize(0) }, done.load(Ordering::SeqCst)), (0, 2));
}

#[test]
fn streams_wait_for_values_and_write_them() {
    start();
    extern "C" fn sleep(_: *mut c_void) {
        std::thread::sleep(std::time::Duration::from_millis(30));
    }
    unsafe {
        let words = alloc(4 * 64);
        assert_eq!(cuMemsetD32_v2(words, 0, 64), 0);
        // A chain of more streams than there are threads: the first waits for what the last to be queued writes.
        let mut streams = [0; 40];
        for (i, stream) in streams.iter_mut().enumerate() {
            let (mine, next) = (words + 4 * i as u64, words + 4 * i as u64 + 4);
            assert_eq!(cuStreamCreate(stream, 1), 0);
            assert_eq!(cuStreamWaitValue32_v2(*stream, mine, 5 + i as u32, 0), 0);
            assert_eq!(cuStreamWriteValue32_v2(*stream, next, 6 + i as u32, 0), 0);
        }
        let mut first = 0;
        assert_eq!((cuStreamCreate(&mut first, 1), cuStreamQuery(streams[39])), (0, 600));
        assert_eq!(cuStreamWriteValue32_v2(first, words, 4, 0), 0);
        assert_eq!((cuStreamSynchronize(first), cuStreamQuery(streams[0])), (0, 600), "4 is not enough");
        assert_eq!(cuStreamWriteValue32_v2(first, words, 5, 0), 0);
        assert_eq!(cuStreamSynchronize(streams[39]), 0);
        let mut last = 0u32;
        assert_eq!((cuMemcpyDtoH_v2(arg(&mut last), words + 160, 4), last), (0, 45));

        // What the stream itself overwrites before it waits does not count.
        let (one, wide) = (streams[0], words + 8 * 30);
        assert_eq!(cuStreamWriteValue64_v2(first, wide, 1 << 40, 0), 0);
        assert_eq!(cuStreamSynchronize(first), 0);
        assert_eq!(cuLaunchHostFunc(one, sleep, null_mut()), 0);
        assert_eq!(cuStreamWriteValue64_v2(one, wide, 0, 0), 0);
        assert_eq!(cuStreamWaitValue64_v2(one, wide, 1 << 40, 1), 0);
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert_eq!(cuStreamQuery(one), 600);
        // Several at once, by another stream.
        let op = |operation, address, value| BatchMemOp { operation, address, value, flags: 1, rest: [0; 2] };
        let ops = [op(2, words, 77), op(1, words, 77), op(6, 0, 0), op(5, wide, 1 << 40)];
        assert_eq!(cuStreamBatchMemOp_v2(first, 4, ops.as_ptr(), 0), 0);
        assert_eq!((cuStreamSynchronize(one), cuStreamSynchronize(first)), (0, 0));

        assert_eq!(cuStreamWaitValue32_v2(one, words + 2, 0, 0), 1, "not aligned");
        assert_eq!(cuStreamWaitValue32_v2(one, words, 0, 4), 1, "no such comparison");
        assert_eq!(cuStreamWriteValue32_v2(one, words + 4 * 64, 0, 0), 1, "past the end");
        assert_eq!(cuStreamBatchMemOp_v2(one, 1, [op(8, words, 0)].as_ptr(), 0), 801);
        for stream in streams.into_iter().chain([first]) {
            assert_eq!(cuStreamDestroy_v2(stream), 0);
        }
        assert_eq!(cuMemFree_v2(words), 0);
    }
}

#[test]
fn arrays_are_copied_to_and_from() {
    start();
    let source: Vec<u32> = (0..128).collect();
    unsafe {
        let mut array = 0;
        let shape = ArrayDescriptor { width: 16, height: 8, format: 3, channels: 1 };
        assert_eq!(cuArrayCreate_v2(&mut array, &shape), 0);
        let mut found = ArrayDescriptor::default();
        assert_eq!((cuArrayGetDescriptor_v2(&mut found, array), found), (0, shape));
        let mut copy = Memcpy2d {
            src_x: 0,
            src_y: 0,
            src_type: 1,
            src_host: source.as_ptr() as u64,
            src_device: 0,
            src_array: 0,
            src_pitch: 64,
            dst_x: 0,
            dst_y: 0,
            dst_type: 3,
            dst_host: 0,
            dst_device: 0,
            dst_array: array,
            dst_pitch: 0,
            width: 64,
            height: 8,
        };
        assert_eq!(cuMemcpy2D_v2(&copy), 0);
        // Rows 3 and 4, columns 5 to 7.
        let mut back = [0u32; 8];
        (copy.src_type, copy.src_array, copy.src_x, copy.src_y) = (3, array, 20, 3);
        (copy.dst_type, copy.dst_host, copy.dst_pitch) = (1, back.as_mut_ptr() as u64, 16);
        (copy.width, copy.height) = (12, 2);
        assert_eq!(cuMemcpy2D_v2(&copy), 0);
        assert_eq!(back, [53, 54, 55, 0, 69, 70, 71, 0]);
        for (x, y, width, height) in [(56, 3, 12, 2), (20, 7, 12, 2), (20, 8, 12, 1)] {
            (copy.src_x, copy.src_y, copy.width, copy.height) = (x, y, width, height);
            assert_eq!(cuMemcpy2D_v2(&copy), 1, "beyond a row or the last");
        }
        assert_eq!(cuMemcpyAtoH_v2(back.as_mut_ptr().cast(), array, 64 * 8 - 32, 32), 0);
        assert_eq!(back, [120, 121, 122, 123, 124, 125, 126, 127]);
        assert_eq!(cuMemcpyAtoH_v2(back.as_mut_ptr().cast(), array, 64 * 8 - 31, 32), 1);
        let mut bad = 0;
        let no_format = ArrayDescriptor { format: 0xb0, ..shape };
        assert_eq!(cuArrayCreate_v2(&mut bad, &no_format), 801);
        assert_eq!(cuArrayCreate_v2(&mut bad, &ArrayDescriptor { channels: 3, ..shape }), 1);
        assert_eq!((cuArrayDestroy(array), cuArrayDestroy(array)), (0, 400));
    }
}

#[test]
fn many_threads_at_once() {
    start();
    let scale = function(module(), c"scale");
    let mut context = 0;
    assert_eq!(unsafe { cuCtxGetCurrent(&mut context) }, 0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(move || unsafe {
                assert_eq!(cuCtxSetCurrent(context), 0);
                let mut stream = 0;
                assert_eq!(cuStreamCreate(&mut stream, 1), 0);
                for i in 0..50u32 {
                    let mut data = alloc(4);
                    let mut value = 0u32;
                    assert_eq!(cuMemsetD32Async(data, i, 1, stream), 0);
                    let mut params = [arg(&mut data)];
                    assert_eq!(
                        cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, stream, params.as_mut_ptr(), null_mut()),
                        0
                    );
                    assert_eq!(cuMemcpyDtoHAsync_v2(arg(&mut value), data, 4, stream), 0);
                    assert_eq!(value, 3 * i);
                    assert_eq!(cuMemFree_v2(data), 0);
                }
                assert_eq!(cuStreamDestroy_v2(stream), 0);
            });
        }
    });
}
