//! A graph as a picture.

use std::fmt::Write;

use super::layout::{Frame, Line, layout};
use super::plan::Why;
use super::{Graph, TaskWork};

/// An edge, and the names of the memory that it is for: none where an order was asked for.
struct Drawn {
    from: usize,
    to: usize,
    text: String,
}

/// A node in a picture.
struct Shape<'a> {
    name: &'a str,
    rounded: bool,
}

impl Graph {
    /// The nodes and why they wait for each other, in the language of Graphviz (<https://graphviz.org/doc/info/lang.html>): a box for what the
    /// device does, an ellipse for a step of the host's, an edge with the name of the memory, and a dashed one for an order that was asked for. An
    /// edge that follows from others is left out.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let (mut x, mut y) = (gpu.buffer_zeroed::<u32>(4)?, gpu.buffer_zeroed::<u32>(4)?);
    /// x.set_label("x")?;
    /// let mut graph = gpu.graph();
    /// graph.fill(&mut x, 7)?;
    /// graph.copy(&x, &mut y)?;
    /// assert_eq!(graph.build()?.to_dot(), r#"digraph {
    ///   rankdir=LR;
    ///   n0 [shape=box, label="fill"];
    ///   n1 [shape=box, label="copy"];
    ///   n0 -> n1 [label="x"];
    /// }
    /// "#);
    /// # Ok(()) }
    /// ```
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph {\n  rankdir=LR;\n");
        for (number, node) in self.recorded.nodes.iter().enumerate() {
            let shape = if matches!(node.work, TaskWork::Host(_)) { "ellipse" } else { "box" };
            line(&mut dot, format_args!("  n{number} [shape={shape}, label=\"{}\"];", escaped(&node.name)));
        }
        for Drawn { from, to, text } in self.drawn() {
            let style =
                if text.is_empty() { "style=dashed".to_owned() } else { format!("label=\"{}\"", escaped(&text)) };
            line(&mut dot, format_args!("  n{from} -> n{to} [{style}];"));
        }
        dot.push_str("}\n");
        dot
    }

    /// What [`Graph::to_dot`] says as a picture (SVG 1.1), which needs no other program: rounded boxes are steps of the host's. It is drawn for light and
    /// for dark paper; names that are too long for a box are cut, and whole where the pointer rests on it.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let (mut x, mut y) = (gpu.buffer_zeroed::<u32>(4)?, gpu.buffer_zeroed::<u32>(4)?);
    /// let mut graph = gpu.graph();
    /// graph.fill(&mut x, 7)?;
    /// graph.copy(&x, &mut y)?;
    /// let picture = graph.build()?.to_svg();
    /// assert!(picture.starts_with("<svg") && picture.contains(">copy</text>"));
    /// # Ok(()) }
    /// ```
    pub fn to_svg(&self) -> String {
        let shapes: Vec<Shape<'_>> = self
            .recorded
            .nodes
            .iter()
            .map(|node| Shape { name: &node.name, rounded: matches!(node.work, TaskWork::Host(_)) })
            .collect();
        svg(&shapes, &self.drawn())
    }

    /// The edges that do not follow from others.
    fn drawn(&self) -> Vec<Drawn> {
        let mut edges: Vec<(usize, usize)> = self.plan.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        edges.sort_unstable();
        edges.dedup();
        edges.retain(|&(from, to)| !self.plan.follows_from_others(from, to));
        let drawn = |(from, to)| {
            let whys = self.plan.edges.iter().filter(|edge| (edge.from, edge.to) == (from, to)).map(|edge| edge.why);
            let mut names: Vec<&str> = whys.filter_map(|why| self.memory_name(why)).collect();
            names.sort_unstable();
            names.dedup();
            Drawn { from, to, text: names.join(", ") }
        };
        edges.into_iter().map(drawn).collect()
    }

    fn memory_name(&self, why: Why) -> Option<&str> {
        match why {
            Why::Memory(memory) => Some(&self.memories.names[memory]),
            Why::Explicit => None,
        }
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("strings take all text");
}

/// Inside of the language's quotes, for a label (<https://graphviz.org/docs/attr-types/escString/>), in which Graphviz looks for XML's entities too. As text
/// of XML it has no control characters; it ends where a C string does.
fn escaped(text: &str) -> String {
    let mut dot = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '"' => dot.extend(['\\', c]),
            '&' => dot.push_str("&amp;"),
            '\n' => dot.push_str("\\n"),
            '\t' | '\r' => dot.push(' '),
            '\0'..='\u{1f}' => dot.push('\u{fffd}'),
            c => dot.push(c),
        }
    }
    dot
}

// ------------------------------------------------------------------ SVG

/// Pixels of a narrow character of names, in boxes and at edges: monospaced fonts have 0.6 of their size.
const NAME: f64 = 13.0 * 0.6;
const TEXT: f64 = 11.0 * 0.6;
/// Narrow characters of a name that are shown.
const SHOWN: usize = 30;
/// The length of an arrow's head.
const HEAD: f64 = 8.0;

fn svg(shapes: &[Shape<'_>], edges: &[Drawn]) -> String {
    let names: Vec<String> = shapes.iter().map(|shape| cut(shape.name)).collect();
    let texts: Vec<String> = edges.iter().map(|edge| cut(&edge.text)).collect();
    let widths: Vec<f64> = names.iter().map(|name| (columns(name) as f64 * NAME + 24.0).max(56.0)).collect();
    let lines = edges.iter().zip(&texts);
    let lines: Vec<Line> = lines
        .map(|(edge, text)| Line { from: edge.from, to: edge.to, text_width: columns(text) as f64 * TEXT })
        .collect();
    let layout = layout(&widths, &lines);
    let (width, height) = (layout.width, layout.height);
    let mut svg = String::new();
    line(
        &mut svg,
        format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.1} {height:.1}" font-family="monospace">"#
        ),
    );
    // Lines and what is written beside them stand on any paper: this grey is as far from white as from black. Boxes bring their own paper.
    for ((edge, route), text) in edges.iter().zip(&layout.routes).zip(&texts) {
        let (title, dashes) = if edge.text.is_empty() {
            ("in this order", r#" stroke-dasharray="5 4""#)
        } else {
            (edge.text.as_str(), "")
        };
        let (from, to) = (shapes[edge.from].name, shapes[edge.to].name);
        let end = route[route.len() - 1];
        line(&mut svg, format_args!(r#"<g class="edge" data-from="{}" data-to="{}">"#, edge.from, edge.to));
        line(&mut svg, format_args!("<title>{} to {}: {}</title>", xml(from), xml(to), xml(title)));
        line(
            &mut svg,
            format_args!(r##"<path d="{}" fill="none" stroke="#767676" stroke-width="1.4"{dashes}/>"##, curve(route)),
        );
        line(&mut svg, format_args!(r##"<path d="M{:.1} {:.1}l{:.1} -3.5v7z" fill="#767676"/>"##, end.0, end.1, -HEAD));
        if !text.is_empty() {
            line(
                &mut svg,
                format_args!(
                    r##"<text x="{:.1}" y="{:.1}" font-size="11" text-anchor="end" fill="#767676">{}</text>"##,
                    end.0 - HEAD - 3.0,
                    end.1 - 3.0,
                    xml(text)
                ),
            );
        }
        svg.push_str("</g>\n");
    }
    for (number, ((shape, name), frame)) in shapes.iter().zip(&names).zip(&layout.boxes).enumerate() {
        let Frame { x, y, width, height } = *frame;
        let (fill, stroke, radius) =
            if shape.rounded { ("#fff3d6", "#a8791c", 17.0) } else { ("#e6eefc", "#4a6fb5", 3.0) };
        line(&mut svg, format_args!(r#"<g class="node" data-node="{number}"><title>{}</title>"#, xml(shape.name)));
        line(
            &mut svg,
            format_args!(
                r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="{radius}" fill="{fill}" stroke="{stroke}" stroke-width="1.4"/>"#
            ),
        );
        line(
            &mut svg,
            format_args!(
                r##"<text x="{:.1}" y="{:.1}" font-size="13" text-anchor="middle" fill="#1a1a1a">{}</text></g>"##,
                x + width / 2.0,
                y + height / 2.0 + 4.5,
                xml(name)
            ),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Through all points of a route, level at each.
fn curve(route: &[(f64, f64)]) -> String {
    let mut path = format!("M{:.1} {:.1}", route[0].0, route[0].1);
    for (at, pair) in route.windows(2).enumerate() {
        let ((x, y), (to, down)) = (pair[0], pair[1]);
        if at % 2 == 1 {
            // The last ends where its head begins.
            let to = if at + 2 == route.len() { to - HEAD } else { to };
            let half = (x + to) / 2.0;
            write!(path, "C{half:.1} {y:.1} {half:.1} {down:.1} {to:.1} {down:.1}").expect("strings take all text");
        } else {
            write!(path, "H{to:.1}").expect("strings take all text");
        }
    }
    path
}

/// How many narrow characters a text is as wide as. What is not ASCII may be twice as wide.
fn columns(text: &str) -> usize {
    text.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum()
}

/// The beginning of a name that is too long.
fn cut(name: &str) -> String {
    if columns(name) <= SHOWN {
        return name.to_owned();
    }
    let mut room = SHOWN - 2;
    let fits = |c: &char| {
        let wide = if c.is_ascii() { 1 } else { 2 };
        let fits = wide <= room;
        room = room.saturating_sub(wide);
        fits
    };
    let mut cut: String = name.chars().take_while(fits).collect();
    cut.push('\u{2026}');
    cut
}

/// As text of XML 1.0, which has no control characters but three (<https://www.w3.org/TR/xml/#charsets>). A line's end is a space.
fn xml(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\t' | '\n' | '\r' => xml.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
    xml
}
