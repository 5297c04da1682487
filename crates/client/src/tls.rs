//! Encryption of a connection (TLS): whom a client trusts, and what a server proves itself with.

use chalet_base::{Error, Result, ensure, err};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme,
};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What is written of a client's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// Is the server to prove that it is who it says? Without it, whoever is in between can read and change everything.
    pub verifies: bool,
    /// Certificates that are trusted, instead of the system's.
    pub ca: Option<PathBuf>,
    /// What the client proves itself with, and its key, which may be in the same file.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// The name that the certificate of the server is to have, where that is not its host's.
    pub name: Option<String>,
}

impl Default for TlsOptions {
    fn default() -> TlsOptions {
        TlsOptions { verifies: true, ca: None, certificate: None, key: None, name: None }
    }
}

/// A client's end. Clones share what they remember of servers, so that later handshakes are shorter.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: Option<String>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads the files that the options name.
    pub fn new(options: &TlsOptions) -> Result<Tls> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().map_err(|e| unusable(&e))?;
        let builder = if options.verifies {
            builder.with_root_certificates(roots(options.ca.as_deref())?)
        } else {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        };
        let config = match &options.certificate {
            Some(path) => {
                let key = key(options.key.as_deref().unwrap_or(path))?;
                builder.with_client_auth_cert(certificates(path)?, key).map_err(|e| unusable(&e))?
            }
            None => builder.with_no_client_auth(),
        };
        Ok(Tls { config: Arc::new(config), name: options.name.clone() })
    }

    /// What is asked for where nothing is said. The certificates of the system are read once.
    pub fn of_system() -> Result<Tls> {
        static KNOWN: Mutex<Option<Tls>> = Mutex::new(None);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tls) = &*known {
            return Ok(tls.clone());
        }
        let tls = Tls::new(&TlsOptions::default())?;
        *known = Some(tls.clone());
        Ok(tls)
    }

    pub(crate) fn begin(&self, host: &str) -> Result<Connection> {
        let name = self.name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_owned());
        let name = name.map_err(|_| err!(OPENSSL_ERROR, "A certificate cannot have the name '{host}'"))?;
        let connection = ClientConnection::new(self.config.clone(), name).map_err(|e| unusable(&e))?;
        Ok(Connection::Client(connection))
    }
}

/// A server's end.
#[derive(Clone)]
pub struct ServerTls(Arc<ServerConfig>);

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls")
    }
}

impl ServerTls {
    /// A chain of certificates in the form PEM, and the key of the first.
    pub fn new(certificate: &Path, key_path: &Path) -> Result<ServerTls> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|e| unusable(&e))?;
        let chain = certificates(certificate)?;
        let config = builder.with_no_client_auth().with_single_cert(chain, key(key_path)?);
        config
            .map(|config| ServerTls(Arc::new(config)))
            .map_err(|e| err!(OPENSSL_ERROR, "Cannot use certificate {}: {e}", certificate.display()))
    }

    pub(crate) fn begin(&self) -> Result<Connection> {
        ServerConnection::new(self.0.clone()).map(Connection::Server).map_err(|e| unusable(&e))
    }
}

fn unusable(error: &rustls::Error) -> Error {
    err!(OPENSSL_ERROR, "Cannot begin an encrypted connection: {error}")
}

/// Of a file, or of the system.
fn roots(ca: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = ca {
        for certificate in certificates(path)? {
            let added = roots.add(certificate);
            added.map_err(|e| err!(OPENSSL_ERROR, "Cannot use certificate {}: {e}", path.display()))?;
        }
        return Ok(roots);
    }
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    ensure!(
        !roots.is_empty(),
        OPENSSL_ERROR,
        "No trusted certificates were found on this system: name some with ca_cert, or with the variable SSL_CERT_FILE"
    );
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = |e: rustls::pki_types::pem::Error| unreadable("certificate", path, &e);
    let found = CertificateDer::pem_file_iter(path).map_err(wrong)?;
    let found = found.collect::<std::result::Result<Vec<_>, _>>().map_err(wrong)?;
    ensure!(!found.is_empty(), OPENSSL_ERROR, "There is no certificate in {}", path.display());
    Ok(found)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_file(path).map_err(|e| unreadable("private key", path, &e))
}

fn unreadable(what: &str, path: &Path, error: &rustls::pki_types::pem::Error) -> Error {
    err!(OPENSSL_ERROR, "Cannot read a {what} of {}: {error}", path.display())
}

/// Takes every certificate, as was asked.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
