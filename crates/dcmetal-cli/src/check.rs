//! `dcmetal check`: does a kernel file compile on the device, and what do its kernels take.

use dcmetal::{Argument, ArgumentKind, Kernel, Scalar, TextureSlot};
use serde_json::json;

use crate::cli::Check;
use crate::compile::{default_device, failure};
use crate::failure::Failure;
use crate::table::table;

pub(crate) fn check(command: &Check) -> Result<(), Failure> {
    let device = default_device()?;
    let compiled = command.source.compile(&device)?;
    let names = compiled.library.kernel_names();
    let mut kernels = Vec::with_capacity(names.len());
    for name in names {
        kernels.push(compiled.library.kernel(name).map_err(|error| failure(&error))?);
    }
    let text = if command.json {
        let list: Vec<_> = kernels.iter().map(json).collect();
        format!("{:#}\n", json!({ "file": command.source.name(), "device": device.name(), "kernels": list }))
    } else if kernels.is_empty() {
        format!("{}: it compiles and has no kernels\n", command.source.name())
    } else {
        kernels.iter().map(describe).collect::<Vec<_>>().join("\n")
    };
    crate::print(&text).map_err(Failure::Input)
}

fn kind(argument: &Argument) -> &'static str {
    match argument.kind {
        ArgumentKind::Buffer => "buffer",
        ArgumentKind::Value => "value",
        ArgumentKind::Threadgroup => "local",
        ArgumentKind::Texture { kind } => kind.name(),
        ArgumentKind::Sampler => "sampler",
    }
}

/// The components and indices of the textures that stand for an argument.
fn textures(argument: &Argument) -> Vec<serde_json::Value> {
    let texture = |slot: &TextureSlot| json!({"component": slot.scalar.map(Scalar::name), "index": slot.slot});
    argument.textures.iter().map(texture).collect()
}

fn json(kernel: &Kernel) -> serde_json::Value {
    let arguments: Vec<_> = kernel
        .arguments()
        .iter()
        .map(|argument| {
            json!({
                "name": argument.name,
                "position": argument.position,
                "index": argument.slot,
                "textures": textures(argument),
                "offset": argument.offset,
                "kind": kind(argument),
                "access": argument.access.to_string(),
                "type": argument.type_name,
                "size": argument.size,
                "alignment": argument.alignment,
                "used": argument.used,
            })
        })
        .collect();
    json!({
        "name": kernel.name(),
        "max_threads_per_threadgroup": kernel.max_threads_per_threadgroup(),
        "execution_width": kernel.execution_width(),
        "static_threadgroup_memory_bytes": kernel.static_threadgroup_memory(),
        "required_threadgroup": kernel.required_threadgroup().map(|size| size.to_array()),
        "arguments": arguments,
    })
}

fn describe(kernel: &Kernel) -> String {
    let mut heading = format!(
        "kernel {}: threadgroups of at most {} threads, {} bytes of threadgroup memory",
        kernel.name(),
        kernel.max_threads_per_threadgroup(),
        kernel.static_threadgroup_memory()
    );
    if let Some(size) = kernel.required_threadgroup() {
        heading += &format!(", requires threadgroups of {size}");
    }
    let mut rows: Vec<Vec<String>> = vec![];
    for argument in kernel.arguments() {
        let unused = if argument.used { "" } else { ", unused" };
        rows.push(vec![
            format!("  {}", argument.position),
            kind(argument).to_owned(),
            argument.type_name.clone(),
            argument.name.clone(),
            format!("{}{unused}", argument.access),
            match argument.kind {
                ArgumentKind::Texture { .. } => {
                    let indices: Vec<String> =
                        argument.textures.iter().map(|texture| texture.slot.to_string()).collect();
                    format!("index {}", if indices.is_empty() { "none".to_owned() } else { indices.join(", ") })
                }
                _ => format!("{} bytes each, index {}", argument.size, argument.slot),
            },
        ]);
    }
    format!("{heading}\n{}", table(&rows))
}
