//! Encoders: what a recording keeps until the command buffer has completed.

use std::any::Any;
use std::sync::Arc;

use super::{Held, LINE, Line, Recording};
use crate::event::Fence;
use crate::memory::Buffer;
use crate::texture::Texture;

impl Recording {
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
            let size = if self.bytes.is_empty() { 4 } else { 32 };
            self.bytes.push(vec![Line { _bytes: [0; LINE] }; lines.max(size)]);
            self.bytes_used = 0;
        }
        let Some(last) = self.bytes.last_mut() else { unreachable!("a chunk was just made sure of") };
        let place = &mut last[self.bytes_used..][..lines];
        self.bytes_used += lines;
        let address = place.as_mut_ptr().cast::<u8>();
        // SAFETY: the lines hold at least bytes.len() bytes and are not used yet.
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
