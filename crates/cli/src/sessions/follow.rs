//! Following a session as it happens.

use std::time::Duration;

use anyhow::Context as _;
use interlingua_schema::{EventData, TurnStatus, UniversalEvent};
use reqwest::{Method, Response};
use tokio::time::sleep;

use super::client::{Client, is_refusal};
use super::sse::Frames;
use crate::Outcome;
use crate::printer::Printer;

/// How long to wait before the first new attempt, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What to follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct From {
    /// The sequence of the last event that is not wanted.
    pub(super) after: u64,
    pub(super) raw: bool,
}

/// Prints a session's events until it ends. A connection that drops is made again, and nothing is lost or repeated.
pub(super) async fn tail(client: &Client, session: &str, from: From, mut printer: Printer) -> anyhow::Result<Outcome> {
    let mut after = from.after;
    let mut pause = FIRST_PAUSE;
    let mut connected_once = false;
    loop {
        let before = after;
        let dropped = match connect(client, session, after, from.raw).await {
            Ok(mut response) => {
                connected_once = true;
                match read(&mut response, &mut printer, &mut after, |_| false).await? {
                    Read::Ended => {
                        printer.finish()?;
                        return Ok(Outcome::Fine);
                    }
                    Read::Met(_) | Read::Dropped => "the connection dropped".to_owned(),
                }
            }
            Err(error) if !connected_once || is_refusal(&error) => return Err(error),
            Err(error) => format!("{error:#}"),
        };
        if after > before {
            pause = FIRST_PAUSE;
        }
        eprintln!("{dropped}; trying again in {} ms", pause.as_millis());
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn connect(client: &Client, session: &str, after: u64, raw: bool) -> anyhow::Result<Response> {
    let path = ["sessions", session, "events", "sse"];
    let request = client.request_with(Method::GET, &path, &[("include_raw", raw.to_string())])?;
    client.send(request.header("Last-Event-ID", after.to_string())).await
}

/// Prints the events of one turn, from the answer to the message that began it.
pub(super) async fn turn(mut response: Response, mut printer: Printer) -> anyhow::Result<Outcome> {
    let mut after = 0;
    let is_end = |event: &UniversalEvent| matches!(event.data, EventData::TurnEnded(_));
    let read = read(&mut response, &mut printer, &mut after, is_end).await?;
    printer.finish()?;
    let status = match read {
        Read::Met(event) => match &event.data {
            EventData::TurnEnded(ended) => Some(ended.status.clone()),
            _ => None,
        },
        Read::Ended => None,
        Read::Dropped => anyhow::bail!("the connection dropped; `interlingua sessions tail` goes on"),
    };
    Ok(Outcome::found_if(status != Some(TurnStatus::Completed)))
}

/// How reading a stream ended.
enum Read {
    /// With the event that was waited for.
    Met(Box<UniversalEvent>),
    /// With the end of the session.
    Ended,
    /// In the middle of things.
    Dropped,
}

async fn read(
    response: &mut Response,
    printer: &mut Printer,
    after: &mut u64,
    is_met: impl Fn(&UniversalEvent) -> bool,
) -> anyhow::Result<Read> {
    let mut frames = Frames::default();
    loop {
        let Ok(Some(bytes)) = response.chunk().await else { return Ok(Read::Dropped) };
        for frame in frames.push(&bytes) {
            let event: UniversalEvent =
                serde_json::from_str(&frame).context("the server sent something that is not an event")?;
            *after = event.sequence;
            printer.event(&event)?;
            if matches!(event.data, EventData::SessionEnded(_)) {
                return Ok(Read::Ended);
            }
            if is_met(&event) {
                return Ok(Read::Met(Box::new(event)));
            }
        }
    }
}
