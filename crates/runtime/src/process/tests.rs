//! Processes start, communicate and exit, and no descendant is left.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};

use interlingua_convert::Input;

use super::{Process, Program, StartError, Supervisor};

/// This test program, as a supervisor.
fn supervisor() -> Supervisor {
    Supervisor::current_exe(["process::tests::run_as_supervisor", "--exact", "--ignored"]).unwrap()
}

#[test]
#[ignore = "the other tests start this as their supervisor"]
fn run_as_supervisor() {
    super::supervise().unwrap();
}

fn program(script: &str) -> Program {
    Program {
        path: "/bin/sh".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("GIVEN".into(), "yes".into())],
        directory: "/".into(),
    }
}

async fn start(script: &str) -> Process {
    supervisor().start(program(script)).await.unwrap()
}

async fn read_line(process: &mut Process) -> String {
    match timeout(Duration::from_secs(20), process.next()).await.expect("the process printed nothing") {
        Input::Received(line) => line,
        output => panic!("expected a line, found {output:?}"),
    }
}

/// All inputs up to the exit.
async fn read_to_exit(process: &mut Process) -> Vec<Input> {
    let mut inputs = Vec::new();
    loop {
        let input = timeout(Duration::from_secs(20), process.next()).await.expect("the process did not exit");
        let is_exit = matches!(input, Input::Exit { .. });
        inputs.push(input);
        if is_exit {
            return inputs;
        }
    }
}

fn pid(text: &str) -> Pid {
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

/// Whether a process runs. A process that has exited and was not reaped has an empty command line.
fn is_alive(process: Pid) -> bool {
    let command = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero()));
    command.is_ok_and(|command| !command.is_empty())
}

/// Waits for the exit of a process that is not our child. No event reports it, so this polls.
async fn wait_until_gone(process: Pid) {
    let ended = async {
        while is_alive(process) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), ended).await.expect("the process was not killed");
}

#[tokio::test]
async fn lines_go_both_ways_and_the_exit_comes_last() {
    let mut process = start("read x; echo \"got $x\"; echo oops >&2; exit 3").await;
    process.send("this");
    let inputs = format!("{:?}", read_to_exit(&mut process).await);
    assert!(inputs.contains(r#"Received("got this")"#) && inputs.contains(r#"Stderr("oops")"#), "{inputs}");
    assert!(inputs.ends_with("Exit { code: Some(3) }]"), "{inputs}");
    assert!(matches!(process.next().await, Input::Exit { code: Some(3) }), "the exit was not repeated");
}

#[tokio::test]
async fn the_process_gets_the_given_environment_and_nothing_else() {
    let mut process = start("env; exit 0").await;
    let inputs = format!("{:?}", read_to_exit(&mut process).await);
    assert!(inputs.contains("GIVEN=yes"), "{inputs}");
    assert!(!inputs.contains("CARGO"), "{inputs}");
}

#[tokio::test]
async fn a_signal_is_a_negative_code() {
    let mut process = start("kill -KILL $$").await;
    assert!(matches!(read_to_exit(&mut process).await.last(), Some(Input::Exit { code: Some(-9) })));
}

#[tokio::test]
async fn an_interrupt_reaches_the_agent() {
    let mut process = start("trap 'echo stopped; exit 0' INT; echo ready; while :; do sleep 0.01; done").await;
    assert_eq!(read_line(&mut process).await, "ready");
    process.interrupt().await;
    assert_eq!(read_line(&mut process).await, "stopped");
    assert!(matches!(read_to_exit(&mut process).await.last(), Some(Input::Exit { code: Some(0) })));
}

#[tokio::test]
async fn stdin_is_closed_after_the_queued_lines() {
    let mut process = start("cat").await;
    let long = "x".repeat(1 << 20);
    process.send(&long);
    process.close_stdin();
    assert_eq!(read_line(&mut process).await, long);
    assert!(matches!(read_to_exit(&mut process).await.last(), Some(Input::Exit { code: Some(0) })));
}

/// A descendant that ignores SIGTERM, in its own session, whose parent exits.
const IGNORES_SIGTERM: &str =
    "setsid sh -c 'trap \"\" TERM; echo $$; exec 1>&-; while :; do sleep 0.05; done' & exec sleep 60";

#[tokio::test]
async fn dropping_a_process_kills_all_descendants() {
    let mut process = start(IGNORES_SIGTERM).await;
    let stubborn = pid(&read_line(&mut process).await);
    drop(process);
    wait_until_gone(stubborn).await;
}

#[tokio::test]
async fn all_descendants_are_gone_when_a_terminated_process_reports_its_exit() {
    let mut process = start(IGNORES_SIGTERM).await;
    let stubborn = pid(&read_line(&mut process).await);
    process.terminate().await;
    assert!(matches!(read_to_exit(&mut process).await.as_slice(), [Input::Exit { code: Some(-15) }]));
    assert!(!is_alive(stubborn), "a descendant is alive");
}

#[tokio::test]
async fn descendants_of_an_exited_agent_are_killed() {
    let mut process = start("sleep 60 & echo $!; exit 0").await;
    let left = pid(&read_line(&mut process).await);
    assert!(matches!(read_to_exit(&mut process).await.as_slice(), [Input::Exit { code: Some(0) }]));
    assert!(!is_alive(left), "a descendant is alive");
}

#[tokio::test]
async fn sigterm_to_the_supervisor_ends_the_agent() {
    let mut process = start("echo $PPID; exec sleep 60").await;
    let supervisor = pid(&read_line(&mut process).await);
    kill_process(supervisor, Signal::TERM).unwrap();
    assert!(matches!(read_to_exit(&mut process).await.as_slice(), [Input::Exit { code: Some(-15) }]));
}

#[tokio::test]
async fn killing_the_supervisor_kills_the_agent() {
    let mut process = start("echo $PPID; echo $$; sleep 60 & exec sleep 60").await;
    let (supervisor, agent) = (pid(&read_line(&mut process).await), pid(&read_line(&mut process).await));
    kill_process(supervisor, Signal::KILL).unwrap();
    assert!(matches!(read_to_exit(&mut process).await.as_slice(), [Input::Exit { code: None }]));
    wait_until_gone(agent).await;
}

#[tokio::test]
async fn the_error_names_a_missing_program_or_directory() {
    let start =
        |program| async { supervisor().start(program).await.map(drop).map_err(|error: StartError| error.to_string()) };
    let missing = start(Program { path: "/no/such/agent".into(), ..program("") }).await.unwrap_err();
    assert!(missing.starts_with("cannot start /no/such/agent: No such file"), "{missing}");
    let homeless = start(Program { directory: "/no/such/folder".into(), ..program("") }).await.unwrap_err();
    assert!(homeless.contains("/no/such/folder does not exist"), "{homeless}");
}

#[tokio::test]
async fn the_error_names_a_program_that_is_not_a_supervisor() {
    let no_supervisor = Supervisor::new("/bin/false", [""; 0]);
    let error = no_supervisor.start(program("")).await.map(drop).unwrap_err().to_string();
    assert!(error.contains("supervisor /bin/false failed"), "{error}");
}
