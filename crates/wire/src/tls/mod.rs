//! TLS: which certificate the server shows, which clients' certificates it believes, and what a connection has agreed on.
//!
//! | module | what it is |
//! |---|---|
//! | `mod` | files and protocol versions ► [`TlsAcceptor`]; [`TlsSession`] |
//! | [`generate`] | a certificate authority and certificates of the server's own |
//! | `names` | subjects and issuers as `REQUIRE SUBJECT` writes them |
//!
//! rustls with the ring provider: TLS 1.2 and 1.3, suites with forward secrecy only, no renegotiation, no early data (nothing a client sent can
//! be replayed).

pub mod generate;
mod names;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    CipherSuite, ProtocolVersion, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
    version::{TLS12, TLS13},
};
pub use tokio_rustls::TlsAcceptor;

/// What keeps a server from offering TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or holds something else.
    #[error("cannot read {what} from {}: {reason}", path.display())]
    File {
        /// `the certificate`, `the key` or `the certificate authority`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What was wrong.
        reason: String,
    },
    /// The certificate and its key do not belong together, or cannot be used.
    #[error("the certificate in {} cannot be used: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What was wrong.
        reason: String,
    },
    /// No protocol version is left, or a name is unknown.
    #[error("{0:?} names no protocol versions; TLSv1.2 and TLSv1.3 are known, separated by commas")]
    Versions(String),
    /// A certificate could not be made or kept.
    #[error("cannot make a certificate in {}: {reason}", path.display())]
    Generate {
        /// The directory.
        path: PathBuf,
        /// What was wrong.
        reason: String,
    },
}

/// PEM files of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and those between it and its authority (`ssl-cert`).
    pub cert: PathBuf,
    /// Its private key (`ssl-key`).
    pub key: PathBuf,
    /// Authorities whose client certificates are believed (`ssl-ca`); none: clients are not asked for certificates.
    pub ca: Option<PathBuf>,
}

/// Reads `files` and prepares the server's side of handshakes. `versions` as in the variable `tls_version`.
pub fn acceptor(files: &TlsFiles, versions: &str) -> Result<TlsAcceptor, TlsError> {
    let chain = certificates("the certificate", &files.cert)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| file_error("the key", &files.key, &error))?;
    let authorities = match &files.ca {
        Some(path) => certificates("the certificate authority", path)?,
        None => Vec::new(),
    };
    let unusable = |reason: String| TlsError::Certificate { path: files.cert.clone(), reason };
    build(chain, key, authorities, versions, &unusable)
}

/// The same with certificates that are in memory only.
pub(crate) fn build(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    authorities: Vec<CertificateDer<'static>>,
    versions: &str,
    unusable: &dyn Fn(String) -> TlsError,
) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&protocol_versions(versions)?)
        .map_err(|error| unusable(error.to_string()))?;
    let builder = if authorities.is_empty() {
        builder.with_no_client_auth()
    } else {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority).map_err(|error| unusable(format!("its authority: {error}")))?;
        }
        // Whether a client needs a certificate is a matter of its account.
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated().build();
        builder.with_client_cert_verifier(verifier.map_err(|error| unusable(error.to_string()))?)
    };
    let config = builder.with_single_cert(chain, key).map_err(|error| unusable(error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(what: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => {
            Err(TlsError::File { what, path: path.to_owned(), reason: "the file holds no certificate in PEM form".to_owned() })
        }
        Ok(found) => Ok(found),
        Err(error) => Err(file_error(what, path, &error)),
    }
}

fn file_error(what: &'static str, path: &Path, error: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { what, path: path.to_owned(), reason: error.to_string() }
}

fn protocol_versions(names: &str) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    let known = |name: &str| match name.trim() {
        name if name.eq_ignore_ascii_case("TLSv1.2") => Some(&TLS12),
        name if name.eq_ignore_ascii_case("TLSv1.3") => Some(&TLS13),
        _ => None,
    };
    names.split(',').map(known).collect::<Option<Vec<_>>>().ok_or_else(|| TlsError::Versions(names.to_owned()))
}

/// What a connection and its client have agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSession {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite under the name OpenSSL gives it.
    pub cipher: &'static str,
    /// The client's certificate, which a known authority has signed.
    pub certificate: Option<ClientCertificate>,
}

/// Whom a client's certificate is about, in the form `/C=SE/O=MySQL/CN=client`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertificate {
    /// Its subject.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
}

impl TlsSession {
    pub(crate) fn of(connection: &ServerConnection) -> Self {
        let certificate = connection.peer_certificates().and_then(<[_]>::first).map(|der| names::of_certificate(der));
        let version = match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLSv1.2",
        };
        Self { version, cipher: connection.negotiated_cipher_suite().map_or("", |suite| cipher_name(suite.suite())), certificate }
    }
}

/// The suites of the ring provider, as OpenSSL calls them.
fn cipher_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        _ => "UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_that_can_be_agreed_on_has_a_name() {
        for suite in ring::ALL_CIPHER_SUITES {
            assert_ne!(cipher_name(suite.suite()), "UNKNOWN", "{suite:?}");
        }
    }

    #[test]
    fn protocol_versions_are_read_and_others_refused() {
        assert_eq!(protocol_versions("TLSv1.2, tlsv1.3").expect("known").len(), 2);
        for wrong in ["", "TLSv1.1", "TLSv1.3,", "SSLv3,TLSv1.3"] {
            assert!(matches!(protocol_versions(wrong), Err(TlsError::Versions(_))), "{wrong}");
        }
    }

    #[test]
    fn unusable_files_say_which_and_why() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = generate::files_in(directory.path()).expect("made");
        assert!(acceptor(&files, "TLSv1.3").is_ok());
        let message = |files: &TlsFiles| acceptor(files, "TLSv1.3").err().expect("refused").to_string();
        let missing = TlsFiles { cert: directory.path().join("none.pem"), ..files.clone() };
        assert!(message(&missing).starts_with("cannot read the certificate from "), "{}", message(&missing));
        let swapped = TlsFiles { cert: files.key.clone(), ..files.clone() };
        assert!(message(&swapped).contains("no certificate in PEM form"), "{}", message(&swapped));
        let foreign = TlsFiles { key: directory.path().join("client-key.pem"), ..files };
        assert!(message(&foreign).contains("cannot be used"), "{}", message(&foreign));
    }
}
