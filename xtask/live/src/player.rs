//! Plays a scenario over the API, as its user and its host.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use interlingua_client::{MessageRequest, PermissionAnswer};
use interlingua_schema::{ContentPart, EventData, StatusLabel};
use interlingua_scripted_model::scenario::{HostAction, HostAnswer, Trigger, TriggeredAction, Turn};

use crate::stage::{Stage, limited};

/// Plays a scenario.
pub(crate) struct Player<'s, 'a> {
    stage: &'s mut Stage<'a>,
    /// What it is doing, for the report of a failure.
    step: &'s mut String,
    /// The sessions whose turn was left open.
    open: BTreeSet<String>,
    /// How many of the following turns' messages were said already.
    said_ahead: usize,
}

impl<'s, 'a> Player<'s, 'a> {
    pub(crate) fn new(stage: &'s mut Stage<'a>, step: &'s mut String) -> Self {
        Self { stage, step, open: BTreeSet::new(), said_ahead: 0 }
    }

    /// Plays all turns to their ends.
    pub(crate) async fn play(mut self) -> Result<()> {
        let scenario = self.stage.scenario;
        for (index, turn) in scenario.turns.iter().enumerate() {
            self.turn(index, turn).await?;
        }
        for session in std::mem::take(&mut self.open) {
            *self.step = format!("at the end, waiting for the turn of session {session:?}");
            let followed = self.stage.session(&session).await?;
            while !matches!(limited(followed.next()).await?.data, EventData::TurnEnded(_)) {}
        }
        Ok(())
    }

    async fn turn(&mut self, index: usize, turn: &Turn) -> Result<()> {
        let number = index + 1;
        if turn.resume {
            *self.step = format!("before turn {number}, starting the server anew");
            self.stage.restart().await?;
        }
        *self.step = format!("in turn {number}, saying {:?}", turn.prompt);
        let id = self.stage.session(&turn.session).await?.id.clone();
        if self.said_ahead > 0 {
            self.said_ahead -= 1;
        } else {
            limited(self.stage.client.send_message(&id, &MessageRequest::new(&turn.prompt))).await?;
        }
        let mut answers = Answers::of(turn);
        let mut actions = turn.actions.iter().peekable();
        loop {
            *self.step = match actions.peek() {
                Some(action) => format!("in turn {number}, waiting for {:?}", action.trigger),
                None if turn.overlaps_next => format!("in turn {number}, waiting for its first words"),
                None => format!("in turn {number}, waiting for its end"),
            };
            let next = actions.peek().copied();
            let file = self.stage.place.workspace.clone();
            let session = self.stage.session(&turn.session).await?;
            let event = tokio::select! {
                event = limited(session.next()) => Some(event?),
                () = file_is_there(&file, next) => None,
            };
            let is_said = match event.as_ref().map(|event| &event.data) {
                Some(EventData::ItemDelta(delta)) => session.is_said_by_agent(&delta.item_id),
                _ => false,
            };
            let data = event.map(|event| event.data);
            if turn.overlaps_next && is_said {
                self.open.insert(turn.session.clone());
                return Ok(());
            }
            if let Some(action) = next.filter(|action| triggers(action, data.as_ref(), is_said)) {
                actions.next();
                *self.step = format!("in turn {number}, doing {:?}", action.action);
                self.act(&id, action, index).await?;
                continue;
            }
            match data {
                Some(EventData::PermissionRequested(asked)) => {
                    let Some(answer) = answers.permission() else {
                        bail!("the agent asks for {:?} and the scenario has no answer left", asked.action);
                    };
                    *self.step = format!("in turn {number}, answering {answer:?} to {:?}", asked.action);
                    limited(self.stage.client.reply_permission(&id, &asked.permission_id, reply(answer)?)).await?;
                }
                Some(EventData::QuestionRequested(asked)) => {
                    let answer = answers.question().with_context(|| format!("the agent asks {:?}", asked.prompt))?;
                    *self.step = format!("in turn {number}, answering {answer:?} to {:?}", asked.prompt);
                    match answer {
                        Some(chosen) => {
                            limited(self.stage.client.reply_question(&id, &asked.question_id, &chosen)).await?;
                        }
                        None => limited(self.stage.client.reject_question(&id, &asked.question_id)).await?,
                    }
                }
                Some(EventData::TurnEnded(_)) => {
                    self.stage.model.end_turn(&turn.session);
                    return Ok(());
                }
                Some(EventData::SessionEnded(_)) => bail!("the session ended"),
                _ => {}
            }
        }
    }

    async fn act(&mut self, session: &str, action: &TriggeredAction, index: usize) -> Result<()> {
        match action.action {
            HostAction::Interrupt => limited(self.stage.client.interrupt(session)).await,
            HostAction::Kill | HostAction::Terminate => self.stage.kill().await,
            HostAction::SendMessage => {
                self.said_ahead += 1;
                let next = self.stage.scenario.turns.get(index + self.said_ahead).context("no turn follows")?;
                limited(self.stage.client.send_message(session, &MessageRequest::new(&next.prompt))).await
            }
            HostAction::CloseInput => bail!("a client of the server cannot close an agent's input"),
        }
    }
}

/// Whether what happened (nothing: the file is there) is what the action waits for.
fn triggers(action: &TriggeredAction, happened: Option<&EventData>, is_said: bool) -> bool {
    match (&action.trigger, happened) {
        (Trigger::File(_), None)
        | (Trigger::Request, Some(EventData::PermissionRequested(_) | EventData::QuestionRequested(_))) => true,
        (Trigger::Text, Some(_)) => is_said,
        (Trigger::Retry, Some(EventData::ItemCompleted(completed))) => completed.item.content.iter().any(is_retry),
        _ => false,
    }
}

/// The answer to a permission request.
fn reply(answer: &HostAnswer) -> Result<PermissionAnswer> {
    match answer {
        HostAnswer::Allow => Ok(PermissionAnswer::Once),
        HostAnswer::AllowAlways => Ok(PermissionAnswer::Always),
        HostAnswer::Deny(_) => Ok(PermissionAnswer::Reject),
        HostAnswer::Choose(_) | HostAnswer::Dismiss => {
            bail!("the agent asks for a permission, and the answer is to a question")
        }
    }
}

/// What the user answers in a turn, in the order in which the agent asks.
struct Answers<'t> {
    all: std::slice::Iter<'t, HostAnswer>,
    /// What was chosen in the other questions that were asked at once.
    more: VecDeque<Vec<String>>,
}

impl<'t> Answers<'t> {
    fn of(turn: &'t Turn) -> Self {
        Self { all: turn.answers.iter(), more: VecDeque::new() }
    }

    /// The answer to a permission; `None` if there is none left.
    fn permission(&mut self) -> Option<&'t HostAnswer> {
        self.all.next()
    }

    /// What is chosen in a question; `None` if the user does not answer. A plan is a question, too.
    fn question(&mut self) -> Result<Option<Vec<String>>> {
        if let Some(chosen) = self.more.pop_front() {
            return Ok(Some(chosen));
        }
        let answer = self.all.next().context("the scenario has no answer left")?;
        Ok(match answer {
            HostAnswer::Choose(chosen) => {
                self.more.extend(chosen.iter().cloned());
                Some(self.more.pop_front().context("an answer to no question")?)
            }
            HostAnswer::Allow => Some(vec!["approve".to_owned()]),
            HostAnswer::Deny(Some(why)) => Some(vec![why.clone()]),
            HostAnswer::Deny(None) | HostAnswer::Dismiss => None,
            HostAnswer::AllowAlways => bail!("the agent asks a question, and the answer is to a permission"),
        })
    }
}

fn is_retry(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Status { label: StatusLabel::Retry, .. })
}

/// Comes back when the file is there that the action waits for; never if it waits for something else.
async fn file_is_there(workspace: &std::path::Path, action: Option<&TriggeredAction>) {
    let Some(TriggeredAction { trigger: Trigger::File(name), .. }) = action else {
        return std::future::pending().await;
    };
    while !workspace.join(name).exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_fit_what_is_asked() {
        assert_eq!(reply(&HostAnswer::Deny(Some("No.".to_owned()))).unwrap(), PermissionAnswer::Reject);
        assert!(reply(&HostAnswer::Dismiss).is_err());
        let two = HostAnswer::Choose(vec![vec!["Friday".to_owned()], vec!["Cake".to_owned()]]);
        let given = [two, HostAnswer::Allow, HostAnswer::Dismiss];
        let mut answers = Answers { all: given.iter(), more: VecDeque::new() };
        let mut next = || answers.question();
        assert_eq!(next().unwrap(), Some(vec!["Friday".to_owned()]));
        assert_eq!(next().unwrap(), Some(vec!["Cake".to_owned()]));
        assert_eq!(next().unwrap(), Some(vec!["approve".to_owned()]));
        assert_eq!(next().unwrap(), None);
        assert!(next().is_err());
    }

    #[test]
    fn words_trigger_only_what_waits_for_words() {
        let ended =
            EventData::TurnEnded(interlingua_schema::TurnEnded::new("t", interlingua_schema::TurnStatus::Completed));
        let on = |on| TriggeredAction { trigger: on, action: HostAction::Interrupt };
        assert!(triggers(&on(Trigger::Text), Some(&ended), true));
        assert!(!triggers(&on(Trigger::Text), Some(&ended), false));
        assert!(!triggers(&on(Trigger::Request), Some(&ended), true));
        assert!(triggers(&on(Trigger::File("started".to_owned())), None, false));
    }
}
