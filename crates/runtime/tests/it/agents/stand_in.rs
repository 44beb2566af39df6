//! A runtime whose agents are stand-ins.

use std::path::{Path, PathBuf};

use interlingua_agents::AcpProfile;
use interlingua_recordings::Transcripts;
use interlingua_replay::{Fault, ReplayOptions, run_stand_in, stand_in_environment};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{CreateSession, Environment, LaunchConfig, Supervisor, drivers, supervise};
use interlingua_schema::{EventData, UniversalEvent};
use rustix::process::Pid;
use tempfile::TempDir;

use crate::test_runtime::{TestRuntime, assert_no_violations};

/// The variable with the file to which a stand-in appends its process id and command line.
const STARTS_VARIABLE: &str = "STARTS";

/// This test program, as a supervisor.
pub(crate) fn supervisor() -> Supervisor {
    Supervisor::current_exe(["agents::stand_in::run_as_supervisor", "--exact", "--ignored"]).unwrap()
}

#[test]
#[ignore = "the other tests start this as their supervisor"]
fn run_as_supervisor() {
    supervise().unwrap();
}

/// The shell command that runs this test program as the stand-in of an agent, with the agent's arguments. The test
/// harness prints to standard output before the test runs, so the real standard output is kept as descriptor 3 until
/// then.
fn stand_in_command(agent: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let test = "agents::stand_in::run_as_stand_in --exact --ignored --nocapture --test-threads=1";
    format!("exec '{}' {test} -- {agent} \"$@\" 3>&1 1>/dev/null", program.display())
}

#[test]
#[ignore = "the other tests start this as their agent"]
fn run_as_stand_in() {
    let mut words = std::env::args().skip_while(|word| word != "--").skip(1);
    let Some(agent) = words.next() else { return };
    let output = std::fs::OpenOptions::new().append(true).open("/proc/self/fd/3").unwrap();
    rustix::stdio::dup2_stdout(&output).unwrap();
    let result = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let words: Vec<String> = words.collect();
        run_stand_in(agent.parse().unwrap(), &words).await
    });
    if let Err(error) = &result {
        eprintln!("stand-in for {agent}: {error}");
    }
    // The harness must not print that the test passed: the driver would take it for a line of the agent.
    std::process::exit(if result.is_ok() { 0 } else { 2 });
}

/// A runtime, and stand-ins that replay one recording.
pub(crate) struct StandIn {
    pub(crate) test: TestRuntime,
    agent: &'static str,
    recording: PathBuf,
    options: ReplayOptions,
    env: Vec<(String, String)>,
    config: LaunchConfig,
    /// Whether the program sets the environment of the replay itself.
    has_embedded_environment: bool,
}

impl StandIn {
    /// With stand-ins that replay a recording of an agent. Each process continues where the last one stopped.
    pub(crate) fn replaying(agent: &'static str, recording: &str) -> Self {
        let recording = Transcripts::in_repository().newest(agent, recording).unwrap();
        Self::with_programs(agent, recording.path, [(agent, agent, recording.version)])
    }

    /// With stand-ins that replay a recording of an agent that speaks the Agent Client Protocol: `version/scenario`.
    pub(crate) fn replaying_acp(agent: &'static str, recording: &str) -> Self {
        let profile = AcpProfile::from_id(agent).unwrap();
        let (version, _) = recording.split_once('/').unwrap();
        let version = version.rsplit('-').next().unwrap().to_owned();
        let recording = Transcripts::in_repository().find(&format!("acp/{recording}")).unwrap();
        Self::with_programs(agent, recording, [(profile.descriptor.program, "acp", version)])
    }

    /// With these programs: name, protocol of the stand-in, version.
    fn with_programs<const N: usize>(
        agent: &'static str,
        recording: PathBuf,
        named: [(&str, &str, String); N],
    ) -> Self {
        let folder = TempDir::new().unwrap();
        let programs = folder.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        for (name, protocol, version) in named {
            write_program(&programs.join(name), protocol, &version);
        }
        let config = LaunchConfig::new(supervisor(), folder.path()).path(&programs);
        let mut options = ReplayOptions::default();
        options.state_file = Some(folder.path().join("state"));
        let starts = folder.path().join("starts").to_str().unwrap().to_owned();
        Self {
            test: TestRuntime::in_folder(folder, drivers(&config, MockDriver::new())),
            agent,
            recording,
            options,
            env: vec![(STARTS_VARIABLE.to_owned(), starts)],
            config,
            has_embedded_environment: false,
        }
    }

    /// With a program that sets the environment of the replay itself. Sessions then need no environment, which would be
    /// lost when the server restarts.
    pub(crate) fn with_embedded_environment(mut self) -> Self {
        use std::fmt::Write as _;
        let path = self.test.folder.path().join("programs").join(self.agent);
        let script = std::fs::read_to_string(&path).unwrap();
        let mut embedded = "#!/bin/sh\n".to_owned();
        for (name, value) in self.session().env.iter() {
            writeln!(embedded, "export {name}='{value}'").unwrap();
        }
        embedded.push_str(script.strip_prefix("#!/bin/sh\n").unwrap());
        std::fs::write(&path, embedded).unwrap();
        self.has_embedded_environment = true;
        self
    }

    /// With a shell script instead of the stand-in. It must record its start as [`write_program`] does.
    pub(crate) fn with_script(self, script: &str) -> Self {
        std::fs::write(self.test.folder.path().join("programs").join(self.agent), script).unwrap();
        self
    }

    /// Shuts the runtime down and starts the next one in the same folder.
    pub(crate) async fn restart(self) -> Self {
        let TestRuntime { runtime, store, folder } = self.test;
        runtime.shutdown().await;
        drop((runtime, store));
        let test = TestRuntime::in_folder(folder, drivers(&self.config, MockDriver::new()));
        Self { test, ..self }
    }

    /// With a fault that the stand-in injects.
    pub(crate) fn with_fault(mut self, fault: &str) -> Self {
        self.options.faults.push(fault.parse::<Fault>().unwrap());
        self
    }

    /// Makes every process replay the recording from its start.
    pub(crate) fn replay_from_start(mut self) -> Self {
        self.options.state_file = None;
        self
    }

    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A session of the agent with the stand-in's environment.
    pub(crate) fn session(&self) -> CreateSession {
        let replay_env = stand_in_environment(&self.recording, &self.options);
        let replay_env = replay_env.into_iter().map(|(name, value)| (name, value.into_string().unwrap()));
        let env = replay_env.chain(self.env.iter().cloned()).filter(|_| !self.has_embedded_environment);
        let directory = self.test.folder.path().to_str().unwrap().to_owned();
        CreateSession::new(self.agent).directory(directory).env(env.collect::<Environment>())
    }

    /// Creates session "s".
    pub(crate) async fn with_session(self) -> Self {
        let create = self.session();
        self.with_session_options(create).await
    }

    /// Creates session "s" with these options.
    pub(crate) async fn with_session_options(self, create: CreateSession) -> Self {
        self.test.runtime.create("s".into(), create).await.unwrap();
        self
    }

    /// The process ids and command lines of the stand-ins that were started.
    pub(crate) fn process_starts(&self) -> Vec<(Pid, String)> {
        let text = std::fs::read_to_string(self.test.folder.path().join("starts")).unwrap_or_default();
        let start = |line: &str| {
            let (pid, words) = line.split_once(' ').unwrap();
            (Pid::from_raw(pid.parse().unwrap()).unwrap(), words.to_owned())
        };
        text.lines().map(start).collect()
    }

    /// Asserts that `count` processes were started, that none is left, and that the stream has no violations.
    pub(crate) async fn assert_processes_ended(&self, count: usize) -> Vec<UniversalEvent> {
        let starts = self.process_starts();
        assert_eq!(starts.len(), count, "{starts:#?}");
        for (pid, words) in starts {
            assert!(!is_alive(pid), "{words} still runs");
        }
        let events = self.test.events().await;
        assert_no_violations(&events);
        events
    }
}

/// Writes a program that records its start and then becomes the stand-in.
fn write_program(path: &Path, agent: &str, version: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let script = format!(
        "#!/bin/sh\nif [ \"$*\" = --version ]; then echo '{version} (a stand-in)'; exit; fi\n\
         if [ \"$*\" != --help ]; then echo \"$$ $*\" >> \"${STARTS_VARIABLE}\"; fi\n{}\n",
        stand_in_command(agent)
    );
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether a process runs. A process that has exited and was not reaped has an empty command line.
pub(crate) fn is_alive(process: Pid) -> bool {
    let command = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero()));
    command.is_ok_and(|command| !command.is_empty())
}

/// The messages of the errors among these events.
pub(crate) fn error_messages(events: &[UniversalEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::Error(error) => Some(error.message.clone()),
            _ => None,
        })
        .collect()
}
