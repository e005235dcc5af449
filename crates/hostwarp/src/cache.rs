//! Compiled kernels kept on disk, so that the next process need not load LLVM.
//!
//! A directory with one file for each object, named by the hash of all it was made from. Files appear whole or not at all (written
//! beside, then renamed), so any number of processes can share a directory. Nothing that is read is believed before its checksum
//! has been compared, and since the checksum protects from accidents only, what others may write to is not used ([`folder`]).
//!
//! Whatever goes wrong here, the kernel is compiled as if there were no cache.

mod folder;

use crate::jit::KernelText;
use crate::jit::llvm::Tier;
use folder::{Entry, Folder};
use hostwarp_system::seam;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A directory of compiled kernels. See [`DeviceBuilder::cache`](crate::DeviceBuilder::cache).
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
    limit: u64,
}

/// What a [`Cache`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    /// Compiled kernels.
    pub entries: u64,
    /// Bytes they take.
    pub bytes: u64,
}

/// What the object of a kernel is found by.
pub(crate) type Key = [u8; 32];

/// The format of a file: this, the key, the length of the object, its hash, the object.
const MAGIC: &[u8; 16] = b"hostwarp object\x01";
const HEADER: usize = MAGIC.len() + 32 + 8 + 32;

const SUFFIX: &str = ".kernel";
/// Of a file that is being written.
const UNFINISHED: &str = ".part";

/// An entry that is used says so, but not more often than this: most hits should not write.
const USED: Duration = Duration::from_secs(60 * 60);
/// Nobody writes for so long: whoever began has died.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

impl Cache {
    /// How many bytes a cache takes at most unless told otherwise.
    pub const LIMIT: u64 = 256 << 20;

    /// A cache in this directory, which is made when something is first kept.
    pub fn new(directory: impl Into<PathBuf>) -> Cache {
        Cache { directory: directory.into(), limit: Cache::LIMIT }
    }

    /// The same with room for so many bytes: the entries not used for longest make room for others.
    pub fn with_limit(self, bytes: u64) -> Cache {
        Cache { limit: bytes, ..self }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// How many bytes it takes at most.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What it holds now, or why it cannot be used. A directory that is not there yet holds nothing.
    pub fn usage(&self) -> io::Result<CacheUsage> {
        let folder = match Folder::open(&self.directory) {
            Ok(folder) => folder,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(CacheUsage::default()),
            Err(e) => return Err(e),
        };
        let mut usage = CacheUsage::default();
        for entry in files(&folder)?.iter().filter(|f| f.finished) {
            usage.entries += 1;
            usage.bytes += entry.bytes;
        }
        Ok(usage)
    }

    /// The object kept under this key.
    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let mut file = Folder::open(&self.directory).ok()?.open_file(&name(key)).ok()?;
        let metadata = file.metadata().ok()?;
        if metadata.len() > self.limit {
            return None;
        }
        let mut bytes = vec![];
        bytes.try_reserve_exact(usize::try_from(metadata.len()).ok()?).ok()?;
        seam::ask(seam::Kind::File).ok()?;
        (&mut file).take(self.limit).read_to_end(&mut bytes).ok()?;
        let valid = bytes.split_at_checked(HEADER).is_some_and(|(h, object)| h == header(key, object));
        if !valid {
            return None;
        }
        if metadata.modified().ok().and_then(|m| m.elapsed().ok()).is_some_and(|age| age > USED) {
            // A cache that cannot be written to is still worth reading.
            let _ = file.set_modified(SystemTime::now());
        }
        bytes.drain(..HEADER);
        Some(bytes)
    }

    /// Keeps an object, in place of what was there.
    pub(crate) fn put(&self, key: &Key, object: &[u8]) -> io::Result<()> {
        let bytes = (HEADER + object.len()) as u64;
        if bytes > self.limit {
            return Ok(());
        }
        let folder = Folder::create(&self.directory)?;
        self.make_room(&folder, bytes)?;
        let unfinished = unfinished(key);
        let mut file = folder.create_file(&unfinished)?;
        let mut write = || {
            for part in [&header(key, object), object] {
                seam::ask(seam::Kind::File)?;
                file.write_all(part)?;
            }
            folder.rename(&unfinished, &name(key))
        };
        let written = write();
        if written.is_err() {
            let _ = folder.remove(&unfinished);
        }
        written
    }

    /// Removes what was used longest ago until so many bytes more fit.
    fn make_room(&self, folder: &Folder, bytes: u64) -> io::Result<()> {
        let mut files = files(folder)?;
        let mut total: u64 = files.iter().map(|f| f.bytes).sum::<u64>() + bytes;
        files.sort_by_key(|f| f.used);
        let now = SystemTime::now();
        for file in files {
            let abandoned = !file.finished && now.duration_since(file.used).is_ok_and(|age| age > ABANDONED);
            // What is being written is not taken away: its writer would fail.
            if !(abandoned || total > self.limit && file.finished) {
                continue;
            }
            match folder.remove(&file.name) {
                Ok(()) => total -= file.bytes,
                // Another process was faster.
                Err(e) if e.kind() == io::ErrorKind::NotFound => total -= file.bytes,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// The name of an entry.
fn name(key: &Key) -> String {
    hex(key) + SUFFIX
}

/// A name that nobody else uses, in this process or another.
fn unfinished(key: &Key) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{next}{UNFINISHED}", hex(key), std::process::id())
}

/// All files of ours; what else lies in the directory is nobody's business here.
fn files(folder: &Folder) -> io::Result<Vec<Kept>> {
    Ok(folder.list()?.into_iter().filter_map(Kept::new).collect())
}

/// A file of a cache.
struct Kept {
    name: String,
    bytes: u64,
    used: SystemTime,
    finished: bool,
}

impl Kept {
    fn new(entry: Entry) -> Option<Kept> {
        let (key, rest) = entry.name.split_at_checked(64)?;
        let finished = rest == SUFFIX;
        if !key.bytes().all(|b| b.is_ascii_hexdigit()) || !(finished || rest.ends_with(UNFINISHED)) {
            return None;
        }
        Some(Kept { bytes: entry.bytes, used: entry.modified, finished, name: entry.name })
    }
}

/// The key of a kernel's object: all that it is made from. Which LLVM makes it is left out, because asking would mean to load it, and
/// all make code that gives the same bits.
pub(crate) fn key(text: &KernelText, tier: &Tier) -> Key {
    let parts = [env!("CARGO_PKG_VERSION"), &text.target().to_string(), &tier.to_string(), text.text()];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

fn header(key: &Key, object: &[u8]) -> Vec<u8> {
    let length = (object.len() as u64).to_le_bytes();
    [&MAGIC[..], key, &length, &Sha256::digest(object)].concat()
}

fn hex(key: &Key) -> String {
    key.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    impl Cache {
        fn path(&self, key: &Key) -> PathBuf {
            self.directory.join(name(key))
        }
    }

    const OBJECT: &[u8] = b"not really machine code";

    fn cache() -> (tempfile::TempDir, Cache) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::new(directory.path().join("kernels"));
        (directory, cache)
    }

    fn age(cache: &Cache, key: &Key, seconds: u64) {
        let file = File::options().write(true).open(cache.path(key)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn an_entry_comes_back_under_its_key_only() {
        let (_directory, cache) = cache();
        assert_eq!(cache.usage().unwrap(), CacheUsage::default());
        assert_eq!(cache.get(&[1; 32]), None);
        cache.put(&[1; 32], OBJECT).unwrap();
        assert_eq!(cache.get(&[1; 32]).as_deref(), Some(OBJECT));
        assert_eq!(cache.get(&[2; 32]), None);
        // Even where a file has the name of another.
        fs::copy(cache.path(&[1; 32]), cache.path(&[2; 32])).unwrap();
        assert_eq!(cache.get(&[2; 32]), None);
        let bytes = (HEADER + OBJECT.len()) as u64 * 2;
        assert_eq!(cache.usage().unwrap(), CacheUsage { entries: 2, bytes });
    }

    #[test]
    fn a_damaged_entry_is_none_and_is_replaced() {
        let (_directory, cache) = cache();
        let key = [7; 32];
        cache.put(&key, OBJECT).unwrap();
        let good = fs::read(cache.path(&key)).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(cache.path(&key), bad).unwrap();
            assert_eq!(cache.get(&key), None, "byte {at}");
            fs::write(cache.path(&key), &good[..at]).unwrap();
            assert_eq!(cache.get(&key), None, "cut at {at}");
        }
        fs::write(cache.path(&key), [&good[..], b"more"].concat()).unwrap();
        assert_eq!(cache.get(&key), None);
        cache.put(&key, OBJECT).unwrap();
        assert_eq!(cache.get(&key).as_deref(), Some(OBJECT));
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let (_directory, cache) = cache();
        let each = (HEADER + OBJECT.len()) as u64;
        let cache = cache.with_limit(3 * each);
        for n in 0..3 {
            cache.put(&[n; 32], OBJECT).unwrap();
            age(&cache, &[n; 32], 10_000 - u64::from(n));
        }
        fs::write(cache.directory.join("mine.txt"), "not of the cache").unwrap();
        // Used, and therefore no longer the oldest.
        assert!(cache.get(&[0; 32]).is_some());
        cache.put(&[3; 32], OBJECT).unwrap();
        let there: Vec<u8> = (0..4).filter(|n| cache.get(&[*n; 32]).is_some()).collect();
        assert_eq!(there, [0, 2, 3]);
        assert_eq!(cache.usage().unwrap().bytes, 3 * each);
        assert!(cache.directory.join("mine.txt").exists());
        // Nothing goes for what would never fit.
        cache.put(&[4; 32], &vec![0; 3 * each as usize]).unwrap();
        assert_eq!(cache.usage().unwrap().entries, 3);
    }

    #[test]
    fn only_abandoned_files_are_cleared_away() {
        let (_directory, cache) = cache();
        cache.put(&[1; 32], OBJECT).unwrap();
        let (old, new) = (unfinished(&[2; 32]), unfinished(&[2; 32]));
        let (old, new) = (cache.directory.join(old), cache.directory.join(new));
        for path in [&old, &new] {
            fs::write(path, "half of").unwrap();
        }
        let file = File::options().write(true).open(&old).unwrap();
        file.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        cache.put(&[3; 32], OBJECT).unwrap();
        assert!(!old.exists() && new.exists());
        assert_eq!(cache.usage().unwrap().entries, 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let (_directory, cache) = cache();
        cache.put(&[1; 32], OBJECT).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&cache.directory), 0o700);
        assert_eq!(mode(&cache.path(&[1; 32])), 0o600);
        for (mode, trusted) in [(0o755, true), (0o720, false), (0o702, false), (0o777, false)] {
            fs::set_permissions(&cache.directory, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(cache.get(&[1; 32]).is_some(), trusted, "{mode:o}");
            assert_eq!(cache.put(&[2; 32], OBJECT).is_ok(), trusted, "{mode:o}");
            assert_eq!(cache.usage().is_ok(), trusted, "{mode:o}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_a_plain_file_of_ours_is_an_entry() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (directory, cache) = cache();
        let key = [1; 32];
        cache.put(&key, OBJECT).unwrap();
        let entry = cache.path(&key);
        for (mode, trusted) in [(0o644, true), (0o400, true), (0o620, false), (0o602, false), (0o666, false)]
        {
            fs::set_permissions(&entry, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(cache.get(&key).is_some(), trusted, "{mode:o}");
        }
        fs::set_permissions(&entry, fs::Permissions::from_mode(0o600)).unwrap();
        // The very bytes, but by a link.
        let elsewhere = directory.path().join("elsewhere");
        fs::rename(&entry, &elsewhere).unwrap();
        symlink(&elsewhere, &entry).unwrap();
        assert_eq!(cache.get(&key), None, "a link");
        fs::remove_file(&entry).unwrap();
        fs::create_dir(&entry).unwrap();
        assert_eq!(cache.get(&key), None, "a directory");
        fs::remove_dir(&entry).unwrap();
        // Nobody ever writes to it: who waited for that would hang.
        rustix::fs::mknodat(rustix::fs::CWD, &entry, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(cache.get(&key), None, "a pipe");
        assert_eq!(cache.usage().unwrap().entries, 0);
        cache.put(&key, OBJECT).unwrap();
        assert_eq!(cache.get(&key).as_deref(), Some(OBJECT), "it takes the place of what was there");
        // Root can make files of others.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&entry, Some(12345), None).unwrap();
            assert_eq!(cache.get(&key), None, "of another user");
            std::os::unix::fs::chown(&cache.directory, Some(12345), None).unwrap();
            assert!(cache.usage().is_err() && cache.put(&key, OBJECT).is_err());
        }
    }

    /// An attacker swaps the directory for one of theirs all the time. What is in it has the right name, key and checksum, and must never come out.
    #[cfg(unix)]
    #[test]
    fn a_directory_that_is_swapped_is_never_believed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        use std::sync::atomic::AtomicBool;
        const FORGED: &[u8] = b"somebody else's code";
        let (directory, cache) = cache();
        let key = [1; 32];
        let at = |name: &str| directory.path().join(name);
        let fill = |name: &str, object: &[u8]| {
            cache.put(&key, object).unwrap();
            fs::rename(&cache.directory, at(name)).unwrap();
        };
        fill("good", OBJECT);
        fill("bad", FORGED);
        // Theirs: as root we can say so; else by what only they would allow.
        match rustix::process::geteuid().is_root() {
            true => std::os::unix::fs::chown(at("bad"), Some(12345), None).unwrap(),
            false => fs::set_permissions(at("bad"), fs::Permissions::from_mode(0o777)).unwrap(),
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut turn = 0;
                while !stop.load(Ordering::Relaxed) {
                    turn += 1;
                    let to = at(if turn % 2 == 0 { "good" } else { "bad" });
                    let _ = symlink(to, at("next"));
                    let _ = fs::rename(at("next"), &cache.directory);
                }
            });
            let mut found = 0;
            for _ in 0..20_000 {
                match cache.get(&key) {
                    Some(object) if object == OBJECT => found += 1,
                    None => {}
                    Some(_) => {
                        stop.store(true, Ordering::Relaxed);
                        panic!("somebody else's code was believed");
                    }
                }
            }
            stop.store(true, Ordering::Relaxed);
            assert!(found > 0, "the good one was never there");
        });
    }

    #[test]
    fn readers_and_writers_at_once_see_whole_entries() {
        let (_directory, cache) = cache();
        let cache = cache.with_limit(64 << 10);
        let object = |n: u8| vec![n; 8 << 10];
        std::thread::scope(|scope| {
            for t in 0..8u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for turn in 0..50u8 {
                        // More than fits, so that entries also go while others read them.
                        let n = (t + turn) % 12;
                        match cache.get(&[n; 32]) {
                            Some(found) => assert_eq!(found, object(n)),
                            None => cache.put(&[n; 32], &object(n)).expect("it can be written"),
                        }
                    }
                });
            }
        });
        assert!(files(&Folder::open(&cache.directory).unwrap()).unwrap().iter().all(|f| f.finished));
    }
}
