//! What the compiler made, kept on disk under a hash of all that it was made from.
//!
//! A record is one run of the compiler: whether it succeeded, what it said, and the file it wrote. The key covers the exact
//! text and arguments it got, its version, our headers, the pass and the processor (toolchain.rs, `Toolchain::key`), so a
//! record is never out of date, only unused.
//!
//! A shared object is code that will run in this process: a record counts only when it is a plain file of this user that
//! nobody else may write to, is filed under its own key, and has the hash that it ends with. Anything else in its place is
//! removed, and the compiler asked. Files appear by renaming a complete one, so that any number of processes may write
//! and read at once and a process may be killed at any moment. Losing a record costs time only, so whatever goes wrong when one
//! is written is passed over.
//!
//! The folder is kept below a size (`HOSTMETAL_CACHE_SIZE`): the records used least recently go first. The time of a file is
//! the time of its last use.

use super::toolchain::hash;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Bytes kept when `HOSTMETAL_CACHE_SIZE` does not say.
pub(super) const USUAL_SIZE: u64 = 1 << 30;
/// No record is larger.
const LARGEST: u64 = 256 << 20;
/// What a record begins with; the number counts changes of the form, and of what is kept of clang's output.
const MAGIC: &[u8; 16] = b"hostmetal run 1\n";
/// A key: 32 bytes of hash in hexadecimal digits.
pub(super) const KEY: usize = 64;
/// Magic, key, success, two lengths; and the hash at the end.
const HEAD: usize = MAGIC.len() + KEY + 1 + 8 + 8;

/// One run of the compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) success: bool,
    /// What it said.
    pub(crate) output: String,
    /// The file it made; empty for none.
    pub(crate) file: Vec<u8>,
}

impl Record {
    /// The record as it is filed.
    pub(super) fn encode(&self, key: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.output.len() + self.file.len() + KEY);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(key.as_bytes());
        bytes.push(self.success.into());
        bytes.extend_from_slice(&(self.output.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&(self.file.len() as u64).to_le_bytes());
        bytes.extend_from_slice(self.output.as_bytes());
        bytes.extend_from_slice(&self.file);
        let sum = hash([bytes.as_slice()]);
        bytes.extend_from_slice(sum.as_bytes());
        bytes
    }

    /// The record that `encode` wrote for this key; none for any other bytes.
    pub(super) fn decode(bytes: &[u8], key: &str) -> Option<Record> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(KEY)?)?;
        let (head, rest) = body.split_at_checked(HEAD)?;
        let (magic, head) = head.split_at(MAGIC.len());
        let (filed, head) = head.split_at(KEY);
        let (success, lengths) = head.split_at(1);
        let length = |at: usize| lengths.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let (output, file) = (length(0)?, length(8)?);
        if magic != MAGIC || filed != key.as_bytes() || output.checked_add(file)? != rest.len() as u64 {
            return None;
        }
        if hash([body]).as_bytes() != sum {
            return None;
        }
        let (output, file) = rest.split_at(output as usize);
        let output = String::from_utf8(output.to_vec()).ok()?;
        Some(Record { success: success == [1], output, file: file.to_vec() })
    }
}

/// The folder of records.
#[derive(Debug)]
pub(crate) struct Store {
    /// None: nothing is kept.
    folder: Option<PathBuf>,
    /// Where temporary files go: the cache, in which a sweep removes what was left behind.
    cache: PathBuf,
    most: u64,
    /// Bytes in the folder at the last count and written since; none before the first.
    held: Mutex<Option<u64>>,
}

impl Store {
    /// Records in the folder `made` of the cache, at most `most` bytes of them; 0 for none at all.
    pub(super) fn new(cache: &Path, most: u64) -> Store {
        let folder = (most > 0).then(|| cache.join("made"));
        Store { folder, cache: cache.to_owned(), most, held: Mutex::new(None) }
    }

    /// What is filed under a key. Whatever else lies in its place is removed.
    pub(crate) fn get(&self, key: &str) -> Option<Record> {
        let path = self.folder.as_ref()?.join(key);
        match read(&path, LARGEST) {
            Ok(bytes) => {
                let record = Record::decode(&bytes, key);
                if record.is_none() {
                    self.remove(&path);
                }
                record
            }
            Err(error) => {
                if is_of_place(&error) {
                    self.remove(&path);
                }
                None
            }
        }
    }

    /// Files a record, if that is possible, and makes room.
    pub(crate) fn put(&self, key: &str, record: &Record) {
        let Some(folder) = &self.folder else { return };
        let bytes = record.encode(key);
        let size = bytes.len() as u64;
        if size > LARGEST.min(self.most) || self.write(folder, key, &bytes).is_err() {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Other processes write too: the count is taken anew now and then.
        let grown = held.map(|bytes| bytes + size).filter(|bytes| *bytes <= self.most);
        *held = Some(grown.unwrap_or_else(|| evict(folder, self.most)));
    }

    fn write(&self, folder: &Path, key: &str, bytes: &[u8]) -> io::Result<()> {
        super::toolchain::own_directory(folder)?;
        let mut made = super::job::file(&self.cache)?;
        made.write_all(bytes)?;
        let path = folder.join(key);
        match made.persist(&path) {
            Ok(_) => Ok(()),
            Err(failed) => {
                // Such as a directory in its place.
                self.remove(&path);
                failed.file.persist(&path).map(drop).map_err(|failed| failed.error)
            }
        }
    }

    fn remove(&self, path: &Path) {
        if fs::remove_file(path).is_err() {
            super::toolchain::discard(&self.cache, path);
        }
    }
}

/// Whether a failure to read tells of something else in a record's place: not when files or memory are out, or the disk does not
/// answer, under which a good record may lie.
fn is_of_place(error: &io::Error) -> bool {
    let of_place = [Errno::LOOP, Errno::NXIO, Errno::ACCESS, Errno::ISDIR];
    error.kind() == io::ErrorKind::InvalidData
        || Errno::from_io_error(error).is_some_and(|error| of_place.contains(&error))
}

/// The bytes of a file that only this user can have written. Marks it as used.
fn read(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    // A link is not followed, and a pipe not waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    let own = found.uid() == rustix::process::geteuid().as_raw() && found.permissions().mode() & 0o022 == 0;
    if !found.is_file() || !own || found.len() > largest {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::with_capacity(found.len() as usize + 1);
    // It may grow meanwhile.
    (&mut file).take(largest).read_to_end(&mut bytes)?;
    // On a folder that has become read-only the order of use is lost, no more.
    let _ = file.set_modified(SystemTime::now());
    Ok(bytes)
}

/// Removes the least recently used files until an eighth of the room is free, when there is too much; gives the bytes that
/// remain.
fn evict(folder: &Path, most: u64) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            // Of a link itself, not of what it points to.
            let found = entry.metadata().ok()?;
            Some((found.modified().ok()?, found.len(), entry.path()))
        })
        .collect();
    let mut held: u64 = files.iter().map(|(_, size, _)| size).sum();
    if held <= most {
        return held;
    }
    files.sort();
    for (_, size, path) in files {
        if held <= most - most / 8 {
            break;
        }
        // A process that has it open or mapped keeps what it has.
        if fs::remove_file(&path).is_ok() {
            held -= size;
        }
    }
    held
}

/// Reads `HOSTMETAL_CACHE_SIZE` and its like: bytes, or with K, M, G behind the number.
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().ok().filter(|_| !digits.starts_with('+'))?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    fn key(number: u32) -> String {
        hash([number.to_le_bytes().as_slice()])
    }

    fn record(number: u32) -> Record {
        Record { success: true, output: format!("output {number}"), file: vec![number as u8; 1000] }
    }

    fn store(place: &Path, most: u64) -> Store {
        Store::new(&super::super::toolchain::own_directory(place).unwrap(), most)
    }

    fn made(place: &Path) -> usize {
        fs::read_dir(place.join("made")).unwrap().count()
    }

    #[test]
    fn a_size_has_a_unit() {
        let cases = [
            ("0", Some(0)),
            ("1000", Some(1000)),
            (" 4k", Some(4096)),
            ("3M", Some(3 << 20)),
            ("2G", Some(2 << 30)),
            ("", None),
            ("G", None),
            ("-1", None),
            ("+1", None),
            ("1.5G", None),
            ("off", None),
            ("17179869184G", None),
        ];
        for (text, expected) in cases {
            assert_eq!(size(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_damage_of_a_record_is_noticed() {
        let good = record(7).encode(&key(7));
        assert_eq!(Record::decode(&good, &key(7)), Some(record(7)));
        assert_eq!(Record::decode(&good, &key(8)), None);
        for length in 0..good.len() {
            assert_eq!(Record::decode(&good[..length], &key(7)), None, "cut to {length}");
        }
        for bit in 0..good.len() * 8 {
            let mut damaged = good.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Record::decode(&damaged, &key(7)), None, "bit {bit}");
        }
        let mut longer = good.clone();
        longer.push(0);
        assert_eq!(Record::decode(&longer, &key(7)), None);
    }

    #[test]
    fn what_is_no_record_is_replaced() {
        let place = tempfile::tempdir().unwrap();
        let store = store(place.path(), 1 << 20);
        let path = place.path().join("made").join(key(1));
        let whole = record(1).encode(&key(1));
        store.put(&key(1), &record(1));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&place.path().join("made"))), (0o600, 0o700));
        let outside = place.path().join("outside");
        fs::write(&outside, &whole).unwrap();
        let damages: [(&str, &dyn Fn()); 8] = [
            ("truncated", &|| fs::write(&path, &whole[..whole.len() / 2]).unwrap()),
            ("empty", &|| fs::write(&path, "").unwrap()),
            ("of another key", &|| fs::write(&path, record(1).encode(&key(2))).unwrap()),
            ("of another version", &|| {
                let mut other = whole.clone();
                other[14] = b'2';
                fs::write(&path, other).unwrap();
            }),
            ("writable by others", &|| {
                fs::write(&path, &whole).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
            }),
            ("a link", &|| symlink(&outside, &path).unwrap()),
            ("a directory", &|| {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("inside"), "").unwrap();
            }),
            ("a pipe", &|| rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RUSR | Mode::WUSR).unwrap()),
        ];
        for (what, damage) in damages {
            // Found when it is read.
            let _ = fs::remove_file(&path);
            damage();
            assert_eq!(store.get(&key(1)), None, "{what}");
            assert!(fs::symlink_metadata(&path).is_err(), "{what} remains");
            // Written over.
            damage();
            store.put(&key(1), &record(1));
            assert_eq!(store.get(&key(1)), Some(record(1)), "{what}");
        }
        assert_eq!(fs::read(&outside).unwrap(), whole);
        assert_eq!(made(place.path()), 1);
    }

    #[test]
    fn a_record_that_cannot_be_read_now_is_kept() {
        let cases = [
            (Errno::LOOP, true),
            (Errno::ACCESS, true),
            (Errno::NOENT, false),
            (Errno::MFILE, false),
            (Errno::NFILE, false),
            (Errno::NOMEM, false),
            (Errno::IO, false),
            (Errno::STALE, false),
        ];
        for (error, of_place) in cases {
            assert_eq!(is_of_place(&error.into()), of_place, "{error}");
        }
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let place = tempfile::tempdir().unwrap();
        let size = record(0).encode(&key(0)).len() as u64;
        let most = 8 * size;
        let first = store(place.path(), most);
        let old = |number: u32, age: u64| {
            let file = File::options().write(true).open(place.path().join("made").join(key(number))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        for number in 0..8 {
            first.put(&key(number), &record(number));
            old(number, 1000 - u64::from(number));
        }
        assert_eq!(made(place.path()), 8);
        // A use makes 0 the newest; 1 and 2 are now the oldest. Another process does not know what the first has written.
        let second = store(place.path(), most);
        assert_eq!(second.get(&key(0)), Some(record(0)));
        second.put(&key(8), &record(8));
        let left: Vec<u32> = (0..9).filter(|n| second.get(&key(*n)).is_some()).collect();
        assert_eq!(left, [0, 3, 4, 5, 6, 7, 8]);
        // What is larger than all the room is not kept.
        second.put(&key(9), &Record { file: vec![0; most as usize], ..record(9) });
        assert_eq!(second.get(&key(9)), None);
        assert_eq!(made(place.path()), 7);
    }

    #[test]
    fn without_a_place_to_write_to_nothing_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let none = store(place.path(), 0);
        none.put(&key(1), &record(1));
        assert_eq!(none.get(&key(1)), None);
        fs::write(place.path().join("made"), "a file where the folder should be").unwrap();
        let blocked = store(place.path(), 1 << 20);
        blocked.put(&key(1), &record(1));
        assert_eq!(blocked.get(&key(1)), None);
        // Nothing else has appeared.
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    const CHILD: &str = "HOSTMETAL_TEST_STORE";

    /// This test binary again, to do only what `child` says with the store of a folder.
    fn process(place: &Path, what: &str) -> std::process::Command {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "msl::store::tests::child"]).env(CHILD, what).env("HOSTMETAL_CACHE_DIR", place);
        command.stdout(std::process::Stdio::null());
        command
    }

    /// A file that a writer makes when it has begun.
    fn begun(place: &Path, process: u32) -> PathBuf {
        place.join(format!("begun-{process}"))
    }

    fn large(number: u32) -> Record {
        Record { file: vec![number as u8; 3_000 * number as usize], ..record(number) }
    }

    /// Does nothing unless another test started it as a process of its own.
    #[test]
    fn child() {
        let Ok(what) = std::env::var(CHILD) else { return };
        let place = PathBuf::from(std::env::var_os("HOSTMETAL_CACHE_DIR").unwrap());
        let store = store(&place, 3 << 20);
        match what.as_str() {
            "write" => {
                let parent = rustix::process::getppid();
                // Without the test that started it, it ends.
                for number in (0..16).cycle().take_while(|_| rustix::process::getppid() == parent) {
                    store.put(&key(number), &large(number));
                    assert!(store.get(&key(number)).is_none_or(|found| found == large(number)));
                    fs::write(begun(&place, std::process::id()), "").unwrap();
                }
            }
            "evict" => {
                let parent = rustix::process::getppid();
                // Room for two records: almost each that is written has another go.
                let store = Store::new(&place, 2 * record(0).encode(&key(0)).len() as u64);
                for number in (0..16).cycle().take_while(|_| rustix::process::getppid() == parent) {
                    store.put(&key(number), &record(number));
                }
            }
            "full" => {
                // SAFETY: the signal that a write beyond the limit causes is ignored; nothing else uses it.
                unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
                let limit = |most| {
                    let most = rustix::process::Rlimit { current: most, maximum: None };
                    rustix::process::setrlimit(rustix::process::Resource::Fsize, most).unwrap();
                };
                limit(Some(2_000));
                store.put(&key(1), &large(1));
                assert_eq!(store.get(&key(1)), None);
                assert_eq!(made(&place), 0);
                limit(None);
                store.put(&key(1), &large(1));
                assert_eq!(store.get(&key(1)), Some(large(1)));
                assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
            }
            other => panic!("{other}"),
        }
    }

    /// `HOSTMETAL_KILLS` says how often.
    #[test]
    fn processes_that_are_killed_while_they_write_leave_nothing_broken() {
        let place = tempfile::tempdir().unwrap();
        let kills = std::env::var("HOSTMETAL_KILLS").map_or(100, |text| text.parse().unwrap());
        let reader = store(place.path(), 3 << 20);
        let mut seen = 0;
        for kill in 0..kills {
            let mut children =
                [process(place.path(), "write"), process(place.path(), "write")].map(|mut c| c.spawn().unwrap());
            // Another moment each time, after the writers have begun.
            for child in &mut children {
                let begun = begun(place.path(), child.id());
                while !begun.exists() {
                    assert_eq!(child.try_wait().unwrap(), None, "a writer ended by itself");
                    std::thread::yield_now();
                }
                fs::remove_file(begun).unwrap();
            }
            for read in 0..kill * 7919 % 100 {
                let number = (kill + read) as u32 % 16;
                assert!(reader.get(&key(number)).is_none_or(|found| found == large(number)), "during {kill}");
            }
            children.iter_mut().for_each(|child| child.kill().unwrap());
            for child in &mut children {
                child.wait().unwrap();
            }
            for entry in fs::read_dir(place.path().join("made")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let number = (0..16).find(|n| key(*n) == name).expect("only records are there");
                assert_eq!(reader.get(&name), Some(large(number)), "after kill {kill}");
                seen += 1;
            }
        }
        assert!(seen > kills, "{seen} records were seen after {kills} kills");
    }

    /// Another process writes and evicts all the time, while this one looks records up and writes some itself.
    #[test]
    fn what_another_process_evicts_is_whole_or_not_there() {
        let place = tempfile::tempdir().unwrap();
        let mut child = process(place.path(), "evict").spawn().unwrap();
        let store = store(place.path(), 1 << 20);
        let (mut found, mut missed) = (0, 0);
        for number in (0..16).cycle() {
            match store.get(&key(number)) {
                Some(record) => {
                    assert_eq!(record, self::record(number));
                    found += 1;
                }
                None => missed += 1,
            }
            if found >= 200 && missed >= 200 {
                break;
            }
            if number == 7 {
                store.put(&key(number), &record(number));
            }
            assert_eq!(child.try_wait().unwrap(), None, "the other process ended by itself");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(made(place.path()) > 0, "and what is there is whole");
        for entry in fs::read_dir(place.path().join("made")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let number = (0..16).find(|n| key(*n) == name).expect("only records are there");
            assert_eq!(store.get(&name), Some(record(number)));
        }
    }

    #[test]
    fn a_full_disk_costs_only_the_record() {
        let place = tempfile::tempdir().unwrap();
        let status = process(place.path(), "full").status().unwrap();
        assert!(status.success());
    }
}
