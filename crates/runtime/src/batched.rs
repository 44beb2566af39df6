//! A channel that is emptied in one go.
//!
//! Whoever takes one thing at a time from a full channel wakes the sender for every single one, and the two take turns
//! line by line. Taking all there is lets each work for a while.

use std::collections::VecDeque;

use tokio::sync::mpsc;

/// So many are taken at once.
const AT_ONCE: usize = 128;

/// The receiving end of a channel, which takes many at once and hands them on one at a time.
#[derive(Debug)]
pub(crate) struct Batched<T> {
    receiver: mpsc::Receiver<T>,
    taken: VecDeque<T>,
    /// Where they are taken to first.
    many: Vec<T>,
}

impl<T> Batched<T> {
    pub(crate) fn new(receiver: mpsc::Receiver<T>) -> Self {
        Self { receiver, taken: VecDeque::new(), many: Vec::new() }
    }

    /// The next one; `None` when there will be no more. Can be cancelled without losing any.
    pub(crate) async fn recv(&mut self) -> Option<T> {
        if self.taken.is_empty() {
            self.receiver.recv_many(&mut self.many, AT_ONCE).await;
            self.taken.extend(self.many.drain(..));
        }
        self.taken.pop_front()
    }

    /// The next one that is there already.
    #[cfg(test)]
    pub(crate) fn try_recv(&mut self) -> Result<T, mpsc::error::TryRecvError> {
        self.taken.pop_front().map_or_else(|| self.receiver.try_recv(), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_come_in_order_and_then_the_end() {
        let (sender, receiver) = mpsc::channel(4);
        let mut batched = Batched::new(receiver);
        let sending = tokio::spawn(async move {
            for number in 0..1000 {
                sender.send(number).await.unwrap();
            }
        });
        for number in 0..1000 {
            assert_eq!(batched.recv().await, Some(number));
        }
        sending.await.unwrap();
        assert_eq!((batched.recv().await, batched.recv().await), (None, None));
    }
}
