//! Showing events to a person, who answers at the terminal what the agent asks.
//!
//! A request is asked when no further event is ready, so that what led to it is on the screen first. Events that come
//! while a prompt is open are still shown, and the prompt is repeated after them. A request that is resolved elsewhere
//! is no longer asked.

mod request;

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write as _};

use interlingua_schema::{EventData, UniversalEvent};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

pub(crate) use self::request::{Answer, Request};
use crate::printer::Printer;

/// Prints events, and asks the user for answers if there is a terminal.
pub(crate) struct Dialog {
    printer: Printer,
    asker: Option<Asker>,
    /// Whether a prompt replaces the line that the transcript would have for the request.
    is_shown_by_prompt: bool,
}

impl Dialog {
    /// A dialog that only prints.
    pub(crate) fn without_asking(printer: Printer) -> Self {
        Self { printer, asker: None, is_shown_by_prompt: false }
    }

    /// A dialog that asks if standard input and standard error are a terminal.
    pub(crate) fn at_terminal(printer: Printer) -> Self {
        let asker = (io::stdin().is_terminal() && io::stderr().is_terminal()).then(Asker::default);
        let is_shown_by_prompt = asker.is_some() && printer.is_transcript() && io::stdout().is_terminal();
        Self { printer, asker, is_shown_by_prompt }
    }

    /// Shows the id of each request, for sessions whose requests can be answered elsewhere, too.
    pub(crate) fn show_request_ids(mut self) -> Self {
        self.printer.show_request_ids();
        if let Some(asker) = &mut self.asker {
            asker.shows_ids = true;
        }
        self
    }

    /// Whether requests are asked.
    pub(crate) fn can_ask(&self) -> bool {
        self.asker.is_some()
    }

    /// Prints an event. A request is asked by [`Self::next_answer`].
    pub(crate) fn show(&mut self, event: &UniversalEvent) -> io::Result<()> {
        let Some(asker) = &mut self.asker else { return self.print(event) };
        if let Some(request) = Request::from_event(&event.data) {
            asker.open.push_back(request);
            if self.is_shown_by_prompt {
                return Ok(());
            }
        } else {
            asker.remove_resolved(&event.data)?;
        }
        self.print(event)
    }

    /// Prints an event without asking, for example a request of the past.
    pub(crate) fn print(&mut self, event: &UniversalEvent) -> io::Result<()> {
        self.printer.write(event)?;
        if let Some(asker) = &mut self.asker
            && self.printer.has_unflushed_output()
        {
            asker.end_prompt_line()?;
        }
        self.printer.flush()
    }

    /// Asks the oldest open request until the answer is clear. Waits forever if there is none. Cancel safe.
    pub(crate) async fn next_answer(&mut self) -> io::Result<Answer> {
        let Some(asker) = &mut self.asker else { return std::future::pending().await };
        let answer = asker.next_answer().await?;
        self.printer.note_request(answer.id());
        Ok(answer)
    }

    /// Notes that an answer could not be sent, so that no event resolves its request.
    pub(crate) fn drop_answer(&mut self) {
        if let Some(asker) = &mut self.asker {
            asker.answered = None;
        }
    }

    /// Stops asking: the open requests are resolved by an interrupt.
    pub(crate) fn stop_asking(&mut self) -> io::Result<()> {
        self.asker.take().map_or(Ok(()), |mut asker| asker.end_prompt_line())
    }

    /// Prints the summary at the end of a transcript.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.stop_asking()?;
        self.printer.finish()
    }
}

/// Asks open requests, one at a time.
#[derive(Default)]
struct Asker {
    /// Requests without an answer, oldest first. The first one is being asked.
    open: VecDeque<Request>,
    /// The request that was answered last, until an event resolves it. The next one is asked after that, so that the
    /// result does not interrupt its prompt.
    answered: Option<Request>,
    /// Lines from standard input. A thread reads them from the first prompt on.
    lines: Option<UnboundedReceiver<io::Result<String>>>,
    /// How much of the first request is on the screen.
    progress: Progress,
    shows_ids: bool,
}

/// How far the asking of a request has got.
#[derive(Default, PartialEq)]
enum Progress {
    /// Nothing is shown.
    #[default]
    New,
    /// Its details are shown.
    Described,
    /// The cursor is behind its prompt.
    Prompted,
}

impl Asker {
    async fn next_answer(&mut self) -> io::Result<Answer> {
        loop {
            let Some(request) = self.open.front().filter(|_| self.answered.is_none()) else {
                return std::future::pending().await;
            };
            let lines = self.lines.get_or_insert_with(spawn_line_reader);
            let mut output = io::stderr();
            if self.progress == Progress::New {
                // A line that was typed before the request was shown is no answer to it.
                while lines.try_recv().is_ok() {}
                request.describe(&mut output)?;
            }
            if self.progress != Progress::Prompted {
                request.write_prompt(self.shows_ids, &mut output)?;
                output.flush()?;
                self.progress = Progress::Prompted;
            }
            let line = lines.recv().await.transpose()?;
            match request.parse_answer(line.as_deref()) {
                Ok(answer) => {
                    if line.is_none() {
                        writeln!(output)?;
                    }
                    self.answered = self.open.pop_front();
                    self.progress = Progress::New;
                    return Ok(answer);
                }
                Err(expected) => {
                    writeln!(output, "{expected}")?;
                    self.progress = Progress::Described;
                }
            }
        }
    }

    /// Forgets the requests that an event resolves.
    fn remove_resolved(&mut self, data: &EventData) -> io::Result<()> {
        let is_resolved = |request: &Request| match data {
            EventData::PermissionResolved(permission) => request.is_permission(&permission.permission_id),
            EventData::QuestionResolved(question) => request.is_question(&question.question_id),
            EventData::SessionEnded(_) => true,
            _ => false,
        };
        if self.open.front().is_some_and(is_resolved) {
            self.end_prompt_line()?;
            self.progress = Progress::New;
        }
        self.open.retain(|request| !is_resolved(request));
        self.answered.take_if(|request| is_resolved(request));
        Ok(())
    }

    /// Ends the line of the prompt before something else is shown.
    fn end_prompt_line(&mut self) -> io::Result<()> {
        if self.progress == Progress::Prompted {
            self.progress = Progress::Described;
            writeln!(io::stderr())?;
        }
        Ok(())
    }
}

/// Reads lines from standard input on a thread of its own, because a blocking read cannot be cancelled. The channel
/// closes at the end of the input.
fn spawn_line_reader() -> UnboundedReceiver<io::Result<String>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lines() {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
