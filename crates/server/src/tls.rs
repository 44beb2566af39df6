//! TLS: the server's certificate, which is loaded again when its files change.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::file_version::FileVersion;

/// How long a client may take for the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Name of HTTP/2 in the handshake.
pub(crate) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Permissions of users other than the owner and the group.
const OTHERS: u32 = 0o007;

/// The server's certificate and private key. Cloning it copies a pointer.
#[derive(Clone)]
pub struct TlsIdentity(Arc<Inner>);

struct Inner {
    certificate: PathBuf,
    key: PathBuf,
    current: Arc<CurrentKey>,
    versions: Mutex<Versions>,
    acceptor: TlsAcceptor,
}

/// The versions of both files that were loaded last, successfully or not.
type Versions = (Option<FileVersion>, Option<FileVersion>);

/// Why the certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file does not contain what it should.
    #[error("{} does not contain {expected} in PEM format: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What it should contain.
        expected: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Other users can read the private key.
    #[error("every user of this machine can read the private key {0}; run `chmod 600 {0}`, and replace the key", path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
    },
    /// The key is not that of the certificate.
    #[error("the key {} cannot be used with the certificate {}: {reason}", key.display(), certificate.display())]
    Mismatch {
        /// The file with the certificate.
        certificate: PathBuf,
        /// The file with the key.
        key: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl TlsIdentity {
    /// Loads a certificate, with those that vouch for it, and its private key. Both files are in PEM format.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, does not contain what it should, or every user can read the key.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let versions = (FileVersion::read(certificate), FileVersion::read(key));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let loaded = load_key(certificate, key, &provider)?;
        let current = Arc::new(CurrentKey(RwLock::new(Arc::new(loaded))));
        let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| TlsError::Mismatch {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            reason: error.to_string(),
        })?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::clone(&current) as Arc<_>);
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        Ok(Self(Arc::new(Inner { certificate, key, current, versions: Mutex::new(versions), acceptor })))
    }

    /// Loads the files again. New connections use the new certificate. If it cannot be used, the old one stays.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn reload(&self) -> Result<(), TlsError> {
        let Inner { certificate, key, current, versions, .. } = &*self.0;
        *versions.lock().unwrap_or_else(PoisonError::into_inner) = self.file_versions();
        let provider = rustls::crypto::ring::default_provider();
        let loaded = load_key(certificate, key, &provider)?;
        *current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        Ok(())
    }

    /// Loads the files again if one of them has changed, and logs the result.
    pub(crate) fn reload_if_changed(&self) {
        let known = *self.0.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if self.file_versions() == known {
            return;
        }
        let certificate = self.0.certificate.display();
        match self.reload() {
            Ok(()) => tracing::info!(%certificate, "loaded the TLS certificate, because its files have changed"),
            Err(error) => tracing::error!(%certificate, %error, "keeping the old TLS certificate"),
        }
    }

    fn file_versions(&self) -> Versions {
        (FileVersion::read(&self.0.certificate), FileVersion::read(&self.0.key))
    }

    /// Carries out the handshake with a client.
    pub(crate) async fn accept<I: AsyncRead + AsyncWrite + Unpin>(&self, stream: I) -> io::Result<TlsStream<I>> {
        timeout(HANDSHAKE_TIMEOUT, self.0.acceptor.accept(stream)).await?
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsIdentity").field("certificate", &self.0.certificate).finish_non_exhaustive()
    }
}

/// The key that new connections use.
struct CurrentKey(RwLock<Arc<CertifiedKey>>);

impl fmt::Debug for CurrentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CurrentKey")
    }
}

impl ResolvesServerCert for CurrentKey {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn load_key(certificate: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let certificates = load_certificates(certificate)?;
    let private_key = load_private_key(key)?;
    CertifiedKey::from_der(certificates, private_key, provider).map_err(|error| TlsError::Mismatch {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        reason: error.to_string(),
    })
}

fn load_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let file = File::open(path).map_err(|source| TlsError::Io { path: path.to_owned(), source })?;
    let invalid = |reason: String| TlsError::Invalid { path: path.to_owned(), expected: "a certificate", reason };
    let certificates = CertificateDer::pem_reader_iter(file).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| invalid(error.to_string()))?;
    if certificates.is_empty() { Err(invalid("it has no section CERTIFICATE".to_owned())) } else { Ok(certificates) }
}

fn load_private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let failed = |source| TlsError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_file() && metadata.permissions().mode() & OTHERS != 0 {
        return Err(TlsError::OpenToOthers { path: path.to_owned() });
    }
    PrivateKeyDer::from_pem_reader(file).map_err(|error| TlsError::Invalid {
        path: path.to_owned(),
        expected: "a private key",
        reason: error.to_string(),
    })
}
