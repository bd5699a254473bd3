//! Encoders: what a recording keeps until the command buffer has completed.

use std::any::Any;
use std::sync::Arc;

use super::{Held, LINE, Line, Recording};
use crate::event::Fence;
use crate::memory::Buffer;
use crate::texture::Texture;

/// The most commands, and arguments, that an empty recording is kept for.
const ROOM: usize = 64;

/// Lines of the first chunk of bytes.
const FIRST: usize = 4;

impl Recording {
    /// Lets go of all that it holds; what is left is for another encoder, unless that would keep much memory.
    pub(crate) fn emptied(self) -> Option<Recording> {
        let Recording {
            concurrent: _,
            mut commands,
            mut arguments,
            mut pipelines,
            mut buffers,
            log,
            pass,
            mut held,
            stage,
            at_end,
            mut bytes,
            bytes_used: _,
        } = self;
        // Dispatches first, which have addresses of the others.
        commands.clear();
        arguments.clear();
        drop((stage, at_end, pass, log));
        pipelines.clear();
        buffers.clear();
        held.clear();
        bytes.truncate(1);
        // A kernel that reads beyond its bytes is not to find another command buffer's.
        bytes.iter_mut().for_each(|first| first.fill(Line { _bytes: [0; LINE] }));
        let lists = [pipelines.capacity(), buffers.capacity(), held.capacity(), bytes.capacity()];
        let most = [commands.capacity(), arguments.capacity()].into_iter().chain(lists);
        let small = most.into_iter().all(|room| room <= ROOM) && bytes.first().is_none_or(|first| first.len() <= FIRST);
        small.then(|| Recording { commands, arguments, pipelines, buffers, held, bytes, ..Recording::default() })
    }

    /// What the program has given up of what it holds.
    pub(crate) fn lost(&self) -> Option<&'static str> {
        if self.buffers.iter().any(|buffer| buffer.let_go().get()) {
            return Some("a buffer");
        }
        if self.pipelines.iter().any(|pipeline| pipeline.let_go.get()) {
            return Some("a compute pipeline state");
        }
        self.held.iter().find_map(|held| {
            let texture = held.downcast_ref().is_some_and(|texture: &Texture| texture.let_go().get());
            let fence = held.downcast_ref().is_some_and(|fence: &Fence| fence.let_go.get());
            texture.then_some("a texture").or(fence.then_some("a fence"))
        })
    }

    /// Keeps a buffer until the command buffer has completed; returns its number.
    pub(super) fn hold(&mut self, buffer: Arc<Buffer>) -> u32 {
        let recent = self.buffers.len().saturating_sub(16);
        let known = self.buffers[recent..].iter().rposition(|held| Arc::ptr_eq(held, &buffer));
        let number = known.map_or(self.buffers.len(), |position| recent + position);
        if number == self.buffers.len() {
            self.buffers.push(buffer);
        }
        number as u32
    }

    /// Keeps a copy of at most 4096 bytes.
    pub(super) fn keep_bytes(&mut self, bytes: &[u8]) -> *mut u8 {
        let lines = bytes.len().div_ceil(LINE);
        if self.bytes.last().is_none_or(|last| last.len() - self.bytes_used < lines) {
            let size = if self.bytes.is_empty() { FIRST } else { 32 };
            self.bytes.push(vec![Line { _bytes: [0; LINE] }; lines.max(size)]);
            self.bytes_used = 0;
        }
        let Some(last) = self.bytes.last_mut() else { unreachable!("a chunk was just made sure of") };
        // Not by a slice of the lines, which would say that nobody else has an address of theirs: what was kept before does.
        let address = last.as_mut_ptr().wrapping_add(self.bytes_used).cast::<u8>();
        self.bytes_used += lines;
        // SAFETY: the chunk has so many lines more, which hold at least bytes.len() bytes and are not used yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
        address
    }
}

/// Keeps a texture, a table of functions or a fence until the command buffer has completed.
pub(super) fn hold<T: Any + Send + Sync>(held: &mut Vec<Held>, one: &Arc<T>) {
    if !held.iter().rev().take(16).any(|known| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(one))) {
        held.push(one.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Command;

    /// Of what was recorded nothing is left but room, and no bytes; much room is not kept.
    #[test]
    fn an_emptied_recording_is_as_new() {
        let mut recording = Recording { concurrent: true, ..Recording::default() };
        let address = recording.keep_bytes(&[7; 300]);
        recording.keep_bytes(&[8; 4096]);
        recording.commands.push(Command::Barrier);
        recording.at_end.push(Command::Barrier);
        let room = recording.commands.capacity();
        let mut next = recording.emptied().expect("little room");
        assert!(!next.concurrent && next.commands.is_empty() && next.at_end.is_empty() && next.bytes.len() == 1);
        assert_eq!(next.commands.capacity(), room);
        assert_eq!(next.keep_bytes(&[9]), address, "the first chunk serves again");
        // SAFETY: the chunk is longer, and the recording lives.
        let after = unsafe { std::slice::from_raw_parts(address, FIRST * LINE) };
        assert!(after[0] == 9 && after[1..].iter().all(|byte| *byte == 0), "{after:?}");
        next.commands.extend((0..=ROOM).map(|_| Command::Barrier));
        assert!(next.emptied().is_none(), "much room");
        let mut large = Recording::default();
        large.keep_bytes(&[1; 4096]);
        assert!(large.emptied().is_none(), "a large first chunk");
    }

    /// In the first chunk, in later ones and between: each is where it was when others have been kept.
    #[test]
    fn kept_bytes_stay() {
        let mut recording = Recording::default();
        let lengths = [1, 128, 129, 300, 4096, 5, 4096, 700];
        let kept: Vec<(*mut u8, Vec<u8>)> = lengths
            .iter()
            .zip(1u8..)
            .map(|(&length, value)| (recording.keep_bytes(&vec![value; length]), vec![value; length]))
            .collect();
        for (address, bytes) in kept {
            assert!(address.addr().is_multiple_of(LINE));
            // SAFETY: so many bytes were kept there, and the recording lives.
            assert_eq!(unsafe { std::slice::from_raw_parts(address, bytes.len()) }, bytes);
        }
    }
}
