//! A collector of OpenTelemetry's in the test's own process, which answers as it is told, and what the exporter says of it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// Long enough for anything that comes at all.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What a collector was sent.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn is_metrics(&self) -> bool {
        self.line == "POST /v1/metrics HTTP/1.1"
    }

    pub(crate) fn metrics(&self) -> ExportMetricsServiceRequest {
        ExportMetricsServiceRequest::decode(&*self.body).expect("metrics")
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let request = ExportTraceServiceRequest::decode(&*self.body).expect("spans");
        let scopes = request.resource_spans.into_iter().flat_map(|of| of.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

/// How a collector answers.
pub(crate) enum Answer {
    /// These bytes.
    Says(Vec<u8>),
    /// These bytes, and then the end of the connection.
    Ends(Vec<u8>),
    /// These bytes, and then nothing until the other side ends.
    Hangs(Vec<u8>),
    /// These bytes, and then without an end.
    Streams(Vec<u8>),
}

pub(crate) fn says(head: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {head}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

pub(crate) fn ok() -> Answer {
    Answer::Says(says("200 OK", &[]))
}

pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    received: Mutex<Receiver<Received>>,
    /// Something for each connection that hung and that the other side ended.
    pub(crate) left: Mutex<Receiver<()>>,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    /// Answers by what it is asked, and by how many requests of that path were before.
    pub(crate) fn start(answer: impl Fn(&Received, usize) -> Answer + Send + Sync + 'static) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let closing = Arc::new(AtomicBool::new(false));
        let ((sender, received), (leaving, left)) = (mpsc::channel(), mpsc::channel());
        let ended = Arc::clone(&closing);
        let (answer, counts) = (Arc::new(answer), Arc::new(Mutex::new(BTreeMap::<String, usize>::new())));
        let accept = move || {
            for connection in listener.incoming() {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let (mut connection, sender, leaving) = (connection.unwrap(), sender.clone(), leaving.clone());
                let (answer, counts) = (Arc::clone(&answer), Arc::clone(&counts));
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(connection.try_clone().unwrap());
                    while let Some(received) = read(&mut reader) {
                        let before = {
                            let mut counts = counts.lock().unwrap();
                            let count = counts.entry(received.line.clone()).or_default();
                            *count += 1;
                            *count - 1
                        };
                        let answer = answer(&received, before);
                        let _ = sender.send(received);
                        match answer {
                            Answer::Says(bytes) => drop(connection.write_all(&bytes)),
                            Answer::Ends(bytes) => return drop(connection.write_all(&bytes)),
                            Answer::Hangs(bytes) => {
                                let _ = connection.write_all(&bytes);
                                let _ = reader.read_to_end(&mut Vec::new());
                                let _ = leaving.send(());
                                return;
                            }
                            Answer::Streams(bytes) => {
                                let _ = connection.write_all(&bytes);
                                while connection.write_all(&[b'a'; 4096]).is_ok() {}
                                return;
                            }
                        }
                    }
                });
            }
        };
        let thread = Some(std::thread::spawn(accept));
        Collector { address, received: Mutex::new(received), left: Mutex::new(left), closing, thread }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it has received, and nobody asked for before.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().try_iter().collect()
    }

    pub(crate) fn next(&self) -> Received {
        self.received.lock().unwrap().recv_timeout(LONG).expect("something is sent")
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
        self.thread.take().map(JoinHandle::join);
    }
}

/// A request, as far as this exporter makes some: with a length.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers = lines[1..].iter().filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<_, _> = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut body = vec![0; headers["content-length"].parse().expect("a length")];
    reader.read_exact(&mut body).ok()?;
    Some(Received { line: lines.swap_remove(0), headers, body })
}

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Also when a test failed while it held it.
pub(crate) fn all_said() -> MutexGuard<'static, Vec<String>> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Listener;

impl log::Log for Listener {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "dcmetal::otlp"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) && record.level() <= log::Level::Warn {
            all_said().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Whether a warning with this was said, to anybody.
pub(crate) fn said(what: &str) -> bool {
    all_said().iter().any(|text| text.contains(what))
}

/// Of all tests, which may be in any order.
pub(crate) fn listen() {
    // The second is told that there is one.
    let _ = log::set_logger(&Listener);
    log::set_max_level(log::LevelFilter::Trace);
}
