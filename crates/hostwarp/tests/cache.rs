//! Compiled kernels kept on disk: found again without LLVM, and never the reason that something fails.

use hostwarp::{Cache, Device, Engine, Report};
use std::fs;
use std::path::{Path, PathBuf};

const PTX: &str = "\
.version 8.3
.target sm_90
.address_size 64
.visible .entry square(.param .u64 data)
{
    .reg .b32 %t;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    ld.param.u64 %a, [data];
    mad.wide.u32 %a, %t, 4, %a;
    mul.lo.u32 %t, %t, %t;
    st.global.u32 [%a], %t;
    ret;
}
";

/// Runs the kernel in what could be another process: nothing is shared but the directory.
fn run(device: &Device, engine: Engine) -> Result<Report, hostwarp::Error> {
    let kernel = device.load("square.ptx", PTX)?.kernel("square")?;
    let data = device.buffer::<u32>(64)?;
    let report = kernel.launch().block([64, 1, 1]).engine(engine).arg(&data).run()?;
    let squares: Vec<u32> = (0..64).map(|i| i * i).collect();
    assert_eq!(data.to_vec()?, squares);
    Ok(report)
}

fn with_llvm(cache: &Path) -> Device {
    Device::builder().cache(Cache::new(cache)).build().expect("a device")
}

/// Whoever asks this device for LLVM gets none.
fn without_llvm(cache: &Path) -> Device {
    let nowhere = cache.join("no/libLLVM.so");
    Device::builder().llvm(nowhere).cache(Cache::new(cache)).build().expect("a device")
}

/// A directory with one compiled kernel; none where there is no LLVM to make it.
fn filled() -> Option<(tempfile::TempDir, PathBuf)> {
    let directory = tempfile::tempdir().expect("a directory");
    let device = with_llvm(directory.path());
    if let Err(why) = device.llvm() {
        eprintln!("skipped: {why}");
        return None;
    }
    assert!(!run(&device, Engine::Jit).expect("it runs").cached);
    let mut files = fs::read_dir(directory.path()).expect("it is there").map(|e| e.expect("readable").path());
    let entry = files.next().expect("an entry");
    assert_eq!(files.next(), None);
    Some((directory, entry))
}

#[test]
fn a_kept_kernel_runs_without_llvm() {
    let Some((directory, _)) = filled() else { return };
    let device = without_llvm(directory.path());
    let report = run(&device, Engine::Jit).expect("it runs");
    assert_eq!((report.engine, report.cached), (Engine::Jit, true));
    assert!(device.llvm().is_err());
    assert_eq!(Cache::new(directory.path()).usage().expect("it is ours").entries, 1);
}

#[test]
fn a_damaged_kernel_is_compiled_again() {
    let Some((directory, entry)) = filled() else { return };
    let good = fs::read(&entry).expect("an entry");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bad in [&flipped, &good[..good.len() - 1], &[]] {
        fs::write(&entry, bad).expect("it is ours");
        assert!(run(&without_llvm(directory.path()), Engine::Jit).is_err(), "there is nothing to run");
        let report = run(&without_llvm(directory.path()), Engine::Auto).expect("the interpreter runs it");
        assert_eq!((report.engine, report.cached), (Engine::Interp, false));
        let report = run(&with_llvm(directory.path()), Engine::Jit).expect("it runs");
        assert!(!report.cached);
        assert_eq!(fs::read(&entry).expect("an entry"), good);
    }
}

#[test]
fn without_a_usable_directory_everything_runs() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    for place in [file.path().to_path_buf(), file.path().join("below")] {
        for _ in 0..2 {
            let device = with_llvm(&place);
            let engine = if device.llvm().is_ok() { Engine::Jit } else { Engine::Interp };
            assert!(!run(&device, engine).expect("it runs").cached);
        }
    }
}

#[test]
fn many_at_once_share_a_directory() {
    let Some((directory, entry)) = filled() else { return };
    fs::remove_file(entry).expect("it is ours");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    run(&with_llvm(directory.path()), Engine::Jit).expect("it runs");
                }
            });
        }
    });
    assert!(run(&with_llvm(directory.path()), Engine::Jit).expect("it runs").cached);
}
