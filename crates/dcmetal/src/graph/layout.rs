//! Where boxes and the lines between them go: layers from left to right.
//!
//! A box's layer is the longest way to it. A line that passes layers gets a place of its own in each, so that no line runs through a
//! box; places are ordered by the mean of their neighbours' (K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical
//! System Structures", 1981). Lengths are in pixels. Nothing here knows what is drawn.

/// Between boxes of one layer.
const GAP: f64 = 22.0;
/// Between layers, beside what is written there.
const BETWEEN: f64 = 56.0;
/// Around everything.
const MARGIN: f64 = 16.0;
/// Between the lines at one side of a box.
const PORT: f64 = 15.0;
/// Of a box with at most two lines at a side.
const HEIGHT: f64 = 36.0;
/// How often places are ordered anew, from left to right and back.
const ROUNDS: usize = 12;

pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Of what is written at its end.
    pub(super) text_width: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Frame {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Frame>,
    /// Of each line, the points that it goes through, the first at its beginning's right side, the last at its end's left one.
    /// From the first to the second, from the third to the fourth and so on it passes a layer and is level; in between there are no boxes.
    pub(super) routes: Vec<Vec<(f64, f64)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A place in a layer: a box, or one that a line passes.
struct Place {
    frame: Frame,
    layer: usize,
    /// Places that are joined with it in the layer before, and in the one behind.
    before: Vec<usize>,
    behind: Vec<usize>,
}

/// Lays out boxes of these widths. Lines must not lead back in a circle.
pub(super) fn layout(widths: &[f64], lines: &[Line]) -> Layout {
    let layers = layers(widths.len(), lines);
    let (mut places, chains) = places(widths, lines, &layers);
    let count = layers.iter().max().map_or(0, |last| last + 1);
    let mut rows = vec![Vec::new(); count];
    for (number, place) in places.iter().enumerate() {
        rows[place.layer].push(number);
    }
    order(&mut rows, &places);
    let height = stack(&rows, &mut places);
    // From layer to layer, with room for what is written between them.
    let mut x = MARGIN;
    let mut ends = Vec::with_capacity(count);
    for (layer, row) in rows.iter().enumerate() {
        let text = lines.iter().filter(|line| layers[line.to] == layer).map(|line| line.text_width).fold(0.0, f64::max);
        x += if layer == 0 { 0.0 } else { BETWEEN + text };
        let width = row.iter().map(|&place| places[place].frame.width).fold(0.0, f64::max);
        for &place in row {
            places[place].frame.x = x;
            // A line passes all of the layer.
            if place >= widths.len() {
                places[place].frame.width = width;
            }
        }
        x += width;
        ends.push(x);
    }
    let routes = routes(&places, &chains, lines, &ends);
    let boxes = places[..widths.len()].iter().map(|place| place.frame).collect();
    Layout { boxes, routes, width: x + MARGIN, height }
}

/// The longest way to each.
fn layers(count: usize, lines: &[Line]) -> Vec<usize> {
    let mut layers = vec![0; count];
    // A way has at most as many boxes as there are.
    for _ in 0..count {
        let mut moved = false;
        for line in lines.iter().filter(|line| line.from != line.to) {
            if layers[line.to] <= layers[line.from] {
                layers[line.to] = layers[line.from] + 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    layers
}

/// All places, the boxes first; and of each line those that it joins.
fn places(widths: &[f64], lines: &[Line], layers: &[usize]) -> (Vec<Place>, Vec<Vec<usize>>) {
    let place = |layer, width, height| Place {
        frame: Frame { width, height, ..Frame::default() },
        layer,
        before: Vec::new(),
        behind: Vec::new(),
    };
    let boxed = |(number, width): (usize, &f64)| {
        let out = lines.iter().filter(|line| line.from == number).count();
        let into = lines.iter().filter(|line| line.to == number).count();
        place(layers[number], *width, HEIGHT.max(PORT * (out.max(into) + 1) as f64))
    };
    let mut places: Vec<Place> = widths.iter().enumerate().map(boxed).collect();
    let mut chains = Vec::with_capacity(lines.len());
    for line in lines {
        let mut chain = vec![line.from];
        for layer in layers[line.from] + 1..layers[line.to] {
            chain.push(places.len());
            places.push(place(layer, 0.0, 0.0));
        }
        chain.push(line.to);
        for pair in chain.windows(2) {
            places[pair[0]].behind.push(pair[1]);
            places[pair[1]].before.push(pair[0]);
        }
        chains.push(chain);
    }
    (places, chains)
}

/// Orders each layer by where the places' neighbours are, in turns from both sides. The order with the fewest crossings stays.
fn order(rows: &mut Vec<Vec<usize>>, places: &[Place]) {
    let mut position = vec![0.0; places.len()];
    let number = |row: &[usize], position: &mut [f64]| {
        for (at, &place) in row.iter().enumerate() {
            position[place] = (at as f64 + 0.5) / row.len() as f64;
        }
    };
    rows.iter().for_each(|row| number(row, &mut position));
    let mut best = (crossings(places, &position), rows.clone());
    for round in 0..ROUNDS {
        let forward = round % 2 == 0;
        for at in 0..rows.len() {
            let at = if forward { at } else { rows.len() - 1 - at };
            let row = &mut rows[at];
            let mean = |place: &usize| {
                let near = if forward { &places[*place].before } else { &places[*place].behind };
                let sum: f64 = near.iter().map(|&other| position[other]).sum();
                if near.is_empty() { position[*place] } else { sum / near.len() as f64 }
            };
            row.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
            number(row, &mut position);
        }
        let crossings = crossings(places, &position);
        if crossings < best.0 {
            best = (crossings, rows.clone());
        }
    }
    *rows = best.1;
}

/// Pairs of joins between two layers that cross.
fn crossings(places: &[Place], position: &[f64]) -> usize {
    let joins: Vec<(usize, f64, f64)> = places
        .iter()
        .enumerate()
        .flat_map(|(at, place)| place.behind.iter().map(move |&to| (place.layer, position[at], position[to])))
        .collect();
    let cross = |a: &(usize, f64, f64), b: &(usize, f64, f64)| a.0 == b.0 && (a.1 - b.1) * (a.2 - b.2) < 0.0;
    joins.iter().enumerate().map(|(at, a)| joins[at + 1..].iter().filter(|b| cross(a, b)).count()).sum()
}

/// Puts each layer's places one under the other, in the middle; gives the height of all.
fn stack(rows: &[Vec<usize>], places: &mut [Place]) -> f64 {
    let tall = |row: &Vec<usize>, places: &[Place]| {
        row.iter().map(|&place| places[place].frame.height + GAP).sum::<f64>() - GAP
    };
    let most = rows.iter().map(|row| tall(row, places)).fold(0.0, f64::max);
    for row in rows {
        let mut y = MARGIN + (most - tall(row, places)) / 2.0;
        for &place in row {
            places[place].frame.y = y;
            y += places[place].frame.height + GAP;
        }
    }
    most + 2.0 * MARGIN
}

/// Lines leave and enter a box in the order of where they come from and go to. `ends` is where each layer ends.
fn routes(places: &[Place], chains: &[Vec<usize>], lines: &[Line], ends: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let middle = |place: usize| places[place].frame.y + places[place].frame.height / 2.0;
    // The height of a line at a box: the how-manieth of those there it is, by the height of its neighbour.
    let port = |number: usize, own: usize, near: usize, of: &dyn Fn(usize) -> Option<usize>| {
        let others = (0..lines.len()).filter_map(|other| of(other).map(|near| (middle(near), other)));
        let mut all: Vec<(f64, usize)> = others.collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        debug_assert!(all.contains(&(middle(near), number)));
        let at = all.iter().position(|&(_, other)| other == number).unwrap_or(0);
        let frame = places[own].frame;
        frame.y + frame.height * (at + 1) as f64 / (all.len() + 1) as f64
    };
    let route = |(number, chain): (usize, &Vec<usize>)| {
        let (from, to) = (lines[number].from, lines[number].to);
        let last = chain.len() - 1;
        let leaving = |other: usize| (lines[other].from == from).then(|| chains[other][1]);
        let entering = |other: usize| (lines[other].to == to).then(|| chains[other][chains[other].len() - 2]);
        let start = places[from].frame;
        let y = port(number, from, chain[1], &leaving);
        let mut points = vec![(start.x + start.width, y), (ends[places[from].layer], y)];
        for &place in &chain[1..last] {
            let frame = places[place].frame;
            points.extend([(frame.x, frame.y), (frame.x + frame.width, frame.y)]);
        }
        points.push((places[to].frame.x, port(number, to, chain[last - 1], &entering)));
        points
    };
    chains.iter().enumerate().map(route).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn overlap(a: &Frame, b: &Frame) -> bool {
        a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn boxes_lie_apart_and_lines_beside_them(
            widths in prop::collection::vec(20.0f64..300.0, 1..40),
            pairs in prop::collection::btree_set((0usize..40, 0usize..40), 0..80),
        ) {
            let pairs = pairs.into_iter().filter(|(from, to)| from < to && *to < widths.len());
            let lines: Vec<Line> = pairs.map(|(from, to)| Line { from, to, text_width: (from * 7) as f64 }).collect();
            let Layout { boxes, routes, width, height } = layout(&widths, &lines);
            prop_assert_eq!((boxes.len(), routes.len()), (widths.len(), lines.len()));
            for (at, a) in boxes.iter().enumerate() {
                prop_assert_eq!(a.width, widths[at]);
                prop_assert!(a.x >= MARGIN && a.y >= MARGIN && a.x + a.width <= width - MARGIN + 0.01, "{a:?}");
                prop_assert!(a.y + a.height <= height - MARGIN + 0.01, "{a:?} in {height}");
                prop_assert!(!boxes[at + 1..].iter().any(|b| overlap(a, b)), "{a:?} lies over another");
            }
            for (line, route) in lines.iter().zip(&routes) {
                let (from, to) = (boxes[line.from], boxes[line.to]);
                let (start, end) = (route[0], route[route.len() - 1]);
                prop_assert_eq!((start.0, end.0), (from.x + from.width, to.x));
                prop_assert!(from.y < start.1 && start.1 < from.y + from.height, "it begins at its box");
                prop_assert!(to.y < end.1 && end.1 < to.y + to.height, "it ends at its box");
                prop_assert!(route.windows(2).all(|pair| pair[0].0 <= pair[1].0), "from left to right: {route:?}");
                prop_assert!(end.0 - route[route.len() - 2].0 >= line.text_width, "room for what is written");
                // Where it passes a layer it is level, and there is no box; between layers there is none at all.
                for (at, pair) in route.windows(2).enumerate() {
                    let beside = at % 2 == 0;
                    prop_assert!(!beside || pair[0].1 == pair[1].1, "{route:?}");
                    let (y, height) = if beside { (pair[0].1, 0.0) } else { (0.0, height) };
                    let passed = Frame { x: pair[0].0, y, width: pair[1].0 - pair[0].0, height };
                    prop_assert!(!boxes.iter().any(|frame| overlap(frame, &passed)), "{passed:?}");
                }
            }
            // Lines that end at one box end apart.
            for (at, a) in routes.iter().enumerate() {
                let apart = |b: &Vec<(f64, f64)>| {
                    let (a, b) = (a[a.len() - 1], b[b.len() - 1]);
                    (a.0 - b.0).abs() > 0.01 || (a.1 - b.1).abs() >= PORT * 0.7
                };
                let same = |other: usize| lines[other].to == lines[at].to && other != at;
                prop_assert!((0..routes.len()).filter(|&other| same(other)).all(|other| apart(&routes[other])));
            }
        }
    }

    #[test]
    fn a_diamond_has_no_crossings_and_a_chain_is_straight() {
        let lines = |pairs: &[(usize, usize)]| -> Vec<Line> {
            pairs.iter().map(|&(from, to)| Line { from, to, text_width: 0.0 }).collect()
        };
        let chain = layout(&[50.0; 3], &lines(&[(0, 1), (1, 2)]));
        assert!(chain.routes.iter().flatten().all(|point| point.1 == MARGIN + HEIGHT / 2.0), "{chain:?}");
        // Recorded crosswise: 1 goes to 4, and 2 to 3.
        let diamond = layout(&[50.0; 6], &lines(&[(0, 1), (0, 2), (1, 4), (2, 3), (3, 5), (4, 5)]));
        let above = |a: usize, b: usize| diamond.boxes[a].y < diamond.boxes[b].y;
        assert_eq!(above(1, 2), above(4, 3), "{diamond:?}");
    }
}
