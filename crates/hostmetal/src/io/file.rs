//! What an I/O command buffer loads: bytes of a file, read to where they belong.

use std::fmt::Display;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::device::Device;
use crate::memory::Buffer;
use crate::texture::{Linear, Region, Texture};

/// Texels are read in pieces of about so many bytes.
const PIECE: u64 = 1 << 20;

/// An MTLIOFileHandle.
pub(crate) struct File {
    file: fs::File,
    path: PathBuf,
}

impl File {
    /// Opens a regular file for reading, or tells why that fails.
    pub(crate) fn open(path: &Path) -> Result<File, String> {
        let cannot = |why: &dyn Display| format!("cannot open '{}': {why}", path.display());
        // A pipe without a writer would not let go.
        let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|error| cannot(&error))?;
        if !file.metadata().map_err(|error| cannot(&error))?.is_file() {
            return Err(cannot(&"it is no regular file"));
        }
        Ok(File { file, path: path.to_owned() })
    }

    /// Reads all of `length` bytes from `offset` on.
    ///
    /// # Safety
    /// Nothing but raw memory is at the address. (Memory that is not there is told as an error.)
    unsafe fn read(&self, to: *mut u8, length: u64, offset: u64) -> Result<(), String> {
        let mut done = 0;
        while done < length {
            let failed =
                |why: &dyn Display| format!("'{}': {length} bytes from {offset} on: {why}", self.path.display());
            let position = offset.checked_add(done).and_then(|at| i64::try_from(at).ok());
            let Some(position) = position else { return Err(failed(&"the file is too short")) };
            let left = usize::try_from(length - done).unwrap_or(usize::MAX);
            let to = to.wrapping_add(done as usize).cast();
            // SAFETY: as the caller promises.
            let got = unsafe { libc::pread(self.file.as_raw_fd(), to, left, position) };
            match u64::try_from(got) {
                Ok(0) => {
                    let end = format!("the file is too short, it ends at {position}");
                    let beyond = "the file is too short".to_owned();
                    return Err(failed(if done == 0 { &beyond } else { &end }));
                }
                Ok(more) => done += more,
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(failed(&error));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Where bytes belong.
pub(crate) enum Destination {
    Memory(*mut u8, u64),
    /// From an offset on, so many bytes.
    Buffer(Arc<Buffer>, u64, u64),
    /// A region of a level and slice, from rows and images that lie so many bytes apart in the file (0 where there is one).
    Texels(Arc<Texture>, (u64, u64), Region, (u64, u64)),
}

impl Destination {
    /// None for the host's memory.
    pub(crate) fn device(&self) -> Option<&'static Device> {
        match self {
            Destination::Memory(..) => None,
            Destination::Buffer(buffer, ..) => Some(buffer.device()),
            Destination::Texels(texture, ..) => Some(texture.device()),
        }
    }
}

/// A part of a file and where it belongs.
pub(crate) struct Load {
    pub(crate) file: Arc<File>,
    pub(crate) offset: u64,
    pub(crate) destination: Destination,
}

// SAFETY: the interface says that the memory of a load may be written by any thread until its command buffer has completed.
unsafe impl Send for Load {}

impl Load {
    /// Reads it, or tells what failed.
    pub(super) fn run(&self) -> Result<(), String> {
        match &self.destination {
            // SAFETY: the program gave the memory for this.
            Destination::Memory(bytes, length) => unsafe { self.file.read(*bytes, *length, self.offset) },
            Destination::Buffer(buffer, at, length) => {
                if at.checked_add(*length).is_none_or(|end| end > buffer.length()) {
                    let whole = buffer.length();
                    return Err(format!("{length} bytes from {at} on are not within the buffer of {whole} bytes"));
                }
                // SAFETY: the bytes are within the buffer.
                unsafe { self.file.read(buffer.contents().wrapping_add(*at as usize), *length, self.offset) }
            }
            Destination::Texels(texture, at, region, distances) => self.texels(texture, *at, *region, *distances),
        }
    }

    /// Some rows at a time, so that large textures take no more memory while they are read.
    fn texels(&self, texture: &Texture, at: (u64, u64), region: Region, distances: (u64, u64)) -> Result<(), String> {
        let refused = |why: &std::ffi::CStr| format!("the texture's region: {}", why.to_string_lossy());
        let (width, row, image) = texture.distances(at, region, distances).map_err(refused)?;
        let ([x, y, z], [columns, height, depth]) = region;
        let most = (PIECE / row).clamp(1, height);
        let mut bytes = Vec::new();
        let length = (most - 1) * row + width;
        bytes.try_reserve_exact(length as usize).map_err(|error| format!("a piece of a texture: {error}"))?;
        bytes.resize(length as usize, 0_u8);
        for layer in 0..depth {
            for first in (0..height).step_by(most as usize) {
                let rows = most.min(height - first);
                let offset = self.offset.saturating_add(layer * image).saturating_add(first * row);
                // SAFETY: the vector holds so many rows.
                unsafe { self.file.read(bytes.as_mut_ptr(), (rows - 1) * row + width, offset)? };
                let piece = ([x, y + first, z + layer], [columns, rows, 1]);
                let memory = Linear { bytes: bytes.as_mut_ptr(), row, image: 0 };
                // SAFETY: as above.
                unsafe { texture.replace(at, piece, memory) }.map_err(refused)?;
            }
        }
        Ok(())
    }
}
