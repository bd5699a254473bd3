//! A line that says what is being waited for, on a terminal and only when the wait is long enough to notice.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

const NOTICEABLE: Duration = Duration::from_millis(400);

/// Shows the line until it is dropped.
pub(crate) struct Progress(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

impl Progress {
    pub(crate) fn start(what: String) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress(None);
        }
        let (done, wait) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            if wait.recv_timeout(NOTICEABLE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a valid template");
            let bar = ProgressBar::new_spinner().with_style(style).with_message(what);
            bar.enable_steady_tick(Duration::from_millis(100));
            // Whatever ends the wait, the line goes.
            let _ended = wait.recv();
            bar.finish_and_clear();
        });
        Progress(Some((done, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            thread.join().expect("the progress line does not panic");
        }
    }
}
