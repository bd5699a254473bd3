//! Dynamic libraries: functions and constants that other sources call and that are bound when a pipeline is made
//! (`MTLDynamicLibrary`).
//!
//! ```text
//! library:   rewritten source -> clang -> LLVM's text, not optimised, of all its functions
//! pipeline:  the same of the kernel; every name is bound to one definition; clang links, optimises and compiles it all
//! ```
//!
//! So what the kernel calls is inlined into it, and a library is replaced by binding the name to another one. A name that a module
//! does not define is looked for in the libraries of the pipeline (`preloadedLibraries`), then in those that the module was
//! compiled with, then in theirs. A module's own definitions are its own, whatever other modules define: each definition of a
//! library gets a name with the library's number in front. What is found nowhere the linker names.

use super::archive::Archives;
use super::engine;
use super::invoke::{OBJECT, Request, failed, kept, source_failure};
use super::source::check;
use super::store::{KEY, Record};
use super::toolchain::{Toolchain, fingerprint, hash, language_flags, libraries};
use super::{Arithmetic, CompileFailure, CompileOptions, Failure};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::Arc;

/// Flags for a module's text.
pub(super) const TEXT: [&str; 7] = [
    "-S",
    "-emit-llvm",
    "-fno-discard-value-names",
    "-Xclang",
    "-disable-llvm-passes",
    "-Xclang",
    "-disable-lifetime-markers",
];
/// How a bound name begins; the number of the library follows. The LLVM pass knows it (native/hostmetal/pass/prepare.cpp).
const BOUND: &str = "library.";

/// One module of LLVM's text.
#[derive(Debug)]
pub(super) struct Module {
    text: String,
    /// What other modules may use.
    exported: BTreeSet<String>,
    /// Exported or hidden.
    defined: BTreeSet<String>,
    undefined: BTreeSet<String>,
}

/// An MTLDynamicLibrary.
#[derive(Debug)]
pub struct Dynamic {
    pub(super) install_name: String,
    pub(super) module: Module,
    /// In the order in which they were given.
    pub(super) libraries: Vec<Arc<Dynamic>>,
    /// A hash of the code, its own and that of its libraries.
    pub(super) key: String,
    /// Its source has functions in which threads wait for each other.
    pub(super) synchronises: bool,
    /// Its loops are prepared for such functions in other libraries.
    pub(super) prepared: bool,
    /// What it calls is its own libraries', whatever the pipeline has.
    pub(super) sealed: bool,
    pub(super) source: Source,
}

/// What a dynamic library is made from again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// As the program gave it, for messages.
    pub(super) written: String,
    /// Preprocessed.
    pub(super) expanded: String,
    pub(super) options: CompileOptions,
    pub(super) linking: Linking,
}

/// How a dynamic library is linked (`MTLCompileOptions`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Linking {
    /// Only what says `visibility("default")` is exported (`compileSymbolVisibility`).
    pub hidden: bool,
    /// What no library defines may be defined by one of the pipeline (`allowReferencingUndefinedSymbols`).
    pub undefined: bool,
}

/// The dynamic libraries of a pipeline.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linked<'a> {
    /// Looked into first, for all modules (`preloadedLibraries`).
    pub preloaded: &'a [Arc<Dynamic>],
    /// Those that the kernel's source was compiled with.
    pub libraries: &'a [Arc<Dynamic>],
    /// What the kernel's source calls is theirs, whatever the pipeline has.
    pub sealed: bool,
}

impl Dynamic {
    /// The name that others find it by.
    pub fn install_name(&self) -> &str {
        &self.install_name
    }
}

impl Dynamic {
    /// Of what it defines only the functions of one name.
    pub(super) fn only(mut self, name: &str) -> Dynamic {
        let own = name.rsplit("::").next().unwrap_or(name);
        self.module.exported.retain(|symbol| symbol == own || own_name(symbol) == Some(own));
        self.key = fingerprint(&[&self.key, name, if self.sealed { "sealed" } else { "" }]);
        self
    }
    /// The bytes of its file.
    pub fn encode(&self) -> Vec<u8> {
        let libraries = self.libraries.iter().map(|library| library.install_name.clone()).collect();
        File { install_name: self.install_name.clone(), libraries, source: self.source.clone() }.encode()
    }

    /// The library of a file's bytes; `load` gives the libraries that it names. None for bytes that are no such file.
    ///
    /// # Errors
    /// What `load` says, and as [`Checked::dynamic`](super::Checked::dynamic).
    pub fn decode<E: From<CompileFailure>>(
        bytes: &[u8],
        load: impl FnMut(&str) -> Result<Arc<Dynamic>, E>,
    ) -> Result<Option<Dynamic>, E> {
        let Some(File { install_name, libraries, source }) = File::decode(bytes) else { return Ok(None) };
        let libraries = libraries.iter().map(String::as_str).map(load).collect::<Result<Vec<_>, E>>()?;
        let Source { written, expanded, options, linking } = source;
        let checked = check(&Toolchain::shared()?, &written, expanded, String::new(), &options)?;
        Ok(Some(checked.dynamic(&install_name, linking, &libraries)?))
    }
}

impl Linked<'_> {
    pub(super) fn is_none(&self) -> bool {
        self.preloaded.is_empty() && self.libraries.is_empty()
    }

    /// A hash of what is linked and in which order.
    pub(super) fn key(&self) -> String {
        let keys = |all: &[Arc<Dynamic>]| all.iter().map(|one| one.key.as_str()).collect::<Vec<_>>().join(" ");
        fingerprint(&[&keys(self.preloaded), &keys(self.libraries), if self.sealed { "sealed" } else { "" }])
    }

    /// Whether threads may wait for each other in any of them.
    pub(super) fn synchronises(&self) -> bool {
        self.all().iter().any(|library| library.synchronises)
    }

    /// Whether the code of any of them contains a word.
    pub(super) fn contains(&self, word: &str) -> bool {
        self.all().iter().any(|library| library.module.text.contains(word))
    }

    /// Every library that can be reached, once.
    fn all(&self) -> Vec<&Arc<Dynamic>> {
        let mut all = Vec::new();
        for root in [self.preloaded, self.libraries] {
            walk(root, &mut |library| {
                all.push(library);
                false
            });
        }
        let mut seen = BTreeSet::new();
        all.retain(|library| seen.insert(Arc::as_ptr(library)));
        all
    }

    /// The library that defines a name for a module that was compiled with `own`.
    fn find<'a>(&'a self, name: &str, own: &'a [Arc<Dynamic>], sealed: bool) -> Option<&'a Arc<Dynamic>> {
        let first = if sealed { &[] } else { self.preloaded };
        let direct = first.iter().find(|library| library.module.exported.contains(name));
        direct.or_else(|| walk(own, &mut |library| library.module.exported.contains(name)))
    }
}

/// The first of some libraries and, behind all of them, of their libraries for which `wanted` is true. Each is visited once.
fn walk<'a>(roots: &'a [Arc<Dynamic>], wanted: &mut dyn FnMut(&'a Arc<Dynamic>) -> bool) -> Option<&'a Arc<Dynamic>> {
    let (mut seen, mut next): (BTreeSet<*const Dynamic>, Vec<&Arc<Dynamic>>) =
        (BTreeSet::new(), roots.iter().collect());
    while !next.is_empty() {
        let level = std::mem::take(&mut next);
        for library in level {
            if !seen.insert(Arc::as_ptr(library)) {
                continue;
            }
            if wanted(library) {
                return Some(library);
            }
            next.extend(&library.libraries);
        }
    }
    None
}

/// The name of a function without its scopes, of the symbol that it has in an object (Itanium C++ ABI 5.1).
fn own_name(symbol: &str) -> Option<&str> {
    let encoding = symbol.strip_prefix("_Z")?;
    let nested = encoding.strip_prefix('N');
    let mut rest = nested.unwrap_or(encoding).trim_start_matches(['r', 'V', 'K']);
    let mut own = None;
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&digits| digits > 0) {
        let end = digits + rest[..digits].parse::<usize>().ok()?;
        own = Some(rest.get(digits..end)?);
        rest = &rest[end..];
        if nested.is_none() {
            break;
        }
    }
    own
}

/// What the runtime and LLVM define: the kernel's object has them once.
fn is_common(name: &str) -> bool {
    ["hm_", "__start_hm_", "__stop_hm_", "llvm."].iter().any(|start| name.starts_with(start))
}

impl Module {
    pub(super) fn new(text: String) -> Module {
        let (mut exported, mut defined, mut undefined) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for line in text.lines() {
            let Some((name, words)) = symbol(line) else { continue };
            let has = |word: &str| words.split_whitespace().any(|other| other == word);
            if is_common(name) || has("internal") || has("private") {
                continue;
            }
            if line.starts_with("declare ") || has("external") || has("extern_weak") {
                undefined.insert(name.to_owned());
                continue;
            }
            defined.insert(name.to_owned());
            if !has("hidden") && !has("linkonce_odr") && !has("weak_odr") {
                exported.insert(name.to_owned());
            }
        }
        Module { text, exported, defined, undefined }
    }

    /// A hash of the code.
    pub(super) fn key(&self) -> String {
        fingerprint(&[&self.text])
    }

    /// Its text with every name bound: as the kernel's, or as that of a library of the list.
    ///
    /// # Errors
    /// When a library's loops are not prepared for what it calls.
    fn bound(&self, linked: &Linked, all: &[&Arc<Dynamic>], own: Option<usize>) -> Result<String, CompileFailure> {
        let libraries = own.map_or(linked.libraries, |number| &all[number].libraries);
        let sealed = own.map_or(linked.sealed, |number| all[number].sealed);
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        if let Some(number) = own {
            names.extend(self.defined.iter().map(|name| (name.as_str(), format!("{BOUND}{number}.{name}"))));
        }
        for name in &self.undefined {
            let Some(found) = linked.find(name, libraries, sealed) else { continue };
            let number = all.iter().position(|one| Arc::ptr_eq(one, found));
            let number = number.unwrap_or_else(|| unreachable!("every library that is searched is in the list"));
            if own.is_some_and(|own| found.synchronises && !all[own].prepared) {
                return Err(source_failure(format!(
                    "'{name}' of the dynamic library '{}' makes threads wait for each other, and the library that calls it was compiled with one that does not: hostmetal does not support that",
                    found.install_name
                )));
            }
            names.insert(name, format!("{BOUND}{number}.{name}"));
        }
        let mut text = String::with_capacity(self.text.len() + 64 * names.len());
        for line in self.text.split_inclusive('\n') {
            match symbol(line) {
                // The kernel's module has it.
                Some(("llvm.used" | "llvm.compiler.used", _)) if own.is_some() => {}
                Some((name, _)) if own.is_some() && name.starts_with("hm_") && line.starts_with('@') => {
                    if matches!(name, "hm_runtime" | "hm_log") {
                        text.push_str(&format!("@{name} = external global ptr, align 8\n"));
                    }
                }
                _ => rename(line, &names, &mut text),
            }
        }
        Ok(text)
    }
}

/// The name that a line of LLVM's text defines or declares, and the words around it.
fn symbol(line: &str) -> Option<(&str, &str)> {
    let at = if line.starts_with("define ") || line.starts_with("declare ") {
        line.find('@')?
    } else if line.starts_with('@') {
        0
    } else {
        return None;
    };
    let (name, end) = global(line, at)?;
    match at {
        0 => {
            let rest = line[end..].strip_prefix(" = ")?;
            let words = ["global ", "constant ", "alias ", "ifunc "].iter().filter_map(|kind| rest.find(kind)).min()?;
            Some((name, &rest[..words]))
        }
        _ => Some((name, &line[..at])),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'$' | b'.' | b'_')
}

/// The name behind the `@` or `$` at `at`, and where it ends.
fn global(line: &str, at: usize) -> Option<(&str, usize)> {
    let rest = &line[at + 1..];
    if let Some(quoted) = rest.strip_prefix('"') {
        let end = quoted.find('"')?;
        return Some((&quoted[..end], at + 2 + end + 1));
    }
    let end = rest.bytes().position(|byte| !is_word(byte)).unwrap_or(rest.len());
    (end > 0).then(|| (&rest[..end], at + 1 + end))
}

/// Copies a line with the names of globals and comdats changed.
fn rename(line: &str, names: &BTreeMap<&str, String>, text: &mut String) {
    let bytes = line.as_bytes();
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b';' => break,
            b'"' => at = line[at + 1..].find('"').map_or(line.len(), |length| at + length + 2),
            sign @ (b'@' | b'$') => {
                let Some((name, end)) = global(line, at) else {
                    at += 1;
                    continue;
                };
                if let Some(new) = names.get(name) {
                    text.push_str(&line[copied..at]);
                    text.push(char::from(sign));
                    text.push_str(&format!("\"{new}\""));
                    copied = end;
                }
                at = end;
            }
            byte if is_word(byte) => at += bytes[at..].iter().take_while(|byte| is_word(**byte)).count(),
            _ => at += 1,
        }
    }
    text.push_str(&line[copied..]);
}

/// What clang makes of a kernel's module with its libraries, as `invoke::compile` does of a text: `request` is that for the kernel, whose
/// module `module` gives when it is needed.
pub(super) fn compile(
    toolchain: &Toolchain,
    request: &Request,
    linked: &Linked,
    keep: fn(&str) -> String,
    archives: &Archives,
    module: impl FnOnce() -> Result<Module, CompileFailure>,
) -> Result<Record, CompileFailure> {
    let key = toolchain.key(&["linked", &request.key(toolchain), &linked.key()]);
    kept(toolchain, &key, keep, archives, || link(toolchain, &module()?, request, linked), |_| false)
}

/// Fails unless everything that a module uses is defined.
pub(super) fn verify(
    toolchain: &Toolchain,
    math: Arithmetic,
    module: &Module,
    libraries: &[Arc<Dynamic>],
) -> Result<(), CompileFailure> {
    let flags = ["-O0", "-shared", "-fuse-ld=lld", "-Wl,-z,defs"];
    let request = Request { math, text: &module.key(), flags: &flags, pass: false, object: true };
    let linked = Linked { libraries, ..Linked::default() };
    let key = toolchain.key(&["linked", &request.key(toolchain), &linked.key()]);
    kept(
        toolchain,
        &key,
        |_| String::new(),
        &Archives::default(),
        || {
            // Whether it links is all that is kept of it.
            link(toolchain, module, &request, &linked).map(|record| Record { file: Vec::new(), ..record })
        },
        |_| false,
    )
    .map(drop)
}

/// Links modules, and compiles what comes out.
fn link(toolchain: &Toolchain, module: &Module, request: &Request, linked: &Linked) -> Result<Record, CompileFailure> {
    let job = toolchain.job()?;
    let broken = |e: std::io::Error| CompileFailure {
        kind: Failure::Toolchain,
        log: format!("cannot write to '{}': {e}", job.path().display()),
    };
    let all = linked.all();
    std::fs::write(job.path().join("kernel.ll"), module.bound(linked, &all, None)?).map_err(broken)?;
    let names: Vec<String> = (0..all.len()).map(|number| format!("library{number}")).collect();
    for (number, library) in all.iter().enumerate() {
        let text = library.module.bound(linked, &all, Some(number))?;
        std::fs::write(job.path().join(format!("{}.ll", names[number])), text).map_err(broken)?;
    }
    let mut flags: Vec<OsString> = language_flags(request.math)
        .iter()
        .filter(|flag| *flag != "-fdeclspec")
        .map(|flag| if flag == "clcpp" { "ir".into() } else { flag.into() })
        .collect();
    if !names.is_empty() {
        // clang reads what it links as bitcode only.
        let mut arguments = flags.clone();
        arguments.extend(["-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes"].map(OsString::from));
        arguments.extend(names.iter().map(|name| format!("{name}.ll").into()));
        let finished = toolchain.clang(job.path(), arguments)?;
        if !finished.success {
            let log = format!("{} does not read its own code:\n{}", toolchain.version(), finished.output);
            return Err(CompileFailure { kind: Failure::Toolchain, log });
        }
    }
    for name in &names {
        flags.extend(["-Xclang", "-mlink-bitcode-file", "-Xclang"].map(OsString::from));
        flags.push(format!("{name}.bc").into());
    }
    flags.extend(request.flags.iter().map(OsString::from));
    if request.pass {
        let plugin = engine::plugin(toolchain).map_err(|log| CompileFailure { kind: Failure::Toolchain, log })?;
        let mut argument = OsString::from("-fpass-plugin=");
        argument.push(plugin);
        flags.push(argument);
    }
    flags.extend(["-o", OBJECT, "kernel.ll"].map(OsString::from));
    flags.extend(libraries().iter().map(OsString::from));
    let finished = toolchain.clang(job.path(), flags)?;
    if finished.success {
        let file = std::fs::read(job.path().join(OBJECT)).map_err(broken)?;
        return Ok(Record { success: true, output: finished.output, file });
    }
    Err(failed(toolchain, &finished.output))
}

/// What a file begins with; the number counts changes of the form.
const MAGIC: &[u8; 28] = b"hostmetal dynamic library 1\n";

/// What a file of a dynamic library says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) install_name: String,
    /// Install names.
    pub(super) libraries: Vec<String>,
    pub(super) source: Source,
}

impl File {
    /// The bytes of the file: a head, the texts with their lengths, and a hash of it all. There is no code in it, so that it serves
    /// any machine.
    pub(super) fn encode(&self) -> Vec<u8> {
        let Source { written, expanded, options, linking } = &self.source;
        let mut bytes = MAGIC.to_vec();
        bytes.extend([options.math_mode as u8, u8::from(options.precise_functions)]);
        bytes.extend([u8::from(linking.hidden), u8::from(linking.undefined)]);
        bytes.extend(options.language_version.0.to_le_bytes());
        bytes.extend(options.language_version.1.to_le_bytes());
        let macros = options.macros.iter().flat_map(|(name, value)| [name, value]);
        let counts = [self.libraries.len() as u64, options.macros.len() as u64];
        bytes.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
        for text in [&self.install_name, written, expanded].into_iter().chain(&self.libraries).chain(macros) {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        let sum = hash([bytes.as_slice()]);
        bytes.extend_from_slice(sum.as_bytes());
        bytes
    }

    /// What `encode` wrote; none for any other bytes.
    pub(super) fn decode(bytes: &[u8]) -> Option<File> {
        use super::MathMode;
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(KEY)?)?;
        if hash([body]).as_bytes() != sum {
            return None;
        }
        let mut rest = body.strip_prefix(MAGIC)?;
        let (flags, behind) = rest.split_first_chunk::<4>()?;
        let (version, behind) = behind.split_first_chunk::<8>()?;
        rest = behind;
        let number = |rest: &mut &[u8]| -> Option<usize> {
            let (number, behind) = rest.split_first_chunk::<8>()?;
            *rest = behind;
            usize::try_from(u64::from_le_bytes(*number)).ok()
        };
        let text = |rest: &mut &[u8]| -> Option<String> {
            let length = number(rest)?;
            let (text, behind) = rest.split_at_checked(length)?;
            *rest = behind;
            String::from_utf8(text.to_vec()).ok()
        };
        let (libraries, macros) = (number(&mut rest)?, number(&mut rest)?);
        let (install_name, written, expanded) = (text(&mut rest)?, text(&mut rest)?, text(&mut rest)?);
        let libraries = (0..libraries).map(|_| text(&mut rest)).collect::<Option<_>>()?;
        let macros = (0..macros).map(|_| Some((text(&mut rest)?, text(&mut rest)?))).collect::<Option<_>>()?;
        let math_mode = match flags[0] {
            0 => MathMode::Safe,
            1 => MathMode::Relaxed,
            2 => MathMode::Fast,
            _ => return None,
        };
        let number_at = |at: usize| Some(u32::from_le_bytes(version.get(at..at + 4)?.try_into().ok()?));
        let options = CompileOptions {
            math_mode,
            precise_functions: flags[1] == 1,
            language_version: (number_at(0)?, number_at(4)?),
            macros,
            // Which messages a library has is not known to its kernels.
            logging: false,
        };
        let linking = Linking { hidden: flags[2] == 1, undefined: flags[3] == 1 };
        rest.is_empty().then_some(File {
            install_name,
            libraries,
            source: Source { written, expanded, options, linking },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_by_their_own_names() {
        for (symbol, name) in [
            ("_Z4tonef", Some("tone")),
            ("_Z14tone_map_curvef", Some("tone_map_curve")),
            ("_Z6helper4tone", Some("helper")),
            ("_ZN1n5timesEii", Some("times")),
            ("_ZN5outer5inner4toneE6Struct", Some("tone")),
            ("_Z2idIfET_S0_", Some("id")),
            ("_Z99f", None),
            ("tone", None),
        ] {
            assert_eq!(own_name(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn names_are_told_from_what_looks_like_them() {
        let names = BTreeMap::from([("f", "library.0.f".to_owned()), ("a b", "library.0.a b".to_owned())]);
        for (line, expected) in [
            ("call void @f(ptr @g)", "call void @\"library.0.f\"(ptr @g)"),
            ("call void @f2(ptr @f.1, ptr %f, ptr @f)", "call void @f2(ptr @f.1, ptr %f, ptr @\"library.0.f\")"),
            ("@t = constant [3 x i8] c\"@f\\00\" ; @f", "@t = constant [3 x i8] c\"@f\\00\" ; @f"),
            ("call void @\"a b\"() comdat($f)", "call void @\"library.0.a b\"() comdat($\"library.0.f\")"),
            ("!0 = !{!\"@f\", ptr @f}\n", "!0 = !{!\"@f\", ptr @\"library.0.f\"}\n"),
            ("x$f = \"", "x$f = \""),
        ] {
            let mut text = String::new();
            rename(line, &names, &mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_module_knows_what_it_defines_and_uses() {
        let text = "@hm_runtime = global ptr null\n@a = constant [2 x i32] zeroinitializer\n@b = external constant i32\n\
                    @c = internal constant i32 0\n@.s = private constant [9 x i8] c\"global @x\"\n@d = hidden constant i32 0\n\
                    define noundef float @f(ptr @q) #0 {\ndefine internal void @g() {\ndefine hidden void @h() {\n\
                    define linkonce_odr void @i() comdat {\ndeclare float @j(float)\ndeclare void @llvm.x()\n";
        let module = Module::new(text.to_owned());
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(module.exported, set(&["a", "f"]));
        assert_eq!(module.defined, set(&["a", "d", "f", "h", "i"]));
        assert_eq!(module.undefined, set(&["b", "j"]));
    }

    #[test]
    fn every_damage_of_a_file_is_noticed() {
        let options = CompileOptions { macros: vec![("A".to_owned(), "1".to_owned())], ..CompileOptions::default() };
        let linking = Linking { hidden: true, undefined: false };
        let source = Source { written: "s".to_owned(), expanded: "e".to_owned(), options, linking };
        let file = File { install_name: "n".to_owned(), libraries: vec!["l".to_owned(), String::new()], source };
        let good = file.encode();
        assert_eq!(File::decode(&good).as_ref(), Some(&file));
        for length in 0..good.len() {
            assert!(File::decode(&good[..length]).is_none(), "cut to {length}");
        }
        for byte in 0..good.len() {
            let mut damaged = good.clone();
            damaged[byte] ^= 1 << (byte % 8);
            assert!(File::decode(&damaged).is_none(), "byte {byte}");
        }
    }
}
