//! A session's line to its agent.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use crate::batches::Receiver;
use crate::crossing::Crossing;
use crate::driver::{self, Driver, Order, Parting, ServeError, SessionSpec};

/// How serving ended.
pub(super) type Served = Result<Parting, ServeError>;

/// A driver at work on the session.
pub(super) struct Connection {
    orders: mpsc::UnboundedSender<Order>,
    crossings: Receiver<Crossing>,
    task: JoinHandle<Served>,
}

/// What came from a driver.
pub(super) enum Heard {
    /// What crossed the wire; at least one thing.
    Crossings(Vec<Crossing>),
    /// The driver is done. This is the last.
    Over(Vec<Crossing>, Served),
}

impl Connection {
    pub(super) fn open(driver: Arc<dyn Driver>, spec: SessionSpec) -> Self {
        let (orders, ordered, wire, crossings) = driver::channels();
        let task = tokio::spawn(driver.serve(spec, ordered, wire));
        Self { orders, crossings, task }
    }

    /// Whether the driver can still hear it.
    pub(super) fn order(&self, order: Order) -> bool {
        self.orders.send(order).is_ok()
    }

    /// The next thing that the driver says. Nothing is lost if this is cancelled.
    pub(super) async fn hear(&mut self) -> Heard {
        tokio::select! {
            biased;
            crossings = self.crossings.recv() => {
                if !crossings.is_empty() {
                    return Heard::Crossings(crossings);
                }
                Heard::Over(crossings, served((&mut self.task).await))
            }
            // Somebody kept a wire although serving is over. What it handed over counts, what it holds does not.
            end = &mut self.task => Heard::Over(self.crossings.close(), served(end)),
        }
    }

    /// Lets go, gives the driver some time to end its agent, and takes what it still says and how it parts.
    pub(super) async fn stop(self, grace: Duration) -> (Vec<Crossing>, Served) {
        let Self { orders, mut crossings, mut task } = self;
        drop(orders);
        let mut last_words = Vec::new();
        let parting = timeout(grace, async {
            loop {
                let mut batch = crossings.recv().await;
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
