//! Following a session or a turn.

use interlingua_client::{Client, ClientError, EventQuery, Reconnect, TurnStream};
use interlingua_schema::{EventData, TurnStatus};

use super::server_args::client_error;
use crate::Outcome;
use crate::printer::Printer;

/// Prints a session's events until it ends. Reconnects when the connection breaks, without losing or repeating events.
pub(super) async fn tail(
    client: &Client,
    session: &str,
    query: EventQuery,
    mut printer: Printer,
) -> anyhow::Result<Outcome> {
    let events = client.follow_events(session, query).await.map_err(client_error)?;
    let mut events = events.on_reconnect(report_reconnect);
    while let Some(event) = events.next().await.map_err(client_error)? {
        printer.print(&event)?;
    }
    printer.finish()?;
    Ok(Outcome::Success)
}

/// Tells the user that the connection broke.
#[allow(clippy::needless_pass_by_value, reason = "the signature of the callback")]
pub(super) fn report_reconnect(reconnect: Reconnect<'_>) {
    let cause = match reconnect.cause {
        ClientError::BrokenStream { .. } | ClientError::Transport { .. } => "connection lost".to_owned(),
        cause => cause.to_string(),
    };
    eprintln!("{cause}; reconnecting in {} ms", reconnect.delay.as_millis());
}

/// Prints the events of one turn.
pub(super) async fn turn(mut events: TurnStream, mut printer: Printer) -> anyhow::Result<Outcome> {
    let result = loop {
        match events.next().await {
            Ok(Some(event)) => {
                printer.print(&event)?;
                match event.data {
                    EventData::TurnEnded(ended) => break Ok(ended.status == TurnStatus::Completed),
                    EventData::SessionEnded(_) => break Ok(false),
                    _ => {}
                }
            }
            Ok(None) | Err(ClientError::BrokenStream { .. } | ClientError::Transport { .. }) => {
                break Err(anyhow::anyhow!(
                    "connection lost; the turn continues on the server, follow it with `interlingua sessions tail`"
                ));
            }
            Err(error) => return Err(error.into()),
        }
    };
    printer.finish()?;
    result.map(|is_completed| Outcome::issues_if(!is_completed))
}
