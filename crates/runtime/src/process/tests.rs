//! Processes come and go, and nothing of them stays.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};

use interlingua_convert::Input;

use super::{Process, Program, StartError, Supervisor};

/// This very program, told to be a supervisor.
fn supervisor() -> Supervisor {
    Supervisor::current_exe(["process::tests::supervisor_of_the_other_tests", "--exact", "--ignored"]).unwrap()
}

#[test]
#[ignore = "this is what the other tests start as their supervisor"]
fn supervisor_of_the_other_tests() {
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

async fn line(process: &mut Process) -> String {
    match timeout(Duration::from_secs(20), process.next()).await.expect("it says something") {
        Input::Received(line) => line,
        output => panic!("expected a line, found {output:?}"),
    }
}

/// All that it says until it is gone.
async fn rest(process: &mut Process) -> Vec<Input> {
    let mut said = Vec::new();
    loop {
        let output = timeout(Duration::from_secs(20), process.next()).await.expect("it ends");
        let is_exit = matches!(output, Input::Exit { .. });
        said.push(output);
        if is_exit {
            return said;
        }
    }
}

fn pid(text: &str) -> Pid {
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

/// Whether a process runs. Of one that is dead but was not noticed yet, the system still knows an empty command.
fn is_alive(process: Pid) -> bool {
    let command = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero()));
    command.is_ok_and(|command| !command.is_empty())
}

/// Waits until a process that is nobody's child here has ended, which nothing tells us.
async fn gone(process: Pid) {
    let ended = async {
        while is_alive(process) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), ended).await.expect("it is ended");
}

#[tokio::test]
async fn lines_go_both_ways_and_the_code_comes_last() {
    let mut process = start("read x; echo \"got $x\"; echo oops >&2; exit 3").await;
    process.send("this");
    let said = format!("{:?}", rest(&mut process).await);
    assert!(said.contains(r#"Received("got this")"#) && said.contains(r#"Stderr("oops")"#), "{said}");
    assert!(said.ends_with("Exit { code: Some(3) }]"), "{said}");
    assert!(matches!(process.next().await, Input::Exit { code: Some(3) }), "it stays gone");
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_nothing_else() {
    let mut process = start("env; exit 0").await;
    let said = format!("{:?}", rest(&mut process).await);
    assert!(said.contains("GIVEN=yes"), "{said}");
    assert!(!said.contains("CARGO"), "{said}");
}

#[tokio::test]
async fn a_signal_is_a_negative_code() {
    let mut process = start("kill -KILL $$").await;
    assert!(matches!(rest(&mut process).await.last(), Some(Input::Exit { code: Some(-9) })));
}

#[tokio::test]
async fn an_interrupt_reaches_the_agent() {
    let mut process = start("trap 'echo stopped; exit 0' INT; echo ready; while :; do sleep 0.01; done").await;
    assert_eq!(line(&mut process).await, "ready");
    process.interrupt().await;
    assert_eq!(line(&mut process).await, "stopped");
    assert!(matches!(rest(&mut process).await.last(), Some(Input::Exit { code: Some(0) })));
}

#[tokio::test]
async fn input_ends_after_what_was_queued() {
    let mut process = start("cat").await;
    let long = "x".repeat(1 << 20);
    process.send(&long);
    process.close_input();
    assert_eq!(line(&mut process).await, long);
    assert!(matches!(rest(&mut process).await.last(), Some(Input::Exit { code: Some(0) })));
}

/// Something that heeds no SIGTERM, in a session of its own, whose parent is gone.
const STUBBORN: &str =
    "setsid sh -c 'trap \"\" TERM; echo $$; exec 1>&-; while :; do sleep 0.05; done' & exec sleep 60";

#[tokio::test]
async fn dropped_it_is_ended_with_everything_that_it_started() {
    let mut process = start(STUBBORN).await;
    let stubborn = pid(&line(&mut process).await);
    drop(process);
    gone(stubborn).await;
}

#[tokio::test]
async fn ended_it_is_gone_when_it_says_so() {
    let mut process = start(STUBBORN).await;
    let stubborn = pid(&line(&mut process).await);
    process.end().await;
    assert!(matches!(rest(&mut process).await.as_slice(), [Input::Exit { code: Some(-15) }]));
    assert!(!is_alive(stubborn), "nothing is left");
}

#[tokio::test]
async fn what_an_agent_leaves_behind_is_ended() {
    let mut process = start("sleep 60 & echo $!; exit 0").await;
    let left = pid(&line(&mut process).await);
    assert!(matches!(rest(&mut process).await.as_slice(), [Input::Exit { code: Some(0) }]));
    assert!(!is_alive(left), "nothing is left");
}

#[tokio::test]
async fn a_supervisor_that_is_asked_to_stop_ends_the_agent() {
    let mut process = start("echo $PPID; exec sleep 60").await;
    let supervisor = pid(&line(&mut process).await);
    kill_process(supervisor, Signal::TERM).unwrap();
    assert!(matches!(rest(&mut process).await.as_slice(), [Input::Exit { code: Some(-15) }]));
}

#[tokio::test]
async fn a_supervisor_that_is_killed_does_not_save_the_agent() {
    let mut process = start("echo $PPID; echo $$; sleep 60 & exec sleep 60").await;
    let (supervisor, agent) = (pid(&line(&mut process).await), pid(&line(&mut process).await));
    kill_process(supervisor, Signal::KILL).unwrap();
    assert!(matches!(rest(&mut process).await.as_slice(), [Input::Exit { code: None }]));
    gone(agent).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let start =
        |program| async { supervisor().start(program).await.map(drop).map_err(|error: StartError| error.to_string()) };
    let missing = start(Program { path: "/no/such/agent".into(), ..program("") }).await.unwrap_err();
    assert!(missing.starts_with("/no/such/agent cannot be started: No such file"), "{missing}");
    let homeless = start(Program { directory: "/no/such/folder".into(), ..program("") }).await.unwrap_err();
    assert!(homeless.contains("/no/such/folder is gone"), "{homeless}");
}

#[tokio::test]
async fn a_supervisor_that_is_none_is_named() {
    let no_supervisor = Supervisor::new("/bin/false", [""; 0]);
    let error = no_supervisor.start(program("")).await.map(drop).unwrap_err().to_string();
    assert!(error.contains("/bin/false does not supervise"), "{error}");
}
