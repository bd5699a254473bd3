//! [`Urgent`]: the streams of an accelerator that have a priority, and their turn before others.
//!
//! The queue's order is that of handing over, and what was handed over nobody overtakes. So a priority is a place in that order: before
//! anything is handed over, the batches in the making of all streams of a higher priority are, the highest first. Nobody waits for
//! anybody, so nothing starves; and batches in the making never conflict, so their order changes no result.

use super::stream::Shared;
use super::submission::HandedOver;
use crate::raw::host::lock;
use crate::sync::{Arc, Mutex, Weak};

/// Those whose priority is above 0: of the others nobody is lower.
#[derive(Default)]
pub(crate) struct Urgent {
    /// The highest first.
    streams: Mutex<Vec<(u32, Weak<Shared>)>>,
}

/// What was handed over before something else. To be settled under no lock, and to be kept until then: it may be the last that has a stream.
#[must_use = "some may still be to be settled"]
pub(super) struct First(Vec<(Arc<Shared>, Option<HandedOver>)>);

impl Urgent {
    pub(super) fn add(&self, priority: u32, stream: Weak<Shared>) {
        if priority == 0 {
            return;
        }
        let mut streams = lock(&self.streams);
        streams.retain(|(_, stream)| stream.strong_count() > 0);
        let behind = streams.partition_point(|(other, _)| *other >= priority);
        streams.insert(behind, (priority, stream));
    }

    /// Hands over the batches in the making of the streams above this priority. The lock of one stream of this priority may be
    /// held, and none of a higher one.
    pub(super) fn hand_over(&self, priority: u32) -> First {
        let above: Vec<Arc<Shared>> = {
            let streams = lock(&self.streams);
            let above = streams.iter().take_while(|(other, _)| *other > priority);
            above.filter_map(|(_, stream)| stream.upgrade()).collect()
        };
        let hand_over = |stream: Arc<Shared>| {
            let handed_over = stream.close_unsettled();
            (stream, handed_over)
        };
        First(above.into_iter().map(hand_over).collect())
    }
}

impl First {
    /// No locks may be held.
    pub(super) fn settle(self) {
        for (_, handed_over) in self.0 {
            drop(handed_over.map(HandedOver::settle));
        }
    }
}
