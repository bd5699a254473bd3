//! Stitched functions: visible functions that graphs make of calls of `[[stitchable]]` ones (`MTLFunctionStitchingGraph`, MSL
//! specification 5.1.5).
//!
//! ```text
//! graphs -> MSL: the types that the functions' declarations name, the declarations, a function for each graph
//! ```
//!
//! Every node is one call, behind those that it takes values of or waits for. The functions themselves are modules of their own that
//! the text is linked with (link.rs), each as its library was compiled; clang compares the types. What two sources declare alike is
//! there once.

use super::discover::is_marked_visible;
use super::invoke::source_failure;
use super::link::Dynamic;
use super::reach::Reach;
use super::source::{Checked, Inner};
use super::token::{Kind, Stream};
use super::{CompileFailure, CompileOptions, ConstantValue, check};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// A function to be made.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub name: String,
    pub nodes: Vec<Node>,
    /// The node whose value it gives; none for `void`.
    pub output: Option<usize>,
}

/// A call.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The name that the program knows the function by.
    pub function: String,
    pub arguments: Vec<Value>,
    /// Nodes that are to be called before.
    pub controls: Vec<usize>,
}

/// What a node is called with.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// An argument of the new function.
    Input(usize),
    /// What another node gives.
    Node(usize),
}

/// A function that nodes may call.
#[derive(Clone, Copy)]
pub struct Callee<'a> {
    /// The name that the program knows it by.
    pub name: &'a str,
    pub checked: &'a Checked,
    /// Its name in the source's list.
    pub function: &'a str,
    pub constants: &'a [ConstantValue],
    /// Those of its source.
    pub libraries: &'a [Arc<Dynamic>],
    pub sealed: bool,
}

/// A function that some node calls.
struct Called<'a> {
    callee: &'a Callee<'a>,
    /// In the list of its source's functions.
    function: usize,
    /// As other sources call it: `::n::f`.
    path: String,
    parameters: usize,
    /// It gives no value.
    void: bool,
}

/// The graphs' functions as a source, and the modules that it is linked with.
///
/// # Errors
/// [`Failure::Source`](super::Failure::Source) for graphs that make no function; or what goes wrong with the compiler.
pub fn stitch(graphs: &[Graph], callees: &[Callee]) -> Result<(Checked, Vec<Arc<Dynamic>>), CompileFailure> {
    let mut called: Vec<Called> = Vec::new();
    let mut names: HashSet<&str> = HashSet::new();
    let mut bodies = String::new();
    for graph in graphs {
        if !names.insert(&graph.name) {
            return Err(source_failure(format!("there are several graphs of the name '{}'", graph.name)));
        }
        for node in 0..graph.nodes.len() {
            find(graph, node, callees, &mut called).map_err(source_failure)?;
        }
    }
    for graph in graphs {
        function(graph, &called, &mut bodies).map_err(source_failure)?;
    }
    let mut text = String::from("#include <metal_stdlib>\n");
    let mut known = HashSet::new();
    for (position, one) in called.iter().enumerate() {
        let same = |other: &&Called| Arc::ptr_eq(&other.callee.checked.inner, &one.callee.checked.inner);
        if called[..position].iter().all(|other| !same(&other)) {
            let functions: Vec<usize> = called.iter().filter(same).map(|other| other.function).collect();
            one.callee.checked.inner.declare(&functions, &mut known, &mut text);
        }
    }
    text.push_str(&bodies);
    let of = |one: &Called<'_>| one.callee.checked.inner.options.clone();
    let newest = called.iter().map(|one| of(one).language_version).max().unwrap_or_default();
    let options = called.first().map_or_else(CompileOptions::default, |first| CompileOptions {
        language_version: newest,
        macros: Vec::new(),
        logging: false,
        ..of(first)
    });
    let told = |failure: CompileFailure| {
        let list: Vec<&str> = graphs.iter().map(|graph| graph.name.as_str()).collect();
        CompileFailure { log: format!("stitching '{}':\n{}", list.join("', '"), failure.log), ..failure }
    };
    let checked = check(&text, &options).map_err(told)?;
    let modules = called.iter().map(|one| {
        let Callee { checked, function, constants, libraries, sealed, .. } = *one.callee;
        let made = checked.linked((function, constants), |_| true, libraries, sealed)?;
        Ok(Arc::new(made.unwrap_or_else(|| unreachable!("every name is wanted"))))
    });
    let modules = modules.collect::<Result<_, CompileFailure>>()?;
    Ok((checked, modules))
}

/// How messages name a node.
fn told(graph: &Graph, node: usize) -> String {
    format!("node {node} ('{}') of the graph '{}'", graph.nodes[node].function, graph.name)
}

/// Finds the function of a node, and adds it where no other node calls it.
fn find<'a>(graph: &Graph, node: usize, callees: &'a [Callee], called: &mut Vec<Called<'a>>) -> Result<(), String> {
    let Node { function: name, arguments, .. } = &graph.nodes[node];
    let node = told(graph, node);
    let position = match called.iter().position(|one| one.callee.name == name) {
        Some(known) => known,
        None => {
            let mut of_name = callees.iter().filter(|one| one.name == name);
            let callee =
                of_name.next().ok_or(format!("{node}: there is no such function in the descriptor's functions"))?;
            let same = |other: &Callee| {
                let source = Arc::ptr_eq(&other.checked.inner, &callee.checked.inner);
                source && other.function == callee.function && other.constants == callee.constants
            };
            if !of_name.all(same) {
                return Err(format!("{node}: there are several functions of this name in the descriptor's functions"));
            }
            let one = call(callee).map_err(|why| format!("{node}: {why}"))?;
            if let Some(other) = called.iter().find(|other| other.path == one.path) {
                let (path, other) = (one.path.trim_start_matches("::"), other.callee.name);
                return Err(format!(
                    "{node}: function '{other}' is called '{path}' in its source too: hostmetal cannot stitch both at once"
                ));
            }
            called.push(one);
            called.len() - 1
        }
    };
    let (given, wanted) = (arguments.len(), called[position].parameters);
    match given == wanted {
        true => Ok(()),
        false => Err(format!("{node} has {given} arguments, but the function takes {wanted}")),
    }
}

fn call<'a>(callee: &'a Callee) -> Result<Called<'a>, String> {
    let inner = &callee.checked.inner;
    let mut named = (0..inner.infos.len()).filter(|&number| inner.infos[number].name == callee.function);
    let number = named.next().ok_or("the function is not in its library")?;
    if !inner.infos[number].stitchable {
        return Err("the function is not [[stitchable]]".to_owned());
    }
    if named.next().is_some() {
        return Err("the function is overloaded in its source: hostmetal cannot tell which is meant".to_owned());
    }
    let (stream, kernel) = (&inner.stream, &inner.kernels[number]);
    let found = inner.program.functions.iter().position(|function| function.name == kernel.token);
    let function = found.unwrap_or_else(|| unreachable!("a visible function is one of its source"));
    let scope = &inner.program.scopes[kernel.scope];
    if scope.iter().any(String::is_empty) {
        return Err("the function lies in an unnamed namespace".to_owned());
    }
    let path = scope.iter().chain([&kernel.instance.text]).map(|part| format!("::{part}")).collect();
    let (open, close) = inner.program.functions[function].params;
    let parameters = match stream.split(open + 1, close) {
        all if all.len() == 1 && all[0].1 == all[0].0 + 1 && stream.is(all[0].0, "void") => 0,
        all => all.len(),
    };
    let void = stream.is(kernel.token.wrapping_sub(1), "void");
    Ok(Called { callee, function, path, parameters, void })
}

/// The nodes, each behind those that it needs.
fn order(graph: &Graph) -> Result<Vec<usize>, String> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; graph.nodes.len()];
    let mut order = Vec::new();
    // The output is the last unless others need it.
    let others = (0..graph.nodes.len()).filter(|&node| graph.output != Some(node));
    for root in others.chain(graph.output) {
        // A node is met again when all that it needs is there.
        let mut open = vec![root];
        while let Some(&node) = open.last() {
            let Node { arguments, controls, .. } = &graph.nodes[node];
            let values = arguments.iter().filter_map(|argument| match argument {
                Value::Node(node) => Some(*node),
                Value::Input(_) => None,
            });
            if states[node] == State::New {
                states[node] = State::Open;
                // The first is called first.
                let mut needed: Vec<usize> = controls.iter().copied().chain(values).collect();
                needed.reverse();
                if let Some(&again) = needed.iter().find(|&&needed| states[needed] == State::Open) {
                    return Err(format!("{} needs itself", told(graph, again)));
                }
                open.extend(needed.into_iter().filter(|&needed| states[needed] == State::New));
                continue;
            }
            open.pop();
            if std::mem::replace(&mut states[node], State::Done) == State::Open {
                order.push(node);
            }
        }
    }
    Ok(order)
}

/// Writes the function of a graph.
fn function(graph: &Graph, called: &[Called], text: &mut String) -> Result<(), String> {
    let name = &graph.name;
    let first = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if !first || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
        return Err(format!("the graph's functionName '{name}' cannot be the name of a function"));
    }
    if called.iter().any(|one| one.path.strip_prefix("::") == Some(name)) {
        return Err(format!("the graph '{name}' has the name of a function that it or another graph calls"));
    }
    let order = order(graph)?;
    let of = |node: usize| {
        let found = called.iter().find(|one| one.callee.name == graph.nodes[node].function);
        found.unwrap_or_else(|| unreachable!("every node's function was found"))
    };
    let type_of = |node: usize| format!("decltype({})", of(node).path);
    let mut inputs: Vec<Option<(usize, String)>> = Vec::new();
    let mut wanted = HashSet::new();
    let mut checks = Vec::new();
    for &node in &order {
        for (position, argument) in graph.nodes[node].arguments.iter().enumerate() {
            let parameter = format!("hostmetal::call_parameter<{}, {position}>", type_of(node));
            let (given, what) = match *argument {
                Value::Node(from) if of(from).void => {
                    let (node, from) = (told(graph, node), told(graph, from));
                    return Err(format!("argument {position} of {node}: {from} gives no value"));
                }
                Value::Node(from) => {
                    wanted.insert(from);
                    (format!("hostmetal::call_result<{}>", type_of(from)), told(graph, from))
                }
                Value::Input(input) => {
                    if input >= 1 << 16 {
                        return Err(format!("{}: there cannot be an input {input}", told(graph, node)));
                    }
                    inputs.resize(inputs.len().max(input + 1), None);
                    match &inputs[input] {
                        Some((other, first)) => {
                            (first.clone(), format!("input {input}, as {} takes it,", told(graph, *other)))
                        }
                        None => {
                            inputs[input] = Some((node, parameter));
                            continue;
                        }
                    }
                }
            };
            let message = format!("argument {position} of {}: {what} has another type", told(graph, node));
            checks.push(format!("static_assert(__is_same({parameter}, {given}), {message:?});\n"));
        }
    }
    text.extend(checks);
    let output = graph.output.filter(|&node| !of(node).void);
    let result = output.map_or("void".to_owned(), |node| format!("hostmetal::call_result<{}>", type_of(node)));
    let mut parameters = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let Some((_, parameter)) = input else {
            return Err(format!("the graph '{name}': no node takes input {number}, so that it has no type"));
        };
        parameters.push(format!("{parameter} hm_input{number}"));
    }
    let written = |e: std::fmt::Error| e.to_string();
    writeln!(text, "[[stitchable]] {result} {name}({}) {{", parameters.join(", ")).map_err(written)?;
    wanted.extend(output);
    for node in order {
        let arguments = graph.nodes[node].arguments.iter().map(|argument| match argument {
            Value::Input(input) => format!("hm_input{input}"),
            Value::Node(node) => format!("hm_node{node}"),
        });
        let call = format!("{}({})", of(node).path, arguments.collect::<Vec<_>>().join(", "));
        let value = match wanted.contains(&node) {
            true => format!("hostmetal::call_result<{}> hm_node{node} = ", type_of(node)),
            false => String::new(),
        };
        writeln!(text, "  {value}{call};").map_err(written)?;
    }
    if let Some(node) = output {
        writeln!(text, "  return hm_node{node};").map_err(written)?;
    }
    text.push_str("}\n");
    Ok(())
}

/// The tokens `start..end`.
fn copy(stream: &Stream, start: usize, end: usize) -> String {
    let mut text = String::new();
    for i in start..end.min(stream.len()) {
        match stream.kind(i) {
            Some(Kind::Pragma) => text.extend(["\n", stream.at(i), "\n"]),
            _ => text.extend([stream.at(i), " "]),
        }
    }
    text
}

impl Inner {
    /// Writes the declarations of some functions, and what these name. `known`: what is there from other sources, with the namespaces
    /// around it.
    fn declare(&self, functions: &[usize], known: &mut HashSet<(String, String)>, text: &mut String) {
        let (stream, program) = (&self.stream, &self.program);
        let statements: HashMap<usize, usize> = program.instantiations.iter().map(|one| (one.start, one.end)).collect();
        let removed: Vec<(usize, usize)> = statements.iter().map(|(start, end)| (*start, *end)).collect();
        let none = HashMap::new();
        let reach = Reach::new(stream, program, &none, &removed);
        let named = functions.iter().map(|&number| &program.functions[number]);
        let ranges: Vec<(usize, usize)> =
            named.clone().flat_map(|one| [(one.start, one.name), (one.name + 1, one.params.1)]).collect();
        let needed = reach.from(stream, program, &ranges, &none).regions;
        let starts: HashSet<usize> = named.map(|one| one.start).collect();
        let mut regions: HashMap<usize, (usize, bool)> = HashMap::new();
        for (region, needed) in program.regions.iter().zip(needed) {
            let place = regions.entry(region.range.0).or_insert((region.range.1, false));
            place.1 |= needed || starts.contains(&region.range.0);
        }
        let own = program.functions.iter().filter(|one| !one.in_class);
        let own: HashMap<usize, _> = own.map(|one| (one.start, one)).collect();
        let mut around: Vec<String> = Vec::new();
        let mut statement = String::new();
        // What the same words mean something else by: how structures are packed, whose names are used.
        let mut meaning = String::new();
        // No source's packing is the next one's.
        text.push_str("#pragma pack(push)\n");
        let mut i = 0;
        while i < stream.len() {
            if let Some(&end) = statements.get(&i) {
                i = end + 1;
                continue;
            }
            let Some(&(end, needed)) = regions.get(&i) else {
                // It may be about what is not there.
                if matches!(stream.at(i), "static_assert" | "_Static_assert") {
                    i = (i..stream.len()).find(|&j| stream.is(j, ";")).map_or(stream.len(), |end| end + 1);
                    continue;
                }
                match stream.at(i) {
                    pragma if stream.kind(i) == Some(Kind::Pragma) => {
                        if pragma.contains("pack") {
                            meaning.push_str(pragma);
                        }
                    }
                    ";" if statement.starts_with("using ") => meaning.push_str(&std::mem::take(&mut statement)),
                    "{" => around.push(std::mem::take(&mut statement)),
                    "}" => drop(around.pop()),
                    ";" => statement.clear(),
                    word => statement.extend([word, " "]),
                }
                text.push_str(&copy(stream, i, i + 1));
                i += 1;
                continue;
            };
            if needed {
                let declared = match own.get(&i) {
                    Some(function) if function.stage.is_some() => String::new(),
                    Some(function) if is_marked_visible(stream, function) => {
                        copy(stream, i, function.body.map_or(function.end, |(open, _)| open)) + ";"
                    }
                    _ => copy(stream, i, end + 1),
                };
                if known.insert((meaning.clone() + &around.concat(), declared.clone())) {
                    text.push_str(&declared);
                    text.push('\n');
                }
            }
            statement.clear();
            i = end + 1;
        }
        text.push_str("\n#pragma pack(pop)\n");
    }
}
