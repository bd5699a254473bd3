//! The locks and atomics of the modules that `tests/models.rs` compiles with shuttle's in place of these.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
