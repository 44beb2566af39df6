//! A channel that is filled and emptied in batches.
//!
//! Passing on a single line costs a wake-up, and often makes two threads alternate line by line. So lines travel
//! together: a sender sends all that it has, and the receiver takes all that is there. Nothing waits for a batch to
//! fill. A single line goes through at once, and the slower the receiver of a fast agent is, the larger its batches
//! become.
//!
//! The capacity is counted in bytes, regardless of the number of batches. A batch that is larger than the capacity
//! waits until the channel is empty, and then goes alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore};
use tokio::task::coop::consume_budget;

/// An item of a channel, with its size.
pub(crate) trait ByteLen {
    /// About how many bytes the item holds, not counting `size_of` the item itself.
    fn byte_len(&self) -> usize;
}

/// Creates a channel with a capacity in bytes.
pub(crate) fn channel<T: ByteLen>(capacity: u32) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        capacity,
        free: Semaphore::new(usize::try_from(capacity).unwrap_or(Semaphore::MAX_PERMITS)),
        queue: Mutex::new(Queue { items: Vec::new(), used: 0 }),
        changed: Notify::new(),
        senders: AtomicUsize::new(1),
    });
    (Sender(shared.clone()), Receiver(shared))
}

#[derive(Debug)]
struct Shared<T> {
    /// In bytes.
    capacity: u32,
    /// The bytes of the capacity that are free.
    free: Semaphore,
    queue: Mutex<Queue<T>>,
    /// Items were added, or the last sender was dropped.
    changed: Notify,
    senders: AtomicUsize,
}

/// Items that were sent and not received yet.
#[derive(Debug)]
struct Queue<T> {
    items: Vec<T>,
    /// The bytes of the capacity that the items use.
    used: usize,
}

impl<T> Shared<T> {
    fn lock_queue(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end. Can be cloned; the order is kept among the items of one clone.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

impl<T: ByteLen> Sender<T> {
    /// Sends a batch as soon as there is room. Without a receiver, the batch is dropped. Nothing is sent if this is
    /// cancelled.
    pub(crate) async fn send(&self, mut batch: Vec<T>) {
        self.send_from(&mut batch).await;
    }

    /// Sends all items of a batch as soon as there is room, and leaves it empty. If this is cancelled, it still has all.
    pub(crate) async fn send_from(&self, batch: &mut Vec<T>) {
        if batch.is_empty() {
            return;
        }
        let needed = self.needed_capacity(batch);
        let permit = self.0.free.acquire_many(needed).await;
        let batch = std::mem::take(batch);
        if let Ok(permit) = permit {
            permit.forget();
            self.push(batch, needed);
        }
    }

    /// Sends a batch if there is room now, and drops it otherwise.
    pub(crate) fn try_send(&self, batch: Vec<T>) {
        let needed = self.needed_capacity(&batch);
        if let Ok(permit) = self.0.free.try_acquire_many(needed) {
            permit.forget();
            self.push(batch, needed);
        }
    }

    fn needed_capacity(&self, batch: &[T]) -> u32 {
        let bytes: usize = batch.iter().map(|item| size_of::<T>() + item.byte_len()).sum();
        u32::try_from(bytes).unwrap_or(u32::MAX).min(self.0.capacity)
    }

    fn push(&self, mut batch: Vec<T>, used: u32) {
        let mut queue = self.0.lock_queue();
        if queue.items.is_empty() {
            queue.items = batch;
        } else {
            queue.items.append(&mut batch);
        }
        queue.used += usize::try_from(used).unwrap_or(usize::MAX);
        drop(queue);
        self.0.changed.notify_one();
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
            self.0.changed.notify_one();
        }
    }
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

impl<T> Receiver<T> {
    /// Waits for items and takes all that are there. Empty when all senders are gone. Cancellation loses no item.
    pub(crate) async fn recv(&mut self) -> Vec<T> {
        // A receiver that always finds items must let other tasks run.
        consume_budget().await;
        loop {
            // Read first: the last sender has sent its items before it was dropped.
            let is_closed = self.0.senders.load(Ordering::Acquire) == 0;
            let items = self.try_recv();
            if !items.is_empty() || is_closed {
                return items;
            }
            self.0.changed.notified().await;
        }
    }

    /// Takes all items that are there now.
    pub(crate) fn try_recv(&mut self) -> Vec<T> {
        let mut queue = self.0.lock_queue();
        let items = std::mem::take(&mut queue.items);
        let used = std::mem::take(&mut queue.used);
        drop(queue);
        self.0.free.add_permits(used);
        items
    }

    /// Closes the channel, and takes the items that were sent before.
    pub(crate) fn close(&mut self) -> Vec<T> {
        self.0.free.close();
        self.try_recv()
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

    impl ByteLen for usize {
        fn byte_len(&self) -> usize {
            *self
        }
    }

    const ITEM_SIZE: usize = size_of::<usize>();

    #[tokio::test]
    async fn all_items_arrive_in_order_and_then_the_end() {
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
    async fn waiting_items_are_received_together_and_a_single_one_at_once() {
        let (sender, mut receiver) = channel(1000);
        sender.send(vec![1]).await;
        assert_eq!(receiver.recv().await, [1]);
        sender.send(vec![2, 3]).await;
        sender.clone().send(vec![4]).await;
        assert_eq!(receiver.recv().await, [2, 3, 4]);
    }

    #[tokio::test]
    async fn a_full_channel_makes_senders_wait_however_small_the_batches_are() {
        let (sender, mut receiver) = channel(u32::try_from(10 * ITEM_SIZE).unwrap());
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
        assert_eq!(receiver.recv().await, [0], "the cancelled batch was sent");
    }

    #[tokio::test]
    async fn a_batch_larger_than_the_capacity_goes_alone() {
        let (sender, mut receiver) = channel(100);
        sender.send(vec![1]).await;
        let large = sender.send(vec![5000, 6000]);
        tokio::pin!(large);
        assert!(timeout(Duration::from_millis(50), &mut large).await.is_err());
        assert_eq!(receiver.recv().await, [1]);
        large.await;
        assert_eq!(receiver.recv().await, [5000, 6000]);
        sender.send(vec![2]).await;
        assert_eq!(receiver.recv().await, [2], "the capacity was not released");
    }

    #[tokio::test]
    async fn dropping_one_end_wakes_up_the_other() {
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
    async fn items_sent_before_the_channel_is_closed_are_received() {
        let (sender, mut receiver) = channel(1000);
        sender.send(vec![1, 2]).await;
        assert_eq!(receiver.close(), [1, 2]);
        sender.send(vec![3]).await;
        assert!(receiver.try_recv().is_empty());
    }
}
