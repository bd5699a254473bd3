//! Several devices: where they are, copies between their memories, and work that is shared out to them.
//!
//! [`Accelerator::all`] lists the devices. [`Topology`] tells how they are connected; [`copy`] takes the shortest way from one's memory to
//! another's, and [`bandwidth`] measures it. An [`Event`](crate::Event) of any accelerator orders submissions of all. A [`Split`] gives every
//! device rows of the work, in proportion to how fast it was, and puts the results together; a device that goes loses none of them.
//!
//! ```
//! # fn main() -> dcmetal::Result<()> {
//! # use dcmetal::*;
//! use dcmetal::multi::{Split, Topology};
//! let devices = Accelerator::all()?;
//! println!("{}", Topology::of(&devices));
//! let source = "kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2.0f; }";
//! let kernels = devices.iter().map(|gpu| gpu.compile_msl(source)?.kernel("twice")).collect::<Result<Vec<_>>>()?;
//! let input: Vec<f32> = (0..1000).map(|i| i as f32).collect();
//! let mut output = vec![0.0; 1000];
//! Split::new(devices).gather(&mut output, 1, |part| {
//!     let mut x = part.accelerator.buffer_from(&input[part.rows.clone()])?;
//!     kernels[part.device].launch(Grid::linear(part.rows.len()), args![&mut x])?.wait()?;
//!     Ok(x)
//! })?;
//! assert_eq!(output[999], 1998.0);
//! # Ok(()) }
//! ```

mod copy;
mod sharing;
mod split;
mod topology;

pub use copy::{Bandwidth, Copied, Route, bandwidth, copy};
pub use split::{Done, Part, Report, Split};
pub use topology::{Location, PeerGroup, Position, Topology};

#[cfg(doc)]
use crate::Accelerator;
