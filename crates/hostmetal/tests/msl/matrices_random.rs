//! Random kernels with matrices of SIMD-groups on both engines, against an interpreter.
//!
//! Each SIMD-group has a part of device memory and one of threadgroup memory. Its lanes wait for each other where one could load what another stores, and
//! the threadgroup waits where a SIMD-group loads from another's part. What decides is the same in all lanes. All elements are whole numbers, and the
//! sum of the magnitudes of an element's terms is exact in its type, so that no order of additions gives other bits: a statement is executed by all
//! threadgroups as soon as it is made, and dropped when it leaves this range. `HOSTMETAL_SEEDS` says how many kernels are tried, 12 when it is not set,
//! and `HOSTMETAL_FIRST_SEED` with which to begin.

use crate::stdlib::*;
use crate::support::{Buffer, Queue};
use hostmetal::msl::Engine;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Types of elements, and the magnitude below which all whole numbers are exact.
const KINDS: [(&str, i64); 3] = [("float", 1 << 24), ("half", 1 << 11), ("bfloat", 1 << 8)];
/// Statements of a program, those of a block counted as one.
const LENGTH: usize = 8;
const GIVEN: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];
/// Threadgroups and their sizes.
const SHAPES: [[[u64; 3]; 2]; 4] =
    [[[2, 1, 1], [96, 1, 1]], [[1, 2, 1], [16, 8, 1]], [[3, 1, 1], [32, 1, 1]], [[2, 1, 1], [8, 4, 2]]];

/// Elements of a part that loads and stores reach.
const AREA: usize = 160;
/// Of a part of device memory, which at last gets that of threadgroup memory, and the matrices.
const PART: usize = 2 * AREA + 64 * MATRICES;
const MATRICES: usize = 8;

/// Memories, by the names that pointers to the SIMD-group's own part begin with. No thread writes the last.
const MEMORIES: [&str; 3] = ["d", "t", "in"];
const DEVICE: usize = 0;
const THREADGROUP: usize = 1;
const INPUT: usize = 2;

/// The same in all lanes of a SIMD-group.
#[derive(Clone, Copy)]
enum Number {
    Constant(usize),
    /// `p[k]`, which the host gives.
    Given(usize),
    /// Of the threadgroup.
    Group,
    /// Of a loop around, the outermost being 0.
    Counter(usize),
    /// Of the SIMD-group.
    Simdgroup,
    /// Memory, type and index in the SIMD-group's own part. Its lanes wait for each other.
    Element([usize; 3]),
    /// Of the first elements that all lanes have of a matrix: `first`, `count` and index.
    Sum([usize; 3]),
}

/// A variable, or an element of an array of `count`; `first` is the variable's place among all matrices of a SIMD-group.
#[derive(Clone, Copy)]
struct Matrix {
    kind: usize,
    first: usize,
    count: usize,
    index: Number,
}

/// What a SIMD-group does for itself; None when a number is not exact.
type Step = Box<dyn Fn(&mut Threadgroup, usize) -> Option<()>>;

enum Statement {
    /// Of each SIMD-group.
    Own(Step),
    /// `number % 4` rounds, and one at least of do-while; the number is asked for again behind each.
    Loop { do_while: bool, number: Number, body: Vec<Statement> },
    /// `(number & bit) != 0`
    If { number: Number, bit: i64, yes: Vec<Statement>, no: Vec<Statement> },
}

// ---------------------------------------------------------------- the interpreter

type Tile = [[i64; 8]; 8];
/// Of a tile's elements in memory, by rows.
type Indices = Box<dyn Fn(&Threadgroup, usize) -> [[usize; 8]; 8]>;

#[derive(Clone)]
struct Simdgroup {
    /// Of each memory and type.
    memory: [[Vec<i64>; 3]; 3],
    matrices: [Tile; MATRICES],
}

#[derive(Clone)]
struct Threadgroup {
    shape: usize,
    number: usize,
    simdgroups: Vec<Simdgroup>,
    counters: Vec<i64>,
}

/// What memory holds before.
fn element(index: usize) -> i64 {
    (Random(index as u64).bits() % 6) as i64 - 2
}

fn tile(at: impl Fn(usize, usize) -> i64) -> Tile {
    std::array::from_fn(|row| std::array::from_fn(|column| at(row, column)))
}

impl Number {
    /// Whether all SIMD-groups of a threadgroup have the same.
    fn is_common(self) -> bool {
        !matches!(self, Number::Simdgroup | Number::Element(_) | Number::Sum(_))
    }

    fn of(self, group: &Threadgroup, s: usize) -> i64 {
        let own = &group.simdgroups[s];
        match self {
            Number::Constant(value) => value as i64,
            Number::Given(k) => GIVEN[k].into(),
            Number::Group => group.number as i64,
            Number::Counter(depth) => group.counters[depth],
            Number::Simdgroup => s as i64,
            Number::Element([memory, kind, at]) => own.memory[memory][kind][at],
            Number::Sum([first, _, index]) => own.matrices[first + index].as_flattened().iter().step_by(2).sum(),
        }
    }
}

impl Matrix {
    fn slot(self, group: &Threadgroup, s: usize) -> usize {
        self.first + self.index.of(group, s) as usize % self.count
    }

    fn get(self, group: &Threadgroup, s: usize) -> Tile {
        group.simdgroups[s].matrices[self.slot(group, s)]
    }

    fn set(self, group: &mut Threadgroup, s: usize, tile: Tile) -> Option<()> {
        let slot = self.slot(group, s);
        group.simdgroups[s].matrices[slot] = tile;
        self.holds(&tile)
    }

    fn holds(self, tile: &Tile) -> Option<()> {
        tile.as_flattened().iter().all(|element| element.abs() < KINDS[self.kind].1).then_some(())
    }
}

impl Threadgroup {
    fn new(shape: usize, number: usize) -> Self {
        let count = SHAPES[shape][1].iter().product::<u64>() as usize / 32;
        let simdgroup = |s| {
            let device: Vec<i64> = (0..PART).map(|i| element((number * count + s) * PART + i)).collect();
            let memory = [device.clone(), device[..AREA].to_vec(), (0..AREA).map(element).collect()];
            Simdgroup {
                memory: memory.map(|one| std::array::from_fn(|_| one.clone())),
                matrices: [[[0; 8]; 8]; MATRICES],
            }
        };
        Self { shape, number, simdgroups: (0..count).map(simdgroup).collect(), counters: Vec::new() }
    }

    fn execute(&mut self, range: Range<usize>, block: &[Statement]) -> Option<()> {
        // Those that decide alike go on together: they may wait for each other.
        let deciding = |number: &Number| match number.is_common() {
            true => vec![range.clone()],
            false => range.clone().map(|s| s..s + 1).collect(),
        };
        for statement in block {
            match statement {
                Statement::Own(step) => range.clone().try_for_each(|s| step(self, s))?,
                Statement::If { number, bit, yes, no } => {
                    for range in deciding(number) {
                        let taken = number.of(self, range.start) & bit != 0;
                        self.execute(range, if taken { yes } else { no })?;
                    }
                }
                Statement::Loop { do_while, number, body } => {
                    for range in deciding(number) {
                        let mut k = 0;
                        while k < number.of(self, range.start) & 3 || *do_while && k == 0 {
                            self.counters.push(k);
                            self.execute(range.clone(), body)?;
                            self.counters.pop();
                            k += 1;
                        }
                    }
                }
            }
        }
        Some(())
    }

    /// What device memory holds at the end.
    fn results(&self, kind: usize, variables: &[Matrix]) -> Vec<i64> {
        let of = |own: &Simdgroup| {
            let mut device = own.memory[DEVICE][kind].clone();
            device[AREA..2 * AREA].copy_from_slice(&own.memory[THREADGROUP][kind]);
            for Matrix { first, count, .. } in variables.iter().filter(|one| one.kind == kind) {
                let tiles = own.matrices[*first..first + count].as_flattened().as_flattened();
                device[2 * AREA + 64 * first..][..tiles.len()].copy_from_slice(tiles);
            }
            device
        };
        self.simdgroups.iter().flat_map(of).collect()
    }
}

// ---------------------------------------------------------------- the generator

struct Generator {
    random: Random,
    variables: Vec<Matrix>,
    text: String,
    /// Whether more than constants are indices of arrays, which so are in memory.
    indexed: bool,
    /// How many loops are around.
    loops: usize,
    /// Whether lanes may have loaded and stored since they waited for each other.
    loaded: bool,
    stored: bool,
}

impl Number {
    fn text(self) -> String {
        match self {
            Number::Constant(value) => value.to_string(),
            Number::Given(k) => format!("p[{k}]"),
            Number::Group => "group".to_owned(),
            Number::Counter(depth) => format!("k{depth}"),
            Number::Simdgroup => "s".to_owned(),
            Number::Element([memory, kind, at]) => format!("at({}{kind}, {at})", MEMORIES[memory]),
            Number::Sum([first, count, index]) => format!("sum({})", name(first, count, index)),
        }
    }
}

fn name(first: usize, count: usize, index: impl Display) -> String {
    if count == 1 { format!("m{first}") } else { format!("m{first}[{index} % {count}]") }
}

impl Matrix {
    fn text(self) -> String {
        name(self.first, self.count, self.index.text())
    }
}

impl Generator {
    fn below(&mut self, limit: usize) -> usize {
        (self.random.bits() % limit as u64) as usize
    }

    fn common(&mut self) -> Number {
        match self.below(5) {
            0 => Number::Given(self.below(GIVEN.len())),
            1 => Number::Group,
            2 if self.loops > 0 => Number::Counter(self.below(self.loops)),
            _ => Number::Constant(self.below(8)),
        }
    }

    fn number(&mut self) -> Number {
        if self.below(5) == 0 { Number::Simdgroup } else { self.common() }
    }

    fn decision(&mut self) -> Number {
        let (memory, Matrix { kind, first, count, .. }) = (self.below(2), self.matrix());
        match self.below(8) {
            0 | 1 => Number::Sum([first, count, self.below(count)]),
            2 | 3 => Number::Element([memory, kind, self.below(AREA)]),
            4 => Number::Simdgroup,
            _ => self.common(),
        }
    }

    fn matrix(&mut self) -> Matrix {
        let (variable, constant) = (self.below(self.variables.len()), self.below(2));
        let index = if self.indexed { self.number() } else { Number::Constant(constant) };
        Matrix { index, ..self.variables[variable] }
    }

    /// Where to load or store, `distance` SIMD-groups farther, as the arguments behind the matrix, as many as are given.
    fn place(&mut self, memory: usize, kind: usize, distance: usize) -> (String, Indices) {
        let mut text = format!("{}{kind}", MEMORIES[memory]);
        if distance > 0 {
            text += &format!(" + int((s + {distance}) % n - s) * {}", [PART, AREA][memory]);
        }
        let (given, numbers) = (self.below(4), [0; 3].map(|_| self.number()));
        let [stride, x, y] = numbers.map(|number| format!("{} % 4", number.text()));
        let arguments = [format!(", 8 + {stride}"), format!(", ulong2({x}, {y})"), ", true".to_owned()];
        text += &arguments[..given].concat();
        let indices = move |group: &Threadgroup, s: usize| {
            let [stride, x, y] = numbers.map(|number| number.of(group, s) as usize % 4);
            let stride = if given > 0 { 8 + stride } else { 8 };
            let [x, y] = if given > 1 { [x, y] } else { [0, 0] };
            std::array::from_fn(|row| {
                std::array::from_fn(|column| match given {
                    3 => (column + x) * stride + row + y,
                    _ => (row + y) * stride + column + x,
                })
            })
        };
        (text, Box::new(indices))
    }

    /// A barrier, where it takes one.
    fn wait(&mut self, stores: bool) -> &'static str {
        let waits = self.stored || stores && self.loaded;
        if waits {
            (self.loaded, self.stored) = (false, false);
        }
        *if stores { &mut self.stored } else { &mut self.loaded } = true;
        if waits { "simdgroup_barrier(ALL); " } else { "" }
    }

    fn own(&mut self, text: String, step: impl Fn(&mut Threadgroup, usize) -> Option<()> + 'static) -> Statement {
        self.text += &(text + "\n");
        Statement::Own(Box::new(step))
    }

    fn fill(&mut self, to: Matrix) -> Statement {
        let (value, diagonal, t) = (self.number(), self.below(2) == 0, KINDS[to.kind].0);
        let function = if diagonal { "simdgroup_matrix" } else { "make_filled_simdgroup_matrix" };
        self.own(format!("{} = {function}<{t}, 8, 8>({t}(int({}) - 2));", to.text(), value.text()), move |group, s| {
            let value = value.of(group, s) - 2;
            to.set(group, s, tile(|row, column| if diagonal && row != column { 0 } else { value }))
        })
    }

    fn load(&mut self, to: Matrix, memory: usize, distance: usize) -> Statement {
        let (arguments, indices) = self.place(memory, to.kind, distance);
        let load = format!("simdgroup_load({}, {arguments});", to.text());
        let text = match (distance, memory) {
            (0, INPUT) => load,
            (0, _) => self.wait(false).to_owned() + &load,
            _ => {
                (self.loaded, self.stored) = (false, false);
                format!("threadgroup_barrier(ALL); {load} threadgroup_barrier(ALL);")
            }
        };
        self.own(text, move |group, s| {
            let from = &group.simdgroups[(s + distance) % group.simdgroups.len()].memory[memory][to.kind];
            to.set(group, s, indices(group, s).map(|row| row.map(|at| from[at])))
        })
    }

    fn store(&mut self, from: Matrix, memory: usize) -> Statement {
        let (arguments, indices) = self.place(memory, from.kind, 0);
        let text = format!("{}simdgroup_store({}, {arguments});", self.wait(true), from.text());
        self.own(text, move |group, s| {
            let (tile, indices) = (from.get(group, s), indices(group, s));
            let to = &mut group.simdgroups[s].memory[memory][from.kind];
            indices.as_flattened().iter().zip(tile.as_flattened()).for_each(|(at, element)| to[*at] = *element);
            Some(())
        })
    }

    fn multiply(&mut self, to: Matrix, a: Matrix, b: Matrix) -> Statement {
        let add = [None, Some(to), Some(to), Some(self.matrix())][self.below(4)];
        let [d, x, y] = [to, a, b].map(Matrix::text);
        let text = match add.map(Matrix::text) {
            None if a.kind == to.kind && b.kind == to.kind => format!("{d} = {x} * {y};"),
            None => format!("simdgroup_multiply({d}, {x}, {y});"),
            Some(c) if c == d && self.below(2) == 0 => format!("add({d}, {x}, {y});"),
            Some(c) => format!("simdgroup_multiply_accumulate({d}, {x}, {y}, {c});"),
        };
        self.own(text, move |group, s| {
            let [a, b] = [a, b].map(|matrix| matrix.get(group, s));
            let c = add.map_or([[0; 8]; 8], |matrix| matrix.get(group, s));
            let sum = |of: fn(i64) -> i64| {
                tile(|row, column| of(c[row][column]) + (0..8).map(|k| of(a[row][k] * b[k][column])).sum::<i64>())
            };
            to.holds(&sum(i64::abs))?;
            to.set(group, s, sum(|term| term))
        })
    }

    /// Through thread_elements(), which are where metal_simdgroup_matrix says.
    fn elements(&mut self, to: Matrix, from: Matrix) -> Statement {
        let (t, kind) = (KINDS[to.kind].0, self.below(5));
        let [d, e] = [to, from].map(|matrix| format!("{}.thread_elements()", matrix.text()));
        let text = match kind {
            0 => format!("{d} = vec<{t}, 2>({e});"),
            1 => format!("{d} = vec<{t}, 2>((int2({e}) & 7) - 3);"),
            2 => format!("{d} = vec<{t}, 2>({e}.yx);"),
            3 => format!("if (((row + column) & 2) != 0) {d}[0] = {t}({e}[1]);"),
            _ => format!("for (uint j = 0; j < 2; j++) {d}[j] += {t}((row + 3 * (column + j)) % 5);"),
        };
        self.own(text, move |group, s| {
            let (d, e) = (to.get(group, s), from.get(group, s));
            let of = |row: usize, column: usize| match kind {
                0 => e[row][column],
                1 => (e[row][column] & 7) - 3,
                2 => e[row][column ^ 1],
                3 if column & 1 == 0 && (row + column) & 2 != 0 => e[row][column + 1],
                3 => d[row][column],
                _ => d[row][column] + ((row + 3 * column) % 5) as i64,
            };
            to.set(group, s, tile(of))
        })
    }

    fn block(&mut self, depth: u32, together: bool) -> Vec<Statement> {
        // Where control comes from, lanes may have done anything.
        (self.loaded, self.stored) = (true, true);
        let mut block: Vec<Statement> = (0..1 + self.below(3)).map(|_| self.statement(depth, together)).collect();
        if together && self.below(2) == 0 {
            // From one SIMD-group to the next, in each round of a loop.
            let (matrix, memory) = (self.matrix(), self.below(2));
            block.push(self.store(matrix, memory));
            block.push(self.load(matrix, memory, 1));
        }
        (self.loaded, self.stored) = (true, true);
        block
    }

    /// `together`: by all SIMD-groups of a threadgroup alike.
    fn statement(&mut self, depth: u32, together: bool) -> Statement {
        let (to, a, b, memory) = (self.matrix(), self.matrix(), self.matrix(), self.below(2));
        match self.below(24) {
            0 => self.fill(to),
            1 => self.load(to, INPUT, 0),
            2..=5 => self.load(to, memory, 0),
            6..=8 => self.store(to, memory),
            9..=11 => self.elements(to, a),
            12 | 13 if together => self.load(to, memory, 1 + b.first % 3),
            14..=16 if depth > 0 => {
                let (number, do_while, k) = (self.decision(), self.below(2) == 0, self.loops);
                let condition = format!("k{k} < {} % 4", number.text());
                self.text += &match do_while {
                    true => format!("{{ uint k{k} = 0; do {{\n"),
                    false => format!("for (uint k{k} = 0; {condition}; k{k}++) {{\n"),
                };
                self.loops += 1;
                let body = self.block(depth - 1, together && number.is_common());
                self.loops -= 1;
                self.text += &if do_while { format!("}} while (++{condition}); }}\n") } else { "}\n".to_owned() };
                Statement::Loop { do_while, number, body }
            }
            17 | 18 if depth > 0 => {
                let (number, bit) = (self.decision(), 1 << self.below(2));
                self.text += &format!("if (({} & {bit}) != 0) {{\n", number.text());
                let yes = self.block(depth - 1, together && number.is_common());
                self.text += "} else {\n";
                let no = self.block(depth - 1, together && number.is_common());
                self.text += "}\n";
                Statement::If { number, bit, yes, no }
            }
            _ => self.multiply(to, a, b),
        }
    }

    /// A statement that all can execute, or none.
    fn extend(&mut self, groups: &mut Vec<Threadgroup>, make: impl Fn(&mut Self) -> Statement) -> bool {
        let (loaded, stored, length, mut next) = (self.loaded, self.stored, self.text.len(), groups.clone());
        let block = [make(self)];
        let done = next.iter_mut().all(|group| group.execute(0..group.simdgroups.len(), &block).is_some());
        if done {
            *groups = next;
        } else {
            self.text.truncate(length);
            (self.loaded, self.stored) = (loaded, stored);
        }
        done
    }
}

const HEAD: &str = "
#define ALL mem_flags::mem_device | mem_flags::mem_threadgroup
template <class T> uint at(const device T *own, uint k) { simdgroup_barrier(ALL); return uint(int(own[k])); }
template <class T> uint at(const threadgroup T *own, uint k) { simdgroup_barrier(ALL); return uint(int(own[k])); }
template <class M> uint sum(M m) { return uint(simd_sum(int(m.thread_elements()[0]))); }
template <class D, class A, class B> void add(thread simdgroup_matrix<D, 8, 8> &d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  simdgroup_multiply_accumulate(d, a, b, d);
}
kernel void run(";

const POSITION: &str = "constant uint *p [[buffer(6)]],
  uint3 place [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]], uint n [[simdgroups_per_threadgroup]],
  LANES
uint group = place.y * groups.x + place.x, row = (lane / 4 & 4) + lane / 2 % 4, column = (lane / 4 & 2) * 2 + lane % 2 * 2;
(void)row; (void)column;
";

/// As kernels ask for their SIMD-group and lane.
const LANES: [&str; 2] = [
    "uint s [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {",
    "uint t [[thread_index_in_threadgroup]]) {\nuint s = t / 32, lane = t % 32;",
];

/// The types that there are matrices of.
fn used(variables: &[Matrix]) -> impl Iterator<Item = usize> {
    (0..KINDS.len()).filter(|kind| variables.iter().any(|one| one.kind == *kind))
}

/// The kernel of a program.
fn source(variables: &[Matrix], program: &str, seed: u64) -> String {
    let restrict = ["", "__restrict"][(seed % 2) as usize];
    let position = POSITION.replace("LANES", LANES[(seed / 8 % 2) as usize]);
    let (mut parameters, mut begin, mut end) = (String::new(), String::new(), String::new());
    for k in used(variables) {
        let (t, input, output, all) = (KINDS[k].0, 2 * k, 2 * k + 1, 4 * AREA);
        let each = format!("for (uint j = lane; j < {AREA}; j += 32)");
        parameters += &format!(
            "const device {t} *{restrict} in{k} [[buffer({input})]], device {t} *{restrict} out{k} [[buffer({output})]],\n  "
        );
        begin += &format!(
            "device {t} *d{k} = out{k} + (group * n + s) * {PART}; threadgroup {t} s{k}[{all}]; threadgroup {t} *t{k} = s{k} + s * {AREA};\n\
             {each} t{k}[j] = d{k}[j];\n"
        );
        end += &format!("{each} d{k}[{AREA} + j] = t{k}[j];\n");
    }
    for Matrix { kind, first, count, .. } in variables {
        begin += &format!("simdgroup_{}8x8 m{first}{};\n", KINDS[*kind].0, ["", "[2]"][count - 1]);
        for index in 0..*count {
            let at = 2 * AREA + 64 * (first + index);
            end += &format!("simdgroup_store({}, d{kind} + {at});\n", name(*first, *count, index));
        }
    }
    format!("{HEAD}{parameters}{position}{begin}{program}simdgroup_barrier(ALL);\n{end}}}\n")
}

// ---------------------------------------------------------------- the comparison

fn bytes(kind: usize, elements: impl Iterator<Item = i64>) -> Vec<u8> {
    let of = |element: i64| match kind {
        0 => (element as f32).to_le_bytes().to_vec(),
        _ => [HALF, BFLOAT][kind - 1].bits(element as f64).to_le_bytes().to_vec(),
    };
    elements.flat_map(of).collect()
}

/// One kernel on both engines; what went wrong.
fn check(seed: u64) -> String {
    let mut random = Random(seed);
    let (mut variables, mut first) = (Vec::new(), 0);
    for _ in 0..3 + random.bits() % 2 {
        // Of one type, of two, or of all.
        let kind = (seed + random.bits() % (1 + seed / 3 % 3)) as usize % 3;
        let count = 1 + usize::from(random.bits().is_multiple_of(4));
        variables.push(Matrix { kind, first, count, index: Number::Constant(0) });
        first += count;
    }
    let groups = SHAPES.iter().enumerate().flat_map(|(shape, [count, _])| {
        (0..count.iter().product::<u64>() as usize).map(move |number| Threadgroup::new(shape, number))
    });
    let (mut groups, text, indexed) = (groups.collect(), String::new(), seed / 4 % 2 == 1);
    let mut generator = Generator { random, variables, text, indexed, loops: 0, loaded: true, stored: true };
    for one in generator.variables.clone() {
        for index in (0..one.count).map(Number::Constant) {
            generator.extend(&mut groups, |generator| generator.load(Matrix { index, ..one }, INPUT, 0));
        }
    }
    let mut length = 0;
    while length < LENGTH {
        length += usize::from(generator.extend(&mut groups, |generator| generator.statement(2, true)));
    }
    let (variables, mut wrong) = (&generator.variables, String::new());
    let source = source(variables, &generator.text, seed);
    // All that is computed is exact.
    let math = ALL_MODES[(seed / 2 % 2) as usize];
    for engine in [Engine::Pass, Engine::Stack] {
        let pipeline = pipeline(load_on(&source, math, engine));
        for (shape, [count, size]) in SHAPES.iter().enumerate() {
            let elements = count.iter().chain(size).product::<u64>() as usize / 32 * PART;
            let memory: Vec<Buffer> = (0..6).map(|k| Buffer::of(&bytes(k / 2, (0..elements).map(element)))).collect();
            let given = Buffer::of(&GIVEN);
            Queue::new()
                .run(|encoder| {
                    encoder.pipeline(&pipeline);
                    for (index, buffer) in memory.iter().chain([&given]).enumerate() {
                        encoder.buffer(buffer, index);
                    }
                    encoder.groups(*count, *size);
                })
                .assert_completed();
            for kind in used(variables) {
                let ours = groups.iter().filter(|group| group.shape == shape);
                let expected = bytes(kind, ours.flat_map(|group| group.results(kind, variables)));
                let got = memory[2 * kind + 1].read::<u8>();
                if let Some(at) = (0..expected.len()).find(|&at| got[at] != expected[at]) {
                    let (at, name) = (at / [4, 2, 2][kind], KINDS[kind].0);
                    let (s, at) = (at / PART, at % PART);
                    wrong += &format!(
                        "seed {seed}, {engine:?}, {math:?}, {count:?} of {size:?}: {name} {at} of SIMD-group {s}\n"
                    );
                }
            }
        }
    }
    if wrong.is_empty() { wrong } else { wrong + &source }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn random_matrices() {
    let first = setting("HOSTMETAL_FIRST_SEED", 0);
    let end = first + setting("HOSTMETAL_SEEDS", 12);
    let (next, wrong) = (AtomicU64::new(first), Mutex::new(String::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                let seeds = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
                for seed in seeds.take_while(|seed| *seed < end) {
                    let text = check(seed);
                    wrong.lock().expect("no thread has panicked").push_str(&text);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread has panicked");
    assert!(wrong.is_empty(), "{wrong}");
}
