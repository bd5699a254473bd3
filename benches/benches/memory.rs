//! How fast memory goes: from the host to a buffer of each storage mode and back, from buffer to buffer, filled, and from device to device by each way that there is,
//! beside a plain copy of as many bytes. What arrived is compared.
//!
//! `cargo bench -p dcmetal-benches --bench memory [-- --test | PART OF A NAME]`. On Linux with two simulated devices, peers of memory of their own.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group};
use dcmetal::{Accelerator, Buffer, StorageMode, multi};

/// Of a copy: of launches' overhead, of a cache, of memory.
const SIZES: [usize; 3] = [4 << 10, 1 << 20, 64 << 20];

const MODES: [(&str, StorageMode); 3] =
    [("shared", StorageMode::Shared), ("managed", StorageMode::Managed), ("private", StorageMode::Private)];

fn values(bytes: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

fn made(gpu: &Accelerator, values: &[u8], mode: StorageMode) -> Option<Buffer<u8>> {
    // Not every device has managed memory.
    let mut buffer = gpu.buffer_with(values.len(), mode).ok()?;
    buffer.write_from(values).expect("nobody uses it");
    Some(buffer)
}

fn each(c: &mut Criterion, name: &str, mut body: impl FnMut(&mut BenchmarkGroup<'_, WallTime>, &[u8])) {
    let mut group = c.benchmark_group(name);
    group.sample_size(20);
    for bytes in SIZES {
        group.throughput(Throughput::Bytes(bytes as u64));
        body(&mut group, &values(bytes));
    }
    group.finish();
}

fn plain(c: &mut Criterion) {
    each(c, "plain copy by the host", |group, values| {
        let mut to = vec![0; values.len()];
        group.bench_function(BenchmarkId::new("memory", values.len()), |b| {
            b.iter(|| black_box(&mut to).copy_from_slice(values))
        });
        assert_eq!(to, values);
    });
}

fn host(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    each(c, "to a buffer", |group, values| {
        for (name, mode) in MODES {
            let Some(mut buffer) = made(&gpu, &vec![0; values.len()], mode) else { continue };
            group.bench_function(BenchmarkId::new(name, values.len()), |b| {
                b.iter(|| buffer.write_from(values).expect("nobody uses it"));
            });
            assert_eq!(buffer.to_vec().expect("it is read"), values, "{name}");
        }
    });
    each(c, "from a buffer", |group, values| {
        for (name, mode) in MODES {
            let Some(buffer) = made(&gpu, values, mode) else { continue };
            let mut got = Vec::new();
            group.bench_function(BenchmarkId::new(name, values.len()), |b| {
                b.iter(|| got = buffer.to_vec().expect("nobody uses it"));
            });
            assert_eq!(got, values, "{name}");
        }
    });
}

fn device(c: &mut Criterion) {
    let gpu = Accelerator::system_default().expect("a device");
    each(c, "copied by the device", |group, values| {
        for (name, mode) in MODES {
            let (Some(from), Some(mut to)) = (made(&gpu, values, mode), made(&gpu, &vec![0; values.len()], mode))
            else {
                continue;
            };
            group.bench_function(BenchmarkId::new(name, values.len()), |b| {
                b.iter(|| {
                    let mut batch = gpu.batch().expect("a batch");
                    batch.copy(&from, &mut to).expect("they are of one length");
                    batch.submit().and_then(|submission| submission.wait()).expect("it runs");
                });
            });
            assert_eq!(to.to_vec().expect("it is read"), values, "{name}");
        }
    });
    each(c, "filled by the device", |group, values| {
        let mut to = made(&gpu, values, StorageMode::Private).expect("every device has private memory");
        group.bench_function(BenchmarkId::new("private", values.len()), |b| {
            b.iter(|| {
                let mut batch = gpu.batch().expect("a batch");
                batch.fill(&mut to, 7).expect("it is whole");
                batch.submit().and_then(|submission| submission.wait()).expect("it runs");
            });
        });
        assert_eq!(to.to_vec().expect("it is read"), vec![7; values.len()]);
    });
}

fn devices(c: &mut Criterion) {
    let all = Accelerator::all().expect("devices");
    let [one, other, ..] = &all[..] else {
        return println!("copies between devices are left out: there is one device");
    };
    each(c, "from device to device", |group, values| {
        for (name, mode) in MODES {
            let (Some(from), Some(mut to)) = (made(one, values, mode), made(other, &vec![0; values.len()], mode))
            else {
                continue;
            };
            let route = multi::copy(&from, &mut to).expect("it is copied").route;
            // So that what is timed has to copy all of it.
            to.write_from(&vec![0; values.len()]).expect("nobody uses it");
            group.bench_function(BenchmarkId::new(format!("{name}, by {route}"), values.len()), |b| {
                b.iter(|| multi::copy(&from, &mut to).expect("it is copied"));
            });
            assert_eq!(to.to_vec().expect("it is read"), values, "{name}");
        }
        // Shared to private memory: no peer's.
        let (Some(from), Some(mut to)) =
            (made(one, values, StorageMode::Shared), made(other, &vec![0; values.len()], StorageMode::Private))
        else {
            return;
        };
        let route = multi::copy(&from, &mut to).expect("it is copied").route;
        to.write_from(&vec![0; values.len()]).expect("nobody uses it");
        group.bench_function(BenchmarkId::new(format!("shared to private, by {route}"), values.len()), |b| {
            b.iter(|| multi::copy(&from, &mut to).expect("it is copied"));
        });
        assert_eq!(to.to_vec().expect("it is read"), values);
    });
}

criterion_group!(benches, plain, host, device, devices);

fn main() {
    #[cfg(target_os = "linux")]
    if std::env::var_os("HOSTMETAL_DEVICES").is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().expect("the bench's own executable"));
        again.args(std::env::args_os().skip(1)).env("HOSTMETAL_DEVICES", "2");
        for number in 0..2 {
            again.env(format!("HOSTMETAL_DEVICE_{number}"), "location=slot,peer_group=1");
        }
        let status = again.status().expect("the bench starts itself");
        std::process::exit(status.code().unwrap_or(1));
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
