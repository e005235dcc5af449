//! Whole kernels on generated arguments: a manifest says how each is launched, a recording what an H200 made of it, and both engines are held to it.
//!
//! A *set* is a manifest and a folder of PTX files ([`SETS`]): the CUDA math library and what real compilers made. [`gpu`] records on a machine that has
//! nothing but a driver, from cubins that were made elsewhere; [`recording`] is what comes back. A kernel without a recording is counted and named,
//! never taken for one that agrees ([`recording::Recorded::Not`]).

pub mod data;
pub mod gpu;
pub mod manifest;
pub mod recording;

pub use data::Kind;
pub use manifest::{Argument, Entry, Launch, Manifest};
pub use recording::{Recorded, Recording};

use hostwarp::{Arg, Device, Engine, Error, LaunchBuilder, Module, Options, Profile};
use std::path::{Path, PathBuf};

/// Where the manifest of a set is, its PTX, and its recording, from the root of the repository.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// The manifest.
    pub manifest: &'static str,
    /// The PTX files, plain or compressed.
    pub folder: &'static str,
    /// The recording.
    pub recording: &'static str,
}

/// Every set.
pub const SETS: [Set; 3] = [
    Set {
        name: "math",
        manifest: "conformance/kernels/math.txt",
        folder: "conformance/kernels",
        recording: "conformance/recordings/h200_math.txt",
    },
    Set {
        name: "matrix",
        manifest: "conformance/kernels/matrix/manifest.txt",
        folder: "conformance/kernels/matrix",
        recording: "conformance/recordings/h200_products.txt",
    },
    Set {
        name: "corpus",
        manifest: "tests/corpus/kernels.txt",
        folder: "tests/corpus/ptx",
        recording: "conformance/recordings/h200_corpus.txt",
    },
];

impl Set {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Set, String> {
        SETS.into_iter().find(|s| s.name == name).ok_or_else(|| format!("there is no set `{name}`"))
    }

    /// Its files: names without `.zst`, and text.
    pub fn files(&self, root: &Path) -> Result<Vec<(String, String)>, String> {
        let folder = root.join(self.folder);
        let mut paths: Vec<PathBuf> =
            hostwarp_system::file::list(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        paths.retain(|p| p.to_string_lossy().ends_with(".ptx") || p.to_string_lossy().ends_with(".ptx.zst"));
        paths.sort();
        paths.iter().map(|p| read(p)).collect()
    }

    /// Its manifest, with every pattern resolved, and the files it is about.
    pub fn read(&self, root: &Path) -> Result<(Manifest, Vec<(String, String)>), String> {
        let files = self.files(root)?;
        let text = hostwarp_system::file::read(&root.join(self.manifest))
            .map_err(|e| format!("{}: {e}", self.manifest))?;
        let manifest = Manifest::parse(&String::from_utf8_lossy(&text))?;
        let kernels = files.iter().flat_map(|(file, text)| {
            let entries = kernels(text).into_iter();
            entries.map(|k| (file.clone(), k)).collect::<Vec<_>>()
        });
        Ok((manifest.resolve(&kernels.collect::<Vec<_>>())?, files))
    }
}

fn read(path: &Path) -> Result<(String, String), String> {
    let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let mut bytes = hostwarp_system::file::read(path).map_err(|e| wrong(&e))?;
    let mut name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(plain) = name.strip_suffix(".zst") {
        name = plain.into();
        bytes = zstd::decode_all(&bytes[..]).map_err(|e| wrong(&e))?;
    }
    Ok((name, String::from_utf8(bytes).map_err(|e| wrong(&e))?))
}

/// The names of the kernels in a PTX file, in order.
fn kernels(text: &str) -> Vec<String> {
    let name = |rest: &str| rest.split(['(', '\n', ' ', '\r']).find(|w| !w.is_empty()).map(str::to_owned);
    text.split(".entry").skip(1).filter_map(name).collect()
}

impl Entry {
    /// Loads a module as kernels of a set want it.
    pub fn load(device: &Device, file: &str, text: &str) -> Result<Module, Error> {
        device.load_with(file, text, Options { profile: Profile::Sm90 })
    }

    /// Launches it and gives back what is in each output. With a `chunk`, only that part of the grid and of the buffers.
    pub fn run(&self, module: &Module, engine: Engine, chunk: Option<u32>) -> Result<Vec<Vec<u8>>, Error> {
        self.run_as(module, chunk, |launch| launch.engine(engine))
    }

    /// The same, launched as `asked` says.
    pub fn run_as(
        &self,
        module: &Module,
        chunk: Option<u32>,
        asked: impl Fn(LaunchBuilder<'_>) -> LaunchBuilder<'_>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let Launch::Run(launch) = &self.launch else {
            return Err(Error::Launch(format!("{} is not to be run", self.name())));
        };
        let (part, of) = (chunk.unwrap_or(0), if chunk.is_some() { launch.chunks } else { 1 });
        let kernel = module.kernel(&self.kernel)?;
        let mut grid = launch.grid;
        grid[0] /= of;
        let mut builder = asked(kernel.launch().grid(grid).block(launch.block).shared(launch.shared));
        if launch.cooperative {
            builder = builder.cooperative();
        }
        let mut buffers = vec![];
        for (i, argument) in launch.arguments.iter().enumerate() {
            match argument {
                Argument::Bytes(bytes) => builder = builder.arg(Arg::bytes(bytes.clone())),
                Argument::Buffer { .. } => {
                    let bytes = argument.generate(i, part, of);
                    let buffer = module.device().buffer_from(&bytes)?;
                    builder = builder.arg(Arg::bytes(buffer.address().to_le_bytes()));
                    buffers.push((argument.is_output(), buffer));
                }
            }
        }
        builder.run()?;
        buffers.iter().filter(|(output, _)| *output).map(|(_, b)| b.to_vec()).collect()
    }
}
