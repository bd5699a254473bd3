//! The report: a table for the terminal, and an HTML page with charts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plotters::prelude::*;

use dcmetal_validate::Spread;
use dcmetal_validate::problems::{KERNELS, Kernel};

/// One kernel at one size on so many threads. Times in seconds a call, medians, of ours the 99th percentile too; ratios of times with their 10th percentile,
/// median and 90th percentile.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) size: usize,
    pub(crate) threads: usize,
    pub(crate) ours: f64,
    pub(crate) ours_p99: f64,
    pub(crate) plain: f64,
    pub(crate) opencl: Option<f64>,
    pub(crate) against_plain: [f64; 3],
    pub(crate) against_opencl: Option<[f64; 3]>,
    /// Moved and done at least, and what the machine can do in a second.
    pub(crate) bytes: f64,
    pub(crate) flops: f64,
    pub(crate) roof_bytes: f64,
    pub(crate) roof_flops: f64,
}

const HEAD: &str = "kernel\tsize\tthreads\tours s\tp99 s\tplain s\topencl s\tours/plain p10\tmedian\tp90\tours/opencl p10\tmedian\tp90\t\
                    bytes\tflops\troof bytes/s\troof flops/s";

/// The 10th percentile, the median and the 90th percentile.
pub(crate) fn tenths(values: Vec<f64>) -> [f64; 3] {
    let Spread { p10, median, p90, .. } = Spread::of(values);
    [p10, median, p90]
}

impl Row {
    /// As a line of tab-separated words.
    pub(crate) fn line(&self) -> String {
        let none = [f64::NAN; 3];
        let numbers: Vec<f64> = [self.ours, self.ours_p99, self.plain, self.opencl.unwrap_or(f64::NAN)]
            .into_iter()
            .chain(self.against_plain)
            .chain(self.against_opencl.unwrap_or(none))
            .chain([self.bytes, self.flops, self.roof_bytes, self.roof_flops])
            .collect();
        let words: Vec<String> = numbers.iter().map(|number| format!("{number:e}")).collect();
        format!("{}\t{}\t{}\t{}", self.name, self.size, self.threads, words.join("\t"))
    }

    pub(crate) fn parse(line: &str) -> Option<Row> {
        let words: Vec<&str> = line.split('\t').collect();
        let [name, size, threads, numbers @ ..] = words.as_slice() else { return None };
        let numbers: Vec<f64> = numbers.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let [ours, ours_p99, plain, opencl, p1, p2, p3, o1, o2, o3, bytes, flops, roof_bytes, roof_flops] = numbers[..]
        else {
            return None;
        };
        Some(Row {
            name: (*name).to_owned(),
            size: size.parse().ok()?,
            threads: threads.parse().ok()?,
            ours,
            ours_p99,
            plain,
            opencl: (!opencl.is_nan()).then_some(opencl),
            against_plain: [p1, p2, p3],
            against_opencl: (!o2.is_nan()).then_some([o1, o2, o3]),
            bytes,
            flops,
            roof_bytes,
            roof_flops,
        })
    }

    fn kernel(&self) -> &'static Kernel {
        KERNELS.iter().find(|kernel| kernel.name == self.name).expect("a kernel of this bench")
    }

    /// The rate that bounds it, its unit, and the share of the roof: memory's or arithmetic's, whichever is nearer.
    fn rate(&self) -> (f64, &'static str, f64) {
        let (moved, done) = (self.bytes / self.ours, self.flops / self.ours);
        if moved / self.roof_bytes >= done / self.roof_flops {
            (moved / 1e9, "GB/s", moved / self.roof_bytes)
        } else {
            (done / 1e9, "GFLOP/s", done / self.roof_flops)
        }
    }
}

/// Seconds for people.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

fn ratio([low, median, high]: [f64; 3]) -> String {
    format!("{median:.2} ({low:.2} to {high:.2})")
}

/// For a terminal.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut out = format!(
        "{:28} {:>9} {:>7} {:>10} {:>10} {:>10} {:>10}  {:22}  {:22}  rate (share of the most measured)\n",
        "kernel", "size", "threads", "ours", "p99", "plain C++", "OpenCL", "ours / plain C++", "ours / OpenCL"
    );
    for row in rows {
        let (rate, unit, share) = row.rate();
        let _ = writeln!(
            out,
            "{:28} {:>9} {:>7} {:>10} {:>10} {:>10} {:>10}  {:22}  {:22}  {rate:.1} {unit} ({:.0} %)",
            row.kernel().title,
            row.size,
            row.threads,
            time(row.ours),
            time(row.ours_p99),
            time(row.plain),
            row.opencl.map_or("-".to_owned(), time),
            ratio(row.against_plain),
            row.against_opencl.map_or("-".to_owned(), ratio),
            share * 100.0
        );
    }
    out
}

/// Writes kernels.tsv, kernels.svg and kernels.html, and returns the page's path.
pub(crate) fn write(folder: &Path, rows: &[Row]) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let lines: Vec<String> = rows.iter().map(Row::line).collect();
    std::fs::write(folder.join("kernels.tsv"), format!("{HEAD}\n{}\n", lines.join("\n")))?;
    let svg = chart(rows).map_err(|error| error.to_string())?;
    std::fs::write(folder.join("kernels.svg"), &svg)?;
    let page = folder.join("kernels.html");
    std::fs::write(&page, html(rows, &svg))?;
    Ok(page)
}

const SIDES: [(&str, RGBColor); 3] = [
    ("Metal (ours)", RGBColor(31, 119, 180)),
    ("OpenCL", RGBColor(214, 110, 20)),
    ("plain C++", RGBColor(110, 110, 110)),
];

/// Kernels of these rows, in the bench's order.
fn kernels_of(rows: &[Row]) -> Vec<&'static Kernel> {
    KERNELS.iter().filter(|kernel| rows.iter().any(|row| row.name == kernel.name)).collect()
}

const COLUMNS: usize = 3;
const CELL: (u32, u32) = (380, 230);

/// A chart for each kernel: time over size, for each side and number of threads.
fn chart(rows: &[Row]) -> Result<String, Box<dyn std::error::Error>> {
    let kernels = kernels_of(rows);
    let lines = kernels.len().div_ceil(COLUMNS).max(1);
    let mut svg = String::new();
    {
        let size = (CELL.0 * COLUMNS as u32, CELL.1 * lines as u32);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        for (cell, kernel) in area.split_evenly((lines, COLUMNS)).iter().zip(kernels) {
            growth(cell, kernel, rows)?;
        }
        area.present()?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn growth(area: &Area<'_>, kernel: &Kernel, rows: &[Row]) -> Result<(), Box<dyn std::error::Error>> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.name == kernel.name).collect();
    let times = |row: &Row| [Some(row.ours), row.opencl, Some(row.plain)];
    let all: Vec<f64> = rows.iter().flat_map(|row| times(row)).flatten().collect();
    let (least, most) = (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max));
    let sizes: Vec<f64> = rows.iter().map(|row| row.size as f64).collect();
    let (small, large) = (sizes.iter().copied().fold(f64::MAX, f64::min), sizes.iter().copied().fold(0.0, f64::max));
    let mut chart = ChartBuilder::on(area)
        .caption(kernel.title, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(52)
        .build_cartesian_2d((small * 0.8..large * 1.25).log_scale(), (least * 0.7..most * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .x_labels(4)
        .y_labels(5)
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(230, 230, 230))
        .x_label_formatter(&|size| format!("{size:.0}"))
        .y_label_formatter(&|seconds| time(*seconds))
        .label_style(("sans-serif", 11))
        .draw()?;
    let mut counts: Vec<usize> = rows.iter().map(|row| row.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    let most_threads = counts.last().copied().unwrap_or(1);
    for &threads in &counts {
        for (side, (_, colour)) in SIDES.iter().enumerate() {
            let of_side = rows.iter().filter(|row| row.threads == threads);
            let points: Vec<(f64, f64)> =
                of_side.filter_map(|row| Some((row.size as f64, times(row)[side]?))).collect();
            let style = colour.stroke_width(2);
            if threads == most_threads {
                chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
                chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
            } else {
                chart.draw_series(DashedLineSeries::new(points, 4, 4, style))?;
            }
        }
    }
    Ok(())
}

/// The page: the table and the chart in it, nothing else needed.
fn html(rows: &[Row], svg: &str) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Kernels</title>\n<style>\n\
         body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 1180px; color: #222; padding: 0 1em }\n\
         table { border-collapse: collapse; font-size: 13px } td, th { padding: 2px 10px; text-align: right; white-space: nowrap }\n\
         td:first-child, th:first-child { text-align: left } tr.first td { border-top: 1px solid #ccc }\n\
         .good { color: #176b2c } .bad { color: #a11 } svg { max-width: 100%; height: auto }\n</style>\n<h1>Kernels</h1>\n",
    );
    let _ = writeln!(
        out,
        "<p>Time of one launch, waited for, by size (elements, rows, or the edge of a square): <b style=\"color:#1f77b4\">Metal (ours)</b>, \
         <b style=\"color:#d66e14\">the same kernel in OpenCL C</b>, <b style=\"color:#6e6e6e\">plain C++ loops</b>, on as many threads \
         (dashed: one thread). All outputs verified against 64-bit references.</p>\n{svg}"
    );
    out.push_str(
        "<table><tr><th>kernel<th>size<th>threads<th>ours<th>p99<th>plain C++<th>OpenCL<th>ours / plain C++<th>ours / OpenCL<th>rate<th>of the most measured</tr>\n",
    );
    let class = |value: f64, limit: f64| if value <= limit { "good" } else { "bad" };
    let mut last = "";
    for row in rows {
        let (rate, unit, share) = row.rate();
        let kernel = row.kernel();
        let limit = if kernel.barriers { 0.5 } else { 1.0 };
        let opencl = row
            .against_opencl
            .map_or("<td>-".to_owned(), |all| format!("<td class=\"{}\">{}", class(all[1], limit), ratio(all)));
        let _ = writeln!(
            out,
            "<tr{}><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}{opencl}<td>{rate:.1} {unit}<td>{:.0} %</tr>",
            if last == row.name { "" } else { " class=\"first\"" },
            kernel.title,
            row.size,
            row.threads,
            time(row.ours),
            time(row.ours_p99),
            time(row.plain),
            row.opencl.map_or("-".to_owned(), time),
            ratio(row.against_plain),
            share * 100.0
        );
        last = &row.name;
    }
    out.push_str(
        "</table>\n<p>Times: medians of the turns, and of ours the 99th percentile (the worst, of less than a hundred turns). Ratios of times: median of the turns with the 10th and 90th percentiles; green within the goal: OpenCL's time for kernels \
         whose threads do not wait for each other, half of it for those whose threads do. The rate is of the bytes or the operations \
         that the problem needs at least; beside it, its share of what the same threads moved or did at most in plain loops. \
         Not measured: compilation, allocation, copies.</p>\n</html>\n",
    );
    out
}
