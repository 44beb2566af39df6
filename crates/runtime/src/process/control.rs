//! Messages between server and supervisor on their socket: one JSON value per line. The agent's standard streams are
//! passed along with the first byte.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// A command of the server. The end of the connection counts as [`ControlCommand::End`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ControlCommand {
    /// Start this program, in the supervisor's environment and working directory.
    Start { program: PathBuf, args: Vec<String> },
    /// Send SIGINT to the agent.
    Interrupt,
    /// End the agent and all descendants.
    End,
}

/// A report of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The agent runs, with this process id.
    Started { pid: i32 },
    /// The agent could not be started, for this reason.
    NotStarted { reason: String },
    /// The agent has exited. A signal is a negative code.
    Exited { code: i32 },
}

/// The standard input, output and error of an agent.
pub(super) type Streams = [OwnedFd; 3];

/// The byte before the commands, with which the streams are passed.
const FIRST_BYTE: [u8; 1] = [b'\n'];

/// Passes the agent's streams to the supervisor. Must come before any command.
pub(super) fn send_streams(socket: &UnixStream, streams: &Streams) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let streams = [streams[0].as_fd(), streams[1].as_fd(), streams[2].as_fd()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&streams)) {
        return Err(io::Error::other("the agent's streams do not fit in a control message"));
    }
    sendmsg(socket, &[IoSlice::new(&FIRST_BYTE)], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// Receives the agent's streams from the server.
pub(super) fn receive_streams(socket: &UnixStream) -> io::Result<Streams> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut first = FIRST_BYTE;
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    recvmsg(socket, &mut [IoSliceMut::new(&mut first)], &mut ancillary, flags)?;
    let streams: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(streams) => Some(streams),
            _ => None,
        })
        .flatten()
        .collect();
    streams.try_into().map_err(|_| io::Error::other("the server did not pass three streams"))
}

/// Sends commands to a supervisor.
#[derive(Debug)]
pub(super) struct ControlSender(pub(super) OwnedWriteHalf);

impl ControlSender {
    pub(super) async fn start(&mut self, program: PathBuf, args: Vec<String>) -> io::Result<()> {
        write(&mut self.0, &ControlCommand::Start { program, args }).await
    }

    pub(super) async fn interrupt(&mut self) {
        self.send(&ControlCommand::Interrupt).await;
    }

    pub(super) async fn end(&mut self) {
        self.send(&ControlCommand::End).await;
    }

    async fn send(&mut self, command: &ControlCommand) {
        // If the supervisor is gone, so is the agent.
        let _ = write(&mut self.0, command).await;
    }
}

/// Receives reports of a supervisor.
#[derive(Debug)]
pub(super) struct ReportReceiver(ControlReader);

impl ReportReceiver {
    pub(super) fn new(socket: OwnedReadHalf) -> Self {
        Self(ControlReader::new(socket))
    }

    /// The next report; `None` if the supervisor is gone.
    pub(super) async fn next(&mut self) -> Option<Report> {
        self.0.next().await
    }

    /// Waits until the supervisor is gone. Returns the agent's exit code, or an error if it was not reported.
    pub(super) async fn exit_code(&mut self) -> Result<Option<i32>, ()> {
        let mut exit = Err(());
        while let Some(report) = self.next().await {
            if let Report::Exited { code } = report {
                exit = Ok(Some(code));
            }
        }
        exit
    }
}

/// Reads values from the socket.
#[derive(Debug)]
pub(super) struct ControlReader(Lines<BufReader<OwnedReadHalf>>);

impl ControlReader {
    pub(super) fn new(socket: OwnedReadHalf) -> Self {
        Self(BufReader::new(socket).lines())
    }

    /// The next value; `None` at the end of the connection, or if the value cannot be decoded. Can be cancelled.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Option<T> {
        let line = self.0.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }
}

/// Writes a value to the socket.
pub(super) async fn write<T: Serialize>(socket: &mut OwnedWriteHalf, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    socket.write_all(&line).await
}
