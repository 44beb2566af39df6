//! Running the server on a listener.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use interlingua_runtime::Runtime;
use interlingua_store::Store;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::config::ServerConfig;
use crate::peer::{PeerCheck, refusal_router};
use crate::problem::{Problem, ProblemKind};
use crate::router::{router, with_request_layers};

/// Size of a connection's write buffer, and maximum size of a request head.
const CONNECTION_BUFFER_BYTES: usize = 16 * 1024;

/// Time for a client to send a request head, which is also the time that a connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of open connections. Further ones are told to come back later.
const MAX_CONNECTIONS: usize = 4096;

/// Maximum number of connections that are told to come back later. No more are accepted until one of them ends.
const MAX_REFUSED_CONNECTIONS: usize = 64;

/// Time for running requests to finish after the shutdown started.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Delay after a failed `accept`, which fails for example while there are no free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Why the server could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A server without a token must listen on a loopback address.
    #[error(
        "refusing to listen on {0} without a token, because other machines could use the server; set a token, or use \
         a loopback address with --host 127.0.0.1"
    )]
    NotLoopback(SocketAddr),
    /// The listener failed.
    #[error("the listening socket failed")]
    Listen(#[from] io::Error),
}

/// Serves the API on a listener until `shutdown` completes.
///
/// It then accepts no more connections, closes event streams, and gives running requests a few seconds to finish.
///
/// # Errors
///
/// If the server has no token and the listener is not bound to a loopback address.
pub async fn serve(
    listener: TcpListener,
    config: ServerConfig,
    runtime: Runtime,
    store: Store,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServerError> {
    config.check_address(listener.local_addr()?)?;
    raise_file_limit();
    let (close, closing) = watch::channel(false);
    let app = App::new(config, runtime, store, closing);
    let overloaded = with_request_layers(app.clone(), Router::new().fallback(too_many_connections));
    let router = router(app.clone());
    let peers = PeerCheck::default();
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS + MAX_REFUSED_CONNECTIONS => match accepted {
                Ok((stream, _)) if connections.len() >= MAX_CONNECTIONS => {
                    tracing::warn!(limit = MAX_CONNECTIONS, "too many connections; refusing one");
                    connections.spawn(serve_connection(stream, overloaded.clone(), graceful.watcher(), false));
                }
                Ok((stream, _)) => {
                    let (app, router, peers, watcher) = (app.clone(), router.clone(), peers.clone(), graceful.watcher());
                    connections.spawn(async move {
                        let peer = peers.check(&stream).await;
                        let router = refusal_router(peer).map_or(router, |refusal| with_request_layers(app, refusal));
                        serve_connection(stream, router, watcher, true).await;
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection; retrying");
                    sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
            // Removes connections that have ended from the set.
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    close.send_replace(true);
    if timeout(SHUTDOWN_GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!(grace_ms = SHUTDOWN_GRACE.as_millis(), "some requests did not finish in time; closing them");
    }
    connections.shutdown().await;
    Ok(())
}

/// Raises the limit of open files to its maximum. Every reader is an open file, and the default of a shell is often
/// 1024.
fn raise_file_limit() {
    let limits = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits }) {
        tracing::warn!(%error, limit = limits.current, "cannot raise the limit of open files");
    }
}

/// Serves one connection.
async fn serve_connection(stream: TcpStream, router: Router, watcher: Watcher, keep_alive: bool) {
    // Events are sent at once instead of waiting for a full packet.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .keep_alive(keep_alive)
        .max_buf_size(CONNECTION_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "connection failed");
    }
}

/// Answers requests on connections beyond the limit.
async fn too_many_connections() -> Problem {
    let detail = format!("the server has {MAX_CONNECTIONS} open connections; close some, or try again later");
    Problem::new(ProblemKind::Unavailable, detail)
}
