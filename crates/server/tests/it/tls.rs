//! TLS: HTTP/1.1 and HTTP/2, and a certificate that changes while the server runs.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use interlingua_server::{Access, Listener, ServerConfig, TlsError, TlsIdentity, Token};
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::test_server::{TOKEN, TestServer, start_on};

/// A certificate for `localhost` and its key, in files.
struct Certificate {
    folder: TempDir,
}

impl Certificate {
    fn new() -> Self {
        let certificate = Self { folder: tempfile::tempdir().unwrap() };
        certificate.replace();
        certificate
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// Writes another certificate. Returns it.
    fn replace(&self) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        write_private(&self.key(), &made.signing_key.serialize_pem());
        write_private(&self.certificate(), &made.cert.pem());
        made.cert.der().clone()
    }

    fn identity(&self) -> Result<TlsIdentity, TlsError> {
        TlsIdentity::load(&self.certificate(), &self.key())
    }
}

fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

struct TlsServer {
    server: TestServer,
    address: SocketAddr,
    identity: TlsIdentity,
    certificate: Certificate,
}

async fn start_tls_server(access: Access) -> TlsServer {
    let certificate = Certificate::new();
    let identity = certificate.identity().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = start_on(ServerConfig::new(access), vec![Listener::tls(listener, identity.clone())]).await;
    TlsServer { server, address, identity, certificate }
}

impl TlsServer {
    /// Connects with the protocols that the client offers, and trusts only this certificate.
    async fn connect(&self, trusted: CertificateDer<'static>, alpn: &[&[u8]]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(trusted).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        let stream = TcpStream::connect(self.address).await.unwrap();
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
    }

    fn current(&self) -> CertificateDer<'static> {
        use rustls::pki_types::pem::PemObject as _;
        CertificateDer::from_pem_file(self.certificate.certificate()).unwrap()
    }
}

fn request(method: &str, address: &str, path: &str, body: &'static str) -> Request<Full<Bytes>> {
    let builder = Request::builder().method(method).uri(format!("{address}{path}")).header("host", "localhost");
    let builder = builder.header("authorization", format!("Bearer {TOKEN}")).header("content-type", "application/json");
    builder.body(Full::from(body)).unwrap()
}

#[tokio::test]
async fn the_api_is_served_over_http1_and_http2() {
    let tls = start_tls_server(Access::Token(Token::new(TOKEN).unwrap())).await;
    tls.server.create("s").await;

    let stream = tls.connect(tls.current(), &[b"http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request("GET", "", "/v1/sessions", "")).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);

    let stream = tls.connect(tls.current(), &[b"h2", b"http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    // Many requests at the same time over one connection, while a stream of events is open.
    let address = "https://localhost";
    let mut events = sender.send_request(request("GET", address, "/v1/sessions/s/events/sse", "")).await.unwrap();
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    for _ in 0..10 {
        let body = r#"{"message": "echo hi"}"#;
        let sent = sender.send_request(request("POST", address, "/v1/sessions/s/messages", body)).await.unwrap();
        assert_eq!(sent.status(), StatusCode::NO_CONTENT);
    }
    let mut text = String::new();
    while text.matches("\"turn.ended\"").count() < 10 {
        let frame = events.frame().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    let missing = sender.send_request(request("GET", address, "/v1/sessions/none", "")).await.unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    let problem: Value = serde_json::from_slice(&missing.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!(problem["type"], "urn:interlingua:error:session_not_found");
    // Streams over HTTP/2 end with the server.
    tls.server.stop().await;
    while let Some(Ok(_)) = events.frame().await {}
}

#[tokio::test]
async fn without_a_token_the_own_page_comes_over_https() {
    let tls = start_tls_server(Access::Loopback).await;
    let stream = tls.connect(tls.current(), &[b"http/1.1"]).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for (origin, status) in [("https://localhost", 200), ("http://localhost", 403), ("https://evil.example", 403)] {
        let mut request = request("GET", "", "/v1/agents", "");
        request.headers_mut().insert("origin", origin.parse().unwrap());
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), status, "{origin}");
        response.into_body().collect().await.unwrap();
    }
}

#[tokio::test]
async fn a_client_without_tls_gets_nothing() {
    let tls = start_tls_server(Access::Token(Token::new(TOKEN).unwrap())).await;
    let plain = reqwest::Client::new().get(format!("http://{}/v1/health", tls.address));
    assert!(plain.timeout(Duration::from_secs(5)).send().await.is_err());
    assert!(tls.connect(Certificate::new().replace(), &[]).await.is_err(), "another certificate is not trusted");
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart() {
    let tls = start_tls_server(Access::Loopback).await;
    let first = tls.current();
    tls.connect(first.clone(), &[]).await.unwrap();
    let second = tls.certificate.replace();
    tls.identity.reload().unwrap();
    tls.connect(second.clone(), &[]).await.unwrap();
    assert!(tls.connect(first, &[]).await.is_err());
    // A certificate that cannot be used is not used.
    fs::write(tls.certificate.certificate(), "no certificate").unwrap();
    assert!(matches!(tls.identity.reload(), Err(TlsError::Invalid { .. })));
    tls.connect(second, &[]).await.unwrap();
    // The server notices a change by itself.
    let third = tls.certificate.replace();
    while tls.connect(third.clone(), &[]).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_with_the_reason() {
    let certificate = Certificate::new();
    let load = || certificate.identity().unwrap_err().to_string();
    fs::set_permissions(certificate.key(), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(load().contains("chmod 600"), "{}", load());
    let other = Certificate::new();
    write_private(&certificate.key(), &fs::read_to_string(other.key()).unwrap());
    assert!(load().contains("cannot be used with the certificate"), "{}", load());
    write_private(&certificate.key(), "no key");
    assert!(load().contains("key.pem does not contain a private key in PEM format"), "{}", load());
    write_private(&certificate.certificate(), "");
    assert!(load().contains("cert.pem does not contain a certificate in PEM format"), "{}", load());
    fs::remove_file(certificate.certificate()).unwrap();
    assert!(load().contains("cannot read") && load().contains("cert.pem"), "{}", load());
}
