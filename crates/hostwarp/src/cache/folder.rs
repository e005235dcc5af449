//! The directory of a cache, by a handle that was checked when it was opened.
//!
//! Machine code is loaded from it and run, so nobody else may be able to put any there. A check of a path says nothing about what the path leads to a moment
//! later. So the directory is opened first and what is open is checked, files are opened, renamed and removed relative to it, and every file is checked once
//! more when it is open: a plain file that belongs to us or to root and that nobody else may write to. Links are not followed, and nothing is waited for.

use hostwarp_system::seam::{self, Kind};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

#[cfg(unix)]
pub(super) use unix::Folder;

#[cfg(not(unix))]
pub(super) use portable::Folder;

/// A file of a folder.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

/// Makes the directory, for its user alone.
fn create(path: &Path) -> io::Result<()> {
    seam::ask(Kind::File)?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(unix)]
mod unix {
    use super::*;
    use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, renameat, statat, unlinkat};
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    #[derive(Debug)]
    pub(in crate::cache) struct Folder(OwnedFd);

    impl Folder {
        pub(in crate::cache) fn create(path: &Path) -> io::Result<Folder> {
            create(path)?;
            Folder::open(path)
        }

        pub(in crate::cache) fn open(path: &Path) -> io::Result<Folder> {
            seam::ask(Kind::File)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = openat(rustix::fs::CWD, path, flags, Mode::empty())?;
            seam::ask(Kind::File)?;
            ours(&fstat(&folder)?)?;
            Ok(Folder(folder))
        }

        pub(in crate::cache) fn open_file(&self, name: &str) -> io::Result<File> {
            seam::ask(Kind::File)?;
            // A pipe would have us wait for who writes to it.
            let flags =
                OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let file = openat(&self.0, name, flags, Mode::empty())?;
            seam::ask(Kind::File)?;
            let stat = fstat(&file)?;
            if !is_file(&stat) {
                return Err(io::Error::other("it is no plain file"));
            }
            ours(&stat)?;
            Ok(file.into())
        }

        pub(in crate::cache) fn create_file(&self, name: &str) -> io::Result<File> {
            seam::ask(Kind::File)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
        }

        pub(in crate::cache) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            seam::ask(Kind::File)?;
            Ok(renameat(&self.0, from, &self.0, to)?)
        }

        pub(in crate::cache) fn remove(&self, name: &str) -> io::Result<()> {
            seam::ask(Kind::File)?;
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }

        /// All plain files.
        pub(in crate::cache) fn list(&self) -> io::Result<Vec<Entry>> {
            seam::ask(Kind::File)?;
            let mut found = vec![];
            for entry in Dir::read_from(&self.0)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().to_str() else { continue };
                // It may be gone by now.
                let Ok(stat) = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                if is_file(&stat) {
                    // As wide as they are differs between systems.
                    #[allow(clippy::unnecessary_cast)]
                    let (seconds, bytes) = (stat.st_mtime as i64, stat.st_size as u64);
                    let modified =
                        SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
                    found.push(Entry { name: name.to_string(), bytes, modified });
                }
            }
            Ok(found)
        }
    }

    fn is_file(stat: &Stat) -> bool {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
    }

    /// Whether what is open is safe from others.
    fn ours(stat: &Stat) -> io::Result<()> {
        let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
            return refused("others may write to it");
        }
        let owner = stat.st_uid;
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            return refused("it belongs to another user");
        }
        Ok(())
    }
}

/// Where there are no handles to go by, paths: who may write to them is for the system to say.
#[cfg(not(unix))]
mod portable {
    use super::*;
    use std::path::PathBuf;

    #[derive(Debug)]
    pub(in crate::cache) struct Folder(PathBuf);

    impl Folder {
        pub(in crate::cache) fn create(path: &Path) -> io::Result<Folder> {
            create(path)?;
            Folder::open(path)
        }

        pub(in crate::cache) fn open(path: &Path) -> io::Result<Folder> {
            seam::ask(Kind::File)?;
            match std::fs::metadata(path)?.is_dir() {
                true => Ok(Folder(path.to_path_buf())),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        }

        pub(in crate::cache) fn open_file(&self, name: &str) -> io::Result<File> {
            seam::ask(Kind::File)?;
            let path = self.0.join(name);
            match std::fs::symlink_metadata(&path)?.is_file() {
                true => File::open(path),
                false => Err(io::Error::other("it is no plain file")),
            }
        }

        pub(in crate::cache) fn create_file(&self, name: &str) -> io::Result<File> {
            seam::ask(Kind::File)?;
            File::create_new(self.0.join(name))
        }

        pub(in crate::cache) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            seam::ask(Kind::File)?;
            std::fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(in crate::cache) fn remove(&self, name: &str) -> io::Result<()> {
            seam::ask(Kind::File)?;
            std::fs::remove_file(self.0.join(name))
        }

        /// All plain files.
        pub(in crate::cache) fn list(&self) -> io::Result<Vec<Entry>> {
            seam::ask(Kind::File)?;
            let entry = |entry: io::Result<std::fs::DirEntry>| -> Option<Entry> {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok().filter(|m| m.is_file())?;
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                Some(Entry { name: entry.file_name().to_str()?.to_string(), bytes: metadata.len(), modified })
            };
            Ok(std::fs::read_dir(&self.0)?.filter_map(entry).collect())
        }
    }
}
