//! The compiler and its cache: which clang, our headers on disk, one precompiled header per set of flags.
//!
//! The cache directory (`HOSTMETAL_CACHE_DIR`, else `$XDG_CACHE_HOME/hostmetal`, else `~/.cache/hostmetal`) is ours
//! alone: mode 0700, owned
//! by this user, no link. In it: `headers-<hash>` (the headers' texts), `pch-<hash>` (precompiled header and its
//! checksum; the hash covers headers,
//! compiler, flags and processor), `made` (what the compiler made, store.rs) and `job-*` (one compilation each, removed at
//! its end, job.rs). Entries appear by renaming a finished directory,
//! so that any number of processes may create them at once; what is found is checked before it is used and replaced
//! when it is broken.
//!
//! The version of a clang that is a program (and no script, which may start any other) is kept in `made` under the time and
//! place of its file, so that a process that finds everything there starts no compiler at all.

use super::compile::{self, Finished};
use super::headers::{EMPTY, HEADERS};
use super::job::{self, Job};
use super::loaded::c_library;
use super::store::{self, Record, Store, USUAL_SIZE};
use super::{Arithmetic, CompileFailure, Failure, MathMode};
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// The oldest clang whose C++ for OpenCL mode has what the headers need.
const OLDEST: u32 = 17;
/// Tried in this order when `HOSTMETAL_CLANG` is not set.
const CANDIDATES: [&str; 6] = ["clang-19", "clang", "clang-20", "clang-21", "clang-18", "clang-17"];
/// How long a compilation may take when `HOSTMETAL_COMPILE_TIMEOUT` does not say.
const DEADLINE: Duration = Duration::from_secs(60);
/// Name of the header that is precompiled.
const PREFIX: &str = "hostmetal_prefix.h";

/// What to compile with; `Default` is what the environment says.
#[derive(Clone, Debug, Default)]
pub struct ToolchainOptions {
    /// Path or name of clang (`HOSTMETAL_CLANG`, default: the first usable of clang-19, clang, ...).
    pub clang: Option<OsString>,
    /// The cache directory (`HOSTMETAL_CACHE_DIR`).
    pub cache: Option<PathBuf>,
    /// The longest one compiler run may take (`HOSTMETAL_COMPILE_TIMEOUT`, in seconds, default 60).
    pub deadline: Option<Duration>,
    /// The most bytes of results that the cache keeps, 0 for none (`HOSTMETAL_CACHE_SIZE`, default 1 GiB).
    pub cache_size: Option<u64>,
}

/// A usable clang with its cache.
#[derive(Debug)]
pub struct Toolchain {
    clang: OsString,
    version: String,
    cache: PathBuf,
    headers: PathBuf,
    deadline: Duration,
    store: Store,
    /// A hash of what every result depends on: the compiler, our headers, the processor, the C library.
    base: String,
    /// By arithmetic.
    precompiled: [Mutex<Precompiled>; 3],
    /// How often `mend_headers` has written the headers again.
    mended: Mutex<u64>,
}

/// The precompiled header of an arithmetic.
#[derive(Debug)]
struct Precompiled {
    /// Once it has been found or made and verified.
    file: Option<PathBuf>,
    /// How often that was.
    generation: u64,
}

fn failure(log: impl Into<String>) -> CompileFailure {
    CompileFailure { kind: Failure::Toolchain, log: log.into() }
}

impl Toolchain {
    /// Looks for clang, checks its version, and prepares the cache directory and the headers in it.
    ///
    /// # Errors
    /// `Failure::Toolchain` with the reason and, where one is missing, the package to install.
    pub fn new(options: &ToolchainOptions) -> Result<Self, CompileFailure> {
        let deadline = match &options.deadline {
            Some(deadline) => *deadline,
            None => match std::env::var("HOSTMETAL_COMPILE_TIMEOUT") {
                Ok(text) => text
                    .trim()
                    .parse::<f64>()
                    .ok()
                    .filter(|s| *s > 0.0)
                    .and_then(|s| Duration::try_from_secs_f64(s).ok())
                    .ok_or_else(|| {
                        failure(format!("HOSTMETAL_COMPILE_TIMEOUT must be a number of seconds above 0, not '{text}'"))
                    })?,
                Err(_) => DEADLINE,
            },
        };
        let size = match (options.cache_size, std::env::var("HOSTMETAL_CACHE_SIZE")) {
            (Some(size), _) => size,
            (None, Ok(text)) => store::size(&text).ok_or_else(|| {
                let expected = "a number of bytes, or one followed by K, M or G; 0 keeps nothing";
                failure(format!("HOSTMETAL_CACHE_SIZE must be {expected}; not '{text}'"))
            })?,
            (None, Err(_)) => USUAL_SIZE,
        };
        let cache = cache_directory(options)?;
        sweep(&cache);
        let store = Store::new(&cache, size);
        let (clang, Version { line: version, wrapper }) = find_clang(options, &cache, &store, deadline)?;
        let (headers, _) = write_headers(&cache)?;
        let texts = headers.file_name().unwrap_or_default().as_bytes();
        let base =
            hash([version.as_bytes(), wrapper.as_bytes(), texts, processor().as_bytes(), c_library().as_bytes()]);
        let precompiled = [const { Mutex::new(Precompiled { file: None, generation: 0 }) }; 3];
        let mended = Mutex::new(0);
        Ok(Self { clang, version, cache, headers, deadline, store, base, precompiled, mended })
    }

    /// The toolchain that the environment names, found once per process. A failure is not remembered.
    ///
    /// # Errors
    /// As [`Toolchain::new`].
    pub fn shared() -> Result<Arc<Self>, CompileFailure> {
        static SHARED: OnceLock<Arc<Toolchain>> = OnceLock::new();
        if let Some(known) = SHARED.get() {
            return Ok(known.clone());
        }
        let new = Arc::new(Self::new(&ToolchainOptions::default())?);
        Ok(SHARED.get_or_init(|| new).clone())
    }

    /// The longest one compiler run may take.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The first line of `clang --version`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The directory of this toolchain's cache.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The directory of the headers.
    pub(crate) fn headers(&self) -> &Path {
        &self.headers
    }

    /// A text that is equal for toolchains that compile alike.
    pub(crate) fn identity(&self) -> String {
        format!("{}\n{}\n{}", self.clang.to_string_lossy(), self.base, self.headers.display())
    }

    /// Names all that compiled code depends on besides its source and options: clang, the headers, the engine, the processor, the C library. Equal on any
    /// machine where those are the same.
    pub fn fingerprint(&self) -> String {
        let engine = std::env::var("HOSTMETAL_ENGINE").unwrap_or_default();
        self.key(&[super::engine::fingerprint(), &engine])
    }

    /// What the compiler made before.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The key of a result that depends on `parts` and on what all results of this toolchain depend on. Equal on any
    /// machine where those are the same.
    pub(crate) fn key(&self, parts: &[&str]) -> String {
        hash(std::iter::once(&self.base.as_str()).chain(parts).map(|part| part.as_bytes()))
    }

    /// A directory for the files of one compilation, removed when dropped.
    pub(crate) fn job(&self) -> Result<Job, CompileFailure> {
        Job::new(&self.cache)
            .map_err(|e| failure(format!("cannot create a directory in '{}': {e}", self.cache.display())))
    }

    /// Runs clang with `arguments` in `directory`.
    pub(crate) fn clang(
        &self,
        directory: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Finished, CompileFailure> {
        let mut command = Command::new(&self.clang);
        command.args(["--no-default-config", "-fno-crash-diagnostics"]).args(arguments);
        // Messages in English, no search paths from outside, intermediate files where they are removed with the job.
        command.env("LC_ALL", "C").env("TMPDIR", directory);
        for name in ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS"] {
            command.env_remove(name);
        }
        compile::run(command, directory, self.deadline)
    }

    /// Arguments for preprocessing: macros and `#include`s of Metal headers, nothing of the system.
    pub(crate) fn preprocess_flags(&self, version: (u32, u32), math: MathMode) -> Vec<OsString> {
        let mut flags: Vec<OsString> = [
            "-x",
            "c++",
            "-std=c++17",
            "-E",
            "-nostdinc",
            "-nostdinc++",
            "-undef",
            "-fno-color-diagnostics",
            "-fno-diagnostics-show-line-numbers",
            "-Wno-everything",
        ]
        .iter()
        .map(OsString::from)
        .collect();
        flags.push(format!("-D__METAL_VERSION__={}", version.0 * 100 + version.1 * 10).into());
        if math != MathMode::Safe {
            flags.push("-D__FAST_MATH__=1".into());
        }
        flags.push("-I".into());
        flags.push(self.headers.clone().into());
        flags.extend(["-include".into(), "metal_macros.h".into()]);
        flags
    }

    /// Arguments for compiling rewritten source, with the precompiled header; and its number, for `renew`.
    ///
    /// # Errors
    /// When the precompiled header cannot be made.
    pub(crate) fn compile_flags(&self, math: Arithmetic) -> Result<(Vec<OsString>, u64), CompileFailure> {
        let mut flags: Vec<OsString> = language_flags(math).into_iter().map(OsString::from).collect();
        let (file, generation) = self.precompiled(math)?;
        flags.extend(["-include-pch".into(), file.into()]);
        Ok((flags, generation))
    }

    /// Forgets and removes a precompiled header that clang did not accept, unless another has come in its place already.
    pub(crate) fn renew(&self, math: Arithmetic, generation: u64) {
        let mut known = self.precompiled[math as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if known.generation != generation {
            return;
        }
        if let Some(path) = known.file.take().as_deref().and_then(Path::parent) {
            discard(&self.cache, path);
        }
    }

    fn precompiled(&self, math: Arithmetic) -> Result<(PathBuf, u64), CompileFailure> {
        let mut known = self.precompiled[math as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = known.file.as_ref().filter(|p| p.exists()) {
            return Ok((path.clone(), known.generation));
        }
        let flags = language_flags(math);
        let key = hash([self.identity().as_bytes(), flags.join("\n").as_bytes()]);
        let home = self.cache.join(format!("pch-{}", &key[..32]));
        let file = home.join("prefix.pch");
        if !is_intact(&home) {
            self.mend_headers()?;
            self.precompile(&flags, &home)?;
        }
        touch(&home);
        *known = Precompiled { file: Some(file.clone()), generation: known.generation + 1 };
        Ok((file, known.generation))
    }

    /// How often the headers were written again.
    pub(crate) fn mended(&self) -> u64 {
        *self.mended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The headers as this process wrote or found them: written again when something has changed them since. How often they were.
    pub(crate) fn mend_headers(&self) -> Result<u64, CompileFailure> {
        let mut mended = self.mended.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, written) = write_headers(&self.cache)?;
        *mended += u64::from(written);
        Ok(*mended)
    }

    fn precompile(&self, flags: &[String], home: &Path) -> Result<(), CompileFailure> {
        let job = self.job()?;
        let made = job.path().join("pch");
        let file = made.join("prefix.pch");
        let cannot =
            |e: io::Error| failure(format!("cannot write the precompiled header to '{}': {e}", self.cache.display()));
        private_directory(&made).map_err(cannot)?;
        let mut arguments: Vec<OsString> = flags.iter().map(OsString::from).collect();
        arguments.extend(["-I".into(), self.headers.clone().into(), "-Xclang".into(), "-emit-pch".into(), "-c".into()]);
        arguments.extend([self.headers.join(PREFIX).into(), "-o".into(), file.clone().into()]);
        let finished = self.clang(job.path(), arguments)?;
        if !finished.success {
            return Err(failure(format!(
                "{} does not compile hostmetal's own headers:\n{}",
                self.version, finished.output
            )));
        }
        let sum = hash([fs::read(&file).map_err(cannot)?.as_slice()]);
        fs::write(made.join("sum"), sum).map_err(cannot)?;
        // Another process may have been quicker; then its header is as good, if it is intact.
        for _ in 0..8 {
            match fs::rename(&made, home) {
                Ok(()) => return Ok(()),
                Err(_) if is_intact(home) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty || home.exists() => {
                    discard(&self.cache, home)
                }
                Err(error) => return Err(cannot(error)),
            }
        }
        Err(failure(format!("'{}' is replaced again and again by something else", home.display())))
    }
}

/// Flags that the precompiled header, the check and the build share: clang refuses a header that was made with others.
pub(crate) fn language_flags(math: Arithmetic) -> Vec<String> {
    let architecture = std::env::consts::ARCH;
    let mut flags: Vec<String> = [
        "-x",
        "clcpp",
        "-cl-std=clc++2021",
        "-cl-no-stdinc",
        "-fdeclspec",
        "-Xclang",
        "-cl-ext=+all",
        "-O3",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-math-errno",
        // MSL's programs outlive what C++ leaves undefined: endless loops, other types' pointers, conversions out of
        // range.
        "-fno-finite-loops",
        "-fno-strict-aliasing",
        "-fno-strict-float-cast-overflow",
        // A large frame must not step over the guard page of a small stack.
        "-fstack-clash-protection",
        "-fno-stack-protector",
        "-fno-color-diagnostics",
        "-fno-caret-diagnostics",
        "-ferror-limit=0",
        "-Wno-everything",
    ]
    .iter()
    .map(|f| (*f).to_owned())
    .collect();
    flags.extend(["-target".to_owned(), format!("{architecture}-linux-gnu")]);
    if architecture == "x86_64" {
        flags.extend(["-march=native".to_owned(), "-mprefer-vector-width=512".to_owned()]);
    } else {
        flags.push("-mcpu=native".to_owned());
    }
    match math {
        // Metal's default. Apple's compiler may assume that there are no infinities and NaNs, but kernels that use
        // INFINITY as a start value work there
        // all the same; clang's version of the assumption breaks them, so it is not made.
        Arithmetic::Fast | Arithmetic::PreciseFunctions => {
            flags.extend(["-ffast-math", "-fhonor-nans", "-fhonor-infinities"].map(str::to_owned));
            // As fast as what -ffast-math says, but not where a pragma says off: the code generator would fuse there, too.
            flags.push("-ffp-contract=fast-honor-pragmas".to_owned());
            // Estimates with a Newton step make NaN of 1 / sqrt(0).
            flags.push("-mrecip=none".to_owned());
            if matches!(math, Arithmetic::Fast) {
                // Makes rsqrt the fast one.
                flags.push("-DHOSTMETAL_FAST_MATH".to_owned());
            }
            if architecture == "x86_64" {
                flags.push("-fveclib=libmvec".to_owned());
            }
        }
        Arithmetic::Safe => flags.push("-ffp-contract=on".to_owned()),
    }
    flags
}

/// Libraries that a shared object is linked with.
pub(crate) fn libraries() -> &'static [&'static str] {
    if cfg!(target_arch = "x86_64") { &["-Wl,--as-needed", "-lmvec", "-lm"] } else { &["-Wl,--as-needed", "-lm"] }
}

/// A hash of texts, as hexadecimal digits.
pub(crate) fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A hash of texts, as hexadecimal digits.
pub(crate) fn fingerprint(parts: &[&str]) -> String {
    hash(parts.iter().map(|p| p.as_bytes()))
}

/// What `-march=native` depends on. Of the first processor: they are alike.
fn processor() -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open("/proc/cpuinfo") {
        // What cannot be read is left out; then it is left out everywhere on this machine.
        let _ = file.take(1 << 14).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let wanted = ["model name", "flags", "Features", "CPU part"];
    wanted.iter().filter_map(|name| text.lines().find(|line| line.starts_with(name))).collect::<Vec<_>>().join("\n")
}

/// Whether a precompiled header's directory holds what was written to it.
fn is_intact(home: &Path) -> bool {
    let (Ok(file), Ok(sum)) = (fs::read(home.join("prefix.pch")), fs::read_to_string(home.join("sum"))) else {
        return false;
    };
    hash([file.as_slice()]) == sum
}

/// Moves a directory out of the way and removes it; a failure shows when its place is needed.
pub(super) fn discard(cache: &Path, path: &Path) {
    if let Ok(place) = Job::new(cache) {
        let _ = fs::rename(path, place.path().join("old"));
    }
}

fn private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn cache_directory(options: &ToolchainOptions) -> Result<PathBuf, CompileFailure> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(path) = options.cache.clone().or_else(|| set("HOSTMETAL_CACHE_DIR")) {
        return own_directory(&path).map_err(|e| {
            failure(format!("the cache directory '{}' (HOSTMETAL_CACHE_DIR) cannot be used: {e}", path.display()))
        });
    }
    let usual = set("XDG_CACHE_HOME")
        .filter(|p| p.is_absolute())
        .or_else(|| set("HOME").map(|h| h.join(".cache")))
        .map(|p| p.join("hostmetal"));
    let mut reason = "HOME is not set".to_owned();
    if let Some(path) = usual {
        match own_directory(&path) {
            Ok(path) => return Ok(path),
            Err(error) => reason = format!("'{}': {error}", path.display()),
        }
    }
    // No home to write to, as in many containers.
    let path = std::env::temp_dir().join(format!("hostmetal-{}", rustix::process::geteuid().as_raw()));
    own_directory(&path).map_err(|e| {
        failure(format!(
            "no cache directory can be used ({reason}; '{}': {e}); set HOSTMETAL_CACHE_DIR",
            path.display()
        ))
    })
}

/// Creates the directory, or accepts one that nobody else can write to.
pub(super) fn own_directory(path: &Path) -> io::Result<PathBuf> {
    private_directory(path)?;
    let found = fs::symlink_metadata(path)?;
    let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned()));
    if !found.is_dir() {
        return refuse("it is a link or no directory");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refuse("it belongs to another user");
    }
    if found.mode() & 0o022 != 0 {
        return refuse("others may write to it (mode must be 0700)");
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    fs::canonicalize(path)
}

/// Headers that no process has looked for in so long go.
const UNUSED: Duration = Duration::from_secs(60 * 24 * 3600);

/// Removes jobs that a killed process left behind and headers that no process has looked for in long.
pub(super) fn sweep(cache: &Path) {
    let Ok(entries) = fs::read_dir(cache) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_job = name.starts_with(job::PREFIX);
        if !is_job && !["pch-", "headers-", "pass-"].iter().any(|kind| name.starts_with(kind)) {
            continue;
        }
        let age =
            entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| SystemTime::now().duration_since(t).ok());
        let is_old = age.is_some_and(|age| age > if is_job { job::LEFT } else { UNUSED });
        if is_old && (!is_job || job::is_free(&entry.path())) {
            let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
        }
    }
}

/// Marks an entry of the cache as in use, for `sweep`. Where the cache has become read-only nobody sweeps it.
pub(super) fn touch(path: &Path) {
    let _ = fs::File::open(path).and_then(|entry| entry.set_modified(SystemTime::now()));
}

/// Puts the headers into the cache, or finds them there; and whether it had to write them.
fn write_headers(cache: &Path) -> Result<(PathBuf, bool), CompileFailure> {
    let prefix = "#include \"hostmetal.h\"\n#include \"hostmetal_kernel.h\"\n";
    let mut all: Vec<(&str, &str)> = HEADERS.to_vec();
    all.extend(EMPTY.iter().map(|name| (*name, "#pragma once\n")));
    all.push((PREFIX, prefix));
    let key = hash(all.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]));
    let home = cache.join(format!("headers-{}", &key[..32]));
    let intact =
        || all.iter().all(|(name, text)| fs::read(home.join(name)).is_ok_and(|found| found == text.as_bytes()));
    if intact() {
        touch(&home);
        return Ok((home, false));
    }
    let cannot = |e: io::Error| failure(format!("cannot write hostmetal's headers to '{}': {e}", cache.display()));
    let job = Job::new(cache).map_err(cannot)?;
    let made = job.path().join("headers");
    for (name, text) in &all {
        let path = made.join(name);
        private_directory(path.parent().unwrap_or(&made)).map_err(cannot)?;
        fs::write(&path, text).map_err(cannot)?;
        // Clang compares times; the same text must always have the same one.
        let file = fs::File::options().write(true).open(&path).map_err(cannot)?;
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).map_err(cannot)?;
    }
    for _ in 0..8 {
        match fs::rename(&made, &home) {
            Ok(()) => return Ok((home, true)),
            Err(_) if intact() => return Ok((home, true)),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty || home.exists() => discard(cache, &home),
            Err(error) => return Err(cannot(error)),
        }
    }
    Err(failure(format!("'{}' is replaced again and again by something else", home.display())))
}

/// What a clang says it is.
struct Version {
    /// The first line of `clang --version`.
    line: String,
    /// A hash of the file where it is a script: its text decides what is run; empty where it is a program.
    wrapper: String,
}

/// The file that a command's name stands for, as exec finds it.
fn locate(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return fs::canonicalize(name).ok();
    }
    let runs = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0);
    let path = std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(runs)?;
    fs::canonicalize(path).ok()
}

/// Where the version of a clang is kept: a name for its very file, and the hash of a script's text.
fn place_of_version(name: &OsStr) -> (Option<String>, String) {
    let Some((path, found)) = locate(name).and_then(|path| Some((path.clone(), fs::metadata(path).ok()?))) else {
        return (None, String::new());
    };
    let mut bytes = Vec::new();
    let read = fs::File::open(&path).and_then(|file| file.take(4).read_to_end(&mut bytes));
    if read.is_ok() && bytes == b"\x7fELF" {
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()].map(i64::to_le_bytes);
        let place = [found.dev(), found.ino(), found.size()].map(u64::to_le_bytes);
        let parts = [b"version".as_slice(), path.as_os_str().as_bytes(), times.as_flattened(), place.as_flattened()];
        return (Some(hash(parts)), String::new());
    }
    (None, fs::read(&path).map_or(String::new(), |text| hash([text.as_slice()])))
}

/// The first usable clang and its version.
fn find_clang(
    options: &ToolchainOptions,
    cache: &Path,
    store: &Store,
    deadline: Duration,
) -> Result<(OsString, Version), CompileFailure> {
    let named = options.clang.clone().or_else(|| std::env::var_os("HOSTMETAL_CLANG").filter(|v| !v.is_empty()));
    let candidates: Vec<OsString> =
        named.clone().map_or_else(|| CANDIDATES.iter().map(OsString::from).collect(), |one| vec![one]);
    let job =
        Job::new(cache).map_err(|e| failure(format!("cannot create a directory in '{}': {e}", cache.display())))?;
    let mut reasons = Vec::new();
    for candidate in candidates {
        let (place, wrapper) = place_of_version(&candidate);
        let known = place.as_ref().and_then(|place| store.get(place)).map(|record| record.output);
        let remembered = known.is_some();
        let said = match known {
            Some(output) => Ok(Finished { success: true, output }),
            None => {
                let mut command = Command::new(&candidate);
                command.arg("--version").env("LC_ALL", "C");
                compile::run(command, job.path(), deadline)
            }
        };
        match said {
            Ok(finished) if finished.success => match read_version(&finished.output) {
                Some((major, line)) if major >= OLDEST => {
                    if let Some(place) = place.filter(|_| !remembered) {
                        store.put(&place, &Record { success: true, output: line.clone(), file: Vec::new() });
                    }
                    return Ok((candidate, Version { line, wrapper }));
                }
                Some((_, line)) => reasons.push(format!(
                    "'{}' is too old: {line}, at least clang {OLDEST} is needed",
                    candidate.to_string_lossy()
                )),
                None => reasons.push(format!("'{}' is not clang", candidate.to_string_lossy())),
            },
            Ok(_) => reasons.push(format!("'{} --version' fails", candidate.to_string_lossy())),
            // What is named must work; of the usual names one is enough.
            Err(problem) if named.is_some() || problem.kind != Failure::Toolchain => reasons.push(problem.log),
            Err(_) => {}
        }
    }
    let told = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    Err(failure(format!(
        "hostmetal needs clang {OLDEST} or newer and lld to compile MSL, and found none{told}. On Debian: apt install clang-19 lld-19. Another one is named by HOSTMETAL_CLANG."
    )))
}

fn read_version(text: &str) -> Option<(u32, String)> {
    let line = text.lines().find(|l| l.contains("clang version"))?;
    let number = line.split("clang version ").nth(1)?;
    let major = number.split('.').next()?.trim().parse().ok()?;
    Some((major, line.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_was_made_anew_is_not_thrown_away_for_the_one_before() {
        let place = tempfile::tempdir().expect("a directory");
        let options = ToolchainOptions { cache: Some(place.path().to_owned()), ..ToolchainOptions::default() };
        let toolchain = Toolchain::new(&options).expect("clang");
        let file = |math| {
            toolchain.compile_flags(math).map(|(flags, number)| (PathBuf::from(&flags[flags.len() - 1]), number))
        };
        // Two compilations begin with the same header and fail with it.
        let (path, first) = file(Arithmetic::Safe).expect("a header");
        let (_, second) = file(Arithmetic::Safe).expect("a header");
        assert_eq!(first, second);
        toolchain.renew(Arithmetic::Safe, first);
        assert!(!path.exists());
        let (_, third) = file(Arithmetic::Safe).expect("a header");
        toolchain.renew(Arithmetic::Safe, second);
        assert!(third != first && path.exists());
        toolchain.renew(Arithmetic::Safe, third);
        assert!(!path.exists());
    }
}
