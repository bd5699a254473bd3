//! Kernels: their parameters and attributes, the index of each argument, and the C++ that calls them.
//!
//! The types of the arguments are deduced by the templates of `hostmetal_kernel.h`, so that aliases and dependent types
//! need no parser here; this
//! file decides what each parameter *is* (MSL specification 5.2.1, 5.2.3.6 and 5.6.4): a buffer, threadgroup memory, a texture,
//! a sampler, an imageblock or one of the thread's positions.

use super::constants::{Known, evaluate};
use super::diagnose::Finding;
use super::scan::{Function, Program};
use super::stage::{self, Member, StageInput};
use super::token::Stream;
use std::collections::HashMap;

/// Attributes of a compute kernel's inputs: name, whether it is a position (scalar, 2 or 3 components) or a scalar.
const INPUTS: [(&str, bool); 20] = [
    ("thread_position_in_grid", true),
    ("thread_position_in_threadgroup", true),
    ("threadgroup_position_in_grid", true),
    ("threads_per_grid", true),
    ("threads_per_threadgroup", true),
    ("dispatch_threads_per_threadgroup", true),
    ("threadgroups_per_grid", true),
    ("grid_origin", true),
    ("grid_size", true),
    ("thread_index_in_threadgroup", false),
    ("thread_index_in_simdgroup", false),
    ("thread_index_in_quadgroup", false),
    ("simdgroup_index_in_threadgroup", false),
    ("quadgroup_index_in_threadgroup", false),
    ("threads_per_simdgroup", false),
    ("thread_execution_width", false),
    ("simdgroups_per_threadgroup", false),
    ("dispatch_simdgroups_per_threadgroup", false),
    ("quadgroups_per_threadgroup", false),
    ("dispatch_quadgroups_per_threadgroup", false),
];

/// Attributes that stand in MSL compute sources and that clang does not know: taken out wherever they stand.
const STRIPPED: [&str; 25] = [
    "buffer",
    "threadgroup",
    "texture",
    "sampler",
    "id",
    "function_constant",
    "host_name",
    "kernel",
    "max_total_threads_per_threadgroup",
    "required_threads_per_threadgroup",
    "max_total_threadgroups_per_mesh_grid",
    "visible",
    "stitchable",
    "function_groups",
    "raster_order_group",
    "position",
    "user",
    "attribute",
    "color",
    "stage_in",
    "early_fragment_tests",
    "point_size",
    "flat",
    "center_perspective",
    "invariant",
];

/// One `[[name(arguments)]]`.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// The token of the name (the last one of `a::b`).
    pub(crate) name: usize,
    /// The tokens between the parentheses.
    pub(crate) arguments: Option<(usize, usize)>,
}

/// The attributes in the `[[...]]` that opens at `open`.
pub(crate) fn attributes(stream: &Stream, open: usize) -> Vec<Attribute> {
    let Some(behind) = stream.attribute(open) else { return Vec::new() };
    stream
        .split(open + 2, behind - 2)
        .into_iter()
        .filter(|(start, end)| start < end)
        .map(|(start, end)| {
            let mut name = start;
            while stream.is(name + 1, "::") && name + 2 < end {
                name += 2;
            }
            let arguments = (name + 1 < end && stream.is(name + 1, "(")).then(|| (name + 2, stream.mate[name + 1]));
            Attribute { name, arguments }
        })
        .collect()
}

/// Whether clang must not see the attribute.
pub(crate) fn is_stripped(stream: &Stream, attribute: &Attribute) -> bool {
    let scoped = attribute.name > 0 && stream.is(attribute.name - 1, "::");
    let name = stream.at(attribute.name);
    !scoped && (STRIPPED.contains(&name) || INPUTS.iter().any(|(input, _)| *input == name))
}

/// Whether an attribute of this name makes a kernel's argument of a variable.
pub(crate) fn is_argument(word: &str) -> bool {
    Role::of_attribute(word).is_some() || INPUTS.iter().any(|(input, _)| *input == word)
}

/// What a kernel's parameter is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Buffer,
    Threadgroup,
    Texture,
    Sampler,
    Imageblock,
    Input(&'static str),
    /// A structure of attributes (stage.rs).
    StageIn,
}

impl Role {
    /// The attribute that gives an argument of this role its index, and the highest index (Metal feature set tables).
    fn table(&self) -> Option<(&'static str, i64)> {
        match self {
            Role::Buffer => Some(("buffer", 30)),
            Role::Threadgroup => Some(("threadgroup", 30)),
            Role::Texture => Some(("texture", 127)),
            Role::Sampler => Some(("sampler", 15)),
            Role::Imageblock | Role::Input(_) | Role::StageIn => None,
        }
    }

    pub(crate) fn of_attribute(word: &str) -> Option<Role> {
        [Role::Buffer, Role::Threadgroup, Role::Texture, Role::Sampler]
            .into_iter()
            .find(|role| role.table().is_some_and(|(name, _)| name == word))
    }

    /// A texture, a sampler, a table of functions or an imageblock by the type's name, where no attribute says it.
    fn of_type(word: &str) -> Option<Role> {
        match word {
            "sampler" => return Some(Role::Sampler),
            "visible_function_table" => return Some(Role::Buffer),
            "imageblock" => return Some(Role::Imageblock),
            _ => {}
        }
        is_texture(word).then_some(Role::Texture)
    }
}

/// Whether the word names one of MSL's types of textures.
fn is_texture(word: &str) -> bool {
    let Some(rest) = word.strip_prefix("texture").or_else(|| word.strip_prefix("depth")) else { return false };
    matches!(
        rest,
        "1d" | "1d_array" | "2d" | "2d_array" | "2d_ms" | "2d_ms_array" | "3d" | "cube" | "cube_array" | "_buffer"
    )
}

/// An argument's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    Known(i64),
    /// A constant expression only C++ can evaluate: its tokens.
    Expression(usize, usize),
}

/// One parameter of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// The token of the name; none for an unnamed parameter.
    pub(crate) name: Option<usize>,
    pub(crate) range: (usize, usize),
    pub(crate) role: Role,
    pub(crate) index: Option<Index>,
    /// How many indices it takes: 1, or the elements of an array of textures or samplers; none when only C++ can tell.
    pub(crate) count: Option<i64>,
    /// `[[function_constant(x)]]`: the tokens of x; the argument exists only when x is true.
    pub(crate) condition: Option<(usize, usize)>,
    /// A reference to a constant whose address matters.
    pub(crate) placed: bool,
}

/// A kernel function or kernel template.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) parameters: Vec<Parameter>,
    /// `[[max_total_threads_per_threadgroup(n)]]`: the tokens of n.
    pub(crate) max_threads: Option<(usize, usize)>,
    /// `[[required_threads_per_threadgroup(x, y, z)]]`: the tokens of each.
    pub(crate) required_threads: Option<[(usize, usize); 3]>,
    /// Of the `[[stage_in]]` parameter, where there is one.
    pub(crate) stage: Vec<Member>,
}

/// The place of the declared name in `start..end`: the last identifier before an array part, outside of attributes and
/// initialisers.
pub(crate) fn declared_name(stream: &Stream, start: usize, end: usize) -> Option<usize> {
    let mut stop = start;
    while stop < end {
        if stream.is(stop, "=") || stream.attribute(stop).is_some() {
            break;
        }
        stop = if stream.is(stop, "<") {
            stream.angle_close(stop, end).map_or(stop, |c| c) + 1
        } else {
            stream.skip(stop)
        };
    }
    let mut stop = stop.min(end);
    while stop > start && stream.is(stop - 1, "]") {
        stop = stream.mate[stop - 1];
    }
    if stop == start {
        return None;
    }
    // `device float (&rows)[4]`
    if stream.is(stop - 1, ")") && stream.mate[stop - 1] > start {
        stop -= 1;
    }
    (stop > start && stream.is_ident(stop - 1)).then_some(stop - 1)
}

/// Reads a kernel's parameters, which follow the `first` ones, and gives an index to every argument that has none.
pub(crate) fn signature(
    stream: &Stream,
    program: &Program,
    function: &Function,
    first: Vec<Parameter>,
    known: &Known,
    findings: &mut Vec<Finding>,
) -> Signature {
    let (open, close) = function.params;
    let mut parameters = first;
    for (start, end) in stream.split(open + 1, close) {
        if end == start + 1 && stream.is(start, "void") {
            continue;
        }
        if let Some(parameter) = parameter(stream, start, end, known, findings) {
            parameters.push(parameter);
        }
    }
    assign(stream, &mut parameters, findings);
    positions_agree(stream, function.name, &parameters, findings);
    let (mut max_threads, mut required_threads) = (None, None);
    let mut i = function.start;
    while i < function.end {
        if i == open {
            i = close + 1;
        }
        if function.body.is_some_and(|(brace, _)| brace == i) {
            break;
        }
        if let Some(behind) = stream.attribute(i) {
            for attribute in attributes(stream, i) {
                match stream.at(attribute.name) {
                    // Behind the parameters it would belong to the function's type.
                    word @ ("max_total_threads_per_threadgroup" | "required_threads_per_threadgroup") if i > close => {
                        findings.push(Finding::error(
                            attribute.name,
                            format!("'{word}' attribute cannot be applied to types"),
                        ));
                    }
                    "max_total_threads_per_threadgroup" => max_threads = attribute.arguments,
                    word @ "required_threads_per_threadgroup" => {
                        let parts = attribute.arguments.map(|(from, to)| stream.split(from, to));
                        match parts.unwrap_or_default().try_into() {
                            Ok(parts) => required_threads = Some(parts),
                            Err(_) => findings.push(Finding::error(
                                attribute.name,
                                format!("'{word}' attribute requires exactly 3 arguments"),
                            )),
                        }
                    }
                    _ => {}
                }
            }
            i = behind;
        } else {
            i += 1;
        }
    }
    let mut inputs = parameters.iter().filter(|parameter| parameter.role == Role::StageIn);
    let stage = match inputs.next() {
        Some(parameter) => stage::members(stream, program, parameter, known, findings),
        None => Vec::new(),
    };
    if let Some(second) = inputs.next() {
        let at = second.name.unwrap_or(second.range.0);
        findings.push(Finding::error(at, "a kernel can have only one parameter with the 'stage_in' attribute"));
    }
    let mut imageblocks =
        parameters.iter().filter(|parameter| parameter.role == Role::Imageblock && parameter.condition.is_none());
    if let Some(second) = imageblocks.nth(1) {
        let at = second.name.unwrap_or(second.range.0);
        findings.push(Finding::error(at, "a kernel can have only one imageblock with explicit layout"));
    }
    Signature { parameters, max_threads, required_threads, stage }
}

/// Whether the tokens declare a pointer or a reference outside of template arguments.
fn is_indirect(stream: &Stream, start: usize, end: usize) -> bool {
    let mut i = start;
    while i < end {
        match stream.at(i) {
            "*" | "&" => return true,
            "=" => return false,
            "<" => i = stream.angle_close(i, end).map_or(i, |c| c),
            "[" => match stream.attribute(i) {
                Some(behind) => i = behind - 1,
                // `constant int x[2]` is a pointer in a parameter list.
                None => return true,
            },
            _ => {}
        }
        i += 1;
    }
    false
}

/// Reads the declaration of a kernel's parameter, or of a variable that becomes one.
pub(crate) fn parameter(
    stream: &Stream,
    start: usize,
    end: usize,
    known: &Known,
    findings: &mut Vec<Finding>,
) -> Option<Parameter> {
    let name = declared_name(stream, start, end);
    let at = name.unwrap_or(start);
    let shown = name.map_or("", |n| stream.at(n)).to_owned();
    let mut role = None;
    let mut index = None;
    let mut condition = None;
    let mut i = start;
    while i < end {
        let Some(behind) = stream.attribute(i) else {
            if matches!(stream.at(i), "=" | "{") {
                break;
            }
            i += 1;
            continue;
        };
        for attribute in attributes(stream, i) {
            let word = stream.at(attribute.name);
            match word {
                "buffer" | "threadgroup" | "texture" | "sampler" => {
                    role = Role::of_attribute(word);
                    let Some((from, to)) = attribute.arguments.filter(|(from, to)| from < to) else {
                        findings.push(Finding::error(attribute.name, format!("'{word}' attribute takes one argument")));
                        return None;
                    };
                    index = Some(match evaluate(stream, from, to, known) {
                        Some(value) => Index::Known(value),
                        None => Index::Expression(from, to),
                    });
                }
                "function_constant" => condition = attribute.arguments,
                "stage_in" => role = Some(Role::StageIn),
                // A name for a stage's interface: a kernel has none, and the argument its next free index.
                "maybe_unused" | "user" => {}
                "imageblock_data" | "alias_implicit_imageblock" | "alias_implicit_imageblock_color" => {
                    let text = format!(
                        "'[[{word}]]' belongs to functions of render passes: hostmetal runs compute functions only"
                    );
                    findings.push(Finding::error(attribute.name, text));
                    return None;
                }
                _ => match INPUTS.iter().find(|(input, _)| *input == word) {
                    Some((input, _)) => role = Some(Role::Input(input)),
                    None => {
                        findings.push(Finding::error(
                            attribute.name,
                            format!("'[[{word}]]' is not supported by hostmetal on a kernel's parameter"),
                        ));
                        return None;
                    }
                },
            }
        }
        i = behind;
    }
    let indirect = is_indirect(stream, start, end);
    let spaces: Vec<&str> = (start..end)
        .map(|i| stream.at(i))
        .filter(|w| matches!(*w, "device" | "constant" | "threadgroup" | "thread" | "threadgroup_imageblock"))
        .collect();
    let words = |role: &dyn Fn(&str) -> Option<Role>| (start..at).find_map(|i| role(stream.at(i)));
    let role = match role {
        Some(role) => role,
        None if indirect && spaces.first() == Some(&"threadgroup") => Role::Threadgroup,
        None if indirect => Role::Buffer,
        None => match words(&Role::of_type).or_else(|| words(&|word| alias_of(stream, word))) {
            Some(role) => role,
            None => {
                let text = format!(
                    "parameter '{shown}' of a kernel needs an attribute such as [[buffer(n)]] or [[thread_position_in_grid]]"
                );
                findings.push(Finding::error(at, text));
                return None;
            }
        },
    };
    let count =
        if matches!(role, Role::Texture | Role::Sampler) { elements(stream, start, at, known) } else { Some(1) };
    let parameter = Parameter { name, range: (start, end), role, index, count, condition, placed: false };
    check_type(stream, &parameter, indirect, spaces.first().copied(), findings).then_some(parameter)
}

/// An imageblock by a name that the program gives it: no attribute tells its role.
fn alias_of(stream: &Stream, word: &str) -> Option<Role> {
    let aliases = (0..stream.len()).any(|i| {
        let end = || (i..stream.len()).find(|&j| matches!(stream.at(j), ";" | "{" | "")).unwrap_or(i);
        let named = match stream.at(i) {
            "using" => stream.is(i + 1, word) && stream.is(i + 2, "="),
            "typedef" => stream.is(end().wrapping_sub(1), word),
            _ => false,
        };
        named && (i..end()).any(|j| stream.is(j, "imageblock"))
    });
    aliases.then_some(Role::Imageblock)
}

/// N of a type written `array<T, N>` in `start..end`, 1 for any other.
fn elements(stream: &Stream, start: usize, end: usize, known: &Known) -> Option<i64> {
    let Some(open) = (start..end).find(|&i| stream.is(i, "array") && stream.is(i + 1, "<")) else { return Some(1) };
    let close = stream.angle_close(open + 1, end)?;
    let (from, to) = *stream.split(open + 2, close).get(1)?;
    evaluate(stream, from, to, known).filter(|count| *count > 0)
}

/// The rules on the written type of a parameter: MSL specification 4 (address spaces) and table 5.8 (inputs).
fn check_type(
    stream: &Stream,
    parameter: &Parameter,
    indirect: bool,
    space: Option<&str>,
    findings: &mut Vec<Finding>,
) -> bool {
    let (start, end) = parameter.range;
    let at = parameter.name.unwrap_or(start);
    let shown = parameter.name.map_or("", |n| stream.at(n));
    let problem = match &parameter.role {
        Role::Input(input) => {
            if indirect {
                Some(format!("'[[{input}]]' must be a value, not a pointer or reference"))
            } else {
                input_type(stream, start, parameter.name.unwrap_or(end), input)
            }
        }
        Role::Buffer | Role::Threadgroup if !indirect => {
            // An alias of a pointer type cannot be told from a value here: the glue's templates refuse a value.
            let words: Vec<&str> =
                (start..at).map(|i| stream.at(i)).filter(|w| !matches!(*w, "const" | "metal" | "::")).collect();
            let spelled = words.join(" ");
            super::constants::DataType::of_spelling(&spelled)
                .map(|_| format!("invalid type '{spelled}' for buffer declaration: a pointer or reference is needed"))
        }
        Role::Buffer | Role::Threadgroup => match space {
            None => Some(format!(
                "pointer or reference parameter '{shown}' of a kernel must be in address space 'device', 'constant' or 'threadgroup'"
            )),
            Some("thread") => Some(format!("parameter '{shown}' of a kernel cannot point to address space 'thread'")),
            Some("threadgroup_imageblock") => Some(format!(
                "parameter '{shown}' of a kernel in address space 'threadgroup_imageblock' belongs to tile functions of render passes: a compute function has an imageblock"
            )),
            Some("threadgroup") if parameter.role == Role::Buffer => {
                Some(format!("'buffer' attribute needs parameter '{shown}' in address space 'device' or 'constant'"))
            }
            Some("device" | "constant") if parameter.role == Role::Threadgroup => {
                Some(format!("'threadgroup' attribute needs parameter '{shown}' in address space 'threadgroup'"))
            }
            _ => None,
        },
        Role::StageIn => indirect.then(|| {
            format!("'stage_in' attribute needs parameter '{shown}' to be a value, not a pointer or reference")
        }),
        Role::Imageblock => {
            indirect.then(|| format!("imageblock parameter '{shown}' must be a value, not a pointer or reference"))
        }
        Role::Texture | Role::Sampler => {
            let (word, _) = parameter.role.table().unwrap_or_default();
            indirect.then(|| {
                format!("'{word}' attribute needs parameter '{shown}' to be a value, not a pointer or reference")
            })
        }
    };
    if let Some(text) = problem {
        findings.push(Finding::error(at, text));
        return false;
    }
    if let Some(Index::Known(index)) = parameter.index
        && let Some((word, last)) = parameter.role.table()
        && !(0..=last).contains(&index)
    {
        let text = format!("'{word}' attribute parameter is out of bounds: must be between 0 and {last}");
        findings.push(Finding::error(at, text));
        return false;
    }
    true
}

/// The positions and sizes that a kernel asks for are all scalars, or all vectors of one size (MSL specification 5.2.3.6). Types that are
/// aliases are not known here.
fn positions_agree(stream: &Stream, name: usize, parameters: &[Parameter], findings: &mut Vec<Finding>) {
    let size = |parameter: &Parameter| {
        let Role::Input(input) = parameter.role else { return None };
        INPUTS.iter().find(|(known, position)| *known == input && *position)?;
        let (start, end) = (parameter.range.0, parameter.name.unwrap_or(parameter.range.1));
        let words: Vec<&str> =
            (start..end).map(|i| stream.at(i)).filter(|w| !matches!(*w, "const" | "metal" | "::")).collect();
        let spelled = super::constants::DataType::of_spelling(&words.join(" "))?.spelling()?;
        Some(spelled.chars().last().and_then(|c| c.to_digit(10)).unwrap_or(1))
    };
    let mut sizes = parameters.iter().filter_map(size);
    let Some(first) = sizes.next() else { return };
    if sizes.any(|size| size != first) {
        findings.push(Finding::error(
            name,
            "expecting input declarations with either all scalar types or all vector types with the same number of elements",
        ));
    }
}

/// Inputs are ushort or uint, positions also their vectors of 2 and 3; a written builtin type is checked here, an alias
/// by the glue.
fn input_type(stream: &Stream, start: usize, end: usize, input: &str) -> Option<String> {
    let words: Vec<&str> =
        (start..end).map(|i| stream.at(i)).filter(|w| !matches!(*w, "const" | "metal" | "::")).collect();
    let position = INPUTS.iter().any(|(name, position)| *name == input && *position);
    let spelled = super::constants::DataType::of_spelling(&words.join(" "))?.spelling()?;
    let fits = match spelled.as_str() {
        "uint" | "ushort" => true,
        "uint2" | "ushort2" | "uint3" | "ushort3" => position,
        _ => false,
    };
    (!fits).then(|| format!("invalid type '{}' for attribute '{input}'", words.join(" ")))
}

/// Arguments without an index get the lowest one that is free; two arguments must not share one unless function
/// constants choose between them.
fn assign(stream: &Stream, parameters: &mut [Parameter], findings: &mut Vec<Finding>) {
    for role in [Role::Buffer, Role::Threadgroup, Role::Texture, Role::Sampler] {
        let Some((word, last)) = role.table() else { unreachable!("inputs have no index") };
        // First index, the one behind the last, whether a function constant may switch it off.
        let mut taken: Vec<(i64, i64, bool)> = Vec::new();
        let mut unknown = None;
        for parameter in parameters.iter().filter(|p| p.role == role) {
            match parameter.index {
                Some(Index::Known(index)) => {
                    let conditional = parameter.condition.is_some();
                    let end = index + parameter.count.unwrap_or(1);
                    if taken.iter().any(|(from, to, also)| index < *to && *from < end && !(conditional && *also)) {
                        let at = parameter.name.unwrap_or(parameter.range.0);
                        findings.push(Finding::error(
                            at,
                            format!("cannot reserve '{word}' resource location at index {index}"),
                        ));
                    }
                    taken.push((index, end, conditional));
                }
                Some(Index::Expression(from, _)) => unknown = Some(from),
                None => {}
            }
            if parameter.count.is_none() {
                unknown = Some(parameter.range.0);
            }
        }
        for parameter in parameters.iter_mut().filter(|p| p.role == role && p.index.is_none()) {
            let at = parameter.name.unwrap_or(parameter.range.0);
            if let Some(from) = unknown {
                let text = format!(
                    "'{}' needs an explicit index: another one of this kernel is an expression hostmetal cannot evaluate ('{}')",
                    stream.at(at),
                    stream.at(from)
                );
                findings.push(Finding::error(at, text));
                return;
            }
            let count = parameter.count.unwrap_or(1);
            let free = (0..=last + 1 - count)
                .find(|first| taken.iter().all(|(from, to, _)| first + count <= *from || *to <= *first));
            let Some(index) = free else {
                findings
                    .push(Finding::error(at, format!("no '{word}' index is left for parameter '{}'", stream.at(at))));
                return;
            };
            taken.push((index, index + count, false));
            parameter.index = Some(Index::Known(index));
        }
    }
}

/// The values of a template's parameters in one instance, as text.
pub(crate) type Substitution = HashMap<String, String>;

/// The parameters of the template headers `start..head` with the arguments of an instance, given as token ranges, or
/// their defaults.
pub(crate) fn substitution(stream: &Stream, start: usize, head: usize, arguments: &[(usize, usize)]) -> Substitution {
    let mut values = Substitution::new();
    let Some(close) = stream.angle_close(start + 1, head) else { return values };
    for (number, (from, to)) in stream.split(start + 2, close).into_iter().enumerate() {
        let equals = (from..to).find(|&i| stream.is(i, "=")).unwrap_or(to);
        let Some(name) = (from..equals).rev().find(|&i| stream.is_ident(i)) else { continue };
        let (value_from, value_to) = match arguments.get(number) {
            Some(&range) => range,
            None if equals < to => (equals + 1, to),
            None => continue,
        };
        // A default may name the parameters before it.
        let value = expression(stream, value_from, value_to, &values);
        let is_type = matches!(stream.at(from), "typename" | "class");
        values.insert(stream.at(name).to_owned(), if is_type { value } else { format!("({value})") });
    }
    values
}

/// The spelling of `from..to` with the template's parameters replaced.
pub(crate) fn expression(stream: &Stream, from: usize, to: usize, values: &Substitution) -> String {
    let words = (from..to).map(|i| match values.get(stream.at(i)) {
        Some(value) if !matches!(stream.at(i.wrapping_sub(1)), "." | "->" | "::") => value.as_str(),
        _ => stream.at(i),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What a parameter's presence depends on.
fn condition(stream: &Stream, parameter: &Parameter, values: &Substitution) -> Option<String> {
    parameter.condition.map(|(from, to)| format!("(bool)({})", expression(stream, from, to, values)))
}

/// The template arguments of `hostmetal_kernel.h` for one parameter. `stage` names the class of the kernel's `[[stage_in]]`. `known`: the function
/// constants are; else every parameter is there.
fn argument(stream: &Stream, parameter: &Parameter, values: &Substitution, stage: &str, known: bool) -> String {
    let index = match &parameter.index {
        Some(Index::Known(value)) => value.to_string(),
        Some(Index::Expression(from, to)) => format!("({})", expression(stream, *from, *to, values)),
        None => "0".to_owned(),
    };
    let present = condition(stream, parameter, values).filter(|_| known).unwrap_or("true".to_owned());
    match &parameter.role {
        Role::Buffer if parameter.placed => format!("hostmetal::placed_argument<{index}, {present}>"),
        Role::Buffer => format!("hostmetal::argument<hostmetal::kind_buffer, {index}, {present}>"),
        Role::Threadgroup => format!("hostmetal::argument<hostmetal::kind_threadgroup, {index}, {present}>"),
        Role::Texture => format!("hostmetal::resource_argument<hostmetal::kind_texture, {index}, {present}>"),
        Role::Sampler => format!("hostmetal::resource_argument<hostmetal::kind_sampler, {index}, {present}>"),
        Role::Imageblock => format!("hostmetal::imageblock_argument<{present}>"),
        Role::Input(input) => format!("hostmetal::input_{input}"),
        Role::StageIn => format!("hostmetal::stage_in<{stage}>"),
    }
}

/// How a kernel is entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A loop over the threads of a threadgroup; independent: see `each_thread` in hostmetal_kernel.h.
    Group { independent: bool },
    /// A threadgroup, made by the LLVM pass from one thread.
    Pass,
    /// The same where no thread waits for another: in tiles of threads (native/hostmetal/pass/tiles.cpp), else refused.
    Tiles,
    /// Not to be run: the pass tells what it does (analysis.rs).
    Analysis,
    /// One thread, which counts what it does (counts.rs); the caller switches stacks at barriers.
    Counts,
    /// One thread; the caller switches stacks at barriers. Why it is not `Pass`.
    Thread { why: String },
}

/// How a kernel is named in C++.
pub(crate) struct Instance {
    /// `f` or `f<float, 4>`.
    pub(crate) text: String,
    /// The parameters' types, where they choose the instance.
    pub(crate) types: Option<String>,
    pub(crate) values: Substitution,
}

/// What exports a visible function.
pub(crate) fn exported(name: &str, scope: &[String]) -> String {
    let open: String = scope.iter().map(|space| format!("namespace {space} {{ ")).collect();
    let close = " }".repeat(scope.len());
    format!("{open}HM_EXPORT const auto hm_visible = &{name}; HM_EXPORT const char hm_engine[] = {{0}};{close}")
}

/// A function that instantiates everything a call of the kernel needs; or, with a mode, the exported entry and the
/// table of bindings. `number` makes
/// the name of the former unique.
pub(crate) fn wrapper(
    stream: &Stream,
    signature: &Signature,
    instance: &Instance,
    scope: &[String],
    entry: Option<&Mode>,
    input: Option<&StageInput>,
    number: usize,
) -> String {
    let Instance { text: instance, types, values } = instance;
    // Qualified, so that `using namespace metal` adds none of its functions: a kernel may be called `transpose`.
    let instance = match scope {
        [] if !instance.starts_with("::") => format!("::{instance}"),
        _ => instance.clone(),
    };
    let instance = match types {
        Some(types) => format!("static_cast<void (&)({types})>({instance})"),
        None => instance,
    };
    let mut text = String::new();
    for name in scope {
        text.push_str(if name.is_empty() { "namespace { " } else { "namespace " });
        if !name.is_empty() {
            text.push_str(name);
            text.push_str(" { ");
        }
    }
    let class = format!("hm_stage_{number}");
    let all = || signature.parameters.iter();
    let arguments: String =
        all().map(|p| format!(", {}", argument(stream, p, values, &class, entry.is_some()))).collect();
    if signature.parameters.iter().any(|p| p.role == Role::StageIn) {
        text.push_str(&stage::class(stream, &signature.stage, values, input, &class, entry.is_some()));
    }
    let call = format!("hostmetal::call<void{arguments}>");
    let limit = signature.max_threads.map_or("0".to_owned(), |(from, to)| expression(stream, from, to, values));
    let required = signature.required_threads.map_or("0, 0, 0".to_owned(), |parts| {
        parts.map(|(from, to)| format!("(unsigned)({})", expression(stream, from, to, values))).join(", ")
    });
    let table = format!("{call}::describe({instance}, (unsigned)({limit}), {required})");
    match entry {
        None => {
            let conditions: String =
                all().filter_map(|p| condition(stream, p, values)).map(|asked| format!("(void){asked}; ")).collect();
            text.push_str(&format!(
                "inline void hm_check_{number}(const hm_group *group) {{ {conditions}{call}::thread_at(group, 0, 0, 0, {instance}); constexpr auto table = {table}; (void)table; }}"
            ));
        }
        Some(mode) => {
            match mode {
                Mode::Group { independent } => text.push_str(&format!(
                    "HM_EXPORT void hm_kernel_group(const hm_group *group) {{ {call}::group<{independent}>(group, {instance}); }} \
                     HM_EXPORT const unsigned hm_span = {call}::span;"
                )),
                Mode::Pass | Mode::Tiles | Mode::Analysis => text.push_str(&format!(
                    "HM_EXPORT void hm_kernel_group(const hm_group *group) {{ {call}::pass<({instance})>(group, {instance}); }}"
                )),
                Mode::Counts => text.push_str(&format!(
                    "HM_EXPORT void hm_kernel_thread(const hm_group *group, uint x, uint y, uint z) {{ {call}::counted_at<({instance})>(group, x, y, z, {instance}); }}"
                )),
                Mode::Thread { .. } => text.push_str(&format!(
                    "HM_EXPORT void hm_kernel_thread(const hm_group *group, uint x, uint y, uint z) {{ {call}::thread_at(group, x, y, z, {instance}); }}"
                )),
            }
            // The pass says it itself.
            let engine = match mode {
                Mode::Group { .. } => Some("loop".to_owned()),
                Mode::Pass | Mode::Tiles | Mode::Analysis => None,
                Mode::Counts => Some("stack: it counts".to_owned()),
                Mode::Thread { why } => Some(format!("stack: {why}")),
            };
            if let Some(engine) = engine {
                let bytes: Vec<String> = engine.bytes().map(|byte| byte.to_string()).collect();
                text.push_str(&format!(" HM_EXPORT const char hm_engine[] = {{{}, 0}};", bytes.join(", ")));
            }
            match mode {
                Mode::Tiles => text.push_str(" HM_EXPORT const char hm_only_tiles = 1;"),
                Mode::Analysis => text.push_str(" HM_EXPORT const char hm_analysis = 1;"),
                Mode::Counts => text.push_str(" HM_EXPORT const char hm_counts = 1;"),
                Mode::Group { .. } | Mode::Pass | Mode::Thread { .. } => {}
            }
            text.push_str(&format!(
                " HM_EXPORT const auto hm_kernel_info = {table}; HM_EXPORT const auto hm_kernel_types = {call}::types_of({instance}); \
                 HM_EXPORT const auto hm_kernel_stage = {call}::stage_of({instance});"
            ));
        }
    }
    for _ in scope {
        text.push_str(" }");
    }
    text
}
