//! Settings from the environment, by "OpenTelemetry Protocol Exporter" and "Environment Variable Specification"
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>,
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>).

use std::time::Duration;

use log::Level;

use super::settings::{OtlpEndpoint, OtlpSettings};
use crate::telemetry::{OTLP, say};

const BASE: &str = "http://localhost:4318";

pub(super) fn settings() -> OtlpSettings {
    let (settings, complaints) = settings_from(|name| match std::env::var(name) {
        Ok(value) => Ok(value),
        Err(std::env::VarError::NotPresent) => Ok(String::new()),
        Err(std::env::VarError::NotUnicode(_)) => Err("it is not UTF-8"),
    });
    for complaint in complaints {
        say(OTLP, Level::Warn, format_args!("{complaint}"));
    }
    settings
}

/// The settings, and what was wrong. A variable that is empty is as one that is not set.
fn settings_from(read: impl Fn(&str) -> Result<String, &'static str>) -> (OtlpSettings, Vec<String>) {
    let mut complaints = Vec::new();
    let mut variable = |name: &str| match read(name) {
        Ok(value) => Some(value).filter(|value| !value.trim().is_empty()),
        Err(why) => {
            complaints.push(ignored(name, why));
            None
        }
    };
    let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    let mut settings = OtlpSettings::new(base.as_deref().map_or(BASE, str::trim));
    let all = |what: &str| format!("OTEL_EXPORTER_OTLP_{what}");
    let of_signal = |signal: &str, what: &str| format!("OTEL_EXPORTER_OTLP_{signal}_{what}");
    let mut problems = Vec::new();
    for (signal, endpoint) in [("METRICS", &mut settings.metrics), ("TRACES", &mut settings.traces)] {
        let OtlpEndpoint { url, headers, timeout } = endpoint;
        if let Some(own) = variable(&of_signal(signal, "ENDPOINT")) {
            // As it is; the request's path is / where it has none.
            *url = own.trim().to_owned();
        }
        // That of the signal goes before that of all.
        let mut of_both = |what: &str| {
            let names = [of_signal(signal, what), all(what)];
            names.into_iter().find_map(|name| variable(&name).map(|value| (name, value)))
        };
        if let Some((name, value)) = of_both("HEADERS") {
            match pairs(&value) {
                Ok(pairs) => *headers = pairs,
                Err(why) => problems.push(ignored(&name, &why)),
            }
        }
        if let Some((name, value)) = of_both("TIMEOUT") {
            match milliseconds(&value) {
                Ok(own) => *timeout = own,
                Err(why) => problems.push(ignored(&name, why)),
            }
        }
        for (what, only) in [("PROTOCOL", "http/protobuf"), ("COMPRESSION", "none")] {
            if let Some((name, value)) = of_both(what) {
                problems.extend(other(&name, &value, only));
            }
        }
    }
    for (name, only) in [
        ("OTEL_METRICS_EXPORTER", "otlp"),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative"),
    ] {
        problems.extend(variable(name).and_then(|value| other(name, &value, only)));
    }
    let disabled = variable("OTEL_SDK_DISABLED").filter(|value| value.trim().eq_ignore_ascii_case("true"));
    problems.extend(disabled.map(|_| ignored("OTEL_SDK_DISABLED", "an exporter that is started sends")));
    for (name, interval) in [
        ("OTEL_METRIC_EXPORT_INTERVAL", &mut settings.metrics_interval),
        ("OTEL_BSP_SCHEDULE_DELAY", &mut settings.spans_interval),
    ] {
        match variable(name).map(|value| milliseconds(&value)) {
            Some(Ok(own)) => *interval = own,
            Some(Err(why)) => problems.push(ignored(name, why)),
            None => {}
        }
    }
    if let Some(value) = variable("OTEL_RESOURCE_ATTRIBUTES") {
        match pairs(&value) {
            Ok(pairs) => settings.resource.extend(pairs),
            Err(why) => problems.push(ignored("OTEL_RESOURCE_ATTRIBUTES", &why)),
        }
    }
    if let Some(service) = variable("OTEL_SERVICE_NAME") {
        settings.resource.push(("service.name".to_owned(), service));
    }
    complaints.extend(problems);
    // One that is for both signals is complained of once.
    complaints.sort();
    complaints.dedup();
    (settings, complaints)
}

fn ignored(name: &str, why: &str) -> String {
    format!("{name} is not followed: {why}")
}

/// The complaint of a value for which there is only one.
fn other(name: &str, value: &str, only: &str) -> Option<String> {
    let value = value.trim();
    (!value.eq_ignore_ascii_case(only)).then(|| ignored(name, &format!("dcmetal has no `{value}`, only `{only}`")))
}

fn milliseconds(value: &str) -> Result<Duration, &'static str> {
    let number = value.trim().parse().map_err(|_| "it is not a number of milliseconds")?;
    Ok(Duration::from_millis(number))
}

/// `key1=value1,key2=value2`, both with parts as `%2C`. One that cannot be read makes all of them be left out. Says nothing of a value, which may be secret.
fn pairs(list: &str) -> Result<Vec<(String, String)>, String> {
    let parts = list.split(',').enumerate().filter(|(_, part)| !part.trim().is_empty());
    let pair = |(at, part): (usize, &str)| {
        let wrong = |what: &str| format!("its entry {} {what}", at + 1);
        let (key, value) = part.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
        let decoded = |text: &str| decoded(text.trim()).ok_or_else(|| wrong("is not percent-encoded UTF-8"));
        let (key, value) = (decoded(key)?, decoded(value)?);
        if key.is_empty() { Err(wrong("has no name")) } else { Ok((key, value)) }
    };
    parts.map(pair).collect()
}

/// RFC 3986, 2.1.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        let byte = if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            (digit()? * 16 + digit()?) as u8
        } else {
            byte
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings and complaints where these variables are set.
    fn with(variables: &[(&str, &str)]) -> (OtlpSettings, Vec<String>) {
        settings_from(|name| {
            let value = variables.iter().find(|(own, _)| *own == name);
            match value {
                Some((_, "\u{fffd}")) => Err("it is not UTF-8"),
                value => Ok(value.map_or_else(String::new, |(_, value)| (*value).to_owned())),
            }
        })
    }

    /// Examples 1 to 3 of "Endpoint URLs for OTLP/HTTP", and a base with and without a slash.
    #[test]
    fn urls_are_those_of_the_specification() {
        const BOTH: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        const METRICS: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
        type Case = (&'static [(&'static str, &'static str)], &'static str, &'static str);
        const CASES: &[Case] = &[
            (&[], "http://localhost:4318/v1/metrics", "http://localhost:4318/v1/traces"),
            (&[(BOTH, " ")], "http://localhost:4318/v1/metrics", "http://localhost:4318/v1/traces"),
            (&[(BOTH, "http://collector:4318")], "http://collector:4318/v1/metrics", "http://collector:4318/v1/traces"),
            (&[(BOTH, "http://collector/")], "http://collector/v1/metrics", "http://collector/v1/traces"),
            (
                &[(BOTH, "http://collector/base/?key=1/2#part")],
                "http://collector/base/v1/metrics?key=1/2#part",
                "http://collector/base/v1/traces?key=1/2#part",
            ),
            (
                &[(TRACES, "http://collector:4318"), (METRICS, "http://collector.example.com/v1/metrics")],
                "http://collector.example.com/v1/metrics",
                "http://collector:4318",
            ),
            (
                &[(BOTH, "http://collector:4318/mycollector/"), (METRICS, "http://collector.example.com/v1/metrics/")],
                "http://collector.example.com/v1/metrics/",
                "http://collector:4318/mycollector/v1/traces",
            ),
        ];
        for (variables, metrics, traces) in CASES {
            let (settings, complaints) = with(variables);
            assert_eq!((&*settings.metrics.url, &*settings.traces.url), (*metrics, *traces), "{variables:?}");
            assert!(complaints.is_empty());
        }
    }

    #[test]
    fn lists_are_pairs_and_one_that_cannot_be_read_is_left_out() {
        type Case = (&'static str, Option<&'static [(&'static str, &'static str)]>);
        const CASES: &[Case] = &[
            ("a=b", Some(&[("a", "b")])),
            (" a = b , c=d ", Some(&[("a", "b"), ("c", "d")])),
            ("a=b,", Some(&[("a", "b")])),
            ("a=", Some(&[("a", "")])),
            ("Authorization=Basic%20eA==", Some(&[("Authorization", "Basic eA==")])),
            ("k%3D=%2C%2c,u=%C3%A9", Some(&[("k=", ",,"), ("u", "é")])),
            ("a=b,c", None),
            ("a=b,=c", None),
            ("a=%4", None),
            ("a=%zz", None),
            ("a=%+1", None),
            ("a=%FF", None),
        ];
        for (list, wanted) in CASES {
            let wanted = wanted.map(|pairs| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect());
            assert_eq!(pairs(list).ok(), wanted, "{list}");
            let (settings, complaints) = with(&[("OTEL_EXPORTER_OTLP_HEADERS", list)]);
            assert_eq!(settings.metrics.headers, wanted.clone().unwrap_or_default(), "{list}");
            assert_eq!(complaints.len(), usize::from(wanted.is_none()), "{list}: {complaints:?}");
            assert!(complaints.iter().all(|text| !text.contains(list)), "it may be secret: {complaints:?}");
        }
    }

    #[test]
    fn a_signals_own_goes_before_that_of_all() {
        let (settings, complaints) = with(&[
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=both"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=traces"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "20"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "250"),
            ("OTEL_BSP_SCHEDULE_DELAY", "300"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "HTTP/protobuf"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "None"),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "Cumulative"),
            ("OTEL_METRICS_EXPORTER", "otlp"),
            ("OTEL_TRACES_EXPORTER", "OTLP"),
            ("OTEL_SDK_DISABLED", "false"),
        ]);
        assert!(complaints.is_empty(), "{complaints:?}");
        assert_eq!(settings.metrics.headers, [("a".to_owned(), "both".to_owned())]);
        assert_eq!(settings.traces.headers, [("a".to_owned(), "traces".to_owned())]);
        assert_eq!((settings.metrics.timeout.as_millis(), settings.traces.timeout.as_millis()), (20, 1500));
        assert_eq!((settings.metrics_interval.as_millis(), settings.spans_interval.as_millis()), (250, 300));
    }

    #[test]
    fn what_cannot_be_followed_is_said_once() {
        let (settings, complaints) = with(&[
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "-5"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "soon"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"),
            ("OTEL_SERVICE_NAME", "\u{fffd}"),
            ("OTEL_SDK_DISABLED", "True"),
            ("OTEL_METRICS_EXPORTER", "prometheus"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
        ]);
        let plain = OtlpSettings::new(BASE);
        assert_eq!(settings.metrics.timeout, plain.metrics.timeout);
        assert_eq!(settings.metrics_interval, plain.metrics_interval);
        let wanted = [
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is not followed: dcmetal has no `delta`, only `cumulative`",
            "OTEL_EXPORTER_OTLP_PROTOCOL is not followed: dcmetal has no `grpc`, only `http/protobuf`",
            "OTEL_EXPORTER_OTLP_TIMEOUT is not followed: it is not a number of milliseconds",
            "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION is not followed: dcmetal has no `gzip`, only `none`",
            "OTEL_METRICS_EXPORTER is not followed: dcmetal has no `prometheus`, only `otlp`",
            "OTEL_METRIC_EXPORT_INTERVAL is not followed: it is not a number of milliseconds",
            "OTEL_SDK_DISABLED is not followed: an exporter that is started sends",
            "OTEL_SERVICE_NAME is not followed: it is not UTF-8",
            "OTEL_TRACES_EXPORTER is not followed: dcmetal has no `none`, only `otlp`",
        ];
        assert_eq!(complaints, wanted);
    }

    /// Variables, and the service's name: the last that the resource has.
    #[test]
    fn services_are_named() {
        const NAME: &str = "OTEL_SERVICE_NAME";
        const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
        type Case = (&'static [(&'static str, &'static str)], &'static str);
        const CASES: &[Case] = &[
            (&[(NAME, "own")], "own"),
            (&[(ATTRIBUTES, "service.name=listed,x=y")], "listed"),
            (&[(NAME, "own"), (ATTRIBUTES, "service.name=listed")], "own"),
        ];
        for (variables, wanted) in CASES {
            let (settings, _) = with(variables);
            let name = settings.resource.iter().rfind(|(key, _)| key == "service.name");
            assert_eq!(name.map(|(_, value)| &**value), Some(*wanted), "{variables:?}");
        }
        let unnamed = OtlpSettings::new(BASE);
        assert!(unnamed.resource[0].1.starts_with("unknown_service:dcmetal"), "{:?}", unnamed.resource);
    }
}
