//! Metal Performance Shaders Graph: operations of tensors against sums in doubles, what they refuse, and what they ask to be committed.

#[cfg(target_os = "linux")]
use std::process::Command;
use std::ptr;

use dcmetal_sys::*;

use crate::buffer::Pages;
use crate::support::*;

const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;
const FLOAT: DCMetalNumber = DC_METAL_NUMBER_FLOAT32;
const HALF: DCMetalNumber = DC_METAL_NUMBER_FLOAT16;
const BRAIN: DCMetalNumber = DC_METAL_NUMBER_BFLOAT16;

// ------------------------------------------------------------------ descriptors

fn shape(number: DCMetalNumber, extents: &[u64]) -> DCMetalShape {
    let mut shape = DCMetalShape { rank: extents.len() as u32, extents: [9; 4], number };
    shape.extents[..extents.len()].copy_from_slice(extents);
    shape
}

fn described(
    operation: DCMetalGraphOperation,
    inputs: &[DCMetalShape],
    results: &[DCMetalShape],
) -> DCMetalGraphDescriptor {
    let mut made = DCMetalGraphDescriptor {
        operation,
        input_count: inputs.len() as u32,
        result_count: results.len() as u32,
        stride: [1; 2],
        dilation: [1; 2],
        window: [1; 2],
        groups: 1,
        ..Default::default()
    };
    made.inputs[..inputs.len()].copy_from_slice(inputs);
    made.results[..results.len()].copy_from_slice(results);
    made
}

/// Two groups of 2 channels and of 3 features, in windows of 2 x 3, with distances that differ along rows and columns, and a bias.
fn convolution(number: DCMetalNumber) -> DCMetalGraphDescriptor {
    let of = |extents: &[u64]| shape(number, extents);
    DCMetalGraphDescriptor {
        stride: [2, 1],
        dilation: [1, 2],
        padding: [1, 2],
        groups: 2,
        has_bias: true,
        ..described(
            DC_METAL_GRAPH_CONVOLUTION,
            &[of(&[2, 5, 6, 4]), of(&[2, 3, 2, 6]), of(&[1, 1, 1, 6])],
            &[of(&[2, 3, 6, 6])],
        )
    }
}

/// Windows of 2 x 3 with a row of padding.
fn pool(operation: DCMetalGraphOperation, counts_padding: bool) -> DCMetalGraphDescriptor {
    DCMetalGraphDescriptor {
        window: [2, 3],
        stride: [1, 2],
        dilation: [2, 1],
        padding: [1, 1],
        counts_padding,
        ..described(operation, &[shape(FLOAT, &[2, 4, 5, 3])], &[shape(FLOAT, &[2, 4, 3, 3])])
    }
}

fn reduced(operation: DCMetalGraphOperation, axes: u32) -> DCMetalGraphDescriptor {
    let extents = [2u64, 3, 4];
    let left: Vec<u64> = (0..3).map(|axis| if axes >> axis & 1 == 1 { 1 } else { extents[axis] }).collect();
    let result = shape(FLOAT, &left);
    let results = if operation == DC_METAL_GRAPH_STATISTICS { vec![result; 2] } else { vec![result] };
    DCMetalGraphDescriptor { axes, ..described(operation, &[shape(FLOAT, &extents)], &results) }
}

/// By mean and variance of channels, of halves but for these.
fn normalization() -> DCMetalGraphDescriptor {
    let (x, of_channels) = (shape(HALF, &[4, 3]), shape(FLOAT, &[1, 3]));
    DCMetalGraphDescriptor {
        has_scale: true,
        has_shift: true,
        epsilon: 0.25,
        ..described(
            DC_METAL_GRAPH_NORMALIZATION,
            &[x, of_channels, of_channels, of_channels, shape(HALF, &[1, 3])],
            &[x],
        )
    }
}

fn layer_normalization() -> DCMetalGraphDescriptor {
    let x = shape(FLOAT, &[4, 3]);
    DCMetalGraphDescriptor {
        axes: 0b10,
        has_shift: true,
        epsilon: 0.5,
        ..described(DC_METAL_GRAPH_LAYER_NORMALIZATION, &[x, shape(FLOAT, &[1, 3])], &[x])
    }
}

// ------------------------------------------------------------------ references

/// The elements of a tensor, and where they are.
struct Numbers {
    extents: Vec<usize>,
    elements: Vec<f64>,
}

impl Numbers {
    fn new(shape: &DCMetalShape, elements: Vec<f64>) -> Self {
        let extents = shape.extents[..shape.rank as usize].iter().map(|extent| *extent as usize).collect();
        Self { extents, elements }
    }

    /// At an index, of which that of an axis with one element does not matter.
    fn at(&self, index: &[usize]) -> f64 {
        let at = self.extents.iter().zip(index).fold(0, |at, (extent, index)| at * extent + index.min(&(extent - 1)));
        self.elements[at]
    }

    fn indices(&self) -> Vec<Vec<usize>> {
        indices(&self.extents)
    }
}

fn indices(extents: &[usize]) -> Vec<Vec<usize>> {
    let count: usize = extents.iter().product();
    let index = |mut at: usize| {
        let mut index: Vec<usize> = extents.iter().rev().map(|extent| (at % extent, at /= extent).0).collect();
        index.reverse();
        index
    };
    (0..count).map(index).collect()
}

/// What is under a window's element; none of the padding.
fn under(of: &DCMetalGraphDescriptor, place: &[usize], element: [usize; 2], extents: &[usize]) -> Option<[usize; 2]> {
    let mut at = [0; 2];
    for side in 0..2 {
        let moved = place[1 + side] * of.stride[side] as usize + element[side] * of.dilation[side] as usize;
        at[side] = moved.checked_sub(of.padding[side] as usize).filter(|at| *at < extents[1 + side])?;
    }
    Some(at)
}

fn convolved(of: &DCMetalGraphDescriptor, [x, weights, bias]: [&Numbers; 3], place: &[usize]) -> f64 {
    let [rows, columns, channels, features] = [0, 1, 2, 3].map(|axis| weights.extents[axis]);
    let group = place[3] / (features / of.groups as usize);
    let terms = indices(&[rows, columns, channels]).into_iter().filter_map(|at| {
        let [row, column] = under(of, place, [at[0], at[1]], &x.extents)?;
        let of_x = x.at(&[place[0], row, column, group * channels + at[2]]);
        Some(of_x * weights.at(&[at[0], at[1], at[2], place[3]]))
    });
    terms.sum::<f64>() + bias.at(&[0, 0, 0, place[3]])
}

fn pooled(of: &DCMetalGraphDescriptor, x: &Numbers, place: &[usize]) -> f64 {
    let seen: Vec<f64> = indices(&of.window.map(|side| side as usize))
        .into_iter()
        .filter_map(|at| {
            let [row, column] = under(of, place, [at[0], at[1]], &x.extents)?;
            Some(x.at(&[place[0], row, column, place[3]]))
        })
        .collect();
    if of.operation == DC_METAL_GRAPH_MAX_POOLING {
        return seen.into_iter().fold(f64::NEG_INFINITY, f64::max);
    }
    let count = if of.counts_padding { (of.window[0] * of.window[1]) as usize } else { seen.len() };
    seen.iter().sum::<f64>() / count as f64
}

/// Mean and variance of what shares the place's index on the axes that are kept, and all of it.
fn moments(axes: u32, x: &Numbers, place: &[usize]) -> ([f64; 2], Vec<f64>) {
    let kept = |index: &Vec<usize>| (0..place.len()).all(|axis| axes >> axis & 1 == 1 || index[axis] == place[axis]);
    let all: Vec<f64> = x.indices().iter().filter(|index| kept(index)).map(|index| x.at(index)).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / all.len() as f64;
    ([mean, variance], all)
}

fn wanted(of: &DCMetalGraphDescriptor, inputs: &[Numbers], result: usize, place: &[usize]) -> f64 {
    let x = &inputs[0];
    let normal = |[mean, variance]: [f64; 2], factors: &[Numbers]| {
        let normal = (x.at(place) - mean) / (variance + f64::from(of.epsilon)).sqrt();
        let scaled = if of.has_scale { normal * factors[0].at(place) } else { normal };
        if of.has_shift { scaled + factors[usize::from(of.has_scale)].at(place) } else { scaled }
    };
    let of_axes = || moments(of.axes, x, place);
    match of.operation {
        DC_METAL_GRAPH_CONVOLUTION => convolved(of, [x, &inputs[1], &inputs[2]], place),
        DC_METAL_GRAPH_MAX_POOLING | DC_METAL_GRAPH_AVERAGE_POOLING => pooled(of, x, place),
        DC_METAL_GRAPH_NORMALIZATION => normal([inputs[1].at(place), inputs[2].at(place)], &inputs[3..]),
        DC_METAL_GRAPH_LAYER_NORMALIZATION => normal(of_axes().0, &inputs[1..]),
        DC_METAL_GRAPH_STATISTICS => of_axes().0[result],
        DC_METAL_GRAPH_SUM => of_axes().1.iter().sum(),
        DC_METAL_GRAPH_MEAN => of_axes().0[0],
        DC_METAL_GRAPH_MAXIMUM => of_axes().1.into_iter().fold(f64::NEG_INFINITY, f64::max),
        DC_METAL_GRAPH_MINIMUM => of_axes().1.into_iter().fold(f64::INFINITY, f64::min),
        other => panic!("{other:?}"),
    }
}

// ------------------------------------------------------------------ runs

/// A multiple of 1/8 within 4, which every kind of numbers holds; above 0 for variances.
fn number(at: usize) -> f64 {
    ((at * 37 + 11) % 61) as f64 / 8.0 - 3.75
}

/// The bits of a number that the kind holds, or the nearest for results.
fn bits(number: DCMetalNumber, value: f64) -> Vec<u8> {
    match number {
        FLOAT => (value as f32).to_ne_bytes().to_vec(),
        BRAIN => (((value as f32).to_bits() >> 16) as u16).to_ne_bytes().to_vec(),
        _ if value == 0.0 => vec![0; 2],
        // Normal numbers of few digits: the exponent is moved, the fraction is cut.
        _ => {
            let bits = (value as f32).to_bits();
            let half = (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
            (half as u16).to_ne_bytes().to_vec()
        }
    }
}

fn value(number: DCMetalNumber, bytes: &[u8]) -> f64 {
    if number == FLOAT {
        return f64::from(f32::from_ne_bytes(bytes.try_into().expect("four bytes")));
    }
    let bits = u32::from(u16::from_ne_bytes(bytes.try_into().expect("two bytes")));
    if number == BRAIN {
        return f64::from(f32::from_bits(bits << 16));
    }
    let (sign, exponent, fraction) =
        (if bits >> 15 == 1 { -1.0 } else { 1.0 }, bits >> 10 & 31, f64::from(bits & 0x3ff));
    assert!(exponent < 31, "infinite or none");
    let (fraction, exponent) = if exponent == 0 { (fraction, 1) } else { (1024.0 + fraction, exponent) };
    sign * fraction * 2f64.powi(exponent as i32 - 25)
}

fn element(number: DCMetalNumber) -> usize {
    if number == FLOAT { 4 } else { 2 }
}

fn elements(shape: &DCMetalShape) -> usize {
    shape.extents[..shape.rank as usize].iter().product::<u64>() as usize
}

fn made(gpu: &Gpu, descriptor: &DCMetalGraphDescriptor) -> Result<Owned<DCMetalGraph>, Failure> {
    create(|out, error| dc!(DCMetalGraph_Create(gpu.device.0, descriptor, out, error)))
}

fn encode(
    graph: &Owned<DCMetalGraph>,
    command_buffer: &Owned<DCMetalCommandBuffer>,
    inputs: &[DCMetalTensor],
    results: &[DCMetalTensor],
) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalGraph_Encode(graph.0, command_buffer.0, inputs.as_ptr(), results.as_ptr(), error)))
}

/// A graph's tensors, each in the middle of a buffer of its own.
struct Tensors {
    buffers: Vec<(Owned<DCMetalBuffer>, DCMetalShape)>,
    inputs: Vec<DCMetalTensor>,
    results: Vec<DCMetalTensor>,
    numbers: Vec<Numbers>,
}

/// Elements in front of a tensor and behind it.
const BESIDE: usize = 3;
const MARK: u8 = 0x5a;

impl Tensors {
    fn new(gpu: &Gpu, of: &DCMetalGraphDescriptor) -> Self {
        let mut all = Self { buffers: Vec::new(), inputs: Vec::new(), results: Vec::new(), numbers: Vec::new() };
        for (at, shape) in of.inputs[..of.input_count as usize].iter().enumerate() {
            let positive = of.operation == DC_METAL_GRAPH_NORMALIZATION && at == 2;
            let number = |i| if positive { f64::abs(number(i)) + 0.5 } else { number(i) };
            let numbers: Vec<f64> = (0..elements(shape)).map(|i| number(i + 100 * at)).collect();
            let tensor = all.put(gpu, shape, &numbers);
            all.inputs.push(tensor);
            all.numbers.push(Numbers::new(shape, numbers));
        }
        for shape in &of.results[..of.result_count as usize] {
            let tensor = all.put(gpu, shape, &vec![1.0; elements(shape)]);
            all.results.push(tensor);
        }
        all
    }

    fn put(&mut self, gpu: &Gpu, shape: &DCMetalShape, numbers: &[f64]) -> DCMetalTensor {
        let beside = vec![MARK; BESIDE * element(shape.number)];
        let middle: Vec<u8> = numbers.iter().flat_map(|value| bits(shape.number, *value)).collect();
        let buffer = gpu.buffer_of(&[beside.clone(), middle, beside].concat());
        let tensor = DCMetalTensor { buffer: buffer.0, offset: (BESIDE * element(shape.number)) as u64 };
        self.buffers.push((buffer, *shape));
        tensor
    }

    /// Demands the references within some units of the last place of the largest number, and nothing beside the results.
    fn check(&self, of: &DCMetalGraphDescriptor) {
        for (number, (buffer, shape)) in self.buffers[self.inputs.len()..].iter().enumerate() {
            let size = element(shape.number);
            let bytes = contents::<u8>(buffer);
            let (front, rest) = bytes.split_at(BESIDE * size);
            let (middle, behind) = rest.split_at(elements(shape) * size);
            assert!(
                [front, behind].concat().iter().all(|byte| *byte == MARK),
                "{:?} wrote beside its result",
                of.operation
            );
            let unit = if shape.number == FLOAT {
                1e-6
            } else if shape.number == HALF {
                1e-3
            } else {
                1e-2
            };
            let extents: Vec<usize> = Numbers::new(shape, Vec::new()).extents;
            for (place, bytes) in indices(&extents).iter().zip(middle.chunks(size)) {
                let (got, wanted) = (value(shape.number, bytes), wanted(of, &self.numbers, number, place));
                let near = (got - wanted).abs() <= unit * (wanted.abs() + 4.0);
                assert!(near, "{:?} at {place:?} of result {number}: {got}, not {wanted}", of.operation);
            }
        }
    }
}

fn all() -> Vec<DCMetalGraphDescriptor> {
    let mut all =
        vec![convolution(FLOAT), convolution(HALF), convolution(BRAIN), normalization(), layer_normalization()];
    all.push(pool(DC_METAL_GRAPH_MAX_POOLING, false));
    all.extend([false, true].map(|counts| pool(DC_METAL_GRAPH_AVERAGE_POOLING, counts)));
    let reductions = [DC_METAL_GRAPH_SUM, DC_METAL_GRAPH_MEAN, DC_METAL_GRAPH_MAXIMUM, DC_METAL_GRAPH_MINIMUM];
    for operation in [DC_METAL_GRAPH_STATISTICS].iter().chain(&reductions) {
        all.extend([0b010, 0b101, 0b111].map(|axes| reduced(*operation, axes)));
    }
    all
}

pub(crate) fn graphs_compute_what_the_header_says() {
    let gpu = Gpu::new();
    assert!(dc!(DCMetalDevice_SupportsGraphs(gpu.device.0)));
    assert!(!dc!(DCMetalDevice_SupportsGraphs(ptr::null_mut())));
    for of in all() {
        let (graph, tensors) = (made(&gpu, &of).expect("a graph"), Tensors::new(&gpu, &of));
        let command_buffer = gpu.command_buffer();
        encode(&graph, &command_buffer, &tensors.inputs, &tensors.results).expect("it is encoded");
        drop(graph);
        commit(&command_buffer);
        wait(&command_buffer).expect("it completes");
        tensors.check(&of);
    }
}

/// 3000 ones: halves stop at 2048, and brain floats at 256.
pub(crate) fn graphs_sum_in_floats() {
    let gpu = Gpu::new();
    for (number, result) in [(HALF, FLOAT), (HALF, HALF), (BRAIN, FLOAT), (BRAIN, BRAIN)] {
        let x = shape(number, &[3000]);
        let of = DCMetalGraphDescriptor { axes: 1, ..described(DC_METAL_GRAPH_SUM, &[x], &[shape(result, &[1])]) };
        let graph = made(&gpu, &of).expect("a graph");
        let ones: Vec<u8> = (0..3000).flat_map(|_| bits(number, 1.0)).collect();
        let (from, into) = (gpu.buffer_of(&ones), gpu.buffer(element(result) as u64));
        let tensor = |buffer: &Owned<DCMetalBuffer>| DCMetalTensor { buffer: buffer.0, offset: 0 };
        let command_buffer = gpu.command_buffer();
        encode(&graph, &command_buffer, &[tensor(&from)], &[tensor(&into)]).expect("it is encoded");
        commit(&command_buffer);
        wait(&command_buffer).expect("it completes");
        // 3000 has eight digits of brain floats with the last cut to a multiple of 16, even.
        let wanted = if result == BRAIN { 3008.0 } else { 3000.0 };
        assert_eq!(value(result, &contents::<u8>(&into)), wanted, "{number:?} to {result:?}");
    }
}

// ------------------------------------------------------------------ refusals

type Change = fn(&mut DCMetalGraphDescriptor);

pub(crate) fn graphs_that_cannot_be_are_refused() {
    let gpu = Gpu::new();
    let everywhere: [Change; 12] = [
        |of| of.operation = DCMetalGraphOperation(10),
        |of| of.input_count += 1,
        |of| of.input_count -= 1,
        |of| of.result_count += 1,
        |of| of.result_count = 0,
        |of| of.inputs[0].rank = 0,
        |of| of.inputs[0].rank = 5,
        |of| of.inputs[0].extents[0] = 0,
        |of| of.inputs[0].extents = [1 << 31, 1, 1, 1],
        |of| of.inputs[0].extents = [1 << 16; 4],
        |of| of.inputs[0].number = DCMetalNumber(0x2000_0020),
        |of| of.results[0].extents[1] += 1,
    ];
    for of in all() {
        for (number, change) in everywhere.iter().enumerate() {
            let mut wrong = of;
            change(&mut wrong);
            refused(
                INVALID,
                made(&gpu, &wrong).map_err(|failure| {
                    assert_eq!(failure.status, INVALID, "change {number} of {:?}: {failure:?}", of.operation);
                    failure
                }),
            );
        }
    }
    let of_convolutions: [Change; 17] = [
        |of| of.inputs[0].rank = 3,
        |of| of.inputs[1].rank = 3,
        |of| of.inputs[1].number = FLOAT,
        |of| of.inputs[2].number = FLOAT,
        |of| of.results[0].number = FLOAT,
        |of| of.inputs[1].extents[2] = 4,
        |of| of.inputs[1].extents[3] = 5,
        |of| of.inputs[2].extents = [1, 1, 6, 1],
        |of| of.inputs[2].rank = 1,
        |of| of.has_bias = false,
        |of| of.groups = 0,
        |of| of.groups = 4,
        |of| of.stride[0] = 0,
        |of| of.dilation[1] = 0,
        |of| of.padding[0] = 1 << 31,
        |of| of.stride[1] = u64::MAX,
        |of| of.dilation[0] = 7,
    ];
    let of_pools: [Change; 4] =
        [|of| of.window[0] = 0, |of| of.window[1] = 8, |of| of.window[1] = u64::MAX, |of| of.results[0].number = HALF];
    let of_axes: [Change; 2] = [|of| of.axes = 0, |of| of.axes = 0b1000];
    let of_normalizations: [Change; 3] =
        [|of| of.inputs[1].extents[1] = 2, |of| of.inputs[2].rank = 1, |of| of.has_scale = false];
    let maximum = reduced(DC_METAL_GRAPH_MAXIMUM, 1);
    let tables: [(DCMetalGraphDescriptor, &[Change]); 6] = [
        (convolution(HALF), &of_convolutions),
        (pool(DC_METAL_GRAPH_MAX_POOLING, false), &of_pools),
        (maximum, &of_axes),
        (maximum, &[|of| of.results[0].number = HALF]),
        (layer_normalization(), &of_axes),
        (normalization(), &of_normalizations),
    ];
    for (of, changes) in tables {
        for change in changes {
            let mut wrong = of;
            change(&mut wrong);
            refused(INVALID, made(&gpu, &wrong));
        }
    }
    let large = |extent: u64| {
        let one = shape(FLOAT, &[1, 1, 1, 1]);
        let [features, result] = [1, 0].map(|_| shape(FLOAT, &[1, 1, 1, extent]));
        described(DC_METAL_GRAPH_CONVOLUTION, &[one, features], &[result])
    };
    made(&gpu, &large(65536)).expect("a graph");
    refused(DC_METAL_UNSUPPORTED, made(&gpu, &large(65537)));
    let (of, null) = (maximum, ptr::null_mut());
    refused(INVALID, create(|out: *mut DCMetalGraph, error| dc!(DCMetalGraph_Create(null, &of, out, error))));
    refused(INVALID, create(|out, error| dc!(DCMetalGraph_Create(gpu.device.0, ptr::null(), out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalGraph_Create(gpu.device.0, &of, ptr::null_mut(), error))));
    dc!(DCMetalGraph_Release(ptr::null_mut()));
}

pub(crate) fn graphs_tensors_and_moments_are_checked() {
    let gpu = Gpu::new();
    let of = reduced(DC_METAL_GRAPH_STATISTICS, 0b100);
    let (graph, buffer, command_buffer) = (made(&gpu, &of).expect("a graph"), gpu.buffer(256), gpu.command_buffer());
    let at = |offset: u64| DCMetalTensor { buffer: buffer.0, offset };
    // x is 96 bytes, mean and variance are 24.
    let (x, results) = ([at(0)], [at(96), at(120)]);
    let none = DCMetalTensor { buffer: ptr::null_mut(), offset: 0 };
    for wrong in [none, at(2), at(164), at(256), at(u64::MAX - 3), at(92), at(116), at(136)] {
        refused(INVALID, encode(&graph, &command_buffer, &[wrong], &results));
    }
    for wrong in [none, at(98), at(236), at(0), at(92), at(100), at(140)] {
        refused(INVALID, encode(&graph, &command_buffer, &x, &[wrong, at(120)]));
    }
    let (inputs, outputs) = (x.as_ptr(), results.as_ptr());
    let (buffered, null) = (command_buffer.0, ptr::null());
    refused(INVALID, attempt(|error| dc!(DCMetalGraph_Encode(ptr::null_mut(), buffered, inputs, outputs, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalGraph_Encode(graph.0, ptr::null_mut(), inputs, outputs, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalGraph_Encode(graph.0, buffered, null, outputs, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalGraph_Encode(graph.0, buffered, inputs, null, error))));
    let options = DCMetalCommandBufferOptions { unretained_references: true, ..Default::default() };
    refused(INVALID, encode(&graph, &gpu.command_buffer_with(Some(&options)), &x, &results));
    // The last byte may be used.
    encode(&graph, &command_buffer, &[at(160)], &[at(0), at(24)]).expect("it fits");
    let encoder = compute_encoder(&command_buffer);
    refused(STATE, encode(&graph, &command_buffer, &x, &results));
    end(&encoder);
    commit(&command_buffer);
    refused(STATE, encode(&graph, &command_buffer, &x, &results));
    wait(&command_buffer).expect("it completes");
}

/// x, of 96 bytes, and its sums, of 24, in two buffers over the same memory: they are refused where they overlap, and encoded elsewhere, as with sums in `beside`.
fn refused_over_each_other(
    gpu: &Gpu,
    one: &Owned<DCMetalBuffer>,
    over: &Owned<DCMetalBuffer>,
    beside: &[DCMetalTensor],
) {
    let of = reduced(DC_METAL_GRAPH_SUM, 0b100);
    let (graph, command_buffer) = (made(gpu, &of).expect("a graph"), gpu.command_buffer());
    let at = |buffer: &Owned<DCMetalBuffer>, offset: u64| DCMetalTensor { buffer: buffer.0, offset };
    for (x, sum) in [(at(one, 0), at(over, 0)), (at(one, 0), at(over, 92)), (at(over, 20), at(one, 0))] {
        let said = refused(INVALID, encode(&graph, &command_buffer, &[x], &[sum]));
        assert_eq!(said, "the result overlaps another tensor");
    }
    // Next to each other in the same memory, and in memory of their own.
    let next = [(at(one, 0), at(over, 96)), (at(over, 24), at(one, 0))];
    for (x, sum) in next.into_iter().chain(beside.iter().map(|&sum| (at(one, 0), sum))) {
        encode(&graph, &command_buffer, &[x], &[sum]).expect("they are apart");
    }
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
}

pub(crate) fn graphs_see_memory_that_buffers_share() {
    let gpu = Gpu::new();
    for storage in [DC_METAL_STORAGE_SHARED, DC_METAL_STORAGE_MANAGED] {
        let pages = Pages::new(2);
        let of = |from: usize| {
            let (start, length) = (pages.start.wrapping_add(from), pages.length() - from as u64);
            pages.buffer_of(gpu.device.0, start, length, storage, None).expect("a buffer")
        };
        let page = pages.length() as usize / 2;
        let (one, over, behind) = (of(0), of(0), of(page));
        refused_over_each_other(&gpu, &one, &over, &[DCMetalTensor { buffer: behind.0, offset: 0 }]);
        let graph = made(&gpu, &reduced(DC_METAL_GRAPH_SUM, 0b100)).expect("a graph");
        let [x, sum] = [(&one, page as u64), (&behind, 0)].map(|(of, offset)| DCMetalTensor { buffer: of.0, offset });
        refused(INVALID, encode(&graph, &gpu.command_buffer(), &[x], &[sum]));
    }
    for storage in [DC_METAL_STORAGE_SHARED, DC_METAL_STORAGE_PRIVATE] {
        let of_heap = DCMetalHeapDescriptor {
            size: 1 << 16,
            storage,
            cache: DC_METAL_CACHE_DEFAULT,
            type_: DC_METAL_HEAP_PLACEMENT,
            hazards: DC_METAL_HAZARDS_TRACKED,
        };
        let heap: Owned<DCMetalHeap> =
            create(|out, error| dc!(DCMetalHeap_Create(gpu.device.0, &of_heap, out, error))).expect("a heap");
        let (mut size, mut alignment) = (0, 0);
        dc!(DCMetalDevice_GetHeapBufferSize(gpu.device.0, 256, storage, &mut size, &mut alignment));
        let placed = |offset: u64| -> Owned<DCMetalBuffer> {
            create(|out, error| dc!(DCMetalHeap_CreateBufferAt(heap.0, 256, offset, out, error))).expect("a buffer")
        };
        // In a heap, and in memory of its own.
        let (behind, cache) = (placed(2 * size), DC_METAL_CACHE_DEFAULT);
        let alone: Owned<DCMetalBuffer> =
            create(|out, error| dc!(DCMetalBuffer_Create(gpu.device.0, 256, storage, cache, out, error)))
                .expect("a buffer");
        let beside = [&behind, &alone].map(|buffer| DCMetalTensor { buffer: buffer.0, offset: 0 });
        refused_over_each_other(&gpu, &placed(size), &placed(size), &beside);
    }
}

// ------------------------------------------------------------------ what a graph asks to be committed

/// A child in which hostmetal asks for a commit between a graph's steps; elsewhere Metal does it when it likes.
#[cfg(target_os = "linux")]
const COMMITS: &str = "HOSTMETAL_GRAPH_COMMITS";

/// Runs the case of this name again, with commits.
#[cfg(target_os = "linux")]
fn again(name: &str) {
    if std::env::var_os(COMMITS).is_some() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    child.args(["every_case_holds", "--exact", "--nocapture"]).env(COMMITS, "1").env("DCMETAL_ABI_CASES", name);
    let output = child.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains(name), "the child ran the case");
}

pub(crate) fn graphs_are_committed_whole() {
    let gpu = Gpu::new();
    // Two steps each: a sum of products and its bias; mean and variance of what a fill wrote before.
    let of = convolution(FLOAT);
    let (graph, tensors) = (made(&gpu, &of).expect("a graph"), Tensors::new(&gpu, &of));
    let statistics = reduced(DC_METAL_GRAPH_STATISTICS, 0b111);
    let (second, buffer) = (made(&gpu, &statistics).expect("a graph"), gpu.buffer_of(&[7.0f32; 26]));
    let at = |offset: u64| DCMetalTensor { buffer: buffer.0, offset };
    let command_buffer = gpu.command_buffer();
    let encoder = blit_encoder(&command_buffer);
    attempt(|error| dc!(DCMetalBlitEncoder_FillBuffer(encoder.0, buffer.0, 0, 96, 0, error))).expect("a fill");
    attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("it ends");
    encode(&graph, &command_buffer, &tensors.inputs, &tensors.results).expect("it is encoded");
    encode(&second, &command_buffer, &[at(0)], &[at(96), at(100)]).expect("and so is another");
    assert!(dc!(DCMetalCommandBuffer_GetStatus(command_buffer.0)).0 <= DC_METAL_COMMAND_BUFFER_ENQUEUED.0);
    // A second commit would fail.
    #[cfg(target_os = "linux")]
    hostmetal::faults::set("commit:error=internal:at=2").expect("a rule");
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    #[cfg(target_os = "linux")]
    hostmetal::faults::set("").expect("no rules");
    assert_eq!(dc!(DCMetalCommandBuffer_GetStatus(command_buffer.0)), DC_METAL_COMMAND_BUFFER_COMPLETED);
    tensors.check(&of);
    assert_eq!(contents::<f32>(&buffer)[24..], [0.0, 0.0]);
    let (mut start, mut end) = (0.0, 0.0);
    assert_eq!(dc!(DCMetalCommandBuffer_GetGPUTimes(command_buffer.0, &mut start, &mut end)), DC_METAL_OK);
    assert!(start > 0.0 && end > start);
    #[cfg(target_os = "linux")]
    {
        hostmetal_only::what_is_encoded_by_half_is_only_released(&gpu);
        again("graphs_are_committed_whole");
        if std::env::var_os(COMMITS).is_some() {
            hostmetal_only::a_graph_that_commits_itself_is_an_error(&gpu);
        }
    }
}

/// What takes faults that hostmetal injects, and GCC's Objective-C runtime.
#[cfg(target_os = "linux")]
mod hostmetal_only {
    use std::ffi::{c_char, c_void};

    use super::*;

    const BY_HALF: &str = "a graph was encoded by half into the command buffer";

    fn nothing_else_is_done(gpu: &Gpu, command_buffer: &Owned<DCMetalCommandBuffer>, again: Result<(), Failure>) {
        let event: Owned<DCMetalEvent> =
            create(|out, error| dc!(DCMetalEvent_Create(gpu.device.0, out, error))).expect("an event");
        let mut encoder = ptr::null_mut();
        let attempts = [
            again,
            attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(command_buffer.0, error))),
            attempt(|error| dc!(DCMetalBlitEncoder_Create(command_buffer.0, &mut encoder, error))),
            attempt(|error| dc!(DCMetalCommandBuffer_EncodeSignalEvent(command_buffer.0, event.0, 1, error))),
            attempt(|error| dc!(DCMetalCommandBuffer_Commit(command_buffer.0, error))),
        ];
        for refusal in attempts {
            assert_eq!(refused(STATE, refusal), BY_HALF);
        }
    }

    pub(super) fn what_is_encoded_by_half_is_only_released(gpu: &Gpu) {
        let of = convolution(FLOAT);
        let (graph, tensors) = (made(gpu, &of).expect("a graph"), Tensors::new(gpu, &of));
        let command_buffer = gpu.command_buffer();
        // With commits, the first step is encoded and the second is not.
        let step = 1 + usize::from(std::env::var_os(COMMITS).is_some());
        hostmetal::faults::set(&format!("encoder:at={step}")).expect("a rule");
        let failure =
            encode(&graph, &command_buffer, &tensors.inputs, &tensors.results).expect_err("there is no encoder");
        hostmetal::faults::set("").expect("no rules");
        assert_eq!(failure.status, DC_METAL_OUT_OF_MEMORY);
        let again = encode(&graph, &command_buffer, &tensors.inputs, &tensors.results);
        nothing_else_is_done(gpu, &command_buffer, again);
    }

    unsafe extern "C" {
        fn objc_getClass(name: *const c_char) -> *mut c_void;
        fn sel_registerName(name: *const c_char) -> *const c_void;
        fn class_getMethodImplementation(class: *mut c_void, selector: *const c_void) -> *const c_void;
        fn class_replaceMethod(
            class: *mut c_void,
            selector: *const c_void,
            method: *const c_void,
            types: *const c_char,
        ) -> *const c_void;
    }

    /// As if Metal went round the command buffer's own commitAndContinue; of this process from here on.
    pub(super) fn a_graph_that_commits_itself_is_an_error(gpu: &Gpu) {
        // SAFETY: a C string.
        let class = |name: &std::ffi::CStr| unsafe { objc_getClass(name.as_ptr()) };
        let (ours, theirs) = (class(c"DCMetalWhole"), class(c"MPSCommandBuffer"));
        // SAFETY: a C string.
        let selector = unsafe { sel_registerName(c"commitAndContinue".as_ptr()) };
        assert!(!ours.is_null() && !theirs.is_null() && !selector.is_null());
        // SAFETY: a class, and a selector that it has.
        let method = unsafe { class_getMethodImplementation(theirs, selector) };
        // SAFETY: the method has this signature, and nobody sends the message now.
        unsafe { class_replaceMethod(ours, selector, method, c"v16@0:8".as_ptr()) };
        let of = convolution(FLOAT);
        let (graph, tensors) = (made(gpu, &of).expect("a graph"), Tensors::new(gpu, &of));
        let command_buffer = gpu.command_buffer();
        let encoded = encode(&graph, &command_buffer, &tensors.inputs, &tensors.results);
        assert_eq!(refused(DC_METAL_FAILED, encoded), "Metal committed a graph by itself");
        assert_eq!(dc!(DCMetalCommandBuffer_GetStatus(command_buffer.0)), DC_METAL_COMMAND_BUFFER_COMPLETED);
        let again = encode(&graph, &command_buffer, &tensors.inputs, &tensors.results);
        nothing_else_is_done(gpu, &command_buffer, again);
    }
}
