//! Sockets that the server accepts connections on.

use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use rustix::fs::Mode;
use rustix::process::umask;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::tls::TlsIdentity;

/// Permissions that others do not get for a Unix socket: only its owner can connect.
const SOCKET_MASK: Mode = Mode::from_raw_mode(0o177);

/// A socket that the server accepts connections on.
#[derive(Debug)]
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Tcp { listener: TcpListener, tls: Option<TlsIdentity> },
    Unix(UnixSocket),
}

/// A Unix socket. Its file is removed when this is dropped.
#[derive(Debug)]
struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file.
    file: (u64, u64),
}

/// Why a Unix socket cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenerError {
    /// Another server listens on it.
    #[error("another server listens on {}; stop it, or choose another path", path.display())]
    InUse {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The path is that of another file.
    #[error("{} exists and is not a socket; remove it, or choose another path", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The socket cannot be created.
    #[error("cannot listen on {}: {source}", path.display())]
    Io {
        /// Path of the socket.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A connection that was accepted.
#[derive(Debug)]
pub(crate) enum Accepted {
    Tcp { stream: TcpStream, tls: Option<TlsIdentity> },
    Unix(UnixStream),
}

impl Listener {
    /// A TCP socket.
    #[must_use]
    pub const fn tcp(listener: TcpListener) -> Self {
        Self(Kind::Tcp { listener, tls: None })
    }

    /// A TCP socket on which clients speak TLS.
    #[must_use]
    pub const fn tls(listener: TcpListener, identity: TlsIdentity) -> Self {
        Self(Kind::Tcp { listener, tls: Some(identity) })
    }

    /// Creates a Unix socket to which only the current user can connect. Replaces one that a dead server left behind.
    ///
    /// Must be called inside a tokio runtime, before other threads create files: the permissions of new files are
    /// restricted for a moment.
    ///
    /// # Errors
    ///
    /// If another server listens on it, or it cannot be created.
    pub fn unix(path: &Path) -> Result<Self, ListenerError> {
        let failed = |source| ListenerError::Io { path: path.to_owned(), source };
        remove_left_socket(path)?;
        let mask = umask(SOCKET_MASK);
        let bound = UnixListener::bind(path);
        umask(mask);
        let listener = bound.map_err(failed)?;
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        let file = (metadata.dev(), metadata.ino());
        Ok(Self(Kind::Unix(UnixSocket { listener, path: path.to_owned(), file })))
    }

    /// Address of a TCP socket; `None` for a Unix socket.
    ///
    /// # Errors
    ///
    /// If the socket has no address any more.
    pub fn tcp_address(&self) -> io::Result<Option<SocketAddr>> {
        match &self.0 {
            Kind::Tcp { listener, .. } => listener.local_addr().map(Some),
            Kind::Unix(_) => Ok(None),
        }
    }

    /// Path of a Unix socket.
    #[must_use]
    pub fn unix_path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Tcp { .. } => None,
            Kind::Unix(socket) => Some(&socket.path),
        }
    }

    /// The certificate with which clients are answered, if they speak TLS.
    pub(crate) fn tls_identity(&self) -> Option<&TlsIdentity> {
        match &self.0 {
            Kind::Tcp { tls, .. } => tls.as_ref(),
            Kind::Unix(_) => None,
        }
    }

    pub(crate) fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        match &self.0 {
            Kind::Tcp { listener, tls } => {
                listener.poll_accept(context).map_ok(|(stream, _)| Accepted::Tcp { stream, tls: tls.clone() })
            }
            Kind::Unix(socket) => socket.listener.poll_accept(context).map_ok(|(stream, _)| Accepted::Unix(stream)),
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::tcp(listener)
    }
}

/// The address for clients: `http://127.0.0.1:2468`, `https://…` or `unix:/run/interlingua.sock`.
impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Tcp { listener, tls } => {
                let scheme = if tls.is_some() { "https" } else { "http" };
                match listener.local_addr() {
                    Ok(address) => write!(f, "{scheme}://{address}"),
                    Err(_) => f.write_str("a closed socket"),
                }
            }
            Kind::Unix(socket) => write!(f, "unix:{}", socket.path.display()),
        }
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let is_ours =
            fs::symlink_metadata(&self.path).is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.file);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove the socket of this server");
        }
    }
}

/// Removes a socket without a listener.
fn remove_left_socket(path: &Path) -> Result<(), ListenerError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(ListenerError::Io { path: path.to_owned(), source }),
    };
    if !metadata.file_type().is_socket() {
        return Err(ListenerError::NotASocket { path: path.to_owned() });
    }
    match StdUnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|source| ListenerError::Io { path: path.to_owned(), source })
        }
        // It answers, or belongs to a server that we may not ask.
        _ => Err(ListenerError::InUse { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn a_unix_socket_is_private_and_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let listener = Listener::unix(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(listener.to_string(), format!("unix:{}", path.display()));
        assert!(matches!(Listener::unix(&path), Err(ListenerError::InUse { .. })));
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_that_a_dead_server_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let listener = Listener::unix(&path).unwrap();
        // A server that was started since has the path now.
        fs::remove_file(&path).unwrap();
        let _next = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(listener);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn another_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        fs::write(&path, "keep").unwrap();
        assert!(matches!(Listener::unix(&path), Err(ListenerError::NotASocket { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "keep");
        let missing = folder.path().join("missing/s.sock");
        assert!(matches!(Listener::unix(&missing), Err(ListenerError::Io { .. })));
    }
}
