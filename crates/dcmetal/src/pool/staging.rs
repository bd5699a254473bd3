//! [`Staging`]: the shared memory through which an accelerator copies to and from private buffers, and that kernels print to, used again.
//!
//! It is lent as a pool's memory is, so what is in flight is never handed out again. An accelerator owns it, so that idle memory keeps none: it
//! gets its accelerator when it is lent and gives it back on its way home.

use std::time::Duration;

use bytemuck::Pod;

use super::account::Account;
use super::keeper::Keeper;
use super::shelves::{Owner, class};
use super::{PoolStats, WeakPool, bytes_of, pressure};
use crate::memory::{Allocation, AllocationRef, allocation_bytes, no_memory};
use crate::raw::host::{Memory, lock};
use crate::sync::{Arc, Mutex};
use crate::{Accelerator, Buffer, Result, StorageMode};

/// Of what the device recommends to have in use, this part may be held.
const SHARE: u64 = 4;
const BUFFERS: u64 = 10_000;
/// As in pools where nothing is said.
const IDLE_AGE: Duration = Duration::from_secs(10);

pub(crate) struct Staging {
    shelves: Owner<AllocationRef>,
    /// Started by the first allocation.
    keeper: Mutex<Option<Keeper>>,
}

impl Staging {
    /// `recommended`: bytes that can be in use on the device; 0 where it recommends nothing.
    pub(crate) fn new(recommended: u64) -> Staging {
        let bytes = if recommended == 0 { u64::MAX } else { recommended / SHARE };
        Staging { shelves: Owner::new(Account::new(bytes, BUFFERS).into()), keeper: Mutex::default() }
    }

    /// A buffer of its accelerator whose elements hold anything.
    pub(crate) fn buffer<T: Pod>(&self, accelerator: &Accelerator, len: usize) -> Result<Buffer<T>> {
        let data = allocation_bytes::<T>(accelerator, len)?;
        let (class, size) = class(data);
        // As in a pool.
        let size = if size as u64 <= accelerator.limits().max_buffer_bytes { size } else { data };
        let asked = len * size_of::<T>();
        let (allocation, home) = match self.shelves.take(class, size, asked) {
            Some((mut allocation, home)) => {
                allocation.alone().expect("nobody has it").belong_to(accelerator);
                (allocation, home)
            }
            None => {
                let allocation = Allocation::of_staging(self.allocate(accelerator, size)?, accelerator);
                let home = self.shelves.lend_new(bytes_of(&allocation), asked);
                (AllocationRef::new(allocation), home)
            }
        };
        Ok(Buffer::new(allocation, len, Some(home)))
    }

    fn allocate(&self, accelerator: &Accelerator, bytes: usize) -> Result<Memory> {
        let mut keeper = lock(&self.keeper);
        if keeper.is_none() {
            // A system without room for a thread may have it at the next allocation.
            *keeper = Keeper::start(self.shelves.shelves(), IDLE_AGE, pressure).ok();
        }
        drop(keeper);
        self.shelves.make_room(bytes);
        accelerator
            .make(|| Memory::new(accelerator.device(), bytes, StorageMode::Shared))
            .map_err(|failure| no_memory(accelerator, bytes, failure))
    }

    pub(crate) fn trim(&self, idle_bytes: u64) -> u64 {
        self.shelves.trim(idle_bytes)
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.shelves.stats()
    }

    /// For those who want room.
    pub(crate) fn downgrade(&self) -> WeakPool {
        WeakPool(Arc::downgrade(self.shelves.shelves()))
    }
}
