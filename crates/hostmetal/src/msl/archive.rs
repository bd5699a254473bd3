//! Binary archives: what the compiler made for chosen kernels, in memory and in a file (`MTLBinaryArchive`).
//!
//! An archive holds records of the store (store.rs) under the same keys, so that it is found by everything that a result
//! depends on, the compiler's version, our headers and the processor among it: on another machine it is a miss, not a
//! crash. The file is a head, the records with their keys, and a hash of it all. As with any code that is named to be loaded, the hash
//! tells damage and not intent: whoever may write the file decides what runs.

use super::store::{KEY, Record};
use super::toolchain::hash;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What a file begins with; the number counts changes of the form.
const MAGIC: &[u8; 20] = b"hostmetal archive 1\n";

/// An MTLBinaryArchive.
#[derive(Debug, Default)]
pub struct Archive {
    records: Mutex<BTreeMap<String, Record>>,
}

/// Where a kernel's code may come from besides the compiler and its cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct Archives<'a> {
    /// Looked into first.
    pub search: &'a [&'a Archive],
    /// What is in none of them fails instead of being compiled.
    pub only: bool,
    /// Gets what was used.
    pub into: Option<&'a Archive>,
}

impl Archives<'_> {
    /// Nothing to look into and nothing to fill.
    pub(super) fn is_none(&self) -> bool {
        self.search.is_empty() && !self.only && self.into.is_none()
    }

    pub(super) fn find(&self, key: &str) -> Option<Record> {
        self.search.iter().find_map(|archive| archive.lock().get(key).cloned())
    }
}

impl Archive {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, key: &str, record: &Record) {
        self.lock().insert(key.to_owned(), record.clone());
    }

    /// The archive of a file's bytes; none when they are anything else than what `encode` gives.
    pub fn decode(bytes: &[u8]) -> Option<Archive> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(KEY)?)?;
        if hash([body]).as_bytes() != sum {
            return None;
        }
        let mut rest = body.strip_prefix(MAGIC)?;
        let mut records = BTreeMap::new();
        while !rest.is_empty() {
            let (key, behind) = rest.split_at_checked(KEY)?;
            let (length, behind) = behind.split_first_chunk::<8>()?;
            let (record, behind) = behind.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            let key = std::str::from_utf8(key).ok()?;
            records.insert(key.to_owned(), Record::decode(record, key)?);
            rest = behind;
        }
        Some(Archive { records: Mutex::new(records) })
    }

    /// The bytes of a file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (key, record) in self.lock().iter() {
            let record = record.encode(key);
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(&(record.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&record);
        }
        let sum = hash([bytes.as_slice()]);
        bytes.extend_from_slice(sum.as_bytes());
        bytes
    }

    /// Writes the file; at `path` lies what was there before or all of it.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        write_whole(path, &self.encode())
    }
}

/// Writes a file; at `path` lies what was there before or all of it.
///
/// # Errors
/// What the system says.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut made = tempfile::Builder::new().prefix(".hostmetal-").tempfile_in(folder)?;
    made.write_all(bytes)?;
    made.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Archive {
        let archive = Archive::default();
        for number in 0..3u8 {
            let record = Record { success: true, output: String::new(), file: vec![number; 40] };
            archive.insert(&hash([[number].as_slice()]), &record);
        }
        archive
    }

    #[test]
    fn a_file_gives_what_was_written() {
        for made in [Archive::default(), archive()] {
            let read = Archive::decode(&made.encode()).expect("it is an archive");
            assert_eq!(*read.lock(), *made.lock());
        }
    }

    #[test]
    fn every_damage_of_a_file_is_noticed() {
        let good = archive().encode();
        for length in 0..good.len() {
            assert!(Archive::decode(&good[..length]).is_none(), "cut to {length}");
        }
        for byte in 0..good.len() {
            let mut damaged = good.clone();
            damaged[byte] ^= 1 << (byte % 8);
            assert!(Archive::decode(&damaged).is_none(), "byte {byte}");
        }
        // A record in the place of another, with a hash that fits.
        let swapped = Archive::default();
        swapped.insert(&hash([b"one".as_slice()]), &Record::default());
        let bytes = swapped.encode();
        let at = MAGIC.len();
        let mut body = bytes[..bytes.len() - KEY].to_vec();
        body[at..at + KEY].copy_from_slice(hash([b"two".as_slice()]).as_bytes());
        let sum = hash([body.as_slice()]);
        body.extend_from_slice(sum.as_bytes());
        assert!(Archive::decode(&body).is_none());
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("archive");
        archive().write(&path).unwrap();
        archive().write(&path).unwrap();
        assert!(Archive::decode(&std::fs::read(&path).unwrap()).is_some());
        assert!(archive().write(&place.path().join("nowhere/archive")).is_err());
        std::fs::create_dir(place.path().join("folder")).unwrap();
        assert!(archive().write(&place.path().join("folder")).is_err());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2);
    }
}
