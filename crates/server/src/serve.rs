//! Running the server on a listener.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use interlingua_runtime::Runtime;
use interlingua_store::Store;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::config::{Access, ServerConfig};
use crate::router::router;

/// A connection buffers so much of what its client has not taken yet, and a request's head may be as large.
const BUFFER: usize = 16 * 1024;

/// A client has so long to send a request's head, and so long may a connection stand idle.
const IDLE: Duration = Duration::from_secs(60);

/// Requests that are under way when the server is told to stop have so long to finish.
const GRACE: Duration = Duration::from_secs(5);

/// After an `accept` that failed, as it does while there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// Why the server could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Without a token, only this machine may reach it.
    #[error(
        "without a token the server listens on loopback addresses only, and {0} is not one; give it a token, or \
         --host 127.0.0.1"
    )]
    NotLoopback(SocketAddr),
    /// The listener failed.
    #[error("cannot listen: {0}")]
    Listen(#[from] io::Error),
}

/// Serves the API on a listener until `shutdown` is done.
///
/// Then no connection is taken any more, streams of events are closed, and requests that are under way finish, though
/// not for longer than a few seconds.
///
/// # Errors
///
/// If the server is open to everybody and the listener is not bound to a loopback address.
pub async fn serve(
    listener: TcpListener,
    config: ServerConfig,
    runtime: Runtime,
    store: Store,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServerError> {
    let address = listener.local_addr()?;
    if matches!(config.access, Access::Loopback) && !address.ip().is_loopback() {
        return Err(ServerError::NotLoopback(address));
    }
    raise_file_limit();
    let (close, closing) = watch::channel(false);
    let router = router(App::new(config, runtime, store, closing));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, router.clone(), &graceful));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot take a connection");
                    sleep(PAUSE).await;
                }
            },
            // Only so that what has ended is forgotten.
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    close.send_replace(true);
    if timeout(GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests that did not finish within {GRACE:?} are cut off");
    }
    connections.shutdown().await;
    Ok(())
}

/// Every reader is an open file, and the limit that a shell sets is often a thousand.
fn raise_file_limit() {
    let limits = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits }) {
        tracing::warn!(%error, "the limit of open files stays at {:?}", limits.current);
    }
}

/// Serves one connection.
fn connection(
    stream: TcpStream,
    router: Router,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + use<> {
    // An event is worth a packet of its own.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection is gone");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let served = graceful.watch(connection);
    async move {
        if let Err(error) = served.await {
            tracing::debug!(%error, "a connection broke");
        }
    }
}
