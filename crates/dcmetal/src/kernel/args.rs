//! What a launch passes: [`Arg`] and the macro [`args!`](crate::args).

use std::any::TypeId;
use std::marker::PhantomData;

use bytemuck::Pod;

use super::argument::Scalar;
use super::{Dispatch, Kernel};
use crate::grid::Extent;
use crate::memory::AllocationRef;
use crate::{Buffer, Sampler, Texture, View, ViewMut};

/// One argument of a launch.
///
/// `&buffer` and a [`View`] can be read by the kernel, `&mut buffer` and a [`ViewMut`] also written ([`Arg::overwrite`] says only that); so `&texture` and
/// `&mut texture`. A sampler is `&sampler`. Numbers and short
/// arrays of them (for vectors) are values; [`Arg::value`] passes a struct, [`Arg::threadgroup`] the size of
/// threadgroup memory. Usually written with [`args!`](crate::args).
#[derive(Debug)]
pub struct Arg<'a> {
    pub(super) passed: Passed<'a>,
}

#[derive(Debug)]
pub(super) enum Passed<'a> {
    Buffer(PassedBuffer<'a>),
    Value { bytes: Bytes, element: Option<Element>, lanes: usize },
    Threadgroup { bytes: u64 },
    Texture { texture: &'a Texture, writable: bool },
    Sampler(&'a Sampler),
    Transient(TransientUse),
}

/// What a node does with a part of a graph's own memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransientUse {
    pub(crate) graph: u64,
    pub(crate) number: usize,
    /// In bytes.
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) element: Element,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

pub(super) struct PassedBuffer<'a> {
    pub(super) allocation: &'a AllocationRef,
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) writable: bool,
    /// What was there before does not matter, and whoever reads it later reads what the kernel wrote.
    pub(super) overwritten: bool,
    pub(super) element: Element,
    pub(super) borrow: PhantomData<&'a mut ()>,
}

impl std::fmt::Debug for PassedBuffer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { offset, bytes, writable, .. } = self;
        write!(f, "{{ offset: {offset}, bytes: {bytes}, writable: {writable} }}")
    }
}

/// The bytes of a value; those of scalars and vectors need no allocation.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    Short([u8; 32], usize),
    Long(Box<[u8]>),
}

impl Bytes {
    fn new(bytes: &[u8]) -> Bytes {
        let mut short = [0; 32];
        match short.get_mut(..bytes.len()) {
            Some(part) => {
                part.copy_from_slice(bytes);
                Bytes::Short(short, bytes.len())
            }
            None => Bytes::Long(bytes.into()),
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Short(bytes, len) => &bytes[..*len],
            Bytes::Long(bytes) => bytes,
        }
    }
}

/// What is known of a Rust type: its size, and its scalar if it is a number or an array of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    pub(super) scalar: Option<Scalar>,
}

impl Element {
    pub(crate) fn of<T: Pod>() -> Element {
        Element { name: std::any::type_name::<T>(), size: size_of::<T>(), scalar: scalar_of::<T>() }
    }

    /// Plain bytes fit any type.
    pub(super) fn is_raw_bytes(self) -> bool {
        self.scalar == Some(Scalar::U8) && self.size == 1
    }
}

fn scalar_of<T: Pod>() -> Option<Scalar> {
    let id = TypeId::of::<T>();
    macro_rules! find {
        ($($number:ty => $scalar:ident),*) => {
            $(if id == TypeId::of::<$number>()
                || id == TypeId::of::<[$number; 2]>()
                || id == TypeId::of::<[$number; 3]>()
                || id == TypeId::of::<[$number; 4]>()
                || id == TypeId::of::<[$number; 8]>()
                || id == TypeId::of::<[$number; 16]>()
            {
                return Some(Scalar::$scalar);
            })*
        };
    }
    find!(f64 => F64, f32 => F32, u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64,
        half::f16 => F16, half::bf16 => BF16);
    None
}

impl<'a> Arg<'a> {
    /// A value of any type without padding, for instance a `#[repr(C)]` struct that derives [`bytemuck::Pod`].
    pub fn value<T: Pod>(value: T) -> Arg<'a> {
        let bytes = Bytes::new(bytemuck::bytes_of(&value));
        Arg { passed: Passed::Value { bytes, element: Some(Element::of::<T>()), lanes: 1 } }
    }

    /// A value given as bytes. Only its size is checked.
    pub fn bytes(value: &[u8]) -> Arg<'a> {
        Arg { passed: Passed::Value { bytes: Bytes::new(value), element: None, lanes: 1 } }
    }

    /// A buffer or view that the kernel writes whatever was there: it reads nothing of it, and writes every element that is read afterwards. In a launch or a
    /// batch this is `&mut buffer`. In a graph a node that overwrites what another one wrote is refused unless something orders the two, as by
    /// [`Transient::write`](crate::Transient::write), whereas `&mut buffer` goes on with what was there ([`GraphBuilder`](crate::GraphBuilder)). Nobody
    /// checks that the kernel does so.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void set(device uint* y [[buffer(0)]], constant uint& to [[buffer(1)]], uint i [[thread_position_in_grid]]) { y[i] = to; }";
    /// let set = gpu.compile_msl(source)?.kernel("set")?;
    /// let mut y = gpu.buffer_zeroed::<u32>(4)?;
    /// let mut graph = gpu.graph();
    /// graph.launch(&set, Grid::linear(4), [Arg::overwrite(&mut y), 1u32.into()])?;
    /// graph.launch(&set, Grid::linear(4), [Arg::overwrite(&mut y), 2u32.into()])?;
    /// assert!(matches!(graph.build(), Err(Error::GraphOverwritten { .. })));
    /// # Ok(()) }
    /// ```
    pub fn overwrite<T: Pod>(to: impl Into<ViewMut<'a, T>>) -> Arg<'a> {
        let to: ViewMut<'a, T> = to.into();
        let mut arg = Arg::buffer::<T>(to.allocation, to.offset, to.len, true);
        if let Passed::Buffer(buffer) = &mut arg.passed {
            buffer.overwritten = true;
        }
        arg
    }

    /// Threadgroup memory for `len` elements, OpenCL's `__local` argument.
    pub fn threadgroup<T: Pod>(len: usize) -> Arg<'a> {
        Arg::threadgroup_bytes(len.saturating_mul(size_of::<T>()))
    }

    /// Threadgroup memory of so many bytes.
    pub fn threadgroup_bytes(bytes: usize) -> Arg<'a> {
        Arg { passed: Passed::Threadgroup { bytes: bytes as u64 } }
    }

    /// The memory of a buffer, its length in bytes, and whether it may be written; `None` for all else.
    pub(crate) fn memory(&self) -> Option<(&'a AllocationRef, std::ops::Range<usize>, bool)> {
        match self.passed {
            Passed::Buffer(PassedBuffer { allocation, offset, bytes, writable, .. }) => {
                Some((allocation, offset..offset + bytes, writable))
            }
            _ => None,
        }
    }

    /// The bytes of a buffer from this one on, as bytes: they fit any type.
    ///
    /// # Panics
    /// For all else, and beyond its end.
    pub(crate) fn starting_at(&self, byte: usize) -> Arg<'a> {
        let (allocation, range, writable) = self.memory().expect("a buffer");
        let len = range.len().checked_sub(byte).expect("within the buffer");
        Arg::buffer::<u8>(allocation, range.start + byte, len, writable)
    }

    pub(crate) fn transient(piece: TransientUse) -> Arg<'a> {
        Arg { passed: Passed::Transient(piece) }
    }

    fn buffer<T: Pod>(allocation: &'a AllocationRef, offset: usize, len: usize, writable: bool) -> Arg<'a> {
        let element = Element::of::<T>();
        let bytes = len * element.size;
        let borrow = PhantomData;
        let passed = PassedBuffer { allocation, offset, bytes, writable, overwritten: false, element, borrow };
        Arg { passed: Passed::Buffer(passed) }
    }

    /// What it is, for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match &self.passed {
            Passed::Buffer(PassedBuffer { writable: true, .. }) => "a buffer",
            Passed::Buffer(_) => "a buffer for reading",
            Passed::Value { .. } => "a value",
            Passed::Threadgroup { .. } => "threadgroup memory",
            Passed::Texture { writable: true, .. } => "a texture",
            Passed::Texture { .. } => "a texture for reading",
            Passed::Sampler(_) => "a sampler",
            Passed::Transient(_) => "memory of a graph",
        }
    }
}

impl<'a, T: Pod> From<View<'a, T>> for Arg<'a> {
    fn from(view: View<'a, T>) -> Self {
        Arg::buffer::<T>(view.allocation, view.offset, view.len, false)
    }
}

impl<'a, T: Pod> From<ViewMut<'a, T>> for Arg<'a> {
    fn from(view: ViewMut<'a, T>) -> Self {
        Arg::buffer::<T>(view.allocation, view.offset, view.len, true)
    }
}

impl<'a, T: Pod> From<&'a Buffer<T>> for Arg<'a> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        View::from(buffer).into()
    }
}

impl<'a, T: Pod> From<&'a mut Buffer<T>> for Arg<'a> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        ViewMut::from(buffer).into()
    }
}

impl<'a> From<&'a Texture> for Arg<'a> {
    fn from(texture: &'a Texture) -> Self {
        Arg { passed: Passed::Texture { texture, writable: false } }
    }
}

impl<'a> From<&'a mut Texture> for Arg<'a> {
    fn from(texture: &'a mut Texture) -> Self {
        Arg { passed: Passed::Texture { texture, writable: true } }
    }
}

impl<'a> From<&'a Sampler> for Arg<'a> {
    fn from(sampler: &'a Sampler) -> Self {
        Arg { passed: Passed::Sampler(sampler) }
    }
}

macro_rules! value_from {
    ($($number:ty),*) => {$(
        impl From<$number> for Arg<'_> {
            fn from(value: $number) -> Self {
                Arg::value(value)
            }
        }
        value_from!(vector $number, 2, 3, 4, 8, 16);
    )*};
    (vector $number:ty, $($lanes:literal),*) => {$(
        impl From<[$number; $lanes]> for Arg<'_> {
            fn from(value: [$number; $lanes]) -> Self {
                let bytes = Bytes::new(bytemuck::bytes_of(&value));
                let element = Some(Element::of::<[$number; $lanes]>());
                Arg { passed: Passed::Value { bytes, element, lanes: $lanes } }
            }
        }
    )*};
}
value_from!(f64, f32, i8, u8, i16, u16, i32, u32, i64, u64);

impl From<bool> for Arg<'_> {
    fn from(value: bool) -> Self {
        let element = Element { name: "bool", size: 1, scalar: Some(Scalar::Bool) };
        Arg { passed: Passed::Value { bytes: Bytes::new(&[u8::from(value)]), element: Some(element), lanes: 1 } }
    }
}

/// A launch, for people.
pub(crate) fn described(kernel: &Kernel, dispatch: &Dispatch, args: &[Arg<'_>]) -> String {
    let size = dispatch.threadgroup;
    let grid = match dispatch.extent {
        Extent::Threads(threads) => format!("{threads} threads in threadgroups of {size}"),
        Extent::Threadgroups(count) => format!("{count} threadgroups of {size}"),
    };
    let named = kernel.arguments().iter().zip(args);
    let args: Vec<String> = named.map(|(argument, arg)| format!("{} = {}", argument.name, arg.described())).collect();
    format!("{}, {grid}: {}", kernel.name(), args.join(", "))
}

impl Arg<'_> {
    /// What it is, with its value, for people.
    fn described(&self) -> String {
        match &self.passed {
            &Passed::Buffer(PassedBuffer { allocation, offset, bytes, .. }) => {
                allocation.described(offset..offset + bytes)
            }
            Passed::Value { bytes, element, .. } => value(bytes.as_slice(), *element),
            Passed::Threadgroup { bytes } => format!("{bytes} bytes of threadgroup memory"),
            Passed::Texture { .. } | Passed::Sampler(_) | Passed::Transient(_) => self.noun().to_owned(),
        }
    }
}

/// Numbers as such, all else as its bytes.
fn value(bytes: &[u8], element: Option<Element>) -> String {
    macro_rules! numbers {
        ($number:ty) => {{
            let numbers = bytes.chunks_exact(size_of::<$number>()).map(bytemuck::pod_read_unaligned::<$number>);
            let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
            let name = stringify!($number);
            match numbers.as_slice() {
                [number] => format!("{name} {number}"),
                _ => format!("{name} [{}]", numbers.join(", ")),
            }
        }};
    }
    match element.and_then(|element| element.scalar) {
        Some(Scalar::F64) => numbers!(f64),
        Some(Scalar::F32) => numbers!(f32),
        Some(Scalar::I8) => numbers!(i8),
        Some(Scalar::U8) => numbers!(u8),
        Some(Scalar::I16) => numbers!(i16),
        Some(Scalar::U16) => numbers!(u16),
        Some(Scalar::I32) => numbers!(i32),
        Some(Scalar::U32) => numbers!(u32),
        Some(Scalar::I64) => numbers!(i64),
        Some(Scalar::U64) => numbers!(u64),
        _ => format!("{} bytes {}", bytes.len(), bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

/// The arguments of a launch: an array of [`Arg`]. For a kernel of OpenCL C in the order of its parameters; for one of MSL first the
/// `[[buffer(n)]]` in the order of n, then the `[[threadgroup(n)]]`, the `[[texture(n)]]` and the `[[sampler(n)]]`, which Metal
/// numbers apart.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let saxpy = gpu.compile_opencl(
///     "__kernel void saxpy(__global const float *x, __global float *y, float a, uint n) {
///          size_t i = get_global_id(0);
///          if (i < n) y[i] += a * x[i];
///      }",
/// )?.kernel("saxpy")?;
/// let x = gpu.buffer_from(&[1.0f32, 2.0, 3.0])?;
/// let mut y = gpu.buffer_from(&[10.0f32, 20.0, 30.0])?;
/// saxpy.launch(Grid::linear(3), args![&x, &mut y, 2.0f32, 3u32])?.wait()?;
/// assert_eq!(y.to_vec()?, [12.0, 24.0, 36.0]);
/// # Ok(()) }
/// ```
#[macro_export]
macro_rules! args {
    () => {
        [] as [$crate::Arg<'_>; 0]
    };
    ($($argument:expr),+ $(,)?) => {
        [$($crate::Arg::from($argument)),+]
    };
}
