//! Telling systemd what the server does (`sd_notify(3)`), if it runs as a service of `Type=notify`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use interlingua_store::Store;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// Time that the server needs to stop after it was drained.
const STOP_TIME: Duration = Duration::from_secs(30);

/// The service manager; nothing happens without one.
#[derive(Debug, Clone, Default)]
pub(super) struct ServiceManager {
    socket: Option<OsString>,
    /// How often it expects a sign of life.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The service manager that the environment names.
    pub(super) fn from_environment() -> Self {
        let socket = env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty());
        let number = |name| env::var(name).ok()?.parse::<u64>().ok();
        let is_for_us = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|micros| is_for_us && *micros > 0).map(Duration::from_micros);
        Self { watchdog: watchdog.filter(|_| socket.is_some()), socket }
    }

    /// The server takes requests.
    pub(super) fn ready(&self, address: &str) {
        self.send(&format!("READY=1\nSTATUS=listening on {address}"));
    }

    /// The server loads its configuration again. [`ready`](Self::ready) follows.
    pub(super) fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    /// The server stops, after at most this time for the turns that run.
    pub(super) fn stopping(&self, drain: Duration) {
        let micros = (drain + STOP_TIME).as_micros();
        self.send(&format!("STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC={micros}"));
    }

    fn send(&self, state: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = send_to(socket, state) {
            tracing::warn!(%error, socket = %socket.display(), "cannot notify the service manager");
        }
    }

    /// Gives signs of life as long as the store answers, if they are expected. Does not end.
    pub(super) async fn watch(self, store: Store) {
        let Some(watchdog) = self.watchdog else { return };
        let period = watchdog / 2;
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            // A store that fails answers too. One that hangs does not, and only a restart can help.
            if timeout(period, store.probe()).await.is_ok() {
                self.send("WATCHDOG=1");
            } else {
                tracing::error!("the store does not answer; giving the service manager no sign of life");
            }
        }
    }
}

/// Sends a message to a socket: a path, or an abstract name that begins with `@`.
fn send_to(socket: &OsString, message: &str) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        return sender.send_to_addr(message.as_bytes(), &SocketAddr::from_abstract_name(name)?).map(drop);
    }
    sender.send_to_addr(message.as_bytes(), &SocketAddr::from_pathname(socket)?).map(drop)
}
