//! What is told of kernels: for people, and as JSON.

use dcmetal::analysis::{Advice, Bound, Core, Limit, Place, Roofs, Rule, Stand};
use dcmetal::clmsl::{AddressSpace, Location};
use serde_json::{Value, json};

use super::measured::{Measured, Shape};
use super::trial::{Outputs, Trial};
use super::{Analysed, File};
use crate::analysis;
use crate::table::{bytes, table};

/// Rows of memory accesses that are shown to people; JSON and the page have all.
const MOST_ROWS: usize = 24;

/// `3:14`, with the file if it is another; of a line without a column the line.
pub(super) fn place(file: &File, at: &Location) -> String {
    let column = if at.column > 0 { format!(":{}", at.column) } else { String::new() };
    match at.file == file.name {
        true => format!("{}{column}", at.line),
        false => format!("{}:{}{column}", at.file, at.line),
    }
}

pub(super) fn places(file: &File, at: &[Location]) -> String {
    let mut all: Vec<String> = at.iter().map(|at| place(file, at)).collect();
    all.dedup();
    all.join(", ")
}

/// `reads x`, `writes threadgroup memory`.
pub(super) fn what(place: &Place) -> String {
    let how = match (place.access.reads, place.access.writes) {
        (true, true) => "reads and writes",
        (true, false) => "reads",
        _ => "writes",
    };
    match (&place.argument, place.access.address_space) {
        (Some(name), _) => format!("{how} {name}"),
        (None, AddressSpace::Local) => format!("{how} threadgroup memory"),
        (None, AddressSpace::Constant) => format!("{how} constant memory"),
        (None, _) => format!("{how} device memory"),
    }
}

/// What an access costs: lines and the part of them that is used, or words of one bank.
pub(super) fn cost(place: &Place) -> String {
    let range =
        |(least, most): (u64, u64)| if least == most { least.to_string() } else { format!("{least} to {most}") };
    let s = |(least, most): (u64, u64), what: &str| {
        let s = if (least, most) == (1, 1) { "" } else { "s" };
        format!("{} {what}{s}", range((least, most)))
    };
    let most = if place.is_told { "" } else { "at most " };
    match (place.lines, place.used_part, place.bank_words) {
        (Some(lines), _, _) if place.is_uniform() => s(lines, "line"),
        (Some(lines), Some(used), _) => format!("{}, {most}{} used", s(lines, "line"), percent(used)),
        (_, _, Some((1, 1))) => "no bank conflicts".to_owned(),
        (_, _, Some(words)) => format!("{} of one bank", s(words, "word")),
        _ => "not told".to_owned(),
    }
}

pub(super) fn percent(part: f64) -> String {
    if part < 0.1 && part > 0.0 { format!("{:.1} %", part * 100.0) } else { format!("{:.0} %", part * 100.0) }
}

/// Registers in a sentence.
pub(super) fn registers(file: &File, one: &Analysed) -> String {
    match &one.report.registers {
        Ok(registers) => {
            let at = registers.at.as_ref().map_or(String::new(), |at| format!(" (line {})", place(file, at)));
            let own = match registers.private_bytes {
                0 => String::new(),
                own => format!(", {} of its own memory", bytes(own)),
            };
            format!("about {} of a thread{at}, {} uniform{own}", registers.thread, registers.uniform)
        }
        Err(why) => format!("not told: {why}"),
    }
}

/// One family in words.
pub(super) fn core(core: &Core) -> String {
    match core {
        Core::Threads { threads, of, limit } => {
            format!(
                "{threads} of {of} threads ({:.0} %), limited by {}",
                *threads as f64 / *of as f64 * 100.0,
                limit.words()
            )
        }
        Core::Unknown(why) => (*why).to_owned(),
    }
}

/// Where it stands, in a sentence.
pub(super) fn stand(roofs: &Roofs, stand: Option<Stand>) -> String {
    let Some(Stand { bound, possible: (least, most), .. }) = stand else {
        return format!("no place on the roofline of {}: the intensity is not a number", roofs.name);
    };
    let possible = match least == most {
        true => format!("{:.1} GFLOP/s are possible", least / 1e9),
        false => format!("{:.1} to {:.1} GFLOP/s are possible", least / 1e9, most / 1e9),
    };
    let what = match bound {
        Bound::Memory => "memory limits it",
        Bound::Arithmetic => "arithmetic limits it",
        Bound::ByRounds => "memory or arithmetic limits it, by the rounds of its loops",
    };
    let possible = if most > 0.0 { format!(": {possible}") } else { String::new() };
    format!("{what} on {} (ridge at {:.1} flops per byte){possible}", roofs.name, roofs.ridge())
}

/// What limits occupancy, of all families.
fn limits(one: &Analysed) -> Vec<Limit> {
    let of = |core: &Core| match core {
        Core::Threads { limit, .. } => Some(*limit),
        Core::Unknown(_) => None,
    };
    one.report.occupancy.iter().filter_map(|occupancy| of(&occupancy.core)).collect()
}

/// What runs showed of an advice, or why nothing.
pub(super) fn effect(one: &Analysed, advice: &Advice) -> Result<Vec<String>, String> {
    match &one.measured {
        None => Err("--measure runs it".to_owned()),
        Some(measured) => measured.effect(advice, &one.report.accesses, &limits(one)),
    }
}

/// A gain in words.
pub(super) fn gain(advice: &Advice) -> String {
    let beside = if advice.beside_the_limit { ", beside the limit" } else { "" };
    match advice.gain {
        Some(gain) => format!("at most {}{beside}", percent(gain)),
        None => format!("not estimated{beside}"),
    }
}

pub(super) fn text(file: &File, one: &Analysed) -> String {
    let Analysed { kernel, on, report, .. } = one;
    let mut text = format!("kernel {}, threadgroups of {}\n", kernel.name(), on.threadgroup);
    let rows = report.accesses.iter().take(MOST_ROWS).map(|access| {
        let at = place(file, &access.at);
        vec![format!("  {at}"), what(access), access.pattern(), cost(access)]
    });
    text += &table(&rows.collect::<Vec<_>>());
    if report.accesses.len() > MOST_ROWS {
        text += &format!("  and {} places more\n", report.accesses.len() - MOST_ROWS);
    }
    text += &format!("  registers: {}\n", registers(file, one));
    for occupancy in &report.occupancy {
        text += &format!("  a core of {}: {}\n", occupancy.family, core(&occupancy.core));
    }
    let unknown = one.unknown_memory();
    if !unknown.is_empty() {
        text += &format!("  without the threadgroup memory of {}, which a launch gives it\n", unknown.join(", "));
    }
    text += &analysis::brief(kernel, &file.name);
    text += &format!("  {}\n", stand(&file.roofs, report.stand));
    if report.advice.is_empty() {
        text += "  no advice\n";
    }
    for (number, advice) in (1..).zip(&report.advice) {
        let at = if advice.at.is_empty() { String::new() } else { format!(", line {}", places(file, &advice.at)) };
        text += &format!("  {number}. {}{at} (gain: {}): {}\n", advice.rule.name(), gain(advice), advice.text);
        match effect(one, advice) {
            Ok(found) => found.iter().for_each(|found| text += &format!("     {found}\n")),
            Err(why) => text += &format!("     not measured: {why}\n"),
        }
    }
    text + &one.measured.as_ref().map_or_else(String::new, shapes)
}

/// The shapes that were run.
fn shapes(measured: &Measured) -> String {
    let mut text = match &measured.counted {
        Ok(_) => String::new(),
        Err(why) => format!("  not counted: {why}\n"),
    };
    text += &match &measured.shapes {
        Err(why) => format!("  threadgroups not tried: {why}\n"),
        Ok(shapes) => {
            let row = |shape: &Shape| {
                let notes = [(shape.advised, "what a launch has"), (!shape.equal, "computes something else")];
                let notes: Vec<&str> = notes.iter().filter(|(is, _)| *is).map(|(_, note)| *note).collect();
                vec![
                    format!("    {}", shape.size),
                    format!("{:.2?}", shape.time),
                    format!("{} runs", shape.runs),
                    notes.join(", "),
                ]
            };
            let [x, y, z] = measured.global;
            format!("  threadgroups of a grid of {x}x{y}x{z}:\n{}", table(&shapes.iter().map(row).collect::<Vec<_>>()))
        }
    };
    text
}

fn location(at: &Location) -> Value {
    json!({ "file": at.file, "line": at.line, "column": Some(at.column).filter(|column| *column > 0) })
}

pub(super) fn roofs(roofs: &Roofs) -> Value {
    json!({
        "device": roofs.name,
        "flops_per_second": roofs.flops,
        "bytes_per_second": roofs.bytes,
        "ridge": roofs.ridge(),
        "source": roofs.source,
    })
}

pub(super) fn json(file: &File, one: &Analysed) -> Value {
    let Analysed { kernel, on, report, measured } = one;
    let range = |range: Option<(u64, u64)>| range.map(|(least, most)| [least, most]);
    let access = |place: &Place| {
        let counted =
            measured.as_ref().and_then(|measured| measured.counted.as_ref().ok()).and_then(|counted| counted.at(place));
        json!({
            "at": location(&place.at),
            "argument": place.argument,
            "address_space": place.access.address_space,
            "reads": place.access.reads,
            "writes": place.access.writes,
            "bytes": Some(place.access.bytes).filter(|bytes| *bytes > 0),
            "pattern": place.access.pattern,
            "pattern_y": place.access.pattern_y,
            "pattern_z": place.access.pattern_z,
            "rows_told": place.is_told,
            "lines": range(place.lines),
            "used_part": place.used_part,
            "bank_words": range(place.bank_words),
            "counted": counted.map(|sum| json!({
                "simdgroups": sum.times,
                "lines": sum.lines,
                "bytes": sum.moved,
                "bank_words": range(sum.words),
            })),
        })
    };
    let families = report.occupancy.iter().map(|occupancy| match occupancy.core {
        Core::Threads { threads, of, limit } => {
            json!({ "family": occupancy.family.to_string(), "threads": threads, "of": of, "limit": limit.words() })
        }
        Core::Unknown(why) => json!({ "family": occupancy.family.to_string(), "threads": null, "why": why }),
    });
    let advice = report.advice.iter().map(|advice| {
        let (found, why) = match effect(one, advice) {
            Ok(found) => (Some(found), None),
            Err(why) => (None, Some(why)),
        };
        json!({
            "rule": advice.rule.name(),
            "at": advice.at.iter().map(location).collect::<Vec<_>>(),
            "text": advice.text,
            "gain": advice.gain,
            "beside_the_limit": advice.beside_the_limit,
            "measured": found,
            "not_measured": why,
        })
    });
    let registers = match &report.registers {
        Ok(registers) => json!({
            "thread": registers.thread,
            "uniform": registers.uniform,
            "private_bytes": registers.private_bytes,
            "at": registers.at.as_ref().map(location),
        }),
        Err(why) => json!({ "thread": null, "why": why }),
    };
    let analysis = kernel.analysis().unwrap_or_else(|error| unreachable!("it has a report: {error}"));
    json!({
        "name": kernel.name(),
        "threadgroup": on.threadgroup.to_array(),
        "threadgroup_memory_bytes": kernel.static_threadgroup_memory() + on.threadgroup_memory,
        "accesses": report.accesses.iter().map(access).collect::<Vec<_>>(),
        "registers": registers,
        "occupancy": families.collect::<Vec<_>>(),
        "intensity": analysis::intensity_json(kernel, &file.name, analysis),
        "stand": report.stand.map(|stand| json!({
            "bound": match stand.bound {
                Bound::Memory => "memory",
                Bound::Arithmetic => "arithmetic",
                Bound::ByRounds => "by_rounds",
            },
            "flops_per_second": [stand.possible.0, stand.possible.1],
        })),
        "advice": advice.collect::<Vec<_>>(),
        "measured": measured.as_ref().map(runs),
    })
}

fn runs(measured: &Measured) -> Value {
    let shape = |shape: &Shape| {
        json!({
            "threadgroup": shape.size.to_array(),
            "seconds": shape.time.as_secs_f64(),
            "runs": shape.runs,
            "equal": shape.equal,
            "advised": shape.advised,
        })
    };
    let trial = |(rule, trial): (&Rule, &Result<Trial, String>)| match trial {
        Ok(trial) => json!({
            "rule": rule.name(),
            "change": trial.what,
            "seconds": trial.time.ours.as_secs_f64(),
            "seconds_before": trial.time.peer.as_secs_f64(),
            "runs": trial.turns,
            "outputs": trial.outputs.name(),
            "different": match trial.outputs {
                Outputs::Differ { numbers, of, largest } => json!({ "numbers": numbers, "of": of, "largest": largest }),
                _ => Value::Null,
            },
            "places": trial.places[0],
            "places_left": trial.places[1],
        }),
        Err(why) => json!({ "rule": rule.name(), "not_tried": why }),
    };
    json!({
        "trials": measured.trials.iter().map(trial).collect::<Vec<_>>(),
        "grid": measured.global,
        "not_counted": measured.counted.as_ref().err(),
        "work": measured.counted.as_ref().ok().map(|counted| &counted.work),
        "threadgroups": measured.shapes.as_ref().ok().map(|shapes| shapes.iter().map(shape).collect::<Vec<_>>()),
        "no_threadgroups": measured.shapes.as_ref().err(),
    })
}
