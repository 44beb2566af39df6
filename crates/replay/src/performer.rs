//! Playing a process to its end: the play, the stage and the clock together.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until, timeout};

use crate::dialect::{Dialect as _, Extra};
use crate::mouth::{Fate, Mouth, leave};
use crate::pace::{Hold, Pace};
use crate::play::{Next, Play};
use crate::script::{Act, Channel};
use crate::source::State;
use crate::stage::Incoming;
use crate::{Agent, ReplayOptions};

/// What keeps the next processes going where this one stops.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) path: PathBuf,
    pub(crate) process: usize,
}

/// Plays one process.
#[derive(Debug)]
pub(crate) struct Performer {
    agent: Agent,
    play: Play,
    mouth: Mouth,
    pace: Pace,
    incoming: UnboundedReceiver<Incoming>,
    options: ReplayOptions,
    progress: Option<Progress>,
    journal: Option<File>,
}

impl Performer {
    pub(crate) fn new(
        agent: Agent,
        play: Play,
        mouth: Mouth,
        incoming: UnboundedReceiver<Incoming>,
        options: ReplayOptions,
        progress: Option<Progress>,
    ) -> io::Result<Self> {
        let start = play.upcoming_step().filter(|_| play.progress() > 0).map_or(0, |step| step.t);
        let pace = Pace::new(&options, start)?;
        let journal = match &options.journal_file {
            Some(path) => Some(File::options().create(true).append(true).open(path)?),
            None => None,
        };
        Ok(Self { agent, play, mouth, pace, incoming, options, progress, journal })
    }

    /// Plays to the end, and leaves with the code to leave with.
    pub(crate) async fn perform(mut self) -> i32 {
        let fate = self.mouth.begin();
        if let Some(code) = self.meet(fate).await {
            return code;
        }
        loop {
            while let Ok(incoming) = self.incoming.try_recv() {
                if let Some(code) = self.take(incoming).await {
                    return code;
                }
            }
            let due = self.play.upcoming_step().filter(|step| matches!(step.act, Act::Say(_))).map(|step| step.t);
            let held = match due.map_or(Hold::Nothing, |t| self.pace.hold(t)) {
                Hold::Nothing => false,
                Hold::Until(time) => {
                    if let Some(code) = self.rest(Some(time)).await {
                        return code;
                    }
                    true
                }
                Hold::Step => {
                    if let Some(code) = self.rest(None).await {
                        return code;
                    }
                    true
                }
            };
            if held {
                continue;
            }
            let next = self.play.next();
            if let Some(code) = self.act(next).await {
                return code;
            }
        }
    }

    /// Does what is next. A code means: leave with it.
    async fn act(&mut self, next: Next) -> Option<i32> {
        match next {
            Next::Say { step, to } => self.say(step, to.as_deref()).await,
            Next::Heard { step } => {
                let t = self.play.step(step).t;
                self.pace.happened(t);
                self.note(&format!("heard step {}", self.play.step(step).number));
                if let Some(key) = self.play.host_key(step).map(str::to_owned) {
                    self.mouth.stage().heard(&key, self.play.answer_status(step));
                }
                self.keep();
                None
            }
            Next::Passed => None,
            Next::Extra(extras) => self.improvise(extras).await,
            Next::Wait { briefly } => self.wait(briefly).await,
            Next::Exit(code) => {
                self.mouth.stage().flush().await;
                self.keep();
                self.pace.tell("exit");
                Some(code.unwrap_or(0))
            }
            Next::Over if self.play.is_one_shot() || !self.play.has_input() => {
                self.mouth.stage().flush().await;
                self.pace.tell("exit");
                Some(0)
            }
            Next::Over => self.rest_at("over").await,
        }
    }

    /// Says a recorded line.
    async fn say(&mut self, step: usize, to: Option<&str>) -> Option<i32> {
        let recorded = self.play.step(step);
        let (t, number) = (recorded.t, recorded.number);
        let Act::Say(line) = &recorded.act else { return None };
        let channel = line.channel;
        let mut text = self.play.ids().rewrite(&line.text);
        if let Some(to) = to {
            text = self.agent.readdress(&text, to).into();
        }
        let fate = self.mouth.say(channel, &text, to);
        self.pace.happened(t);
        if self.options.step_socket.is_some() {
            self.mouth.stage().flush().await;
            let kind = match channel {
                Channel::Out => "recv",
                Channel::Err => "stderr",
                Channel::Reply(_) => "reply",
            };
            self.pace.said(&format!("{kind} {number}"));
        }
        self.meet(fate).await
    }

    /// Says what nobody recorded.
    async fn improvise(&mut self, extras: Vec<Extra>) -> Option<i32> {
        if extras.is_empty() {
            self.note("ignored something that the recording does not have");
        }
        for extra in extras {
            self.note(&format!("improvised {extra:?}"));
            let fate = match extra {
                Extra::Line(line) => self.mouth.say(Channel::Out, &line, None),
                Extra::Answer { to, status, body } => {
                    let channel = if self.agent == Agent::OpenCode { Channel::Reply(status) } else { Channel::Out };
                    self.mouth.say(channel, &body, Some(&to))
                }
                Extra::Death { line, code } => {
                    self.mouth.say(Channel::Err, &line, None);
                    Fate::Leave(code)
                }
            };
            if let Some(code) = self.meet(fate).await {
                return Some(code);
            }
        }
        None
    }

    /// Waits for the host; if `briefly`, not for ever.
    async fn wait(&mut self, briefly: bool) -> Option<i32> {
        if !briefly {
            return self.rest_at("waiting").await;
        }
        self.mouth.stage().flush().await;
        match timeout(self.options.host_timeout, self.incoming.recv()).await {
            Ok(Some(incoming)) => self.take(incoming).await,
            Ok(None) => self.take(Incoming::End).await,
            Err(_) => {
                self.note("the host was silent: going on");
                match self.play.give_up() {
                    Some(next) => Box::pin(self.act(next)).await,
                    None => None,
                }
            }
        }
    }

    /// Waits for the host, telling whoever asks for a line that there is none.
    async fn rest_at(&mut self, why: &str) -> Option<i32> {
        self.mouth.stage().flush().await;
        tokio::select! {
            incoming = self.incoming.recv() => self.take(incoming.unwrap_or(Incoming::End)).await,
            () = self.pace.asked() => {
                let number = self.play.upcoming_step().map_or(0, |step| step.number);
                self.pace.tell(&format!("{why} {number}"));
                None
            }
        }
    }

    /// Lets time pass, or waits to be asked; whatever the host says ends it.
    async fn rest(&mut self, until: Option<Instant>) -> Option<i32> {
        self.mouth.stage().flush().await;
        tokio::select! {
            incoming = self.incoming.recv() => self.take(incoming.unwrap_or(Incoming::End)).await,
            () = async { match until { Some(time) => sleep_until(time).await, None => std::future::pending().await } } => None,
            () = self.pace.asked() => None,
        }
    }

    /// Takes in what came from the host.
    async fn take(&mut self, incoming: Incoming) -> Option<i32> {
        match incoming {
            Incoming::Said(said) => {
                self.note(&format!("host: {}", said.what));
                self.play.hear(said);
                None
            }
            Incoming::End => {
                self.note("host: end of input");
                self.play.end_input();
                None
            }
            Incoming::Interrupted => self.signalled(130).await,
            Incoming::Terminated => self.signalled(143).await,
        }
    }

    /// Claude Code and Amp end their turn properly when they are interrupted, Amp also when it is terminated.
    async fn signalled(&mut self, code: i32) -> Option<i32> {
        let properly = match self.agent {
            Agent::Amp => true,
            Agent::Claude => code == 130,
            Agent::Codex | Agent::OpenCode => false,
        };
        if !properly {
            return Some(code);
        }
        let extras = self.play.interrupt();
        let ended = self.improvise(extras).await;
        self.mouth.stage().flush().await;
        ended.or(Some(0))
    }

    /// What a fault has in mind for the process.
    async fn meet(&mut self, fate: Fate) -> Option<i32> {
        match fate {
            Fate::GoOn => None,
            Fate::Leave(code) => {
                self.mouth.stage().flush().await;
                Some(code)
            }
            Fate::Hang { ignores_signals } => {
                self.mouth.stage().flush().await;
                loop {
                    match self.incoming.recv().await {
                        Some(Incoming::Interrupted) if !ignores_signals => return Some(130),
                        Some(Incoming::Terminated) if !ignores_signals => return Some(143),
                        Some(Incoming::Interrupted | Incoming::Terminated) => self.note("deaf to a signal"),
                        Some(Incoming::Said(_) | Incoming::End) => {}
                        None => std::future::pending().await,
                    }
                }
            }
        }
    }

    /// Keeps where the play stands for the next process. A play that cannot be kept is better over than wrong.
    fn keep(&self) {
        if let Some(Progress { path, process }) = &self.progress {
            let state = State { process: *process, step: self.play.progress(), ids: self.play.ids().clone() };
            if let Err(error) = state.advance(path) {
                eprintln!("interlingua-replay: {error}");
                leave(2);
            }
        }
    }

    fn note(&mut self, what: &str) {
        if let Some(journal) = &mut self.journal {
            // The journal is for looking on; playing matters more than writing it.
            let _ = writeln!(journal, "{what}");
        }
    }
}
