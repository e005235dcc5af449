//! Files: read as they are, replaced whole or not at all.
//!
//! What is written goes to a temporary file in the same folder, which takes the place of the old one when all of it is there. A full disk, a process
//! that is killed or a second writer therefore never leaves a part of a file, and what was there before stays until then.

use crate::seam::{self, Kind};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::NamedTempFile;

/// Opens a file to read it.
#[track_caller]
pub fn open(path: &Path) -> io::Result<File> {
    seam::ask(Kind::File)?;
    File::open(path)
}

/// All of a file.
#[track_caller]
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata().map_or(0, |m| m.len());
    let mut bytes = vec![];
    // Memory that is not there is an error, not the end of the process.
    bytes.try_reserve(usize::try_from(size).unwrap_or(usize::MAX)).map_err(|_| io::ErrorKind::OutOfMemory)?;
    seam::ask(Kind::File)?;
    (&file).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The names in a folder.
#[track_caller]
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    seam::ask(Kind::File)?;
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Makes a folder and those above it.
#[track_caller]
pub fn create_folder(path: &Path) -> io::Result<()> {
    seam::ask(Kind::File)?;
    fs::create_dir_all(path)
}

/// Gives a file these contents; see [`Replacement`].
#[track_caller]
pub fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    Replacement::new(path, contents)?.commit()
}

/// Whether a file could be replaced now, to be asked before work that would be lost if not. Changes nothing.
#[track_caller]
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    // Whoever reads a pipe would take its being closed again for the end, and nobody would be there when it is written to.
    #[cfg(unix)]
    if let Ok(to) = target(path)
        && fs::metadata(&to).is_ok_and(|m| !m.is_file() && !m.is_dir())
    {
        seam::ask(Kind::File)?;
        return Ok(rustix::fs::access(&to, rustix::fs::Access::WRITE_OK)?);
    }
    Replacement::new(path, b"").map(drop)
}

/// Whether a path leads to a file that another could take the place of: no pipe, no device, and not the name of an open file like `/dev/stdin`.
pub fn is_replaceable(path: &Path) -> bool {
    target(path).is_ok_and(|to| !is_open_file(&to) && fs::metadata(&to).is_ok_and(|m| m.is_file()))
}

/// As many links are followed as Linux does.
const MOST_LINKS: usize = 40;

/// Where a path leads when all links are followed: what is written to it is written there. It need not exist.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            // What the system says of open files is no path.
            Ok(_) if is_open_file(&path) => return Ok(path),
            // A relative one begins where the link lies.
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links, one leading to the other"))
}

/// Whether both paths lead to one file, so that what is written to one of them last is all that stays. Devices and pipes take any number of writers.
pub fn same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| -> Option<(PathBuf, Option<Metadata>)> {
        let path = target(path).ok()?;
        let metadata = fs::metadata(&path).ok();
        let name = path.file_name()?;
        Some((fs::canonicalize(folder_of(&path)).ok()?.join(name), metadata))
    };
    let (Some((a, of_a)), Some((b, of_b))) = (place(a), place(b)) else { return false };
    if [&of_a, &of_b].into_iter().flatten().any(|m| !m.is_file()) {
        return false;
    }
    #[cfg(unix)]
    if let (Some(a), Some(b)) = (&of_a, &of_b) {
        use std::os::unix::fs::MetadataExt;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    a == b
}

/// Whether a path is one of the names that open files have, as `/dev/stdout` leads to.
fn is_open_file(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/dev/fd")
}

/// Whether a path is stdout's.
fn is_stdout(path: &Path) -> bool {
    ["/proc/self/fd/1", "/dev/fd/1"].iter().any(|p| path == Path::new(p))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The new contents of a file, on disk beside it. Dropped, they go and the file stays as it was.
///
/// The file keeps its permissions, and its owner where the system allows. A link stays, and what it leads to is replaced. A file that may not be written to is
/// not replaced, although its folder would allow it. What is no file, like a pipe or `/dev/stdout`, cannot be replaced: it is written to in the end.
#[must_use]
#[derive(Debug)]
pub struct Replacement(Way);

#[derive(Debug)]
enum Way {
    Rename { new: NamedTempFile, to: PathBuf, _unfinished: Unfinished },
    Write { to: File, contents: Vec<u8> },
    Stdout { contents: Vec<u8> },
}

impl Replacement {
    /// Writes the contents, all but in place.
    #[track_caller]
    pub fn new(path: &Path, contents: &[u8]) -> io::Result<Replacement> {
        let to = target(path)?;
        if is_stdout(&to) {
            // Opened once more it would be written from its beginning, over what else is printed.
            return Ok(Replacement(Way::Stdout { contents: contents.to_vec() }));
        }
        seam::ask(Kind::File)?;
        // Neither cut off nor written to: whether it could be is all that is asked.
        let old = match OpenOptions::new().write(true).open(&to) {
            Ok(old) => Some((old.metadata()?, old)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        if let Some((_, old)) = old.as_ref().filter(|(m, _)| !m.is_file() || is_open_file(&to)) {
            return Ok(Replacement(Way::Write { to: old.try_clone()?, contents: contents.to_vec() }));
        }
        // Said of the folder, not of a file in it that nobody has named.
        fs::metadata(folder_of(&to))?;
        seam::ask(Kind::File)?;
        let mut new = beside(&to)?;
        let unfinished = Unfinished::new(new.path());
        // In two parts, so that a test can have the disk be full between them.
        let (first, second) = contents.split_at(contents.len() / 2);
        for part in [first, second] {
            seam::ask(Kind::File)?;
            new.write_all(part)?;
        }
        if let Some((metadata, _)) = old {
            keep(&metadata, new.as_file())?;
            seam::ask(Kind::File)?;
            // What takes the place of the old must have come to the disk, or a system that stops now has neither.
            new.as_file().sync_all()?;
        }
        Ok(Replacement(Way::Rename { new, to, _unfinished: unfinished }))
    }

    /// Puts the contents in place.
    #[track_caller]
    pub fn commit(self) -> io::Result<()> {
        seam::ask(Kind::File)?;
        match self.0 {
            Way::Rename { new, to, .. } => new.persist(to).map(drop).map_err(|e| e.error),
            Way::Write { mut to, contents } => {
                // As a shell does with what stands behind `>`: nothing of what was there stays behind it.
                if to.metadata()?.is_file() {
                    to.set_len(0)?;
                }
                to.write_all(&contents)
            }
            Way::Stdout { contents } => crate::stdout::write(&contents),
        }
    }
}

/// Temporary files that are there.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(vec![]);

/// A temporary file that goes even if the process ends [at once](crate::exit::now).
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Unfinished {
        let path = std::path::absolute(path).unwrap_or(path.to_path_buf());
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        Unfinished(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Removes the temporary files that are there: nobody will put them in place any more.
pub(crate) fn remove_unfinished() {
    // Whoever holds the list does not for long, but at the end of a process nobody waits.
    if let Ok(paths) = UNFINISHED.try_lock() {
        for path in &*paths {
            let _ = fs::remove_file(path);
        }
    }
}

/// A temporary file that everybody may read who might read a new file.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut prefix = OsStr::new(".").to_owned();
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder_of(path))
}

/// Gives the new file what the old one has.
#[track_caller]
fn keep(old: &Metadata, new: &File) -> io::Result<()> {
    seam::ask(Kind::File)?;
    #[cfg(unix)]
    {
        use rustix::fs::{Gid, Uid, fchown};
        use std::os::unix::fs::MetadataExt;
        let now = new.metadata()?;
        // One after the other: the group may be ours to choose where the owner is not.
        if now.uid() != old.uid() {
            let _ = fchown(new, Some(Uid::from_raw(old.uid())), None);
        }
        if now.gid() != old.gid() {
            let _ = fchown(new, None, Some(Gid::from_raw(old.gid())));
        }
    }
    // After the owner, whose change takes bits away.
    new.set_permissions(old.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = list(folder)
            .unwrap()
            .iter()
            .map(|p| p.file_name().unwrap().to_str().unwrap().to_string())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_only_by_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        replace(&path, b"old").unwrap();
        let new = Replacement::new(&path, b"new contents").unwrap();
        assert_eq!(read(&path).unwrap(), b"old");
        drop(new);
        assert_eq!((read(&path).unwrap(), names(folder.path())), (b"old".to_vec(), vec!["a".to_string()]));
        Replacement::new(&path, b"new contents").unwrap().commit().unwrap();
        assert_eq!(
            (read(&path).unwrap(), names(folder.path())),
            (b"new contents".to_vec(), vec!["a".to_string()])
        );
        let nowhere = replace(&folder.path().join("no/where"), b"").unwrap_err();
        assert!(
            nowhere.kind() == io::ErrorKind::NotFound && !nowhere.to_string().contains("part"),
            "{nowhere}"
        );
        assert!(replace(folder.path(), b"").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        File::create(at("plain")).unwrap();
        replace(&at("new"), b"new").unwrap();
        assert_eq!(mode(&at("new")), mode(&at("plain")), "as any new file");
        fs::create_dir(at("deep")).unwrap();
        symlink("deep/target", at("link")).unwrap();
        symlink("../link", at("deep/link")).unwrap();
        // First to what is not there, then to what is.
        for (contents, bits) in [("one", 0o640), ("two", 0o640), ("three", 0o600)] {
            replace(&at("deep/link"), contents.as_bytes()).unwrap();
            assert_eq!(read(&at("deep/target")).unwrap(), contents.as_bytes());
            if contents != "one" {
                assert_eq!(mode(&at("deep/target")), bits, "{contents}");
            }
            let next = if contents == "one" { 0o640 } else { 0o600 };
            fs::set_permissions(at("deep/target"), fs::Permissions::from_mode(next)).unwrap();
        }
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(at("deep/link")).unwrap().is_symlink());
        symlink("b", at("a")).unwrap();
        symlink("a", at("b")).unwrap();
        assert!(replace(&at("a"), b"").is_err());
        // Nobody is asked whose root's permissions are.
        fs::set_permissions(at("plain"), fs::Permissions::from_mode(0o444)).unwrap();
        if OpenOptions::new().write(true).open(at("plain")).is_err() {
            assert_eq!(replace(&at("plain"), b"x").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            assert_eq!(read(&at("plain")).unwrap(), b"");
        }
    }

    #[cfg(unix)]
    #[test]
    fn one_file_is_known_by_all_its_names() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        assert!(same(&at("a"), &at("deep/../a")) && !same(&at("a"), &at("b")));
        File::create(at("a")).unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        symlink("../a", at("deep/soft")).unwrap();
        assert!(same(&at("a"), &at("hard")) && same(&at("hard"), &at("deep/soft")));
        assert!(!same(&at("a"), &at("b")));
        assert!(!same(Path::new("/dev/null"), Path::new("/dev/null")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_file_holds_what_is_written_and_no_more() {
        use std::os::fd::AsRawFd;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        replace(&path, b"a long old text").unwrap();
        let open = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        for name in ["/dev/fd", "/proc/self/fd"] {
            let name = PathBuf::from(format!("{name}/{}", open.as_raw_fd()));
            assert!(is_replaceable(&path) && !is_replaceable(&name));
            replace(&name, b"new").unwrap();
            assert_eq!(read(&path).unwrap(), b"new");
        }
        assert!(!is_replaceable(Path::new("/dev/null")) && !is_replaceable(&folder.path().join("b")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_file_is_written_to() {
        replace(Path::new("/dev/null"), b"away").unwrap();
        let full = replace(Path::new("/dev/full"), b"too much");
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
