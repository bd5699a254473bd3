//! [`MetricsServer`]: metrics and health over HTTP, for Prometheus and whoever else asks.
//!
//! As much of HTTP/1.1 (RFC 9112) as two texts need: one connection after the other, one request each, of which only the head is read. A body is not
//! looked at, whatever length it is said to have, and a client that neither sends nor reads is left when its time is over. So what strangers
//! send costs 8 KiB and some seconds at most. No TLS, no names of users: for that, put a proxy before it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{State, Telemetry, prometheus_text};

/// A connection may take so long, all its reading and writing together.
const LONGEST: Duration = Duration::from_secs(5);
/// Bytes of a request's line and fields, with the empty line behind them.
const LONGEST_HEAD: usize = 8 << 10;
/// Pause after a connection that could not be accepted: the process may have no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves `/metrics` ([`prometheus_text`]) and `/health` (a line for each accelerator, with status 503 when one is failing) until it is dropped.
///
/// Whoever reaches the address reads what kernels are called and how much they run: `127.0.0.1` keeps it on the machine.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let server = telemetry::MetricsServer::start("127.0.0.1:0".parse()?, vec![gpu.telemetry()])?;
/// println!("http://{}/metrics", server.address());
/// # Ok(()) }
/// ```
pub struct MetricsServer {
    address: SocketAddr,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Serves at this address, by a thread of its own; port 0 is any that is free.
    ///
    /// # Errors
    /// The system's, when it does not give the address or the thread.
    pub fn start(address: SocketAddr, telemetry: Vec<Telemetry>) -> io::Result<MetricsServer> {
        MetricsServer::start_with(address, telemetry, LONGEST)
    }

    fn start_with(address: SocketAddr, telemetry: Vec<Telemetry>, longest: Duration) -> io::Result<MetricsServer> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let closing = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&closing);
        let serve = move || {
            loop {
                let accepted = listener.accept();
                if ended.load(Ordering::Acquire) {
                    return;
                }
                match accepted {
                    // Whoever asked and went away wants no answer.
                    Ok((stream, _)) => drop(serve(&stream, &telemetry, Instant::now() + longest)),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        };
        let thread = thread::Builder::new().name("dcmetal metrics".to_owned()).spawn(serve)?;
        Ok(MetricsServer { address, closing, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    /// Waits until a connection that is being answered is done, or its time over.
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        // The thread looks at the flag when somebody connects.
        let woken = TcpStream::connect_timeout(&reachable(self.address), LONGEST);
        if let Some(thread) = self.thread.take()
            && (woken.is_ok() || thread.is_finished())
        {
            // A panic in there has been reported by its hook.
            let _ = thread.join();
        }
        // One that could not be woken (no descriptor was left, say) ends with the next connection.
    }
}

/// An address at which this machine reaches who listens at that one.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

impl std::fmt::Debug for MetricsServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsServer").field("address", &self.address).finish_non_exhaustive()
    }
}

const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers the request of a connection, until then.
fn serve(stream: &TcpStream, telemetry: &[Telemetry], until: Instant) -> io::Result<()> {
    let head = read_head(stream, until)?;
    let request = head.as_deref().map(request);
    let (status, kind, text) = match request {
        None => (431, PLAIN, "the request's head is too long\n".to_owned()),
        Some(None) => (400, PLAIN, "no request of HTTP/1\n".to_owned()),
        Some(Some(("GET" | "HEAD", "/metrics"))) => (200, METRICS, prometheus_text(telemetry)),
        Some(Some(("GET" | "HEAD", "/health"))) => health(telemetry),
        Some(Some((_, "/metrics" | "/health"))) => (405, PLAIN, "only GET and HEAD\n".to_owned()),
        Some(Some(_)) => (404, PLAIN, "only /metrics and /health\n".to_owned()),
    };
    let (reason, allow) = match status {
        200 => ("OK", ""),
        400 => ("Bad Request", ""),
        404 => ("Not Found", ""),
        405 => ("Method Not Allowed", "Allow: GET, HEAD\r\n"),
        431 => ("Request Header Fields Too Large", ""),
        503 => ("Service Unavailable", ""),
        other => unreachable!("no answer has the status {other}"),
    };
    let length = text.len();
    let mut answer = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
    );
    if !matches!(request, Some(Some(("HEAD", _)))) {
        answer += &text;
    }
    write(stream, answer.as_bytes(), until)
}

/// What comes before the empty line; nothing where the client ends before it, `None` where it is too long.
fn read_head(mut stream: &TcpStream, until: Instant) -> io::Result<Option<Vec<u8>>> {
    let (mut head, mut filled) = (vec![0; LONGEST_HEAD], 0);
    while filled < LONGEST_HEAD {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut head[filled..]) {
            Ok(0) => return Ok(Some(Vec::new())),
            Ok(more) => filled += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if let Some(end) = head[..filled].windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            head.truncate(end);
            return Ok(Some(head));
        }
    }
    Ok(None)
}

/// The method and the path of a head, when it begins as one (RFC 9112, 3).
fn request(head: &[u8]) -> Option<(&str, &str)> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let whole = !method.is_empty() && !target.is_empty() && version.starts_with("HTTP/1.") && words.next().is_none();
    whole.then_some((method, target.split('?').next()?))
}

fn write(mut stream: &TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The time that is left; none is an error, and a timeout of nothing would be one of the system's.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn health(telemetry: &[Telemetry]) -> (u16, &'static str, String) {
    let (mut text, mut worst) = (String::new(), State::Good);
    for one in telemetry {
        let health = one.health();
        text += &format!("{}: {health}\n", one.accelerator.name());
        worst = worst.max(health.state);
    }
    (if worst == State::Failing { 503 } else { 200 }, PLAIN, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(address: &str) -> MetricsServer {
        MetricsServer::start(address.parse().expect("an address"), Vec::new()).expect("it starts")
    }

    /// Sends these bytes, and reads until the server ends.
    fn ask(server: &MetricsServer, request: &[u8]) -> String {
        let mut connection = TcpStream::connect(reachable(server.address())).expect("it listens");
        connection.write_all(request).expect("it takes it");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("it answers");
        answer
    }

    #[test]
    fn each_request_has_its_answer() {
        let server = server("127.0.0.1:0");
        let filled = |length: usize, end: &str| {
            let begun = "GET /health HTTP/1.1\r\nX: ";
            format!("{begun}{}{end}", "x".repeat(length - begun.len() - end.len()))
        };
        let whole = filled(LONGEST_HEAD, "\r\n\r\n");
        // Exactly what is read: bytes that nobody reads would have the system reset the connection.
        let long = filled(LONGEST_HEAD, "");
        for (request, status) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", "200 OK"),
            ("GET /metrics?a=b HTTP/1.0\r\nHost: here\r\n\r\n", "200 OK"),
            ("GET /health HTTP/1.1\r\n\r\n", "200 OK"),
            (&whole, "200 OK"),
            (&long, "431 Request Header Fields Too Large"),
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /other HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("get /health HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("\r\n\r\n", "400 Bad Request"),
            ("GET\r\n\r\n", "400 Bad Request"),
            ("GET /metrics\r\n\r\n", "400 Bad Request"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
            ("GET /metrics HTTP/1.1 more\r\n\r\n", "400 Bad Request"),
            ("PRI * HTTP/2.0\r\n\r\n", "400 Bad Request"),
        ] {
            let answer = ask(&server, request.as_bytes());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {answer}");
            assert_eq!(answer.contains("\r\nAllow: GET, HEAD\r\n"), status.starts_with("405"), "{request}: {answer}");
            let (head, text) = answer.split_once("\r\n\r\n").expect("a head and a text");
            let fields: Vec<_> = head.lines().collect();
            let length = format!("Content-Length: {}", text.len());
            assert!(fields.contains(&&*length) && fields.contains(&"Connection: close"), "{request}: {answer}");
        }
        assert!(ask(&server, b"GET /\xff HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    }

    #[test]
    fn head_has_no_text() {
        let server = server("127.0.0.1:0");
        for path in ["/metrics", "/health", "/other"] {
            let get = ask(&server, format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes());
            let head = ask(&server, format!("HEAD {path} HTTP/1.1\r\n\r\n").as_bytes());
            assert_eq!(head, get[..get.find("\r\n\r\n").expect("a head") + 4]);
        }
    }

    #[test]
    fn a_length_of_a_body_means_nothing() {
        let server = server("127.0.0.1:0");
        for length in ["2000", "1000000000000000", "99999999999999999999999999", "-1"] {
            let request = format!("GET /metrics HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
            assert!(ask(&server, request.as_bytes()).starts_with("HTTP/1.1 200 "), "{length}");
        }
    }

    #[test]
    fn who_sends_half_a_request_does_not_keep_it_from_ending() {
        let longest = Duration::from_millis(100);
        let start =
            |longest| MetricsServer::start_with("127.0.0.1:0".parse().expect("an address"), Vec::new(), longest);
        let server = start(longest).expect("it starts");
        let mut stays = TcpStream::connect(server.address()).expect("it listens");
        stays.write_all(b"GET /metrics HT").expect("it takes it");
        drop(server);
        let mut answer = Vec::new();
        // Ended or reset, it is over.
        let _ = stays.read_to_end(&mut answer);
        assert!(answer.is_empty());
    }

    #[test]
    fn who_neither_sends_nor_reads_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let client = TcpStream::connect(listener.local_addr().expect("it has one")).expect("it listens");
        let (stream, _) = listener.accept().expect("it has connected");
        let soon = || Instant::now() + Duration::from_millis(100);
        read_head(&stream, soon()).expect_err("nobody sends");
        // More than the system keeps for who does not read.
        write(&stream, &vec![0; 64 << 20], soon()).expect_err("nobody reads");
        drop(client);
    }

    #[test]
    fn it_ends_wherever_it_listens() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let address = address.parse().expect("an address");
            match MetricsServer::start(address, Vec::new()) {
                Ok(server) => drop(server),
                Err(error) => assert!(address.is_ipv6(), "{address}: {error}"),
            }
        }
    }
}
