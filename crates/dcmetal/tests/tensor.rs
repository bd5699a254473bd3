//! Operations on tensors against references in `f64`, over random shapes with fixed seeds.
//!
//! Every result must be within the bound that docs/TENSOR.md states for its operation and types, and memory beside it unchanged.

mod common;

#[path = "tensor/product.rs"]
mod product;
#[path = "tensor/random.rs"]
mod random;
