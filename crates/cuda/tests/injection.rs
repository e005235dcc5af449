//! Every request that a program's calls make of the operating system and of the device's memory fails once: the call is an error of CUDA's, nothing crashes, and
//! the same program is right afterwards. The library's side of it is `crates/hostwarp/tests/injection.rs`.
//!
//! There is one seam for the whole process, so this file holds one test that runs by itself; what a process asks for once is tried in processes of their own.
#![cfg(debug_assertions)]
#![allow(clippy::undocumented_unsafe_blocks)]

use hostwarp_cuda::driver::*;
use hostwarp_system::seam::{self, Failure, Kind};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const PTX: &CStr = c"
.version 8.8
.target sm_90
.address_size 64
.visible .global .align 4 .u32 bias = 5;
.visible .entry sum(.param .u64 data, .param .u32 n) {
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 4 .u32 cell[64];
    ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r2, 64, %r3;
    ld.global.u32 %r5, [bias];
again:
    add.u32 %r5, %r5, %r4; sub.u32 %r1, %r1, 1; setp.ne.u32 %p, %r1, 0;
    @%p bra again;
    mov.u32 %r6, cell; shl.b32 %r7, %r3, 2; add.u32 %r6, %r6, %r7; st.shared.u32 [%r6], %r5;
    bar.sync 0;
    ld.shared.u32 %r5, [%r6];
    mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5;
    ret;
}";

const CTAS: u32 = 16;
const TURNS: u32 = 20;
const BYTES: usize = CTAS as usize * 64 * 4;

fn arg<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

/// What a program has taken and gives back, whatever happens.
#[derive(Default)]
struct Taken {
    module: usize,
    stream: usize,
    event: usize,
    memory: Vec<u64>,
    pooled: u64,
    host: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        unsafe {
            if self.pooled != 0 {
                cuMemFreeAsync(self.pooled, self.stream);
            }
            if self.stream != 0 {
                cuStreamSynchronize(self.stream);
                cuStreamDestroy_v2(self.stream);
            }
            if self.event != 0 {
                cuEventDestroy_v2(self.event);
            }
            for address in self.memory.drain(..) {
                cuMemFree_v2(address);
            }
            if self.host != 0 {
                cuMemFreeHost(std::ptr::with_exposed_provenance_mut(self.host));
            }
            if self.module != 0 {
                cuModuleUnload(self.module);
            }
        }
    }
}

/// A program of each kind of allocation, with a launch; the first error.
fn program() -> Result<(), (&'static str, u32)> {
    let ok = |what, code: i32| if code == 0 { Ok(()) } else { Err((what, code as u32)) };
    let mut taken = Taken::default();
    unsafe {
        ok("module", cuModuleLoadData(&mut taken.module, PTX.as_ptr().cast()))?;
        let mut sum = 0;
        ok("function", cuModuleGetFunction(&mut sum, taken.module, c"sum".as_ptr()))?;
        ok("stream", cuStreamCreate(&mut taken.stream, 1))?;
        ok("event", cuEventCreate(&mut taken.event, 0))?;
        let mut data = 0;
        for managed in [false, true] {
            ok(
                "memory",
                if managed {
                    cuMemAllocManaged(&mut data, BYTES, 1)
                } else {
                    cuMemAlloc_v2(&mut data, BYTES)
                },
            )?;
            taken.memory.push(data);
        }
        let mut pitch = 0;
        let mut pitched = 0;
        ok("pitched memory", cuMemAllocPitch_v2(&mut pitched, &mut pitch, 100, 10, 4))?;
        taken.memory.push(pitched);
        ok("memory of a pool", cuMemAllocAsync(&mut taken.pooled, BYTES, taken.stream))?;
        let mut host = null_mut();
        ok("host memory", cuMemHostAlloc(&mut host, BYTES, 0))?;
        taken.host = host.expose_provenance();
        let mut turns = TURNS;
        ok("set", cuMemsetD32Async(taken.pooled, 1, BYTES / 4, taken.stream))?;
        let mut params = [arg(&mut data), arg(&mut turns)];
        ok(
            "launch",
            cuLaunchKernel(sum, CTAS, 1, 1, 64, 1, 1, 0, taken.stream, params.as_mut_ptr(), null_mut()),
        )?;
        ok("copy", cuMemcpyDtoDAsync_v2(taken.pooled, data, BYTES, taken.stream))?;
        ok("record", cuEventRecord(taken.event, taken.stream))?;
        ok("copy to the host", cuMemcpyDtoHAsync_v2(host, taken.pooled, BYTES, taken.stream))?;
        ok("wait", cuEventSynchronize(taken.event))?;
        ok("synchronise", cuStreamSynchronize(taken.stream))?;
        let values = std::slice::from_raw_parts(host.cast::<u32>(), BYTES / 4);
        let right = values.iter().enumerate().all(|(i, v)| *v == 5 + TURNS * i as u32);
        ok("wrong bits", if right { 0 } else { -1 })
    }
}

/// Each of so many requests alone, and with all that follow.
fn failures(kind: Kind, count: u64) -> impl Iterator<Item = Failure> {
    (1..=count).flat_map(move |nth| [false, true].map(|lasting| Failure { kind, nth, lasting }))
}

fn context() {
    let mut context = 0;
    unsafe {
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
    }
}

fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    assert_eq!(unsafe { cuMemGetInfo_v2(&mut free, &mut total) }, 0);
    free
}

#[test]
fn every_failure_is_an_error_of_cudas() {
    assert_eq!(unsafe { cuInit(0) }, 0);
    context();
    program().expect("nothing fails");
    let before = free_memory();
    let (mut failed, mut errors, mut wrong) = (BTreeMap::new(), BTreeMap::new(), vec![]);
    for kind in Kind::ALL {
        seam::arm(Failure { kind, nth: 0, lasting: false });
        program().expect("nothing fails");
        let count = seam::disarm().iter().filter(|a| a.kind == kind).count() as u64;
        for failure in failures(kind, count) {
            seam::arm(failure);
            let first = program();
            let refused = seam::disarm().iter().any(|a| a.refused);
            if refused {
                *failed.entry(kind.name()).or_insert(0) += 1;
            }
            match first {
                Err(("wrong bits", _)) => wrong.push(format!("{failure}: wrong bits")),
                Err(error) if !refused => wrong.push(format!("{failure}: nothing failed, but {error:?}")),
                Err(error) => *errors.entry(error).or_insert(0) += 1,
                Ok(()) => {}
            }
            // Out of memory is no reason for the next call to fail.
            if let Err(error) = program() {
                wrong.push(format!("{failure}: later {error:?}"));
                unsafe { cuDevicePrimaryCtxReset_v2(0) };
                context();
            }
            let free = free_memory();
            if free != before {
                wrong.push(format!("{failure}: {free} bytes free, {before} before"));
            }
        }
    }
    println!("failed: {failed:?}\nerrors: {errors:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(failed.get("memory").is_some_and(|n| *n > 4), "{failed:?}");
    // Out of memory, or what the system refuses.
    assert!(!errors.is_empty() && errors.keys().all(|(_, code)| [2, 304].contains(code)), "{errors:?}");
    in_new_processes();
}

const FAILURE: &str = "HOSTWARP_TEST_FAILURE";

/// Started by the other test: everything from `cuInit` on with a failure, then once more without one.
#[test]
#[ignore = "the other test starts it"]
fn from_the_beginning() {
    let failure: Failure = std::env::var(FAILURE).expect("a failure").parse().expect("one");
    seam::arm(failure);
    let began = unsafe {
        let mut context = 0;
        match cuInit(0) {
            0 => match cuDevicePrimaryCtxRetain(&mut context, 0) {
                0 => cuCtxSetCurrent(context),
                code => code,
            },
            code => code,
        }
    };
    let first = if began == 0 { program() } else { Err(("begin", began as u32)) };
    let asked = seam::disarm();
    let refused = asked.iter().any(|a| a.refused);
    assert!(refused || first.is_ok(), "nothing failed, but {first:?}");
    if let Err((what, code)) = first {
        assert!([2, 100, 304].contains(&code), "{what}: {code}");
    }
    assert_eq!(unsafe { cuInit(0) }, 0);
    context();
    assert_eq!(program(), Ok(()), "later");
    let count = asked.iter().filter(|a| a.kind == failure.kind).count();
    println!("asked {count} refused {refused}");
}

/// Requests that a process makes once: the device's address space, threads, the library of the jit.
fn in_new_processes() {
    let run = |failure: Failure| -> Result<(u64, bool), String> {
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut child = std::process::Command::new(this);
        child
            .args(["--exact", "from_the_beginning", "--ignored", "--nocapture"])
            .env(FAILURE, failure.to_string());
        let out = child.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let said = text.split("asked ").nth(1).filter(|_| out.status.success());
        let said =
            said.ok_or_else(|| format!("{failure}: {text}{}", String::from_utf8_lossy(&out.stderr)))?;
        let count = said.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        Ok((count, said.contains("refused true")))
    };
    let (mut refused, mut wrong) = (BTreeMap::new(), vec![]);
    for kind in Kind::ALL {
        let (count, _) = run(Failure { kind, nth: 0, lasting: false }).expect("nothing fails");
        for failure in failures(kind, count) {
            match run(failure) {
                Ok((_, true)) => *refused.entry(kind.name()).or_insert(0) += 1,
                Ok((_, false)) => {}
                Err(why) => wrong.push(why),
            }
        }
    }
    println!("in new processes: {refused:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for kind in ["map", "memory", "thread"] {
        assert!(refused.contains_key(kind), "no {kind} was asked for: {refused:?}");
    }
}
