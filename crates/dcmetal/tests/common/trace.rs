//! Reads trace files of Chrome's format and checks that their events nest.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a trace holds.
#[derive(Default)]
pub(crate) struct Trace {
    /// The names of the events inside of each submission, in order.
    pub(crate) submissions: Vec<Vec<String>>,
    pub(crate) compilations: Vec<String>,
    /// Events with an error.
    pub(crate) errors: usize,
}

/// Checks a document and says what it holds.
pub(crate) fn check(document: &Value) -> Trace {
    let mut trace = Trace::default();
    let events = document["traceEvents"].as_array().expect("a list of events");
    let mut open: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut inner: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    // By thread: where the compilations that are open end.
    let mut busy: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let mut last = 0.0;
    for event in events {
        let name = event["name"].as_str().expect("a name").to_owned();
        assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        if event["ph"] == "M" {
            assert!(event["args"]["name"].is_string(), "{event}");
            continue;
        }
        let time = event["ts"].as_f64().expect("a time");
        assert!(time >= last, "times do not go back: {event}");
        last = time;
        trace.errors += usize::from(event["args"]["error"].is_string());
        match event["ph"].as_str() {
            Some("b") => {
                let id = event["id"].as_u64().expect("an id");
                let open = open.entry(id).or_default();
                assert!(open.len() < 2, "{event}");
                assert_eq!(open.is_empty(), !inner.contains_key(&id), "a submission is there once: {event}");
                let inner = inner.entry(id).or_default();
                if !open.is_empty() {
                    inner.push(name.clone());
                }
                open.push(name);
            }
            Some("e") => {
                let id = event["id"].as_u64().expect("an id");
                assert_eq!(open.get_mut(&id).and_then(Vec::pop), Some(name), "{event}");
            }
            Some("X") => {
                let busy = busy.entry(event["tid"].as_u64().expect("a thread")).or_default();
                let end = time + event["dur"].as_f64().expect("a duration");
                busy.retain(|other| *other > time);
                assert!(busy.iter().all(|other| end <= *other), "{event}");
                busy.push(end);
                trace.compilations.push(name);
            }
            _ => panic!("an event of no kind: {event}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "every event ends: {open:?}");
    trace.submissions = inner.into_values().collect();
    trace
}
