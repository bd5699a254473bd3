//! Operations on tensors against references in `f64`, over random shapes with fixed seeds.
//!
//! Every result must be within the bound that docs/TENSOR.md states for its operation and types, and memory beside it unchanged.

mod common;

#[path = "tensor/activation.rs"]
mod activation;
#[path = "tensor/convolution.rs"]
mod convolution;
#[path = "tensor/graph.rs"]
mod graph;
#[path = "tensor/normalize.rs"]
mod normalize;
#[path = "tensor/product.rs"]
mod product;
#[path = "tensor/random.rs"]
mod random;
#[path = "tensor/reduce.rs"]
mod reduce;
#[path = "tensor/special.rs"]
mod special;
#[cfg(target_os = "linux")]
#[path = "tensor/tiles.rs"]
mod tiles;
