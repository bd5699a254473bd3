//! [`OtlpSettings`]: where an exporter sends to, as whom, and how often.

use std::fmt;
use std::time::Duration;

use super::encode::Ids;
use super::environment;

/// Where and how often an [`OtlpExporter`](super::OtlpExporter) sends, and who it says it is.
#[derive(Clone, Debug)]
pub struct OtlpSettings {
    /// Where metrics are sent to.
    pub metrics: OtlpEndpoint,
    /// Where spans are sent to.
    pub traces: OtlpEndpoint,
    /// The attributes of the resource: what the spans and metrics are of. Of several with one name the last holds.
    pub resource: Vec<(String, String)>,
    /// From one sending of metrics to the next; a tenth of a second at least.
    pub metrics_interval: Duration,
    /// From one sending of spans to the next; a tenth of a second at least.
    pub spans_interval: Duration,
    /// How long dropping the exporter may take: what there is then is sent once more.
    pub closing: Duration,
}

/// A URL that takes requests.
#[derive(Clone)]
pub struct OtlpEndpoint {
    /// All of it, with scheme and path: `http://localhost:4318/v1/metrics`.
    pub url: String,
    /// Sent with each request, an `Authorization` for example.
    pub headers: Vec<(String, String)>,
    /// How long a request may take, from the look-up of the host's name to the end of the answer; zero for as long as it takes.
    pub timeout: Duration,
}

impl OtlpSettings {
    /// Metrics go to `v1/metrics` below this URL each minute, spans to `v1/traces` each five seconds, as OpenTelemetry has it where nothing is said.
    pub fn new(url: &str) -> OtlpSettings {
        let endpoint = |path: &str| {
            let (base, query) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
            let url = format!("{}/{path}{query}", base.strip_suffix('/').unwrap_or(base));
            OtlpEndpoint { url, headers: Vec::new(), timeout: Duration::from_secs(10) }
        };
        OtlpSettings {
            metrics: endpoint("v1/metrics"),
            traces: endpoint("v1/traces"),
            resource: resource(),
            metrics_interval: Duration::from_secs(60),
            spans_interval: Duration::from_secs(5),
            closing: Duration::from_secs(5),
        }
    }

    /// As [`OtlpSettings::new`] with `http://localhost:4318`, and what these variables say, as OpenTelemetry specifies them:
    ///
    /// * `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`, `_TIMEOUT`, and `OTEL_EXPORTER_OTLP_METRICS_...`, `OTEL_EXPORTER_OTLP_TRACES_...` of each;
    /// * `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`;
    /// * `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_BSP_SCHEDULE_DELAY`.
    ///
    /// What cannot be read is not followed, and said in a warning under `dcmetal::otlp`, as are values of these and of `OTEL_SDK_DISABLED`,
    /// `OTEL_METRICS_EXPORTER` and `OTEL_TRACES_EXPORTER` that ask for what is not here.
    pub fn from_environment() -> OtlpSettings {
        environment::settings()
    }
}

/// What every resource has. A number of the process's own keeps the counters of two processes of one service apart.
fn resource() -> Vec<(String, String)> {
    let program = std::env::current_exe().ok();
    let program = program.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let service = program.map_or_else(|| "unknown_service".to_owned(), |name| format!("unknown_service:{name}"));
    let [high, low] = Ids::default().draw();
    // A UUID of random numbers (RFC 9562, 5.4).
    let instance = (u128::from(high) << 64 | u128::from(low)) & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{instance:032x}");
    let instance = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    [
        ("service.name", &*service),
        ("service.instance.id", &*instance),
        ("telemetry.sdk.name", "dcmetal"),
        ("telemetry.sdk.language", "rust"),
        ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .to_vec()
}

impl fmt::Debug for OtlpEndpoint {
    /// Without the headers' values, which often are secrets, and without what is put into a name by mistake.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_token = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
        let name = |(name, _): &'_ (String, String)| name.chars().take_while(|letter| is_token(*letter)).collect();
        let headers: Vec<String> = self.headers.iter().map(name).collect();
        let mut debug = f.debug_struct("OtlpEndpoint");
        debug.field("url", &shown(&self.url)).field("headers", &headers).field("timeout", &self.timeout).finish()
    }
}

/// A URL without a user's name and without a query, be it one or not.
pub(super) fn shown(url: &str) -> String {
    let is_scheme = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let begin = url.find("://").filter(|end| is_scheme(&url[..*end])).map_or(0, |end| end + 3);
    let end = url.find(['?', '#']).unwrap_or(url.len());
    match url.rfind('@') {
        // It may be of a password or of a query, either of which ends elsewhere.
        Some(at) if at > end => format!("{}...", &url[..begin]),
        Some(at) => format!("{}...{}", &url[..begin], &url[at..end]),
        None => url[..end].to_owned(),
    }
}
