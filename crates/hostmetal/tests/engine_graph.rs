//! Operations of Metal Performance Shaders Graph through the engine's C interface, against their definitions in double.

mod support;

use half::{bf16, f16};
use hostmetal::ffi::*;
use support::*;

const FLOAT32: u32 = 0x1000_0020;
const FLOAT16: u32 = 0x1000_0010;
const BFLOAT16: u32 = 0x9000_0010;
const TYPES: [u32; 3] = [FLOAT32, FLOAT16, BFLOAT16];

const CAST: u32 = 0;
const ADDITION: u32 = 1;
const CONVOLUTION: u32 = 2;
const MAX_POOLING: u32 = 3;
const AVERAGE_POOLING: u32 = 4;
const SUM: u32 = 5;
const MEAN: u32 = 6;
const VARIANCE: u32 = 7;
const MAXIMUM: u32 = 8;
const MINIMUM: u32 = 9;
const NORMALIZATION: u32 = 10;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn number(&mut self) -> f32 {
        self.below(2001) as f32 / 1000.0 - 1.0
    }
}

/// Packed numbers behind some others, whose bytes must stay.
struct Tensor {
    shape: HMGraphShape,
    buffer: Buffer,
    offset: u64,
    numbers: Vec<f32>,
}

fn shape(data_type: u32, extents: &[usize]) -> HMGraphShape {
    let mut shape = HMGraphShape { data_type, rank: extents.len() as u32, extents: [0; 4] };
    shape.extents.iter_mut().zip(extents).for_each(|(to, &extent)| *to = extent as u64);
    shape
}

fn bytes_of(data_type: u32) -> usize {
    if data_type == FLOAT32 { 4 } else { 2 }
}

fn rounded(data_type: u32, x: f32) -> f32 {
    match data_type {
        FLOAT16 => f16::from_f32(x).to_f32(),
        BFLOAT16 => bf16::from_f32(x).to_f32(),
        _ => x,
    }
}

/// Half the distance from 1 to the next number.
fn unit(data_type: u32) -> f64 {
    match data_type {
        FLOAT16 => f64::exp2(-11.0),
        BFLOAT16 => f64::exp2(-8.0),
        _ => f64::exp2(-24.0),
    }
}

const BEHIND: usize = 8;
const AROUND: u8 = 0xa5;

impl Tensor {
    fn new(data_type: u32, extents: &[usize], before: usize, mut number: impl FnMut() -> f32) -> Tensor {
        let count = extents.iter().product::<usize>();
        let (element, offset) = (bytes_of(data_type), before * bytes_of(data_type));
        let mut bytes = vec![AROUND; offset + count * element + BEHIND];
        let numbers: Vec<f32> = (0..count).map(|_| rounded(data_type, number())).collect();
        for (to, &x) in bytes[offset..].chunks_exact_mut(element).zip(&numbers) {
            match data_type {
                FLOAT16 => to.copy_from_slice(&f16::from_f32(x).to_le_bytes()),
                BFLOAT16 => to.copy_from_slice(&bf16::from_f32(x).to_le_bytes()),
                _ => to.copy_from_slice(&x.to_le_bytes()),
            }
        }
        Tensor { shape: shape(data_type, extents), buffer: Buffer::of(&bytes), offset: offset as u64, numbers }
    }

    fn memory(&self) -> HMGraphMemory {
        HMGraphMemory { buffer: self.buffer.0, offset: self.offset }
    }

    /// What it holds now.
    fn read(&self) -> Vec<f32> {
        let bytes: Vec<u8> = self.buffer.read();
        let (start, element) = (self.offset as usize, bytes_of(self.shape.data_type));
        let end = start + self.numbers.len() * element;
        assert!(
            bytes[..start].iter().chain(&bytes[end..end + BEHIND]).all(|&byte| byte == AROUND),
            "what lies beside was written"
        );
        let number = |bytes: &[u8]| match self.shape.data_type {
            FLOAT16 => f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(),
            BFLOAT16 => bf16::from_le_bytes([bytes[0], bytes[1]]).to_f32(),
            _ => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        };
        bytes[start..end].chunks_exact(element).map(number).collect()
    }
}

fn none() -> HMGraphMemory {
    // SAFETY: a handle of zeros is NULL, which stands for no tensor.
    unsafe { std::mem::zeroed() }
}

/// Checks the node, runs it and gives what it made, of the shape that was said.
fn run(mut node: HMGraphNode, inputs: &[Option<&Tensor>], extents: &[usize]) -> Vec<f32> {
    let mut memory = [none(); 6];
    for (at, input) in inputs.iter().enumerate() {
        let Some(input) = input else { continue };
        node.inputs[at] = input.shape;
        memory[at] = input.memory();
    }
    // SAFETY: the node is one.
    ok(unsafe { hm_graph_check(&mut node) });
    let result = Tensor::new(node.result.data_type, extents, 3, || f32::NAN);
    assert_eq!((node.result.rank, node.result.extents), (result.shape.rank, result.shape.extents));
    memory[5] = result.memory();
    // SAFETY: the handles are valid.
    let record = |encoder: &Encoder| ok(unsafe { hm_compute_graph_node(encoder.0, &node, &memory) });
    Queue::new().run(record).assert_completed();
    result.read()
}

/// Each is a sum of so many terms, whose absolute values' sum is given, rounded once to the type.
fn assert_close(data_type: u32, what: &str, made: &[f32], expected: &[(f64, f64)], terms: usize) {
    assert_eq!(made.len(), expected.len());
    for (at, (&x, &(sum, size))) in made.iter().zip(expected).enumerate() {
        let bound = (terms + 4) as f64 * unit(FLOAT32) * size + unit(data_type) * sum.abs() + f64::exp2(-24.0);
        assert!((f64::from(x) - sum).abs() <= bound, "{what}: element {at} is {x}, not {sum}");
    }
}

/// Windows and images at random.
struct Case {
    image: [usize; 4],
    window: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    padding: [usize; 4],
    places: [usize; 2],
}

impl Case {
    fn new(random: &mut Random, channels: usize) -> Case {
        loop {
            let image = [random.below(3) + 1, random.below(12) + 1, random.below(12) + 1, channels];
            let [window, stride, dilation] = [4, 3, 2].map(|most| [random.below(most) + 1, random.below(most) + 1]);
            let padding = std::array::from_fn(|_| random.below(3));
            let padded = [image[1] + padding[0] + padding[1], image[2] + padding[2] + padding[3]];
            let reach = [0, 1].map(|axis| (window[axis] - 1) * dilation[axis] + 1);
            if reach[0] > padded[0] || reach[1] > padded[1] {
                continue;
            }
            let places = [0, 1].map(|axis| (padded[axis] - reach[axis]) / stride[axis] + 1);
            return Case { image, window, stride, dilation, padding, places };
        }
    }

    fn node(&self, operation: u32) -> HMGraphNode {
        let numbers = |of: [usize; 2]| of.map(|number| number as u64);
        HMGraphNode {
            operation,
            window: numbers(self.window),
            stride: numbers(self.stride),
            dilation: numbers(self.dilation),
            padding: self.padding.map(|number| number as u64),
            ..HMGraphNode::default()
        }
    }

    fn of_places(&self, features: usize) -> [usize; 4] {
        [self.image[0], self.places[0], self.places[1], features]
    }

    /// The number in the window and in the image of each element that is no padding.
    fn elements(&self, place: usize) -> Vec<(usize, usize)> {
        let [down, across] = self.places;
        let (image, y, x) = (place / across / down, place / across % down, place % across);
        let mut elements = Vec::new();
        for row in 0..self.window[0] {
            for column in 0..self.window[1] {
                let at = (y * self.stride[0] + row * self.dilation[0]) as i64 - self.padding[0] as i64;
                let beside = (x * self.stride[1] + column * self.dilation[1]) as i64 - self.padding[2] as i64;
                if (0..self.image[1] as i64).contains(&at) && (0..self.image[2] as i64).contains(&beside) {
                    let pixel = (image * self.image[1] + at as usize) * self.image[2] + beside as usize;
                    elements.push((row * self.window[1] + column, pixel));
                }
            }
        }
        elements
    }

    fn count(&self) -> usize {
        self.image[0] * self.places[0] * self.places[1]
    }
}

fn check_convolution(random: &mut Random, case: &Case, data_type: u32, groups: usize, made: usize) {
    let [.., channels] = case.image;
    let (of_group, features) = (channels / groups, made * groups);
    let x = Tensor::new(data_type, &case.image, 1, || random.number());
    let w = Tensor::new(data_type, &[case.window[0], case.window[1], of_group, features], 2, || random.number());
    let node = HMGraphNode { groups: groups as u64, ..case.node(CONVOLUTION) };
    let result = run(node, &[Some(&x), Some(&w)], &case.of_places(features));
    let mut expected = Vec::new();
    for place in 0..case.count() {
        let elements = case.elements(place);
        for feature in 0..features {
            let first = feature / made * of_group;
            let (mut sum, mut size) = (0.0f64, 0.0f64);
            for &(tap, pixel) in &elements {
                for channel in 0..of_group {
                    let a = f64::from(x.numbers[pixel * channels + first + channel]);
                    let b = f64::from(w.numbers[(tap * of_group + channel) * features + feature]);
                    sum += a * b;
                    size += (a * b).abs();
                }
            }
            expected.push((sum, size));
        }
    }
    let terms = case.window[0] * case.window[1] * of_group;
    assert_close(data_type, &format!("{groups} groups, type {data_type:x}"), &result, &expected, terms);
}

#[test]
fn convolutions_are_sums_over_windows() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for turn in 0..60 {
        let groups = [1, 1, 2, 3, 5][turn % 5];
        let of_group = random.below(4) + 1;
        let made = random.below(4) + 1;
        let case = Case::new(&mut random, groups * of_group);
        check_convolution(&mut random, &case, TYPES[turn % 3], groups, made);
    }
}

/// Several blocks of places, and windows of one element whose source is used where it lies.
#[test]
fn large_convolutions_are_shared_by_workers() {
    let mut random = Random(7);
    for (window, channels, features, groups) in
        [([3, 3], 48, 40, 1), ([1, 1], 64, 33, 1), ([3, 2], 96, 96, 96), ([3, 3], 32, 64, 4)]
    {
        let image = [2, 40, 37, channels];
        let places = [40 - window[0] + 1, 37 - window[1] + 1];
        let case = Case { image, window, stride: [1, 1], dilation: [1, 1], padding: [0; 4], places };
        check_convolution(&mut random, &case, FLOAT32, groups, features / groups);
        check_convolution(&mut random, &case, BFLOAT16, groups, features / groups);
    }
}

#[test]
fn pools_are_maxima_and_means_of_windows() {
    let mut random = Random(11);
    for turn in 0..60 {
        let channels = random.below(9) + 1;
        let case = Case::new(&mut random, channels);
        let data_type = TYPES[turn % 3];
        let x = Tensor::new(data_type, &case.image, 5, || random.number());
        let extents = case.of_places(channels);
        let largest = run(case.node(MAX_POOLING), &[Some(&x)], &extents);
        let within = run(case.node(AVERAGE_POOLING), &[Some(&x)], &extents);
        let with_padding = HMGraphNode { counts_padding: true, ..case.node(AVERAGE_POOLING) };
        let with_padding = run(with_padding, &[Some(&x)], &extents);
        for at in 0..case.count() * channels {
            let elements = case.elements(at / channels);
            let numbers = || elements.iter().map(|(_, pixel)| x.numbers[pixel * channels + at % channels]);
            assert_eq!(largest[at], numbers().fold(f32::NEG_INFINITY, f32::max));
            let sum: f64 = numbers().map(f64::from).sum();
            let size: f64 = numbers().map(|x| f64::from(x).abs()).sum();
            let all = (case.window[0] * case.window[1]) as f64;
            assert_close(
                data_type,
                "padding counts",
                &with_padding[at..=at],
                &[(sum / all, size / all)],
                elements.len(),
            );
            let count = elements.len() as f64;
            if elements.is_empty() {
                assert!(within[at].is_nan(), "a mean of nothing");
            } else {
                assert_close(
                    data_type,
                    "padding does not count",
                    &within[at..=at],
                    &[(sum / count, size / count)],
                    elements.len(),
                );
            }
        }
    }
}

/// The elements of a tensor by the element of the result that each belongs to.
fn groups_of(extents: &[usize], axes: u32) -> (Vec<usize>, Vec<Vec<usize>>) {
    let kept: Vec<usize> =
        (0..extents.len()).map(|axis| if axes >> axis & 1 == 1 { 1 } else { extents[axis] }).collect();
    let mut groups = vec![Vec::new(); kept.iter().product()];
    for element in 0..extents.iter().product() {
        let (mut rest, mut to, mut stride) = (element, 0, 1);
        for axis in (0..extents.len()).rev() {
            to += rest % extents[axis] % kept[axis] * stride;
            rest /= extents[axis];
            stride *= kept[axis];
        }
        groups[to].push(element);
    }
    (kept, groups)
}

fn reduction(operation: u32, axes: u32) -> HMGraphNode {
    HMGraphNode { operation, axes, ..HMGraphNode::default() }
}

#[test]
fn reductions_are_over_their_axes() {
    let mut random = Random(13);
    let mut shapes: Vec<Vec<usize>> = vec![vec![3, 1 << 16], vec![70_001], vec![1 << 12, 70]];
    shapes.extend((0..40).map(|turn| (0..turn % 4 + 1).map(|_| random.below(9) + 1).collect()));
    for (turn, extents) in shapes.iter().enumerate() {
        let axes = random.below((1 << extents.len()) - 1) as u32 + 1;
        let data_type = TYPES[turn % 3];
        let x = Tensor::new(data_type, extents, turn % 4, || random.number());
        let (kept, groups) = groups_of(extents, axes);
        let of = |operation: u32| run(reduction(operation, axes), &[Some(&x)], &kept);
        let (sums, means, largest, smallest) = (of(SUM), of(MEAN), of(MAXIMUM), of(MINIMUM));
        let mean = Tensor::new(data_type, &kept, 2, {
            let mut means = means.iter();
            move || *means.next().expect("one for each")
        });
        let variances = run(reduction(VARIANCE, axes), &[Some(&x), Some(&mean)], &kept);
        for (at, group) in groups.iter().enumerate() {
            let numbers = || group.iter().map(|&element| x.numbers[element]);
            let count = group.len() as f64;
            let sum: f64 = numbers().map(f64::from).sum();
            let size: f64 = numbers().map(|x| f64::from(x).abs()).sum();
            // At most 32 numbers are added in 32 bits, and sixteen sums of them.
            assert_close(data_type, "sum", &sums[at..=at], &[(sum, size)], 48);
            assert_close(data_type, "mean", &means[at..=at], &[(sum / count, size / count)], 48);
            let variance: f64 = numbers().map(|x| (f64::from(x) - f64::from(means[at])).powi(2)).sum::<f64>() / count;
            assert_close(data_type, "variance", &variances[at..=at], &[(variance, variance)], 52);
            assert_eq!(largest[at], numbers().fold(f32::NEG_INFINITY, f32::max));
            assert_eq!(smallest[at], numbers().fold(f32::INFINITY, f32::min));
        }
    }
}

#[test]
fn maxima_and_minima_keep_nan() {
    for axes in [1, 2] {
        let mut numbers = [1.0, f32::NAN, 3.0, 0.5, 2.0, -1.0, 7.0, 8.0, f32::NEG_INFINITY].into_iter();
        let x = Tensor::new(FLOAT32, &[3, 3], 0, || numbers.next().expect("nine"));
        let kept = if axes == 1 { [1, 3] } else { [3, 1] };
        let of_nan = if axes == 1 { 1 } else { 0 };
        for operation in [MAXIMUM, MINIMUM] {
            let made = run(reduction(operation, axes), &[Some(&x)], &kept);
            let nans: Vec<bool> = made.iter().map(|x| x.is_nan()).collect();
            assert_eq!(nans, [of_nan == 0, of_nan == 1, false]);
        }
    }
    let mut numbers = [1.0, f32::NAN, 3.0, 0.5].into_iter();
    let x = Tensor::new(FLOAT32, &[1, 1, 4, 1], 0, || numbers.next().expect("four"));
    let node = HMGraphNode {
        operation: MAX_POOLING,
        window: [1, 2],
        stride: [1, 2],
        dilation: [1, 1],
        ..HMGraphNode::default()
    };
    let made = run(node, &[Some(&x)], &[1, 1, 2, 1]);
    assert!(made[0].is_nan());
    assert_eq!(made[1], 3.0);
}

/// What one holds for an element of the whole: the extents of 1 spread.
fn spread(tensor: &Tensor, whole: &[usize], element: usize) -> f64 {
    let (mut rest, mut at, mut stride) = (element, 0, 1);
    for axis in (0..whole.len()).rev() {
        let extent = tensor.shape.extents[axis] as usize;
        at += rest % whole[axis] % extent * stride;
        rest /= whole[axis];
        stride *= extent;
    }
    f64::from(tensor.numbers[at])
}

#[test]
fn normalisation_spreads_what_it_is_given() {
    let mut random = Random(17);
    for turn in 0..40 {
        let data_type = TYPES[turn % 3];
        let whole: Vec<usize> = (0..turn % 4 + 1).map(|_| random.below(12) + 1).collect();
        let x = Tensor::new(data_type, &whole, 1, || random.number());
        let extents: [Vec<usize>; 4] = std::array::from_fn(|_| {
            whole.iter().map(|&extent| if random.below(2) == 0 { 1 } else { extent }).collect()
        });
        let mean = Tensor::new(data_type, &extents[0], 2, || random.number());
        let variance = Tensor::new(data_type, &extents[1], 3, || random.number().abs() + 0.25);
        let scale = (turn & 4 != 0).then(|| Tensor::new(data_type, &extents[2], 1, || random.number()));
        let shift = (turn & 8 != 0).then(|| Tensor::new(data_type, &extents[3], 1, || random.number()));
        let epsilon = 1e-3f32;
        let node = HMGraphNode { operation: NORMALIZATION, epsilon, ..HMGraphNode::default() };
        let made = run(node, &[Some(&x), Some(&mean), Some(&variance), scale.as_ref(), shift.as_ref()], &whole);
        let expected: Vec<(f64, f64)> = (0..x.numbers.len())
            .map(|element| {
                let at = |tensor: &Tensor| spread(tensor, &whole, element);
                let normal = (at(&x) - at(&mean)) / (at(&variance) + f64::from(epsilon)).sqrt();
                let (scale, shift) = (scale.as_ref().map_or(1.0, at), shift.as_ref().map_or(0.0, at));
                (normal * scale + shift, (normal * scale).abs() + shift.abs() + 1.0)
            })
            .collect();
        assert_close(data_type, "normalised", &made, &expected, 4);
    }
}

#[test]
fn sums_and_casts_are_rounded_once() {
    let mut random = Random(19);
    for (from, to) in [(FLOAT32, FLOAT16), (FLOAT16, FLOAT32), (BFLOAT16, FLOAT16), (FLOAT32, BFLOAT16)] {
        let x = Tensor::new(from, &[3, 5, 17_001], 1, || random.number());
        let result = HMGraphShape { data_type: to, ..HMGraphShape::default() };
        let made = run(HMGraphNode { operation: CAST, result, ..HMGraphNode::default() }, &[Some(&x)], &[3, 5, 17_001]);
        let expected: Vec<f32> = x.numbers.iter().map(|&x| rounded(to, x)).collect();
        assert_eq!(made, expected);
    }
    for data_type in TYPES {
        let x = Tensor::new(data_type, &[2, 3, 4, 7], 1, || random.number());
        let bias = Tensor::new(data_type, &[1, 1, 1, 7], 1, || random.number());
        let sum = HMGraphNode { operation: ADDITION, ..HMGraphNode::default() };
        for inputs in [[Some(&x), Some(&bias)], [Some(&bias), Some(&x)]] {
            let made = run(sum, &inputs, &[2, 3, 4, 7]);
            let expected = x.numbers.iter().enumerate().map(|(at, &x)| rounded(data_type, x + bias.numbers[at % 7]));
            assert_eq!(made, expected.collect::<Vec<f32>>());
        }
    }
}

/// What hm_graph_check says of a node of inputs of these shapes.
fn refusal(node: HMGraphNode, inputs: &[HMGraphShape]) -> Option<String> {
    let mut node = node;
    node.inputs[..inputs.len()].copy_from_slice(inputs);
    // SAFETY: the node is one.
    misuse(unsafe { hm_graph_check(&mut node) })
}

#[test]
fn what_does_not_fit_is_told() {
    let x = shape(FLOAT32, &[1, 5, 5, 6]);
    let windows = HMGraphNode { window: [3, 3], stride: [1, 1], dilation: [1, 1], groups: 1, ..HMGraphNode::default() };
    let refused = |node: HMGraphNode, inputs: &[HMGraphShape], text: &str| {
        let said = refusal(node, inputs);
        assert!(said.as_ref().is_some_and(|said| said.contains(text)), "{said:?} has no `{text}`");
    };
    let convolution = HMGraphNode { operation: CONVOLUTION, ..windows };
    assert_eq!(refusal(convolution, &[x, shape(FLOAT32, &[3, 3, 6, 4])]), None);
    refused(convolution, &[x, shape(FLOAT32, &[3, 3, 5, 4])], "the groups must divide");
    refused(HMGraphNode { groups: 0, ..convolution }, &[x, shape(FLOAT32, &[3, 3, 6, 4])], "the groups must divide");
    refused(HMGraphNode { groups: 3, ..convolution }, &[x, shape(FLOAT32, &[3, 3, 2, 4])], "the groups must divide");
    refused(convolution, &[x, shape(FLOAT16, &[3, 3, 6, 4])], "the source's type");
    refused(convolution, &[x, shape(FLOAT32, &[6, 3, 6, 4])], "within the padded source");
    refused(convolution, &[x], "must not be nil");
    refused(HMGraphNode { stride: [0, 1], ..convolution }, &[x, shape(FLOAT32, &[3, 3, 6, 4])], "must be > 0");
    refused(HMGraphNode { operation: MAX_POOLING, window: [6, 1], ..windows }, &[x], "within the padded source");
    refused(HMGraphNode { operation: MAX_POOLING, ..windows }, &[shape(FLOAT32, &[5, 5, 6])], "must have 4 axes");
    refused(reduction(SUM, 0), &[x], "the axes must be");
    refused(reduction(SUM, 16), &[x], "the axes must be");
    refused(reduction(VARIANCE, 2), &[x, x], "the mean tensor");
    let sum = HMGraphNode { operation: ADDITION, ..HMGraphNode::default() };
    refused(sum, &[x, shape(FLOAT32, &[1, 1, 1, 5])], "spread to one shape");
    refused(sum, &[x, shape(FLOAT32, &[6])], "spread to one shape");
    refused(sum, &[x, x, x], "takes fewer tensors");
    refused(HMGraphNode { operation: CAST, result: x, ..HMGraphNode::default() }, &[x, x], "takes fewer tensors");
    refused(reduction(SUM, 2), &[], "must not be nil");
    refused(sum, &[shape(FLOAT32, &[1 << 16, 1]), shape(FLOAT32, &[1, 1 << 16])], "2^31 - 1 elements");
    let normalization = HMGraphNode { operation: NORMALIZATION, ..HMGraphNode::default() };
    refused(normalization, &[x, x], "must not be nil");
    refused(normalization, &[x, x, shape(FLOAT32, &[2, 1, 1, 1])], "spread to it");
    refused(sum, &[shape(0x2000_0020, &[2]), shape(0x2000_0020, &[2])], "are not supported by hostmetal");
    refused(sum, &[shape(FLOAT32, &[1 << 16, 1 << 15]), x], "2^31 - 1 elements");
    refused(sum, &[shape(FLOAT32, &[0]), x], "2^31 - 1 elements");
}

#[test]
fn buffers_are_large_enough() {
    let x = Tensor::new(FLOAT32, &[4, 4], 0, || 1.0);
    let mut node = HMGraphNode {
        inputs: [x.shape, x.shape, HMGraphShape::default(), HMGraphShape::default(), HMGraphShape::default()],
        operation: ADDITION,
        ..HMGraphNode::default()
    };
    // SAFETY: the node is one.
    ok(unsafe { hm_graph_check(&mut node) });
    let small = Buffer::new(63);
    let whole = Buffer::new(64);
    let try_with = |buffer: &Buffer, offset: u64| {
        let memory = [x.memory(), x.memory(), none(), none(), none(), HMGraphMemory { buffer: buffer.0, offset }];
        let mut said = None;
        // SAFETY: the handles are valid.
        let record = |encoder: &Encoder| said = misuse(unsafe { hm_compute_graph_node(encoder.0, &node, &memory) });
        Queue::new().run(record).assert_completed();
        said.unwrap_or_default()
    };
    assert_eq!(try_with(&whole, 0), "");
    assert!(try_with(&whole, 4).contains("not large enough"));
    assert!(try_with(&whole, 2).contains("multiple of the element size"));
    assert!(try_with(&small, 0).contains("not large enough"));
    assert!(try_with(&whole, u64::MAX - 3).contains("not large enough"));
    let memory = [x.memory(), x.memory(), none(), none(), none(), x.memory()];
    let mut said = None;
    // SAFETY: the handles are valid.
    let record = |encoder: &Encoder| said = misuse(unsafe { hm_compute_graph_node(encoder.0, &node, &memory) });
    Queue::new().run(record).assert_completed();
    assert!(said.is_some_and(|said| said.contains("overlaps what it is computed of")));
}

/// Only what is within the source is gone through: a window of 2^60 elements takes no time.
#[test]
fn windows_may_be_far_larger_than_their_source() {
    let x = Tensor::new(FLOAT32, &[1, 3, 2, 1], 0, || 2.0);
    let far = 1 << 30;
    let pooling = HMGraphNode {
        operation: AVERAGE_POOLING,
        window: [far, far],
        stride: [1, 1],
        dilation: [1, 1],
        padding: [far - 3, 0, far - 2, 0],
        ..HMGraphNode::default()
    };
    assert_eq!(run(pooling, &[Some(&x)], &[1, 1, 1, 1]), [2.0]);
}
