//! Running a turn and showing its events.

use std::io;

use anyhow::Context as _;
use interlingua_runtime::{PermissionReply, Runtime, RuntimeError, SentMessage};
use interlingua_schema::{EventData, SessionId, TurnStatus, UniversalEvent};
use interlingua_store::{Batch, RawPayloads, ReadLimits, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Args, Reply, ask};
use crate::Outcome;
use crate::printer::Printer;

/// For reading all remaining events of a session at once.
const UNLIMITED: ReadLimits = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };

/// Shows the turn that a message starts, and answers the agent's requests.
pub(super) struct TurnRunner<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) store: &'a Store,
    pub(super) id: &'a SessionId,
    pub(super) args: &'a Args,
}

/// A turn that was shown.
pub(super) struct ShownTurn {
    printer: Printer,
    /// Sequence of the last event that was shown.
    last: u64,
    status: Option<TurnStatus>,
}

impl TurnRunner<'_> {
    fn raw_payloads(&self) -> RawPayloads {
        if self.args.raw { RawPayloads::Include } else { RawPayloads::Omit }
    }

    /// Shows the turn until it ends, and asks the user for answers.
    pub(super) async fn run(&self, sent: SentMessage) -> anyhow::Result<ShownTurn> {
        let mut printer = if self.args.json { Printer::json() } else { Printer::transcript(self.args.full) };
        let key = self.store.session(self.id).await?.context("the session was deleted")?.key;
        let after = sent.wait_for_turn().await.context("the session ended before the turn started")?;
        // A new session is shown from its first event.
        let after = if after == 1 { 0 } else { after };
        let mut reader = self.store.reader(key, after, self.raw_payloads());
        let mut interrupts = Interrupts::new()?;
        let mut ended = None;
        while ended.is_none() {
            let batch = tokio::select! {
                batch = reader.next() => batch?,
                () = interrupts.next() => {
                    self.interrupt().await?;
                    continue;
                }
            };
            let Some(batch) = batch else { break };
            for event in decode_events(&batch)? {
                printer.print(&event)?;
                let answered = tokio::select! {
                    answered = self.answer(&event) => answered,
                    () = interrupts.next() => self.interrupt().await,
                };
                answered?;
                if let EventData::TurnEnded(turn) = &event.data {
                    ended = Some((event.sequence, turn.status.clone()));
                }
            }
        }
        printer.flush()?;
        let (last, status) = ended.map_or((reader.position(), None), |(last, status)| (last, Some(status)));
        Ok(ShownTurn { printer, last: last.max(reader.position()), status })
    }

    /// Shows the events after the turn, once the agent has stopped.
    pub(super) async fn finish(&self, mut shown: ShownTurn) -> anyhow::Result<Outcome> {
        if let Some(session) = self.store.session(self.id).await? {
            let rest = self.store.read(session.key, shown.last, UNLIMITED, self.raw_payloads()).await?;
            for event in decode_events(&rest)? {
                shown.printer.print(&event)?;
            }
        }
        shown.printer.finish()?;
        Ok(Outcome::issues_if(shown.status != Some(TurnStatus::Completed)))
    }

    async fn interrupt(&self) -> anyhow::Result<()> {
        match self.runtime.interrupt(self.id).await {
            // It has ended in the meantime.
            Ok(()) | Err(RuntimeError::SessionEnded(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Answers a permission request or question; does nothing for other events.
    async fn answer(&self, event: &UniversalEvent) -> anyhow::Result<()> {
        let answered = match &event.data {
            EventData::PermissionRequested(permission) => {
                let reply = match self.args.reply {
                    Some(Reply::Once) => PermissionReply::Once,
                    Some(Reply::Always) => PermissionReply::Always,
                    Some(Reply::Reject) => PermissionReply::Reject,
                    None if ask::can_ask() => {
                        let permission = permission.clone();
                        ask_at_terminal(move |input, output| ask::ask_permission(&permission, input, output)).await?
                    }
                    None => {
                        eprintln!(
                            "permission denied, because there is no terminal to ask; use --reply once to allow it"
                        );
                        PermissionReply::Reject
                    }
                };
                self.runtime.reply_permission(self.id, &permission.permission_id, reply).await
            }
            EventData::QuestionRequested(question) => {
                let answer = if self.args.reply.is_none() && ask::can_ask() {
                    let question = question.clone();
                    ask_at_terminal(move |input, output| ask::ask_question(&question, input, output)).await?
                } else {
                    let reason = if self.args.reply.is_some() {
                        "--reply answers permission requests only"
                    } else {
                        "there is no terminal to ask"
                    };
                    eprintln!("question rejected, because {reason}");
                    None
                };
                match answer {
                    Some(answers) => self.runtime.reply_question(self.id, &question.question_id, answers).await,
                    None => self.runtime.reject_question(self.id, &question.question_id).await,
                }
            }
            _ => return Ok(()),
        };
        match answered {
            // The agent has continued without the answer.
            Ok(()) | Err(RuntimeError::AlreadyResolved { .. } | RuntimeError::SessionEnded(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Asks at the terminal on a blocking thread, while the agent continues.
async fn ask_at_terminal<T: Send + 'static>(
    ask: impl FnOnce(&mut io::StdinLock<'static>, &mut io::Stderr) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(move || ask(&mut io::stdin().lock(), &mut io::stderr()))
        .await
        .context("cannot read from the terminal")?
}

fn decode_events(batch: &Batch) -> anyhow::Result<Vec<UniversalEvent>> {
    batch.iter().map(|(_, json)| serde_json::from_str(json).context("cannot decode a stored event")).collect()
}

/// Ctrl-C: the first one interrupts the turn, the second one ends the process.
struct Interrupts(Signal);

impl Interrupts {
    fn new() -> anyhow::Result<Self> {
        Ok(Self(signal(SignalKind::interrupt()).context("cannot handle Ctrl-C")?))
    }

    /// Completes when Ctrl-C is pressed. From then on, another Ctrl-C ends the process.
    async fn next(&mut self) {
        self.0.recv().await;
        if let Ok(mut second) = signal(SignalKind::interrupt()) {
            tokio::spawn(async move {
                second.recv().await;
                std::process::exit(130);
            });
        }
    }
}
