//! How many sessions are working, and whether further turns may start.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Counts the sessions that are working, so that a server can wait for them before it stops.
#[derive(Debug)]
pub(crate) struct RunningTurns {
    count: watch::Sender<usize>,
    is_draining: AtomicBool,
}

/// Counts as a session that is working until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningTurn(watch::Sender<usize>);

impl Default for RunningTurns {
    fn default() -> Self {
        Self { count: watch::Sender::new(0), is_draining: AtomicBool::new(false) }
    }
}

impl RunningTurns {
    /// Whether no further turns start.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    /// Number of sessions that are working.
    pub(crate) fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Counts a session as working. Before it takes a message from its queue, it must check
    /// [`is_draining`](Self::is_draining) once more: a drain that starts later waits for it.
    pub(crate) fn start(&self) -> RunningTurn {
        self.count.send_modify(|count| *count += 1);
        RunningTurn(self.count.clone())
    }

    /// Lets no further turns start, and waits for those that run. Returns the number of sessions that still work when the
    /// time is over.
    pub(crate) async fn drain(&self, limit: Duration) -> usize {
        self.is_draining.store(true, Ordering::SeqCst);
        let mut count = self.count.subscribe();
        match timeout(limit, count.wait_for(|count| *count == 0)).await {
            // The sender is not dropped while it is borrowed.
            Ok(_) => 0,
            Err(_) => *self.count.borrow(),
        }
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_drain_waits_for_the_turns_that_run() {
        let turns = RunningTurns::default();
        let (first, second) = (turns.start(), turns.start());
        assert!(!turns.is_draining());
        drop(first);
        let ended = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            drop(second);
        };
        assert_eq!(tokio::join!(turns.drain(Duration::from_secs(10)), ended).0, 0);
        assert!(turns.is_draining());
        let _third = turns.start();
        assert_eq!(turns.drain(Duration::from_secs(1)).await, 1);
    }
}
