//! Graphs as SVG and DOT.

use std::collections::BTreeMap;

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

/// Attributes by name, as they are shown.
type Attributes = BTreeMap<String, String>;

/// Of each node: its attributes, `n0` first; of each edge: its ends and its attributes.
type Drawing = (Vec<Attributes>, Vec<(usize, usize, Attributes)>);

/// A word of DOT's: a name, quoted text, or a mark.
#[derive(Debug, PartialEq)]
enum Word {
    Name(String),
    Quoted(String),
    Mark(char),
    Arrow,
}

/// The words of DOT (<https://graphviz.org/doc/info/lang.html>), without what nobody writes here: comments, numbers, markup.
fn words(dot: &str) -> Vec<Word> {
    let (mut words, mut rest) = (Vec::new(), dot.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\n' => {}
            '"' => {
                // A quote behind a backslash is one; two backslashes are left to the label.
                let mut text = String::new();
                loop {
                    match (rest.next().expect("the text ends"), rest.peek()) {
                        ('"', _) => break,
                        ('\\', Some('"')) => text.extend(rest.next()),
                        ('\\', Some('\\')) => text.extend(['\\'].into_iter().chain(rest.next())),
                        (c, _) => text.push(c),
                    }
                }
                words.push(Word::Quoted(text));
            }
            '-' => {
                assert_eq!(rest.next(), Some('>'), "an arrow");
                words.push(Word::Arrow);
            }
            '{' | '}' | '[' | ']' | '=' | ',' | ';' => words.push(Word::Mark(c)),
            c if c.is_ascii_alphabetic() => {
                let mut name = String::from(c);
                while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric()) {
                    name.push(c);
                }
                words.push(Word::Name(name));
            }
            c => panic!("`{c}` in {dot}"),
        }
    }
    words
}

/// A label as Graphviz shows it: entities of XML first, then what backslashes say (<https://graphviz.org/docs/attr-types/escString/>).
fn shown(label: &str) -> String {
    assert!(!label.contains(|c: char| c.is_control()), "{label:?}");
    let label = ["lt <", "gt >", "quot \"", "#65 A", "amp &"].iter().fold(label.to_owned(), |label, entity| {
        let (name, is) = entity.split_once(' ').expect("a name and what it is");
        label.replace(&format!("&{name};"), is)
    });
    let (mut text, mut rest) = (String::new(), label.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('\\') => text.push('\\'),
                Some('n') => text.push('\n'),
                other => panic!("\\{other:?} is no text: {label}"),
            },
            c => text.push(c),
        }
    }
    text
}

/// Reads a drawing as any reader of DOT would.
fn drawing(dot: &str) -> Drawing {
    let mut words = words(dot).into_iter().peekable();
    assert_eq!([words.next(), words.next()], [Some(Word::Name("digraph".to_owned())), Some(Word::Mark('{'))]);
    let number = |word: Option<Word>| -> usize {
        let Some(Word::Name(name)) = word else { panic!("{word:?} is no node in {dot}") };
        name.strip_prefix('n').expect("a node").parse().expect("a number")
    };
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    while words.next_if_eq(&Word::Mark('}')).is_none() {
        if words.next_if_eq(&Word::Name("rankdir".to_owned())).is_some() {
            assert_eq!([words.next(), words.next()], [Some(Word::Mark('=')), Some(Word::Name("LR".to_owned()))]);
            assert_eq!(words.next(), Some(Word::Mark(';')));
            continue;
        }
        let from = number(words.next());
        let to = words.next_if_eq(&Word::Arrow).map(|_| number(words.next()));
        assert_eq!(words.next(), Some(Word::Mark('[')), "{dot}");
        let mut attributes = Attributes::new();
        loop {
            let Some(Word::Name(name)) = words.next() else { panic!("no name of an attribute in {dot}") };
            assert_eq!(words.next(), Some(Word::Mark('=')), "{dot}");
            let value = match words.next() {
                Some(Word::Name(value)) => value,
                Some(Word::Quoted(label)) => shown(&label),
                other => panic!("{other:?} is no value in {dot}"),
            };
            assert_eq!(attributes.insert(name, value), None, "{dot}");
            match words.next() {
                Some(Word::Mark(',')) => {}
                end => break assert_eq!(end, Some(Word::Mark(']')), "{dot}"),
            }
        }
        assert_eq!(words.next(), Some(Word::Mark(';')), "{dot}");
        match to {
            Some(to) => edges.push((from, to, attributes)),
            None => {
                assert_eq!(from, nodes.len(), "nodes in their order: {dot}");
                nodes.push(attributes);
            }
        }
    }
    assert_eq!(words.next(), None, "{dot}");
    (nodes, edges)
}

/// Names, and what is shown of them.
const NAMES: [(&str, &str); 16] = [
    ("plain", "plain"),
    ("\"", "\""),
    ("\\", "\\"),
    ("\\\"", "\\\""),
    ("at its end \\", "at its end \\"),
    ("two\nlines", "two\nlines"),
    ("no line\\n, \\N, \\G, \\l", "no line\\n, \\N, \\G, \\l"),
    ("\\\n", "\\\n"),
    ("<b>no markup</b>", "<b>no markup</b>"),
    ("n0 -> n1;", "n0 -> n1;"),
    ("\"]; n7 [label=\"", "\"]; n7 [label=\""),
    ("} // # /* no comment", "} // # /* no comment"),
    ("&lt;&amp;lt;&#65;&", "&lt;&amp;lt;&#65;&"),
    ("ü \u{4e2d}\u{6587} \u{1f980} e\u{301}", "ü \u{4e2d}\u{6587} \u{1f980} e\u{301}"),
    ("a\tb\r", "a b "),
    ("nul \0, bell \u{7}", "nul \u{fffd}, bell \u{fffd}"),
];

/// Each name is a node's and a memory's.
#[test]
fn dot_reads_back_whatever_names_are() {
    let gpu = gpu();
    for (name, shown) in NAMES {
        let mut graph = gpu.graph();
        let memory = graph.transient::<u32>(name, 4).expect("memory");
        graph.fill(memory.write(), 1).expect("a node");
        graph.host(name, args![memory.read()], |_| Ok(())).expect("a node");
        let dot = graph.build().expect("a graph").to_dot();
        let (nodes, edges) = drawing(&dot);
        let of = |list: &[(&str, &str)]| -> Attributes {
            list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let wanted = [of(&[("shape", "box"), ("label", "fill")]), of(&[("shape", "ellipse"), ("label", shown)])];
        assert_eq!(nodes, wanted, "{name:?}: {dot}");
        assert_eq!(edges, [(0, 1, of(&[("label", shown)]))], "{name:?}: {dot}");
    }
}

/// An edge for memory without a name is no order that was asked for.
#[test]
fn memory_without_a_name_is_called_by_its_number() {
    let gpu = gpu();
    let mut graph = gpu.graph();
    let [_, memory] = ["", ""].map(|name| graph.transient::<u32>(name, 4).expect("memory"));
    graph.fill(memory.write(), 1).expect("a node");
    let first = graph.host("", args![memory.read()], |_| Ok(())).expect("a node");
    let second = graph.host("", args![], |_| Ok(())).expect("a node");
    graph.order(first, second).expect("nodes of the graph");
    let (nodes, edges) = drawing(&graph.build().expect("a graph").to_dot());
    assert_eq!(nodes.iter().map(|node| node["label"].as_str()).collect::<Vec<_>>(), ["fill", "", ""]);
    let attribute = |name: &str, value: &str| Attributes::from([(name.to_owned(), value.to_owned())]);
    assert_eq!(edges, [(0, 1, attribute("label", "memory 1")), (1, 2, attribute("style", "dashed"))]);
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
    let of_dot: Vec<_> = drawing(&graph.to_dot()).1.into_iter().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(ends, of_dot);
    assert_eq!(ends.len(), 61);
}
