//! Graphs as SVG and DOT.

use super::*;

/// Of each box: its number, its title and where it is; of each edge: its ends and its title.
type Picture = (Vec<(usize, String, [f64; 4])>, Vec<(usize, usize, String)>);

/// Reads a picture as any reader of XML would.
fn picture(svg: &str) -> Picture {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let number = |node: roxmltree::Node<'_, '_>, name: &str| -> f64 {
        node.attribute(name).expect(name).parse().expect("a number")
    };
    let child = |node: roxmltree::Node<'_, '_>, name: &str| -> String {
        let child = node.children().find(|child| child.has_tag_name(name)).expect(name);
        child.text().expect("text").to_owned()
    };
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for group in document.root_element().children().filter(|node| node.has_tag_name("g")) {
        let group = |class: &str| (group.attribute("class") == Some(class)).then_some(group);
        if let Some(node) = group("node") {
            let frame = node.children().find(|child| child.has_tag_name("rect")).expect("a box");
            let frame = ["x", "y", "width", "height"].map(|name| number(frame, name));
            nodes.push((number(node, "data-node") as usize, child(node, "title"), frame));
        } else {
            let edge = group("edge").expect("nodes and edges");
            edges.push((number(edge, "data-from") as usize, number(edge, "data-to") as usize, child(edge, "title")));
        }
    }
    let root = document.root_element();
    let [width, height] = ["width", "height"].map(|name| number(root, name));
    for (at, (_, title, a)) in nodes.iter().enumerate() {
        assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[0] + a[2] <= width && a[1] + a[3] <= height, "{title} is inside");
        for (_, other, b) in &nodes[at + 1..] {
            let apart = a[0] + a[2] <= b[0] || b[0] + b[2] <= a[0] || a[1] + a[3] <= b[1] || b[1] + b[3] <= a[1];
            assert!(apart, "{title} lies over {other}");
        }
    }
    (nodes, edges)
}

/// What DOT says of the same graph, in the same order.
fn edges_of_dot(dot: &str) -> Vec<(usize, usize)> {
    let edge = |line: &str| {
        let (from, rest) = line.trim().strip_prefix('n')?.split_once(" -> n")?;
        Some((from.parse().expect("a number"), rest.split_once(' ')?.0.parse().expect("a number")))
    };
    dot.lines().filter_map(edge).collect()
}

#[test]
fn a_picture_has_all_nodes_and_edges_and_no_box_over_another() {
    let gpu = gpu();
    let kernels = Kernels::new(&gpu);
    let mut x = gpu.buffer_from(&[1u32, 2, 3, 4]).expect("a buffer");
    // One node.
    let mut graph = gpu.graph();
    graph.fill(&mut x, 1).expect("a node");
    let (nodes, edges) = picture(&graph.build().expect("a graph").to_svg());
    assert_eq!((nodes.len(), nodes[0].1.as_str(), edges.len()), (1, "fill", 0));
    // No node at all.
    assert_eq!(picture(&gpu.graph().build().expect("a graph").to_svg()), (vec![], vec![]));
    // Names that XML and people have trouble with.
    let long = "a name that is far too long for any box, and ends at last";
    let hostile = "</title><script>&\"'\u{1}\u{ffff}\nü\u{4e2d}\u{6587}";
    let mut graph = gpu.graph();
    let t = graph.transient::<u32>("<a & \"b\">", 4).expect("memory");
    graph.fill(t.write(), 1).expect("a node");
    let first = graph.host(hostile, args![t.read()], |_| Ok(())).expect("a node");
    let second = graph.host(long, args![], |_| Ok(())).expect("a node");
    graph.order(first, second).expect("nodes of the graph");
    let graph = graph.build().expect("a graph");
    let (nodes, edges) = picture(&graph.to_svg());
    let titles: Vec<&str> = nodes.iter().map(|(_, title, _)| title.as_str()).collect();
    let shown = "</title><script>&\"'\u{fffd}\u{fffd} ü\u{4e2d}\u{6587}";
    assert_eq!(titles, ["fill", shown, long]);
    let expected =
        [(0, 1, format!("fill to {shown}: <a & \"b\">")), (1, 2, format!("{shown} to {long}: in this order"))];
    assert_eq!(edges, expected);
    assert!(nodes[2].2[2] < 300.0, "a long name is cut");
    // Many: sixteen chains that are joined two by two.
    let mut graph = gpu.graph();
    let mut row: Vec<Transient<u32>> = Vec::new();
    for _ in 0..16 {
        let [a, b] = ["a", "b"].map(|name| graph.transient::<u32>(name, 4).expect("memory"));
        graph.launch(&kernels.put, Grid::linear(4), args![a.write(), &x, 1u32]).expect("a node");
        graph.launch(&kernels.put, Grid::linear(4), args![b.write(), a.read(), 1u32]).expect("a node");
        row.push(b);
    }
    while row.len() > 1 {
        row = row
            .chunks(2)
            .map(|pair| {
                let sum = graph.transient::<u32>("sum", 4).expect("memory");
                graph.copy(pair[0].read(), sum.write()).expect("a node");
                graph.launch(&kernels.mix, Grid::linear(4), args![sum.update(), pair[1].read(), 1u32]).expect("a node");
                sum
            })
            .collect();
    }
    let graph = graph.build().expect("a graph");
    let (nodes, edges) = picture(&graph.to_svg());
    assert_eq!(nodes.len(), 62);
    assert_eq!(nodes.iter().map(|(number, ..)| *number).collect::<Vec<_>>(), (0..62).collect::<Vec<_>>());
    let ends: Vec<(usize, usize)> = edges.iter().map(|(from, to, _)| (*from, *to)).collect();
    assert_eq!(ends, edges_of_dot(&graph.to_dot()));
    assert_eq!(ends.len(), 61);
}
