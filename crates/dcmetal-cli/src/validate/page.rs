//! A report as one page that needs nothing else: verdicts, charts, a table, and how each figure came about.

use dcmetal_validate::{Report, Row, Verdict, figure};
use maud::{Markup, PreEscaped, html};

use super::{caveats, chart, evidence, figures, goal};

const VERDICTS: [Verdict; 4] = [Verdict::Reached, Verdict::Missed, Verdict::Broken, Verdict::NotMeasured];

pub(super) fn page(report: &Report) -> Result<String, String> {
    let in_words = |error: Box<dyn std::error::Error>| error.to_string();
    let machine = &report.machine;
    let count = |verdict| report.rows.iter().filter(|row| row.verdict == verdict).count();
    let margins = chart::margins(&report.rows).map_err(in_words)?;
    let mut kernels = Vec::new();
    for row in report.rows.iter().filter(|row| row.name.starts_with("kernel-")) {
        let Some(measured) = &row.measured else { continue };
        kernels.extend(chart::growth(&measured.points).map_err(in_words)?.map(|svg| (row, svg)));
    }
    let body = html! {
        h1 { "Claims of dcmetal, measured" }
        p.faint {
            (machine.device) ", " (machine.system) ", " (machine.processors) " processors; dcmetal " (machine.version)
            ", seed " (report.seed)
        }
        @for caveat in caveats(report) { p.warn { (caveat) } }
        ul.totals {
            @for verdict in VERDICTS { li { b class=(class(verdict)) { (count(verdict)) } (verdict.words()) } }
        }
        @if let Some(svg) = margins {
            h2 { "Figures against their goals" }
            figure.chart.bars role="img" aria-label="How many times better than its goal each figure is; the table has the numbers" { (PreEscaped(svg)) }
        }
        h2 { "Claims" }
        (table(report))
        @if !kernels.is_empty() {
            h2 { "Time over work" }
            p.faint { "The shortest times of one launch, waited for, by the work of a size. A line that does not rise is a measurement that is not true." }
            div.charts {
                @for (row, svg) in &kernels {
                    figure.chart role="img" aria-label=(format!("{}: {}", row.title, evidence(row))) {
                        figcaption { (row.title) }
                        (PreEscaped(svg))
                    }
                }
            }
        }
        h2 { "How the figures came about" }
        @for row in &report.rows { (details(row)) }
        h2 { "Not measured" }
        ul {
            @for row in report.rows.iter().filter(|row| row.verdict == Verdict::NotMeasured) {
                li { b { (row.name) } ": " (row.why) }
            }
            @for what in &report.not_covered { li { (what) } }
        }
    };
    Ok(crate::report::page("Claims of dcmetal, measured", &body))
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reached => "good",
        Verdict::Missed | Verdict::Broken => "bad",
        Verdict::NotMeasured => "faint",
    }
}

fn table(report: &Report) -> Markup {
    html! {
        div.wide role="region" aria-label="Claims" tabindex="0" { table.list.claims {
            caption.faint { "The figure is a median; p99 is the slow end of its samples." }
            thead { tr {
                @for head in ["Claim", "Verdict", "Median", "Goal", "p99", "Evidence", "Source documents"] {
                    th scope="col" { (head) }
                }
            } }
            tbody { @for row in &report.rows {
                @let [median, slow] = figures(row);
                tr {
                    th scope="row" { (row.title) div.faint { (row.name) } }
                    td class={ "verdict " (class(row.verdict)) } { (row.verdict.words()) }
                    td.number { (median) }
                    td.number { (goal(row)) }
                    td.number { (slow) }
                    td.evidence { (evidence(row)) }
                    td { (row.theirs) }
                }
            } }
        } }
    }
}

fn details(row: &Row) -> Markup {
    html! {
        @if let Some(measured) = &row.measured {
            details {
                summary { (row.title) " " span class=(class(row.verdict)) { (row.verdict.words()) } }
                p { (row.how) }
                @if let Some(spread) = measured.spread {
                    p { (spread.samples) " samples, a tenth below " (figure(spread.p10, row.unit)) ", a tenth above " (figure(spread.p90, row.unit)) "." }
                }
                ul {
                    @for verified in &measured.verified { li { "Verified: " (verified) } }
                    @for rate in &measured.rates { li { (format!("{:.1} {}", rate.value, rate.unit)) ", roofline " (format!("{:.1}", rate.roof)) ": " (rate.roof_is) } }
                    @for (name, value) in &measured.apart { li { (name) ": " (value) } }
                }
            }
        }
    }
}
