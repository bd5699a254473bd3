//! Arrays from and to files: NumPy's `.npy`, PNG and PGM/PPM images, raw bytes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use image::{DynamicImage, ExtendedColorType, ImageEncoder, ImageReader};
use npyz::{DType, NpyFile, Order, TypeChar, WriterBuilder};

use crate::array::{Array, Element, Shape};
use crate::spec::{Channels, FileKind};

/// Calls `$body` with `$type` as the Rust type of an [`Element`].
macro_rules! with_type {
    ($element:expr, $type:ident => $body:expr) => {
        match $element {
            Element::I8 => {
                type $type = i8;
                $body
            }
            Element::U8 => {
                type $type = u8;
                $body
            }
            Element::I16 => {
                type $type = i16;
                $body
            }
            Element::U16 => {
                type $type = u16;
                $body
            }
            Element::I32 => {
                type $type = i32;
                $body
            }
            Element::U32 => {
                type $type = u32;
                $body
            }
            Element::I64 => {
                type $type = i64;
                $body
            }
            Element::U64 => {
                type $type = u64;
                $body
            }
            Element::F16 => {
                type $type = half::f16;
                $body
            }
            Element::F32 => {
                type $type = f32;
                $body
            }
            Element::F64 => {
                type $type = f64;
                $body
            }
        }
    };
}

/// Reads an `.npy` file or an image, images in the `channels` asked for (their own when `None`).
pub(crate) fn load(path: &Path, channels: Option<Channels>) -> Result<Array, String> {
    let read = match FileKind::of(path) {
        FileKind::Npy => load_npy(path),
        FileKind::Png | FileKind::Pnm => load_image(path, channels),
        FileKind::Raw => Err("its type is not known".into()),
    };
    read.map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads a file of nothing but elements; its size must be that of the shape.
pub(crate) fn load_raw(path: &Path, element: Element, shape: Shape) -> Result<Array, String> {
    let length = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    let wanted = shape.count() * element.size();
    if length != wanted as u64 {
        return Err(format!("{}: it has {length} bytes, and {}:{shape} is {wanted}", path.display(), element.name()));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if bytes.len() != wanted {
        return Err(format!("{}: it changed while it was read", path.display()));
    }
    Ok(Array { element, shape, bytes })
}

fn load_npy(path: &Path) -> Result<Array, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let npy = NpyFile::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    let element = npy_element(&npy.dtype())?;
    // Before anything multiplies them: a header's extents are not to be trusted.
    let extents = npy.shape().iter().map(|extent| usize::try_from(*extent).ok()).collect::<Option<Vec<_>>>();
    let shape = Shape(match extents {
        Some(extents) if extents.is_empty() => vec![1],
        Some(extents) => extents,
        None => return Err("its shape is too large for this machine".into()),
    });
    let bytes = shape.0.iter().try_fold(element.size() as u64, |product, extent| product.checked_mul(*extent as u64));
    match bytes {
        Some(0) => return Err("it is empty".into()),
        Some(bytes) if bytes <= length => {}
        _ => return Err(format!("its header says {}:{shape}, more than the file holds", element.name())),
    }
    let order = npy.order();
    let bytes: Vec<u8> = with_type!(element, T => {
        let values: Vec<T> = npy.into_vec().map_err(|error| error.to_string())?;
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    });
    let bytes = match order {
        Order::C => bytes,
        Order::Fortran => row_major(&bytes, element.size(), &shape),
    };
    Ok(Array { element, shape, bytes })
}

/// The element type of a NumPy type; the reader itself turns other byte orders into ours.
fn npy_element(dtype: &DType) -> Result<Element, String> {
    let unsupported = || format!("elements of type {} are not supported", dtype.descr());
    let DType::Plain(plain) = dtype else { return Err(unsupported()) };
    Ok(match (plain.type_char(), plain.size_field()) {
        (TypeChar::Int, 1) => Element::I8,
        (TypeChar::Uint, 1) => Element::U8,
        (TypeChar::Int, 2) => Element::I16,
        (TypeChar::Uint, 2) => Element::U16,
        (TypeChar::Int, 4) => Element::I32,
        (TypeChar::Uint, 4) => Element::U32,
        (TypeChar::Int, 8) => Element::I64,
        (TypeChar::Uint, 8) => Element::U64,
        (TypeChar::Float, 2) => Element::F16,
        (TypeChar::Float, 4) => Element::F32,
        (TypeChar::Float, 8) => Element::F64,
        _ => return Err(unsupported()),
    })
}

/// Column-major elements in row-major order.
fn row_major(bytes: &[u8], size: usize, shape: &Shape) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let mut position = vec![0; shape.0.len()];
    for _ in 0..shape.count() {
        let at = position.iter().zip(&shape.0).rev().fold(0, |at, (index, extent)| at * extent + index);
        result.extend_from_slice(&bytes[at * size..][..size]);
        for (index, extent) in position.iter_mut().zip(&shape.0).rev() {
            *index += 1;
            if *index < *extent {
                break;
            }
            *index = 0;
        }
    }
    result
}

fn load_image(path: &Path, channels: Option<Channels>) -> Result<Array, String> {
    let reader =
        ImageReader::open(path).and_then(ImageReader::with_guessed_format).map_err(|error| error.to_string())?;
    let image = reader.decode().map_err(|error| error.to_string())?;
    let image = match channels {
        None => image,
        Some(Channels::Gray) => DynamicImage::ImageLuma8(image.into_luma8()),
        Some(Channels::Rgb) => DynamicImage::ImageRgb8(image.into_rgb8()),
        Some(Channels::Rgba) => DynamicImage::ImageRgba8(image.into_rgba8()),
    };
    let (width, height) = (image.width() as usize, image.height() as usize);
    let count = usize::from(image.color().channel_count());
    let element = match usize::from(image.color().bytes_per_pixel()) / count {
        1 => Element::U8,
        2 => Element::U16,
        _ => return Err("images of more than 16 bits a channel are not supported".into()),
    };
    let mut extents = vec![height, width];
    if count > 1 {
        extents.push(count);
    }
    Ok(Array { element, shape: Shape(extents), bytes: image.into_bytes() })
}

/// Writes `array` to `path`, in the format of its extension; the file appears whole or not at all.
pub(crate) fn save(path: &Path, array: &Array) -> Result<(), String> {
    write_whole(path, |file| match FileKind::of(path) {
        FileKind::Npy => save_npy(file, array),
        FileKind::Png | FileKind::Pnm => save_image(file, FileKind::of(path), array),
        FileKind::Raw => file.write_all(&array.bytes).map_err(|error| error.to_string()),
    })
}

/// Creates or replaces `path` with what `write` writes; on an error nothing changes.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), String>) -> Result<(), String> {
    let named = |error: String| format!("{}: {error}", path.display());
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // A device such as /dev/null or /dev/stdout is written, not replaced.
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = BufWriter::new(File::create(path).map_err(|error| named(error.to_string()))?);
        write(&mut file).map_err(named)?;
        return file.flush().map_err(|error| named(error.to_string()));
    }
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = BufWriter::new(builder.tempfile_in(folder).map_err(|error| named(error.to_string()))?);
    write(&mut file).map_err(named)?;
    let file = file.into_inner().map_err(|error| named(error.to_string()))?;
    file.persist(path).map_err(|error| named(error.error.to_string()))?;
    Ok(())
}

fn save_npy(file: &mut dyn Write, array: &Array) -> Result<(), String> {
    let shape: Vec<u64> = array.shape.0.iter().map(|extent| *extent as u64).collect();
    with_type!(array.element, T => {
        let values = array.bytes.chunks_exact(size_of::<T>()).map(|bytes| {
            T::from_ne_bytes(*bytes.first_chunk().expect("whole elements"))
        });
        let mut writer = npyz::WriteOptions::<T>::new()
            .default_dtype()
            .shape(&shape)
            .writer(file)
            .begin_nd()
            .map_err(|error| error.to_string())?;
        writer.extend(values).and_then(|()| writer.finish()).map_err(|error| error.to_string())
    })
}

fn save_image(file: &mut dyn Write, kind: FileKind, array: &Array) -> Result<(), String> {
    let (height, width, channels) = match array.shape.0[..] {
        [height, width] => (height, width, 1),
        [height, width, channels @ (1 | 3 | 4)] => (height, width, channels),
        _ => return Err(format!("an image has shape HxW, HxWx3 or HxWx4, not {}", array.shape)),
    };
    let colour = match (array.element, channels) {
        (Element::U8, 1) => ExtendedColorType::L8,
        (Element::U8, 3) => ExtendedColorType::Rgb8,
        (Element::U8, 4) => ExtendedColorType::Rgba8,
        (Element::U16, 1) => ExtendedColorType::L16,
        (Element::U16, 3) => ExtendedColorType::Rgb16,
        (Element::U16, 4) => ExtendedColorType::Rgba16,
        _ => return Err(format!("an image holds u8 or u16 elements, not {}", array.element.name())),
    };
    let extent = |extent| u32::try_from(extent).map_err(|_| format!("an image of shape {} is too large", array.shape));
    let (width, height) = (extent(width)?, extent(height)?);
    let written = match kind {
        FileKind::Png => image::codecs::png::PngEncoder::new(file).write_image(&array.bytes, width, height, colour),
        _ => image::codecs::pnm::PnmEncoder::new(file).write_image(&array.bytes, width, height, colour),
    };
    written.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(element: Element, extents: &[usize], bytes: Vec<u8>) -> Array {
        Array { element, shape: Shape(extents.to_vec()), bytes }
    }

    #[test]
    fn what_is_saved_is_loaded_again() {
        let folder = tempfile::tempdir().unwrap();
        let ramp = |count: usize| (0..count).map(|i| (i * 7) as u8).collect::<Vec<_>>();
        for (name, array) in [
            ("a.npy", array(Element::F32, &[2, 3], ramp(24))),
            ("b.npy", array(Element::U64, &[5], ramp(40))),
            ("c.npy", array(Element::F16, &[1, 2, 2], ramp(8))),
            ("d.png", array(Element::U8, &[3, 5], ramp(15))),
            ("e.png", array(Element::U8, &[3, 5, 4], ramp(60))),
            ("f.png", array(Element::U16, &[3, 5, 3], ramp(90))),
            ("g.pgm", array(Element::U8, &[3, 5], ramp(15))),
            ("h.ppm", array(Element::U8, &[3, 5, 3], ramp(45))),
        ] {
            let path = folder.path().join(name);
            save(&path, &array).unwrap();
            assert_eq!(load(&path, None).unwrap(), array, "{name}");
        }
    }

    /// The bytes `numpy.save` writes for `numpy.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype='>i2')`, by the format's
    /// description (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
    #[test]
    fn other_orders_become_ours() {
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }".to_vec();
        bytes.resize(127, b' ');
        bytes.push(b'\n');
        bytes.extend([0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        std::fs::write(&path, bytes).unwrap();
        let values: Vec<f64> = load(&path, None).unwrap().values().collect();
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn broken_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let header = |shape: &str| {
            let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
            bytes.extend(format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}").into_bytes());
            bytes.resize(127, b' ');
            bytes.push(b'\n');
            bytes
        };
        for (name, bytes, reason) in [
            ("empty.npy", vec![], "empty.npy"),
            ("text.npy", b"not numpy at all".to_vec(), "text.npy"),
            ("short.npy", header("(1000,)"), "more than the file holds"),
            ("huge.npy", header("(4294967296, 4294967296, 4294967296)"), "more than the file holds"),
            ("none.npy", header("(0,)"), "it is empty"),
            ("text.png", b"not a picture".to_vec(), "text.png"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let error = load(&path, None).unwrap_err();
            assert!(error.contains(reason), "{name}: {error}");
        }
    }

    #[test]
    fn a_failed_save_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let wrong = array(Element::F32, &[2, 2], vec![0; 16]);
        assert!(save(&folder.path().join("x.png"), &wrong).unwrap_err().contains("u8 or u16"));
        assert!(save(&folder.path().join("none/x.npy"), &wrong).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
