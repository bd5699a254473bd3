//! Handles: how textures and samplers stand in argument buffers (MTLResourceID), eight bytes that kernels resolve.
//!
//! A texture's handle is the address of its description and, in the address's last ten bits, a number that changes when the
//! place is used for another texture. Programs may write anything where a kernel expects a handle, so a kernel compares the
//! handle with the one in the description before it uses it (`hostmetal::described`); for that places are never unmapped, and
//! a place whose texture is gone holds no handle. A sampler's handle is the sampler itself, packed (`hostmetal::pack`).
//!
//! Handles that are none make a kernel access one of some addresses at which nothing can lie, so the executor knows the reason
//! of the fault. An address of unmapped memory faults by itself.

use std::collections::VecDeque;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Sampler, Texture};

/// `hostmetal::not_a_texture`: the faults of bad handles lie from here on, up to `NOT_A_SAMPLER`.
const NOT_A_TEXTURE: usize = 0x8000;
/// `hostmetal::not_a_sampler`.
const NOT_A_SAMPLER: usize = 0x8800;

/// `hostmetal::not_a_command_buffer`, `hostmetal::not_a_command`.
const NOT_A_COMMAND_BUFFER: usize = 0x9000;
const NOT_A_COMMAND: usize = 0x9800;
/// `hostmetal::not_for_atomics`.
const NOT_FOR_ATOMICS: usize = 0xa000;
/// `hostmetal::not_a_function_table`.
const NOT_A_FUNCTION_TABLE: usize = 0xa800;
/// `hostmetal::not_a_function`, which kernels call.
pub(crate) const NOT_A_FUNCTION: usize = 0xb000;

/// `hostmetal::not_for_slices`.
const NOT_FOR_SLICES: usize = 0xb800;

/// What an address at which nothing can lie says of the handle or texture that a kernel used.
pub(crate) fn bad_handle(address: usize) -> Option<&'static str> {
    let places = [
        (NOT_A_TEXTURE, "the handle of a texture in memory is not that of a living texture"),
        (NOT_A_SAMPLER, "the handle of a sampler in memory is not that of a living sampler"),
        (NOT_A_COMMAND_BUFFER, "the handle of an indirect command buffer in memory is not that of a living one"),
        (
            NOT_FOR_ATOMICS,
            "an atomic function of a texture whose pixel format is not MTLPixelFormatR32Uint or R32Sint, or RG32Uint for ulong",
        ),
        (NOT_A_FUNCTION_TABLE, "the handle of a visible function table in memory is not that of a living one"),
        (NOT_A_FUNCTION, "a call of a function that is not in the visible function table, or where none was set"),
        (
            NOT_FOR_SLICES,
            "a slice of an imageblock whose type is not one for the texture's pixel format (MSL specification, table 2.8)",
        ),
        (NOT_A_COMMAND, "a command is not in the indirect command buffer, or beyond its limits"),
    ];
    places.into_iter().find(|(place, _)| (*place..*place + 2048).contains(&address)).map(|(_, text)| text)
}

/// Bytes between descriptions.
const PLACE: usize = 1024;

/// A description's place.
#[repr(C, align(1024))]
struct Place(Texture);

const _: () = assert!(size_of::<Place>() == PLACE);

/// Places that hold no texture, the longest unused first, each with the number of its next handle.
struct Free(VecDeque<(NonNull<Place>, u64)>);

// SAFETY: a place is memory without an owner while it is in the list.
unsafe impl Send for Free {}

static FREE: Mutex<Free> = Mutex::new(Free(VecDeque::new()));

/// Places are made so many at a time, and a place is used again when so many have been given back: a stale handle is more
/// likely to be found out.
const CHUNK: usize = 64;

fn free() -> MutexGuard<'static, Free> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A description that kernels can reach by its handle as long as this lives.
pub(crate) struct Described {
    place: NonNull<Place>,
}

// SAFETY: the place belongs to this value, which only reads it until it is dropped.
unsafe impl Send for Described {}
// SAFETY: as above.
unsafe impl Sync for Described {}

impl Described {
    pub(crate) fn new(texture: Texture) -> Described {
        let (place, number) = {
            let mut free = free();
            if free.0.len() < CHUNK {
                let made: Vec<Place> = (0..CHUNK).map(|_| Place(Texture { handle: 0, ..texture.clone() })).collect();
                free.0.extend(made.leak().iter_mut().map(|place| (NonNull::from(place), 1)));
            }
            let Some(oldest) = free.0.pop_front() else { unreachable!("places have just been made") };
            oldest
        };
        let handle = place.as_ptr() as u64 | number;
        // SAFETY: nobody else has the place; a kernel with a stale handle may read it, as it may read freed memory on a GPU.
        unsafe { place.as_ptr().write(Place(Texture { handle, ..texture })) };
        Described { place }
    }
}

impl Deref for Described {
    type Target = Texture;

    fn deref(&self) -> &Texture {
        // SAFETY: the place is this value's and holds a description.
        unsafe { &self.place.as_ref().0 }
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        let next = (self.handle + 1) % PLACE as u64;
        // SAFETY: the texture is gone, so no reference to its description is left.
        unsafe { self.place.as_mut() }.0.handle = 0;
        free().0.push_back((self.place, next));
    }
}

/// A sampler's eight bytes.
pub(crate) fn sampler_handle(sampler: &Sampler) -> u64 {
    let lod = |lod: f32| match lod {
        _ if lod.is_nan() || lod <= 0.0 => 0,
        _ if lod < 15.999 => (lod * 1024.0 + 0.5) as u64,
        _ => 0x3fff,
    };
    let bias = ((sampler.lod_bias * 64.0 + 0.5).floor().clamp(-1024.0, 1023.0) as i64 & 0x7ff) as u64;
    let clamps = lod(sampler.lod_max) << 37 | lod(sampler.lod_min) << 23;
    2 << 62 | bias << 51 | clamps | u64::from(sampler.bits & 0x7f_ffff)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::ptr;

    use super::*;
    use crate::executor::{LEVELS, Level};

    fn texture(levels: u32) -> Texture {
        Texture {
            handle: 0,
            texels: ptr::null_mut(),
            slice: 0,
            kind: 0,
            order: 0,
            components: 0,
            component_size: 0,
            texel_size: 0,
            slices: 1,
            levels,
            samples: 1,
            swizzle: 0,
            unused: 0,
            level: [Level::default(); LEVELS],
        }
    }

    /// Places are used again and again, and a handle is never that of another texture.
    #[test]
    fn a_handle_is_of_one_texture() {
        let mut seen = HashSet::new();
        let lives: Vec<Described> = (0..70).map(|levels| Described::new(texture(levels))).collect();
        for round in 0..3 * CHUNK as u32 {
            let described = Described::new(texture(round));
            let (handle, place) = (described.handle, described.place);
            assert!(seen.insert(handle), "{handle:#x} was another texture's");
            assert_eq!((described.levels, handle as usize / PLACE), (round, place.addr().get() / PLACE));
            drop(described);
            // SAFETY: places are never unmapped, and this one waits behind others to be used again.
            assert_eq!(unsafe { place.as_ref() }.0.handle, 0, "a texture that is gone");
        }
        assert!(lives.iter().zip(0..).all(|(described, levels)| described.levels == levels && described.handle != 0));
    }
}
