//! What an empty launch takes: through the driver's functions, and through the library itself.
//!
//!     cargo run --release -p hostwarp-cuda --example empty_launch
// Each call is one that a C program may make.
#![allow(clippy::undocumented_unsafe_blocks)]

use hostwarp::{Device, Engine};
use hostwarp_cuda::driver::*;
use std::ffi::CString;
use std::ptr::null_mut;
use std::time::Instant;

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n";
const LAUNCHES: usize = 4000;

/// The median and the 90th percentile of what a call takes, in microseconds.
fn measure(what: &str, mut call: impl FnMut()) {
    (0..LAUNCHES / 4).for_each(|_| call());
    let mut times: Vec<f64> = (0..LAUNCHES)
        .map(|_| {
            let begun = Instant::now();
            call();
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{what:<46} {:6.1} {:6.1}", times[LAUNCHES / 2], times[LAUNCHES * 9 / 10]);
}

fn main() -> Result<(), hostwarp::Error> {
    println!("{:<46} {:>6} {:>6}", "µs of an empty launch", "median", "90 %");
    let (mut context, mut module, mut function, mut stream) = (0, 0, 0, 0);
    let text = CString::new(PTX).expect("no zero in it");
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&mut module, text.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()), 0);
        assert_eq!(cuStreamCreate(&mut stream, 1), 0);
    }
    let launch = |stream| unsafe {
        assert_eq!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut()), 0);
    };
    for (what, stream) in [("the default stream", 0), ("a stream", stream)] {
        measure(&format!("cuLaunchKernel, cuStreamSynchronize: {what}"), || {
            launch(stream);
            assert_eq!(unsafe { cuStreamSynchronize(stream) }, 0);
        });
    }
    measure("cuLaunchKernel alone", || launch(stream));
    assert_eq!(unsafe { cuStreamSynchronize(stream) }, 0);
    let device = Device::new()?;
    let kernel = device.load("nothing.ptx", PTX)?.kernel("nothing")?;
    let own = device.stream();
    measure("the library: Launch::run_on, Stream::synchronize", || {
        kernel.launch().run_on(&own).expect("it begins");
        own.synchronize().expect("it runs");
    });
    for engine in [Engine::Auto, Engine::Interp] {
        measure(&format!("the library: Launch::run, {engine:?}"), || {
            kernel.launch().engine(engine).run().expect("it runs");
        });
    }
    Ok(())
}
