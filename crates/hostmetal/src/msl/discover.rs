//! The kernels and function constants of a program: plain kernels, instantiated templates, and what each may reach.

use super::addresses::Addresses;
use super::constants::{DataType, Known, evaluate};
use super::diagnose::Finding;
use super::globals::Globals;
use super::invoke::syntax;
use super::kernels::{Instance, Signature, Substitution, attributes, signature, substitution};
use super::reach::Reach;
use super::rewrite::{Constant, Edits, assume_constant};
use super::scan::{Function, Program, Stage};
use super::source::with_foot;
use super::token::{Kind, NONE, Stream};
use super::toolchain::Toolchain;
use super::{CompileFailure, CompileOptions};
use std::collections::{HashMap, HashSet};

/// A function constant of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantInfo {
    pub name: String,
    pub index: u32,
    pub data_type: DataType,
    /// A value must be given: the source never asks whether the constant is defined.
    pub required: bool,
}

/// A kernel of a checked source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    pub name: String,
    /// The function constants that it may use, by index.
    pub constants: Vec<ConstantInfo>,
    /// It has a `[[stage_in]]` parameter with attributes.
    pub stage_input: bool,
    /// It is no kernel, but a function for tables (`[[visible]]`, `[[stitchable]]`).
    pub visible: bool,
    /// It is a visible function that other functions may be stitched of (`[[stitchable]]`).
    pub stitchable: bool,
}

/// A kernel as the rewrite knows it.
pub(super) struct Kernel {
    pub(super) instance: Instance,
    pub(super) scope: usize,
    /// The token that stands for it in messages.
    pub(super) token: usize,
    pub(super) signature: Signature,
    /// Nothing reachable makes threads wait for each other.
    pub(super) group: bool,
    /// Something reachable may be a loop.
    pub(super) loops: bool,
    /// No kernel: a visible function.
    pub(super) visible: bool,
    pub(super) stitchable: bool,
    /// Whether each of the program's regions is needed to compile it.
    pub(super) needed: Vec<bool>,
}

/// A kernel's name, the kernel, and the tokens that it consists of.
pub(super) type Named = (String, Kernel, Vec<(usize, usize)>);

/// All kernels with their names and the tokens that they begin at for reachability; and the instantiations that clang
/// must not see.
pub(super) fn find_kernels(
    stream: &Stream,
    program: &Program,
    known: &Known,
    globals: &Globals,
    findings: &mut Vec<Finding>,
) -> (Vec<Named>, Vec<(usize, usize)>) {
    let mut kernels = Vec::new();
    let mut removed = Vec::new();
    let mut signatures: HashMap<usize, Signature> = HashMap::new();
    let addresses = Addresses::of(stream, program);
    for (number, function) in program.functions.iter().enumerate() {
        if let Some((host, kernel)) = visible(stream, function, globals, findings) {
            kernels.push((host, kernel, vec![(function.start, function.end)]));
        }
        if function.stage != Some(Stage::Kernel) || function.body.is_none() {
            continue;
        }
        let first = globals.of(function).iter().map(|(parameter, _)| parameter.clone()).collect();
        let mut own = signature(stream, program, function, first, known, findings);
        for parameter in &mut own.parameters {
            parameter.placed = addresses.matters(stream, program, function, parameter.range);
        }
        signatures.insert(number, own.clone());
        if !function.is_template() {
            let name = host_name(stream, function.start, function.params.0)
                .unwrap_or_else(|| stream.at(function.name).to_owned());
            let kernel = Kernel {
                instance: Instance {
                    text: stream.at(function.name).to_owned(),
                    types: None,
                    values: Substitution::new(),
                },
                scope: function.scope,
                token: function.name,
                signature: own,
                group: true,
                loops: true,
                visible: false,
                stitchable: false,
                needed: Vec::new(),
            };
            kernels.push((name, kernel, vec![(function.start, function.end)]));
        }
    }
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for &number in signatures.keys() {
        by_name.entry(stream.at(program.functions[number].name)).or_default().push(number);
    }
    for instantiation in &program.instantiations {
        let (start, end) = (instantiation.start, instantiation.end);
        let Some((name, text, types, arguments)) = instantiated(stream, start, end) else { continue };
        let marked = (start..end).any(|i| stream.is(i, "kernel")) || host_name(stream, start, end).is_some();
        let mut templates: Vec<usize> = by_name.get(stream.at(name)).cloned().unwrap_or_default();
        if templates.iter().any(|&t| program.functions[t].scope == instantiation.scope) {
            templates.retain(|&t| program.functions[t].scope == instantiation.scope);
        }
        if templates.len() > 1 {
            templates.retain(|&t| takes(stream, &program.functions[t], arguments.len()));
        }
        let &[number] = templates.as_slice() else {
            if marked && templates.is_empty() {
                findings.push(Finding::error(name, format!("'{}' does not name a kernel template", stream.at(name))));
            } else if marked {
                let text = format!(
                    "there are several kernel templates named '{}', which hostmetal cannot tell apart",
                    stream.at(name)
                );
                findings.push(Finding::error(name, text));
            }
            continue;
        };
        let function = &program.functions[number];
        removed.push((start, end));
        let values = substitution(stream, function.start, function.head, &arguments);
        let first: String = globals.of(function).iter().map(|(_, kind)| format!("{kind}, ")).collect();
        let types = types.map(|types| match types.trim() {
            "" | "void" => first.trim_end_matches(", ").to_owned(),
            _ => first + &types,
        });
        let instance = Instance { text, types, values };
        let host = host_name(stream, start, end).unwrap_or_else(|| stream.at(name).to_owned());
        let kernel = Kernel {
            instance,
            scope: instantiation.scope,
            token: name,
            signature: signatures[&number].clone(),
            group: true,
            loops: true,
            visible: false,
            stitchable: false,
            needed: Vec::new(),
        };
        kernels.push((host, kernel, vec![(start, end), (function.start, function.end)]));
    }
    (kernels, removed)
}

/// A function for tables of visible functions (MSL specification 5.1.4; stitchable ones are visible too, 5.1.5).
fn visible(
    stream: &Stream,
    function: &Function,
    globals: &Globals,
    findings: &mut Vec<Finding>,
) -> Option<(String, Kernel)> {
    if function.stage.is_some() || function.in_class || function.body.is_none() || function.is_template() {
        return None;
    }
    if !is_marked_visible(stream, function) {
        return None;
    }
    let (start, end) = (function.start, function.params.0);
    let name = stream.at(function.name);
    if globals.change(function) {
        let text = format!(
            "visible function '{name}' uses built-ins or bindings at program scope: hostmetal has them in kernels only"
        );
        findings.push(Finding::error(function.name, text));
    }
    let kernel = Kernel {
        instance: Instance { text: name.to_owned(), types: None, values: Substitution::new() },
        scope: function.scope,
        token: function.name,
        signature: Signature { parameters: Vec::new(), max_threads: None, required_threads: None, stage: Vec::new() },
        group: true,
        loops: true,
        visible: true,
        stitchable: is_marked(stream, function, &["stitchable"]),
        needed: Vec::new(),
    };
    Some((host_name(stream, start, end).unwrap_or_else(|| name.to_owned()), kernel))
}

/// Whether it says `[[visible]]` or `[[stitchable]]`.
pub(super) fn is_marked_visible(stream: &Stream, function: &Function) -> bool {
    is_marked(stream, function, &["visible", "stitchable"])
}

fn is_marked(stream: &Stream, function: &Function, names: &[&str]) -> bool {
    let opened = (function.start..function.params.0).filter(|&i| stream.attribute(i).is_some());
    let mut marks = opened.flat_map(|i| attributes(stream, i));
    marks.any(|one| names.contains(&stream.at(one.name)))
}

/// Whether the template has room for so many arguments.
fn takes(stream: &Stream, function: &Function, arguments: usize) -> bool {
    let Some(close) = stream.angle_close(function.start + 1, function.head) else { return false };
    let parameters = stream.split(function.start + 2, close);
    let has = |&(from, to): &(usize, usize), what: &str| (from..to).any(|i| stream.is(i, what));
    let needed = parameters.iter().filter(|p| !has(p, "=") && !has(p, "...")).count();
    arguments >= needed && (arguments <= parameters.len() || parameters.iter().any(|p| has(p, "...")))
}

/// The text of `[[host_name("...")]]` in the given tokens.
fn host_name(stream: &Stream, start: usize, end: usize) -> Option<String> {
    let mut i = start;
    while i < end {
        let Some(behind) = stream.attribute(i) else {
            i += 1;
            continue;
        };
        for attribute in attributes(stream, i) {
            if stream.is(attribute.name, "host_name") {
                // Adjacent literals are one, as macros write them.
                let (from, to) = attribute.arguments?;
                return Some(
                    (from..to)
                        .filter(|&j| stream.kind(j) == Some(Kind::Text))
                        .map(|j| stream.at(j).trim_matches('"'))
                        .collect(),
                );
            }
        }
        i = behind;
    }
    None
}

/// What an explicit instantiation names: the token of the template's name, the instance as written (`f<float, 4>`), the
/// types of the parameters where they
/// tell the arguments, the tokens of the arguments.
type Instantiated = (usize, String, Option<String>, Vec<(usize, usize)>);

fn instantiated(stream: &Stream, start: usize, end: usize) -> Option<Instantiated> {
    let mut last = end.checked_sub(1)?;
    while last > start && matches!(stream.at(last), "]" | ")") && stream.mate[last] != NONE {
        last = stream.mate[last].checked_sub(1)?;
    }
    let open = if stream.is(last, ">") { Some(stream.angle_open(last, start)?) } else { None };
    let name = open.map_or(Some(last), |open| open.checked_sub(1))?;
    if name <= start || !stream.is_ident(name) {
        return None;
    }
    let mut from = name;
    while from >= start + 2 && stream.is(from - 1, "::") && stream.is_ident(from - 2) {
        from -= 2;
    }
    let arguments = open.map_or(Vec::new(), |open| stream.split(open + 1, last));
    let text = stream.words(from, last + 1);
    let mut told = None;
    if open.is_none() && stream.is(last + 1, "(") {
        // `template [[kernel]] void f(device float *);`: the types of the parameters tell the arguments.
        let mut types = String::new();
        let mut i = last + 2;
        while i < stream.mate[last + 1] {
            match stream.attribute(i) {
                Some(behind) => i = behind,
                None => {
                    types.push_str(stream.at(i));
                    types.push(' ');
                    i += 1;
                }
            }
        }
        told = Some(types);
    }
    Some((name, text, told, arguments))
}

/// A number that no `MTLDataType` is.
const ASKED: usize = 0x10000;

/// The data types of the constants; clang tells those that are not spelled as Metal names them: aliases, templates, enumerations. None for
/// what clang finds no type.
pub(super) fn types_of_constants(
    toolchain: &Toolchain,
    options: &CompileOptions,
    stream: &Stream,
    edits: &Edits,
    constants: &[Constant],
) -> Result<Vec<Option<DataType>>, CompileFailure> {
    let mut types: Vec<_> = constants.iter().map(|c| DataType::of_spelling(&c.spelling)).collect();
    if types.iter().all(Option::is_some) {
        return Ok(types);
    }
    let mut asking = edits.clone();
    for (number, constant) in constants.iter().enumerate() {
        assume_constant(stream, &mut asking, constant);
        if types[number].is_none() {
            let question =
                format!(" static_assert(hostmetal::data_type_of<{}>() == {});", constant.spelling, ASKED + number);
            asking.behind(constant.end, &question);
        }
    }
    for finding in syntax(toolchain, options, stream, &asking, &with_foot(stream, &[]))? {
        // Clang evaluates both sides of what does not hold.
        let Some(sides) = finding.text.strip_prefix("expression evaluates to '") else { continue };
        let Some((told, asked)) = sides.trim_end_matches('\'').split_once(" == ") else { continue };
        let (Ok(told), Ok(asked)) = (told.parse(), asked.parse::<usize>()) else { continue };
        if let Some(number) = asked.checked_sub(ASKED).filter(|&number| number < types.len()) {
            types[number] = Some(DataType(told));
        }
    }
    Ok(types)
}

/// `types`: of each constant.
pub(super) fn describe_constants(
    stream: &Stream,
    constants: Vec<Constant>,
    types: Vec<Option<DataType>>,
    tested: &[usize],
    known: &Known,
    findings: &mut Vec<Finding>,
) -> Vec<(Constant, ConstantInfo)> {
    let asked: HashSet<&str> = tested.iter().map(|&t| stream.at(t)).collect();
    let mut described: Vec<(Constant, ConstantInfo)> = Vec::new();
    for (constant, data_type) in constants.into_iter().zip(types) {
        let name = stream.at(constant.name).to_owned();
        // Clang refuses what it finds no type.
        let Some(data_type) = data_type else { continue };
        // MSL specification 5.8.
        if data_type.spelling().is_none() {
            findings.push(Finding::error(
                constant.name,
                format!("function constant '{name}' must be a scalar or a vector, not '{}'", constant.spelling),
            ));
            continue;
        }
        let index = evaluate(stream, constant.index.0, constant.index.1, known)
            .and_then(|i| u32::try_from(i).ok())
            .filter(|i| *i <= 65535);
        let Some(index) = index else {
            findings.push(Finding::error(
                constant.index.0,
                "'function_constant' index must be an integer constant between 0 and 65535",
            ));
            continue;
        };
        if let Some((_, other)) = described.iter().find(|(_, c)| c.index == index) {
            findings.push(Finding::error(
                constant.name,
                format!("function constants '{}' and '{name}' have the same index {index}", other.name),
            ));
            continue;
        }
        let required = !asked.contains(name.as_str());
        described.push((constant, ConstantInfo { name, index, data_type, required }));
    }
    described
}

/// The kernels' public description, and what building needs; both in the given order. `removed`: as `find_kernels` gives them.
pub(super) fn finish(
    stream: &Stream,
    program: &Program,
    constants: &[(Constant, ConstantInfo)],
    kernels: Vec<Named>,
    removed: &[(usize, usize)],
) -> (Vec<KernelInfo>, Vec<Kernel>) {
    let numbers: HashMap<&str, usize> =
        constants.iter().enumerate().map(|(i, (_, info))| (info.name.as_str(), i)).collect();
    let reach = Reach::new(stream, program, &numbers, removed);
    kernels
        .into_iter()
        .map(|(name, mut kernel, roots)| {
            let reached = reach.from(stream, program, &roots, &numbers);
            kernel.group = !reached.synchronises;
            kernel.loops = reached.loops;
            kernel.needed = reached.needed;
            let mut own: Vec<ConstantInfo> = reached.constants.iter().map(|&c| constants[c].1.clone()).collect();
            own.sort_by_key(|c| c.index);
            let stage_input = !kernel.signature.stage.is_empty();
            let Kernel { visible, stitchable, .. } = kernel;
            (KernelInfo { name, constants: own, stage_input, visible, stitchable }, kernel)
        })
        .unzip()
}
