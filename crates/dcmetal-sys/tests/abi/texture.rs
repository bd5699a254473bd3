//! Textures and samplers: what they hold, how kernels and copies use them, and everything that is refused.

use std::ffi::c_void;
use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;
const UNSUPPORTED: DCMetalStatus = DC_METAL_UNSUPPORTED;

/// MTLPixelFormat.
const RGBA8_UNORM: u32 = 70;
const R32_FLOAT: u32 = 55;
const R32_UINT: u32 = 53;

const READ: u32 = DC_METAL_TEXTURE_SHADER_READ.0;
const WRITE: u32 = DC_METAL_TEXTURE_SHADER_WRITE.0;
const ORIGIN: DCMetalTexturePlace = DCMetalTexturePlace { x: 0, y: 0, z: 0, slice: 0, level: 0 };

fn descriptor(kind: DCMetalTextureType, format: u32, size: DCMetalSize) -> DCMetalTextureDescriptor {
    DCMetalTextureDescriptor {
        type_: kind,
        pixel_format: format,
        size,
        array_length: 1,
        levels: 1,
        usage: READ | WRITE,
        storage: DC_METAL_STORAGE_SHARED,
    }
}

fn texture(gpu: &Gpu, descriptor: &DCMetalTextureDescriptor) -> Result<Owned<DCMetalTexture>, Failure> {
    create(|out, error| dc!(DCMetalTexture_Create(gpu.device.0, descriptor, out, error)))
}

fn two(gpu: &Gpu, format: u32, width: u64, height: u64) -> Owned<DCMetalTexture> {
    texture(gpu, &descriptor(DC_METAL_TEXTURE_2D, format, size(width, height, 1))).expect("a texture")
}

fn write<T: Copy>(
    texture: &Owned<DCMetalTexture>,
    place: DCMetalTexturePlace,
    region: DCMetalSize,
    texels: &[T],
    (row, image): (u64, u64),
) -> Result<(), Failure> {
    let (bytes, length) = (texels.as_ptr().cast::<c_void>(), size_of_val(texels) as u64);
    attempt(|error| dc!(DCMetalTexture_Write(texture.0, &place, region, bytes, length, row, image, error)))
}

fn read<T: Copy + Default>(
    texture: &Owned<DCMetalTexture>,
    place: DCMetalTexturePlace,
    region: DCMetalSize,
    count: usize,
    (row, image): (u64, u64),
) -> Result<Vec<T>, Failure> {
    let mut texels = vec![T::default(); count];
    let (bytes, length) = (texels.as_mut_ptr().cast::<c_void>(), size_of_val(&texels[..]) as u64);
    attempt(|error| dc!(DCMetalTexture_Read(texture.0, &place, region, bytes, length, row, image, error)))?;
    Ok(texels)
}

fn set_texture(
    encoder: &Owned<DCMetalComputeEncoder>,
    texture: &Owned<DCMetalTexture>,
    index: usize,
) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalComputeEncoder_SetTexture(encoder.0, texture.0, index, error)))
}

pub(crate) fn plain_sampler() -> DCMetalSamplerDescriptor {
    DCMetalSamplerDescriptor {
        s: DC_METAL_ADDRESS_CLAMP_TO_EDGE,
        t: DC_METAL_ADDRESS_CLAMP_TO_EDGE,
        r: DC_METAL_ADDRESS_CLAMP_TO_EDGE,
        min_filter: DC_METAL_FILTER_NEAREST,
        mag_filter: DC_METAL_FILTER_NEAREST,
        mip_filter: DC_METAL_MIP_FILTER_NONE,
        border_color: DC_METAL_BORDER_TRANSPARENT_BLACK,
        pixel_coordinates: false,
        lod_min: 0.0,
        lod_max: f32::MAX,
    }
}

pub(crate) fn sampler(gpu: &Gpu, descriptor: &DCMetalSamplerDescriptor) -> Result<Owned<DCMetalSampler>, Failure> {
    create(|out, error| dc!(DCMetalSampler_Create(gpu.device.0, descriptor, out, error)))
}

fn set_sampler(encoder: &Owned<DCMetalComputeEncoder>, sampler: &Owned<DCMetalSampler>) {
    attempt(|error| dc!(DCMetalComputeEncoder_SetSampler(encoder.0, sampler.0, 0, error))).expect("a sampler is set");
}

pub(crate) fn texture_says_what_it_was_made_as() {
    let gpu = Gpu::new();
    for (kind, extent, array_length, levels) in [
        (DC_METAL_TEXTURE_1D, size(7, 1, 1), 1, 1),
        (DC_METAL_TEXTURE_1D_ARRAY, size(7, 1, 1), 3, 1),
        (DC_METAL_TEXTURE_2D, size(8, 4, 1), 1, 4),
        (DC_METAL_TEXTURE_2D_ARRAY, size(8, 4, 1), 2, 2),
        (DC_METAL_TEXTURE_3D, size(8, 4, 2), 1, 1),
    ] {
        let wanted = DCMetalTextureDescriptor { array_length, levels, ..descriptor(kind, RGBA8_UNORM, extent) };
        let texture = texture(&gpu, &wanted).expect("a texture");
        let mut told = descriptor(DC_METAL_TEXTURE_1D, 0, size(0, 0, 0));
        assert_eq!(dc!(DCMetalTexture_GetDescriptor(texture.0, &mut told)), DC_METAL_OK);
        assert_eq!(format!("{told:?}"), format!("{wanted:?}"));
        assert_eq!(dc!(DCMetalTexture_SetLabel(texture.0, c"a label".as_ptr())), DC_METAL_OK);
        assert_eq!(dc!(DCMetalTexture_SetLabel(texture.0, c"\xff".as_ptr())), INVALID);
    }
    let mut told = descriptor(DC_METAL_TEXTURE_2D, 1, size(1, 1, 1));
    assert_eq!(dc!(DCMetalTexture_GetDescriptor(ptr::null_mut(), &mut told)), INVALID);
    assert_eq!(told.size.width, 0);
    assert_eq!(dc!(DCMetalTexture_SetLabel(ptr::null_mut(), ptr::null())), INVALID);
    dc!(DCMetalTexture_Release(ptr::null_mut()));
}

pub(crate) fn texture_regions_hold_what_is_written() {
    let gpu = Gpu::new();
    let wanted = DCMetalTextureDescriptor {
        array_length: 2,
        levels: 2,
        ..descriptor(DC_METAL_TEXTURE_2D_ARRAY, R32_UINT, size(4, 4, 1))
    };
    let texture = texture(&gpu, &wanted).expect("a texture");
    let whole = size(4, 4, 1);
    for slice in 0..2 {
        let place = DCMetalTexturePlace { slice, ..ORIGIN };
        write(&texture, place, whole, &[100 * slice as u32; 16], (16, 0)).expect("a level");
        let place = DCMetalTexturePlace { level: 1, ..place };
        write(&texture, place, size(2, 2, 1), &[7 + slice as u32; 4], (8, 0)).expect("a smaller level");
    }
    // Rows of three words, the third one left out; the last row needs no third.
    let place = DCMetalTexturePlace { x: 1, y: 2, slice: 1, ..ORIGIN };
    write(&texture, place, size(2, 2, 1), &[1u32, 2, 99, 3, 4], (12, 0)).expect("a region");
    let got: Vec<u32> = read(&texture, DCMetalTexturePlace { slice: 1, ..ORIGIN }, whole, 16, (16, 0)).expect("texels");
    assert_eq!(got, [100, 100, 100, 100, 100, 100, 100, 100, 100, 1, 2, 100, 100, 3, 4, 100]);
    assert_eq!(read::<u32>(&texture, ORIGIN, whole, 16, (16, 0)).expect("texels"), [0; 16]);
    let small = DCMetalTexturePlace { slice: 1, level: 1, ..ORIGIN };
    assert_eq!(read::<u32>(&texture, small, size(2, 2, 1), 6, (12, 0)).expect("texels"), [8, 8, 0, 8, 8, 0]);

    let volume = self::texture(&gpu, &descriptor(DC_METAL_TEXTURE_3D, R32_UINT, size(2, 2, 3))).expect("a texture");
    let texels: Vec<u32> = (0..12).collect();
    write(&volume, ORIGIN, size(2, 2, 3), &texels, (8, 16)).expect("a volume");
    let corner = DCMetalTexturePlace { x: 1, z: 1, ..ORIGIN };
    assert_eq!(read::<u32>(&volume, corner, size(1, 2, 2), 4, (4, 8)).expect("texels"), [5, 7, 9, 11]);
}

pub(crate) fn texture_wrong_regions_are_refused() {
    let gpu = Gpu::new();
    let texture = two(&gpu, R32_UINT, 4, 4);
    let (texels, most) = ([5u32; 16], u64::MAX);
    write(&texture, ORIGIN, size(4, 4, 1), &texels, (16, 0)).expect("texels");
    for (place, region) in [
        (ORIGIN, size(5, 1, 1)),
        (ORIGIN, size(1, 5, 1)),
        (ORIGIN, size(1, 1, 2)),
        (ORIGIN, size(0, 1, 1)),
        (DCMetalTexturePlace { x: 4, ..ORIGIN }, size(1, 1, 1)),
        (DCMetalTexturePlace { y: most, ..ORIGIN }, size(1, 2, 1)),
        (DCMetalTexturePlace { z: 1, ..ORIGIN }, size(1, 1, 1)),
        (DCMetalTexturePlace { slice: 1, ..ORIGIN }, size(1, 1, 1)),
        (DCMetalTexturePlace { level: 1, ..ORIGIN }, size(1, 1, 1)),
        (DCMetalTexturePlace { level: most, ..ORIGIN }, size(1, 1, 1)),
    ] {
        refused(INVALID, write(&texture, place, region, &texels, (16, 64)));
        refused(INVALID, read::<u32>(&texture, place, region, 16, (16, 64)));
    }
    // Too few bytes a row, no whole texels, rows beyond the memory, overflow.
    for (region, row) in [(size(4, 1, 1), 12), (size(1, 2, 1), 6), (size(1, 4, 1), 64), (size(1, 4, 1), most - 3)] {
        refused(INVALID, write(&texture, ORIGIN, region, &texels, (row, 0)));
        refused(INVALID, read::<u32>(&texture, ORIGIN, region, 16, (row, 0)));
    }
    assert_eq!(read::<u32>(&texture, ORIGIN, size(4, 4, 1), 16, (16, 0)).expect("texels"), texels);
    let (one, bytes) = (size(1, 1, 1), texels.as_ptr().cast_mut().cast::<c_void>());
    for (handle, place, bytes) in [
        (DCMetalTexture::NULL, ptr::from_ref(&ORIGIN), bytes),
        (texture.0, ptr::null(), bytes),
        (texture.0, ptr::from_ref(&ORIGIN), ptr::null_mut()),
    ] {
        refused(INVALID, attempt(|error| dc!(DCMetalTexture_Write(handle, place, one, bytes, 4, 4, 0, error))));
        refused(INVALID, attempt(|error| dc!(DCMetalTexture_Read(handle, place, one, bytes, 4, 4, 0, error))));
    }
    let hidden = DCMetalTextureDescriptor {
        storage: DC_METAL_STORAGE_PRIVATE,
        ..descriptor(DC_METAL_TEXTURE_2D, R32_UINT, size(4, 4, 1))
    };
    let hidden = self::texture(&gpu, &hidden).expect("a private texture");
    refused(STATE, write(&hidden, ORIGIN, size(4, 4, 1), &texels, (16, 0)));
    refused(STATE, read::<u32>(&hidden, ORIGIN, size(4, 4, 1), 16, (16, 0)));
}

pub(crate) fn texture_wrong_descriptors_are_refused() {
    let gpu = Gpu::new();
    let good = descriptor(DC_METAL_TEXTURE_2D, R32_FLOAT, size(16, 16, 1));
    drop(texture(&gpu, &good).expect("a texture"));
    for wrong in [
        DCMetalTextureDescriptor { size: size(0, 16, 1), ..good },
        DCMetalTextureDescriptor { size: size(16, 16, 2), ..good },
        DCMetalTextureDescriptor { size: size(16_385, 16, 1), ..good },
        DCMetalTextureDescriptor { size: size(u64::MAX, u64::MAX, 1), ..good },
        DCMetalTextureDescriptor { array_length: 2, ..good },
        DCMetalTextureDescriptor { array_length: 0, ..good },
        DCMetalTextureDescriptor { type_: DC_METAL_TEXTURE_2D_ARRAY, array_length: 2049, ..good },
        DCMetalTextureDescriptor { levels: 0, ..good },
        DCMetalTextureDescriptor { levels: 6, ..good },
        DCMetalTextureDescriptor { type_: DC_METAL_TEXTURE_1D, ..good },
        DCMetalTextureDescriptor { type_: DC_METAL_TEXTURE_1D, size: size(16, 1, 1), levels: 2, ..good },
        DCMetalTextureDescriptor { type_: DC_METAL_TEXTURE_3D, size: size(2049, 1, 1), ..good },
        DCMetalTextureDescriptor { type_: DC_METAL_TEXTURE_BUFFER, size: size(16, 1, 1), ..good },
        DCMetalTextureDescriptor { usage: 0, ..good },
        DCMetalTextureDescriptor { usage: 4, ..good },
        DCMetalTextureDescriptor { storage: DCMetalStorageMode(3), ..good },
    ] {
        refused(INVALID, texture(&gpu, &wrong));
    }
    for wrong in [
        DCMetalTextureDescriptor { pixel_format: 0, ..good },
        DCMetalTextureDescriptor { pixel_format: 252, ..good },
        DCMetalTextureDescriptor { type_: DCMetalTextureType(5), ..good },
        DCMetalTextureDescriptor { type_: DCMetalTextureType(4), ..good },
    ] {
        refused(UNSUPPORTED, texture(&gpu, &wrong));
    }
    let none = DCMetalDevice::NULL;
    refused(INVALID, create(|out, error| dc!(DCMetalTexture_Create(none, &good, out, error))));
    let device = gpu.device.0;
    refused(INVALID, create(|out, error| dc!(DCMetalTexture_Create(device, ptr::null(), out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalTexture_Create(device, &good, ptr::null_mut(), error))));
}

pub(crate) fn texture_of_a_buffer_shares_its_bytes() {
    let gpu = Gpu::new();
    let buffer = gpu.buffer_of(&(0..512).collect::<Vec<u32>>());
    let linear = |descriptor: &DCMetalTextureDescriptor, offset, row| {
        let (buffer, out) = (buffer.0, descriptor);
        create::<DCMetalTexture>(|texture, error| {
            dc!(DCMetalTexture_CreateWithBuffer(buffer, offset, row, out, texture, error))
        })
    };
    let flat = descriptor(DC_METAL_TEXTURE_2D, R32_UINT, size(5, 3, 1));
    let texture = linear(&flat, 256, 256).expect("a texture");
    let got: Vec<u32> = read(&texture, ORIGIN, size(5, 3, 1), 15, (20, 0)).expect("texels");
    assert_eq!(got, [64, 65, 66, 67, 68, 128, 129, 130, 131, 132, 192, 193, 194, 195, 196]);
    write(&texture, DCMetalTexturePlace { x: 4, y: 2, ..ORIGIN }, size(1, 1, 1), &[9000u32], (4, 0)).expect("a texel");
    assert_eq!(contents::<u32>(&buffer)[196], 9000);
    let row = descriptor(DC_METAL_TEXTURE_BUFFER, R32_UINT, size(64, 1, 1));
    drop(linear(&row, 0, 256).expect("a texture buffer"));
    for (wrong, offset, bytes_per_row) in [
        (flat, 1, 256),
        (flat, 256, 20),
        (flat, 256, 0),
        (flat, 1536, 256),
        (flat, u64::MAX - 255, 256),
        (flat, 0, 1 << 63),
        (DCMetalTextureDescriptor { levels: 2, ..flat }, 256, 256),
        (descriptor(DC_METAL_TEXTURE_3D, R32_UINT, size(2, 2, 2)), 0, 256),
        (DCMetalTextureDescriptor { size: size(600, 1, 1), ..row }, 0, 2560),
    ] {
        refused(INVALID, linear(&wrong, offset, bytes_per_row));
    }
    let none = DCMetalBuffer::NULL;
    let wrong =
        create(|out: *mut DCMetalTexture, error| dc!(DCMetalTexture_CreateWithBuffer(none, 0, 256, &flat, out, error)));
    refused(INVALID, wrong);
    // The texture keeps the buffer's memory.
    drop(buffer);
    assert_eq!(read::<u32>(&texture, ORIGIN, size(1, 1, 1), 1, (4, 0)).expect("a texel"), [64]);
}

const INVERT: &str = "#include <metal_stdlib>\nusing namespace metal;\n\
    kernel void invert(texture2d<float, access::sample> from [[texture(0)]], texture2d<float, access::write> to [[texture(5)]],\n\
    sampler s [[sampler(0)]], uint2 p [[thread_position_in_grid]]) { to.write(1 - from.sample(s, float2(p) + 0.5f), p); }";

pub(crate) fn kernels_sample_and_write_textures() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline(INVERT, "invert");
    let (from, to) = (two(&gpu, RGBA8_UNORM, 4, 2), two(&gpu, RGBA8_UNORM, 5, 2));
    let texels: Vec<u8> = (0..32).map(|i| i * 8).collect();
    write(&from, ORIGIN, size(4, 2, 1), &texels, (16, 0)).expect("texels");
    let pixels =
        DCMetalSamplerDescriptor { pixel_coordinates: true, s: DC_METAL_ADDRESS_CLAMP_TO_ZERO, ..plain_sampler() };
    let sampler = sampler(&gpu, &pixels).expect("a sampler");
    gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        set_texture(encoder, &from, 0).expect("a texture is set");
        set_texture(encoder, &to, 5).expect("a texture is set");
        set_sampler(encoder, &sampler);
        dispatch_threads(encoder, size(5, 2, 1), size(5, 2, 1)).expect("a dispatch");
    })
    .expect("it completes");
    let got: Vec<u8> = read(&to, ORIGIN, size(5, 2, 1), 40, (20, 0)).expect("texels");
    for y in 0..2 {
        let expected: Vec<u8> = texels[y * 16..][..16].iter().map(|t| 255 - t).chain([255; 4]).collect();
        assert_eq!(got[y * 20..][..20], expected, "row {y}");
    }
    // What is not held any more lives until the command buffer has completed.
    let command_buffer = gpu.command_buffer();
    let encoder = compute_encoder(&command_buffer);
    set_pipeline(&encoder, &pipeline);
    set_texture(&encoder, &from, 0).expect("a texture is set");
    set_texture(&encoder, &to, 5).expect("a texture is set");
    set_sampler(&encoder, &sampler);
    dispatch_threads(&encoder, size(5, 2, 1), size(5, 1, 1)).expect("a dispatch");
    end(&encoder);
    drop((from, to, sampler));
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
}

pub(crate) fn dispatch_asks_for_its_textures() {
    let gpu = Gpu::new();
    let pipeline = gpu.pipeline(INVERT, "invert");
    let good = two(&gpu, RGBA8_UNORM, 4, 4);
    let made = |wanted: DCMetalTextureDescriptor| texture(&gpu, &wanted).expect("a texture");
    let square = descriptor(DC_METAL_TEXTURE_2D, RGBA8_UNORM, size(4, 4, 1));
    let one = made(descriptor(DC_METAL_TEXTURE_1D, RGBA8_UNORM, size(4, 1, 1)));
    let whole = made(DCMetalTextureDescriptor { pixel_format: R32_UINT, ..square });
    let read_only = made(DCMetalTextureDescriptor { usage: READ, ..square });
    let write_only = made(DCMetalTextureDescriptor { usage: WRITE, ..square });
    let sampler = sampler(&gpu, &plain_sampler()).expect("a sampler");
    let result = gpu.compute(|encoder| {
        set_pipeline(encoder, &pipeline);
        let dispatch = || dispatch_threads(encoder, size(1, 1, 1), size(1, 1, 1));
        assert!(refused(STATE, dispatch()).contains("\"from\" [[texture(0)]]"));
        set_texture(encoder, &good, 0).expect("a texture is set");
        assert!(refused(STATE, dispatch()).contains("\"to\" [[texture(5)]]"));
        set_texture(encoder, &good, 5).expect("a texture is set");
        assert!(refused(STATE, dispatch()).contains("\"s\" [[sampler(0)]]"));
        set_sampler(encoder, &sampler);
        dispatch().expect("all is set");
        for (wrong, index, words) in [
            (&one, 0, "another type"),
            (&whole, 0, "components of another kind"),
            (&write_only, 0, "no usage"),
            (&read_only, 5, "no usage"),
        ] {
            set_texture(encoder, wrong, index).expect("a texture is set");
            let sentence = refused(INVALID, dispatch());
            assert!(sentence.contains(words), "{sentence}");
            set_texture(encoder, &good, index).expect("a texture is set");
        }
        let (encoder, none) = (encoder.0, ptr::null_mut());
        attempt(|error| dc!(DCMetalComputeEncoder_SetTexture(encoder, none, 0, error))).expect("it is unbound");
        refused(STATE, dispatch());
        attempt(|error| dc!(DCMetalComputeEncoder_SetTexture(encoder, good.0, 0, error))).expect("it is bound");
        attempt(|error| dc!(DCMetalComputeEncoder_SetSampler(encoder, ptr::null_mut(), 0, error))).expect("unbound");
        refused(STATE, dispatch());
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetTexture(encoder, good.0, 128, error))));
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetSampler(encoder, sampler.0, 16, error))));
        attempt(|error| dc!(DCMetalComputeEncoder_SetTexture(encoder, good.0, 127, error))).expect("the last index");
        attempt(|error| dc!(DCMetalComputeEncoder_SetSampler(encoder, sampler.0, 15, error))).expect("the last index");
    });
    result.expect("it completes");
    let null = ptr::null_mut();
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetTexture(null, good.0, 0, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_SetSampler(null, sampler.0, 0, error))));
    let command_buffer = gpu.command_buffer();
    let encoder = compute_encoder(&command_buffer);
    end(&encoder);
    refused(STATE, set_texture(&encoder, &good, 0));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_SetSampler(encoder.0, sampler.0, 0, error))));
}

pub(crate) fn bindings_describe_textures() {
    let gpu = Gpu::new();
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void k(texture3d<half, access::read_write> volume [[texture(3)]], array<texture1d<uint, access::write>, 2> lines [[texture(7)]],\n\
        sampler s [[sampler(2)]], texture2d<short> flat [[texture(0)]]) {\n\
        volume.write(half4(flat.sample(s, float2(0))), uint3(0)); lines[1].write(uint4(0), 0u); lines[0].write(uint4(0), 0u); }";
    let pipeline = gpu.pipeline(source, "k");
    let count = dc!(DCMetalPipeline_GetBindingCount(pipeline.0));
    let told: Vec<String> = (0..count)
        .map(|position| {
            // SAFETY: all bits 0 is a value of this struct of numbers.
            let mut binding: DCMetalBinding = unsafe { std::mem::zeroed() };
            assert_eq!(dc!(DCMetalPipeline_GetBinding(pipeline.0, position, &mut binding)), DC_METAL_OK);
            let name =
                string(|buffer, capacity| dc!(DCMetalPipeline_GetBindingName(pipeline.0, position, buffer, capacity)));
            let DCMetalBinding { kind, index, access, data_type, texture_type, array_length, .. } = binding;
            let many = array_length.max(1);
            format!("{name} {kind} {index} {access} {data_type} {texture_type} {many}")
        })
        .collect();
    assert_eq!(told, ["flat 2 0 0 37 2 1", "volume 2 3 1 16 7 1", "lines 2 7 2 33 0 2", "s 3 2 0 0 0 1"]);
}

pub(crate) fn sampler_wrong_descriptors_are_refused() {
    let gpu = Gpu::new();
    let (good, repeat) = (plain_sampler(), DC_METAL_ADDRESS_REPEAT);
    let pixels = DCMetalSamplerDescriptor { pixel_coordinates: true, ..good };
    let (linear, mip) = (DC_METAL_FILTER_LINEAR, DC_METAL_MIP_FILTER_NEAREST);
    for right in [
        good,
        pixels,
        DCMetalSamplerDescriptor { s: repeat, t: DC_METAL_ADDRESS_MIRROR_REPEAT, min_filter: linear, ..good },
        DCMetalSamplerDescriptor { mip_filter: DC_METAL_MIP_FILTER_LINEAR, lod_min: 1.0, lod_max: 1.0, ..good },
        DCMetalSamplerDescriptor {
            r: DC_METAL_ADDRESS_CLAMP_TO_BORDER,
            border_color: DC_METAL_BORDER_OPAQUE_WHITE,
            ..good
        },
    ] {
        drop(sampler(&gpu, &right).expect("a sampler"));
    }
    for wrong in [
        DCMetalSamplerDescriptor { s: DCMetalAddressMode(1), ..good },
        DCMetalSamplerDescriptor { t: DCMetalAddressMode(6), ..good },
        DCMetalSamplerDescriptor { min_filter: DCMetalFilter(2), ..good },
        DCMetalSamplerDescriptor { mag_filter: DCMetalFilter(2), ..good },
        DCMetalSamplerDescriptor { mip_filter: DCMetalMipFilter(3), ..good },
        DCMetalSamplerDescriptor { border_color: DCMetalBorderColor(3), ..good },
        DCMetalSamplerDescriptor { lod_min: 2.0, lod_max: 1.0, ..good },
        DCMetalSamplerDescriptor { lod_min: -1.0, ..good },
        DCMetalSamplerDescriptor { lod_max: f32::NAN, ..good },
        DCMetalSamplerDescriptor { r: repeat, ..pixels },
        DCMetalSamplerDescriptor { mip_filter: mip, ..pixels },
        DCMetalSamplerDescriptor { min_filter: linear, ..pixels },
    ] {
        refused(INVALID, sampler(&gpu, &wrong));
    }
    let (none, device) = (DCMetalDevice::NULL, gpu.device.0);
    refused(INVALID, create(|out, error| dc!(DCMetalSampler_Create(none, &good, out, error))));
    refused(INVALID, create(|out, error| dc!(DCMetalSampler_Create(device, ptr::null(), out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalSampler_Create(device, &good, ptr::null_mut(), error))));
    dc!(DCMetalSampler_Release(ptr::null_mut()));
}

/// A buffer with 64 words to three private textures and back.
pub(crate) fn copies_move_texels() {
    let gpu = Gpu::new();
    let hidden = |wanted| DCMetalTextureDescriptor { storage: DC_METAL_STORAGE_PRIVATE, ..wanted };
    let array = DCMetalTextureDescriptor {
        array_length: 2,
        levels: 2,
        ..hidden(descriptor(DC_METAL_TEXTURE_2D_ARRAY, R32_UINT, size(4, 4, 1)))
    };
    let array = texture(&gpu, &array).expect("a texture");
    let volume = texture(&gpu, &hidden(descriptor(DC_METAL_TEXTURE_3D, R32_UINT, size(4, 4, 2)))).expect("a texture");
    let (source, out) = (gpu.buffer_of(&(0..64).collect::<Vec<u32>>()), gpu.buffer(256));
    let (whole, second) = (size(4, 4, 1), DCMetalTexturePlace { slice: 1, ..ORIGIN });
    let to_texture =
        |encoder: &Owned<DCMetalBlitEncoder>, offset, (row, image), size, to: &Owned<DCMetalTexture>, place| {
            let (e, from, to) = (encoder.0, source.0, to.0);
            attempt(|error| {
                dc!(DCMetalBlitEncoder_CopyBufferToTexture(e, from, offset, row, image, size, to, &place, error))
            })
        };
    let to_buffer =
        |encoder: &Owned<DCMetalBlitEncoder>, from: &Owned<DCMetalTexture>, place, size, offset, (row, image)| {
            let (e, from, to) = (encoder.0, from.0, out.0);
            attempt(|error| {
                dc!(DCMetalBlitEncoder_CopyTextureToBuffer(e, from, &place, size, to, offset, row, image, error))
            })
        };
    let between = |encoder: &Owned<DCMetalBlitEncoder>,
                   from: &Owned<DCMetalTexture>,
                   at,
                   size,
                   to: &Owned<DCMetalTexture>,
                   place| {
        let (e, from, to) = (encoder.0, from.0, to.0);
        attempt(|error| dc!(DCMetalBlitEncoder_CopyTexture(e, from, &at, size, to, &place, error)))
    };
    gpu.blit(|encoder| {
        to_texture(encoder, 0, (16, 0), whole, &array, ORIGIN).expect("a slice");
        to_texture(encoder, 64, (16, 0), whole, &array, second).expect("the other");
        let small = DCMetalTexturePlace { level: 1, ..second };
        to_texture(encoder, 128, (16, 0), size(2, 2, 1), &array, small).expect("its level");
        to_texture(encoder, 128, (16, 64), size(4, 4, 2), &volume, ORIGIN).expect("a volume");
        // 16 .. of slice 1 to the second image of the volume, a corner.
        let corner = DCMetalTexturePlace { x: 2, y: 2, z: 1, ..ORIGIN };
        between(encoder, &array, second, size(2, 2, 1), &volume, corner).expect("a copy");
        between(encoder, &array, second, size(2, 2, 1), &array, DCMetalTexturePlace { x: 2, ..second })
            .expect("beside");
        for (at, place) in [(second, second), (second, DCMetalTexturePlace { x: 1, y: 1, ..second })] {
            refused(INVALID, between(encoder, &array, at, size(2, 2, 1), &array, place));
        }
        let other = two(&gpu, R32_FLOAT, 4, 4);
        refused(INVALID, between(encoder, &array, ORIGIN, whole, &other, ORIGIN));
        refused(INVALID, between(encoder, &array, ORIGIN, size(5, 1, 1), &volume, ORIGIN));
        refused(INVALID, between(encoder, &volume, ORIGIN, whole, &array, small));
        for (offset, row) in [(200, 16), (4, 16), (0, 12), (u64::MAX - 15, 16)] {
            refused(INVALID, to_texture(encoder, offset, (row, 0), whole, &array, ORIGIN));
            refused(INVALID, to_buffer(encoder, &array, ORIGIN, whole, offset, (row, 0)));
        }
        refused(INVALID, to_texture(encoder, 0, (16, 60), size(4, 4, 2), &volume, ORIGIN));
        to_buffer(encoder, &array, second, whole, 0, (16, 0)).expect("back");
        to_buffer(encoder, &array, small, size(2, 2, 1), 64, (16, 0)).expect("back");
        to_buffer(encoder, &volume, ORIGIN, size(4, 4, 2), 128, (16, 64)).expect("back");
        let e = encoder.0;
        for texture in [&array, &volume] {
            attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeTexture(e, texture.0, error))).expect("nothing to do");
        }
    })
    .expect("it completes");
    let got = contents::<u32>(&out);
    assert_eq!(got[..16], [16, 17, 16, 17, 20, 21, 20, 21, 24, 25, 26, 27, 28, 29, 30, 31]);
    assert_eq!(got[16..22], [32, 33, 0, 0, 36, 37]);
    let mut volume: Vec<u32> = (32..64).collect();
    for (at, value) in [(26, 16), (27, 17), (30, 20), (31, 21)] {
        volume[at] = value;
    }
    assert_eq!(got[32..], volume);
}

pub(crate) fn synchronize_shows_managed_texels() {
    let gpu = Gpu::new();
    let managed = DCMetalTextureDescriptor {
        storage: DC_METAL_STORAGE_MANAGED,
        ..descriptor(DC_METAL_TEXTURE_2D, R32_UINT, size(2, 1, 1))
    };
    let texture = texture(&gpu, &managed).expect("a texture");
    let buffer = gpu.buffer_of(&[3u32, 4, 0, 0]);
    gpu.blit(|encoder| {
        let (e, from, to) = (encoder.0, buffer.0, texture.0);
        let region = size(2, 1, 1);
        attempt(|error| dc!(DCMetalBlitEncoder_CopyBufferToTexture(e, from, 0, 8, 0, region, to, &ORIGIN, error)))
            .expect("a copy");
        attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeTexture(e, to, error))).expect("it is synchronized");
    })
    .expect("it completes");
    assert_eq!(read::<u32>(&texture, ORIGIN, size(2, 1, 1), 2, (8, 0)).expect("texels"), [3, 4]);
}

pub(crate) fn texture_copies_of_null_are_refused() {
    let gpu = Gpu::new();
    let (texture, buffer, one) = (two(&gpu, R32_UINT, 4, 4), gpu.buffer(64), size(1, 1, 1));
    let command_buffer = gpu.command_buffer();
    let encoder = blit_encoder(&command_buffer);
    let (none, place) = (ptr::null(), ptr::from_ref(&ORIGIN));
    let (t, b, e) = (texture.0, buffer.0, encoder.0);
    let check = |status: DCMetalStatus, e: DCMetalBlitEncoder, b: DCMetalBuffer, t: DCMetalTexture, place| {
        let copy = attempt(|error| dc!(DCMetalBlitEncoder_CopyBufferToTexture(e, b, 0, 16, 0, one, t, place, error)));
        refused(status, copy);
        let copy = attempt(|error| dc!(DCMetalBlitEncoder_CopyTextureToBuffer(e, t, place, one, b, 0, 16, 0, error)));
        refused(status, copy);
    };
    check(INVALID, ptr::null_mut(), b, t, place);
    check(INVALID, e, ptr::null_mut(), t, place);
    check(INVALID, e, b, ptr::null_mut(), place);
    check(INVALID, e, b, t, none);
    for (e, t, place) in [(ptr::null_mut(), t, place), (e, ptr::null_mut(), place), (e, t, none)] {
        refused(INVALID, attempt(|error| dc!(DCMetalBlitEncoder_CopyTexture(e, t, place, one, t, place, error))));
    }
    refused(INVALID, attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeTexture(e, ptr::null_mut(), error))));
    attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(e, error))).expect("it ends");
    check(STATE, e, b, t, place);
    refused(STATE, attempt(|error| dc!(DCMetalBlitEncoder_CopyTexture(e, t, place, one, t, place, error))));
    refused(STATE, attempt(|error| dc!(DCMetalBlitEncoder_SynchronizeTexture(e, t, error))));
}
