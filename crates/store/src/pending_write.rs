//! The result of a write that was queued.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::StoreError;

/// A write that was queued. It resolves when the write is durable, or to the reason why it was refused.
///
/// Writes are executed in the order of the calls. Dropping a `PendingWrite` does not cancel the write.
#[must_use = "a write is not durable until this resolves"]
#[derive(Debug)]
pub struct PendingWrite<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> PendingWrite<T> {
    pub(crate) fn new(result: oneshot::Receiver<Result<T, StoreError>>) -> Self {
        Self(result)
    }

    pub(crate) fn refused(error: StoreError) -> Self {
        let (sender, receiver) = oneshot::channel();
        // The receiver exists.
        let _ = sender.send(Err(error));
        Self(receiver)
    }
}

impl<T> Future for PendingWrite<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // The sender is dropped without a result only when the writer is gone.
        Pin::new(&mut self.0).poll(context).map(|result| result.unwrap_or(Err(StoreError::Closed)))
    }
}
