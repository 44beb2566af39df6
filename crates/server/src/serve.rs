//! Running the server on its listeners.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use interlingua_runtime::Runtime;
use interlingua_store::Store;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::app::App;
use crate::config::SharedConfig;
use crate::listener::{Accepted, Listener};
use crate::origin::OverTls;
use crate::peer::{PeerCheck, refusal_router};
use crate::problem::{Problem, ProblemKind};
use crate::retention::delete_expired_sessions;
use crate::router::{router, with_request_layers};
use crate::tls::{HTTP2, TlsIdentity};

/// Size of a connection's write buffer, and maximum size of a request head.
const CONNECTION_BUFFER_BYTES: usize = 16 * 1024;

/// Time for a client to send a request head, which is also the time that a connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for a client whose request will be refused to send its head.
const REFUSED_HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of open connections of clients. Further ones are told to come back later.
const MAX_CONNECTIONS: usize = 4096;

/// Maximum number of connections that are told to come back later. Further ones wait.
const MAX_OVERLOADED_CONNECTIONS: usize = 64;

/// Maximum number of connections of agents, which are told that they are refused. Further ones are closed at once, so
/// that agents cannot use up the connections of clients.
const MAX_FORBIDDEN_CONNECTIONS: usize = 64;

/// Maximum number of connections that are accepted without knowing yet whose they are.
const MAX_UNCHECKED_CONNECTIONS: usize = 256;

/// Maximum number of all connections. No more are accepted until one of them ends.
const MAX_ALL_CONNECTIONS: usize =
    MAX_CONNECTIONS + MAX_OVERLOADED_CONNECTIONS + MAX_FORBIDDEN_CONNECTIONS + MAX_UNCHECKED_CONNECTIONS;

/// Time for running requests to finish after the shutdown started.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Maximum number of requests that a client sends at the same time over one HTTP/2 connection.
const MAX_CONCURRENT_STREAMS: u32 = 256;

/// How often an HTTP/2 client is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// How often the files of the certificate are checked for changes.
const TLS_CHECK_INTERVAL: Duration = Duration::from_secs(5);

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

/// Serves the API on listeners until `shutdown` completes.
///
/// It then accepts no more connections, closes event streams, and gives running requests a few seconds to finish.
///
/// # Errors
///
/// If the server has no token and a listener is not bound to a loopback address.
pub async fn serve<L: Into<Listener>>(
    listeners: impl IntoIterator<Item = L>,
    config: impl Into<SharedConfig>,
    runtime: Runtime,
    store: Store,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServerError> {
    let listeners: Vec<Listener> = listeners.into_iter().map(Into::into).collect();
    let config = config.into();
    for listener in &listeners {
        if let Some(address) = listener.tcp_address()? {
            config.load().check_address(address)?;
        }
    }
    raise_file_limit();
    let (close, closing) = watch::channel(false);
    let app = App::new(config, runtime, store, closing);
    let retention = AbortOnDrop(tokio::spawn(delete_expired_sessions(app.clone())));
    let server = ConnectionServer::new(app);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut next_listener = 0;
    let mut tls_check = interval(TLS_CHECK_INTERVAL);
    tls_check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listeners, &mut next_listener), if connections.len() < MAX_ALL_CONNECTIONS => match accepted {
                Ok(accepted) => {
                    let (server, watcher) = (server.clone(), graceful.watcher());
                    connections.spawn(server.serve(accepted, watcher));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection; retrying");
                    sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
            // Removes connections that have ended from the set.
            Some(_) = connections.join_next() => {}
            _ = tls_check.tick() => listeners.iter().filter_map(Listener::tls_identity).for_each(TlsIdentity::reload_if_changed),
        }
    }
    drop((listeners, retention));
    close.send_replace(true);
    if timeout(SHUTDOWN_GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!(grace_ms = SHUTDOWN_GRACE.as_millis(), "some requests did not finish in time; closing them");
    }
    connections.shutdown().await;
    Ok(())
}

/// A task that ends when this is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Accepts a connection from any listener. They take turns.
async fn accept(listeners: &[Listener], next: &mut usize) -> io::Result<Accepted> {
    poll_fn(|context| {
        for offset in 0..listeners.len() {
            let index = (*next + offset) % listeners.len();
            if let Poll::Ready(accepted) = listeners[index].poll_accept(context) {
                *next = index + 1;
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
}

/// Raises the limit of open files to its maximum. Every reader is an open file, and the default of a shell is often
/// 1024.
fn raise_file_limit() {
    let limits = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits }) {
        tracing::warn!(%error, limit = limits.current, "cannot raise the limit of open files");
    }
}

/// Serves connections. Cloning it copies pointers.
#[derive(Clone)]
struct ConnectionServer {
    app: App,
    router: Router,
    tls_router: Router,
    overloaded: Router,
    peers: PeerCheck,
    slots: Arc<Slots>,
}

/// How many connections of each kind may be open.
struct Slots {
    clients: Semaphore,
    overloaded: Semaphore,
    forbidden: Semaphore,
}

/// What may happen on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lifetime {
    /// Any number of requests.
    KeepAlive,
    /// One request, which is refused.
    OneRequest,
}

impl ConnectionServer {
    fn new(app: App) -> Self {
        let slots = Slots {
            clients: Semaphore::new(MAX_CONNECTIONS),
            overloaded: Semaphore::new(MAX_OVERLOADED_CONNECTIONS),
            forbidden: Semaphore::new(MAX_FORBIDDEN_CONNECTIONS),
        };
        let router = router(app.clone());
        Self {
            overloaded: with_request_layers(app.clone(), Router::new().fallback(too_many_connections)),
            tls_router: router.clone().layer(Extension(OverTls)),
            router,
            app,
            peers: PeerCheck::default(),
            slots: Arc::new(slots),
        }
    }

    /// Serves one connection, of a client or of an agent.
    async fn serve(self, accepted: Accepted, watcher: Watcher) {
        let peer = match &accepted {
            Accepted::Unix(stream) => self.peers.check_unix(stream),
            Accepted::Tcp { stream, .. } => self.peers.check(stream).await,
        };
        if let Some(refusal) = refusal_router(peer) {
            if let Ok(_slot) = self.slots.forbidden.try_acquire() {
                let refusal = with_request_layers(self.app, refusal);
                serve_connection(accepted, refusal, watcher, Lifetime::OneRequest).await;
            }
        } else if let Ok(_slot) = self.slots.clients.try_acquire() {
            let is_tls = matches!(accepted, Accepted::Tcp { tls: Some(_), .. });
            let router = if is_tls { self.tls_router } else { self.router };
            serve_connection(accepted, router, watcher, Lifetime::KeepAlive).await;
        } else {
            tracing::warn!(limit = MAX_CONNECTIONS, "too many connections; refusing one");
            let _slot = self.slots.overloaded.acquire().await;
            serve_connection(accepted, self.overloaded, watcher, Lifetime::OneRequest).await;
        }
    }
}

async fn serve_connection(accepted: Accepted, router: Router, watcher: Watcher, lifetime: Lifetime) {
    match accepted {
        Accepted::Unix(stream) => serve_http1(stream, router, watcher, lifetime).await,
        Accepted::Tcp { stream, tls } => {
            set_no_delay(&stream);
            let Some(tls) = tls else { return serve_http1(stream, router, watcher, lifetime).await };
            match tls.accept(stream).await {
                Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(HTTP2) => {
                    serve_http2(stream, router, watcher).await;
                }
                Ok(stream) => serve_http1(stream, router, watcher, lifetime).await,
                Err(error) => tracing::debug!(%error, "TLS handshake failed"),
            }
        }
    }
}

/// Events are sent at once instead of waiting for a full packet.
fn set_no_delay(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
}

async fn serve_http1<I>(stream: I, router: Router, watcher: Watcher, lifetime: Lifetime)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head_timeout = match lifetime {
        Lifetime::KeepAlive => IDLE_TIMEOUT,
        Lifetime::OneRequest => REFUSED_HEAD_TIMEOUT,
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .keep_alive(lifetime == Lifetime::KeepAlive)
        .max_buf_size(CONNECTION_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "connection failed");
    }
}

async fn serve_http2<I>(stream: I, router: Router, watcher: Watcher)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_header_list_size(u32::try_from(CONNECTION_BUFFER_BYTES).unwrap_or(u32::MAX))
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
