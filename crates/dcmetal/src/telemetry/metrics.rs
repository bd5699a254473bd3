//! The metrics that snapshots are exported as: their names, what they mean, and their values, for every exporter.

use std::time::SystemTime;

use super::{Health, Histogram, Snapshot, State, Telemetry};

/// Histograms have a bucket for each power of two nanoseconds of these: from a microsecond to 17 seconds.
const POWERS: std::ops::RangeInclusive<u32> = 10..=34;

/// One metric of all accelerators.
pub(super) struct Metric {
    /// Without `dcmetal_` in front, and without its unit.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) values: Values,
}

pub(super) enum Values {
    Counters(Vec<Sample<u64>>),
    Gauges(Vec<Sample<u64>>),
    Bytes(Vec<Sample<u64>>),
    /// In seconds.
    Histograms(Vec<Sample<Buckets>>),
}

/// A value of an accelerator's, with its labels.
pub(super) struct Sample<T> {
    pub(super) labels: Labels,
    pub(super) value: T,
    /// When it was nothing, if it is counted.
    #[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "Prometheus wants to know of no time"))]
    pub(super) since: SystemTime,
}

/// A value with the labels that it has beside the accelerator's.
type Labelled<T> = (Labels, T);
pub(super) type Labels = Vec<(&'static str, String)>;

/// A histogram as exporters want it.
pub(super) struct Buckets {
    /// The largest seconds of each bucket and how many are in it alone; those above the last are in none.
    pub(super) counts: Vec<(f64, u64)>,
    pub(super) count: u64,
    pub(super) sum: f64,
}

impl Buckets {
    fn of(histogram: &Histogram) -> Buckets {
        let mut before = 0;
        let of = |power: u32| {
            let below = histogram.below_power(power);
            let count = below - std::mem::replace(&mut before, below);
            (((1u64 << power) - 1) as f64 / 1e9, count)
        };
        Buckets { counts: POWERS.map(of).collect(), count: histogram.count(), sum: histogram.sum().as_secs_f64() }
    }
}

/// Accelerators, in the order given.
pub(super) struct Devices(Vec<(Snapshot, Health)>);

impl Devices {
    pub(super) fn of<'a>(telemetry: impl IntoIterator<Item = &'a Telemetry>) -> Devices {
        Devices(telemetry.into_iter().map(|one| (one.snapshot(), one.health())).collect())
    }

    /// All metrics, each once.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let help = "Submissions that were handed to Metal";
        let committed = self.counters("submissions_committed", help, |s| vec![(vec![], s.committed)]);
        let submissions = self.counters("submissions", "Submissions that ended, by how", |snapshot| {
            let good = (vec![("outcome", "ok".to_owned())], snapshot.succeeded);
            let failed = snapshot.failed.iter();
            let failed = failed.map(|(kind, count)| (vec![("outcome", format!("{kind:?}").to_lowercase())], *count));
            std::iter::once(good).chain(failed).collect()
        });
        let launches = self.counters("launches", "Launches of submissions that ended, by kernel", |snapshot| {
            snapshot.kernels.iter().map(|kernel| (vec![("kernel", kernel.name.clone())], kernel.launches)).collect()
        });
        let help = "Copies and fills of submissions that ended";
        let copies = self.counters("copies", help, |s| vec![(vec![], s.copies)]);
        let help = "Measured submissions that ended well and of which the platform told no time on the device";
        let untimed = self.counters("submissions_untimed", help, |s| vec![(vec![], s.untimed)]);
        let help = "From the commit of a submission until those who waited were told";
        let latency = self.histograms("submission", help, |s| vec![(vec![], &s.latency)]);
        let help = "From the commit of a submission until the device began";
        let queued = self.histograms("submission_queue", help, |s| vec![(vec![], &s.queued)]);
        let on_device = self.histograms("submission_device", "Time on the device", |s| vec![(vec![], &s.device_time)]);
        let help = "Time on the device of submissions that launched this kernel and did nothing else";
        let kernels = self.histograms("kernel_device", help, |snapshot| {
            let kernels = snapshot.kernels.iter().filter(|kernel| kernel.device_time.count() > 0);
            kernels.map(|kernel| (vec![("kernel", kernel.name.clone())], &kernel.device_time)).collect()
        });
        let timed =
            self.counters("kernel_device_launches", "Launches of the submissions in kernel_device", |snapshot| {
                let kernels = snapshot.kernels.iter().filter(|kernel| kernel.device_time.count() > 0);
                kernels.map(|kernel| (vec![("kernel", kernel.name.clone())], kernel.timed_launches)).collect()
            });
        let compilations =
            self.histograms("compilation", "Times in which libraries and kernels were made", |snapshot| {
                let library = (vec![("what", "library".to_owned())], &snapshot.libraries);
                vec![library, (vec![("what", "kernel".to_owned())], &snapshot.kernels_made)]
            });
        let help = "Libraries and kernels that could not be made";
        let not_compiled = self.counters("compilation_failures", help, |s| vec![(vec![], s.not_compiled)]);
        let mut metrics =
            vec![committed, submissions, launches, copies, untimed, latency, queued, on_device, kernels, timed];
        metrics.extend([compilations, not_compiled, self.caches()]);
        let help = "Further tries of work that failed, by recoveries";
        metrics.push(self.counters("recovery_retries", help, |s| vec![(vec![], s.retries)]));
        let help = "How often a recovery began to leave the device alone";
        metrics.push(self.counters("recovery_pauses", help, |s| vec![(vec![], s.pauses)]));
        metrics.extend(self.pools());
        let help = "Bytes that the process holds on the device";
        metrics.push(self.bytes("device_memory", help, |s| vec![(vec![], s.allocated_bytes)]));
        let help = "Bytes that the device recommends at most, 0 when it does not say";
        metrics.push(self.bytes("device_memory_recommended", help, |s| vec![(vec![], s.recommended_bytes)]));
        metrics.push(self.states("health", "1 for the state that the device is in", |health| {
            let states = [State::Good, State::Strained, State::Failing].into_iter();
            states.map(|state| (vec![("state", state.name().to_owned())], u64::from(state == health.state))).collect()
        }));
        metrics.push(self.states("health_reason", "1 for each reason not to be in good health", |health| {
            health.reasons.iter().map(|reason| (vec![("reason", reason.name().to_owned())], 1)).collect()
        }));
        metrics
    }

    fn caches(&self) -> Metric {
        self.lifelong("cache_requests", "Requests for compiled code, by cache and what became of them", |snapshot| {
            let sample = |cache: &str, outcome: &str, count| {
                (vec![("cache", cache.to_owned()), ("outcome", outcome.to_owned())], count)
            };
            let sources = &snapshot.sources;
            let mut samples = vec![
                sample("memory", "hit", sources.hits),
                sample("memory", "joined", sources.joined),
                sample("memory", "miss", sources.misses),
            ];
            if let Some(files) = &snapshot.kernel_files {
                samples.extend([sample("disk", "hit", files.hits), sample("disk", "miss", files.misses)]);
            }
            samples
        })
    }

    fn pools(&self) -> [Metric; 9] {
        let sample = |number: &u64, label, value: &str, count| {
            (vec![("pool", number.to_string()), (label, value.to_owned())], count)
        };
        let help = "Requests for pooled buffers, by pool and what became of them";
        let requests = self.lifelong("pool_requests", help, |snapshot| {
            let pools = snapshot.pools.iter();
            let of = |(number, pool): &(u64, crate::PoolStats)| {
                [sample(number, "outcome", "hit", pool.hits), sample(number, "outcome", "miss", pool.misses)]
            };
            pools.flat_map(of).collect()
        });
        let released = self.lifelong("pool_released", "Buffers that a pool let go of", |snapshot| {
            snapshot.pools.iter().map(|(number, pool)| (vec![("pool", number.to_string())], pool.released)).collect()
        });
        let held = self.bytes("pool_memory", "Bytes that a pool holds, by state", |snapshot| {
            let pools = snapshot.pools.iter();
            let of = |(number, pool): &(u64, crate::PoolStats)| {
                [sample(number, "state", "used", pool.used_bytes), sample(number, "state", "idle", pool.idle_bytes)]
            };
            pools.flat_map(of).collect()
        });
        let each = |figure: fn(&crate::PoolStats) -> u64| {
            move |snapshot: &Snapshot| {
                let pools = snapshot.pools.iter();
                pools.map(|(number, pool)| (vec![("pool", number.to_string())], figure(pool))).collect()
            }
        };
        let help = "Bytes in use of a pool that nobody asked for";
        let waste = self.bytes("pool_waste", help, each(|pool| pool.waste_bytes));
        let help = "The most bytes that a pool held at once, used and idle";
        let peak = self.bytes("pool_memory_peak", help, each(|pool| pool.peak_bytes));
        let help = "The most bytes of a pool that were in use at once, or more where several threads were";
        let used_peak = self.bytes("pool_used_memory_peak", help, each(|pool| pool.peak_used_bytes));
        let buffers = self.gauges("pool_buffers", "Buffers that a pool holds, by state", |snapshot| {
            let pools = snapshot.pools.iter();
            let of = |(number, pool): &(u64, crate::PoolStats)| {
                [sample(number, "state", "used", pool.used_buffers), sample(number, "state", "idle", pool.idle_buffers)]
            };
            pools.flat_map(of).collect()
        });
        let help = "The most buffers that a pool held at once, used and idle";
        let peak_buffers = self.gauges("pool_buffers_peak", help, each(|pool| pool.peak_buffers));
        let help = "The most buffers of a pool that were in use at once, or more where several threads were";
        let used_buffers_peak = self.gauges("pool_used_buffers_peak", help, each(|pool| pool.peak_used_buffers));
        [requests, released, held, waste, peak, used_peak, buffers, peak_buffers, used_buffers_peak]
    }

    fn counters(
        &self,
        name: &'static str,
        help: &'static str,
        samples: impl Fn(&Snapshot) -> Vec<Labelled<u64>>,
    ) -> Metric {
        Metric { name, help, values: Values::Counters(self.labelled(|s| s.since, |snapshot, _| samples(snapshot))) }
    }

    /// What is counted also before telemetry is on.
    fn lifelong(
        &self,
        name: &'static str,
        help: &'static str,
        samples: impl Fn(&Snapshot) -> Vec<Labelled<u64>>,
    ) -> Metric {
        Metric { name, help, values: Values::Counters(self.labelled(|s| s.made, |snapshot, _| samples(snapshot))) }
    }

    fn bytes(
        &self,
        name: &'static str,
        help: &'static str,
        samples: impl Fn(&Snapshot) -> Vec<Labelled<u64>>,
    ) -> Metric {
        Metric { name, help, values: Values::Bytes(self.labelled(|s| s.since, |snapshot, _| samples(snapshot))) }
    }

    fn gauges(
        &self,
        name: &'static str,
        help: &'static str,
        samples: impl Fn(&Snapshot) -> Vec<Labelled<u64>>,
    ) -> Metric {
        Metric { name, help, values: Values::Gauges(self.labelled(|s| s.since, |snapshot, _| samples(snapshot))) }
    }

    /// Gauges of the health.
    fn states(
        &self,
        name: &'static str,
        help: &'static str,
        samples: impl Fn(&Health) -> Vec<Labelled<u64>>,
    ) -> Metric {
        Metric { name, help, values: Values::Gauges(self.labelled(|s| s.since, |_, health| samples(health))) }
    }

    fn histograms(
        &self,
        name: &'static str,
        help: &'static str,
        samples: impl for<'a> Fn(&'a Snapshot) -> Vec<Labelled<&'a Histogram>>,
    ) -> Metric {
        let buckets = |snapshot: &Snapshot, _: &Health| {
            samples(snapshot).into_iter().map(|(labels, histogram)| (labels, Buckets::of(histogram))).collect()
        };
        Metric { name, help, values: Values::Histograms(self.labelled(|s| s.since, buckets)) }
    }

    /// With the accelerator's labels first: several may be of one device, and devices of one name.
    fn labelled<T>(
        &self,
        since: fn(&Snapshot) -> SystemTime,
        samples: impl Fn(&Snapshot, &Health) -> Vec<Labelled<T>>,
    ) -> Vec<Sample<T>> {
        let of = |(number, (snapshot, health)): (usize, &(Snapshot, Health))| {
            let own = [("accelerator", number.to_string()), ("device", snapshot.device.clone())];
            let since = since(snapshot);
            let with = move |(labels, value): Labelled<T>| {
                let labels = own.iter().cloned().chain(labels).collect();
                Sample { labels, value, since }
            };
            samples(snapshot, health).into_iter().map(with).collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(of).collect()
    }
}
