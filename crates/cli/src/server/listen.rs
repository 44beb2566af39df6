//! The addresses that the server listens on.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{anyhow, bail};
use interlingua_server::{Listener, TlsIdentity};
use tokio::net::TcpListener;

use super::Args;
use crate::server_file::local_address;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListenAddress {
    /// `tcp://HOST:PORT`.
    Tcp(String),
    /// `unix:PATH`.
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(address) = text.strip_prefix("tcp://") {
            let port = address.rsplit_once(':').map(|(host, port)| (!host.is_empty(), port.parse::<u16>()));
            if let Some((true, Ok(_))) = port {
                return Ok(Self::Tcp(address.to_owned()));
            }
        }
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(PathBuf::from(path))),
            _ => Err(format!("expected tcp://HOST:PORT or unix:PATH, found {text:?}")),
        }
    }
}

impl Args {
    fn listen_addresses(&self) -> Vec<ListenAddress> {
        if self.listen.is_empty() {
            return vec![ListenAddress::Tcp(format!("{}:{}", bracket_ipv6(&self.host), self.port))];
        }
        self.listen.clone()
    }
}

/// Puts an IPv6 address into brackets, as it is written before a port.
fn bracket_ipv6(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

/// The certificate with which TCP clients are answered, if they speak TLS.
pub(super) fn load_tls_identity(args: &Args) -> anyhow::Result<Option<TlsIdentity>> {
    match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsIdentity::load(certificate, key)?)),
        (None, None) => Ok(None),
        // The command line requires both.
        _ => bail!("--tls-cert and --tls-key need each other"),
    }
}

/// Opens all listeners. Must run before other threads create files ([`Listener::unix`]).
pub(super) async fn bind_all(args: &Args, tls: Option<&TlsIdentity>) -> anyhow::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for address in args.listen_addresses() {
        listeners.push(match address {
            ListenAddress::Unix(path) => Listener::unix(&std::path::absolute(path)?)?,
            ListenAddress::Tcp(address) => {
                let listener = TcpListener::bind(&address).await.map_err(|error| {
                    anyhow!("cannot listen on {address}: {error}; choose another address with --listen, or --host and --port")
                })?;
                match tls {
                    Some(tls) => Listener::tls(listener, tls.clone()),
                    None => Listener::tcp(listener),
                }
            }
        });
    }
    if listeners.iter().all(|listener| listener.to_string().starts_with("https:")) {
        tracing::warn!(
            "commands such as `interlingua sessions` and `interlingua health` do not speak TLS; add --listen unix:PATH for \
             them, together with --listen tcp://HOST:PORT"
        );
    }
    Ok(listeners)
}

/// The address by which programs on this machine reach the server best: a Unix socket, or one without TLS.
pub(super) fn address_for_programs(listeners: &[Listener]) -> Option<String> {
    let rank = |address: &String| ["unix:", "http:"].iter().position(|start| address.starts_with(start)).unwrap_or(2);
    listeners.iter().filter_map(|listener| local_address(listener).ok()).min_by_key(rank)
}

/// Refuses a directory that does not exist, before a client asks for it.
pub(super) fn check_directory(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(format!("{} is not a directory", path.display())),
        Err(error) => Err(format!("cannot use {}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_socket_of_the_network_or_of_this_machine() {
        for text in ["tcp://127.0.0.1:0", "tcp://[::1]:2468", "tcp://localhost:80"] {
            assert_eq!(text.parse(), Ok(ListenAddress::Tcp(text["tcp://".len()..].to_owned())));
        }
        assert_eq!("unix:/run/i.sock".parse(), Ok(ListenAddress::Unix("/run/i.sock".into())));
        for text in ["", "127.0.0.1:80", "tcp://", "tcp://:80", "tcp://host", "tcp://host:99999", "unix:", "http://x:1"]
        {
            assert!(text.parse::<ListenAddress>().unwrap_err().contains("expected tcp://"), "{text}");
        }
    }
}
