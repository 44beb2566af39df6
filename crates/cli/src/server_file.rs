//! `server.json`: how clients on this machine find the server of a data directory.
//!
//! A running server keeps the file locked. The operating system releases the lock when the process ends, however it
//! ends, so a file that a killed server left behind is recognised without asking whether its process id is in use.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use interlingua_server::Listener;
use serde::{Deserialize, Serialize};

const FILE_NAME: &str = "server.json";

/// What the file says about a server. It never contains the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerInfo {
    /// Address of the server, such as `http://127.0.0.1:2468`.
    pub(crate) address: String,
    /// Process id of the server.
    pub(crate) pid: u32,
}

/// The file of this process's server. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct ServerFile {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl ServerFile {
    /// Writes the file, and replaces one that a killed server left behind. The caller has the data directory to itself.
    pub(crate) fn create(data_dir: &Path, address: String) -> io::Result<Self> {
        let path = data_dir.join(FILE_NAME);
        // Created with mode 0600. A reader sees the old file or the whole new one, which is locked already.
        let mut file = tempfile::Builder::new().prefix(".server-").suffix(".json").tempfile_in(data_dir)?;
        file.as_file().lock()?;
        serde_json::to_writer(&mut file, &ServerInfo { address, pid: std::process::id() })?;
        file.write_all(b"\n")?;
        let file = file.persist(&path).map_err(|error| error.error)?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for ServerFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove the address file of this server");
        }
    }
}

/// The server that runs on a data directory. `None` if none does, or it cannot be told.
pub(crate) fn find_server(data_dir: &Path) -> Option<ServerInfo> {
    let file = File::open(data_dir.join(FILE_NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => serde_json::from_reader(file).ok(),
        // A server that was killed left the file behind.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// Address under which clients on this machine reach a server.
pub(crate) fn local_address(listener: &Listener) -> io::Result<String> {
    let address = listener.to_string();
    Ok(match listener.tcp_address()? {
        Some(listening) => address.replace(&listening.to_string(), &reachable(listening).to_string()),
        None => address,
    })
}

/// An address of this machine instead of one that stands for all.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback = if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_is_private_and_lives_as_long_as_the_server() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(find_server(dir.path()), None);
        let file = ServerFile::create(dir.path(), "http://127.0.0.1:7".to_owned()).unwrap();
        let expected = ServerInfo { address: "http://127.0.0.1:7".to_owned(), pid: std::process::id() };
        assert_eq!(find_server(dir.path()), Some(expected));
        let mode = fs::metadata(dir.path().join(FILE_NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_without_a_server_is_stale_and_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        // The process id is in use, but not by a server.
        let stale = format!(r#"{{"address":"http://127.0.0.1:1","pid":{}}}"#, std::process::id());
        fs::write(dir.path().join(FILE_NAME), stale).unwrap();
        assert_eq!(find_server(dir.path()), None);
        let _file = ServerFile::create(dir.path(), "http://127.0.0.1:2".to_owned()).unwrap();
        assert_eq!(find_server(dir.path()).unwrap().address, "http://127.0.0.1:2");
    }

    #[test]
    fn clients_reach_an_unspecified_address_over_loopback() {
        for (listening, expected) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("192.0.2.1:80", "192.0.2.1:80")]
        {
            assert_eq!(reachable(listening.parse().unwrap()).to_string(), expected);
        }
    }
}
