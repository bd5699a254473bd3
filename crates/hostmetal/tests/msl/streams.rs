//! Kernels that write around the caches (native/hostmetal/pass/streams.cpp) compute what they do otherwise, wherever memory begins and
//! however long rows are, and write nothing else. Which of them have such code is tested in src/msl/engine.rs.

use hostmetal::executor::{Entry, Group, Span};
use hostmetal::msl::{CompileOptions, LoadedKernel, check};

/// What a kernel has besides `a` and `b`, which are read, and `o`, which is written: the element, the body, and what element `i` of `o`
/// is, in the order of memory.
struct Case {
    element: &'static str,
    body: &'static str,
    reference: fn(&[u8], &[u8], usize) -> Vec<u8>,
}

fn word(bytes: &[u8], i: usize) -> u32 {
    u32::from_le_bytes(bytes[4 * i..][..4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], i: usize) -> u64 {
    u64::from_le_bytes(bytes[8 * i..][..8].try_into().expect("eight bytes"))
}

const CASES: &[Case] = &[
    Case {
        element: "uint",
        body: "o[i] = a[i] + b[i];",
        reference: |a, b, i| word(a, i).wrapping_add(word(b, i)).to_le_bytes().into(),
    },
    // Small whole numbers, so that every order of operations is exact.
    Case {
        element: "float",
        body: "o[i] = 2.5f * float(as_type<uint>(a[i]) & 255) + float(as_type<uint>(b[i]) & 255);",
        reference: |a, b, i| (2.5 * (word(a, i) & 255) as f32 + (word(b, i) & 255) as f32).to_le_bytes().into(),
    },
    Case { element: "uchar", body: "o[i] = a[i] ^ b[i] ^ 0x5a;", reference: |a, b, i| vec![a[i] ^ b[i] ^ 0x5a] },
    Case {
        element: "ushort",
        body: "o[i] = a[i] & b[i];",
        reference: |a, b, i| vec![a[2 * i] & b[2 * i], a[2 * i + 1] & b[2 * i + 1]],
    },
    Case {
        element: "ulong",
        body: "o[i] = a[i] * 3 - b[i];",
        reference: |a, b, i| long(a, i).wrapping_mul(3).wrapping_sub(long(b, i)).to_le_bytes().into(),
    },
    Case {
        element: "uint4",
        body: "o[i] = a[i].wzyx | b[i];",
        reference: |a, b, i| (0..4).flat_map(|k| (word(a, 4 * i + 3 - k) | word(b, 4 * i + k)).to_le_bytes()).collect(),
    },
    // Neighbours are read.
    Case {
        element: "uint",
        body: "o[i] = (i == 0 ? 0 : a[i - 1]) + a[i + 1] - b[i];",
        reference: |a, b, i| {
            let before = if i == 0 { 0 } else { word(a, i - 1) };
            before.wrapping_add(word(a, i + 1)).wrapping_sub(word(b, i)).to_le_bytes().into()
        },
    },
    // What is written is read as well.
    Case {
        element: "uint",
        body: "o[i] = a[i] - b[i]; o[i] = o[i] * 7;",
        reference: |a, b, i| word(a, i).wrapping_sub(word(b, i)).wrapping_mul(7).to_le_bytes().into(),
    },
    // Some threads write nothing new.
    Case {
        element: "uint",
        body: "uint v = a[i]; if (v & 1) v = b[i] / 3; o[i] = v;",
        reference: |a, b, i| {
            let v = word(a, i);
            (if v & 1 == 1 { word(b, i) / 3 } else { v }).to_le_bytes().into()
        },
    },
    // Two loops, of which memory chooses, and rows that begin where memory says.
    Case {
        element: "uint",
        body: "bool sum = a[0] & 1; if (sum) o[i] = a[i] + b[i]; else o[i] = b[i] - a[i];",
        reference: |a, b, i| {
            let (x, y) = (word(a, i), word(b, i));
            (if word(a, 0) & 1 == 1 { x.wrapping_add(y) } else { y.wrapping_sub(x) }).to_le_bytes().into()
        },
    },
    Case {
        element: "uint",
        body: "uint k = i + (b[at.y] >> 31 >> 1); o[k] = a[k] ^ b[k];",
        reference: |a, b, i| (word(a, i) ^ word(b, i)).to_le_bytes().into(),
    },
    Case {
        element: "uint",
        body: "ushort k = i; o[k] = a[k] ^ b[k] ^ 3;",
        reference: |a, b, i| (word(a, i) ^ word(b, i) ^ 3).to_le_bytes().into(),
    },
    Case { element: "uint", body: "o[i] = 0xa5a5a5a5;", reference: |_, _, _| 0xa5a5_a5a5_u32.to_le_bytes().into() },
];

const WIDTHS: &[u32] = &[1, 15, 16, 31, 64, 65, 128, 257, 1000, 2048];
/// Where `o` begins, in elements behind a cache line.
const OFFSETS: &[usize] = &[0, 1, 4, 13, 16];
const ROWS: u32 = 3;
/// Elements around what a kernel is to write.
const MARGIN: usize = 64;
const UNTOUCHED: u8 = 0xee;

#[derive(Clone)]
#[repr(align(64))]
struct Line {
    bytes: [u8; 64],
}

/// Bytes that begin with a cache line.
struct Lines(Vec<Line>);

impl Lines {
    fn new(bytes: usize, value: impl Fn(usize) -> u8) -> Lines {
        Lines(
            (0..bytes.div_ceil(64)).map(|line| Line { bytes: std::array::from_fn(|i| value(64 * line + i)) }).collect(),
        )
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|line| line.bytes).collect()
    }

    fn at(&mut self, byte: usize) -> *mut std::ffi::c_void {
        self.0.as_mut_ptr().cast::<u8>().wrapping_add(byte).cast()
    }
}

fn kernel(case: &Case) -> LoadedKernel {
    let text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void k(device const {0} *a, device const {0} *b, device {0} *o, uint2 at [[thread_position_in_grid]], \
         uint2 n [[threads_per_grid]]) {{ uint i = at.y * n.x + at.x; {1} }}",
        case.element, case.body
    );
    let checked = check(&text, &CompileOptions::default()).unwrap_or_else(|failure| panic!("{text}\n{failure}"));
    checked.build("k", &[]).unwrap_or_else(|failure| panic!("{text}\n{failure}"))
}

fn size(element: &str) -> usize {
    match element {
        "uchar" => 1,
        "ushort" => 2,
        "ulong" => 8,
        "uint4" => 16,
        _ => 4,
    }
}

/// One call for all rows, of as many threadgroups as one may be for.
fn call(kernel: &LoadedKernel, buffers: [*mut std::ffi::c_void; 3], width: u32, stream_bytes: u32) {
    let Entry::Group(entry) = kernel.entry() else { panic!("no loop over threads") };
    let threads = [width, ROWS, 1];
    let mut buffer = [std::ptr::null_mut(); 31];
    buffer[..3].copy_from_slice(&buffers);
    let group = Group {
        buffer,
        threadgroup: [std::ptr::null_mut(); 31],
        threadgroup_position_in_grid: [0; 3],
        threads_per_threadgroup: threads,
        dispatch_threads_per_threadgroup: threads,
        threads_per_grid: threads,
        threadgroups_per_grid: [1; 3],
        simdgroups_per_threadgroup: 1,
        dispatch_simdgroups_per_threadgroup: 1,
        texture: std::ptr::null(),
        sampler: std::ptr::null(),
        grid_origin: [0; 3],
        grid_size: threads,
        stream_bytes,
        attribute_stride: std::ptr::null(),
        imageblock: std::ptr::null_mut(),
        imageblock_size: [0; 2],
    };
    // SAFETY: the code is mapped while `kernel` lives; the buffers are as long as the callers say, and code without barriers needs nothing
    // of the executor.
    unsafe { entry(&group) };
}

#[test]
fn stores_around_the_caches_write_the_same() {
    for (number, case) in CASES.iter().enumerate() {
        let kernel = kernel(case);
        assert_eq!(kernel.span(), Span::Rows, "{}", case.body);
        let size = size(case.element);
        for &width in WIDTHS {
            let count = (width * ROWS) as usize;
            let random = |by: usize| move |i: usize| ((i * 2_654_435_761 + by * 40_503) >> 7) as u8;
            let mut a = Lines::new((count + 1) * size, random(2 * number));
            let mut b = Lines::new((count + 1) * size, random(2 * number + 1));
            let inputs = [a.bytes(), b.bytes()];
            let expected: Vec<u8> = (0..count).flat_map(|i| (case.reference)(&inputs[0], &inputs[1], i)).collect();
            for &offset in OFFSETS {
                for stream_bytes in [0, 1, size as u32, size as u32 + 1, u32::MAX] {
                    let begin = (MARGIN + offset) * size;
                    let mut o = Lines::new(begin + (count + MARGIN) * size, |_| UNTOUCHED);
                    call(&kernel, [a.at(0), b.at(0), o.at(begin)], width, stream_bytes);
                    let place = format!("{}, {width} wide, {offset} behind a line, {stream_bytes}", case.body);
                    let bytes = o.bytes();
                    let (before, rest) = bytes.split_at(begin);
                    let (written, behind) = rest.split_at(expected.len());
                    assert!(before.iter().chain(behind).all(|&byte| byte == UNTOUCHED), "{place}: wrote elsewhere");
                    assert!(written == expected, "{place}: wrong");
                }
            }
        }
    }
}
