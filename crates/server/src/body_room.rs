//! Memory for large request bodies.
//!
//! A large body takes memory several times: as bytes, as a parsed value, as what is stored. It takes room while it
//! arrives, for the bytes that are there: a slow client holds no more than it has sent. When it is complete, it is
//! handled together with few others.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use interlingua_runtime::LARGE_TEXT_BYTES;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::problem::Problem;

/// Number of KiB of large bodies that are being received.
const RECEIVED_KIB: usize = 64 * 1024;
/// Number of KiB of large bodies that are handled at a time. A larger one is handled alone.
const HANDLED_KIB: usize = 32 * 1024;
/// How much room is taken at once.
const STEP_BYTES: usize = 256 * 1024;

/// Minimum number of bytes of a large body in every interval. One that comes slower takes room from others.
const MIN_PACE_BYTES: usize = 64 * 1024;
const PACE_INTERVAL: Duration = Duration::from_secs(10);

/// The memory for large bodies of all requests. Cloning it copies pointers.
#[derive(Clone, Debug)]
pub(crate) struct BodyMemory {
    received: Arc<Semaphore>,
    /// For one body at a time that can become complete although there is no room, so that bodies cannot wait for each
    /// other.
    beyond: Arc<Semaphore>,
    handled: Arc<Semaphore>,
}

impl Default for BodyMemory {
    fn default() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { received: semaphore(RECEIVED_KIB), beyond: semaphore(1), handled: semaphore(HANDLED_KIB) }
    }
}

/// The room of one request, which is given back when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct BodyRoom {
    memory: BodyMemory,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    permits: Vec<OwnedSemaphorePermit>,
    /// Whether the body may take more room than there is.
    is_beyond: bool,
}

impl BodyRoom {
    pub(crate) fn new(memory: BodyMemory) -> Self {
        Self { memory, held: Arc::default() }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room for `STEP_BYTES` more.
    async fn grow(&self) {
        if self.held().is_beyond {
            return;
        }
        let kib = u32::try_from(STEP_BYTES / 1024).unwrap_or(u32::MAX);
        let (received, beyond) = (Arc::clone(&self.memory.received), Arc::clone(&self.memory.beyond));
        // The semaphores are never closed.
        let (permit, is_beyond) = tokio::select! {
            biased;
            permit = received.acquire_many_owned(kib) => (permit, false),
            permit = beyond.acquire_owned() => (permit, true),
        };
        let mut held = self.held();
        held.permits.extend(permit);
        held.is_beyond |= is_beyond;
    }

    /// Waits until a complete body of this size can be handled.
    async fn handle(&self, bytes: usize) {
        let kib = u32::try_from((bytes / 1024).min(HANDLED_KIB)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.memory.handled).acquire_many_owned(kib).await;
        self.held().permits.extend(permit);
    }
}

/// A body that is being received.
#[derive(Debug)]
pub(crate) struct ReceivedBody {
    pub(crate) bytes: Vec<u8>,
    /// `None` if the request has none: then nothing is limited.
    room: Option<BodyRoom>,
    /// Size up to which there is room. A small body needs none.
    room_bytes: usize,
    pace: Pace,
}

impl ReceivedBody {
    /// A body that has declared its size. Memory is used only when it arrives; a buffer that grew would need twice as
    /// much.
    pub(crate) fn new(declared_bytes: usize, room: Option<BodyRoom>) -> Self {
        let bytes = Vec::with_capacity(declared_bytes);
        Self { bytes, room, room_bytes: LARGE_TEXT_BYTES, pace: Pace::new(Instant::now()) }
    }

    /// Adds the next part, when there is room for it. An error if a large body comes too slowly.
    pub(crate) async fn push(&mut self, data: &[u8]) -> Result<(), TooSlow> {
        if self.bytes.len() > LARGE_TEXT_BYTES {
            self.pace.observe(Instant::now(), data.len())?;
        }
        while self.bytes.len() + data.len() > self.room_bytes {
            let Some(room) = &self.room else { break };
            room.grow().await;
            self.room_bytes += STEP_BYTES;
            // The time in which the body had to wait does not count.
            self.pace = Pace::new(Instant::now());
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }

    /// Waits until the complete body can be handled, and returns it.
    pub(crate) async fn finish(self) -> Vec<u8> {
        if let Some(room) = self.room.filter(|_| self.bytes.len() > LARGE_TEXT_BYTES) {
            room.handle(self.bytes.len()).await;
        }
        self.bytes
    }
}

/// A large body came with fewer than `MIN_PACE_BYTES` in an interval.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooSlow;

impl From<TooSlow> for Problem {
    fn from(_: TooSlow) -> Self {
        let (kib, seconds) = (MIN_PACE_BYTES / 1024, PACE_INTERVAL.as_secs());
        Self::request_timeout(format!("less than {kib} KiB of the large request body arrived within {seconds} s"))
    }
}

/// How fast a body comes.
#[derive(Debug)]
struct Pace {
    since: Instant,
    bytes: usize,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { since: now, bytes: 0 }
    }

    fn observe(&mut self, now: Instant, bytes: usize) -> Result<(), TooSlow> {
        self.bytes += bytes;
        if now.duration_since(self.since) >= PACE_INTERVAL {
            if self.bytes < MIN_PACE_BYTES {
                return Err(TooSlow);
            }
            *self = Self::new(now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_body_that_comes_too_slowly_is_noticed() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(start);
        for second in 1..=30 {
            assert_eq!(pace.observe(at(second), MIN_PACE_BYTES / 10 + 1), Ok(()), "{second}");
        }
        assert_eq!(pace.observe(at(39), 1), Ok(()));
        assert_eq!(pace.observe(at(40), 1), Err(TooSlow));
    }

    // These tests poll without a runtime: a task of tokio would be interrupted after a number of operations.
    #[test]
    fn bodies_do_not_wait_for_each_other() {
        let memory = BodyMemory::default();
        let part = vec![0; STEP_BYTES];
        let mut bodies: Vec<_> = (0..8).map(|_| ReceivedBody::new(0, Some(BodyRoom::new(memory.clone())))).collect();
        // Each is larger than its share of the room.
        for _ in 0..80 {
            for body in &mut bodies {
                let _ = body.push(&part).now_or_never();
            }
        }
        let waiting = bodies.iter().filter(|body| body.bytes.len() < 80 * STEP_BYTES).count();
        assert_eq!(waiting, 7, "one becomes complete, whatever the others do");
        let complete = bodies.iter().position(|body| body.bytes.len() == 80 * STEP_BYTES).unwrap();
        let complete = bodies.remove(complete);
        assert!(complete.finish().now_or_never().is_some());
        // The others have its room now.
        assert!(bodies[0].push(&part).now_or_never().is_some());
    }

    #[test]
    fn a_slow_body_takes_room_for_what_has_arrived() {
        let memory = BodyMemory::default();
        let mut slow = ReceivedBody::new(31 << 20, Some(BodyRoom::new(memory.clone())));
        slow.push(&[0; 1000]).now_or_never().expect("there is room").unwrap();
        let part = vec![0; STEP_BYTES];
        let mut others = Vec::new();
        for _ in 0..2 {
            let mut body = ReceivedBody::new(31 << 20, Some(BodyRoom::new(memory.clone())));
            for _ in 0..31 * 4 {
                body.push(&part).now_or_never().expect("there is room").unwrap();
            }
            others.push(body);
        }
        let (first, second) = (others.remove(0), others.remove(0));
        let held = first.room.clone();
        assert!(first.finish().now_or_never().is_some());
        assert!(second.finish().now_or_never().is_none(), "they are handled one after the other");
        drop(held);
    }
}
