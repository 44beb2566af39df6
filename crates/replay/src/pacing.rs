//! When the next line may be sent.

use std::io;
use std::path::Path;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};

use crate::{ReplayOptions, Speed};

/// Why a line may not be sent yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    /// It may be sent now.
    None,
    /// Its recorded time has not come.
    Until(Instant),
    /// No step was requested.
    Step,
}

/// Keeps the pauses of a recording, or waits for a request for each line.
#[derive(Debug)]
pub(crate) struct Pacer {
    speed: Speed,
    /// Recorded time of the last step in milliseconds, and when it was replayed.
    last: (i64, Instant),
    steps: Option<StepSocket>,
}

impl Pacer {
    pub(crate) fn new(options: &ReplayOptions, start_ms: i64) -> io::Result<Self> {
        let steps = match (options.speed, &options.step_socket) {
            (Speed::Step, Some(path)) => Some(StepSocket::listen(path)?),
            _ => None,
        };
        Ok(Self { speed: options.speed, last: (start_ms, Instant::now()), steps })
    }

    /// Delay of a line that was recorded at this time.
    pub(crate) fn delay(&self, time_ms: i64) -> Delay {
        match self.speed {
            Speed::Fast => Delay::None,
            Speed::Recorded => {
                let pause = Duration::from_millis(u64::try_from(time_ms - self.last.0).unwrap_or(0));
                let due = self.last.1 + pause;
                if due <= Instant::now() { Delay::None } else { Delay::Until(due) }
            }
            Speed::Step => match &self.steps {
                Some(steps) if steps.allowed == 0 => Delay::Step,
                _ => Delay::None,
            },
        }
    }

    /// Notes that a step which was recorded at this time has been replayed.
    pub(crate) fn observe(&mut self, time_ms: i64) {
        self.last = (time_ms, Instant::now());
    }

    /// Uses up one requested step and reports the line that was sent for it.
    pub(crate) fn finish_step(&mut self, report: &str) {
        if let Some(steps) = &mut self.steps {
            steps.allowed = steps.allowed.saturating_sub(1);
            steps.report(report);
        }
    }

    /// Reports on the step socket why no line is sent.
    pub(crate) fn report(&self, report: &str) {
        if let Some(steps) = &self.steps {
            steps.report(report);
        }
    }

    /// Waits until a step is requested. Without a step socket it never returns.
    pub(crate) async fn step_requested(&mut self) {
        if let Some(steps) = &mut self.steps
            && steps.requests.recv().await.is_some()
        {
            steps.allowed += 1;
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// The step socket. Each newline that comes in requests a line; each line that goes out reports what was played.
#[derive(Debug)]
struct StepSocket {
    requests: mpsc::UnboundedReceiver<()>,
    reports: tokio::sync::broadcast::Sender<String>,
    /// Number of requested lines that were not sent yet.
    allowed: usize,
}

impl StepSocket {
    fn listen(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let (request_sender, requests) = mpsc::unbounded_channel();
        let (reports, _) = tokio::sync::broadcast::channel(1024);
        let report_sender = reports.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (input, mut output) = stream.into_split();
                let request_sender = request_sender.clone();
                let mut reports = report_sender.subscribe();
                tokio::spawn(async move {
                    let mut lines = BufReader::new(input).lines();
                    while let Ok(Some(_)) = lines.next_line().await {
                        if request_sender.send(()).is_err() {
                            break;
                        }
                    }
                });
                tokio::spawn(async move {
                    while let Ok(report) = reports.recv().await {
                        if output.write_all(format!("{report}\n").as_bytes()).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Ok(Self { requests, reports, allowed: 0 })
    }

    fn report(&self, report: &str) {
        // Sending fails if no client is connected. That is fine: a client may request steps without reading reports.
        let _ = self.reports.send(report.to_owned());
    }
}
