//! The order in which a graph's nodes may run, found from what they read and write; knows nothing of Metal.
//!
//! Nodes are recorded in an order, and what they do must be what they would do one after the other in it. An edge leads from a node to
//! a later one that must wait for it: for what it writes, or until it has read what the later one overwrites. Edges of the user's may be
//! added; they may contradict the others, which is a cycle. Where a node only writes what an earlier one wrote, nothing but the recording says
//! which of the two shall be seen: they conflict, unless edges lead from the first to the second.
//!
//! Nodes of the host divide the device's nodes into *waves*: a wave is handed to the device together, and runs before the host's
//! nodes of the same number that need it. Within a wave nodes of one *level* have no edges among them.
//!
//! Transient memory is placed so that two pieces overlap only where every user of one runs before every user of the other.

use std::ops::Range;

/// What one node does with a range of one memory, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// Number of the memory.
    pub(super) memory: usize,
    pub(super) range: Range<usize>,
    /// What was there before matters.
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// What is to be planned.
pub(super) struct Work<'a> {
    /// By node, in the order of recording.
    pub(super) nodes: Vec<Item<'a>>,
    /// The user's edges.
    pub(super) explicit: &'a [(usize, usize)],
    pub(super) memory: Vec<Kind>,
}

pub(super) struct Item<'a> {
    pub(super) accesses: &'a [Access],
    pub(super) host: bool,
}

/// What a memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The user's: it holds something before and after.
    Lasting,
    /// The graph's, which holds nothing before its first write, but lies by itself.
    Own,
    /// The same, of so many bytes, that may overlap others.
    Placed(usize),
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Each node must wait for the one before it, and the first for the last.
    Cycle(Vec<usize>),
    /// Both nodes write these bytes of this memory, the second whatever was there, and no edges lead from the first to it.
    Overwritten { first: usize, second: usize, memory: usize, bytes: Range<usize> },
    /// The node reads what nobody wrote.
    Unwritten { node: usize, memory: usize },
    /// The node uses the same bytes twice and writes them.
    Aliased { node: usize, memory: usize },
}

/// Why a node waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// For what it does with this memory.
    Memory(usize),
    /// The user said so.
    Explicit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) why: Why,
}

/// When each node runs, and where transient memory lies.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) edges: Vec<Edge>,
    /// All nodes: by wave; the device's by level, then the host's; then as recorded.
    pub(super) order: Vec<usize>,
    /// By node.
    pub(super) waves: Vec<usize>,
    /// By node: the user has it run after one of the device's of the same wave.
    pub(super) asked: Vec<bool>,
    /// Waves where the user has one of the device's run after one of the device's of an earlier wave.
    pub(super) behind: Vec<usize>,
    /// By memory: where transient memory begins.
    pub(super) offsets: Vec<usize>,
    /// Bytes that all transient memory takes.
    pub(super) bytes: usize,
}

/// Transient memory begins at multiples of this: more than any type asks for.
const ALIGNMENT: usize = 256;

pub(super) fn plan(work: &Work<'_>) -> Result<Plan, Fault> {
    let (mut edges, doubts) = edges_of_memory(work)?;
    edges.extend(work.explicit.iter().map(|&(from, to)| Edge { from, to, why: Why::Explicit }));
    let sorted = sorted(work.nodes.len(), &edges)?;
    let reach = Reach::of(&sorted, &edges);
    if let Some(Doubt { first, second, memory, bytes }) =
        doubts.into_iter().find(|doubt| !reach.leads(doubt.first, doubt.second))
    {
        return Err(Fault::Overwritten { first, second, memory, bytes });
    }
    let (waves, levels) = waves(work, &sorted, &edges);
    let mut order = sorted;
    order.sort_by_key(|&node| (waves[node], work.nodes[node].host, levels[node], node));
    let (offsets, bytes) = place(work, &reach);
    let mut asked = vec![false; work.nodes.len()];
    let mut behind = Vec::new();
    // A step of the host's runs when what it waits for is done, and what waits for it is submitted then.
    let device = |node: usize| !work.nodes[node].host;
    for &(from, to) in work.explicit.iter().filter(|(from, to)| device(*from) && device(*to)) {
        if waves[from] == waves[to] {
            asked[to] = true;
        } else {
            behind.push(waves[to]);
        }
    }
    Ok(Plan { edges, order, waves, asked, behind, offsets, bytes })
}

impl Plan {
    /// Whether there is a longer way from one node to another that an edge leads to.
    pub(super) fn follows_from_others(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.waves.len()];
        let next = |node: usize| self.edges.iter().filter(move |edge| edge.from == node).map(|edge| edge.to);
        let mut open: Vec<usize> = next(from).filter(|&node| node != to).collect();
        while let Some(node) = open.pop() {
            if node == to {
                return true;
            }
            if !std::mem::replace(&mut seen[node], true) {
                open.extend(next(node));
            }
        }
        false
    }
}

/// An access that later ones may have to wait for.
struct Earlier {
    node: usize,
    range: Range<usize>,
    writes: bool,
}

/// A node that overwrites what another wrote: something else must say that the first is to run before.
struct Doubt {
    first: usize,
    second: usize,
    memory: usize,
    bytes: Range<usize>,
}

/// The edges that memory asks for.
fn edges_of_memory(work: &Work<'_>) -> Result<(Vec<Edge>, Vec<Doubt>), Fault> {
    let (mut edges, mut doubts) = (Vec::new(), Vec::new());
    let mut known: Vec<Vec<Earlier>> = work.memory.iter().map(|_| Vec::new()).collect();
    let mut written: Vec<Vec<Range<usize>>> = vec![Vec::new(); work.memory.len()];
    for (node, item) in work.nodes.iter().enumerate() {
        for (at, access) in item.accesses.iter().enumerate() {
            let memory = access.memory;
            let aliased = |other: &Access| {
                other.memory == memory && overlap(&other.range, &access.range) && (other.writes || access.writes)
            };
            if item.accesses[..at].iter().any(aliased) {
                return Err(Fault::Aliased { node, memory });
            }
            let transient = work.memory[memory] != Kind::Lasting;
            if access.reads && transient && !covers(&written[memory], &access.range) {
                return Err(Fault::Unwritten { node, memory });
            }
            let mut waits_for = Vec::new();
            for earlier in known[memory].iter().filter(|earlier| overlap(&earlier.range, &access.range)) {
                match (earlier.writes, access.reads, access.writes) {
                    (true, false, true) => doubts.push(Doubt {
                        first: earlier.node,
                        second: node,
                        memory,
                        bytes: earlier.range.start.max(access.range.start)..earlier.range.end.min(access.range.end),
                    }),
                    (true, true, _) | (false, _, true) => waits_for.push(earlier.node),
                    (_, _, false) => {}
                }
            }
            waits_for.dedup();
            edges.extend(waits_for.into_iter().map(|from| Edge { from, to: node, why: Why::Memory(memory) }));
            if access.writes {
                // Whoever has to wait for these has to wait for this node, which waits for them.
                known[memory].retain(|earlier| !within(&earlier.range, &access.range));
                if transient {
                    add(&mut written[memory], &access.range);
                }
            }
            known[memory].push(Earlier { node, range: access.range.clone(), writes: access.writes });
        }
    }
    Ok((edges, doubts))
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn within(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Whether one of disjoint, not adjacent ranges holds it.
fn covers(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    ranges.iter().any(|held| within(range, held))
}

/// Joins it with those that it touches.
fn add(ranges: &mut Vec<Range<usize>>, range: &Range<usize>) {
    let mut joined = range.clone();
    ranges.retain(|held| {
        let touches = held.start <= joined.end && joined.start <= held.end;
        if touches {
            joined = held.start.min(joined.start)..held.end.max(joined.end);
        }
        !touches
    });
    ranges.push(joined);
}

/// The nodes so that no edge leads back, in the order of recording as far as that goes.
fn sorted(count: usize, edges: &[Edge]) -> Result<Vec<usize>, Fault> {
    let mut next = vec![Vec::new(); count];
    let mut open = vec![0usize; count];
    for edge in edges {
        next[edge.from].push(edge.to);
        open[edge.to] += 1;
    }
    let mut ready: std::collections::BTreeSet<usize> = (0..count).filter(|&node| open[node] == 0).collect();
    let mut sorted = Vec::with_capacity(count);
    while let Some(node) = ready.pop_first() {
        sorted.push(node);
        for &to in &next[node] {
            open[to] -= 1;
            if open[to] == 0 {
                ready.insert(to);
            }
        }
    }
    if sorted.len() == count {
        return Ok(sorted);
    }
    Err(Fault::Cycle(cycle(edges, &open)))
}

/// A cycle among the nodes that wait for some other of them.
fn cycle(edges: &[Edge], open: &[usize]) -> Vec<usize> {
    // Each of them waits for another: whoever goes back from one to the next comes by some node twice.
    let waits_for =
        |node: usize| edges.iter().find(|edge| edge.to == node && open[edge.from] > 0).map(|edge| edge.from);
    let mut path: Vec<usize> = Vec::new();
    let mut node = open.iter().position(|&open| open > 0);
    while let Some(at) = node {
        if let Some(again) = path.iter().position(|&known| known == at) {
            path.drain(..again);
            break;
        }
        path.push(at);
        node = waits_for(at);
    }
    path.reverse();
    path
}

/// Which nodes paths lead to.
struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    fn of(sorted: &[usize], edges: &[Edge]) -> Reach {
        let words = sorted.len().div_ceil(64);
        let mut reach = Reach { words, bits: vec![0; words * sorted.len()] };
        let mut next = vec![Vec::new(); sorted.len()];
        for edge in edges {
            next[edge.from].push(edge.to);
        }
        for &node in sorted.iter().rev() {
            for &to in &next[node] {
                reach.bits[node * words + to / 64] |= 1 << (to % 64);
                for word in 0..words {
                    reach.bits[node * words + word] |= reach.bits[to * words + word];
                }
            }
        }
        reach
    }

    fn leads(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 != 0
    }
}

/// By node, its wave and its level: the longest path to it from the beginning of its wave.
fn waves(work: &Work<'_>, sorted: &[usize], edges: &[Edge]) -> (Vec<usize>, Vec<usize>) {
    let host = |node: usize| work.nodes[node].host;
    let mut before = vec![Vec::new(); work.nodes.len()];
    for edge in edges {
        before[edge.to].push(edge.from);
    }
    let (mut waves, mut levels) = (vec![0; work.nodes.len()], vec![0; work.nodes.len()]);
    for &node in sorted {
        // The device is given a wave before the host's nodes of that wave run.
        let wave = |&from: &usize| waves[from] + usize::from(host(from) && !host(node));
        let wave = before[node].iter().map(wave).max().unwrap_or(0);
        let level = |&&from: &&usize| waves[from] == wave && host(from) == host(node);
        let level = before[node].iter().filter(level).map(|&from| levels[from] + 1).max().unwrap_or(0);
        (waves[node], levels[node]) = (wave, level);
    }
    (waves, levels)
}

/// Where transient memory lies: the largest first, each as low as those allow that may be in use with it.
fn place(work: &Work<'_>, reach: &Reach) -> (Vec<usize>, usize) {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); work.memory.len()];
    for (node, item) in work.nodes.iter().enumerate() {
        for access in item.accesses {
            users[access.memory].push(node);
        }
    }
    let before = |a: &[usize], b: &[usize]| a.iter().all(|&from| b.iter().all(|&to| reach.leads(from, to)));
    let apart = |a: usize, b: usize| before(&users[a], &users[b]) || before(&users[b], &users[a]);
    let mut pieces: Vec<(usize, usize)> = work.memory.iter().enumerate().filter_map(placed_bytes).collect();
    pieces.sort_by_key(|&(memory, bytes)| (std::cmp::Reverse(bytes), memory));
    let (mut offsets, mut end) = (vec![0; work.memory.len()], 0);
    let mut placed: Vec<(usize, Range<usize>)> = Vec::new();
    for (memory, bytes) in pieces {
        let mut taken: Vec<&Range<usize>> =
            placed.iter().filter(|(other, _)| !apart(memory, *other)).map(|(_, range)| range).collect();
        taken.sort_by_key(|range| range.start);
        let mut offset = 0usize;
        for range in taken {
            if offset + bytes <= range.start {
                break;
            }
            offset = offset.max(range.end.next_multiple_of(ALIGNMENT));
        }
        offsets[memory] = offset;
        end = end.max(offset + bytes);
        placed.push((memory, offset..offset + bytes));
    }
    (offsets, end)
}

fn placed_bytes((memory, kind): (usize, &Kind)) -> Option<(usize, usize)> {
    match kind {
        Kind::Lasting | Kind::Own => None,
        Kind::Placed(bytes) => Some((memory, *bytes)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn access(memory: usize, range: Range<usize>, how: &str) -> Access {
        Access { memory, range, reads: how != "write", writes: how != "read" }
    }

    fn planned(
        nodes: &[Vec<Access>],
        hosts: &[usize],
        explicit: &[(usize, usize)],
        memory: &[Kind],
    ) -> Result<Plan, Fault> {
        let item = |(node, accesses): (usize, &'_ Vec<Access>)| (hosts.contains(&node), accesses.clone());
        let items: Vec<(bool, Vec<Access>)> = nodes.iter().enumerate().map(item).collect();
        let nodes = items.iter().map(|(host, accesses)| Item { accesses, host: *host }).collect();
        plan(&Work { nodes, explicit, memory: memory.to_vec() })
    }

    fn edges(plan: &Plan) -> Vec<(usize, usize)> {
        let mut edges: Vec<(usize, usize)> = plan.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    #[test]
    fn edges_follow_from_what_is_read_and_written() {
        let a = |range, how| access(0, range, how);
        for (name, nodes, expected) in [
            ("readers need not wait for each other", vec![a(0..4, "read"), a(0..4, "read")], vec![]),
            ("a reader waits for the writer", vec![a(0..4, "write"), a(0..4, "read")], vec![(0, 1)]),
            (
                "a writer waits for readers",
                vec![a(0..4, "read"), a(0..4, "read"), a(0..4, "write")],
                vec![(0, 2), (1, 2)],
            ),
            ("apart", vec![a(0..4, "update"), a(4..8, "update")], vec![]),
            ("one byte in common", vec![a(0..5, "update"), a(4..8, "update")], vec![(0, 1)]),
            ("by way of another", vec![a(0..4, "write"), a(0..4, "update"), a(0..4, "read")], vec![(0, 1), (1, 2)]),
            (
                "a part that goes on with what is there",
                vec![a(0..8, "write"), a(0..4, "update"), a(0..8, "read")],
                vec![(0, 1), (0, 2), (1, 2)],
            ),
        ] {
            let nodes: Vec<Vec<Access>> = nodes.into_iter().map(|access| vec![access]).collect();
            let plan = planned(&nodes, &[], &[], &[Kind::Lasting]).expect(name);
            assert_eq!(edges(&plan), expected, "{name}");
        }
    }

    /// Nodes 0, 2 and 4 are the device's; 2 and 4 come after a step of the host's, 1 or 3.
    #[test]
    fn orders_of_the_device_are_within_a_wave_or_between_two() {
        let memory = |number| vec![access(number, 0..4, "update")];
        let nodes = [memory(0), memory(1), memory(1), memory(2), memory(2)];
        for (explicit, asked, behind) in [
            (vec![], vec![], vec![]),
            (vec![(2, 4)], vec![4], vec![]),
            (vec![(0, 2)], vec![], vec![1]),
            (vec![(0, 4), (2, 4)], vec![4], vec![1]),
            // What is ordered with a step of the host's is waited for.
            (vec![(0, 1), (1, 4), (0, 3)], vec![], vec![]),
        ] {
            let plan = planned(&nodes, &[1, 3], &explicit, &[Kind::Lasting; 3]).expect("an order");
            assert_eq!(plan.waves, [0, 0, 1, 0, 1], "{explicit:?}");
            let marked: Vec<usize> = (0..nodes.len()).filter(|node| plan.asked[*node]).collect();
            assert_eq!((marked, plan.behind), (asked, behind), "{explicit:?}");
        }
    }

    #[test]
    fn what_has_no_order_is_refused() {
        let t = |how| vec![access(0, 0..4, how)];
        let twice = vec![access(0, 0..4, "read"), access(0, 3..8, "write")];
        let kinds = |kind| [kind, Kind::Lasting];
        for (name, nodes, explicit, kind, expected) in [
            (
                "an edge against the data",
                vec![t("write"), t("read")],
                vec![(1, 0)],
                Kind::Own,
                Fault::Cycle(vec![1, 0]),
            ),
            ("a node after itself", vec![t("write")], vec![(0, 0)], Kind::Own, Fault::Cycle(vec![0])),
            ("nobody wrote it", vec![t("read")], vec![], Kind::Own, Fault::Unwritten { node: 0, memory: 0 }),
            (
                "nobody wrote it, placed",
                vec![t("update")],
                vec![],
                Kind::Placed(4),
                Fault::Unwritten { node: 0, memory: 0 },
            ),
            ("the same bytes twice", vec![twice], vec![], Kind::Lasting, Fault::Aliased { node: 0, memory: 0 }),
        ] {
            assert_eq!(planned(&nodes, &[], &explicit, &kinds(kind)).unwrap_err(), expected, "{name}");
        }
    }

    /// Nodes on one memory, orders of the user's, and the bytes that two nodes conflict about.
    #[test]
    fn two_that_write_the_same_bytes_need_an_order() {
        let a = |range, how| access(0, range, how);
        type Case = (&'static str, Vec<Access>, Vec<(usize, usize)>, Option<(usize, usize, Range<usize>)>);
        let cases: Vec<Case> = vec![
            ("all of it", vec![a(0..4, "write"), a(0..4, "write")], vec![], Some((0, 1, 0..4))),
            ("and the user says which is first", vec![a(0..4, "write"), a(0..4, "write")], vec![(0, 1)], None),
            ("or that the second is", vec![a(0..4, "write"), a(0..4, "write")], vec![(1, 0)], Some((0, 1, 0..4))),
            ("more than the first", vec![a(2..4, "write"), a(0..8, "write")], vec![], Some((0, 1, 2..4))),
            ("a part of it", vec![a(0..8, "write"), a(2..4, "write")], vec![], Some((0, 1, 2..4))),
            ("one byte", vec![a(0..5, "write"), a(4..8, "write")], vec![], Some((0, 1, 4..5))),
            ("side by side", vec![a(0..4, "write"), a(4..8, "write")], vec![], None),
            ("the first updates", vec![a(0..8, "update"), a(4..8, "write")], vec![], Some((0, 1, 4..8))),
            ("the second updates", vec![a(0..8, "write"), a(4..8, "update")], vec![], None),
            ("both update", vec![a(0..8, "update"), a(4..8, "update")], vec![], None),
            ("read in between", vec![a(0..4, "write"), a(0..4, "read"), a(0..4, "write")], vec![], None),
            ("read in part", vec![a(0..4, "write"), a(0..1, "read"), a(0..4, "write")], vec![], None),
            (
                "read where the second does not write",
                vec![a(0..8, "write"), a(0..4, "read"), a(4..8, "write")],
                vec![],
                Some((0, 2, 4..8)),
            ),
            (
                "and the second comes after that reader",
                vec![a(0..8, "write"), a(0..4, "read"), a(4..8, "write")],
                vec![(1, 2)],
                None,
            ),
            ("read too late", vec![a(0..4, "write"), a(0..4, "write"), a(0..4, "read")], vec![], Some((0, 1, 0..4))),
            ("of three, two", vec![a(0..4, "write"); 3], vec![(0, 1)], Some((1, 2, 0..4))),
            ("of three, each", vec![a(0..4, "write"); 3], vec![(0, 1), (1, 2)], None),
            ("of three, the ends", vec![a(0..4, "write"); 3], vec![(0, 2)], Some((0, 1, 0..4))),
            (
                "parts of what was cleared",
                vec![a(0..8, "write"), a(0..4, "write"), a(4..8, "write")],
                vec![(0, 1)],
                Some((0, 2, 4..8)),
            ),
        ];
        for (name, accesses, explicit, conflict) in cases {
            let nodes: Vec<Vec<Access>> = accesses.into_iter().map(|access| vec![access]).collect();
            let outcome = planned(&nodes, &[], &explicit, &[Kind::Lasting]).map(drop);
            let conflict =
                conflict.map(|(first, second, bytes)| Fault::Overwritten { first, second, memory: 0, bytes });
            assert_eq!(outcome, conflict.map_or(Ok(()), Err), "{name}");
        }
    }

    #[test]
    fn the_host_divides_the_device_s_nodes() {
        let chain = |memory| vec![access(memory, 0..4, "update")];
        let nodes = [chain(0), chain(1), chain(0), chain(0), chain(1)];
        let plan = planned(&nodes, &[2], &[], &[Kind::Lasting, Kind::Lasting]).expect("a plan");
        assert_eq!(plan.waves, [0, 0, 0, 1, 0]);
        assert_eq!(plan.order, [0, 1, 4, 2, 3]);
    }

    #[test]
    fn transient_memory_is_shared_where_its_users_follow_each_other() {
        // a -> b -> c -> d, each by 1000 bytes of its own, and one that lives all the time.
        let step = |from: usize, to: usize| vec![access(from, 0..1000, "read"), access(to, 0..1000, "write")];
        let nodes = [
            vec![access(0, 0..1000, "write"), access(4, 0..10, "write")],
            step(0, 1),
            step(1, 2),
            step(2, 3),
            vec![access(3, 0..1000, "read"), access(4, 0..10, "read")],
        ];
        let kinds = [1000, 1000, 1000, 1000, 10].map(Kind::Placed);
        let plan = planned(&nodes, &[], &[], &kinds).expect("a plan");
        assert_eq!(plan.offsets, [0, 1024, 0, 1024, 2048]);
        assert_eq!(plan.bytes, 2058);
    }

    /// Nodes over two lasting and three transient memories of 8 bytes; what is not possible is left out.
    fn program() -> impl Strategy<Value = Vec<Vec<Access>>> {
        let access = (0usize..5, 0usize..8, 1usize..8, 0usize..3).prop_map(|(memory, start, len, how)| {
            access(memory, start..(start + len).min(8), ["read", "write", "update"][how])
        });
        prop::collection::vec(prop::collection::vec(access, 1..4), 1..24)
    }

    const KINDS: [Kind; 5] = [Kind::Lasting, Kind::Lasting, Kind::Placed(8), Kind::Placed(8), Kind::Placed(8)];

    /// Runs the nodes in an order; a node writes what depends on itself and on all that it reads. Gives what the lasting memories hold.
    fn run(nodes: &[Vec<Access>], order: &[usize], place: impl Fn(usize) -> usize, bytes: usize) -> Vec<u64> {
        let mut held: Vec<u64> = (0..bytes as u64).collect();
        for &node in order {
            let mut sum = node as u64 + 1;
            let cells = |access: &Access| {
                let memory = access.memory;
                access.range.clone().map(move |at| (memory, at))
            };
            for (memory, at) in nodes[node].iter().filter(|access| access.reads).flat_map(cells) {
                sum = sum.wrapping_mul(0x0100_0000_01B3) ^ held[place(memory) + at];
            }
            for (memory, at) in nodes[node].iter().filter(|access| access.writes).flat_map(cells) {
                held[place(memory) + at] = sum.wrapping_add(at as u64);
            }
        }
        (0..2).flat_map(|memory| held[place(memory)..][..8].to_vec()).collect()
    }

    /// Two nodes of which the second only writes what the first wrote, and nothing that reads, and nothing that the user said, leads from one to the
    /// other: found byte by byte and by all paths.
    fn conflict(nodes: &[Vec<Access>], explicit: &[(usize, usize)]) -> Option<(usize, usize)> {
        let does = |node: usize, memory: usize, at: usize| {
            let of = |access: &&Access| access.memory == memory && access.range.contains(&at);
            let found = || nodes[node].iter().filter(of);
            (found().any(|access| access.reads), found().any(|access| access.writes))
        };
        let cells = || (0..KINDS.len()).flat_map(|memory| (0..8).map(move |at| (memory, at)));
        let count = nodes.len();
        let mut leads = vec![vec![false; count]; count];
        explicit.iter().for_each(|&(from, to)| leads[from][to] = true);
        let (mut pairs, forward) = (Vec::new(), || (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))));
        for (a, b) in forward() {
            for (memory, at) in cells() {
                match (does(a, memory, at), does(b, memory, at)) {
                    ((_, true), (false, true)) => pairs.push((a, b)),
                    ((_, true), (true, _)) | ((true, false), (_, true)) => leads[a][b] = true,
                    _ => {}
                }
            }
        }
        for (by, a) in (0..count).flat_map(|by| (0..count).map(move |a| (by, a))) {
            for b in 0..count {
                leads[a][b] |= leads[a][by] && leads[by][b];
            }
        }
        pairs.into_iter().find(|&(a, b)| !leads[a][b])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]
        /// In whatever order the edges allow, and with transient memory where it was placed.
        #[test]
        fn any_order_of_the_plan_does_what_the_recorded_one_does(
            program in program(), explicit in prop::collection::vec((0usize..24, 0usize..24), 0..3),
            hosts in prop::collection::vec(0usize..24, 0..3), choices in prop::collection::vec(any::<usize>(), 24), orders in any::<bool>(),
        ) {
            // What the planner refuses is ordered or taken out, one after the other; what is left has a plan.
            let (mut nodes, mut explicit) = (program, explicit);
            let plan = loop {
                explicit.retain(|(a, b)| a < b && *b < nodes.len());
                let outcome = planned(&nodes, &hosts, &explicit, &KINDS);
                let conflict = conflict(&nodes, &explicit);
                match outcome {
                    Ok(plan) => {
                        prop_assert!(conflict.is_none(), "{:?}", conflict);
                        break plan;
                    }
                    Err(Fault::Overwritten { first, second, .. }) => {
                        prop_assert!(conflict.is_some(), "{first} and {second} have an order");
                        if orders {
                            explicit.push((first, second));
                        } else {
                            nodes.remove(second);
                        }
                    }
                    Err(Fault::Unwritten { node, .. } | Fault::Aliased { node, .. }) => {
                        nodes.remove(node);
                    }
                    Err(Fault::Cycle(_)) => prop_assert!(false, "edges that lead forward make no cycle"),
                }
            };
            let recorded: Vec<usize> = (0..nodes.len()).collect();
            let expected = run(&nodes, &recorded, |memory| memory * 8, 40);
            let place = |memory: usize| if memory < 2 { memory * 8 } else { 16 + plan.offsets[memory] };
            prop_assert_eq!(&run(&nodes, &plan.order, place, 16 + plan.bytes), &expected, "the plan's own order");
            // Any other order that the edges allow.
            let (mut order, mut left) = (Vec::new(), recorded);
            while !left.is_empty() {
                let free = |&&node: &&usize| !plan.edges.iter().any(|edge| edge.to == node && left.contains(&edge.from));
                let free: Vec<usize> = left.iter().filter(free).copied().collect();
                let node = free[choices[order.len() % choices.len()] % free.len()];
                left.retain(|&other| other != node);
                order.push(node);
            }
            prop_assert_eq!(run(&nodes, &order, place, 16 + plan.bytes), expected, "order {:?}", order);
        }
    }
}
