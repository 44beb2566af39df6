//! What stops the server.

use std::io::{self, Read as _};

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Why the server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopCause {
    Interrupt,
    Terminate,
    ParentEnded,
}

impl StopCause {
    fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::ParentEnded => "standard input was closed",
        }
    }
}

/// Completes when the process receives SIGINT or SIGTERM, or when standard input is closed if `exit_with_parent`. A
/// second signal ends the process at once.
pub(super) fn shutdown_signal(exit_with_parent: bool) -> anyhow::Result<impl Future<Output = StopCause>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
    let parent_end = if exit_with_parent { Some(wait_for_end_of_input()?) } else { None };
    Ok(async move {
        let parent_end = async {
            match parent_end {
                // The sender is dropped only when the thread is gone, which means the same.
                Some(end) => drop(end.await),
                None => std::future::pending().await,
            }
        };
        let cause = tokio::select! {
            _ = interrupt.recv() => StopCause::Interrupt,
            _ = terminate.recv() => StopCause::Terminate,
            () = parent_end => StopCause::ParentEnded,
        };
        tracing::info!(cause = cause.name(), "shutting down");
        tokio::spawn(async move {
            let signal = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            };
            tracing::warn!(signal, "second signal; exiting without waiting for agents");
            std::process::exit(130);
        });
        cause
    })
}

/// Reads standard input to its end in the background. A thread of its own, because tokio would wait for the read when
/// it shuts down.
fn wait_for_end_of_input() -> anyhow::Result<oneshot::Receiver<()>> {
    let (sender, receiver) = oneshot::channel();
    let read = move || {
        let mut buffer = [0; 1024];
        let mut stdin = io::stdin().lock();
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
                Ok(_) | Err(_) => {}
            }
        }
        // The server may be shutting down already.
        let _ = sender.send(());
    };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(read).context("cannot start a thread")?;
    Ok(receiver)
}
