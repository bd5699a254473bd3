//! The analysis of a file as one page that needs nothing else: for each kernel advice, occupancy and what was run; a roofline; and the source, with what is told
//! of a line below it.

use std::collections::BTreeMap;

use dcmetal::analysis::{Core, Stand};
use dcmetal::clmsl::Location;
use maud::{Markup, PreEscaped, html};

use super::measured::{Measured, Shape};
use super::{Analysed, File, chart, tell};
use crate::analysis;
use crate::report::coloured;

pub(super) fn page(file: &File, all: &[Analysed]) -> Result<String, String> {
    let stands: Vec<(&str, Stand)> =
        all.iter().filter_map(|one| Some((one.kernel.name(), one.report.stand?))).collect();
    let svg = chart::roofline(&file.roofs, &stands).map_err(|error| error.to_string())?;
    let title = format!("Analysis of {}", file.name);
    let body = html! {
        h1 { (title) }
        p.faint { "By dcmetal " (env!("CARGO_PKG_VERSION")) ". Estimates but where something was counted or timed; docs/ANALYSIS.md has rules and sources." }
        @if all.is_empty() { p { "It compiles and has no kernels." } }
        @for one in all { (kernel(file, one)) }
        @if let Some(svg) = &svg {
            h2 { "Roofline of " (file.roofs.name) }
            figure.chart.roofline role="img" aria-label={ "Operations in a second that are possible, by operations per byte: " (described(file, all)) } { (PreEscaped(svg)) }
            p.faint { "Rates: " (file.roofs.source) ". Red is where kernels stand, from the fewest rounds of their loops to the most; at the left edge what computes nothing." }
        }
        h2 { "Source" }
        (source(file, all))
    };
    Ok(crate::report::page(&title, &body))
}

/// The roofline in words.
fn described(file: &File, all: &[Analysed]) -> String {
    let of = |one: &Analysed| format!("{}: {}", one.kernel.name(), tell::stand(&file.roofs, one.report.stand));
    all.iter().map(of).collect::<Vec<_>>().join("; ")
}

fn kernel(file: &File, one: &Analysed) -> Markup {
    let Analysed { kernel, on, report, measured } = one;
    let unknown = one.unknown_memory();
    html! {
        h2 { "Kernel " (kernel.name()) }
        ul.totals {
            li { b { (report.advice.len()) } (if report.advice.len() == 1 { "advice" } else { "pieces of advice" }) }
            @if let Ok(registers) = &report.registers {
                li { b { (registers.thread) } "registers of a thread" }
                li { b { (registers.uniform) } "uniform registers" }
            }
            li { b { (on.threadgroup) } "threads of a threadgroup" }
        }
        p { (tell::stand(&file.roofs, report.stand)) "." }
        p { (analysis::brief(kernel, &file.name).trim()) "." }
        @if let Err(why) = &report.registers { p.faint { "Registers are not told: " (why) } }
        h3 { "Advice" }
        @if report.advice.is_empty() { p { "None: no rule applies." } } @else { (advice(file, one)) }
        h3 { "Occupancy" }
        div.wide { table.list.own {
            thead { tr { th scope="col" { "Family" } th scope="col" { "Threads of a core" } th scope="col" { "Limited by" } } }
            tbody { @for occupancy in &report.occupancy { tr {
                th scope="row" { (occupancy.family) }
                @match &occupancy.core {
                    Core::Threads { threads, of, limit } => {
                        td.number { (threads) " of " (of) }
                        td { (limit.words()) }
                    }
                    Core::Unknown(why) => { td.faint colspan="2" { (why) } }
                }
            } } }
        } }
        p.faint { "Registers: " (tell::registers(file, one)) ". Threadgroup memory: " (kernel.static_threadgroup_memory() + on.threadgroup_memory) " bytes"
            @if !unknown.is_empty() { ", without that of " (unknown.join(", ")) ", which a launch gives it" } "." }
        @if let Some(measured) = measured { (runs(measured)) }
    }
}

fn advice(file: &File, one: &Analysed) -> Markup {
    html! { div.wide role="region" aria-label="Advice" tabindex="0" { table.list.advice {
        thead { tr { @for head in ["", "Rule", "Line", "Gain", "Advice"] { th scope="col" { (head) } } } }
        tbody { @for (number, advice) in (1..).zip(&one.report.advice) {
            tr class=[advice.beside_the_limit.then_some("faint")] {
                td.number { (number) }
                th scope="row" { (advice.rule.name()) }
                td { @for (at, place) in advice.at.iter().enumerate() { @if at > 0 { ", " } (link(file, place)) } }
                td { (tell::gain(advice)) }
                td.evidence {
                    (advice.text) "."
                    @match tell::effect(one, advice) {
                        Ok(found) => @for found in found { div.good { (found) } },
                        Err(why) => div.faint { "not measured: " (why) },
                    }
                }
            }
        } }
    } } }
}

fn link(file: &File, at: &Location) -> Markup {
    let place = tell::place(file, at);
    html! { @if at.file == file.name { a href={ "#L" (at.line) } { (place) } } @else { (place) } }
}

fn runs(measured: &Measured) -> Markup {
    let row = |shape: &Shape| {
        html! { tr {
            th scope="row" { (shape.size) }
            td.number { (format!("{:.2?}", shape.time)) }
            td.number { (shape.runs) }
            td { @if shape.equal { "the same" } @else { span.bad { "something else" } } }
            td { @if shape.advised { "what a launch has" } }
        } }
    };
    let [x, y, z] = measured.global;
    html! {
        h3 { "Runs" }
        @if let Err(why) = &measured.counted { p.warn { "Not counted: " (why) "." } }
        @match &measured.shapes {
            Err(why) => p.warn { "Threadgroups were not tried: " (why) "." },
            Ok(shapes) => {
                p.faint { "Threadgroups of a grid of " (x) "x" (y) "x" (z) " threads on this machine, the fastest first." }
                div.wide { table.list.own {
                    thead { tr { @for head in ["Threadgroup", "Median", "Runs", "Computes", ""] { th scope="col" { (head) } } } }
                    tbody { @for shape in shapes { (row(shape)) } }
                } }
            }
        }
    }
}

/// What stands below the lines of the source.
#[derive(Default)]
struct Said {
    advice: Vec<String>,
    accesses: Vec<String>,
}

fn source(file: &File, all: &[Analysed]) -> Markup {
    let mut lines: BTreeMap<u32, Said> = BTreeMap::new();
    for one in all {
        // Kernels of one file are told apart.
        let of = if all.len() > 1 { format!("{}: ", one.kernel.name()) } else { String::new() };
        for place in one.report.accesses.iter().filter(|place| place.at.file == file.name) {
            let access = format!("{of}{}: {}, {}", tell::what(place), place.pattern(), tell::cost(place));
            let said = &mut lines.entry(place.at.line).or_default().accesses;
            if !said.contains(&access) {
                said.push(access);
            }
        }
        if let Some(at) = one
            .report
            .registers
            .as_ref()
            .ok()
            .and_then(|registers| registers.at.as_ref())
            .filter(|at| at.file == file.name)
        {
            let most = format!("{of}most registers: {}", tell::registers(file, one));
            lines.entry(at.line).or_default().accesses.push(most);
        }
        for (number, advice) in (1..).zip(&one.report.advice) {
            for at in advice.at.iter().filter(|at| at.file == file.name) {
                let said = &mut lines.entry(at.line).or_default().advice;
                let text = format!("{of}{number}. {}: {}", advice.rule.name(), advice.text);
                if !said.contains(&text) {
                    said.push(text);
                }
            }
        }
    }
    let mut in_comment = false;
    html! { table.code {
        @for (number, line) in (1u32..).zip(file.text.lines()) {
            @let said = lines.get(&number);
            @let is_advised = said.is_some_and(|said| !said.advice.is_empty());
            tr id={ "L" (number) } class=[is_advised.then_some("warning")] {
                td.line { (number) }
                td { (coloured(line, &mut in_comment)) }
            }
            @if let Some(said) = said {
                @for access in &said.accesses { tr.said { td.line {} td.faint { (access) } } }
                @for text in &said.advice { tr.said.warning { td.line {} td { (text) } } }
            }
        }
    } }
}
