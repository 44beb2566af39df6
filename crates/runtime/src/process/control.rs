//! What server and supervisor say to each other over their socket: one JSON value a line. The agent's standard input,
//! output and error travel with the first byte.

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

/// What the server orders. That it is gone counts as [`Order::End`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Start this program, in the supervisor's own environment and directory.
    Start { program: PathBuf, args: Vec<String> },
    /// Send the agent SIGINT.
    Interrupt,
    /// End everything.
    End,
}

/// What the supervisor reports.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The agent runs, as this process.
    Started { pid: i32 },
    /// The agent cannot be started, for this reason.
    NotStarted { reason: String },
    /// The agent is gone; a signal is a negative code.
    Exited { code: i32 },
}

/// The standard input, output and error of an agent.
pub(super) type Streams = [OwnedFd; 3];

/// What precedes the orders: something for the streams to travel with.
const FIRST_BYTE: [u8; 1] = [b'\n'];

/// Hands the agent's streams to the supervisor, before anything is ordered.
pub(super) fn send_streams(socket: &UnixStream, streams: &Streams) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let streams = [streams[0].as_fd(), streams[1].as_fd(), streams[2].as_fd()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&streams)) {
        return Err(io::Error::other("no room for the agent's streams"));
    }
    sendmsg(socket, &[IoSlice::new(&FIRST_BYTE)], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// Takes the agent's streams from the server.
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
    streams.try_into().map_err(|_| io::Error::other("the server sent no streams"))
}

/// The server's way to give orders.
#[derive(Debug)]
pub(super) struct Orders(pub(super) OwnedWriteHalf);

impl Orders {
    pub(super) async fn start(&mut self, program: PathBuf, args: Vec<String>) -> io::Result<()> {
        write(&mut self.0, &Order::Start { program, args }).await
    }

    pub(super) async fn interrupt(&mut self) {
        self.give(&Order::Interrupt).await;
    }

    pub(super) async fn end(&mut self) {
        self.give(&Order::End).await;
    }

    async fn give(&mut self, order: &Order) {
        // A supervisor that does not hear is gone, and so is the agent.
        let _ = write(&mut self.0, order).await;
    }
}

/// The server's way to hear reports.
#[derive(Debug)]
pub(super) struct Reports(Received);

impl Reports {
    pub(super) fn new(socket: OwnedReadHalf) -> Self {
        Self(Received::new(socket))
    }

    /// The next report; `None` if the supervisor is gone.
    pub(super) async fn next(&mut self) -> Option<Report> {
        self.0.next().await
    }

    /// Waits until the supervisor is gone: the agent's exit code, or an error if it did not say.
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

/// Values that come over the socket.
#[derive(Debug)]
pub(super) struct Received(Lines<BufReader<OwnedReadHalf>>);

impl Received {
    pub(super) fn new(socket: OwnedReadHalf) -> Self {
        Self(BufReader::new(socket).lines())
    }

    /// The next value; `None` if there will be no more, or what comes makes no sense. Can be cancelled.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Option<T> {
        let line = self.0.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }
}

/// Sends a value.
pub(super) async fn write<T: Serialize>(socket: &mut OwnedWriteHalf, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    socket.write_all(&line).await
}
