//! OpenTelemetry: metrics and spans for a collector, over OTLP/HTTP with binary Protobuf
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>).
//!
//! `encode` makes the bytes of requests, `post` sends one, [`OtlpExporter`] decides when, and `environment` reads the variables that OpenTelemetry has
//! for all of this. The messages are those of the crate `opentelemetry-proto`; its SDK is not used, for it wants to count by itself.
//!
//! Not here: gRPC, JSON, compression, TLS and proxies. A collector beside the program has them.

mod encode;
mod environment;
mod exporter;
mod post;
mod settings;

pub use encode::{otlp_metrics, otlp_traces};
pub use exporter::{OtlpExporter, OtlpStats};
pub use settings::{OtlpEndpoint, OtlpSettings};
