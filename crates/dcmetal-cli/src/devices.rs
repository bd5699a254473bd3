//! `dcmetal devices`: what this machine has.

use dcmetal::multi::{Position, Topology};
use dcmetal::{Accelerator, GpuFamily};
use serde_json::json;

use crate::cli::Devices;
use crate::compile::failure;
use crate::failure::Failure;
use crate::table::{bytes, table};

pub(crate) fn devices(command: &Devices) -> Result<(), Failure> {
    let devices = Accelerator::all().map_err(|error| failure(&error))?;
    if devices.is_empty() {
        return Err(Failure::Device("this machine has no Metal device".into()));
    }
    let topology = Topology::of(&devices);
    let text = if command.json {
        let list: Vec<_> =
            devices.iter().zip(&topology.devices).map(|(device, position)| json(device, position)).collect();
        format!("{:#}\n", json!({ "devices": list }))
    } else {
        let mut parts: Vec<String> = devices.iter().map(describe).collect();
        if devices.len() > 1 {
            parts.push(topology.to_string());
        }
        parts.join("\n")
    };
    crate::print(&text).map_err(Failure::Input)
}

fn families(device: &Accelerator) -> Vec<String> {
    GpuFamily::ALL.iter().filter(|family| device.supports_family(**family)).map(GpuFamily::to_string).collect()
}

fn json(device: &Accelerator, position: &Position) -> serde_json::Value {
    let limits = device.limits();
    let peers = position.peer_group.map(|group| json!({ "id": group.id, "index": group.index, "count": group.count }));
    json!({
        "name": device.name(),
        "registry_id": device.registry_id(),
        "unified_memory": limits.unified_memory,
        "low_power": limits.low_power,
        "headless": limits.headless,
        "removable": limits.removable,
        "recommended_working_set_bytes": limits.recommended_working_set,
        "max_buffer_bytes": limits.max_buffer_bytes,
        "max_threadgroup_memory_bytes": limits.max_threadgroup_memory,
        "max_threads_per_threadgroup": limits.max_threads_per_threadgroup.to_array(),
        "families": families(device),
        "location": position.location.to_string(),
        "max_transfer_bytes_per_second": position.max_transfer_rate,
        "peer_group": peers,
    })
}

fn describe(device: &Accelerator) -> String {
    let limits = device.limits();
    let kinds = [
        (limits.unified_memory, "unified memory"),
        (limits.low_power, "low power"),
        (limits.headless, "headless"),
        (limits.removable, "removable"),
    ];
    let kinds: Vec<&str> = kinds.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    let row = |name: &str, value: String| vec![format!("  {name}"), value];
    let rows = [
        row("registry id", format!("{:#x}", device.registry_id())),
        row("kind", kinds.join(", ")),
        row("working set", bytes(limits.recommended_working_set)),
        row("largest buffer", bytes(limits.max_buffer_bytes)),
        row("threadgroup memory", bytes(limits.max_threadgroup_memory)),
        row("threadgroup", format!("at most {} threads", limits.max_threads_per_threadgroup)),
        row("families", families(device).join(", ")),
    ];
    format!("{}\n{}", device.name(), table(&rows))
}
