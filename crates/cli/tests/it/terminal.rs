//! Commands at a terminal: `run`, `sessions tail` and `sessions send --follow` ask what the agent asks.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::sessions::Server;

/// How long a text may take to appear, or a command to end, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A command that runs at a pseudo-terminal.
struct Terminal {
    process: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    screen: String,
    /// Length of the part of the screen that was waited for.
    seen: usize,
}

impl Terminal {
    fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
        let slave = rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let stdio = || Stdio::from(slave.try_clone().unwrap());
        command.env("NO_COLOR", "1").stdin(stdio()).stdout(stdio()).stderr(stdio());
        let process = command.spawn().unwrap();
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading fails when the command has ended.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { process, keyboard, output, screen: String::new(), seen: 0 }
    }

    fn run(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(arguments);
        Self::start(command)
    }

    /// Waits until a text appears behind the last one.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(start) = self.screen[self.seen..].find(text) {
                self.seen += start + text.len();
                return;
            }
            let Ok(bytes) = self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
                panic!("`{text}` did not appear: {}", self.screen)
            };
            self.screen.push_str(&String::from_utf8_lossy(&bytes).replace('\r', ""));
        }
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").unwrap();
    }

    /// What Ctrl-C sends to the command.
    fn interrupt(&self) {
        let sent = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end of the command. Returns its exit code and what was shown.
    fn finish(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + TIMEOUT;
        while let Ok(bytes) = self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.screen.push_str(&String::from_utf8_lossy(&bytes).replace('\r', ""));
        }
        if self.process.try_wait().unwrap().is_none() && Instant::now() >= deadline {
            self.process.kill().unwrap();
            panic!("the command does not end: {}", self.screen);
        }
        (self.process.wait().unwrap().code(), self.screen)
    }
}

#[test]
fn run_asks_each_request_once_until_the_answer_is_clear() {
    let mut terminal = Terminal::run(&["run", "mock", "permission"]);
    terminal.wait_for("The mock agent asks before it runs a command.\n");
    terminal.wait_for("Run make test? [y]es, [a]lways, [n]o: ");
    terminal.type_line("maybe");
    terminal.wait_for("Expected one of [y]es, [a]lways, [n]o.\n");
    terminal.wait_for("Run make test? [y]es, [a]lways, [n]o: ");
    terminal.type_line("y");
    // The change is shown before it is asked for.
    terminal.wait_for("+2\n");
    terminal.wait_for("Edit version.txt? [y]es, [a]lways, [n]o: ");
    terminal.type_line("n");
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("Edit version.txt?").count(), 1, "{screen}");
    assert!(!screen.contains("? allow"), "{screen}");
}

#[test]
fn a_choice_that_does_not_exist_is_asked_again() {
    let mut terminal = Terminal::run(&["run", "mock", "question"]);
    terminal.wait_for("Which database?\n  1. SQLite");
    terminal.wait_for("leave empty to reject: ");
    terminal.type_line("7");
    terminal.wait_for("Expected: ");
    terminal.type_line("2");
    terminal.wait_for("Which features?\n");
    terminal.wait_for("leave empty to reject: ");
    terminal.type_line("1,3");
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("→ Postgres") && screen.contains("→ Login, Search"), "{screen}");
}

#[test]
fn ctrl_c_ends_the_turn_with_two_open_requests() {
    let mut terminal = Terminal::run(&["run", "mock", "permission"]);
    terminal.wait_for("[n]o: ");
    let started = Instant::now();
    terminal.interrupt();
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(1), "{screen}");
    assert!(
        screen.contains("✗ denied: Run make test\n") && screen.contains("✗ denied: Edit version.txt\n"),
        "{screen}"
    );
    assert!(screen.contains("interrupted"), "{screen}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn a_followed_session_shows_request_ids_and_is_answered_in_place() {
    let server = Server::start();
    server.ok(&["create", "s", "--agent", "mock"]);
    let mut terminal = Terminal::start(server.command(&["send", "s", "permission", "--follow"]));
    terminal.wait_for("] Run make test? [y]es, [a]lways, [n]o: ");
    let id = terminal.screen.rsplit_once(']').unwrap().0.rsplit_once("] Run").unwrap().0;
    let id = id.rsplit_once('[').unwrap().1.to_owned();
    // Another client answers: the request is not asked any more.
    server.ok(&["reply-permission", "s", &id, "once"]);
    terminal.wait_for("✓ approved");
    terminal.wait_for("] Edit version.txt? [y]es, [a]lways, [n]o: ");

    // The request that is still open is asked again by another command, the other one is not.
    let list = server.ok(&["list"]);
    assert!(list.contains("WAITS FOR") && list.contains("Edit version.txt"), "{list}");
    let mut tail = Terminal::start(server.command(&["tail", "s"]));
    tail.wait_for(&format!("? allow: Run make test [{id}]\n"));
    tail.wait_for("] Edit version.txt? [y]es, [a]lways, [n]o: ");
    tail.type_line("y");
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    server.ok(&["terminate", "s"]);
    let (code, screen) = tail.finish();
    assert_eq!((code, screen.matches("Run make test?").count()), (Some(0), 0), "{screen}");
}
