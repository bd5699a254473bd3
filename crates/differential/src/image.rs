//! Images and samplers in OpenCL's numbers.

use opencl3::types::{cl_image_desc, cl_image_format};

use crate::job::Image;

/// `CL_MEM_OBJECT_IMAGE1D_BUFFER`
const BUFFER: u32 = 0x10f6;

/// An image as OpenCL describes it.
pub(crate) struct Shape {
    pub(crate) format: cl_image_format,
    object: u32,
    width: usize,
    height: usize,
    depth: usize,
    layers: usize,
    /// Bytes.
    pub(crate) texel: usize,
}

impl Shape {
    pub(crate) fn of(image: &Image) -> Result<Shape, String> {
        let size: Vec<usize> = image.size.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
        let (object, [width, height, depth, layers]) = match (image.kind.as_str(), size.as_slice()) {
            ("texture1d", &[w]) => (0x10f4, [w, 1, 1, 1]),
            ("texture1d_array", &[w, n]) => (0x10f5, [w, 1, 1, n]),
            ("texture_buffer", &[w]) => (BUFFER, [w, 1, 1, 1]),
            ("texture2d", &[w, h]) => (0x10f1, [w, h, 1, 1]),
            ("texture2d_array", &[w, h, n]) => (0x10f3, [w, h, 1, n]),
            ("texture3d", &[w, h, d]) => (0x10f2, [w, h, d, 1]),
            (kind, size) => return Err(format!("no {kind} of the size {size:?}")),
        };
        let unknown = || format!("no pixel format {}", image.format);
        let orders = [("rgba", 0x10b5, 4), ("bgra", 0x10b6, 4), ("rg", 0x10b2, 2), ("r", 0x10b0, 1)];
        let order = orders.iter().find_map(|&(name, order, n)| Some((image.format.strip_prefix(name)?, order, n)));
        let (kind, order, components) = order.ok_or_else(unknown)?;
        let (kind, bytes) = match kind {
            "8snorm" => (0x10d0, 1),
            "16snorm" => (0x10d1, 2),
            "8unorm" => (0x10d2, 1),
            "16unorm" => (0x10d3, 2),
            "8sint" => (0x10d7, 1),
            "16sint" => (0x10d8, 2),
            "32sint" => (0x10d9, 4),
            "8uint" => (0x10da, 1),
            "16uint" => (0x10db, 2),
            "32uint" => (0x10dc, 4),
            "16float" => (0x10dd, 2),
            "32float" => (0x10de, 4),
            _ => return Err(unknown()),
        };
        let format = cl_image_format { image_channel_order: order, image_channel_data_type: kind };
        Ok(Shape { format, object, width, height, depth, layers, texel: components * bytes })
    }

    pub(crate) fn is_buffer(&self) -> bool {
        self.object == BUFFER
    }

    pub(crate) fn texels(&self) -> usize {
        [self.height, self.depth, self.layers].iter().fold(self.width, |all, n| all.saturating_mul(*n))
    }

    pub(crate) fn desc(&self) -> cl_image_desc {
        cl_image_desc {
            image_type: self.object,
            image_width: self.width,
            image_height: self.height,
            image_depth: self.depth,
            image_array_size: self.layers,
            image_row_pitch: 0,
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: std::ptr::null_mut(),
        }
    }

    /// All of it, as the commands that copy images count.
    pub(crate) fn region(&self) -> [usize; 3] {
        match self.object {
            0x10f5 => [self.width, self.layers, 1],
            _ => [self.width, self.height, self.depth * self.layers],
        }
    }
}

/// Normalised coordinates, `cl_addressing_mode` and `cl_filter_mode` of a sampler's number.
pub(crate) fn sampler(bits: u32) -> (u32, u32, u32) {
    let address = match bits & 14 {
        2 => 0x1131,
        4 => 0x1132,
        6 => 0x1133,
        8 => 0x1134,
        _ => 0x1130,
    };
    (bits & 1, address, if bits & 32 == 0 { 0x1140 } else { 0x1141 })
}
