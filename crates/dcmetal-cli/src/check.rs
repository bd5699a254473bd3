//! `dcmetal check`: does a kernel file compile on the device, what do its kernels take, and what do they do.

use dcmetal::{Argument, ArgumentKind, Error, Grid, Kernel, Scalar, TextureSlot, ThreadgroupChoice};
use serde_json::json;

use crate::analysis;
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
    // Kernels of one file may want different grids: what one cannot have is told, and is no failure.
    let choose = |kernel: &Kernel| command.global.map(|global| kernel.threadgroup_choice(&Grid::threads(global)));
    let choices: Vec<_> = kernels.iter().map(choose).collect();
    let file = command.source.name();
    let kernels = kernels.iter().zip(&choices);
    let text = if command.json {
        let list: Vec<_> = kernels.map(|(kernel, choice)| json(kernel, choice.as_ref(), &file)).collect();
        format!("{:#}\n", json!({ "file": command.source.name(), "device": device.name(), "kernels": list }))
    } else if choices.is_empty() {
        format!("{}: it compiles and has no kernels\n", command.source.name())
    } else {
        kernels.map(|(kernel, choice)| describe(kernel, choice.as_ref(), &file)).collect::<Vec<_>>().join("\n")
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

fn json(kernel: &Kernel, choice: Option<&Result<ThreadgroupChoice, Error>>, file: &str) -> serde_json::Value {
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
        "threadgroup": choice.map(analysis::choice),
        "analysis": analysis::json(kernel, file),
    })
}

fn describe(kernel: &Kernel, choice: Option<&Result<ThreadgroupChoice, Error>>, file: &str) -> String {
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
    let choice = match choice {
        None => String::new(),
        Some(Ok(choice)) => format!("  threadgroup: {choice}\n"),
        Some(Err(error)) => format!("  no threadgroup: {error}\n"),
    };
    format!("{heading}\n{}{choice}{}", table(&rows), analysis::describe(kernel, file))
}
