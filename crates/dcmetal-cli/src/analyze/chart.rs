//! The roofline as SVG: both axes are powers, so that nothing but finite numbers above 0 may come to them, and not too many powers.

use dcmetal::analysis::{Roofs, Stand};
use plotters::prelude::*;

/// What a chart cannot be drawn with; none of it can happen to text in memory.
type Broken = Box<dyn std::error::Error>;

const ROOF: RGBColor = RGBColor(59, 130, 196);
const POINT: RGBColor = RGBColor(214, 74, 66);
const GRID: RGBColor = RGBColor(128, 128, 128);

/// The intensities that a chart shows: whatever is beyond stands at its edge.
const LEAST: f64 = 1.0 / 4096.0;
const MOST: f64 = 65536.0;

/// The roof, and where kernels stand below it, by name; nothing without a finite roof above 0.
pub(super) fn roofline(roofs: &Roofs, stands: &[(&str, Stand)]) -> Result<Option<String>, Broken> {
    let ridge = roofs.ridge();
    if ![roofs.flops, roofs.bytes, ridge].iter().all(|rate| rate.is_finite() && *rate > 0.0) {
        return Ok(None);
    }
    let within = |intensity: f64| if intensity.is_finite() { intensity.clamp(LEAST, MOST) } else { MOST };
    let ends = stands.iter().flat_map(|(_, stand)| [stand.intensity.0, stand.intensity.1.unwrap_or(0.0)]);
    let shown: Vec<f64> = ends.filter(|end| *end > 0.0).map(within).chain([within(ridge)]).collect();
    let low = shown.iter().fold(0.125f64, |low, end| low.min(*end)) / 2.0;
    let high = shown.iter().fold(16.0f64, |high, end| high.max(*end)) * 4.0;
    // Without an upper bound it goes to the edge; without operations it stands at the other.
    let x = |intensity: Option<f64>| intensity.map_or(high, |intensity| within(intensity).clamp(low, high));
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (560, 340)).into_drawing_area();
        // Room for the names below the lowest.
        let bottom = roofs.possible(low) / 12.0;
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(74)
            .build_cartesian_2d((low..high).log_scale(), (bottom..roofs.flops * 3.0).log_scale())?;
        chart
            .configure_mesh()
            .x_labels(6)
            .y_labels(6)
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.mix(0.25))
            .axis_style(GRID.mix(0.5))
            .x_label_formatter(&|intensity| plain(*intensity))
            .y_label_formatter(&|flops| format!("{} G", plain(*flops / 1e9)))
            .label_style(("sans-serif", 12))
            .x_desc("flops per byte")
            .draw()?;
        let corner = within(ridge).clamp(low, high);
        let roof = [low, corner, high].map(|at| (at, roofs.possible(at)));
        chart.draw_series(LineSeries::new(roof, ROOF.stroke_width(3)))?;
        let (ridge_x, ridge_y) = chart.backend_coord(&(corner, roofs.possible(corner)));
        area.draw(&Text::new(
            format!("{:.0} GFLOP/s", roofs.flops / 1e9),
            (ridge_x + 8, ridge_y - 18),
            ("sans-serif", 12),
        ))?;
        let middle = (low * corner).sqrt();
        let (slope_x, slope_y) = chart.backend_coord(&(middle, roofs.possible(middle)));
        area.draw(&Text::new(
            format!("{:.1} GB/s", roofs.bytes / 1e9),
            (slope_x - 84, slope_y - 22),
            ("sans-serif", 12),
        ))?;
        // Names below each other where kernels stand at one place.
        let mut taken: Vec<(i32, i32)> = Vec::new();
        for (name, stand) in stands {
            let (from, to) = (x(Some(stand.intensity.0)), x(stand.intensity.1));
            let line = [from, corner.clamp(from.min(to), to.max(from)), to].map(|at| (at, roofs.possible(at)));
            chart.draw_series(LineSeries::new(line, POINT.stroke_width(5)))?;
            chart.draw_series([from, to].map(|at| Circle::new((at, roofs.possible(at)), 5, POINT.filled())))?;
            let (mut at, (width, _)) = (chart.backend_coord(&(to, roofs.possible(to))), area.dim_in_pixel());
            at = (at.0 + 10, at.1 + 12);
            while taken.iter().any(|other| (other.0 - at.0).abs() < 90 && (other.1 - at.1).abs() < 15) {
                at.1 += 15;
            }
            taken.push(at);
            let room = width as i32 - 7 * name.chars().count() as i32 - 8;
            area.draw(&Text::new((*name).to_owned(), (at.0.min(room), at.1), ("sans-serif", 13)))?;
        }
        area.present()?;
    }
    Ok(Some(svg))
}

/// A number for an axis.
fn plain(value: f64) -> String {
    match value {
        v if v >= 10.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.1}").trim_end_matches(".0").to_owned(),
        v => format!("{v:.3}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use dcmetal::analysis::Bound;

    use super::*;

    fn stand(least: f64, most: Option<f64>) -> Stand {
        Stand { bound: Bound::ByRounds, intensity: (least, most), possible: (0.0, 0.0) }
    }

    /// A logarithm of 0, of infinity or of nothing may not come to an axis: the chart would have marks without end.
    #[test]
    fn whatever_the_intensity_a_chart_is_small() {
        let roofs = |flops, bytes| Roofs { name: "x".to_owned(), flops, bytes, source: String::new() };
        let intensities = [0.0, f64::MIN_POSITIVE, 1e-30, 0.25, 1e30, f64::MAX, f64::INFINITY, f64::NAN];
        for least in intensities {
            for most in intensities.iter().map(|most| Some(*most)).chain([None]) {
                let svg = roofline(&roofs(2.6e12, 68e9), &[("k", stand(least, most))]).expect("it is drawn");
                let svg = svg.expect("the roof is above 0");
                assert!(svg.contains("\nk\n") && svg.len() < 40_000, "{least} {most:?}: {}", svg.len());
            }
        }
        for (flops, bytes) in [(0.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY), (-1.0, 1.0)] {
            assert!(roofline(&roofs(flops, bytes), &[]).expect("nothing is drawn").is_none(), "{flops} {bytes}");
        }
        let far = roofline(&roofs(1e300, 1e-300), &[]);
        assert!(far.expect("it is drawn or not").is_none_or(|svg| svg.len() < 40_000));
    }
}
