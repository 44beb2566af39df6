//! A session's line to its agent.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use crate::batches::Receiver;
use crate::driver::{self, Driver, Order, Parting, ServeError, SessionSpec};
use crate::wire::DriverMessage;

/// How serving ended.
pub(super) type Served = Result<Parting, ServeError>;

/// A driver at work on the session.
pub(super) struct Connection {
    orders: mpsc::UnboundedSender<Order>,
    messages: Receiver<DriverMessage>,
    task: JoinHandle<Served>,
}

/// What came from a driver: its messages, and how serving ended if it did. Then there is no more to come.
pub(super) type Received = (Vec<DriverMessage>, Option<Served>);

impl Connection {
    pub(super) fn open(driver: Arc<dyn Driver>, spec: SessionSpec) -> Self {
        let (orders, ordered, wire, messages) = driver::channels();
        let task = tokio::spawn(driver.serve(spec, ordered, wire));
        Self { orders, messages, task }
    }

    /// Whether the driver can still hear it.
    pub(super) fn order(&self, order: Order) -> bool {
        self.orders.send(order).is_ok()
    }

    /// The next messages of the driver. Nothing is lost if this is cancelled.
    pub(super) async fn receive(&mut self) -> Received {
        tokio::select! {
            biased;
            messages = self.messages.recv() => {
                let served = if messages.is_empty() { Some(served((&mut self.task).await)) } else { None };
                (messages, served)
            }
            // Somebody kept a wire although serving is over. What was sent counts, what waits to be sent does not.
            end = &mut self.task => (self.messages.close(), Some(served(end))),
        }
    }

    /// Lets go, gives the driver some time to end its agent, and takes what it still says and how it parts.
    pub(super) async fn stop(self, grace: Duration) -> (Vec<DriverMessage>, Served) {
        let Self { orders, mut messages, mut task } = self;
        drop(orders);
        let mut last_words = Vec::new();
        let parting = timeout(grace, async {
            loop {
                let mut batch = messages.recv().await;
                if batch.is_empty() {
                    break;
                }
                last_words.append(&mut batch);
            }
            served((&mut task).await)
        })
        .await;
        let parting = parting.unwrap_or_else(|_| {
            tracing::warn!("an agent did not end within {grace:?} and is cut off");
            task.abort();
            Ok(Parting::Left)
        });
        (last_words, parting)
    }
}

fn served(end: Result<Served, JoinError>) -> Served {
    end.unwrap_or_else(|error| Err(ServeError::Unavailable(format!("the driver failed: {error}"))))
}
