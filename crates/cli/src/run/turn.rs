//! A turn as it happens.

use std::io;

use anyhow::Context as _;
use interlingua_runtime::{PermissionReply, Runtime, RuntimeError, SentMessage};
use interlingua_schema::{EventData, SessionId, TurnStatus, UniversalEvent};
use interlingua_store::{Batch, RawPayloads, ReadLimits, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Args, Reply, ask};
use crate::Outcome;
use crate::printer::Printer;

/// The rest of a session is read at once.
const ALL: ReadLimits = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };

/// The turn that a message begins.
pub(super) struct Turn<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) store: &'a Store,
    pub(super) id: &'a SessionId,
    pub(super) args: &'a Args,
}

/// How far a turn was shown.
pub(super) struct Shown {
    printer: Printer,
    /// The sequence of the last event that was shown.
    last: u64,
    status: Option<TurnStatus>,
}

impl Turn<'_> {
    fn raw(&self) -> RawPayloads {
        if self.args.raw { RawPayloads::Include } else { RawPayloads::Omit }
    }

    /// Shows the turn until it ends, and asks what is to be asked.
    pub(super) async fn play(&self, sent: SentMessage) -> anyhow::Result<Shown> {
        let mut printer = if self.args.json { Printer::json() } else { Printer::transcript(self.args.full) };
        let key = self.store.session(self.id).await?.context("the session is gone")?.key;
        let after = sent.wait_for_turn().await.context("the session ended before the message was taken up")?;
        // A session that is new is shown from its beginning.
        let first = if after == 1 { 0 } else { after };
        let mut reader = self.store.reader(key, first, self.raw());
        let mut interrupts = Interrupts::new()?;
        let mut shown = None;
        while shown.is_none() {
            let batch = tokio::select! {
                batch = reader.next() => batch?,
                () = interrupts.first() => {
                    self.interrupt().await?;
                    continue;
                }
            };
            let Some(batch) = batch else { break };
            for event in events(&batch)? {
                printer.event(&event)?;
                let answered = tokio::select! {
                    answered = self.answer(&event) => answered,
                    () = interrupts.first() => self.interrupt().await,
                };
                answered?;
                if let EventData::TurnEnded(ended) = &event.data {
                    shown = Some((event.sequence, ended.status.clone()));
                }
            }
        }
        printer.flush()?;
        let (last, status) = shown.map_or((reader.position(), None), |(last, status)| (last, Some(status)));
        Ok(Shown { printer, last: last.max(reader.position()), status })
    }

    /// Shows what came after the turn, now that the agent is gone.
    pub(super) async fn after(&self, mut shown: Shown) -> anyhow::Result<Outcome> {
        if let Some(session) = self.store.session(self.id).await? {
            let rest = self.store.read(session.key, shown.last, ALL, self.raw()).await?;
            for event in events(&rest)? {
                shown.printer.event(&event)?;
            }
        }
        shown.printer.finish()?;
        Ok(Outcome::found_if(shown.status != Some(TurnStatus::Completed)))
    }

    async fn interrupt(&self) -> anyhow::Result<()> {
        match self.runtime.interrupt(self.id).await {
            // It ended by itself in the meantime.
            Ok(()) | Err(RuntimeError::SessionEnded(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Answers what the agent asks.
    async fn answer(&self, event: &UniversalEvent) -> anyhow::Result<()> {
        let answered = match &event.data {
            EventData::PermissionRequested(permission) => {
                let reply = match self.args.reply {
                    Some(Reply::Once) => PermissionReply::Once,
                    Some(Reply::Always) => PermissionReply::Always,
                    Some(Reply::Reject) => PermissionReply::Reject,
                    None if ask::is_there_somebody() => {
                        let permission = permission.clone();
                        at_terminal(move |input, output| ask::permission(&permission, input, output)).await?
                    }
                    None => {
                        eprintln!("denied, because nobody is here to ask: --reply once allows it");
                        PermissionReply::Reject
                    }
                };
                self.runtime.reply_permission(self.id, &permission.permission_id, reply).await
            }
            EventData::QuestionRequested(question) => {
                let answer = if self.args.reply.is_none() && ask::is_there_somebody() {
                    let question = question.clone();
                    at_terminal(move |input, output| ask::question(&question, input, output)).await?
                } else {
                    eprintln!("declined, because nobody is here to answer");
                    None
                };
                match answer {
                    Some(choices) => self.runtime.reply_question(self.id, &question.question_id, choices).await,
                    None => self.runtime.reject_question(self.id, &question.question_id).await,
                }
            }
            _ => return Ok(()),
        };
        match answered {
            // The agent did not wait for the answer.
            Ok(()) | Err(RuntimeError::AlreadyResolved { .. } | RuntimeError::SessionEnded(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Asks at the terminal, while the agent goes on.
async fn at_terminal<T: Send + 'static>(
    ask: impl FnOnce(&mut io::StdinLock<'static>, &mut io::Stderr) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(move || ask(&mut io::stdin().lock(), &mut io::stderr()))
        .await
        .context("the terminal cannot be read")?
}

fn events(batch: &Batch) -> anyhow::Result<Vec<UniversalEvent>> {
    batch.iter().map(|(_, json)| serde_json::from_str(json).context("a stored event cannot be read")).collect()
}

/// Ctrl-C: the first one interrupts the turn, the second one leaves.
struct Interrupts(Signal);

impl Interrupts {
    fn new() -> anyhow::Result<Self> {
        Ok(Self(signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?))
    }

    /// Done when Ctrl-C is pressed. From then on, pressing it again ends the process.
    async fn first(&mut self) {
        self.0.recv().await;
        if let Ok(mut second) = signal(SignalKind::interrupt()) {
            tokio::spawn(async move {
                second.recv().await;
                std::process::exit(130);
            });
        }
    }
}
