//! Following a session as it happens.

use interlingua_client::{Client, ClientError, EventQuery, TurnStream};
use interlingua_schema::{EventData, TurnStatus};

use super::server_args::explain;
use crate::Outcome;
use crate::printer::Printer;

/// Prints a session's events until it ends. A connection that drops is made again, and nothing is lost or repeated.
pub(super) async fn tail(
    client: &Client,
    session: &str,
    query: EventQuery,
    mut printer: Printer,
) -> anyhow::Result<Outcome> {
    let events = client.follow_events(session, query).await.map_err(explain)?;
    let mut events = events.on_reconnect(|reconnect| {
        let cause = match reconnect.cause {
            ClientError::BrokenStream { .. } | ClientError::Transport { .. } => "the connection dropped".to_owned(),
            cause => cause.to_string(),
        };
        eprintln!("{cause}; trying again in {} ms", reconnect.delay.as_millis());
    });
    while let Some(event) = events.next().await.map_err(explain)? {
        printer.event(&event)?;
    }
    printer.finish()?;
    Ok(Outcome::Success)
}

/// Prints the events of one turn.
pub(super) async fn turn(mut events: TurnStream, mut printer: Printer) -> anyhow::Result<Outcome> {
    let outcome = loop {
        match events.next().await {
            Ok(Some(event)) => {
                printer.event(&event)?;
                match event.data {
                    EventData::TurnEnded(ended) => break Ok(ended.status == TurnStatus::Completed),
                    EventData::SessionEnded(_) => break Ok(false),
                    _ => {}
                }
            }
            Ok(None) | Err(ClientError::BrokenStream { .. } | ClientError::Transport { .. }) => {
                break Err(anyhow::anyhow!("the connection dropped; `interlingua sessions tail` goes on"));
            }
            Err(error) => return Err(error.into()),
        }
    };
    printer.finish()?;
    outcome.map(|is_completed| Outcome::found_if(!is_completed))
}
