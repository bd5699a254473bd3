//! `dcmetal analyze`: what limits a kernel and what would make it faster, as text, JSON, and a page.

mod chart;
mod edit;
mod measured;
mod page;
mod tell;
mod trial;

use dcmetal::analysis::{Conditions, Report, Roofs};
use dcmetal::{Accelerator, ArgumentKind, Grid, Kernel, Size};
use dcmetal_validate::Refusal;
use serde_json::json;

use crate::cli::{Analyze, Device};
use crate::compile::{default_device, failure};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::source;
use crate::spec::Spec;
use measured::Measured;
use trial::Trials;

/// Threads of a threadgroup that nobody names.
const THREADGROUP: u64 = 256;
/// Bytes of the copies by which this machine's memory is measured: more than its caches hold.
const FOOTPRINT: f64 = 256e6;
/// Where rates of this machine come from.
const MEASURED_HERE: &str = "measured here, as `dcmetal validate` does";

/// A kernel and all that is told of it.
struct Analysed {
    kernel: Kernel,
    on: Conditions,
    report: Report,
    /// What runs showed, if they were asked for.
    measured: Option<Measured>,
}

/// What all kernels of a file share.
struct File {
    name: String,
    text: String,
    device: String,
    roofs: Roofs,
}

pub(crate) fn analyze(command: &Analyze) -> Result<(), Failure> {
    let gpu = default_device()?;
    let text = source::read(&command.source.file).map_err(Failure::Input);
    let compiled = command.source.compile(&gpu)?;
    let kernels = named(command, compiled.library.kernel_names())?;
    if command.measure && kernels.len() != 1 {
        let names = kernels.join("`, `");
        return Err(Failure::Input(format!("--measure runs one kernel: name one of `{names}` with --kernel")));
    }
    let roofs = roofs(&gpu, command.device)?;
    let file = File { name: command.source.name(), text: text?, device: gpu.name().to_owned(), roofs };
    let mut all = Vec::with_capacity(kernels.len());
    for name in &kernels {
        let kernel = compiled.library.kernel(name).map_err(|error| failure(&error))?;
        all.push(analyse(command, &gpu, &file, kernel)?);
    }
    if let Some(path) = &command.html {
        let page = page::page(&file, &all).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        std::fs::write(path, page).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    }
    let text = if command.json {
        let kernels: Vec<_> = all.iter().map(|one| tell::json(&file, one)).collect();
        let document = json!({
            "file": file.name,
            "device": file.device,
            "roofline": tell::roofs(&file.roofs),
            "kernels": kernels,
        });
        format!("{document:#}\n")
    } else if all.is_empty() {
        format!("{}: it compiles and has no kernels\n", file.name)
    } else {
        all.iter().map(|one| tell::text(&file, one)).collect::<Vec<_>>().join("\n")
    };
    crate::print(&text).map_err(Failure::Input)
}

/// The kernels asked for.
fn named(command: &Analyze, names: &[String]) -> Result<Vec<String>, Failure> {
    let Some(wanted) = &command.kernel else { return Ok(names.to_vec()) };
    if names.contains(wanted) {
        return Ok(vec![wanted.clone()]);
    }
    let there = if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) };
    Err(Failure::Input(format!("{}: it has no kernel `{wanted}`; it has: {there}", command.source.name())))
}

fn roofs(gpu: &Accelerator, device: Device) -> Result<Roofs, Failure> {
    let Device::Chip(chip) = device else {
        let _line = Progress::start("measuring this machine".to_owned());
        let refused = |refusal| match refusal {
            Refusal::NotMeasured(why) | Refusal::Broken(why) => Failure::Device(format!("--device this: {why}")),
        };
        let here = dcmetal_validate::roofs::Roofs::of(gpu);
        let (flops, bytes) = (here.flops().map_err(refused)?, here.bytes(FOOTPRINT).map_err(refused)?);
        return Ok(Roofs { name: gpu.name().to_owned(), flops, bytes, source: MEASURED_HERE.to_owned() });
    };
    Ok(chip.roofs())
}

fn analyse(command: &Analyze, gpu: &Accelerator, file: &File, kernel: Kernel) -> Result<Analysed, Failure> {
    let told = |error: &dcmetal::Error| failure(error);
    let threadgroup = match (command.local, kernel.required_threadgroup(), command.global) {
        (Some(size), None, _) => Size::from(size),
        (_, Some(size), _) => size,
        (None, None, Some(global)) => kernel.threadgroup_for(&Grid::threads(global)).map_err(|error| told(&error))?,
        (None, None, None) => Size::from([THREADGROUP.min(kernel.max_threads_per_threadgroup()), 1, 1]),
    };
    if threadgroup.volume().is_none_or(|threads| threads == 0) {
        return Err(Failure::Input(format!("--local {threadgroup}: a threadgroup has at least one thread")));
    }
    let given = |spec: &Spec| match spec {
        Spec::Local { bytes } => *bytes as u64,
        _ => 0,
    };
    let on = Conditions {
        threadgroup,
        threadgroup_memory: command.args.iter().map(|arg| given(&arg.spec)).sum(),
        families: command.family.clone(),
        roofs: Some(file.roofs.clone()),
    };
    let report = kernel.report(&on).map_err(|error| told(&error))?;
    let measured = match command.global.filter(|_| command.measure) {
        Some(global) => {
            let (kernel, on, report, text) = (&kernel, &on, &report, &file.text);
            Some(measured::measure(&Trials { command, gpu, kernel, on, report, text, global, threadgroup })?)
        }
        None => None,
    };
    Ok(Analysed { kernel, on, report, measured })
}

impl Analysed {
    /// Arguments in threadgroup memory whose size only a launch tells; not known without --measure.
    fn unknown_memory(&self) -> Vec<&str> {
        let arguments = self.kernel.arguments().iter();
        let untold = arguments.filter(|argument| argument.kind == ArgumentKind::Threadgroup && self.measured.is_none());
        untold.map(|argument| argument.name.as_str()).collect()
    }
}
