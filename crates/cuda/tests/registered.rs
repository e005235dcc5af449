//! Kernels on host memory that the program registers. In a process of its own: the device is the process's, and faults are sticky.
// Each call is one that a C program may make.
#![allow(clippy::undocumented_unsafe_blocks)]

use hostwarp::{Arg, Device, Engine};
use hostwarp_cuda::driver::*;
use hostwarp_cuda::types::Handle;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

/// `change`: p[skip + i] = 2 * p[skip + i] + i for i < n. `answer`: waits until p[0] is not 0, then p[1] = p[0] + 1.
const PTX: &str = "\
.version 8.8 .target sm_90 .address_size 64
.visible .entry change(.param .u64 p, .param .s32 skip, .param .u32 n) {
    .reg .pred %q; .reg .b32 %i, %n, %v, %s; .reg .b64 %p;
    mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %v, %tid.x;
    mad.lo.u32 %i, %i, %n, %v;
    ld.param.u32 %n, [n];
    setp.ge.u32 %q, %i, %n;
    @%q bra done;
    ld.param.u64 %p, [p]; ld.param.s32 %s, [skip];
    mad.wide.s32 %p, %s, 4, %p;
    mad.wide.u32 %p, %i, 4, %p;
    ld.global.u32 %v, [%p];
    mad.lo.u32 %v, %v, 2, %i;
    st.global.u32 [%p], %v;
done:
    ret;
}
.visible .entry answer(.param .u64 p) {
    .reg .pred %q; .reg .b32 %v; .reg .b64 %p;
    ld.param.u64 %p, [p];
again:
    ld.volatile.global.u32 %v, [%p];
    setp.eq.u32 %q, %v, 0;
    @%q bra again;
    add.u32 %v, %v, 1;
    st.volatile.global.u32 [%p+4], %v;
    ret;
}";

/// Words that begin at 4 bytes behind a multiple of 256, with others around them.
struct Words {
    all: Vec<u32>,
    first: usize,
    n: usize,
}

impl Words {
    fn new(n: usize) -> Words {
        let all: Vec<u32> = (0..n as u32 + 128).collect();
        let first = (0..64).find(|i| (&raw const all[*i]).addr() % 256 == 4).expect("one of 64 words");
        Words { all, first, n }
    }

    fn at(&mut self) -> *mut u32 {
        self.all[self.first..].as_mut_ptr()
    }

    /// After so many rounds over the words from `skip` on.
    fn check(&self, rounds: usize) {
        for (i, word) in self.all.iter().enumerate() {
            let mut right = i as u32;
            if (self.first..self.first + self.n).contains(&i) {
                (0..rounds).for_each(|_| right = right.wrapping_mul(2).wrapping_add((i - self.first) as u32));
            }
            assert_eq!(*word, right, "word {i} of {}, {} on", self.all.len(), self.first);
        }
    }
}

/// Both engines and all widths go through the same check: nothing beside the words can be reached.
#[test]
fn engines_reach_the_words_and_no_others() {
    let device = Device::builder().raw_pointers().memory(1 << 20).build().expect("a device");
    let module = device.load("change", PTX).expect("it is right");
    let kernel = module.kernel("change").expect("it is there");
    let mut engines = vec![Engine::Interp];
    if device.llvm().is_ok() {
        engines.push(Engine::Jit);
    }
    for engine in engines {
        for n in [1usize, 63, 64, 1000] {
            let mut words = Words::new(n);
            let at = words.at().expose_provenance() as u64;
            let launch = |skip: i32| {
                let args = kernel.launch().grid([n as u32 / 128 + 1, 1, 1]).block([128, 1, 1]);
                args.arg(Arg::from(at)).arg(skip).arg(n as u32).engine(engine).run()
            };
            assert!(launch(0).is_err(), "it is not theirs yet");
            unsafe { device.memory().map_foreign(at, 4 * n as u64, "words") }.expect("it is not mapped");
            for _ in 0..40 {
                launch(0).expect("all of it is there");
            }
            for skip in [-1, 1, -(n as i32), n as i32, -64, 64] {
                let error = launch(skip).map(drop).expect_err("beside the words").to_string();
                assert!(error.contains("`words`"), "{error}");
            }
            device.memory().unmap_foreign(at).expect("it is mapped");
            assert!(launch(0).is_err(), "it is theirs no more");
            // Of the launches that faulted some lanes may have run: those of words that are there.
            let (first, n) = (words.first, words.n);
            let around = |i: usize| !(first..first + n).contains(&i);
            assert!(words.all.iter().enumerate().all(|(i, w)| !around(i) || *w == i as u32));
        }
    }
}

unsafe fn function(name: &str) -> Handle {
    let (mut module, mut function) = (0, 0);
    let (text, name) = (format!("{PTX}\0"), format!("{name}\0"));
    unsafe {
        assert_eq!(cuModuleLoadData(&mut module, text.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, name.as_ptr().cast()), 0);
    }
    function
}

unsafe fn change(kernel: Handle, at: u64, skip: i32, n: u32) -> i32 {
    let (mut at, mut skip, mut n) = (at, skip, n);
    let mut params: [*mut c_void; 3] = [(&raw mut at).cast(), (&raw mut skip).cast(), (&raw mut n).cast()];
    let blocks = n / 128 + 1;
    unsafe { cuLaunchKernel(kernel, blocks, 1, 1, 128, 1, 1, 0, 0, params.as_mut_ptr(), null_mut()) }
}

#[test]
fn registered_memory_is_used_where_it_lies() {
    unsafe {
        assert_eq!(cuInit(0), 0);
        let (mut context, mut value) = (0, 0 as c_int);
        assert_eq!(cuCtxCreate_v2(&mut context, 0, 0), 0);
        assert_eq!((cuDeviceGetAttribute(&mut value, 91, 0), value), (0, 1));
        let kernel = function("change");
        let mut words = Words::new(1000);
        let host = words.at();
        let (mut at, mut flags, mut size) = (0, 0, 0);
        assert_eq!(cuMemHostGetDevicePointer_v2(&mut at, host.cast(), 0), 1, "not registered");
        assert_eq!(cuMemHostRegister_v2(host.cast(), 4000, 2), 0);
        assert_eq!(cuMemHostGetDevicePointer_v2(&mut at, host.add(3).cast(), 0), 0);
        assert_eq!(at, host.add(3) as u64);
        assert_eq!((cuMemHostGetFlags(&mut flags, host.cast()), flags), (0, 2));
        assert_eq!((cuMemGetAddressRange_v2(&mut at, &mut size, host.add(9) as u64), size), (0, 4000));
        assert_eq!(at, host as u64);
        // CUDA's errors.
        for (from, bytes) in [(host, 4000), (host.add(999), 4), (host.sub(1), 8), (host.sub(1), 8000)] {
            assert_eq!(cuMemHostRegister_v2(from.cast(), bytes, 0), 712, "a part of it is registered");
        }
        assert_eq!(cuMemHostRegister_v2(null_mut(), 8, 0), 1);
        assert_eq!(cuMemHostRegister_v2(host.add(1000).cast(), 0, 0), 1);
        assert_eq!(cuMemHostRegister_v2(host.add(1000).cast(), 4, 16), 1);
        assert_eq!(cuMemHostRegister_v2(host.add(1000).cast(), 4, 8), 801, "read-only");
        assert_eq!(cuMemHostRegister_v2((PTX.as_ptr() as *mut u8).cast(), 8, 0), 1, "cannot be written");
        assert_eq!(cuMemHostUnregister(host.add(1).cast()), 713);
        let mut own = 0;
        assert_eq!(cuMemAlloc_v2(&mut own, 4096), 0);
        let inside = std::ptr::with_exposed_provenance_mut(own as usize);
        assert_eq!(cuMemHostRegister_v2(inside, 64, 0), 712, "the device's own");

        // A neighbour in the same granule is another allocation.
        assert_eq!(cuMemHostRegister_v2(host.add(1000).cast(), 16, 0), 0);
        assert_eq!(change(kernel, host as u64, 0, 1000), 0);
        assert_eq!(cuCtxSynchronize(), 0);
        words.check(1);
        assert_eq!(cuMemHostUnregister(host.add(1000).cast()), 0);
        assert_eq!(change(kernel, host as u64, 0, 1000), 0);
        assert_eq!(cuCtxSynchronize(), 0);
        words.check(2);
        // Copies and fills take it as the device's, too.
        assert_eq!(cuMemsetD32_v2(host as u64, 7, 1000), 0);
        assert_eq!(cuMemcpyDtoD_v2(own, host as u64, 4000), 0);
        assert_eq!(cuMemsetD32_v2(host as u64, 0, 1001), 1, "more than is registered");
        let mut back = vec![0u32; 1000];
        assert_eq!(cuMemcpyDtoH_v2(back.as_mut_ptr().cast(), own, 4000), 0);
        assert!(back.iter().all(|v| *v == 7));

        // The host and a kernel that runs talk to each other: nothing is a copy.
        let mut pair = [0u32; 2];
        let mut at = (&raw mut pair).expose_provenance() as u64;
        assert_eq!(cuMemHostRegister_v2((&raw mut pair).cast(), 8, 0), 0);
        let mut params: [*mut c_void; 1] = [(&raw mut at).cast()];
        let answer = function("answer");
        assert_eq!(cuLaunchKernel(answer, 1, 1, 1, 1, 1, 1, 0, 0, params.as_mut_ptr(), null_mut()), 0);
        let [asked, answered] = [0, 1].map(|i| AtomicU32::from_ptr((&raw mut pair).cast::<u32>().add(i)));
        assert_eq!(cuStreamQuery(0), 600, "it waits");
        asked.store(41, Ordering::Release);
        while answered.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        assert_eq!((answered.load(Ordering::Acquire), cuCtxSynchronize()), (42, 0));
        assert_eq!(cuMemHostUnregister((&raw mut pair).cast()), 0);

        // Beside it, and after it is gone, there are faults.
        assert_eq!((change(kernel, host as u64, -1, 10), cuCtxSynchronize()), (0, 700));
        assert_eq!(cuCtxDestroy_v2(context), 0);
        assert_eq!(cuCtxCreate_v2(&mut context, 0, 0), 0);
        let kernel = function("change");
        assert_eq!(cuMemHostUnregister(host.cast()), 713, "it went with its context");
        assert_eq!(cuMemHostRegister_v2(host.cast(), 4000, 0), 0);
        assert_eq!((change(kernel, host as u64, 0, 1000), cuCtxSynchronize()), (0, 0));
        assert_eq!(cuMemHostUnregister(host.cast()), 0);
        assert_eq!((change(kernel, host as u64, 0, 1000), cuCtxSynchronize()), (0, 700));
        assert_eq!(cuCtxDestroy_v2(context), 0);
        let others =
            words.all.iter().enumerate().filter(|(i, _)| !(words.first..words.first + 1000).contains(i));
        assert!({ others }.all(|(i, w)| *w == i as u32));
    }
}
