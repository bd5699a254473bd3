//! Charts of a report, as SVG to stand in the page: how far figures are from their goals, and how a kernel's time grows with its work.
//!
//! Colours are read on light and on dark paper; text takes the page's.

use dcmetal_validate::{Goal, Point, Row, time};
use plotters::coord::Shift;
use plotters::prelude::*;

/// What a chart cannot be drawn with; none of it can happen to text in memory.
type Broken = Box<dyn std::error::Error>;

const GOOD: RGBColor = RGBColor(46, 158, 91);
const BAD: RGBColor = RGBColor(214, 74, 66);
const LINE: RGBColor = RGBColor(59, 130, 196);
const GRID: RGBColor = RGBColor(128, 128, 128);

/// How many times better than its goal a figure is; below 1 it misses it.
pub(super) fn margin(row: &Row) -> Option<f64> {
    let value = row.measured.as_ref()?.value;
    let margin = match row.goal {
        Goal::AtMost(most) => most / value,
        Goal::AtLeast(least) => value / least,
        Goal::Sound => return None,
    };
    (margin.is_finite() && margin > 0.0).then_some(margin)
}

/// A bar for each figure with a goal, from the goal to the figure; nothing without any.
pub(super) fn margins(rows: &[Row]) -> Result<Option<String>, Broken> {
    let bars: Vec<(&str, f64)> = rows.iter().filter_map(|row| Some((row.name.as_str(), margin(row)?))).collect();
    if bars.is_empty() {
        return Ok(None);
    }
    let mut svg = String::new();
    {
        let height = 26 * bars.len() as u32 + 46;
        let area = SVGBackend::with_string(&mut svg, (460, height)).into_drawing_area();
        let least = bars.iter().fold(0.5, |least: f64, bar| least.min(bar.1)) / 1.3;
        let most = bars.iter().fold(2.0, |most: f64, bar| most.max(bar.1)) * 2.2;
        let count = bars.len();
        let mut chart = ChartBuilder::on(&area)
            .margin(4)
            .x_label_area_size(34)
            .margin_left(116)
            .build_cartesian_2d((least..most).log_scale(), 0.0..count as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(5)
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.mix(0.25))
            .axis_style(GRID.mix(0.5))
            .x_label_formatter(&|margin| times(*margin))
            .label_style(("sans-serif", 12))
            .x_desc("times better than the goal")
            .draw()?;
        for (at, &(name, margin)) in bars.iter().enumerate() {
            // The first stands at the top.
            let (low, high) = ((count - at - 1) as f64 + 0.22, (count - at) as f64 - 0.22);
            let colour = if margin >= 1.0 { GOOD } else { BAD };
            chart.draw_series([Rectangle::new([(1.0, low), (margin, high)], colour.filled())])?;
            let (x, y) = chart.backend_coord(&(margin.max(1.0), (low + high) / 2.0));
            area.draw(&Text::new(times(margin), (x + 6, y - 6), ("sans-serif", 12)))?;
            area.draw(&Text::new(name, (8, y - 6), ("sans-serif", 12)))?;
        }
        chart.draw_series([PathElement::new(vec![(1.0, 0.0), (1.0, count as f64)], GRID.stroke_width(1))])?;
        area.present()?;
    }
    Ok(Some(svg))
}

fn times(margin: f64) -> String {
    match margin {
        m if m >= 10.0 => format!("{m:.0}x"),
        m if m >= 1.0 => format!("{m:.1}x"),
        m => format!("{m:.2}x"),
    }
}

/// A kernel's time over its work, both in powers; nothing without two sizes.
pub(super) fn growth(points: &[Point]) -> Result<Option<String>, Broken> {
    let least = |of: fn(&Point) -> f64| points.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Point) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let (low, high) = (least(|point| point.work), most(|point| point.work));
    let (fast, slow) = (least(|point| point.seconds), most(|point| point.seconds));
    if low >= high || fast <= 0.0 || slow <= 0.0 {
        return Ok(None);
    }
    let mut svg = String::new();
    {
        let area: DrawingArea<SVGBackend<'_>, Shift> =
            SVGBackend::with_string(&mut svg, (300, 190)).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d((low / 2.0..high * 2.0).log_scale(), (fast / 2.0..slow * 3.0).log_scale())?;
        chart
            .configure_mesh()
            .x_labels(4)
            .y_labels(4)
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.mix(0.25))
            .axis_style(GRID.mix(0.5))
            .x_label_formatter(&|work| format!("{work:.1e}"))
            .y_label_formatter(&|seconds| time(*seconds))
            .label_style(("sans-serif", 11))
            .x_desc("work")
            .draw()?;
        let line: Vec<(f64, f64)> = points.iter().map(|point| (point.work, point.seconds)).collect();
        chart.draw_series(LineSeries::new(line.iter().copied(), LINE.stroke_width(2)))?;
        chart.draw_series(line.iter().map(|&at| Circle::new(at, 3, LINE.filled())))?;
        for (point, at) in points.iter().zip(&line) {
            let (x, y) = chart.backend_coord(at);
            area.draw(&Text::new(time(point.seconds), (x - 22, y - 18), ("sans-serif", 11)))?;
        }
        area.present()?;
    }
    Ok(Some(svg))
}
