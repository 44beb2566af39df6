//! A stage whose agents are stand-ins.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use interlingua_replay::{Fault, Options, environment, make_stand_ins};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{CreateSession, Environment, Machine, Supervisor, drivers, supervise};
use interlingua_schema::{EventData, UniversalEvent};
use rustix::process::Pid;
use tempfile::TempDir;

use crate::stage::{Stage, assert_rules};

/// The variable that tells a stand-in where to write down how it was started.
const STARTS: &str = "STARTS";

/// This very program, told to be a supervisor.
fn supervisor() -> Supervisor {
    Supervisor::this_program(["cast::supervisor_of_the_other_tests", "--exact", "--ignored"]).unwrap()
}

#[test]
#[ignore = "this is what the other tests start as their supervisor"]
fn supervisor_of_the_other_tests() {
    supervise().unwrap();
}

/// The program that plays recordings.
fn replay() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "interlingua-replay", "--bin", "interlingua-replay"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .unwrap();
        assert!(built.success(), "interlingua-replay cannot be built");
        // This program is in `target/<profile>/deps`.
        let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned();
        target.join("debug/interlingua-replay")
    })
}

/// A stage, and stand-ins that play one recording.
pub(crate) struct Cast {
    pub(crate) stage: Stage,
    agent: &'static str,
    recording: PathBuf,
    options: Options,
    env: Vec<(String, String)>,
    machine: Machine,
    /// Whether the program knows what to play by itself.
    is_baked: bool,
}

impl Cast {
    /// With stand-ins that play this recording of an agent; each process goes on where the last one stopped.
    pub(crate) fn playing(agent: &'static str, recording: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let (links, programs) = (folder.path().join("links"), folder.path().join("programs"));
        make_stand_ins(replay(), &links).unwrap();
        std::fs::create_dir(&programs).unwrap();
        write_program(&programs.join(agent), &links.join(agent), &pinned(agent));
        let machine = Machine::new(supervisor(), folder.path()).path(&programs);
        let options = Options { state: Some(folder.path().join("state")), ..Options::default() };
        let starts = folder.path().join("starts").to_str().unwrap().to_owned();
        let version = recordings(agent);
        Self {
            stage: Stage::in_folder(folder, drivers(&machine, MockDriver::new())),
            agent,
            recording: version.join(format!("{recording}.jsonl")),
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
        self.options.state = None;
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A session of the agent with the stand-in's environment.
    pub(crate) fn session(&self) -> CreateSession {
        let played = environment(&self.recording, &self.options);
        let played = played.into_iter().map(|(name, value)| (name, value.into_string().unwrap()));
        CreateSession {
            agent: self.agent.to_owned(),
            directory: Some(self.stage.folder.path().to_str().unwrap().to_owned()),
            env: played.chain(self.env.iter().cloned()).filter(|_| !self.is_baked).collect::<Environment>(),
            ..CreateSession::default()
        }
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
fn write_program(path: &Path, stand_in: &Path, version: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let script = format!(
        "#!/bin/sh\nif [ \"$*\" = --version ]; then echo '{version} (a stand-in)'; exit; fi\n\
         if [ \"$*\" != --help ]; then echo \"$$ $*\" >> \"${STARTS}\"; fi\nexec '{}' \"$@\"\n",
        stand_in.display()
    );
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn recordings(agent: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/transcripts").join(agent);
    folder.join(pinned(agent))
}

/// The newest version that was recorded.
fn pinned(agent: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/transcripts").join(agent);
    let versions = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let numbers = |version: &str| version.split('.').map_while(|part| part.parse().ok()).collect::<Vec<u64>>();
    versions.max_by_key(|version| numbers(version)).unwrap()
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
