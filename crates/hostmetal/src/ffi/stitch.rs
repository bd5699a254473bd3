//! The C interface: stitched libraries.

use super::compile::give_or;
use super::{HMDevice, HMError, HMFunction, HMLibrary, device_of, elements, share, text};
use crate::faults::{self, Site};
use crate::library::{COMPILE_FAILURE, Function, Library};
use crate::msl::{Graph, Node, Value};
use std::ffi::c_char;
use std::sync::Arc;

/// HMStitchArgument.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMStitchArgument {
    /// What another node gives, rather than an input.
    pub node: bool,
    /// Of the input, or of the node in its graph.
    pub index: u64,
}

/// HMStitchNode.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMStitchNode {
    /// The name of one of the functions.
    pub function: *const c_char,
    /// `argument_count` of them.
    pub arguments: *const HMStitchArgument,
    /// Length of `arguments`.
    pub argument_count: usize,
    /// Nodes that are to be called before: `control_count` of them.
    pub controls: *const u64,
    /// Length of `controls`.
    pub control_count: usize,
}

/// HMStitchGraph.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMStitchGraph {
    /// Of the function that it makes.
    pub name: *const c_char,
    /// `node_count` of them.
    pub nodes: *const HMStitchNode,
    /// Length of `nodes`.
    pub node_count: usize,
    /// The node whose value the function gives; `UINT64_MAX` for none.
    pub output: u64,
}

/// HMStitchFunction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMStitchFunction {
    /// As nodes call it.
    pub name: *const c_char,
    /// The function.
    pub function: HMFunction,
}

/// # Safety
/// As the module above says.
unsafe fn node(given: &HMStitchNode) -> Node {
    let index = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
    // SAFETY: as the caller promises.
    let arguments = unsafe { elements(given.arguments, given.argument_count) };
    // SAFETY: as the caller promises.
    let controls = unsafe { elements(given.controls, given.control_count) };
    // SAFETY: as the caller promises.
    let function = unsafe { text(given.function) }.to_string_lossy().into_owned();
    let arguments = arguments.iter().map(|one| match one.node {
        true => Value::Node(index(one.index)),
        false => Value::Input(index(one.index)),
    });
    Node { function, arguments: arguments.collect(), controls: controls.iter().map(|&one| index(one)).collect() }
}

/// # Safety
/// As the module above says.
unsafe fn graph(given: &HMStitchGraph) -> Graph {
    // SAFETY: as the caller promises.
    let nodes = unsafe { elements(given.nodes, given.node_count) };
    // SAFETY: as the caller promises.
    let nodes = nodes.iter().map(|one| unsafe { node(one) }).collect();
    // SAFETY: as the caller promises.
    let name = unsafe { text(given.name) }.to_string_lossy().into_owned();
    Graph { name, nodes, output: usize::try_from(given.output).ok().filter(|&node| node < given.node_count) }
}

/// Makes functions of calls of others; NULL with a code of MTLLibraryError and what is wrong with a graph.
///
/// # Safety
/// As the module above says; nodes are those of their graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_stitch(
    device: HMDevice,
    graphs: *const HMStitchGraph,
    graph_count: usize,
    functions: *const HMStitchFunction,
    function_count: usize,
    error: *mut HMError,
) -> HMLibrary {
    // SAFETY: as the module above says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module above says.
    let graphs = unsafe { elements(graphs, graph_count) };
    // SAFETY: as the module above says.
    let graphs: Vec<Graph> = graphs.iter().map(|one| unsafe { graph(one) }).collect();
    // SAFETY: as the module above says.
    let functions = unsafe { elements(functions, function_count) };
    let named = |one: &HMStitchFunction| -> Option<(String, Arc<Function>)> {
        // SAFETY: as the module above says.
        let function = unsafe { share(one.function) }?;
        // SAFETY: as the module above says.
        Some((unsafe { text(one.name) }.to_string_lossy().into_owned(), function))
    };
    let functions: Option<Vec<_>> = functions.iter().map(named).collect();
    let made = match functions {
        Some(functions) => faults::compile(device, Site::Compile)
            .and_then(|()| Library::stitched(device, &graphs, &functions))
            .map_err(HMError::from),
        None => Err(HMError::new(COMPILE_FAILURE, "a stitched library of no function")),
    };
    // SAFETY: as the module above says.
    unsafe { give_or(made, error) }
}
