//! How hostmetal runs the kernels: each has loops in tiles of threads (docs/HOSTMETAL.md, "Loops or stacks"). Of results nothing would tell that.

use std::process::Command;

use dcmetal::tensor::{
    Affine, Convolution, Implementation, Product, Steps, Tensor, TensorMut, convolution_by, layer_norm_by,
    product_with, softmax_by,
};

use crate::random::gpu;

const CHILD: &str = "DCMETAL_TEST_TILES";

/// One launch of each kernel.
fn launch_all() {
    let gpu = gpu();
    let x = gpu.buffer_zeroed::<f32>(1 << 16).expect("memory");
    let mut y = gpu.buffer_zeroed::<f32>(1 << 16).expect("memory");
    let len = |shape: &[usize]| shape.iter().product::<usize>();
    let of = |shape: &[usize]| Tensor::new(x.view(..len(shape)).expect("memory"), shape).expect("a tensor");
    macro_rules! run {
        ($shape:expr, |$to:ident| $operation:expr) => {
            let $to = TensorMut::new(y.view_mut(..len(&$shape)).expect("memory"), &$shape).expect("a tensor");
            $operation.and_then(|operation| operation.submit()?.wait()).unwrap_or_else(|error| panic!("{error}"));
        };
    }
    let by = Implementation::Kernels;
    let product = Product { implementation: by, ..Product::default() };
    let around = Convolution { steps: Steps { padding: [1; 2], ..Steps::default() }, ..Convolution::default() };
    run!([256, 256], |to| product_with(of(&[256, 256]), of(&[256, 256]), to, &product));
    run!([1, 14, 14, 64], |to| convolution_by(of(&[1, 14, 14, 64]), of(&[3, 3, 64, 64]), to, &around, by));
    run!([16, 1024], |to| softmax_by(of(&[16, 1024]), to, by));
    run!([16, 1024], |to| layer_norm_by(of(&[16, 1024]), &Affine::default(), 1e-5, to, by));
}

#[test]
fn kernels_run_in_tiles() {
    if std::env::var_os(CHILD).is_some() {
        return launch_all();
    }
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["tiles::kernels_run_in_tiles", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .envs([("HOSTMETAL_LOG", "debug"), ("HOSTMETAL_ENGINE", "pass")]);
    let output = command.output().expect("the test starts itself");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    for kernel in ["product_threads", "convolution_threads", "softmax", "layer_norm"] {
        assert!(said.contains(&format!("kernel '{kernel}' was built for pass, in tiles\n")), "{kernel}: {said}");
    }
}
