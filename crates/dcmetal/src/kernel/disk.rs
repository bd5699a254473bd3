//! [`KernelFiles`]: compiled pipelines in a folder, for later processes.
//!
//! One binary archive of Metal's per kernel, in a file whose name is the hash of everything that the code depends on (source,
//! options, values of function constants, device, system, compiler, this crate's version) and, behind it, the hash of the file's bytes. So
//! a file is whole or its name is a lie; it is written under another name and renamed, so that processes may share a folder and
//! may be killed at any moment. An archive is code: the folder must be the user's own and closed to all others, a file a plain
//! one of the user's; whatever is wrong is removed and made again, also what Metal does not take.
//!
//! Measured threadgroup sizes ([`Tuned`]) are kept beside them, a small text each, under the same rules; so are the kernels that were the fastest for a class of
//! products ([`tensor::tune_product`](crate::tensor::tune_product)), and the implementation that was the faster for a class of other operations of tensors
//! ([`tensor::tune_operation`](crate::tensor::tune_operation)).
//!
//! It spares the device's compiler, which makes pipelines. A library is compiled from its source all the same, by what Apple's
//! documentation calls the intermediate representation (`MTLComputePipelineDescriptor.binaryArchives`): no archive holds that.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::tune::Tuned;
use crate::error::of_metal;
use crate::raw::archive::Archive;
use crate::raw::system::{system_build, user};
use crate::raw::{Device, Failure, Function, Pipeline};
use crate::sync::{AtomicU64, Ordering};
use crate::{Error, ErrorKind, Result};

/// A file that is being written when nobody writes that long any more was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(600);
/// What a name begins with while a file is being written.
const UNFINISHED: &str = "new-";
/// The same of what hostmetal writes an archive to, beside the name that it is told.
const UNFINISHED_ARCHIVE: &str = ".hostmetal-";
/// What a name ends with: of a kernel, of a measured threadgroup size, and of a measured choice of kernels.
const ARCHIVE: &str = ".archive";
const TUNING: &str = ".threadgroup";
const CHOICE: &str = ".choice";
/// Bytes that no text of a measurement has.
const TUNING_BYTES: u64 = 4096;
/// Hexadecimal digits of a hash.
const DIGITS: usize = 64;

/// What has become of kernels that were looked for in a folder: see [`Accelerator::keep_kernels`](crate::Accelerator::keep_kernels).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelFileStats {
    /// Kernels whose code was in the folder: Metal was asked to fail rather than to compile.
    pub hits: u64,
    /// Kernels whose code was not.
    pub misses: u64,
    /// Times that the device's compiler was asked for a kernel.
    pub compiled: u64,
    /// Files that were removed because they were damaged, not the user's own, or not taken by Metal. A file that is gone, or that the system or Metal
    /// cannot read for want of memory or descriptors, is none of them.
    pub rejected: u64,
    /// Files that were written.
    pub written: u64,
    /// Kernels that run, and threadgroup sizes that are used, although their file could not be written.
    pub unwritten: u64,
    /// Files that made room for others.
    pub evicted: u64,
}

#[derive(Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    compiled: AtomicU64,
    rejected: AtomicU64,
    written: AtomicU64,
    unwritten: AtomicU64,
    evicted: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A folder of archives, of one device.
pub(crate) struct KernelFiles {
    folder: PathBuf,
    limit: u64,
    /// What all keys begin with.
    machine: Sha256,
    counts: Counts,
}

/// What a kernel's code depends on, hashed.
#[derive(Clone)]
pub(crate) struct Key(Sha256);

impl Key {
    /// Adds a part; its length keeps parts apart.
    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn name(self) -> String {
        hex(self.0)
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl KernelFiles {
    /// Makes the folder when it is not there.
    pub(crate) fn open(folder: &Path, limit: u64, device: &Device) -> Result<KernelFiles> {
        let wrong = |why: String| Error::KernelFolder { folder: folder.to_owned(), text: why };
        let told = |error: io::Error| wrong(error.to_string());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(told)?;
        // The folder itself, not what a link names now and another file later.
        let folder = fs::canonicalize(folder).map_err(told)?;
        let found = fs::symlink_metadata(&folder).map_err(told)?;
        if folder.to_str().is_none() {
            return Err(wrong("Metal takes paths that are UTF-8 only".to_owned()));
        }
        if !found.is_dir() || found.uid() != user() || found.permissions().mode() & 0o077 != 0 {
            let mode = found.permissions().mode() & 0o7777;
            return Err(wrong(format!(
                "it must be this user's and closed to others (mode 700): it is user {}'s, with mode {mode:o}",
                found.uid()
            )));
        }
        let compiler = device.compiler();
        if cfg!(not(target_os = "macos")) && compiler.is_empty() {
            return Err(wrong("it cannot be found out what compiles kernels, and so whose they are".to_owned()));
        }
        let mut machine = Key(Sha256::new());
        for part in ["dcmetal kernels 1", env!("CARGO_PKG_VERSION"), &device.name(), &system_build(), &compiler] {
            machine.part(part.as_bytes());
        }
        for family in crate::GpuFamily::ALL {
            machine.part(&[u8::from(device.supports_family(family as i64))]);
        }
        Ok(KernelFiles { folder, limit, machine: machine.0, counts: Counts::default() })
    }

    pub(crate) fn stats(&self) -> KernelFileStats {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.counts;
        KernelFileStats {
            hits: of(&counts.hits),
            misses: of(&counts.misses),
            compiled: of(&counts.compiled),
            rejected: of(&counts.rejected),
            written: of(&counts.written),
            unwritten: of(&counts.unwritten),
            evicted: of(&counts.evicted),
        }
    }

    /// A key to add the kernel's own parts to.
    pub(crate) fn key(&self) -> Key {
        Key(self.machine.clone())
    }

    /// The function's pipeline: from its file, or compiled and written there.
    pub(crate) fn pipeline(
        &self,
        device: &Device,
        function: &Function,
        label: &str,
        key: Key,
    ) -> Result<Pipeline, Failure> {
        let name = key.name();
        for path in self.files(&name, ARCHIVE) {
            match self.load(device, function, label, &path) {
                Ok(pipeline) => {
                    count(&self.counts.hits);
                    return Ok(pipeline);
                }
                Err(unused) => self.reject(&path, unused),
            }
        }
        count(&self.counts.misses);
        count(&self.counts.compiled);
        // Some functions cannot be archived, nor can any where Metal makes no archive; a pipeline's own error says more than the archive's.
        let archive = Archive::new(device).and_then(|mut archive| archive.add(function).map(|()| archive));
        let Ok(archive) = archive else {
            count(&self.counts.unwritten);
            return Pipeline::new(device, function, label);
        };
        let pipeline = Pipeline::with_archive(device, function, label, &archive, false)?;
        let written = self.write(&name, ARCHIVE, |path| {
            archive.write(path).map_err(|failure| io::Error::other(failure.text))?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        });
        self.wrote(written);
        Ok(pipeline)
    }

    /// The threadgroup sizes that were measured for a kernel, by its key's name.
    pub(super) fn tunings(&self, key: &str) -> Vec<Tuned> {
        let mut found = Vec::new();
        for path in self.files(key, TUNING) {
            match tuning(&path) {
                Ok(tuned) => found.push(tuned),
                Err(unused) => self.reject(&path, unused),
            }
        }
        found
    }

    /// Keeps a measured threadgroup size, in the place of what was measured for such grids before.
    pub(super) fn keep_tuning(&self, key: &str, tuned: Tuned) {
        let mut older = self.files(key, TUNING);
        older.retain(|path| match tuning(path) {
            Ok(older) => older.class == tuned.class,
            Err(unused) => unused == Unused::Wrong,
        });
        self.replace(key, TUNING, &tuned.to_text(), &older);
    }

    /// What was measured under a key that is all of its own.
    pub(crate) fn choice(&self, key: &str) -> Option<String> {
        self.files(key, CHOICE).into_iter().find_map(|path| match text(&path) {
            Ok(text) => Some(text),
            Err(unused) => {
                self.reject(&path, unused);
                None
            }
        })
    }

    /// Keeps it, in the place of what was measured before.
    pub(crate) fn keep_choice(&self, key: &str, text: &str) {
        let older = self.files(key, CHOICE);
        self.replace(key, CHOICE, text, &older);
    }

    /// Writes a text and removes older ones.
    fn replace(&self, key: &str, suffix: &str, text: &str, older: &[PathBuf]) {
        let written = self.write(key, suffix, |path| {
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(text.as_bytes())
        });
        if let Ok(written) = &written {
            // Gone already when another process does the same.
            older.iter().filter(|path| *path != written).for_each(|path| drop(fs::remove_file(path)));
        }
        self.wrote(written);
    }

    fn wrote(&self, written: io::Result<PathBuf>) {
        match written {
            Ok(written) => {
                count(&self.counts.written);
                self.make_room(&written);
            }
            Err(_) => count(&self.counts.unwritten),
        }
    }

    /// The finished files of a key: one, or several of processes that compiled at the same time.
    fn files(&self, key: &str, suffix: &str) -> Vec<PathBuf> {
        let is = |name: &str| name.starts_with(key) && name.ends_with(suffix) && is_finished(name);
        let of_key = |name: &OsString| name.to_str().is_some_and(is);
        self.names().into_iter().filter(of_key).map(|name| self.folder.join(name)).collect()
    }

    fn names(&self) -> Vec<OsString> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
    }

    /// The pipeline of a file that is what its name says and that Metal takes.
    fn load(&self, device: &Device, function: &Function, label: &str, path: &Path) -> Result<Pipeline, Unused> {
        self.take((device, function, label), path, &whole(path)?)
    }

    /// The pipeline of a file that is whole, which Metal opens by its path.
    fn take(
        &self,
        (device, function, label): (&Device, &Function, &str),
        path: &Path,
        file: &File,
    ) -> Result<Pipeline, Unused> {
        let archive = Archive::read(device, path);
        let pipeline =
            archive.and_then(|archive| Pipeline::with_archive(device, function, label, &archive, true)).map_err(
                // What Metal missed may have been evicted by another process meanwhile, and be there again when it is looked at.
                |failure| if is_unlinked(file) { Unused::NotNow } else { not_taken(failure) },
            )?;
        // That it was used now; eviction may have taken the file's name meanwhile, which harms nobody.
        let _ = file.set_modified(SystemTime::now());
        Ok(pipeline)
    }

    fn reject(&self, path: &Path, unused: Unused) {
        // Gone already when another process rejected it too.
        if unused == Unused::Wrong && fs::remove_file(path).is_ok() {
            count(&self.counts.rejected);
        }
    }

    /// Writes the file under another name first; returns its own.
    fn write(&self, key: &str, suffix: &str, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
        static WRITTEN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        // Processes in several containers may share the folder, and their numbers be the same.
        let random = RandomState::new().build_hasher().finish();
        let unfinished = self.folder.join(format!("{UNFINISHED}{}-{number}-{random:016x}", std::process::id()));
        let finish = || {
            fill(&unfinished)?;
            let mut file = File::open(&unfinished)?;
            let hash = hash_of(&mut file)?;
            file.sync_all()?;
            let path = self.folder.join(format!("{key}-{hash}{suffix}"));
            fs::rename(&unfinished, &path)?;
            File::open(&self.folder)?.sync_all()?;
            Ok(path)
        };
        finish().inspect_err(|_| drop(fs::remove_file(&unfinished)))
    }

    /// Removes files that were not used for longest, but never `newest`, until the limit is kept, and what killed processes left.
    fn make_room(&self, newest: &Path) {
        let now = SystemTime::now();
        let (mut files, mut bytes) = (Vec::new(), 0u64);
        for name in self.names() {
            let path = self.folder.join(&name);
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let finished = name.to_str().is_some_and(is_finished);
            if !finished && now.duration_since(used).is_ok_and(|age| age > ABANDONED) && is_ours(&name) {
                let _ = fs::remove_file(&path);
            }
            if finished {
                bytes += found.len();
                files.push((used, path, found.len()));
            }
        }
        files.sort();
        for (_, path, length) in files {
            if bytes <= self.limit {
                break;
            }
            if path == newest {
                continue;
            }
            match fs::remove_file(&path) {
                Ok(()) => count(&self.counts.evicted),
                // Another process makes room as well.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => continue,
            }
            bytes -= length;
        }
    }
}

fn is_ours(name: &OsString) -> bool {
    name.to_str().is_some_and(|name| [UNFINISHED, UNFINISHED_ARCHIVE].iter().any(|begin| name.starts_with(begin)))
}

/// Two hashes and the suffix.
fn is_finished(name: &str) -> bool {
    let hashes = [ARCHIVE, TUNING, CHOICE].iter().find_map(|suffix| name.strip_suffix(suffix));
    let hashes = hashes.and_then(|hashes| hashes.split_once('-'));
    let is_hash = |text: &str| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hashes.is_some_and(|(key, content)| is_hash(key) && is_hash(content))
}

/// A plain file of this user's that nobody else may write to.
fn is_private(found: &Metadata) -> bool {
    found.is_file() && found.uid() == user() && found.permissions().mode() & 0o022 == 0
}

/// Why a file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unused {
    /// It is not what its name says, or Metal does not take it.
    Wrong,
    /// It is gone, or cannot be looked at now, which says nothing of it.
    NotNow,
}

/// Whether the file has no name any more.
fn is_unlinked(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.nlink() == 0)
}

fn not_now(_: io::Error) -> Unused {
    Unused::NotNow
}

fn not_taken(failure: Failure) -> Unused {
    match of_metal(&failure.domain, failure.code) {
        ErrorKind::Transient | ErrorKind::Resource => Unused::NotNow,
        _ => Unused::Wrong,
    }
}

/// A private file that is what its name says.
fn whole(path: &Path) -> Result<File, Unused> {
    let opened = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let mut file = opened.map_err(|_| {
        // A link is not opened, nor is a socket: what they are can be seen all the same.
        let is_wrong = fs::symlink_metadata(path).is_ok_and(|found| !is_private(&found));
        if is_wrong { Unused::Wrong } else { Unused::NotNow }
    })?;
    if !is_private(&file.metadata().map_err(not_now)?) {
        return Err(Unused::Wrong);
    }
    let hash = hash_of(&mut file).map_err(not_now)?;
    let name = path.file_name().and_then(|name| name.to_str()?.get(DIGITS + 1..2 * DIGITS + 1));
    if name == Some(&*hash) { Ok(file) } else { Err(Unused::Wrong) }
}

/// What such a file says of a threadgroup size.
fn tuning(path: &Path) -> Result<Tuned, Unused> {
    Tuned::of_text(&text(path)?).ok_or(Unused::Wrong)
}

/// What such a file says.
fn text(path: &Path) -> Result<String, Unused> {
    let (mut file, mut bytes) = (whole(path)?, Vec::new());
    file.rewind().map_err(not_now)?;
    (&file).take(TUNING_BYTES).read_to_end(&mut bytes).map_err(not_now)?;
    let text = String::from_utf8(bytes).map_err(|_| Unused::Wrong)?;
    // As for a kernel.
    let _ = file.set_modified(SystemTime::now());
    Ok(text)
}

fn hash_of(file: &mut File) -> io::Result<String> {
    let (mut hash, mut bytes) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hex(hash)),
            length => hash.update(&bytes[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::raw::Library;

    /// What lies under a name that looks finished, and why it is not used.
    #[test]
    fn only_what_was_found_wrong_is() {
        type Lay = fn(&Path, &Path);
        let cases: [(&str, Lay, Option<Unused>); 8] = [
            ("itself", |_, _| {}, None),
            (
                "nothing: gone since the folder was read",
                |path, _| fs::remove_file(path).expect("removed"),
                Some(Unused::NotNow),
            ),
            ("other bytes", |path, _| fs::write(path, "other").expect("written"), Some(Unused::Wrong)),
            (
                "what others may write",
                |path, _| fs::set_permissions(path, fs::Permissions::from_mode(0o622)).expect("changed"),
                Some(Unused::Wrong),
            ),
            (
                "a link",
                |path, aside| {
                    fs::rename(path, aside).expect("moved");
                    symlink(aside, path).expect("a link");
                },
                Some(Unused::Wrong),
            ),
            (
                "a link to nothing",
                |path, aside| {
                    fs::remove_file(path).expect("removed");
                    symlink(aside, path).expect("a link");
                },
                Some(Unused::Wrong),
            ),
            (
                "a folder",
                |path, _| {
                    fs::remove_file(path).expect("removed");
                    fs::create_dir(path).expect("a folder");
                },
                Some(Unused::Wrong),
            ),
            (
                "a socket",
                |path, aside| {
                    // Names of sockets must be short.
                    UnixListener::bind(aside).expect("a socket");
                    fs::rename(aside, path).expect("moved");
                },
                Some(Unused::Wrong),
            ),
        ];
        for (name, lay, wanted) in cases {
            let folder = tempfile::tempdir().expect("a folder");
            let made = folder.path().join("made");
            fs::write(&made, "bytes").expect("written");
            fs::set_permissions(&made, fs::Permissions::from_mode(0o600)).expect("changed");
            let hash = hash_of(&mut File::open(&made).expect("opened")).expect("read");
            let path = folder.path().join(format!("{}-{hash}", "0".repeat(DIGITS)));
            fs::rename(&made, &path).expect("moved");
            lay(&path, &folder.path().join("aside"));
            assert_eq!(whole(&path).err(), wanted, "{name}");
        }
    }

    /// Between the look at a file and Metal's: it goes, and it is there again, as another process may have it.
    #[test]
    fn what_is_evicted_on_the_way_is_no_wrong_file() {
        let gpu = crate::Accelerator::system_default().expect("a Metal device");
        let source = "kernel void k(device int *x [[buffer(0)]]) { x[0] = 5; }";
        let (library, _) = Library::compile(gpu.device(), source, None).expect("it compiles");
        let function = Function::new(&library, "k", None).expect("a function");
        let place = tempfile::tempdir().expect("a folder");
        let files = KernelFiles::open(&place.path().join("kernels"), u64::MAX, gpu.device()).expect("a folder");
        let key = files.key();
        files.pipeline(gpu.device(), &function, "k", key.clone()).expect("a pipeline");
        let path = files.files(&key.name(), ARCHIVE).pop().expect("it was written");
        let copy = place.path().join("copy");
        fs::copy(&path, &copy).expect("copied");
        for (again, wanted) in [(false, Err(Unused::NotNow)), (true, Ok(()))] {
            let file = whole(&path).expect("it is what its name says");
            fs::remove_file(&path).expect("evicted");
            if again {
                fs::copy(&copy, &path).expect("written");
            }
            let taken = files.take((gpu.device(), &function, "k"), &path, &file);
            assert_eq!(taken.map(drop), wanted, "{again}");
            fs::copy(&copy, &path).expect("it is there");
        }
        // What is there, and not taken, is wrong.
        fs::write(&path, "no archive").expect("written");
        let file = File::open(&path).expect("opened");
        let taken = files.take((gpu.device(), &function, "k"), &path, &file);
        assert_eq!(taken.map(drop), Err(Unused::Wrong));
    }
}
