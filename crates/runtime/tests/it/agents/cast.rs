//! A stage whose agents are stand-ins.

use std::path::{Path, PathBuf};

use interlingua_recordings::Transcripts;
use interlingua_replay::{Fault, ReplayOptions, run_stand_in, stand_in_environment};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{CreateSession, Environment, LaunchConfig, Supervisor, drivers, supervise};
use interlingua_schema::{EventData, UniversalEvent};
use rustix::process::Pid;
use tempfile::TempDir;

use crate::stage::{Stage, assert_rules};

/// The variable that tells a stand-in where to write down how it was started.
const STARTS: &str = "STARTS";

/// This very program, told to be a supervisor.
fn supervisor() -> Supervisor {
    Supervisor::current_exe(["agents::cast::supervisor_of_the_other_tests", "--exact", "--ignored"]).unwrap()
}

#[test]
#[ignore = "this is what the other tests start as their supervisor"]
fn supervisor_of_the_other_tests() {
    supervise().unwrap();
}

/// This very program, told to be the stand-in of an agent; its words follow. The test harness talks on standard output
/// before the test runs, so the real one is kept as descriptor 3 until then.
fn stand_in_command(agent: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let test = "agents::cast::stand_in_of_the_other_tests --exact --ignored --nocapture --test-threads=1";
    format!("exec '{}' {test} -- {agent} \"$@\" 3>&1 1>/dev/null", program.display())
}

#[test]
#[ignore = "this is what the other tests start as their agent"]
fn stand_in_of_the_other_tests() {
    let mut words = std::env::args().skip_while(|word| word != "--").skip(1);
    let Some(agent) = words.next() else { return };
    let output = std::fs::OpenOptions::new().append(true).open("/proc/self/fd/3").unwrap();
    rustix::stdio::dup2_stdout(&output).unwrap();
    let played = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let words: Vec<String> = words.collect();
        run_stand_in(agent.parse().unwrap(), &words).await
    });
    if let Err(error) = &played {
        eprintln!("stand-in for {agent}: {error}");
    }
    // The harness must not say that the test passed: nobody would understand it.
    std::process::exit(if played.is_ok() { 0 } else { 2 });
}

/// A stage, and stand-ins that play one recording.
pub(crate) struct Cast {
    pub(crate) stage: Stage,
    agent: &'static str,
    recording: PathBuf,
    options: ReplayOptions,
    env: Vec<(String, String)>,
    machine: LaunchConfig,
    /// Whether the program knows what to play by itself.
    is_baked: bool,
}

impl Cast {
    /// With stand-ins that play this recording of an agent; each process goes on where the last one stopped.
    pub(crate) fn playing(agent: &'static str, recording: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let programs = folder.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        write_program(&programs.join(agent), agent, &pinned(agent));
        let machine = LaunchConfig::new(supervisor(), folder.path()).path(&programs);
        let mut options = ReplayOptions::default();
        options.state_file = Some(folder.path().join("state"));
        let starts = folder.path().join("starts").to_str().unwrap().to_owned();
        Self {
            stage: Stage::in_folder(folder, drivers(&machine, MockDriver::new())),
            agent,
            recording: self::recording(agent, recording),
            options,
            env: vec![(STARTS.to_owned(), starts)],
            machine,
            is_baked: false,
        }
    }

    /// With a program that knows by itself what to play, so that sessions need no environment, which would be lost when
    /// the server is restarted.
    pub(crate) fn baked(mut self) -> Self {
        use std::fmt::Write as _;
        let path = self.stage.folder.path().join("programs").join(self.agent);
        let script = std::fs::read_to_string(&path).unwrap();
        let mut baked = "#!/bin/sh\n".to_owned();
        for (name, value) in self.session().env.iter() {
            writeln!(baked, "export {name}='{value}'").unwrap();
        }
        baked.push_str(script.strip_prefix("#!/bin/sh\n").unwrap());
        std::fs::write(&path, baked).unwrap();
        self.is_baked = true;
        self
    }

    /// With a shell script instead of the stand-in. It has to write down its start as [`write_program`] does.
    pub(crate) fn scripted(self, script: &str) -> Self {
        std::fs::write(self.stage.folder.path().join("programs").join(self.agent), script).unwrap();
        self
    }

    /// The next server, in the same place.
    pub(crate) async fn restarted(self) -> Self {
        let Stage { runtime, store, folder } = self.stage;
        runtime.shutdown().await;
        drop((runtime, store));
        let stage = Stage::in_folder(folder, drivers(&self.machine, MockDriver::new()));
        Self { stage, ..self }
    }

    /// With something that goes wrong.
    pub(crate) fn fault(mut self, fault: &str) -> Self {
        self.options.faults.push(fault.parse::<Fault>().unwrap());
        self
    }

    /// With a recording that every process plays from the start.
    pub(crate) fn always_from_the_start(mut self) -> Self {
        self.options.state_file = None;
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A session of the agent with the stand-in's environment.
    pub(crate) fn session(&self) -> CreateSession {
        let played = stand_in_environment(&self.recording, &self.options);
        let played = played.into_iter().map(|(name, value)| (name, value.into_string().unwrap()));
        CreateSession::new(self.agent)
            .directory(self.stage.folder.path().to_str().unwrap().to_owned())
            .env(played.chain(self.env.iter().cloned()).filter(|_| !self.is_baked).collect::<Environment>())
    }

    /// Creates session "s".
    pub(crate) async fn created(self) -> Self {
        let create = self.session();
        self.created_as(create).await
    }

    /// Creates session "s" like this.
    pub(crate) async fn created_as(self, create: CreateSession) -> Self {
        self.stage.runtime.create("s".into(), create).await.unwrap();
        self
    }

    /// How the stand-ins were started: their processes and command lines.
    pub(crate) fn starts(&self) -> Vec<(Pid, String)> {
        let text = std::fs::read_to_string(self.stage.folder.path().join("starts")).unwrap_or_default();
        let start = |line: &str| {
            let (pid, words) = line.split_once(' ').unwrap();
            (Pid::from_raw(pid.parse().unwrap()).unwrap(), words.to_owned())
        };
        text.lines().map(start).collect()
    }

    /// Asserts that of `count` processes that were started none is left, and that the stream keeps every rule.
    pub(crate) async fn assert_over(&self, count: usize) -> Vec<UniversalEvent> {
        let starts = self.starts();
        assert_eq!(starts.len(), count, "{starts:#?}");
        for (pid, words) in starts {
            assert!(!is_alive(pid), "{words} is still there");
        }
        let events = self.stage.events().await;
        assert_rules(&events);
        events
    }
}

/// A program that writes down how it was started, and becomes the stand-in.
fn write_program(path: &Path, agent: &str, version: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let script = format!(
        "#!/bin/sh\nif [ \"$*\" = --version ]; then echo '{version} (a stand-in)'; exit; fi\n\
         if [ \"$*\" != --help ]; then echo \"$$ $*\" >> \"${STARTS}\"; fi\n{}\n",
        stand_in_command(agent)
    );
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A recording of the newest version.
fn recording(agent: &str, scenario: &str) -> PathBuf {
    Transcripts::in_repository().find(&format!("{agent}/{}/{scenario}", pinned(agent))).unwrap()
}

/// The newest version that was recorded.
fn pinned(agent: &str) -> String {
    Transcripts::in_repository().newest_version(agent).unwrap()
}

/// Whether a process runs. Of one that is dead but was not noticed yet, the system still knows an empty command.
fn is_alive(process: Pid) -> bool {
    let command = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero()));
    command.is_ok_and(|command| !command.is_empty())
}

/// What the failures among these events say.
pub(crate) fn failures(events: &[UniversalEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::Error(error) => Some(error.message.clone()),
            _ => None,
        })
        .collect()
}
