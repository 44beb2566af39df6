//! Running a turn and showing its events.

use anyhow::Context as _;
use interlingua_runtime::{Runtime, RuntimeError, SentMessage};
use interlingua_schema::{EventData, SessionId, TurnStatus, UniversalEvent};
use interlingua_store::{Batch, RawPayloads, ReadLimits, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Args, Reply};
use crate::Outcome;
use crate::dialog::{Answer, Dialog, Request};
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
    dialog: Dialog,
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
        let printer = if self.args.json { Printer::json() } else { Printer::transcript(self.args.full) };
        let mut dialog = match self.args.reply {
            Some(_) => Dialog::without_asking(printer),
            None => Dialog::at_terminal(printer),
        };
        let asks = dialog.can_ask();
        let key = self.store.session(self.id).await?.context("the session was deleted")?.key;
        let after = sent.wait_for_turn().await.context("the session ended before the turn started")?;
        // A new session is shown from its first event.
        let after = if after == 1 { 0 } else { after };
        let mut reader = self.store.reader(key, after, self.raw_payloads());
        let mut interrupts = Interrupts::new()?;
        let mut ended = None;
        while ended.is_none() {
            // Asks when no event is ready.
            let batch = tokio::select! {
                biased;
                () = interrupts.next() => {
                    // The interrupt denies what is open.
                    dialog.stop_asking()?;
                    self.interrupt().await?;
                    continue;
                }
                batch = reader.next() => batch?,
                answer = dialog.next_answer() => {
                    self.send_answer(answer.context("cannot read the answer")?).await?;
                    continue;
                }
            };
            let Some(batch) = batch else { break };
            for event in decode_events(&batch)? {
                dialog.show(&event)?;
                if !asks && let Some(request) = Request::from_event(&event.data) {
                    self.send_answer(self.answer_without_asking(&request)).await?;
                }
                if let EventData::TurnEnded(turn) = &event.data {
                    ended = Some((event.sequence, turn.status.clone()));
                }
            }
        }
        let (last, status) = ended.map_or((reader.position(), None), |(last, status)| (last, Some(status)));
        Ok(ShownTurn { dialog, last: last.max(reader.position()), status })
    }

    /// Shows the events after the turn, once the agent has stopped.
    pub(super) async fn finish(&self, mut shown: ShownTurn) -> anyhow::Result<Outcome> {
        if let Some(session) = self.store.session(self.id).await? {
            let rest = self.store.read(session.key, shown.last, UNLIMITED, self.raw_payloads()).await?;
            for event in decode_events(&rest)? {
                shown.dialog.print(&event)?;
            }
        }
        shown.dialog.finish()?;
        Ok(Outcome::issues_if(shown.status != Some(TurnStatus::Completed)))
    }

    async fn interrupt(&self) -> anyhow::Result<()> {
        match self.runtime.interrupt(self.id).await {
            // It has ended in the meantime.
            Ok(()) | Err(RuntimeError::SessionEnded(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The answer to a request that is not asked: that of `--reply`, or a rejection.
    fn answer_without_asking(&self, request: &Request) -> Answer {
        let id = request.id().to_owned();
        match (request, self.args.reply) {
            (Request::Permission(_), Some(reply)) => Answer::Permission { id, reply },
            (Request::Permission(_), None) => {
                eprintln!("permission denied, because there is no terminal to ask; use --reply once to allow it");
                Answer::Permission { id, reply: Reply::Reject }
            }
            (Request::Question(_), reply) => {
                let reason = match reply {
                    Some(_) => "--reply answers permission requests only",
                    None => "there is no terminal to ask",
                };
                eprintln!("question rejected, because {reason}");
                Answer::Question { id, answers: None }
            }
        }
    }

    async fn send_answer(&self, answer: Answer) -> anyhow::Result<()> {
        let answered = match answer {
            Answer::Permission { id, reply } => self.runtime.reply_permission(self.id, &id, reply.into()).await,
            Answer::Question { id, answers: Some(answers) } => self.runtime.reply_question(self.id, &id, answers).await,
            Answer::Question { id, answers: None } => self.runtime.reject_question(self.id, &id).await,
        };
        match answered {
            // The agent has continued without the answer.
            Ok(()) | Err(RuntimeError::AlreadyResolved { .. } | RuntimeError::SessionEnded(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
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
