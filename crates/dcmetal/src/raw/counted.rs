//! [`Counted`]: an `Arc` that has no weak ones, so that whoever has the only one has the value.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Shared by all of its clones.
pub(crate) struct Counted<T>(Arc<T>);

impl<T> Counted<T> {
    pub(crate) fn new(value: T) -> Counted<T> {
        Counted(Arc::new(value))
    }

    /// Whether they share their value.
    pub(crate) fn is(&self, other: &Counted<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where the value is, which tells it from all others for as long as this lives.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The value, if nobody else has it. `Arc::get_mut` locks the count of weak ones for it, which is a tenth of a pool's hit.
    pub(crate) fn alone(&mut self) -> Option<&mut T> {
        if Arc::strong_count(&self.0) != 1 {
            return None;
        }
        // Whoever let go of it did so with `Release`.
        fence(Ordering::Acquire);
        // SAFETY: the pointer is the value's. This is the only `Arc` of it, borrowed for as long as the reference lives; there is no weak one that
        // could become another, since no function here makes one or lends the `Arc`.
        Some(unsafe { &mut *Arc::as_ptr(&self.0).cast_mut() })
    }
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Counted<T> {
        Counted(Arc::clone(&self.0))
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_alone_has_the_value() {
        let mut first = Counted::new(String::from("a"));
        first.alone().expect("nobody else has it").push('b');
        let mut second = first.clone();
        assert!(first.is(&second) && first.address() == second.address());
        assert!(first.alone().is_none() && second.alone().is_none());
        drop(first);
        second.alone().expect("the other has gone").push('c');
        assert_eq!(*second, "abc");
    }

    #[test]
    fn what_others_wrote_is_seen_by_who_is_left() {
        use std::sync::atomic::AtomicUsize;

        struct Value {
            added: AtomicUsize,
            seen: usize,
        }
        // Relaxed, so that only the counts order the accesses, which Miri and the thread sanitizer watch.
        let mut last = Counted::new(Value { added: AtomicUsize::new(0), seen: 0 });
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let one = last.clone();
                scope.spawn(move || one.added.fetch_add(1, Ordering::Relaxed));
            }
            let value = loop {
                match last.alone() {
                    Some(value) => break value,
                    None => std::thread::yield_now(),
                }
            };
            value.seen = *value.added.get_mut();
        });
        assert_eq!(last.seen, 3);
    }
}
