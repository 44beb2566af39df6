//! A proxy between a store and Postgres, which cuts connections when a test says so.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::SUPERUSER;

/// A proxy on the loopback address. It ends with the process.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    state: Arc<Mutex<State>>,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the store to Postgres.
    ToServer,
    /// From Postgres to the store.
    ToClient,
}

#[derive(Debug, Default)]
struct State {
    is_cut: bool,
    /// Both ends of all connections.
    open: Vec<TcpStream>,
    /// Bytes in a direction that are passed on before all connections are cut, once.
    until_cut: Option<(Direction, usize)>,
}

impl State {
    fn close_all(&mut self) {
        for stream in self.open.drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Proxy {
    /// Starts a proxy for Postgres on a port of the loopback address.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    #[must_use]
    pub fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if lock(&shared).is_cut {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)) else { continue };
                for (from, to, direction) in
                    [(&client, &server, Direction::ToServer), (&server, &client, Direction::ToClient)]
                {
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
                    let _ = to.set_nodelay(true);
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || forward(from, to, direction, &shared));
                }
                lock(&shared).open.extend([client, server]);
            }
        });
        Self { port, state }
    }

    /// Port on the loopback address.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// URL of a schema through the proxy.
    #[must_use]
    pub fn url(&self, schema: &str) -> String {
        format!("postgres://{SUPERUSER}@127.0.0.1:{}/postgres?sslmode=disable&schema={schema}", self.port)
    }

    /// Closes all connections, and every new one at once.
    pub fn cut(&self) {
        let mut state = lock(&self.state);
        state.is_cut = true;
        state.close_all();
    }

    /// Lets new connections through again.
    pub fn restore(&self) {
        lock(&self.state).is_cut = false;
    }

    /// Closes all connections once this number of further bytes has gone in a direction.
    pub fn cut_after(&self, direction: Direction, bytes: usize) {
        lock(&self.state).until_cut = Some((direction, bytes));
    }

    /// Whether the cut of [`cut_after`](Self::cut_after) has not happened yet. It does not any more.
    #[expect(clippy::must_use_candidate, reason = "most callers only disarm it")]
    pub fn disarm(&self) -> bool {
        lock(&self.state).until_cut.take().is_some()
    }
}

/// Passes bytes on until either end is closed, or the connections are cut.
fn forward(mut from: TcpStream, mut to: TcpStream, direction: Direction, state: &Mutex<State>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut passed = count;
        let mut is_last = false;
        {
            let mut state = lock(state);
            if let Some((cut_direction, left)) = &mut state.until_cut
                && *cut_direction == direction
            {
                passed = count.min(*left);
                *left -= passed;
                is_last = passed < count || *left == 0;
            }
            if is_last {
                state.until_cut = None;
            }
        }
        if to.write_all(&buffer[..passed]).is_err() {
            break;
        }
        if is_last {
            lock(state).close_all();
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
