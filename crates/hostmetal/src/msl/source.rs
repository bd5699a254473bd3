//! A checked source and its kernels: the way from text to `Checked`, and from there to a loaded kernel.

use super::accept::accept;
use super::archive::Archives;
use super::constants::{ConstantKey, ConstantValue, DataType, enumerators};
use super::diagnose::{Finding, MOST_FINDINGS, Map, Severity, print, read_clang};
use super::discover::{
    ConstantInfo, Kernel, KernelInfo, describe_constants, find_kernels, finish, is_marked_visible, types_of_constants,
};
use super::engine::{self, Engine};
use super::flags::{HELD, LOOPS, PRINTED, SHARED, STACKS, UNJOINED, allocations, keeps_memory};
use super::globals;
use super::invoke::{
    FOOT, HEAD, INTERNAL, OBJECT, PROGRAM, Request, compile, is_lasting, preprocess, source_failure, syntax,
};
use super::kernels::{Mode, Role, exported, wrapper};
use super::link::{self, Dynamic, Linked, Linking, Module, Source};
use super::loaded;
use super::logging::{self, Formats};
use super::members;
use super::memo::Memo;
use super::reach::synchronises;
use super::reconverge::{self, Unsupported};
use super::rewrite::{
    Constant, Edits, Rewrite, assume_constant, bodies, emit, hide_constant, rewrite, set_constant, unrestrict,
};
use super::rules;
use super::scan::{Function, Program, scan};
use super::spaces;
use super::stage::StageInput;
use super::token::Stream;
use super::toolchain::{Toolchain, fingerprint};
use super::{CompileFailure, CompileOptions, Counting, Failure, LoadedFunction, LoadedKernel};
use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};

/// A source that compiles. Clones share everything.
#[derive(Clone)]
pub struct Checked {
    pub(super) inner: Arc<Inner>,
}

impl std::fmt::Debug for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checked").field("kernels", &self.inner.infos).field("warnings", &self.inner.warnings).finish()
    }
}

pub(super) struct Inner {
    pub(super) toolchain: Arc<Toolchain>,
    /// As it was given.
    pub(super) source: String,
    pub(super) options: CompileOptions,
    key: String,
    pub(super) stream: Stream,
    pub(super) program: Program,
    edits: Edits,
    constants: Vec<(Constant, ConstantInfo)>,
    pub(super) infos: Vec<KernelInfo>,
    pub(super) kernels: Vec<Kernel>,
    formats: Formats,
    warnings: Option<String>,
}

static CHECKED: LazyLock<Memo<Checked, CompileFailure>> = LazyLock::new(|| Memo::new(64));
static FUNCTIONS: LazyLock<Memo<LoadedFunction, CompileFailure>> = LazyLock::new(|| Memo::new(256));
static BUILT: LazyLock<Memo<LoadedKernel, CompileFailure>> = LazyLock::new(|| Memo::new(256));

pub(super) fn abandoned() -> CompileFailure {
    CompileFailure { kind: Failure::Toolchain, log: "the compilation was abandoned".to_owned() }
}

impl Checked {
    /// Preprocesses, checks and rewrites a source text.
    ///
    /// # Errors
    /// [`Failure::Source`] with the diagnostics, or what went wrong with the compiler.
    pub fn new(toolchain: &Arc<Toolchain>, source: &str, options: &CompileOptions) -> Result<Self, CompileFailure> {
        let key = fingerprint(&[source, &format!("{options:?}"), &toolchain.identity()]);
        let check = || {
            let (text, warnings) = preprocess(toolchain, source, options)?;
            check(toolchain, source, text, warnings, options)
        };
        if !is_lasting(source) || !options.macros.iter().all(|(_, value)| is_lasting(value)) {
            return check();
        }
        CHECKED.get(&key, abandoned(), check)
    }

    /// The kernels, sorted by name.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.inner.infos
    }

    /// What the compiler warns of, in the format of errors.
    pub fn warnings(&self) -> Option<&str> {
        self.inner.warnings.as_deref()
    }

    /// Compiles one kernel with the given values of its function constants. Values for constants that the source does
    /// not have are ignored, as in Metal.
    ///
    /// # Errors
    /// [`Failure::Source`] for an unknown kernel, a missing or wrong value, or diagnostics of this specialisation; or
    /// what went wrong with the compiler.
    pub fn build(&self, kernel: &str, constants: &[ConstantValue]) -> Result<LoadedKernel, CompileFailure> {
        self.build_for(kernel, constants, Engine::from_environment()?)
    }

    /// As `build`, with what else a pipeline says.
    ///
    /// # Errors
    /// As `build`, [`Failure::ArchiveMiss`], and [`Failure::Source`] for what no library defines.
    pub fn build_with(
        &self,
        kernel: &str,
        constants: &[ConstantValue],
        with: &With,
    ) -> Result<LoadedKernel, CompileFailure> {
        self.made(kernel, constants, with)
    }

    /// Fails when a function calls what neither the source nor the libraries define.
    ///
    /// # Errors
    /// [`Failure::Source`] with the names.
    pub fn verify(&self, libraries: &[Arc<Dynamic>]) -> Result<(), CompileFailure> {
        self.inner.verify(libraries)
    }

    /// The source as a dynamic library, linked with others.
    ///
    /// # Errors
    /// [`Failure::Source`] when it calls what nothing defines, or has what a dynamic library cannot have.
    pub fn dynamic(
        &self,
        install_name: &str,
        linking: Linking,
        libraries: &[Arc<Dynamic>],
    ) -> Result<Dynamic, CompileFailure> {
        self.inner.dynamic(install_name, linking, libraries)
    }

    /// The visible functions that the source only declares: functions of the pipeline define them (`MTLLinkedFunctions`).
    pub fn external(&self) -> Vec<&str> {
        self.inner.external().map(|function| self.inner.stream.at(function.name)).collect()
    }

    /// One of its visible functions, and what it reaches, as a dynamic library, by the name that `named` wants in the source. None for one
    /// that it does not want. `libraries` are the source's; `sealed`: they come before the pipeline's.
    ///
    /// # Errors
    /// As `dynamic`.
    pub fn linked(
        &self,
        (function, constants): (&str, &[ConstantValue]),
        named: impl Fn(&str) -> bool,
        libraries: &[Arc<Dynamic>],
        sealed: bool,
    ) -> Result<Option<Dynamic>, CompileFailure> {
        let number = self.number(function, true)?;
        let name = self.inner.kernels[number].instance.text.as_str();
        if !named(name) {
            return Ok(None);
        }
        let told = |failure: CompileFailure| CompileFailure {
            log: format!("linked function '{function}': {}", failure.log),
            ..failure
        };
        let values = self.inner.values(number, constants)?;
        Ok(Some(self.inner.linked(number, &values, libraries, sealed).map_err(told)?.only(name)))
    }

    /// As `build`, for an engine instead of the one that the environment names.
    ///
    /// # Errors
    /// As `build`.
    pub fn build_for(
        &self,
        kernel: &str,
        constants: &[ConstantValue],
        engine: Engine,
    ) -> Result<LoadedKernel, CompileFailure> {
        self.made(kernel, constants, &With { engine: Some(engine), ..With::default() })
    }

    /// What one kernel does, with the given values of its function constants: a text of lines (`msl/analysis.rs`).
    ///
    /// # Errors
    /// As `build`; and [`Failure::Unsupported`] where hostmetal was built without its LLVM pass, for another LLVM than the compiler's, or
    /// the kernel is one that the pass cannot look at.
    pub fn analysis(&self, kernel: &str, constants: &[ConstantValue]) -> Result<String, CompileFailure> {
        let inner = &self.inner;
        let number = self.number(kernel, false)?;
        inner.analysis(number, &inner.values(number, constants)?)
    }

    /// Compiles one visible function with the given values of its function constants.
    ///
    /// # Errors
    /// As `build_with`; and [`Failure::Source`] for a function in which threads may wait for each other.
    pub fn function(
        &self,
        name: &str,
        constants: &[ConstantValue],
        with: &With,
    ) -> Result<LoadedFunction, CompileFailure> {
        let (inner, number) = (&self.inner, self.number(name, true)?);
        let values = inner.values(number, constants)?;
        if !with.archives.is_none() {
            return inner.function(number, &values, with);
        }
        let libraries = with.linked.key();
        let mut parts: Vec<&str> = vec![&inner.key, name, &libraries];
        parts.extend(values.iter().map(|value| value.as_deref().unwrap_or("undefined")));
        FUNCTIONS.get(&fingerprint(&parts), abandoned(), || inner.function(number, &values, with))
    }

    /// Of a kernel or visible function.
    fn number(&self, name: &str, visible: bool) -> Result<usize, CompileFailure> {
        let infos = &self.inner.infos;
        let found = infos.binary_search_by(|k| k.name.as_str().cmp(name)).ok();
        let what = if visible { "visible function" } else { "kernel" };
        found
            .filter(|&number| infos[number].visible == visible)
            .ok_or_else(|| source_failure(format!("there is no {what} named '{name}'")))
    }

    fn made(&self, kernel: &str, constants: &[ConstantValue], with: &With) -> Result<LoadedKernel, CompileFailure> {
        let engine = with.engine.map_or_else(Engine::from_environment, Ok)?;
        let inner = &self.inner;
        let number = self.number(kernel, false)?;
        let values = inner.values(number, constants)?;
        if !with.archives.is_none() {
            return inner.build(number, &values, engine, with);
        }
        // A description that the kernel does not look at is none.
        let input = inner.infos[number].stage_input.then_some(with.stage_input).flatten();
        let (setting, libraries) = (format!("{engine:?} {input:?} {}", with.counts), with.linked.key());
        let mut parts: Vec<&str> = vec![&inner.key, kernel, &setting, &libraries];
        for value in &values {
            parts.push(value.as_deref().unwrap_or("undefined"));
        }
        BUILT.get(&fingerprint(&parts), abandoned(), || inner.build(number, &values, engine, with))
    }
}

/// Checks a source by its preprocessed text.
pub(super) fn check(
    toolchain: &Arc<Toolchain>,
    source: &str,
    text: String,
    mut warnings: String,
    options: &CompileOptions,
) -> Result<Checked, CompileFailure> {
    let key = fingerprint(&[source, &text, &format!("{options:?}"), &toolchain.identity()]);
    let stream = Stream::new(text);
    let mut findings = Vec::new();
    if let Some(token) = stream.unbalanced {
        // Nothing can be told about such a source; clang says what is missing.
        let rewrite = rewrite(&stream, &Program::default(), &mut findings);
        let mut found = syntax(toolchain, options, &stream, &rewrite.edits, &with_foot(&stream, &[]))?;
        if !found.iter().any(|f| f.severity == Severity::Error) {
            found.push(Finding::error(token, format!("'{}' has no partner", stream.at(token))));
        }
        return Err(source_failure(print(&stream, source, &found)));
    }
    let program = scan(&stream);
    let inside = bodies(&stream, &program);
    let known = enumerators(&stream, &program.enums);
    let Rewrite { mut edits, constants, tested } = rewrite(&stream, &program, &mut findings);
    let version = options.language_version;
    let globals = globals::rewrite(&stream, &program, &known, version, &mut edits, &mut findings);
    rules::check(&stream, &program, &inside, &globals.declarations, version, &mut findings);
    let formats = logging::rewrite(&stream, &mut edits, options.logging, &mut findings);
    let types = types_of_constants(toolchain, options, &stream, &edits, &constants)?;
    let constants = describe_constants(&stream, constants, types, &tested, &known, &mut findings);
    let (mut kernels, removed) = find_kernels(&stream, &program, &known, &globals, &mut findings);
    for &(start, end) in &removed {
        edits.remove(start, end + 1);
    }
    kernels.sort_by(|a, b| a.0.cmp(&b.0));
    for pair in kernels.windows(2) {
        // Overloads of a visible function are told apart by nobody: linking them fails.
        if pair[0].0 == pair[1].0 && !(pair[0].1.visible && pair[1].1.visible) {
            findings.push(Finding::error(
                pair[0].1.token.max(pair[1].1.token),
                format!("redefinition of kernel '{}'", pair[0].0),
            ));
        }
    }
    if findings.iter().any(|f| f.severity == Severity::Error) {
        // Both views at once: what the rules found, and what clang finds besides.
        let mut checking = edits.clone();
        for (constant, _) in &constants {
            hide_constant(&stream, &mut checking, constant);
        }
        let said: BTreeSet<Option<u32>> = findings.iter().map(|f| f.token.map(|t| stream.tokens[t].line)).collect();
        let more = syntax(toolchain, options, &stream, &checking, &with_foot(&stream, &[]))?;
        // The rules' own findings are never among those that are not shown.
        let room = MOST_FINDINGS.saturating_sub(findings.len());
        findings.extend(
            more.into_iter()
                .filter(|f| f.severity == Severity::Error && !said.contains(&f.token.map(|t| stream.tokens[t].line)))
                .take(room),
        );
        findings.sort_by_key(|f| f.token);
        return Err(source_failure(print(&stream, source, &findings)));
    }
    let apart = spaces::may_pass(&stream, &program);
    let edits =
        accept(toolchain, options, &stream, source, &program, edits, &constants, &kernels, apart, &mut findings)?;
    if !findings.is_empty() {
        warnings.push_str(&print(&stream, source, &findings));
    }
    let (infos, kernels) = finish(&stream, &program, &constants, kernels, &removed);
    let warnings = (!warnings.is_empty()).then_some(warnings);
    let (toolchain, source, options) = (toolchain.clone(), source.to_owned(), options.clone());
    Ok(Checked {
        inner: Arc::new(Inner {
            toolchain,
            source,
            options,
            key,
            stream,
            program,
            edits,
            constants,
            infos,
            kernels,
            formats,
            warnings,
        }),
    })
}

pub(super) fn with_foot(stream: &Stream, tail: &[(usize, String)]) -> Vec<(usize, String)> {
    let mut all = vec![(stream.len().saturating_sub(1), FOOT.to_owned())];
    all.extend_from_slice(tail);
    all
}

impl Inner {
    /// The C++ value of each function constant, none for those without one.
    fn values(&self, kernel: usize, given: &[ConstantValue]) -> Result<Vec<Option<String>>, CompileFailure> {
        let own = &self.infos[kernel].constants;
        let mut values = Vec::new();
        for (_, info) in &self.constants {
            let used = own.contains(info);
            let value = given.iter().rev().find(|value| match &value.key {
                ConstantKey::Index(index) => *index == info.index,
                ConstantKey::Name(name) => *name == info.name,
            });
            let problem = match value {
                // Another kernel's constant does not make this one different.
                _ if !used => {
                    values.push(None);
                    continue;
                }
                None if info.required => format!(
                    "kernel '{}' needs a value for function constant '{}' (index {})",
                    self.infos[kernel].name, info.name, info.index
                ),
                None => {
                    values.push(None);
                    continue;
                }
                Some(value) if value.data_type != info.data_type => {
                    let spelled = |t: DataType| t.spelling().unwrap_or_else(|| format!("MTLDataType {}", t.0));
                    format!(
                        "function constant '{}' (index {}) has type '{}', the value given has type '{}'",
                        info.name,
                        info.index,
                        spelled(info.data_type),
                        spelled(value.data_type)
                    )
                }
                Some(value) => match value.expression() {
                    Ok(expression) => {
                        values.push(Some(expression));
                        continue;
                    }
                    Err(problem) => format!("function constant '{}' (index {}): {problem}", info.name, info.index),
                },
            };
            return Err(source_failure(problem));
        }
        Ok(values)
    }

    fn build(
        &self,
        number: usize,
        values: &[Option<String>],
        engine: Engine,
        with: &With,
    ) -> Result<LoadedKernel, CompileFailure> {
        let kernel = &self.kernels[number];
        let linked = &with.linked;
        let waits = linked.synchronises();
        let mut edits = self.specialised(values);
        let names: Vec<String> = kernel
            .signature
            .parameters
            .iter()
            .filter(|p| !matches!(p.role, Role::Input(_) | Role::StageIn))
            .map(|p| p.name.map_or(String::new(), |n| self.stream.at(n).to_owned()))
            .collect();
        if !linked.is_none() {
            self.import(&mut edits);
        }
        if !kernel.group || waits {
            self.reconverge(&mut edits, waits)?;
        }
        // What is missing all the same, clang tells.
        let own = self.reached(kernel, &edits);
        let (code, counting) = match self.counted(number, values, with)? {
            Ok((code, counters)) => (code, Counting::Counts(Arc::new(counters))),
            Err(why) => {
                let code = match self.code(kernel, &Sources { edits: &own, with }, engine) {
                    Err(failure) if failure.kind == Failure::Source => self
                        .code(kernel, &Sources { edits: &edits, with }, engine)
                        .map_err(|failure| self.unlinked(failure))?,
                    other => other?,
                };
                (code, why.map_or(Counting::No, |why| Counting::Cannot(why.into())))
            }
        };
        let broken = |log: String| {
            let log = format!("kernel '{}': {log}", self.infos[number].name);
            CompileFailure { kind: Failure::Toolchain, log }
        };
        // A file of its own: what runs are the bytes that were checked, whatever becomes of the cache.
        let job = self.toolchain.job()?;
        let path = job.path().join(OBJECT);
        std::fs::write(&path, code).map_err(|e| broken(format!("cannot write '{}': {e}", path.display())))?;
        let attributes: Vec<&str> = kernel.signature.stage.iter().map(|member| self.stream.at(member.name)).collect();
        let names = loaded::Names { bindings: &names, attributes: &attributes };
        let object =
            loaded::load(&path, &names, |number| members::name(&self.stream, number), crate::executor::runtime_table())
                .map_err(broken)?;
        if std::env::var_os("HOSTMETAL_LOG").is_some_and(|level| level == "debug") {
            let tiles = if object.in_tiles { ", in tiles" } else { "" };
            eprintln!("hostmetal: kernel '{}' was built for {}{tiles}", self.infos[number].name, object.built);
        }
        Ok(LoadedKernel { object: Arc::new(object), formats: self.formats.clone(), counting })
    }

    /// With the values of the function constants.
    pub(super) fn specialised(&self, values: &[Option<String>]) -> Edits {
        let mut edits = self.edits.clone();
        for ((constant, _), value) in self.constants.iter().zip(values) {
            set_constant(&self.stream, &mut edits, constant, value.as_deref());
        }
        edits
    }

    fn external(&self) -> impl Iterator<Item = &Function> {
        self.program.undefined(&self.stream).filter(|function| is_marked_visible(&self.stream, function))
    }

    /// Names the calls of functions that nothing defines.
    fn unlinked(&self, failure: CompileFailure) -> CompileFailure {
        let Some(missing) = failure.log.strip_prefix("Undefined symbols: ") else { return failure };
        let names = self.external().map(|function| (function.name, self.stream.at(function.name)));
        let missing = names.filter(|(_, name)| missing.contains(&format!("{name}(")));
        let findings: Vec<Finding> = missing
            .filter_map(|(declared, name)| {
                let call = (0..self.stream.len()).find(|&i| i != declared && self.stream.is(i, name))?;
                let text = format!(
                    "visible function '{name}' is only declared, and the pipeline links none of that name and type"
                );
                Some(Finding::error(call, text))
            })
            .collect();
        if findings.is_empty() { failure } else { source_failure(print(&self.stream, &self.source, &findings)) }
    }

    /// Without what the kernel does not reach.
    pub(super) fn reached(&self, kernel: &Kernel, edits: &Edits) -> Edits {
        let mut own = edits.clone();
        for (region, _) in self.program.regions.iter().zip(&kernel.needed).filter(|(_, needed)| !**needed) {
            own.remove(region.range.0, (region.range.1 + 1).min(self.stream.len()));
        }
        own
    }

    fn function(
        &self,
        number: usize,
        values: &[Option<String>],
        with: &With,
    ) -> Result<LoadedFunction, CompileFailure> {
        let (kernel, name) = (&self.kernels[number], &self.infos[number].name);
        if !kernel.group || with.linked.synchronises() {
            return Err(source_failure(format!(
                "visible function '{name}' may reach a barrier or a SIMD-group function: hostmetal has these in kernels only"
            )));
        }
        if self.options.logging && self.formats.0.as_ref().is_some_and(|formats| !formats.is_empty()) {
            return Err(source_failure(format!(
                "visible function '{name}': hostmetal keeps no messages of os_log in libraries with visible functions"
            )));
        }
        let mut edits = self.specialised(values);
        if !with.linked.is_none() {
            self.import(&mut edits);
        }
        let sources = Sources { edits: &edits, with };
        let entry = exported(&kernel.instance.text, &self.program.scopes[kernel.scope]);
        let code = self.with_or_without(|plugin| {
            let mut flags = SHARED.to_vec();
            flags.extend(UNJOINED.iter().filter(|_| !plugin));
            let settings = (flags.as_slice(), plugin, str::to_owned as fn(&str) -> String);
            self.compiled(kernel.token, String::new(), &entry, settings, &sources).map(|(code, _)| code)
        });
        let code = code.map_err(|failure| self.unlinked(failure))?;
        let broken =
            |log: String| CompileFailure { kind: Failure::Toolchain, log: format!("visible function '{name}': {log}") };
        let job = self.toolchain.job()?;
        let path = job.path().join(OBJECT);
        std::fs::write(&path, code).map_err(|e| broken(format!("cannot write '{}': {e}", path.display())))?;
        let object = loaded::load_function(&path, crate::executor::runtime_table()).map_err(broken)?;
        Ok(LoadedFunction { object: Arc::new(object) })
    }

    fn code(&self, kernel: &Kernel, sources: &Sources, engine: Engine) -> Result<Vec<u8>, CompileFailure> {
        if kernel.group && !sources.with.linked.synchronises() {
            let tiles = if kernel.loops && sources.with.linked.is_none() {
                self.passed(kernel, sources, engine, &Mode::Tiles)?.ok()
            } else {
                None
            };
            return match tiles {
                Some(code) => Ok(code),
                None => self.with_or_without(|plugin| self.looped(kernel, sources, plugin)),
            };
        }
        match self.passed(kernel, sources, engine, &Mode::Pass)? {
            Ok(code) => Ok(code),
            Err(why) => {
                let mode = Mode::Thread { why };
                // The pass drops such promises itself.
                let mut edits = sources.edits.clone();
                unrestrict(&self.stream, &mut edits);
                let sources = Sources { edits: &edits, with: sources.with };
                Ok(self.with_or_without(|plugin| self.object(kernel, &sources, &mode, plugin))?.0)
            }
        }
    }

    /// What clang is told of the structures in the kernel's buffers.
    pub(super) fn members(&self, kernel: &Kernel) -> String {
        let buffers = kernel.signature.parameters.iter().filter(|parameter| parameter.role == Role::Buffer);
        let tokens = buffers.flat_map(|parameter| parameter.range.0..parameter.range.1);
        let mut words: HashSet<&str> = tokens.map(|token| self.stream.at(token)).collect();
        let of_instance = kernel.instance.values.values().chain(&kernel.instance.types).chain([&kernel.instance.text]);
        words.extend(of_instance.flat_map(|text| text.split(|c: char| c != '_' && !c.is_alphanumeric())));
        members::specialisations(&self.stream, &self.program, words)
    }

    /// What is made with the plugin, where there is one that the compiler does not fail with.
    fn with_or_without<T>(&self, make: impl Fn(bool) -> Result<T, CompileFailure>) -> Result<T, CompileFailure> {
        if engine::usable(&self.toolchain).is_err() {
            return make(false);
        }
        match make(true) {
            Err(failure) if engine::fails(&failure) => make(false),
            other => other,
        }
    }

    /// The object as a loop over threads.
    fn looped(&self, kernel: &Kernel, sources: &Sources, plugin: bool) -> Result<Vec<u8>, CompileFailure> {
        let (code, output) = self.object(kernel, sources, &Mode::Group { independent: true }, plugin)?;
        // See hostmetal_kernel.h: a thread's own memory must not have survived.
        let of_program = (0..self.stream.len()).any(|i| self.stream.at(i).starts_with(HELD));
        let named = !of_program && !sources.with.linked.contains(HELD);
        if !keeps_memory(&output, named) {
            return Ok(code);
        }
        self.object(kernel, sources, &Mode::Group { independent: false }, plugin).map(|(code, _)| code)
    }

    /// The object as the pass makes it, or why it does not.
    fn passed(
        &self,
        kernel: &Kernel,
        sources: &Sources,
        engine: Engine,
        mode: &Mode,
    ) -> Result<Result<Vec<u8>, String>, CompileFailure> {
        if engine == Engine::Stack {
            return Ok(Err("it was asked for".to_owned()));
        }
        if let Err(why) = engine::usable(&self.toolchain) {
            return Ok(Err(why));
        }
        match self.object(kernel, sources, mode, true) {
            Ok((code, output)) => Ok(match output.lines().find_map(|line| line.strip_prefix(engine::REFUSAL)) {
                None => Ok(code),
                Some(why) => Err(why.to_owned()),
            }),
            // What the compiler cannot do with the pass it may do without.
            Err(failure) if engine::fails(&failure) => {
                Ok(Err(failure.log.lines().next().unwrap_or_default().to_owned()))
            }
            Err(failure) => Err(failure),
        }
    }

    /// A shared object, and what matters of what clang said. `plugin`: with the pass's.
    fn object(
        &self,
        kernel: &Kernel,
        sources: &Sources,
        mode: &Mode,
        plugin: bool,
    ) -> Result<(Vec<u8>, String), CompileFailure> {
        let with = sources.with;
        let entry = wrapper(
            &self.stream,
            &kernel.signature,
            &kernel.instance,
            &self.program.scopes[kernel.scope],
            Some(mode),
            with.stage_input,
            0,
        );
        let mut flags = SHARED.to_vec();
        match mode {
            Mode::Group { .. } | Mode::Pass | Mode::Tiles | Mode::Analysis => {
                flags.extend(LOOPS);
                flags.extend(UNJOINED.iter().filter(|_| !plugin));
            }
            Mode::Thread { .. } | Mode::Counts => flags.extend(STACKS),
        }
        let mut keep: fn(&str) -> String = str::to_owned;
        if *mode == (Mode::Group { independent: true }) {
            flags.extend(PRINTED);
            keep = allocations;
        }
        // Members that the tokens show otherwise than clang sees them are not told.
        self.compiled(kernel.token, self.members(kernel), &entry, (&flags, plugin, keep), sources)
    }

    /// The source with `entry` behind it, of which `token` is named, as a shared object. `told` is left out where clang does not accept it.
    fn compiled(
        &self,
        token: usize,
        mut told: String,
        entry: &str,
        (flags, plugin, keep): (&[&str], bool, fn(&str) -> String),
        sources: &Sources,
    ) -> Result<(Vec<u8>, String), CompileFailure> {
        let &Sources { edits, with } = sources;
        let With { archives, linked, .. } = with;
        let math = self.options.arithmetic();
        loop {
            let tail = with_foot(&self.stream, &[(token, format!("{told}{entry}"))]);
            let (text, map) = emit(&self.stream, edits, HEAD, &tail);
            let request = Request { math, text: &text, flags, pass: plugin, object: true };
            let record = if linked.is_none() {
                compile(&self.toolchain, &request, keep, archives)?
            } else {
                let module = || match self.text(&text, &[])? {
                    Ok(module) => Ok(module),
                    Err(output) => Err(self.refused(&output, &map)),
                };
                link::compile(&self.toolchain, &request, linked, keep, archives, module)?
            };
            if record.success {
                return Ok((record.file, record.output));
            }
            if told.is_empty() {
                return Err(self.refused(&record.output, &map));
            }
            told.clear();
        }
    }

    pub(super) fn refused(&self, output: &str, map: &Map) -> CompileFailure {
        source_failure(print(&self.stream, &self.source, &read_clang(output, PROGRAM, map)))
    }

    pub(super) fn reconverge(&self, edits: &mut Edits, outside: bool) -> Result<(), CompileFailure> {
        reconverge::insert(&self.stream, &self.program, edits, outside).map_err(|Unsupported { token, text }| {
            let finding = Finding::error(token, text);
            source_failure(print(&self.stream, &self.source, &[finding]))
        })
    }

    /// Lets functions that the source only declares be those of another module: they are not internal.
    fn import(&self, edits: &mut Edits) {
        for function in self.program.declared(&self.stream) {
            edits.before(function.start, "_Pragma(\"clang attribute pop\") ");
            edits.behind(function.end, &format!(" _Pragma(\"{INTERNAL}\")"));
        }
    }

    /// LLVM's text of a rewritten text, or what clang says of it.
    fn text(&self, text: &str, flags: &[&str]) -> Result<Result<Module, String>, CompileFailure> {
        let math = self.options.arithmetic();
        let flags: Vec<&str> = link::TEXT.iter().chain(flags).copied().collect();
        let request = Request { math, text, flags: &flags, pass: false, object: true };
        let record = compile(&self.toolchain, &request, str::to_owned, &Archives::default())?;
        if !record.success {
            return Ok(Err(record.output));
        }
        let broken = |_| CompileFailure { kind: Failure::Toolchain, log: "clang's code is not text".to_owned() };
        Ok(Ok(Module::new(String::from_utf8(record.file).map_err(broken)?)))
    }

    /// The module of all functions of the source.
    fn module(&self, edits: &Edits, hidden: bool) -> Result<Module, CompileFailure> {
        let (text, map) = emit(&self.stream, edits, "", &[]);
        let visibility = if hidden { "-fvisibility=hidden" } else { "-fvisibility=default" };
        self.text(&text, &[visibility])?.map_err(|output| self.refused(&output, &map))
    }

    fn verify(&self, libraries: &[Arc<Dynamic>]) -> Result<(), CompileFailure> {
        // Nothing is compiled where the tokens show that all is defined.
        let called = |function: &Function| {
            let name = self.stream.at(function.name);
            (0..self.stream.len()).any(|i| i != function.name && self.stream.at(i) == name)
        };
        let external = |function: &&Function| is_marked_visible(&self.stream, function);
        if libraries.is_empty() && !self.program.undefined(&self.stream).filter(|f| !external(f)).any(called) {
            return Ok(());
        }
        let mut edits = self.edits.clone();
        for function in self.program.undefined(&self.stream).filter(external) {
            edits.replace(function.end, "{ __builtin_trap(); }");
        }
        for (constant, _) in &self.constants {
            assume_constant(&self.stream, &mut edits, constant);
        }
        link::verify(&self.toolchain, self.options.arithmetic(), &self.module(&edits, false)?, libraries)
    }

    fn dynamic(
        &self,
        install_name: &str,
        linking: Linking,
        libraries: &[Arc<Dynamic>],
    ) -> Result<Dynamic, CompileFailure> {
        if let Some((_, constant)) = self.constants.first() {
            let text = format!("function constant '{}': hostmetal has none in dynamic libraries", constant.name);
            return Err(source_failure(text));
        }
        let synchronises = (0..self.stream.len()).any(|i| synchronises(&self.stream, i));
        self.packed((install_name, linking), &self.edits, synchronises, libraries)
    }

    fn packed(
        &self,
        (install_name, linking): (&str, Linking),
        edits: &Edits,
        synchronises: bool,
        libraries: &[Arc<Dynamic>],
    ) -> Result<Dynamic, CompileFailure> {
        if self.options.logging && self.formats.0.as_ref().is_some_and(|formats| !formats.is_empty()) {
            return Err(source_failure("os_log: hostmetal keeps no messages of dynamic libraries"));
        }
        let linked = Linked { libraries, ..Linked::default() };
        let prepared = linking.undefined || linked.synchronises();
        let synchronises = synchronises || linked.synchronises();
        let mut edits = edits.clone();
        self.reconverge(&mut edits, prepared)?;
        if prepared || synchronises {
            // For kernels with a stack per thread, as in `code`.
            unrestrict(&self.stream, &mut edits);
        }
        let module = self.module(&edits, linking.hidden)?;
        if !linking.undefined {
            link::verify(&self.toolchain, self.options.arithmetic(), &module, libraries)?;
        }
        let source = Source {
            written: self.source.clone(),
            expanded: self.stream.text.clone(),
            options: self.options.clone(),
            linking,
        };
        Ok(Dynamic {
            install_name: install_name.to_owned(),
            key: fingerprint(&[&module.key(), &linked.key()]),
            synchronises,
            libraries: libraries.to_vec(),
            module,
            prepared,
            sealed: false,
            source,
        })
    }

    fn linked(
        &self,
        number: usize,
        values: &[Option<String>],
        libraries: &[Arc<Dynamic>],
        sealed: bool,
    ) -> Result<Dynamic, CompileFailure> {
        let kernel = &self.kernels[number];
        let linking = Linking { undefined: true, ..Linking::default() };
        let edits = self.specialised(values);
        let packed = |edits: &Edits| self.packed(("", linking), edits, !kernel.group, libraries);
        // What is missing all the same, clang tells.
        let made = match packed(&self.reached(kernel, &edits)) {
            Err(failure) if failure.kind == Failure::Source => packed(&edits),
            other => other,
        };
        Ok(Dynamic { sealed, ..made? })
    }
}

/// What one kernel is compiled from.
struct Sources<'a> {
    edits: &'a Edits,
    with: &'a With<'a>,
}

/// What a pipeline says of its kernel's code.
#[derive(Clone, Copy, Debug, Default)]
pub struct With<'a> {
    /// None for the one that the environment names.
    pub engine: Option<Engine>,
    pub archives: Archives<'a>,
    pub linked: Linked<'a>,
    /// Without one the attributes of a `[[stage_in]]` are zero.
    pub stage_input: Option<&'a StageInput>,
    /// The kernel shall count what it does, where it can.
    pub counts: bool,
}
