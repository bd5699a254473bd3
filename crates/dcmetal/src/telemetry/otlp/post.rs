//! One request over HTTP, and what its answer means ("OTLP/HTTP Response" of the specification).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse};
use prost::Message as _;
use ureq::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, TRANSFER_ENCODING};
use ureq::http::{StatusCode, Uri};
use ureq::{Agent, Body};

use super::encode::bounded;
use super::settings::{OtlpEndpoint, shown};

const PROTOBUF: &str = "application/x-protobuf";
/// Bytes of an answer that are read.
const LONGEST_ANSWER: u64 = 64 << 10;
/// What a timeout of nothing stands for: as good as none.
const ENDLESS: Duration = Duration::from_millis(i32::MAX as u64);
/// A look-up of a name and a connection may take so long of a request's time.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);
/// What [`Refusal::NoTime`] says.
pub(super) const NO_TIME: &str = "there was no time left";

/// An endpoint whose URL and headers are ones.
pub(super) struct Target {
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    timeout: Duration,
    shown: String,
}

/// A request that was taken.
pub(super) struct Taken {
    /// Points or spans of it that were not.
    pub(super) rejected: u64,
    /// What the collector says of it, if anything.
    pub(super) text: String,
}

/// A request that was not, and why.
pub(super) enum Refusal {
    /// It may be taken another time, not before that if it is told.
    Again {
        after: Option<Duration>,
        text: String,
    },
    Never {
        text: String,
    },
    /// It was not even sent.
    NoTime,
}

/// Follows no redirection: the specification knows of none. Takes no proxy from the environment.
pub(super) fn agent() -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .user_agent(concat!("OTel-OTLP-Exporter-Rust-dcmetal/", env!("CARGO_PKG_VERSION")));
    config.build().new_agent()
}

impl Target {
    /// # Errors
    /// Of the kind `InvalidInput`, when no request can be made of it.
    pub(super) fn new(endpoint: &OtlpEndpoint) -> io::Result<Target> {
        let OtlpEndpoint { url, headers, timeout } = endpoint;
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("`{}`: {why}", shown(url)));
        let uri: Uri = url.parse().map_err(|_| wrong("this is no URL"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(wrong("TLS is not supported; send to a collector beside the program, by `http`"));
            }
            _ => return Err(wrong("an URL of a collector begins with `http://`")),
        }
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(|| wrong("this names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("names of users are not supported; send an `Authorization` as a header"));
        }
        if authority.as_str() != authority.host() && authority.port_u16().is_none() {
            return Err(wrong("its port is none"));
        }
        let checked = |(at, (name, value)): (usize, &(String, String))| {
            // A name that is none may have the secret in it.
            let number = at + 1;
            let none = |_| wrong(&format!("the header {number} has a name that HTTP does not allow"));
            let bad = |why: &str| wrong(&format!("the header `{name}` {why}"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(none)?;
            if [CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING].contains(&name) {
                return Err(bad("is set by the exporter"));
            }
            let mut value = HeaderValue::from_str(value).map_err(|_| bad("has a value that HTTP does not allow"))?;
            value.set_sensitive(true);
            Ok((name, value))
        };
        let headers = headers.iter().enumerate().map(checked).collect::<io::Result<_>>()?;
        let timeout = if timeout.is_zero() { ENDLESS } else { *timeout };
        Ok(Target { uri, headers, timeout, shown: shown(url) })
    }

    /// The URL, without what may be secret.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Sends a request with this body, and waits for its answer until then at the longest.
    pub(super) fn post(&self, agent: &Agent, body: &[u8], until: Instant) -> Result<Taken, Refusal> {
        let left = until.saturating_duration_since(Instant::now()).min(self.timeout);
        if left.is_zero() {
            return Err(Refusal::NoTime);
        }
        let connect = left.min(LONGEST_CONNECT);
        let mut request = agent.post(self.uri.clone()).header(CONTENT_TYPE, PROTOBUF);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let config = request.config().timeout_global(Some(left));
        let request = config.timeout_resolve(Some(connect)).timeout_connect(Some(connect)).build();
        // A look-up of a name begins a thread, and panics where the system gives none.
        let sent = catch_unwind(AssertUnwindSafe(|| request.send(body)));
        let sent = sent.map_err(|_| self.again(None, "the HTTP client panicked"))?;
        let mut response = sent.map_err(|error| match error {
            ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::Tls(_) => {
                Refusal::Never { text: format!("{}: {error}", self.shown) }
            }
            error => self.again(None, &error.to_string()),
        })?;
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let kind = header(CONTENT_TYPE).map(|kind| kind.split(';').next().unwrap_or_default().trim());
        let is_protobuf = kind.is_some_and(|kind| kind.eq_ignore_ascii_case(PROTOBUF));
        // Perhaps of something else that answers there.
        let has_body = status != StatusCode::NO_CONTENT && header(CONTENT_LENGTH).is_none_or(|length| length != "0");
        let stranger = kind.filter(|_| !is_protobuf && has_body).map(printable);
        // The form with a date is not OTLP's.
        let after = header(RETRY_AFTER).and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        // What was decided is in the status, whatever becomes of the rest of the answer.
        let answer = if is_protobuf { read(response.body_mut()) } else { Ok(Vec::new()) };
        if status.is_success() {
            return Ok(match stranger {
                Some(kind) => Taken {
                    rejected: 0,
                    text: format!("the collector answered {status} as `{kind}`, where OTLP has `{PROTOBUF}`"),
                },
                None => taken(answer),
            });
        }
        let text = match answer.ok().and_then(|answer| message(&answer)) {
            Some(message) => format!("the collector answered {status}: {}", printable(&message)),
            None => format!("the collector answered {status}"),
        };
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(self.again(after, &text)),
            _ => Err(Refusal::Never { text: format!("{}: {text}", self.shown) }),
        }
    }

    fn again(&self, after: Option<Duration>, text: &str) -> Refusal {
        Refusal::Again { after, text: format!("{}: {text}", self.shown) }
    }
}

fn read(body: &mut Body) -> Result<Vec<u8>, ureq::Error> {
    body.with_config().limit(LONGEST_ANSWER).read_to_vec()
}

/// What a request that was taken is answered with: for metrics and spans the same but for a field's name.
fn taken(answer: Result<Vec<u8>, ureq::Error>) -> Taken {
    let answer = answer.ok().and_then(|answer| ExportTraceServiceResponse::decode(&*answer).ok());
    let Some(answer) = answer else {
        return Taken { rejected: 0, text: "the collector's answer is not understood".to_owned() };
    };
    let ExportTracePartialSuccess { rejected_spans, error_message } = answer.partial_success.unwrap_or_default();
    Taken { rejected: u64::try_from(rejected_spans).unwrap_or(0), text: printable(&error_message) }
}

/// The message of a `google.rpc.Status`, which has it where a partial success has its own.
fn message(answer: &[u8]) -> Option<String> {
    let message = ExportTracePartialSuccess::decode(answer).ok()?.error_message;
    Some(message).filter(|message| !message.is_empty())
}

/// A stranger's text, on one line.
fn printable(text: &str) -> String {
    bounded(&text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect::<String>())
}

/// How long to wait after so many tries in a row that failed, the last of which may have told.
pub(super) fn pause(tries: u32, after: Option<Duration>, random: u64) -> Duration {
    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30);
    /// Bounds of what a collector may ask for.
    const TOLD: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(300)];
    if let Some(after) = after {
        return after.clamp(TOLD[0], TOLD[1]);
    }
    let whole = FIRST.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(LONGEST);
    // Between half of it and all of it, so that many programs do not come back at once.
    whole / 2 + (whole / 2).mul_f64(random as f64 / u64::MAX as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let seconds = |number: f64| Duration::from_secs_f64(number);
        for (tries, after, shortest, longest) in [
            (1, None, 0.5, 1.0),
            (2, None, 1.0, 2.0),
            (4, None, 4.0, 8.0),
            (6, None, 15.0, 30.0),
            (u32::MAX, None, 15.0, 30.0),
            (1, Some(0.0), 0.1, 0.1),
            (9, Some(7.0), 7.0, 7.0),
            (1, Some(1e9), 300.0, 300.0),
        ] {
            let after = after.map(seconds);
            assert_eq!(pause(tries, after, 0), seconds(shortest), "{tries} {after:?}");
            assert_eq!(pause(tries, after, u64::MAX), seconds(longest), "{tries} {after:?}");
        }
    }

    #[test]
    fn endpoints_that_cannot_be_are_refused_before_anything_is_sent() {
        let endpoint = |url: &str, header: Option<(&str, &str)>| {
            let headers = header.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
            OtlpEndpoint { url: url.to_owned(), headers, timeout: Duration::ZERO }
        };
        const GOOD: &str = "http://localhost:4318/v1/traces";
        for (url, header, why) in [
            (GOOD, None, None),
            ("http://[::1]", Some(("x-key", "secret")), None),
            ("http://host/a?key=secret", None, None),
            ("", None, Some("this is no URL")),
            ("localhost:4318", None, Some("begins with `http://`")),
            ("http:///v1/traces", None, Some("")),
            ("http://collector:43l8", None, Some("`http://collector:43l8`: its port is none")),
            ("http://collector:99999/v1", None, Some("its port is none")),
            ("http://collector:/v1", None, Some("its port is none")),
            ("http://[::1]:43l8", None, Some("its port is none")),
            ("http://[::1]:4318", None, None),
            ("/v1/traces", None, Some("begins with `http://`")),
            ("ftp://host/", None, Some("begins with `http://`")),
            ("http://ho st/", None, Some("this is no URL")),
            ("https://host/", None, Some("TLS is not supported")),
            ("http://me:secret@host/", None, Some("`http://...@host/`: names of users")),
            ("me:secret@collector:4318", None, Some("`...@collector:4318`: ")),
            ("http://me:a/secret@host/", None, Some("")),
            ("http://me:secret?ss@host", None, Some("")),
            ("http://me:se?secret@host", None, Some("")),
            ("me:a://secret@host", None, Some("")),
            ("http://host/a?key=a@secret", None, None),
            (GOOD, Some(("Authorization: Basic secret", "=")), Some("the header 1 has a name")),
            (GOOD, Some(("a", "secret\r\nb: c")), Some("the header `a` has a value")),
            (GOOD, Some(("content-LENGTH", "3")), Some("is set by the exporter")),
        ] {
            let endpoint = endpoint(url, header);
            assert!(!format!("{endpoint:?}").contains("secret"), "{endpoint:?}");
            match (Target::new(&endpoint), why) {
                (Ok(target), None) => assert!(!target.shown.contains("secret")),
                (Err(error), Some(why)) => {
                    let text = error.to_string();
                    assert!(text.contains(why) && !text.contains("secret"), "{url}: {text}");
                    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
                }
                (result, _) => panic!("{url} {header:?}: {:?}", result.err()),
            }
        }
    }

    /// A flush that ends between two requests says nothing of the collector.
    #[test]
    fn without_time_nothing_is_sent() {
        let endpoint =
            OtlpEndpoint { url: "http://127.0.0.1:1".to_owned(), headers: Vec::new(), timeout: Duration::ZERO };
        let target = Target::new(&endpoint).expect("a URL");
        assert!(matches!(target.post(&agent(), &[], Instant::now()), Err(Refusal::NoTime)));
    }
}
