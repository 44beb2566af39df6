//! Work on many sessions, on all cores.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use crate::HistorySession;

/// Does `work` with each session, on all cores, and calls `finish` on this thread with each result, in the order in which
/// they come. No work begins after `finish` breaks.
pub fn for_each_session<T: Send>(
    sessions: &[HistorySession],
    work: impl Fn(&HistorySession) -> T + Sync,
    mut finish: impl FnMut(&HistorySession, T) -> ControlFlow<()>,
) {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(sessions.len());
    if threads <= 1 {
        for session in sessions {
            if finish(session, work(session)).is_break() {
                return;
            }
        }
        return;
    }
    let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, results) = sync_channel(threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                while !is_stopped.load(Ordering::Relaxed)
                    && let Some(session) = sessions.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    // The receiver is gone if `finish` broke.
                    if sender.send((session, work(session))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (session, result) in results {
            if finish(session, result).is_break() {
                is_stopped.store(true, Ordering::Relaxed);
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::HistoryFormat;

    fn sessions(count: usize) -> Vec<HistorySession> {
        let new = |index: usize| HistorySession::new(HistoryFormat::ClaudeLines, index.to_string(), Path::new(""));
        (0..count).map(new).collect()
    }

    #[test]
    fn each_session_is_worked_on_once() {
        for count in [0, 1, 2, 100] {
            let sessions = sessions(count);
            let mut done = Vec::new();
            for_each_session(
                &sessions,
                |session| session.native_session_id.parse::<usize>().unwrap(),
                |session, number| {
                    assert_eq!(session.native_session_id, number.to_string());
                    done.push(number);
                    ControlFlow::Continue(())
                },
            );
            done.sort_unstable();
            assert_eq!(done, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_work_begins_after_a_break() {
        let sessions = sessions(10_000);
        let mut done = 0;
        for_each_session(
            &sessions,
            |_| (),
            |_, ()| {
                done += 1;
                ControlFlow::Break(())
            },
        );
        assert_eq!(done, 1);
    }
}
