//! Plays the user and the host of a scenario over the API.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use interlingua_client::{MessageRequest, PermissionAnswer};
use interlingua_schema::{ContentPart, EventData, StatusLabel};
use interlingua_scripted_model::scenario::{HostAction, HostAnswer, Trigger, TriggeredAction, Turn};

use crate::test_environment::{TestEnvironment, with_timeout};

/// Interval at which the workspace is checked for a file.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Plays a scenario.
pub(crate) struct ScenarioRunner<'s, 'a> {
    environment: &'s mut TestEnvironment<'a>,
    /// The current step, for the report of a failure.
    step: &'s mut String,
    /// Sessions whose turn still runs while the next turn is played.
    open_sessions: BTreeSet<String>,
    /// Number of prompts of later turns that were sent already.
    messages_ahead: usize,
}

impl<'s, 'a> ScenarioRunner<'s, 'a> {
    pub(crate) fn new(environment: &'s mut TestEnvironment<'a>, step: &'s mut String) -> Self {
        Self { environment, step, open_sessions: BTreeSet::new(), messages_ahead: 0 }
    }

    /// Plays all turns to their end.
    pub(crate) async fn run(mut self) -> Result<()> {
        let scenario = self.environment.scenario;
        for (index, turn) in scenario.turns.iter().enumerate() {
            self.play_turn(index, turn).await?;
        }
        for session in std::mem::take(&mut self.open_sessions) {
            *self.step = format!("at the end, waiting for the turn of session {session:?}");
            let session = self.environment.session(&session).await?;
            while !matches!(with_timeout(session.next()).await?.data, EventData::TurnEnded(_)) {}
        }
        Ok(())
    }

    async fn play_turn(&mut self, index: usize, turn: &Turn) -> Result<()> {
        let number = index + 1;
        if turn.resume {
            *self.step = format!("before turn {number}, restarting the server");
            self.environment.restart().await?;
        }
        *self.step = format!("in turn {number}, sending {:?}", turn.prompt);
        let id = self.environment.session(&turn.session).await?.id.clone();
        if self.messages_ahead > 0 {
            self.messages_ahead -= 1;
        } else {
            with_timeout(self.environment.client.send_message(&id, &MessageRequest::new(&turn.prompt))).await?;
        }
        let mut answers = Answers::new(turn);
        let mut actions = turn.actions.iter().peekable();
        loop {
            *self.step = match actions.peek() {
                Some(action) => format!("in turn {number}, waiting for {:?}", action.trigger),
                None if turn.overlaps_next => format!("in turn {number}, waiting for its first text"),
                None => format!("in turn {number}, waiting for its end"),
            };
            let next = actions.peek().copied();
            let workspace = self.environment.dirs.workspace.clone();
            let session = self.environment.session(&turn.session).await?;
            let event = tokio::select! {
                event = with_timeout(session.next()) => Some(event?),
                () = wait_for_file(&workspace, next) => None,
            };
            let is_text = match event.as_ref().map(|event| &event.data) {
                Some(EventData::ItemDelta(delta)) => session.is_assistant_message(&delta.item_id),
                _ => false,
            };
            let data = event.map(|event| event.data);
            if turn.overlaps_next && is_text {
                self.open_sessions.insert(turn.session.clone());
                return Ok(());
            }
            if let Some(action) = next.filter(|action| is_triggered(action, data.as_ref(), is_text)) {
                actions.next();
                *self.step = format!("in turn {number}, doing {:?}", action.action);
                self.act(&id, action, index).await?;
                continue;
            }
            match data {
                Some(EventData::PermissionRequested(request)) => {
                    let Some(answer) = answers.next_permission() else {
                        bail!("the scenario has no answer left for the permission {:?}", request.action);
                    };
                    *self.step = format!("in turn {number}, answering {answer:?} to {:?}", request.action);
                    let answer = permission_answer(answer)?;
                    let client = &self.environment.client;
                    with_timeout(client.reply_permission(&id, &request.permission_id, answer)).await?;
                }
                Some(EventData::QuestionRequested(request)) => {
                    let answer =
                        answers.next_question().with_context(|| format!("cannot answer {:?}", request.prompt))?;
                    *self.step = format!("in turn {number}, answering {answer:?} to {:?}", request.prompt);
                    let client = &self.environment.client;
                    match answer {
                        Some(chosen) => {
                            with_timeout(client.reply_question(&id, &request.question_id, &chosen)).await?;
                        }
                        None => with_timeout(client.reject_question(&id, &request.question_id)).await?,
                    }
                }
                Some(EventData::TurnEnded(_)) => {
                    self.environment.model.end_turn(&turn.session);
                    return Ok(());
                }
                Some(EventData::SessionEnded(_)) => bail!("the session ended during the turn"),
                _ => {}
            }
        }
    }

    async fn act(&mut self, session: &str, action: &TriggeredAction, index: usize) -> Result<()> {
        match action.action {
            HostAction::Interrupt => with_timeout(self.environment.client.interrupt(session)).await,
            HostAction::Kill | HostAction::Terminate => self.environment.kill().await,
            HostAction::SendMessage => {
                self.messages_ahead += 1;
                let next = self
                    .environment
                    .scenario
                    .turns
                    .get(index + self.messages_ahead)
                    .context("the scenario has no next turn")?;
                with_timeout(self.environment.client.send_message(session, &MessageRequest::new(&next.prompt))).await
            }
            HostAction::CloseInput => bail!("a client of the server cannot close an agent's input"),
        }
    }
}

/// Whether an event triggers an action. `None` means that the file of the action exists; `is_text` that the event is a
/// delta of the assistant's text.
fn is_triggered(action: &TriggeredAction, event: Option<&EventData>, is_text: bool) -> bool {
    match (&action.trigger, event) {
        (Trigger::File(_), None)
        | (Trigger::Request, Some(EventData::PermissionRequested(_) | EventData::QuestionRequested(_))) => true,
        (Trigger::Text, Some(_)) => is_text,
        (Trigger::Retry, Some(EventData::ItemCompleted(completed))) => completed.item.content.iter().any(is_retry),
        _ => false,
    }
}

/// The answer to a permission request.
fn permission_answer(answer: &HostAnswer) -> Result<PermissionAnswer> {
    match answer {
        HostAnswer::Allow => Ok(PermissionAnswer::Once),
        HostAnswer::AllowAlways => Ok(PermissionAnswer::Always),
        HostAnswer::Deny(_) => Ok(PermissionAnswer::Reject),
        HostAnswer::Choose(_) | HostAnswer::Dismiss => {
            bail!("the agent requests a permission, but the scenario's answer is for a question")
        }
    }
}

/// The answers of a turn, in the order of the agent's requests.
struct Answers<'t> {
    remaining: std::slice::Iter<'t, HostAnswer>,
    /// Choices for the other questions of the same answer. The API asks them one by one.
    choices: VecDeque<Vec<String>>,
}

impl<'t> Answers<'t> {
    fn new(turn: &'t Turn) -> Self {
        Self { remaining: turn.answers.iter(), choices: VecDeque::new() }
    }

    /// The answer to a permission request; `None` if there is none left.
    fn next_permission(&mut self) -> Option<&'t HostAnswer> {
        self.remaining.next()
    }

    /// The choices for a question; `None` if the user declines to answer. A plan is a question as well.
    fn next_question(&mut self) -> Result<Option<Vec<String>>> {
        if let Some(chosen) = self.choices.pop_front() {
            return Ok(Some(chosen));
        }
        let answer = self.remaining.next().context("the scenario has no answer left")?;
        Ok(match answer {
            HostAnswer::Choose(chosen) => {
                self.choices.extend(chosen.iter().cloned());
                Some(self.choices.pop_front().context("the scenario's answer has no choices")?)
            }
            HostAnswer::Allow => Some(vec!["approve".to_owned()]),
            HostAnswer::Deny(Some(reason)) => Some(vec![reason.clone()]),
            HostAnswer::Deny(None) | HostAnswer::Dismiss => None,
            HostAnswer::AllowAlways => {
                bail!("the agent asks a question, but the scenario's answer is for a permission")
            }
        })
    }
}

fn is_retry(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Status { label: StatusLabel::Retry, .. })
}

/// Waits until the file of an action exists. Never returns if the action does not wait for a file.
async fn wait_for_file(workspace: &std::path::Path, action: Option<&TriggeredAction>) {
    let Some(TriggeredAction { trigger: Trigger::File(name), .. }) = action else {
        return std::future::pending().await;
    };
    while !workspace.join(name).exists() {
        tokio::time::sleep(FILE_POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_converted_for_permissions_and_questions() {
        assert_eq!(permission_answer(&HostAnswer::Deny(Some("No.".to_owned()))).unwrap(), PermissionAnswer::Reject);
        assert!(permission_answer(&HostAnswer::Dismiss).is_err());
        let two = HostAnswer::Choose(vec![vec!["Friday".to_owned()], vec!["Cake".to_owned()]]);
        let given = [two, HostAnswer::Allow, HostAnswer::Dismiss];
        let mut answers = Answers { remaining: given.iter(), choices: VecDeque::new() };
        let mut next = || answers.next_question();
        assert_eq!(next().unwrap(), Some(vec!["Friday".to_owned()]));
        assert_eq!(next().unwrap(), Some(vec!["Cake".to_owned()]));
        assert_eq!(next().unwrap(), Some(vec!["approve".to_owned()]));
        assert_eq!(next().unwrap(), None);
        assert!(next().is_err());
    }

    #[test]
    fn an_event_triggers_only_the_actions_that_wait_for_it() {
        let ended =
            EventData::TurnEnded(interlingua_schema::TurnEnded::new("t", interlingua_schema::TurnStatus::Completed));
        let on = |trigger| TriggeredAction { trigger, action: HostAction::Interrupt };
        assert!(is_triggered(&on(Trigger::Text), Some(&ended), true));
        assert!(!is_triggered(&on(Trigger::Text), Some(&ended), false));
        assert!(!is_triggered(&on(Trigger::Request), Some(&ended), true));
        assert!(is_triggered(&on(Trigger::File("started".to_owned())), None, false));
    }
}
