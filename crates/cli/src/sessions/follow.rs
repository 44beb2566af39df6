//! Following a session or a turn, and answering what its agent asks.

use interlingua_client::{Client, ClientError, EventQuery, Reconnect, TurnStream};
use interlingua_schema::{EventData, TurnStatus, UniversalEvent};

use super::server_args::client_error;
use crate::Outcome;
use crate::dialog::{Answer, Dialog, Request};
use crate::printer::Printer;

/// A session that is followed. At a terminal, its requests are asked and answered in place.
pub(super) struct Follower<'a> {
    client: &'a Client,
    session: &'a str,
    dialog: Dialog,
}

impl<'a> Follower<'a> {
    pub(super) fn new(client: &'a Client, session: &'a str, printer: Printer) -> Self {
        Self { client, session, dialog: Dialog::at_terminal(printer).show_request_ids() }
    }

    /// Shows a session's events until it ends. Reconnects when the connection breaks, without losing or repeating events.
    pub(super) async fn tail(mut self, query: EventQuery) -> anyhow::Result<Outcome> {
        let past = Past::read(self.client, self.session).await.map_err(client_error)?;
        let events = self.client.follow_events(self.session, query).await.map_err(client_error)?;
        let mut events = events.on_reconnect(report_reconnect);
        loop {
            tokio::select! {
                biased;
                event = events.next() => match event.map_err(client_error)? {
                    Some(event) if past.is_resolved(&event) => self.dialog.print(&event)?,
                    Some(event) => self.dialog.show(&event)?,
                    None => break,
                },
                answer = self.dialog.next_answer() => self.send_answer(answer?).await,
            }
        }
        self.dialog.finish()?;
        Ok(Outcome::Success)
    }

    /// Shows the events of one turn.
    pub(super) async fn turn(mut self, mut events: TurnStream) -> anyhow::Result<Outcome> {
        let result = loop {
            let event = tokio::select! {
                biased;
                event = events.next() => event,
                answer = self.dialog.next_answer() => {
                    self.send_answer(answer?).await;
                    continue;
                }
            };
            match event {
                Ok(Some(event)) => {
                    self.dialog.show(&event)?;
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
        self.dialog.finish()?;
        result.map(|is_completed| Outcome::issues_if(!is_completed))
    }

    /// Sends an answer. An error is reported, and the session is still followed: another client may have answered.
    async fn send_answer(&mut self, answer: Answer) {
        let (client, session) = (self.client, self.session);
        let sent = match &answer {
            Answer::Permission { id, reply } => client.reply_permission(session, id, (*reply).into()).await,
            Answer::Question { id, answers: Some(answers) } => client.reply_question(session, id, answers).await,
            Answer::Question { id, answers: None } => client.reject_question(session, id).await,
        };
        if let Err(error) = sent {
            eprintln!("cannot answer {}: {:#}", answer.id(), client_error(error));
            self.dialog.drop_answer();
        }
    }
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

/// What was open when the following began. Earlier requests that are resolved are not asked again.
struct Past {
    last_sequence: u64,
    open: Vec<String>,
}

impl Past {
    async fn read(client: &Client, session: &str) -> Result<Self, ClientError> {
        let info = client.session(session).await?;
        let open = info.pending.iter().filter_map(|request| request.id().map(str::to_owned)).collect();
        Ok(Self { last_sequence: info.event_count, open })
    }

    /// Whether an event makes a request that was resolved before the following began.
    fn is_resolved(&self, event: &UniversalEvent) -> bool {
        event.sequence <= self.last_sequence
            && Request::from_event(&event.data).is_some_and(|request| !self.open.iter().any(|id| id == request.id()))
    }
}
