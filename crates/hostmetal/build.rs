//! Compiles the Metal classes (native/hostmetal/*.mm) for Linux and tells dependants how to compile Objective-C++ alike.
//!
//! Dependants get `DEP_HOSTMETAL_CXX` (the clang++), `DEP_HOSTMETAL_OBJCXX_FLAGS` (its flags, U+001F between them) and
//! `DEP_HOSTMETAL_INCLUDE` (the folder that holds `Metal/Metal.h`). `DCMETAL_CLANGXX` names another clang++; whichever it is, it
//! is tried first. `DCMETAL_SANITIZE=address|thread` builds instrumented: `address` with the checks of undefined behaviour, and
//! beside the LLVM pass another one with these alone, which trap there. Only sources whose text, headers or flags changed are compiled again.
//! `HOSTMETAL_PASSES` names a folder for the LLVM pass of all builds, whatever their profiles and target folders: what lies there, made of the same sources by
//! the same clang with the same flags, is taken. On macOS and for docs.rs the script does nothing.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

const SOURCES: &[&str] = &[
    "MPSCommandBuffer",
    "MPSGraph",
    "MPSGraphExecutable",
    "MPSKernel",
    "MPSMatrix",
    "MPSMatrixMultiplication",
    "MPSMatrixRows",
    "MPSNDArray",
    "MTLBinaryArchive",
    "MTLArgumentEncoder",
    "MTLBlitCommandEncoder",
    "MTLBuffer",
    "MTLCapture",
    "MTLCommandBuffer",
    "MTLCommandEncoder",
    "MTLCommandQueue",
    "MTLComputeCommandEncoder",
    "MTLComputePipeline",
    "MTLCounters",
    "MTLDevice",
    "MTLDevices",
    "MTLDynamicLibrary",
    "MTLEvent",
    "MTLFunctionConstantValues",
    "MTLFunctionStitching",
    "MTLHeap",
    "MTLIO",
    "MTLIndirectCommandBuffer",
    "MTLLibrary",
    "MTLLogState",
    "MTLPass",
    "MTLResidencySet",
    "MTLResource",
    "MTLSampler",
    "MTLStageInputOutputDescriptor",
    "MTLTexture",
    "MTLVisibleFunctionTable",
    "MTLType",
    "blocks",
    "dispatch_queue",
    "dispatch_wait",
    "encodings",
    "faces",
];
const CLANGS: [&str; 4] = ["clang++-19", "clang++-20", "clang++-21", "clang++"];
const INSTALL: &str = "sudo apt-get install clang-19 lld-19 libclang-19-dev gobjc++ libgnustep-base-dev";
const GNUSTEP: &str = "/usr/include/GNUstep";

fn main() {
    for name in ["DCMETAL_CLANGXX", "DCMETAL_SANITIZE", "DOCS_RS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    build_pass();
    if env::var_os("DOCS_RS").is_some() || variable("CARGO_CFG_TARGET_OS") == "macos" {
        return;
    }
    let native = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("native/hostmetal");
    let out = PathBuf::from(variable("OUT_DIR"));
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", native.join(source).with_extension("mm").display());
    }
    for header in ["faces.h", "pool.h", "performance.h", "dispatch.h", "engine.h", "include"] {
        println!("cargo::rerun-if-changed={}", native.join(header).display());
    }

    let tools = find_tools(&native, &out);
    compile(&tools, &native, &out);
    println!("cargo::metadata=CXX={}", tools.clang);
    println!("cargo::metadata=OBJCXX_FLAGS={}", tools.flags.join("\u{1f}"));
    println!("cargo::metadata=INCLUDE={}", native.join("include").display());
    println!("cargo::rustc-link-search=native={}", tools.gcc_library.display());
    for library in ["gnustep-base", "objc", "m", "pthread"] {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
}

/// A variable that cargo sets for every build script.
fn variable(name: &str) -> String {
    match env::var(name) {
        Ok(value) => value,
        Err(error) => stop(&[format!("{name}: {error}")]),
    }
}

/// Ends the build with these lines as cargo's error. (Cargo fails a build for `cargo::error`; a script that also exits with a
/// failure has all its output printed above the message.)
fn stop(lines: &[String]) -> ! {
    for line in lines {
        println!("cargo::error={line}");
    }
    exit(0)
}

// ---------------------------------------------------------------- tools

/// What compiles Objective-C++ here, tried.
struct Tools {
    clang: String,
    flags: Vec<String>,
    gcc_library: PathBuf,
}

/// Looks for everything that is needed, so that one message names all that is missing.
fn find_tools(native: &Path, out: &Path) -> Tools {
    let mut missing = Vec::new();
    let clang = find_clang().unwrap_or_else(|why| {
        missing.push(why);
        String::new()
    });
    let gcc_library = find_gcc_library();
    if gcc_library.is_none() {
        missing.push("GCC's Objective-C runtime (objc/objc.h): package gobjc++".to_owned());
    }
    if !Path::new(GNUSTEP).join("Foundation/Foundation.h").is_file() {
        missing.push(format!("GNUstep's Foundation ({GNUSTEP}/Foundation/Foundation.h): package libgnustep-base-dev"));
    }
    if let (true, Some(gcc_library)) = (missing.is_empty(), gcc_library) {
        let tools = Tools { flags: flags(native, &gcc_library), clang, gcc_library };
        match try_tools(&tools, out) {
            Ok(()) => return tools,
            Err(why) => missing.push(why),
        }
    }
    let mut lines = vec!["hostmetal cannot be built; missing or not working on this machine:".to_owned()];
    lines.extend(missing.iter().map(|what| format!("  * {what}")));
    lines.push(format!("install: {INSTALL}"));
    lines.push("another clang is used with DCMETAL_CLANGXX=path/to/clang++".to_owned());
    stop(&lines)
}

fn find_clang() -> Result<String, String> {
    let runs = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    if let Ok(named) = env::var("DCMETAL_CLANGXX") {
        return if runs(&named) {
            Ok(named)
        } else {
            Err(format!("`{named}`, which DCMETAL_CLANGXX names, does not run"))
        };
    }
    let found = CLANGS.iter().find(|name| runs(name));
    found.map(|name| (*name).to_owned()).ok_or_else(|| "clang++: package clang-19".to_owned())
}

/// GCC's folder that holds libobjc.so and include/objc: the newest under /usr/lib/gcc/(this machine).
fn find_gcc_library() -> Option<PathBuf> {
    let prefix = format!("{}-linux", variable("CARGO_CFG_TARGET_ARCH"));
    let list = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_target = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
    let number =
        |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.split('.').next()?.parse::<u32>().ok());
    list(Path::new("/usr/lib/gcc"))
        .filter(of_target)
        .flat_map(|triple| list(&triple).collect::<Vec<_>>())
        .filter(|version| version.join("include/objc/objc.h").is_file())
        .max_by_key(number)
}

/// Objective-C++ on GCC's runtime and GNUstep's Foundation.
fn flags(native: &Path, gcc_library: &Path) -> Vec<String> {
    let mut flags: Vec<String> = [
        "-std=c++17",
        "-fblocks",
        "-fobjc-runtime=gcc",
        "-fno-objc-arc",
        "-fexceptions",
        "-fobjc-exceptions",
        "-fconstant-string-class=NSConstantString",
        "-fvisibility=hidden",
        "-pthread",
        "-D_NATIVE_OBJC_EXCEPTIONS",
        "-DGNUSTEP",
        "-DGNUSTEP_BASE_LIBRARY=1",
        "-DGNU_RUNTIME=1",
    ]
    .map(String::from)
    .into();
    flags.push(format!("-I{}", native.join("include/compat").display()));
    flags.push(format!("-I{}", native.join("include").display()));
    flags.extend(["-isystem".to_owned(), GNUSTEP.to_owned()]);
    // Last, because GCC's folder also holds its own stddef.h and intrinsics.
    flags.extend(["-idirafter".to_owned(), gcc_library.join("include").display().to_string()]);
    match env::var("DCMETAL_SANITIZE").as_deref() {
        Err(_) | Ok("") => {}
        // The check of C++ classes wants a run-time library of its own, which rustc's linking leaves out.
        Ok("address") => {
            let checks = ["-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=all"];
            flags.extend(checks.map(Into::into));
            flags.push("-fno-omit-frame-pointer".into());
        }
        Ok("thread") => flags.extend(["-fsanitize=thread", "-fno-omit-frame-pointer"].map(Into::into)),
        Ok(other) => stop(&[format!("DCMETAL_SANITIZE is `{other}`; it can be address or thread")]),
    }
    flags
}

/// Compiles what the sources are made of, and links with the libraries they use.
fn try_tools(tools: &Tools, out: &Path) -> Result<(), String> {
    let blocks = "#import <Metal/Metal.h>\n\
                  NSUInteger probe(NSString *text) {\n\
                  __block NSUInteger length = 0;\n\
                  @autoreleasepool { @try { ^{ length = [text length]; }(); } @catch (NSException *e) { (void)e; } }\n\
                  return length;\n\
                  }\n";
    let link = "#import <Foundation/Foundation.h>\nint main() { @autoreleasepool { return (int)[@\"\" length]; } }\n";
    let library_folder = format!("-L{}", tools.gcc_library.display());
    attempt(tools, out, "probe", blocks, &["-fsyntax-only"])
        .map_err(|why| format!("`{}` does not compile Objective-C++ with blocks and Foundation: {why}", tools.clang))?;
    let executable = out.join("probe").display().to_string();
    let arguments = ["-o", &executable, &library_folder, "-lgnustep-base", "-lobjc"];
    attempt(tools, out, "probe_link", link, &arguments)
        .map_err(|why| format!("`{}` does not link with GNUstep's libraries: {why}", tools.clang))
}

fn attempt(tools: &Tools, out: &Path, name: &str, text: &str, arguments: &[&str]) -> Result<(), String> {
    let file = out.join(name).with_extension("mm");
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut command = Command::new(&tools.clang);
    command.arg(format!("--target={}", clang_target())).args(["-x", "objective-c++"]).args(&tools.flags).arg(&file);
    let output = command.args(["-x", "none"]).args(arguments).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let telling = |line: &&str| ["error", "cannot", "unable", "undefined"].iter().any(|word| line.contains(word));
    Err(text.lines().find(telling).unwrap_or("it failed without a message").to_owned())
}

/// Rust's name of the target as clang spells it (it has no vendor `unknown` folders to look in).
fn clang_target() -> String {
    variable("TARGET").replace("-unknown-", "-")
}

// ---------------------------------------------------------------- the LLVM pass

const PASS_SOURCES: [&str; 21] = [
    "alignment",
    "analysis",
    "conditions",
    "counts",
    "differences",
    "group",
    "joins",
    "plugin",
    "prepare",
    "ranges",
    "region",
    "regions",
    "registers",
    "rounds",
    "shapes",
    "simdgroups",
    "spans",
    "steps",
    "streams",
    "tiles",
    "uses",
];
const PASS_HEADERS: [&str; 13] = [
    "alignment",
    "analysis",
    "builder",
    "conditions",
    "differences",
    "joins",
    "pass",
    "ranges",
    "shapes",
    "spans",
    "steps",
    "streams",
    "uses",
];

/// Compiles the plugin for clang (native/hostmetal/pass) to hostmetal_pass.so, which src/msl/engine.rs embeds. The file is
/// empty where LLVM 19's headers are missing: kernels whose threads wait for each other then switch stacks.
fn build_pass() {
    println!("cargo::rerun-if-env-changed=HOSTMETAL_LLVM_CONFIG");
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("native/hostmetal/pass");
    println!("cargo::rerun-if-changed={}", folder.display());
    let file = PathBuf::from(variable("OUT_DIR")).join("hostmetal_pass.so");
    let linux = variable("CARGO_CFG_TARGET_OS") == "linux" && env::var_os("DOCS_RS").is_none();
    let llvm = if linux { find_llvm() } else { None };
    println!("cargo::rustc-env=HOSTMETAL_PASS_LLVM={}", llvm.as_ref().map_or("", |(version, _)| version));
    let Some((_, include)) = llvm else {
        if let Err(error) = fs::write(&file, "") {
            stop(&[format!("{}: {error}", file.display())]);
        }
        return;
    };
    compile_pass(&folder, &include, &file, &[]);
    if env::var("DCMETAL_SANITIZE").is_ok_and(|kind| kind == "address") {
        // Beside the one that is embedded, whose kernels the builds without sanitizers have in the cache: scripts/sanitize/run has clang load it. That clang has
        // no run-time library of a sanitizer (and less memory than an address sanitizer's shadow): it ends with SIGILL, and its backtrace.
        let traps = ["-fsanitize=undefined", "-fno-sanitize=vptr", "-fsanitize-trap=undefined", "-DHOSTMETAL_PLANTS"];
        compile_pass(&folder, &include, &file.with_file_name("hostmetal_pass_traps.so"), &traps);
    }
}

/// From the sources in `folder` to `file`. Only what changed is compiled again, and nothing that lies in the folder for all builds.
fn compile_pass(folder: &Path, include: &Path, file: &Path, options: &[&str]) {
    let clang = find_clang().unwrap_or_else(|why| stop(&[why]));
    let objects = file.with_extension("objects");
    fs::create_dir_all(&objects).unwrap_or_else(|error| stop(&[format!("{}: {error}", objects.display())]));
    let read = |name: &str, extension: &str| {
        let path = folder.join(name).with_extension(extension);
        fs::read_to_string(&path).unwrap_or_else(|error| stop(&[format!("{}: {error}", path.display())]))
    };
    let sources = PASS_SOURCES.map(|name| read(name, "cpp"));
    let headers = PASS_HEADERS.map(|name| read(name, "h"));
    let command = || {
        let mut command = Command::new(&clang);
        command.arg(format!("--target={}", clang_target()));
        command.args([
            "-std=c++17",
            "-O1",
            "-g0",
            "-fPIC",
            "-fno-exceptions",
            "-fno-rtti",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]);
        command.args(["-D__STDC_CONSTANT_MACROS", "-D__STDC_LIMIT_MACROS", "-D__STDC_FORMAT_MACROS"]);
        command.args(["-fvisibility=hidden", "-isystem"]).arg(include).args(options);
        command
    };
    let flags = format!("{:?} {}", command(), version(&clang));

    let shared = shared_pass(&format!("{flags}{}{}", headers.concat(), sources.concat()), file);
    if let Some(shared) = &shared {
        // What it says is no longer so, when the file is another.
        let _ = fs::remove_file(stamp_of(file));
        if fs::copy(shared, file).is_ok() {
            return;
        }
    }

    // LLVM's headers are most of what there is to read: they are read once, and what that gives is not kept, since it holds only for the very same files.
    let mut llvm: Vec<&str> =
        sources.iter().chain(&headers).flat_map(|text| text.lines()).filter(|line| is_of_llvm(line)).collect();
    llvm.sort_unstable();
    llvm.dedup();
    let text = llvm.join("\n") + "\n";
    let (prefix, precompiled) = (objects.join("llvm.h"), objects.join("llvm.pch"));
    let precompile = OnceLock::new();
    let read_headers = || {
        fs::write(&prefix, &text).map_err(|error| format!("{}: {error}", prefix.display()))?;
        let arguments = ["-x", "c++-header", "-fpch-instantiate-templates"];
        run(command().args(arguments).arg(&prefix).arg("-o").arg(&precompiled))
    };

    let made = in_parallel(sources.len(), |at| {
        let object = objects.join(PASS_SOURCES[at]).with_extension("o");
        make(&object, &format!("{flags}{text}{}{}", headers.concat(), sources[at]), || {
            precompile.get_or_init(read_headers).clone()?;
            let source = folder.join(PASS_SOURCES[at]).with_extension("cpp");
            run(command().arg("-include-pch").arg(&precompiled).arg("-c").arg(source).arg("-o").arg(&object))
        })
        .map(|()| object)
    });
    let _ = fs::remove_file(&precompiled);
    made.into_iter()
        .collect::<Result<Vec<_>, _>>()
        .and_then(|objects| {
            let all = format!("{flags}{text}{}{}", headers.concat(), sources.concat());
            make(file, &all, || run(command().args(["-shared", "-Wl,--strip-all"]).args(objects).arg("-o").arg(file)))
        })
        .unwrap_or_else(|why| {
            let first = "the LLVM pass does not compile:".to_owned();
            stop(&std::iter::once(first).chain(why.lines().map(str::to_owned)).collect::<Vec<_>>())
        });
    if let Some(shared) = shared {
        share_pass(file, &shared).unwrap_or_else(|error| stop(&[format!("{}: {error}", shared.display())]));
    }
}

/// Where the folder for all builds has, or is to have, what is made of `with`.
fn shared_pass(with: &str, file: &Path) -> Option<PathBuf> {
    println!("cargo::rerun-if-env-changed=HOSTMETAL_PASSES");
    let folder = env::var_os("HOSTMETAL_PASSES").filter(|folder| !folder.is_empty())?;
    // Always by the same keys, in one version of the standard library.
    let mut hasher = DefaultHasher::new();
    with.hash(&mut hasher);
    Some(Path::new(&folder).join(format!("{:016x}-{}", hasher.finish(), with.len())).join(file.file_name()?))
}

/// Whole or not at all: builds may run beside each other.
fn share_pass(file: &Path, shared: &Path) -> io::Result<()> {
    let folder = shared.parent().expect("it lies in a folder");
    fs::create_dir_all(folder)?;
    let whole = folder.join(format!(".{}", std::process::id()));
    fs::copy(file, &whole)?;
    fs::rename(&whole, shared)
}

/// Whether a line of a source names a header that is not the pass's own.
fn is_of_llvm(line: &str) -> bool {
    line.strip_prefix("#include ").is_some_and(|header| header.starts_with('<') || header.starts_with("\"llvm/"))
}

/// Makes a file, unless it was made with the same.
fn make(file: &Path, with: &str, how: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let stamp = stamp_of(file);
    if file.is_file() && fs::read_to_string(&stamp).is_ok_and(|text| text == with) {
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    how()?;
    fs::write(&stamp, with).map_err(|error| format!("{}: {error}", stamp.display()))
}

/// Says what a file was made with.
fn stamp_of(file: &Path) -> PathBuf {
    let mut stamp = file.as_os_str().to_owned();
    stamp.push(".made_with");
    stamp.into()
}

/// Runs a compiler; its words are the error.
fn run(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("{}: {error}", command.get_program().display())),
    }
}

/// Results of the jobs with these numbers, done by as many threads as cargo says.
fn in_parallel<T: Send>(count: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let threads = variable("NUM_JOBS").parse().unwrap_or(1).min(count);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    let result = job(at);
                    if let Ok(mut results) = results.lock() {
                        results.push((at, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|_| stop(&["a compiling thread panicked".to_owned()]));
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The version of LLVM 19 and the folder of its headers; None without them. `HOSTMETAL_LLVM_CONFIG` names its llvm-config;
/// set to nothing, hostmetal is built without the pass.
fn find_llvm() -> Option<(String, PathBuf)> {
    let config = env::var("HOSTMETAL_LLVM_CONFIG").unwrap_or_else(|_| "llvm-config-19".to_owned());
    let ask = |what: &str| {
        let output = Command::new(&config).arg(what).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (version, include) = (ask("--version")?, PathBuf::from(ask("--includedir")?));
    let found = version.starts_with("19.") && include.join("llvm/Passes/PassPlugin.h").is_file();
    found.then_some((version, include))
}

// ---------------------------------------------------------------- sources

fn compile(tools: &Tools, native: &Path, out: &Path) {
    let mut build = cc::Build::new();
    build.cpp(true).compiler(&tools.clang).warnings(true).extra_warnings(true).warnings_into_errors(true);
    for flag in &tools.flags {
        build.flag(flag);
    }
    let compiler = build.try_get_compiler().unwrap_or_else(|error| stop(&[error.to_string()]));
    // What an object was made with, besides the files that its .d file lists.
    let made_with = format!("{:?} {}", compiler.to_command(), version(&tools.clang));
    let job = |at: usize| -> Result<PathBuf, String> {
        let source = SOURCES[at];
        let object = out.join(source).with_extension("o");
        let stamp = out.join(source).with_extension("flags");
        if fs::read_to_string(&stamp).is_ok_and(|text| text == made_with) && is_fresh(&object) {
            return Ok(object);
        }
        let _ = fs::remove_file(&stamp);
        run(compiler
            .to_command()
            .arg("-MMD")
            .arg("-c")
            .arg(native.join(source).with_extension("mm"))
            .arg("-o")
            .arg(&object))?;
        fs::write(&stamp, &made_with).map_err(|error| format!("{}: {error}", stamp.display()))?;
        Ok(object)
    };
    let mut errors = Vec::new();
    for (result, source) in in_parallel(SOURCES.len(), job).into_iter().zip(SOURCES) {
        match result {
            Ok(object) => {
                build.object(object);
            }
            Err(text) => errors.extend(std::iter::once(format!("{source}.mm:")).chain(text.lines().map(str::to_owned))),
        }
    }
    if !errors.is_empty() {
        stop(&errors);
    }
    if let Err(error) = build.try_compile("hostmetal_faces") {
        stop(&[format!("the library of the Metal classes: {error}")]);
    }
}

fn version(clang: &str) -> String {
    let output = Command::new(clang).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Whether an object is newer than every file it was made of (`-MMD` leaves out system headers).
fn is_fresh(object: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let (Some(made), Ok(rules)) = (modified(object), fs::read_to_string(object.with_extension("d"))) else {
        return false;
    };
    let Some((_, files)) = rules.split_once(": ") else { return false };
    dependencies(files).iter().all(|file| modified(Path::new(file)).is_some_and(|when| when < made))
}

/// The files of a make rule: separated by blanks, lines joined by `\`, blanks in names escaped.
fn dependencies(rule: &str) -> Vec<String> {
    let mut files = vec![String::new()];
    let mut characters = rule.replace("\\\n", " ").chars().collect::<Vec<_>>().into_iter().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some(&(' ' | '#' | '\\'))) => {
                files.last_mut().into_iter().for_each(|file| file.extend(characters.next()))
            }
            (blank, _) if blank.is_whitespace() => files.push(String::new()),
            _ => files.last_mut().into_iter().for_each(|file| file.push(character)),
        }
    }
    files.retain(|file| !file.is_empty());
    files
}
