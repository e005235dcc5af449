//! cudarc's safe driver API on the drop-in library: modules, launches, copies, streams, events, memory sets, attributes, errors.
#[cfg(feature = "v18")]
use cudarc18 as cudarc;
#[cfg(feature = "v19")]
use cudarc19 as cudarc;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use std::error::Error;

const TEXT: &str = include_str!("kernels.ptx");

fn main() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    println!("{} of {} devices, compute capability {:?}", context.name()?, CudaContext::device_count()?, context.compute_capability()?);
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_src(TEXT))?;
    let saxpy = module.load_function("saxpy")?;

    const N: usize = 10_000;
    let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let y: Vec<f32> = (0..N).map(|i| 1.0 - i as f32).collect();
    let given = stream.clone_htod(&x)?;
    let mut out = stream.clone_htod(&y)?;
    let (a, n) = (2.5f32, N as u32);
    let config = LaunchConfig::for_num_elems(n);
    let mut launch = stream.launch_builder(&saxpy);
    launch.arg(&n).arg(&a).arg(&given).arg(&mut out);
    unsafe { launch.launch(config) }?;
    let got = stream.clone_dtoh(&out)?;
    assert!((0..N).all(|i| got[i] == a * x[i] + y[i]), "saxpy");

    // Two streams, one after the other by an event; parts of buffers.
    let (first, second) = (context.new_stream()?, context.new_stream()?);
    let mut counts = first.alloc_zeros::<u32>(256)?;
    let count = module.load_function("count")?;
    let bytes: Vec<u8> = (0..4096u32).map(|i| (i * i % 251) as u8).collect();
    let input = first.clone_htod(&bytes)?;
    for half in [input.slice(..2048), input.slice(2048..)] {
        let n = half.len() as u32;
        let mut launch = first.launch_builder(&count);
        launch.arg(&n).arg(&half).arg(&mut counts);
        unsafe { launch.launch(LaunchConfig { grid_dim: (8, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 }) }?;
    }
    let done = first.record_event(None)?;
    second.wait(&done)?;
    let copy = second.clone_dtod(&counts)?;
    let got = second.clone_dtoh(&copy)?;
    let mut want = vec![0u32; 256];
    bytes.iter().for_each(|b| want[usize::from(*b)] += 1);
    assert_eq!(got, want, "histogram over two streams");
    first.memset_zeros(&mut counts)?;
    assert!(first.clone_dtoh(&counts)?.iter().all(|n| *n == 0), "memset");

    assert!(module.load_function("nothing").is_err(), "a kernel that is not there");
    assert!(context.load_module(Ptx::from_src(".version 8.0\n.target sm_80\nwrong")).is_err(), "wrong PTX");
    context.synchronize()?;
    println!("right");
    Ok(())
}
