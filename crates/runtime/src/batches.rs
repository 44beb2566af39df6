//! A channel that is filled and emptied by the batch.
//!
//! A line that is handed on alone costs a wake-up, and often two threads that take turns line by line. So what is at
//! hand goes together: whoever sends hands over all it has, and whoever receives takes all there is. Nobody waits for a
//! batch to fill up. A lone line goes on at once, and of an agent that talks fast the more goes together the longer the
//! receiver takes.
//!
//! How much may wait is counted in bytes, whatever batches they come in. A batch that is larger than all the room waits
//! until the channel is empty, and then goes alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore};
use tokio::task::coop::consume_budget;

/// What takes room in a channel.
pub(crate) trait Bytes {
    /// About how many bytes it holds, besides its own size.
    fn bytes(&self) -> usize;
}

/// A channel with room for so many bytes.
pub(crate) fn channel<T: Bytes>(room: u32) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        size: room,
        room: Semaphore::new(usize::try_from(room).unwrap_or(Semaphore::MAX_PERMITS)),
        waiting: Mutex::new(Waiting { things: Vec::new(), room: 0 }),
        filled: Notify::new(),
        senders: AtomicUsize::new(1),
    });
    (Sender(shared.clone()), Receiver(shared))
}

#[derive(Debug)]
struct Shared<T> {
    /// All the room there is, in bytes.
    size: u32,
    /// The room that is left.
    room: Semaphore,
    waiting: Mutex<Waiting<T>>,
    /// Something was put in, or nobody is left who could.
    filled: Notify,
    senders: AtomicUsize,
}

/// What was sent and not taken yet, and the room that it has.
#[derive(Debug)]
struct Waiting<T> {
    things: Vec<T>,
    room: usize,
}

impl<T> Shared<T> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end. Can be cloned; order is kept among what one of them sends.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

impl<T: Bytes> Sender<T> {
    /// Sends all of this, as soon as there is room. When nobody listens any more, it is forgotten. Nothing is sent if
    /// this is cancelled.
    pub(crate) async fn send(&self, batch: Vec<T>) {
        if batch.is_empty() {
            return;
        }
        let needed = self.room_for(&batch);
        if let Ok(room) = self.0.room.acquire_many(needed).await {
            room.forget();
            self.put(batch, needed);
        }
    }

    /// Sends all of this if there is room now; else it is forgotten.
    pub(crate) fn try_send(&self, batch: Vec<T>) {
        let needed = self.room_for(&batch);
        if let Ok(room) = self.0.room.try_acquire_many(needed) {
            room.forget();
            self.put(batch, needed);
        }
    }

    fn room_for(&self, batch: &[T]) -> u32 {
        let bytes: usize = batch.iter().map(|thing| size_of::<T>() + thing.bytes()).sum();
        u32::try_from(bytes).unwrap_or(u32::MAX).min(self.0.size)
    }

    fn put(&self, mut batch: Vec<T>, room: u32) {
        let mut waiting = self.0.waiting();
        if waiting.things.is_empty() {
            waiting.things = batch;
        } else {
            waiting.things.append(&mut batch);
        }
        waiting.room += usize::try_from(room).unwrap_or(usize::MAX);
        drop(waiting);
        self.0.filled.notify_one();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.filled.notify_one();
        }
    }
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

impl<T> Receiver<T> {
    /// All that is there, at least one; none when there will be no more. Can be cancelled without losing any.
    pub(crate) async fn recv(&mut self) -> Vec<T> {
        // Whoever always finds something here must let others have their turn.
        consume_budget().await;
        loop {
            // Looked at first: whatever the last sender sent was sent before it left.
            let is_last = self.0.senders.load(Ordering::Acquire) == 0;
            let taken = self.at_hand();
            if !taken.is_empty() || is_last {
                return taken;
            }
            self.0.filled.notified().await;
        }
    }

    /// All that is there now.
    pub(crate) fn at_hand(&mut self) -> Vec<T> {
        let mut waiting = self.0.waiting();
        let things = std::mem::take(&mut waiting.things);
        let room = std::mem::take(&mut waiting.room);
        drop(waiting);
        self.0.room.add_permits(room);
        things
    }

    /// Lets nobody send any more: all that was sent before.
    pub(crate) fn close(&mut self) -> Vec<T> {
        self.0.room.close();
        self.at_hand()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::time::Duration;

    use tokio::time::timeout;

    impl Bytes for usize {
        fn bytes(&self) -> usize {
            *self
        }
    }

    const SIZE: usize = size_of::<usize>();

    #[tokio::test]
    async fn all_come_in_order_and_then_the_end() {
        let (sender, mut receiver) = channel(100);
        let sending = tokio::spawn(async move {
            for number in 0..500 {
                sender.send(vec![2 * number, 2 * number + 1]).await;
            }
        });
        let mut all = Vec::new();
        loop {
            let batch = receiver.recv().await;
            if batch.is_empty() {
                break;
            }
            all.extend(batch);
        }
        sending.await.unwrap();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        assert!(receiver.recv().await.is_empty());
    }

    #[tokio::test]
    async fn what_waits_is_taken_together_and_a_lone_thing_at_once() {
        let (sender, mut receiver) = channel(1000);
        sender.send(vec![1]).await;
        assert_eq!(receiver.recv().await, [1]);
        sender.send(vec![2, 3]).await;
        sender.clone().send(vec![4]).await;
        assert_eq!(receiver.recv().await, [2, 3, 4]);
    }

    #[tokio::test]
    async fn whoever_is_not_heard_has_to_wait_however_small_the_batches_are() {
        let (sender, mut receiver) = channel(u32::try_from(10 * SIZE).unwrap());
        let fill = async {
            for sent in 0_usize.. {
                if timeout(Duration::from_millis(50), sender.send(vec![0])).await.is_err() {
                    return sent;
                }
            }
            0
        };
        assert_eq!(fill.await, 10);
        assert_eq!(receiver.recv().await.len(), 10);
        sender.send(vec![0]).await;
        assert_eq!(receiver.recv().await, [0], "what was cancelled was not sent");
    }

    #[tokio::test]
    async fn what_is_larger_than_all_the_room_goes_alone() {
        let (sender, mut receiver) = channel(100);
        sender.send(vec![1]).await;
        let large = sender.send(vec![5000, 6000]);
        tokio::pin!(large);
        assert!(timeout(Duration::from_millis(50), &mut large).await.is_err());
        assert_eq!(receiver.recv().await, [1]);
        large.await;
        assert_eq!(receiver.recv().await, [5000, 6000]);
        sender.send(vec![2]).await;
        assert_eq!(receiver.recv().await, [2], "the room is all there again");
    }

    #[tokio::test]
    async fn nobody_waits_for_one_who_is_gone() {
        let (sender, receiver) = channel(20);
        sender.send(vec![10]).await;
        let waiting = tokio::spawn(async move { sender.send(vec![11]).await });
        tokio::task::yield_now().await;
        drop(receiver);
        timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap();
        let (sender, mut receiver) = channel::<usize>(20);
        let waiting = tokio::spawn(async move { receiver.recv().await });
        tokio::task::yield_now().await;
        drop(sender);
        assert!(timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_was_sent_before_the_channel_was_closed_counts() {
        let (sender, mut receiver) = channel(1000);
        sender.send(vec![1, 2]).await;
        assert_eq!(receiver.close(), [1, 2]);
        sender.send(vec![3]).await;
        assert!(receiver.at_hand().is_empty());
    }
}
