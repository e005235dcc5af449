//! The drop-in libraries under NVIDIA's names, and the programs that show that they work.

use crate::{Result, cargo, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

pub fn said<T, E: std::fmt::Display>(result: std::result::Result<T, E>, what: &Path) -> Result<T> {
    result.map_err(|e| format!("{}: {e}", what.display()))
}

/// Functions of the runtime whose parameters are others in CUDA 13 than in CUDA 12. `libcuda.so.1` has both, as `hostwarp12_NAME` and `hostwarp13_NAME`; the
/// small libraries carry the name.
const OF_EACH_VERSION: &[&str] = &[
    "cudaGraphAddDependencies",
    "cudaGraphAddNode",
    "cudaGraphGetEdges",
    "cudaGraphNodeGetDependencies",
    "cudaGraphNodeGetDependentNodes",
    "cudaGraphRemoveDependencies",
    "cudaMemAdvise",
    "cudaMemPrefetchAsync",
    "cudaMemPrefetchAsync_ptsz",
    "cudaStreamGetCaptureInfo",
    "cudaStreamGetCaptureInfo_ptsz",
    "cudaStreamUpdateCaptureDependencies",
    "cudaStreamUpdateCaptureDependencies_ptsz",
];

/// The small library: jumps, as parameters are none of its business.
fn jumps(major: &str) -> String {
    let mut text = "#if defined(__x86_64__)\n#define JUMP \"jmp \"\n#define TO \"@PLT\"\n#else\n#define JUMP \"b \"\n#define TO \"\"\n#endif\n".to_string();
    text += "int hostwarp_cudart(void) { return 0; }\n";
    for name in OF_EACH_VERSION {
        text += &format!(
            "__asm__(\".text\\n.globl {name}\\n.type {name},%function\\n{name}: \" JUMP \"hostwarp{major}_{name}\" TO \"\\n.size {name},.-{name}\\n\");\n"
        );
    }
    text
}

/// Fills `target/dropin` with `libcuda.so.1`, `libcudart.so.13` and `.12`: one library, and two small ones that carry the version nodes programs
/// were linked against. Beside them `libhostwarp.so` with its header, which is `libgpuocelot.so` too.
pub fn build() -> Result {
    directory().map(|directory| println!("{}", directory.display()))
}

pub fn directory() -> Result<PathBuf> {
    let release = std::env::args().any(|a| a == "--release");
    let build = ["build", "-p", "hostwarp-cuda", "-p", "hostwarp-capi", "--release"];
    cargo(&build[..if release { 6 } else { 5 }], &[])?;
    let target = root().join("target");
    let built = target.join(if release { "release" } else { "debug" });
    let library = built.join("libhostwarp_cuda.so");
    let out = target.join("dropin");
    if out.exists() {
        said(fs::remove_dir_all(&out), &out)?;
    }
    said(fs::create_dir_all(&out), &out)?;
    let main = out.join("libcuda.so.1");
    said(fs::copy(&library, &main), &library)?;
    said(symlink("libcuda.so.1", out.join("libcuda.so")), &main)?;
    let own = built.join("libhostwarp_capi.so");
    said(fs::copy(&own, out.join("libhostwarp.so")), &own)?;
    said(symlink("libhostwarp.so", out.join("libgpuocelot.so")), &out)?;
    let header = root().join("crates/capi/include/hostwarp.h");
    said(fs::copy(&header, out.join("hostwarp.h")), &header)?;
    for major in ["12", "13"] {
        let name = format!("libcudart.so.{major}");
        let (script, shim) = (out.join(format!("{name}.map")), out.join(&name));
        said(
            fs::write(
                &script,
                format!("{name} {{ global: hostwarp_cudart; {}; local: *; }};\n", OF_EACH_VERSION.join("; ")),
            ),
            &script,
        )?;
        let source = out.join("shim.c");
        said(fs::write(&source, jumps(major)), &source)?;
        let (path, script) = (shim.display().to_string(), script.display().to_string());
        let options = [
            "-shared".to_string(),
            "-fPIC".into(),
            "-o".into(),
            path,
            source.display().to_string(),
            format!("-Wl,-soname,{name}"),
            format!("-Wl,--version-script={script}"),
            "-Wl,--no-as-needed".into(),
            main.display().to_string(),
            "-Wl,-rpath,$ORIGIN".into(),
        ];
        run("cc", &options.iter().map(String::as_str).collect::<Vec<_>>(), &[])?;
    }
    Ok(out)
}

/// nvcc from PyPI, in `target/nvcc` or where `HOSTWARP_NVCC` says.
pub fn nvcc() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("HOSTWARP_NVCC") {
        return Ok(PathBuf::from(path));
    }
    let at = root().join("target/nvcc");
    let nvcc = at.join("nvidia/cu13/bin/nvcc");
    let packages = [
        "nvidia-cuda-nvcc",
        "nvidia-cuda-runtime",
        "nvidia-cuda-crt",
        "nvidia-cuda-cccl",
        "nvidia-cuda-profiler-api",
        "nvidia-nvvm",
    ];
    // An older folder may lack one; pip does not add to what is there, so all of them are put in anew.
    let there: Vec<String> = fs::read_dir(&at)
        .map(|all| all.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    let installed = |package: &str| {
        let name = package.replace('-', "_") + "-";
        there.iter().any(|file| file.starts_with(&name) && file.ends_with(".dist-info"))
    };
    if !nvcc.exists() || !packages.iter().all(|package| installed(package)) {
        let at = at.display().to_string();
        let install = [&["-m", "pip", "install", "-q", "--upgrade", "--target", &at], &packages[..]].concat();
        run("python3", &install, &[])?;
    }
    Ok(nvcc)
}

/// Compiles the programs of `tests/cuda` with nvcc, runs them on the drop-in libraries and compares what they print with the comments at their head.
pub fn programs() -> Result {
    let (dropin, nvcc) = (directory()?, nvcc()?);
    let home = nvcc.parent().and_then(Path::parent).ok_or("nvcc has no directory")?.to_path_buf();
    let major = if home.join("lib/libcudart.so.13").exists() { 13 } else { 12 };
    let out = root().join(format!("target/cuda-programs-{major}"));
    said(fs::create_dir_all(&out), &out)?;
    // The real one to link against, so that programs are what their users have; the drop-in takes its place when they run.
    let link = out.join("libcudart.so");
    if !link.exists() {
        said(symlink(home.join(format!("lib/libcudart.so.{major}")), &link), &link)?;
    }
    let sources = root().join("tests/cuda");
    let mut all: Vec<PathBuf> =
        said(fs::read_dir(&sources), &sources)?.filter_map(|e| Some(e.ok()?.path())).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "cu"));
    all.sort();
    let mut failed = vec![];
    // `// cuda: 13` at its head: what it calls is not in CUDA 12.
    let of_all = all.len();
    all.retain(|source| {
        let since = fs::read_to_string(source).map(|text| heads(&text, "// cuda: ")).unwrap_or_default();
        since.iter().all(|n| n.trim().parse::<u32>().is_ok_and(|n| n <= major))
    });
    println!("CUDA {major}: {} of {of_all} programs are for it", all.len());
    for source in &all {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match one(source, &out.join(&name), (&nvcc, &home, &dropin)) {
            Ok(()) => println!("ok      {name}"),
            Err(why) => {
                println!("FAILED  {name}: {why}");
                failed.push(name);
            }
        }
    }
    println!("{} of {} programs", all.len() - failed.len(), all.len());
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// The lines that begin with `// out: `, and what `// args: ` adds to nvcc's.
fn heads(text: &str, key: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix(key)).map(str::to_string).collect()
}

fn one(source: &Path, program: &Path, (nvcc, home, dropin): (&Path, &Path, &Path)) -> Result {
    let text = said(fs::read_to_string(source), source)?;
    let expected = heads(&text, "// out: ").join("\n");
    let compiled = Command::new(nvcc)
        .args(["-cudart", "shared", "-std=c++17", "-arch=compute_90", "-code=compute_90"])
        .args(
            heads(&text, "// args: ")
                .iter()
                .flat_map(|l| l.split(' ').map(str::to_string).collect::<Vec<_>>()),
        )
        .arg(format!("-I{}", home.join("include").display()))
        .arg(format!("-I{}", home.join("include/cccl").display()))
        .arg(format!("-L{}", program.with_file_name("").display()))
        .arg(format!("-L{}", dropin.display()))
        .arg("-o")
        .args([program, source])
        .output();
    let compiled = said(compiled, nvcc)?;
    if !compiled.status.success() {
        return Err(format!("nvcc: {}", String::from_utf8_lossy(&compiled.stderr)));
    }
    let ran = said(Command::new(program).env("LD_LIBRARY_PATH", dropin).output(), program)?;
    let got = String::from_utf8_lossy(&ran.stdout).trim_end().to_string();
    if got != expected || !ran.status.success() {
        let errors = String::from_utf8_lossy(&ran.stderr);
        return Err(format!(
            "{}\n--- expected\n{expected}\n--- got\n{got}\n--- errors\n{errors}",
            ran.status
        ));
    }
    Ok(())
}

/// A client: its script, what it needs from PyPI, and the variables it is run with.
type Client = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const CLIENTS: &[Client] = &[
    ("tinygrad_ops.py", &["tinygrad", "numpy"], &[("DEV", "CUDA:PTX")]),
    ("cuda_core_add.py", &["cuda-core", "cuda-bindings", "numpy"], &[]),
    (
        "numba_add.py",
        &["numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvrtc", "cuda-core", "cuda-bindings", "numpy"],
        &[],
    ),
    (
        "numba_tests.py",
        &[
            "numba-cuda",
            "nvidia-nvvm",
            "nvidia-cuda-nvrtc",
            "nvidia-cuda-runtime",
            "nvidia-cuda-cccl",
            "cuda-core",
            "cuda-bindings",
            "numpy",
            "scipy",
            "cffi",
            "psutil",
            "pytest",
            "filecheck",
            "ml_dtypes",
        ],
        &[],
    ),
    ("triton_add.py", &["triton", "numpy"], &[]),
];

/// PyCUDA, which is built from its source: it takes headers and libraries from beside the nvcc in `PATH`.
fn pycuda(python: &str, dropin: &str) -> Result {
    let nvcc = nvcc()?;
    let home = nvcc.parent().and_then(Path::parent).ok_or("nvcc has no directory")?;
    let toolkit = root().join("target/toolkit");
    for folder in ["bin", "lib64"] {
        said(fs::create_dir_all(toolkit.join(folder)), &toolkit)?;
    }
    let links = [
        (toolkit.join("bin/nvcc"), nvcc.clone()),
        (toolkit.join("include"), home.join("include")),
        (toolkit.join("lib64/libcuda.so"), Path::new(dropin).join("libcuda.so.1")),
    ];
    for (link, to) in &links {
        if fs::symlink_metadata(link).is_err() {
            said(symlink(to, link), link)?;
        }
    }
    // Without cuRAND, which carries NVIDIA's static runtime; PyCUDA's build looks for this file at home.
    let settings = toolkit.join(".aksetup-defaults.py");
    said(fs::write(&settings, "CUDA_ENABLE_CURAND = False\n"), &settings)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let building = format!("{}:{path}", toolkit.join("bin").display());
    let home = toolkit.display().to_string();
    let install = ["-m", "pip", "install", "-q", "pycuda", "numpy", "mako"];
    run(python, &install, &[("PATH", &building), ("HOME", &home)])?;
    let running = format!("{}:{path}", root().join("tests/clients").display());
    let nvcc = nvcc.display().to_string();
    let env = [("LD_LIBRARY_PATH", dropin), ("PATH", &running), ("HOSTWARP_NVCC", &nvcc)];
    run(python, &["tests/clients/pycuda_add.py"], &env)
}

/// Runs the scripts of `tests/clients` with what they need from PyPI on the drop-in libraries. Names of scripts choose some of them.
pub fn clients() -> Result {
    let dropin = directory()?;
    cargo(&["build", "-p", "hostwarp-cli"], &[])?;
    let venv = root().join("target/clients");
    let python = venv.join("bin/python");
    if !python.exists() {
        run("python3", &["-m", "venv", &venv.display().to_string()], &[])?;
    }
    let ptxas = venv.join("ptxas");
    let hostwarp = root().join("target/debug/hostwarp");
    let script = format!("#!/bin/sh\nexec {} ptxas \"$@\"\n", hostwarp.display());
    said(fs::write(&ptxas, script), &ptxas)?;
    use std::os::unix::fs::PermissionsExt;
    said(fs::set_permissions(&ptxas, fs::Permissions::from_mode(0o755)), &ptxas)?;
    let (python, ptxas, cache) = (
        python.display().to_string(),
        ptxas.display().to_string(),
        venv.join("triton").display().to_string(),
    );
    let dropin = dropin.display().to_string();
    let chosen: Vec<String> = std::env::args().skip(2).filter(|a| !a.starts_with('-')).collect();
    let mut failed = vec![];
    for (name, packages, variables) in CLIENTS {
        if !chosen.is_empty() && !chosen.iter().any(|c| name.contains(c.as_str())) {
            continue;
        }
        run(&python, &[&["-m", "pip", "install", "-q"], *packages].concat(), &[])?;
        let mut env = vec![
            ("LD_LIBRARY_PATH", dropin.as_str()),
            ("TRITON_LIBCUDA_PATH", dropin.as_str()),
            ("TRITON_PTXAS_PATH", ptxas.as_str()),
            ("TRITON_PTXAS_BLACKWELL_PATH", ptxas.as_str()),
            ("TRITON_CACHE_DIR", cache.as_str()),
        ];
        env.extend_from_slice(variables);
        if let Err(why) = run(&python, &[&format!("tests/clients/{name}")], &env) {
            println!("{why}");
            failed.push(*name);
        }
    }
    if (chosen.is_empty() || chosen.iter().any(|c| c == "pycuda"))
        && let Err(why) = pycuda(&python, &dropin)
    {
        println!("{why}");
        failed.push("pycuda");
    }
    if chosen.is_empty() || chosen.iter().any(|c| c == "cudarc") {
        let (manifest, target) = ("tests/clients/cudarc/Cargo.toml", root().join("target/cudarc"));
        let env = [("LD_LIBRARY_PATH", dropin.as_str()), ("CARGO_TARGET_DIR", &target.to_string_lossy())];
        for version in ["v18", "v19"] {
            let run = ["run", "--quiet", "--manifest-path", manifest, "--features", version];
            if let Err(why) = cargo(&run, &env) {
                println!("{why}");
                failed.push("cudarc");
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}
