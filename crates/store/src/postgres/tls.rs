//! TLS to the database, with rustls. What is checked of the certificate follows from `sslmode`, as in libpq.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};

use crate::postgres::url::{CertificateCheck, RootCertificates, SslOptions};

/// Makes TLS connections. Cloning it copies a pointer.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
}

/// One connection to be made, to a host.
pub(crate) struct TlsHost {
    config: Arc<ClientConfig>,
    host: String,
}

/// A TLS connection.
pub(crate) struct TlsStream<S>(tokio_rustls::client::TlsStream<S>);

impl Tls {
    /// Reads the certificates of the authorities to trust. The error says which file is the problem.
    pub(crate) fn new(options: &SslOptions) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = verifier(options, &provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(Self { config: Arc::new(config) })
    }
}

fn verifier(options: &SslOptions, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let check_host = match options.check {
        CertificateCheck::Nothing => return Ok(Arc::new(Unchecked(Arc::clone(provider)))),
        CertificateCheck::Authority => false,
        CertificateCheck::AuthorityAndHost => true,
    };
    let roots = load_roots(options.root_certificates.as_ref())?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| error.to_string())?;
    Ok(if check_host { verifier } else { Arc::new(AuthorityOnly(verifier)) })
}

/// The authorities of a file, or of the operating system. Without either in the URL, those of libpq's file if it exists.
fn load_roots(roots: Option<&RootCertificates>) -> Result<RootCertStore, String> {
    let default_file =
        || std::env::home_dir().map(|home| home.join(".postgresql/root.crt")).filter(|file| file.exists());
    let file: Option<PathBuf> = match roots {
        Some(RootCertificates::File(file)) => Some(file.clone()),
        Some(RootCertificates::System) => None,
        None => default_file(),
    };
    let mut store = RootCertStore::empty();
    if let Some(file) = file {
        let unusable =
            |reason: &dyn fmt::Display| format!("cannot use the certificates in {}: {reason}", file.display());
        for certificate in CertificateDer::pem_file_iter(&file).map_err(|error| unusable(&error))? {
            let certificate = certificate.map_err(|error| unusable(&error))?;
            store.add(certificate).map_err(|error| unusable(&error))?;
        }
        if store.is_empty() {
            return Err(unusable(&"it has none"));
        }
        return Ok(store);
    }
    let found = rustls_native_certs::load_native_certs();
    store.add_parsable_certificates(found.certs);
    if store.is_empty() {
        let reason = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(format!("cannot use the operating system's certificates: {reason}; name a file with sslrootcert"));
    }
    Ok(store)
}

/// Accepts every certificate: `sslmode=require` asks for encryption only.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

/// Accepts a certificate of a trusted authority for any host: `sslmode=verify-ca`.
#[derive(Debug)]
struct AuthorityOnly(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for AuthorityOnly {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        match self.0.verify_server_cert(certificate, intermediates, host, ocsp_response, now) {
            // The host is checked last, after the authority.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = TlsStream<S>;
    type TlsConnect = TlsHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<TlsHost> {
        Ok(TlsHost { config: Arc::clone(&self.config), host: host.to_owned() })
    }
}

impl<S> TlsConnect<S> for TlsHost
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = TlsStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let host = ServerName::try_from(self.host).map_err(io::Error::other)?;
            tokio_rustls::TlsConnector::from(self.config).connect(host, stream).await.map(TlsStream)
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for TlsStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
