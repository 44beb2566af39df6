//! When the next line may be said.

use std::io;
use std::path::Path;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};

use crate::{ReplayOptions, Speed};

/// What keeps a line back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Nothing,
    /// Its time has not come.
    Until(Instant),
    /// Nobody has asked for it.
    Step,
}

/// Keeps the pauses of a recording, or waits to be asked for each line.
#[derive(Debug)]
pub(crate) struct Pace {
    speed: Speed,
    /// The recorded time of what happened last, and when it happened now.
    last: (i64, Instant),
    steps: Option<Steps>,
}

impl Pace {
    pub(crate) fn new(options: &ReplayOptions, start: i64) -> io::Result<Self> {
        let steps = match (options.speed, &options.step_socket) {
            (Speed::Step, Some(path)) => Some(Steps::listen(path)?),
            _ => None,
        };
        Ok(Self { speed: options.speed, last: (start, Instant::now()), steps })
    }

    /// What keeps a line back that was recorded at `t`.
    pub(crate) fn hold(&self, t: i64) -> Hold {
        match self.speed {
            Speed::Fast => Hold::Nothing,
            Speed::Recorded => {
                let pause = Duration::from_millis(u64::try_from(t - self.last.0).unwrap_or(0));
                let due = self.last.1 + pause;
                if due <= Instant::now() { Hold::Nothing } else { Hold::Until(due) }
            }
            Speed::Step => match &self.steps {
                Some(steps) if steps.allowed == 0 => Hold::Step,
                _ => Hold::Nothing,
            },
        }
    }

    /// Something that was recorded at `t` has happened.
    pub(crate) fn happened(&mut self, t: i64) {
        self.last = (t, Instant::now());
    }

    /// A line was said; whoever asked for it is told which.
    pub(crate) fn said(&mut self, what: &str) {
        if let Some(steps) = &mut self.steps {
            steps.allowed = steps.allowed.saturating_sub(1);
            steps.tell(what);
        }
    }

    /// Tells whoever asks for lines why none comes, or no more.
    pub(crate) fn tell(&self, what: &str) {
        if let Some(steps) = &self.steps {
            steps.tell(what);
        }
    }

    /// Waits until a line is asked for; for ever, if nobody can.
    pub(crate) async fn asked(&mut self) {
        if let Some(steps) = &mut self.steps
            && steps.requests.recv().await.is_some()
        {
            steps.allowed += 1;
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// The step socket: a newline in asks for a line, and a line comes out that says what was played.
#[derive(Debug)]
struct Steps {
    requests: mpsc::UnboundedReceiver<()>,
    reports: tokio::sync::broadcast::Sender<String>,
    allowed: usize,
}

impl Steps {
    fn listen(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let (ask, requests) = mpsc::unbounded_channel();
        let (reports, _) = tokio::sync::broadcast::channel(1024);
        let told = reports.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (input, mut output) = stream.into_split();
                let ask = ask.clone();
                let mut told = told.subscribe();
                tokio::spawn(async move {
                    let mut lines = BufReader::new(input).lines();
                    while let Ok(Some(_)) = lines.next_line().await {
                        if ask.send(()).is_err() {
                            break;
                        }
                    }
                });
                tokio::spawn(async move {
                    while let Ok(report) = told.recv().await {
                        if output.write_all(format!("{report}\n").as_bytes()).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Ok(Self { requests, reports, allowed: 0 })
    }

    fn tell(&self, what: &str) {
        // Nobody listening is no failure: a step can be asked for without reading what became of it.
        let _ = self.reports.send(what.to_owned());
    }
}
