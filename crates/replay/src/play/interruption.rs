//! Turns that end because the host wants them to, where the recording has them go on.

use super::{Open, Play};
use crate::dialect::{Dialect as _, Extra, Interruption};
use crate::script::{Act, Channel, Line};

impl Play {
    /// Ends the running turn of a session before its time.
    pub(super) fn interrupted(&mut self, key: Option<String>, session: &str) -> Vec<Extra> {
        let one = !self.script.agent.descriptor().process_model.is_shared();
        let running = if one { !self.running.is_empty() } else { self.running.iter().any(|known| known == session) };
        let mut interruption =
            Interruption { key, running, session: self.session(session).to_owned(), ..Interruption::default() };
        let mut extras = Vec::new();
        if running {
            let concerns = |open: &Open| one || open.session.as_deref() == Some(session);
            let open = std::mem::take(&mut self.open);
            let (gone, kept): (Vec<Open>, Vec<Open>) = open.into_iter().partition(concerns);
            self.open = kept;
            interruption.open = gone.into_iter().map(|open| open.key).collect();
            interruption.turn = self.turn(session);
            self.running.retain(|known| !one && known != session);
            extras = self.overdue(session);
            self.strike_turn(session, &interruption.open);
        }
        let mut said = self.script.agent.interrupted(&interruption);
        said.append(&mut extras);
        said
    }

    /// What the host calls a session; where a process has only one, that one.
    fn session<'a>(&'a self, session: &'a str) -> &'a str {
        let recorded = if self.script.agent.descriptor().process_model.is_shared() {
            session
        } else {
            let mut sessions = self.script.steps.iter().filter_map(|step| match &step.act {
                Act::Say(line) => line.sense.session.as_deref(),
                _ => None,
            });
            sessions.next().unwrap_or_default()
        };
        self.ids.host(recorded)
    }

    /// The turn that a session is in.
    fn turn(&self, session: &str) -> Option<String> {
        self.script.steps[..self.cursor].iter().rev().find_map(|step| match &step.act {
            Act::Say(Line { sense, .. }) if sense.session.as_deref() == Some(session) => sense.turn.clone(),
            _ => None,
        })
    }

    /// The answers that a host gets only at the end of the turn it asked for.
    fn overdue(&mut self, session: &str) -> Vec<Extra> {
        let mut extras = Vec::new();
        for asked in 0..self.script.steps.len() {
            let Act::Hear(said) = &self.script.steps[asked].act else { continue };
            if !said.begins_turn || said.ids.first().is_none_or(|id| id != session) {
                continue;
            }
            let Some(key) = &said.key else { continue };
            let (Some(answer), Some(to)) = (self.answer_to(asked, key), self.pending.get(key)) else { continue };
            if let Act::Say(line) = &self.script.steps[answer].act {
                let status = if let Channel::Reply(status) = line.channel { status } else { 200 };
                let body = self.script.agent.readdress(&self.ids.rewrite(&line.text), to);
                extras.push(Extra::Answer { to: to.clone(), status, body });
                self.done[answer] = true;
            }
            let key = key.clone();
            self.pending.remove(&key);
        }
        extras
    }

    /// Leaves out the rest of a session's turn, and the host's part in it.
    fn strike_turn(&mut self, session: &str, open: &[String]) {
        let one = !self.script.agent.descriptor().process_model.is_shared();
        let mut asked = open.to_vec();
        let mut last = None;
        let mut struck = Vec::new();
        for step in self.cursor..self.script.steps.len() {
            match &self.script.steps[step].act {
                // Whoever asked for something else meanwhile still gets it.
                Act::Say(line) if line.sense.answers.is_some() => {}
                Act::Say(line) if one || line.sense.session.as_deref() == Some(session) => {
                    asked.extend(line.sense.asks.clone());
                    struck.push(step);
                    if line.sense.ends_turn {
                        last = Some(struck.len());
                    }
                }
                Act::Hear(said) if one || said.ids.first().is_some_and(|id| id == session) => {
                    if said.begins_turn {
                        break;
                    }
                    struck.push(step);
                }
                Act::Hear(said) if asked.iter().any(|key| said.answers(key)) => struck.push(step),
                Act::Close | Act::Exit(_) => break,
                Act::Say(_) | Act::Hear(_) => {}
            }
        }
        // What comes after the turn's end is not part of it; a turn without one goes as far as there is anything.
        for step in &struck[..last.unwrap_or(struck.len())] {
            self.done[*step] = true;
        }
    }
}
