//! Textures and samplers: what is written is read, kernels get what they declare, and no fault is handed out.

mod common;

use common::{Random, gpu, msl};
use dcmetal::{Access, ArgumentKind, Error, Grid, Kernel, Result, TextureKind, args};
use dcmetal::{
    AddressMode, BorderColor, Filter, PixelFormat, Sampler, SamplerDescriptor, Scalar, Texture, TextureDescriptor,
};

const METAL: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

fn compile(source: &str, kernel: &str) -> (dcmetal::Accelerator, Kernel) {
    let gpu = gpu();
    let kernel = msl(&gpu, &format!("{METAL}{source}"), kernel);
    (gpu, kernel)
}

fn refused<T: std::fmt::Debug>(result: Result<T>) -> Error {
    result.expect_err("this is refused")
}

#[test]
fn what_is_written_is_read_in_every_format() {
    let (gpu, mut random) = (gpu(), Random(1));
    assert_eq!(PixelFormat::all().count(), 43);
    for format in PixelFormat::all() {
        for wanted in [
            TextureDescriptor::d1(format, 7),
            TextureDescriptor::d1_array(format, 7, 3),
            TextureDescriptor::d2(format, 7, 5),
            TextureDescriptor::d2_array(format, 7, 5, 3),
            TextureDescriptor::d3(format, 7, 5, 3),
            TextureDescriptor::buffer(format, 7),
        ] {
            let mut texture = gpu.texture(&wanted).unwrap_or_else(|error| panic!("{wanted:?}: {error}"));
            let texels = wanted.width * wanted.height * wanted.depth * wanted.array_length;
            assert_eq!((texture.len(), texture.size_bytes()), (texels, texels * format.texel_size()));
            assert_eq!(texture.descriptor(), &wanted);
            assert_eq!(texture.to_vec::<u8>().unwrap(), vec![0; texture.size_bytes()], "a new one is zero");
            let bytes = random.bytes(texture.size_bytes());
            texture.write_from(&bytes).unwrap();
            assert_eq!(texture.to_vec::<u8>().unwrap(), bytes, "{wanted:?}");
            let again = gpu.texture_from(&wanted, &bytes).unwrap();
            assert_eq!(again.to_vec::<u8>().unwrap(), bytes);
        }
    }
}

/// The texels of a copy by a kernel, in each kind of texture: coordinates and slices are where they are expected.
#[test]
fn kernels_see_texels_in_their_order() {
    let sizes = |format| {
        [
            (TextureDescriptor::d1(format, 6), "texture1d", "p.x"),
            (TextureDescriptor::d1_array(format, 6, 2), "texture1d_array", "p.x, p.z"),
            (TextureDescriptor::d2(format, 6, 3), "texture2d", "p.xy"),
            (TextureDescriptor::d2_array(format, 6, 3, 2), "texture2d_array", "p.xy, p.z"),
            (TextureDescriptor::d3(format, 6, 3, 2), "texture3d", "p"),
            (TextureDescriptor::buffer(format, 6), "texture_buffer", "p.x"),
        ]
    };
    for (format, ty) in
        [(PixelFormat::R32Uint, "uint"), (PixelFormat::R32Sint, "int"), (PixelFormat::R32Float, "float")]
    {
        for (wanted, kind, at) in sizes(format) {
            let (gpu, copy) = compile(
                &format!(
                    "kernel void copy({kind}<{ty}, access::read> from [[texture(0)]], {kind}<{ty}, access::write> to [[texture(1)]],
                        device uint* seen [[buffer(0)]], uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) {{
                        {ty}4 texel = from.read({at}); seen[(p.z * n.y + p.y) * n.x + p.x] = as_type<uint>(texel.x);
                        to.write(texel + 1, {at}); }}"
                ),
                "copy",
            );
            let images = wanted.depth * wanted.array_length;
            let count = wanted.width * wanted.height * images;
            let bits = |v: usize| if ty == "float" { (v as f32).to_bits() } else { v as u32 };
            let stored: Vec<u32> = (0..count).map(bits).collect();
            let from = gpu.texture_from(&wanted, &stored).unwrap();
            let (mut to, mut seen) = (gpu.texture(&wanted).unwrap(), gpu.buffer_zeroed::<u32>(count).unwrap());
            let grid = Grid::threads([wanted.width as u64, wanted.height as u64, images as u64]);
            let submission = copy.launch(grid, args![&mut seen, &from, &mut to]);
            submission.unwrap_or_else(|error| panic!("{kind}<{ty}>: {error}")).wait().unwrap();
            assert_eq!(seen.to_vec().unwrap(), stored, "{kind}<{ty}>");
            let more: Vec<u32> = (1..=count).map(bits).collect();
            assert_eq!(to.to_vec::<u32>().unwrap(), more, "{kind}<{ty}>");
        }
    }
}

/// A step between two texels, seen through each filter and address mode.
#[test]
fn samplers_filter_and_address() {
    let (gpu, look) = compile(
        "kernel void look(device float* seen [[buffer(0)]], device const float* at [[buffer(1)]], texture2d<float> t [[texture(0)]],
            sampler s [[sampler(0)]], uint i [[thread_position_in_grid]]) { seen[i] = t.sample(s, float2(at[i], 0.5)).x; }",
        "look",
    );
    let step = gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R32Float, 2, 1), &[0.0f32, 1.0]).unwrap();
    let at = gpu.buffer_from(&[0.25f32, 0.5, 0.75, 1.0, 1.25, -0.25]).unwrap();
    let run = |descriptor: SamplerDescriptor| {
        let sampler = gpu.sampler(&descriptor).unwrap();
        assert_eq!(sampler.descriptor(), &descriptor);
        let mut seen = gpu.buffer_zeroed::<f32>(6).unwrap();
        look.launch(Grid::linear(6), args![&mut seen, &at, &step, &sampler]).unwrap().wait().unwrap();
        seen.to_vec().unwrap()
    };
    let with = SamplerDescriptor::new;
    assert_eq!(run(SamplerDescriptor::default()), [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    assert_eq!(run(with(AddressMode::ClampToEdge, Filter::Linear)), [0.0, 0.5, 1.0, 1.0, 1.0, 0.0]);
    assert_eq!(run(with(AddressMode::ClampToZero, Filter::Linear)), [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]);
    assert_eq!(run(with(AddressMode::Repeat, Filter::Linear)), [0.0, 0.5, 1.0, 0.5, 0.0, 1.0]);
    assert_eq!(run(with(AddressMode::MirrorRepeat, Filter::Linear)), [0.0, 0.5, 1.0, 1.0, 1.0, 0.0]);
    let white = SamplerDescriptor {
        border_color: BorderColor::OpaqueWhite,
        ..with(AddressMode::ClampToBorder, Filter::Nearest)
    };
    assert_eq!(run(white), [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(run(SamplerDescriptor::default().in_pixels()), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    let error = refused(gpu.sampler(&with(AddressMode::Repeat, Filter::Nearest).in_pixels()));
    assert!(error.to_string().contains("pixels that repeat"), "{error}");
}

#[test]
fn reflection_lists_textures_and_samplers() {
    let (_, kernel) = compile(
        "kernel void k(sampler s [[sampler(3)]], texture3d<half, access::read_write> volume [[texture(9)]],
            texture1d_array<ushort, access::write> lines [[texture(2)]], device float* y [[buffer(4)]]) {
            volume.write(volume.read(uint3(0)), uint3(y[0])); lines.write(ushort4(0), 0u, 0u); }",
        "k",
    );
    let told: Vec<String> = kernel
        .arguments()
        .iter()
        .map(|a| {
            format!("{} {} {} {} {:?} {:?} {}", a.position, a.slot, a.name, a.type_name, a.scalar, a.access, a.kind)
        })
        .collect();
    assert_eq!(
        told,
        [
            "0 4 y float Some(F32) ReadWrite a buffer",
            "1 2 lines texture1d_array<ushort> Some(U16) WriteOnly a texture1d_array",
            "2 9 volume texture3d<half> Some(F16) ReadWrite a texture3d",
            "3 3 s sampler None ReadOnly a sampler",
        ]
    );
}

#[test]
fn launches_are_checked_before_they_run() {
    let source =
        "kernel void k(texture2d<float> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
        sampler s [[sampler(0)]]) { to.write(from.sample(s, float2(0)), uint2(0)); }";
    let (gpu, kernel) = compile(source, "k");
    let (other, foreign_kernel) = compile(source, "k");
    drop(foreign_kernel);
    let made = |wanted: TextureDescriptor| gpu.texture(&wanted).unwrap();
    let square = TextureDescriptor::d2(PixelFormat::RGBA8Unorm, 2, 2);
    let (from, mut to, sampler) = (made(square), made(square), gpu.sampler(&SamplerDescriptor::default()).unwrap());
    let grid = Grid::linear(1);
    kernel.launch(grid, args![&from, &mut to, &sampler]).unwrap().wait().unwrap();

    let error = refused(kernel.launch(grid, args![&from, &to, &sampler]));
    assert!(matches!(&error, Error::ArgumentReadOnly { access: Access::WriteOnly, .. }), "{error:?}");
    for (wrong, words) in [
        (
            TextureDescriptor::d1(PixelFormat::RGBA8Unorm, 2),
            "wants `texture2d<float>`, got `a texture1d of RGBA8Unorm`",
        ),
        (
            TextureDescriptor::d2(PixelFormat::RGBA8Uint, 2, 2),
            "wants `texture2d<float>`, got `a texture2d of RGBA8Uint`",
        ),
    ] {
        let error = refused(kernel.launch(grid, args![&made(wrong), &mut to, &sampler]));
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains("(`from`)"), "{error}");
    }
    let buffer = gpu.buffer_zeroed::<u8>(64).unwrap();
    let error = refused(kernel.launch(grid, args![&buffer, &mut to, &sampler]));
    assert!(matches!(&error, Error::ArgumentKind { got: "a buffer for reading", .. }), "{error:?}");
    let error = refused(kernel.launch(grid, args![&from, &mut to, &from]));
    let wanted = ArgumentKind::Sampler;
    assert!(matches!(&error, Error::ArgumentKind { wanted: w, .. } if *w == wanted), "{error:?}");
    let error = refused(kernel.launch(grid, args![&from, &mut to]));
    assert!(matches!(error, Error::ArgumentCount { wanted: 3, got: 2, .. }), "{error:?}");
    let foreign = other.texture(&square).unwrap();
    assert!(matches!(refused(kernel.launch(grid, args![&foreign, &mut to, &sampler])), Error::Foreign { .. }));
    let foreign = other.sampler(&SamplerDescriptor::default()).unwrap();
    assert!(matches!(refused(kernel.launch(grid, args![&from, &mut to, &foreign])), Error::Foreign { .. }));
}

#[test]
fn texels_have_a_size() {
    let gpu = gpu();
    let wanted = TextureDescriptor::d2(PixelFormat::RG16Float, 3, 2);
    let mut texture = gpu.texture_from(&wanted, &[0x3c00u16; 12]).unwrap();
    assert_eq!(texture.to_vec::<[u16; 2]>().unwrap(), [[0x3c00; 2]; 6]);
    let error = refused(texture.to_vec::<[u16; 4]>());
    assert!(matches!(error, Error::TexelSize { wanted: 4, got: 8, .. }), "{error}");
    assert!(matches!(refused(texture.to_vec::<[u8; 3]>()), Error::TexelSize { got: 3, .. }));
    assert!(matches!(refused(texture.write_from(&[0u32; 5])), Error::LengthMismatch { wanted: 6, got: 5, .. }));
    for wrong in [
        TextureDescriptor { width: 0, ..wanted },
        TextureDescriptor { depth: 2, ..wanted },
        TextureDescriptor { width: 20_000, ..wanted },
        TextureDescriptor { array_length: 2, ..wanted },
        TextureDescriptor { kind: TextureKind::D1, ..wanted },
        TextureDescriptor { kind: TextureKind::Buffer, ..wanted },
    ] {
        let error = refused(gpu.texture(&wrong));
        assert!(matches!(&error, Error::Metal { call: "make a texture", .. }), "{error:?}");
    }
    let error = refused(gpu.texture(&TextureDescriptor { width: usize::MAX, ..wanted }));
    assert!(matches!(error, Error::BufferTooLarge { .. }), "{error:?}");
}

/// A texture may be dropped while the device uses it, and reading waits for what is in flight.
#[test]
fn submissions_keep_their_textures() {
    let (gpu, count) = compile(
        "kernel void count(texture1d<uint, access::read_write> t [[texture(0)]], uint i [[thread_position_in_grid]]) {
            t.write(t.read(i) + 1, i); }",
        "count",
    );
    let wanted = TextureDescriptor::d1(PixelFormat::R32Uint, 4096);
    let (mut kept, mut dropped) = (gpu.texture(&wanted).unwrap(), gpu.texture(&wanted).unwrap());
    let mut batch = gpu.batch().unwrap();
    for _ in 0..50 {
        batch.launch(&count, Grid::linear(4096), args![&mut kept]).unwrap();
        batch.launch(&count, Grid::linear(4096), args![&mut dropped]).unwrap();
    }
    let submission = batch.submit().unwrap();
    drop(dropped);
    assert_eq!(kept.to_vec::<u32>().unwrap(), [50; 4096]);
    kept.write_from(&[7u32; 4096]).unwrap();
    submission.wait().unwrap();
    let last = count.launch(Grid::linear(4096), args![&mut kept]).unwrap();
    assert_eq!(kept.to_vec::<u32>().unwrap(), [8; 4096]);
    last.wait().unwrap();
}

const CHILD: &str = "DCMETAL_TEST_CHILD";

/// What a failed submission was to write is not handed out; in a process of its own, whose watchdog is short.
#[test]
fn a_fault_poisons_its_textures() {
    if std::env::var_os(CHILD).is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_fault_poisons_its_textures", "--nocapture"])
            .env(CHILD, "1")
            .env("HOSTMETAL_WATCHDOG", "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        return;
    }
    let (gpu, endless) = compile(
        "kernel void endless(texture1d<uint, access::read> from [[texture(0)]], texture1d<uint, access::write> to [[texture(1)]],
            device atomic_uint* y [[buffer(0)]]) {
            to.write(from.read(0u), 0u); while (atomic_load_explicit(y, memory_order_relaxed) == 0u) {} }",
        "endless",
    );
    let wanted = TextureDescriptor::d1(PixelFormat::R32Uint, 4);
    let from = gpu.texture_from(&wanted, &[1u32, 2, 3, 4]).unwrap();
    let (mut to, mut y) = (gpu.texture(&wanted).unwrap(), gpu.buffer_zeroed::<u32>(1).unwrap());
    let submission = endless.launch(Grid::linear(1), args![&mut y, &from, &mut to]).unwrap();
    assert!(matches!(submission.wait(), Err(Error::Submission(_))));
    assert!(matches!(to.to_vec::<u32>(), Err(Error::Faulted { .. })));
    y.discard_fault();
    let error = refused(endless.launch(Grid::linear(1), args![&mut y, &from, &mut to]));
    assert!(matches!(error, Error::Faulted { .. }), "{error:?}");
    // What was only read is as before; what is overwritten is good again.
    assert_eq!(from.to_vec::<u32>().unwrap(), [1, 2, 3, 4]);
    to.write_from(&[5u32; 4]).unwrap();
    assert_eq!(to.to_vec::<u32>().unwrap(), [5; 4]);
}

/// OpenCL C's images and samplers.
#[test]
fn images_of_opencl_are_textures() {
    let gpu = gpu();
    let library = gpu
        .compile_opencl(
            "__kernel void k(__read_only image2d_t from, sampler_t s, __write_only image2d_t to, __global int *formats) {
                int2 p = (int2)(get_global_id(0), get_global_id(1));
                write_imagef(to, p, read_imagef(from, s, convert_float2(p) + (float2)(1.5f, 0.5f)));
                formats[0] = get_image_channel_order(from); formats[1] = get_image_channel_data_type(from);
                formats[2] = get_image_channel_order(to); formats[3] = get_image_channel_data_type(to);
                formats[4] = get_image_width(from); formats[5] = get_image_height(from);
            }",
        )
        .unwrap_or_else(|error| panic!("{error}"));
    let kernel = library.kernel("k").unwrap();
    let kinds: Vec<ArgumentKind> = kernel.arguments().iter().map(|argument| argument.kind).collect();
    let image = ArgumentKind::Texture { kind: TextureKind::D2 };
    assert_eq!(kinds, [image, ArgumentKind::Sampler, image, ArgumentKind::Buffer]);
    let from = gpu
        .texture_from(&TextureDescriptor::d2(PixelFormat::BGRA8Unorm, 2, 1), &[[0u8, 51, 102, 255], [255, 204, 153, 0]])
        .unwrap();
    let wanted = TextureDescriptor::d2(PixelFormat::RGBA32Float, 2, 1);
    let run = |sampler: &Sampler| {
        let mut to = gpu.texture(&wanted).unwrap();
        let mut formats = gpu.buffer_zeroed::<i32>(6).unwrap();
        kernel
            .launch(Grid::threads([2u64, 1, 1]), args![&from, sampler, &mut to, &mut formats])
            .unwrap()
            .wait()
            .unwrap();
        // CL_BGRA, CL_UNORM_INT8, CL_RGBA, CL_FLOAT.
        assert_eq!(formats.to_vec().unwrap(), [0x10b6, 0x10d2, 0x10b5, 0x10de, 2, 1]);
        to.to_vec::<[f32; 4]>().unwrap()
    };
    let sampler = |mode| gpu.sampler(&SamplerDescriptor::new(mode, Filter::Nearest).in_pixels()).unwrap();
    let second = [0.6, 0.8, 1.0, 0.0];
    assert_eq!(run(&sampler(AddressMode::ClampToEdge)), [second, second]);
    assert_eq!(run(&sampler(AddressMode::ClampToZero)), [second, [0.0; 4]]);
    let border = sampler(AddressMode::ClampToBorder);
    let mut to: Texture = gpu.texture(&wanted).unwrap();
    let mut formats = gpu.buffer_zeroed::<i32>(6).unwrap();
    let grid = Grid::threads([2u64, 1, 1]);
    let error = refused(kernel.launch(grid, args![&from, &border, &mut to, &mut formats]));
    assert!(matches!(&error, Error::Unsupported { text, .. } if text.contains("one address mode")), "{error:?}");
    let packed = gpu.texture(&TextureDescriptor::d2(PixelFormat::RGB10A2Unorm, 2, 1)).unwrap();
    let edge = sampler(AddressMode::ClampToEdge);
    let error = refused(kernel.launch(grid, args![&packed, &edge, &mut to, &mut formats]));
    assert!(matches!(&error, Error::Unsupported { .. }), "{error:?}");
    assert_eq!(PixelFormat::RGB10A2Unorm.component(), Scalar::F32);
}

/// An image that is read as several components is bound where its format fits; one that is not used fits everywhere.
#[test]
fn images_of_opencl_have_the_components_that_kernels_use() {
    let gpu = gpu();
    let library = gpu
        .compile_opencl(
            "__kernel void k(__read_only image2d_t any, __read_only image3d_t unused, __write_only image2d_t sized,
                             __global float *out) {
                int is_float = get_image_channel_data_type(any) == CLK_FLOAT;
                out[0] = is_float ? read_imagef(any, (int2)(1, 0)).x : read_imagei(any, (int2)(1, 0)).x;
                out[1] = get_image_width(any); out[2] = get_image_height(sized);
            }",
        )
        .unwrap_or_else(|error| panic!("{error}"));
    let kernel = library.kernel("k").unwrap();
    let slots = |at: usize| kernel.arguments()[at].textures.iter().map(|t| (t.scalar, t.slot)).collect::<Vec<_>>();
    let [float, int, uint] = [Scalar::F32, Scalar::I32, Scalar::U32].map(Some);
    assert_eq!(slots(0), [(float, 0), (int, 1)]);
    assert_eq!(slots(1), []);
    assert_eq!(slots(2), [(float, 3), (int, 4), (uint, 5)]);
    assert_eq!(kernel.arguments().iter().map(|a| a.used).collect::<Vec<_>>(), [true, false, true, true]);
    let d2 = |format, height| gpu.texture(&TextureDescriptor::d2(format, 2, height)).unwrap();
    let floats = gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R32Float, 2, 1), &[0.25f32, 0.5]).unwrap();
    let ints = gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R16Sint, 2, 1), &[3i16, -4]).unwrap();
    let unused = gpu.texture(&TextureDescriptor::d3(PixelFormat::R8Uint, 1, 1, 1)).unwrap();
    // One batch: what one launch has bound is not what the next one reads.
    let mut batch = gpu.batch().unwrap();
    let images = [
        (&floats, d2(PixelFormat::R32Uint, 3)),
        (&ints, d2(PixelFormat::R8Unorm, 4)),
        (&floats, d2(PixelFormat::R8Sint, 5)),
    ];
    let mut seen = Vec::new();
    for (any, mut sized) in images {
        let mut out = gpu.buffer_zeroed::<f32>(3).unwrap();
        batch.launch(&kernel, Grid::linear(1), args![any, &unused, &mut sized, &mut out]).unwrap();
        seen.push(out);
    }
    batch.submit().unwrap().wait().unwrap();
    let seen: Vec<Vec<f32>> = seen.iter().map(|out| out.to_vec().unwrap()).collect();
    assert_eq!(seen, [[0.5, 2.0, 3.0], [-4.0, 2.0, 4.0], [0.5, 2.0, 5.0]]);

    let (mut sized, mut out) = (d2(PixelFormat::R32Float, 1), gpu.buffer_zeroed::<f32>(3).unwrap());
    let naturals = d2(PixelFormat::R8Uint, 1);
    let error = refused(kernel.launch(Grid::linear(1), args![&naturals, &unused, &mut sized, &mut out]));
    assert!(error.to_string().contains("read_only image2d_t of float or int"), "{error}");
    assert!(error.to_string().contains("a texture2d of R8Uint"), "{error}");
    let error = refused(kernel.launch(Grid::linear(1), args![&floats, &floats, &mut sized, &mut out]));
    assert!(matches!(error, Error::ArgumentType { .. }), "{error:?}");
}

/// Command buffers keep nothing that is passed: dcmetal does, until the device is done, whoever lets go of it meanwhile. hostmetal fails one whose memory
/// has gone.
#[test]
fn what_is_passed_lives_until_the_device_is_done() {
    let source =
        "kernel void f(texture2d<float> x [[texture(0)]], sampler s [[sampler(0)]], device float* y [[buffer(0)]],
                                uint i [[thread_position_in_grid]]) { y[i] = x.sample(s, float2(0.5f)).x; }";
    for streamed in [false, true] {
        let (gpu, kernel) = compile(source, "f");
        let mut result = gpu.buffer_zeroed::<f32>(4).unwrap();
        let event = gpu.event().unwrap();
        let submission = {
            let mut texture = gpu.texture(&TextureDescriptor::d2(PixelFormat::R32Float, 2, 2)).unwrap();
            texture.write_from(&[3.0f32; 4]).unwrap();
            let sampler = gpu.sampler(&SamplerDescriptor::default()).unwrap();
            let mut y = gpu.buffer_zeroed::<f32>(4).unwrap();
            if streamed {
                let stream = gpu.stream(dcmetal::StreamLimits::default());
                stream.wait_for(&event, 1).unwrap();
                stream.launch(&kernel, Grid::linear(4), args![&mut y, &texture, &sampler]).unwrap();
                stream.copy(&y, &mut result).unwrap();
                stream.flush().expect("it has recorded")
            } else {
                let mut batch = gpu.batch().unwrap();
                batch.wait_for(&event, 1).unwrap();
                batch.launch(&kernel, Grid::linear(4), args![&mut y, &texture, &sampler]).unwrap();
                batch.copy(&y, &mut result).unwrap();
                batch.submit().unwrap()
            }
        };
        drop(kernel);
        // Were the memory free, these would get it.
        let others: Vec<_> = (0..16).map(|_| gpu.buffer_from(&[9.0f32; 4]).unwrap()).collect();
        event.signal(1).unwrap();
        submission.wait().unwrap();
        assert_eq!(result.to_vec().unwrap(), [3.0; 4], "{streamed}");
        drop(others);
    }
}

/// What a kernel binds where an image's format does not fit is its own, and lives as long.
#[test]
fn textures_of_a_kernel_s_own_live_until_the_device_is_done() {
    let gpu = gpu();
    let source = "__kernel void k(__read_only image2d_t any, __global float *out) {
        int is_float = get_image_channel_data_type(any) == CLK_FLOAT;
        out[0] = is_float ? read_imagef(any, (int2)(1, 0)).x : read_imagei(any, (int2)(1, 0)).x;
    }";
    let library = gpu.compile_opencl(source).unwrap_or_else(|error| panic!("{error}"));
    let floats = gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R32Float, 2, 1), &[0.25f32, 0.5]).unwrap();
    let ints = gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R16Sint, 2, 1), &[3i16, -4]).unwrap();
    let (event, mut out) = (gpu.event().unwrap(), [(); 2].map(|()| gpu.buffer_zeroed::<f32>(1).unwrap()));
    let mut batch = gpu.batch().unwrap();
    batch.wait_for(&event, 1).unwrap();
    for (image, out) in [&floats, &ints].into_iter().zip(&mut out) {
        // Each of these has textures of its own.
        let kernel = library.kernel("k").unwrap();
        batch.launch(&kernel, Grid::linear(1), args![image, out]).unwrap();
    }
    let submission = batch.submit().unwrap();
    event.signal(1).unwrap();
    submission.wait().unwrap();
    assert_eq!(out.map(|out| out.to_vec().unwrap()[0]), [0.5, -4.0]);
}
