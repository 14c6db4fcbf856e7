//! TLS of the MySQL port, as `[security]` of the configuration says: files that were given, or certificates of the server's own.
//!
//! ```text
//! ssl-cert, ssl-key given ─────────────► these                 (ssl-ca: whose client certificates are believed)
//! auto-tls, a data directory ──────────► DATA-DIR/tls/*.pem    made at the first start
//! auto-tls, `trine sql` ───────────────► in memory, made anew at every start
//! otherwise ───────────────────────────► no TLS
//! ```

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use wire::tls::{self, TlsAcceptor, TlsFiles, generate};

use crate::config::SecuritySection;

/// What a server does about TLS.
pub struct Tls {
    /// The server's side of handshakes.
    pub acceptor: Option<TlsAcceptor>,
    /// What variables tell of it.
    pub variables: Vec<(&'static str, String)>,
}

/// Reads or makes certificates. `data_dir` is empty for a server without one.
pub fn prepare(security: &SecuritySection, data_dir: &str) -> Result<Tls> {
    let on = |on: bool| if on { "ON" } else { "OFF" }.to_owned();
    let mut variables = vec![("require_secure_transport", on(security.require_secure_transport))];
    let Some((acceptor, files)) = acceptor(security, data_dir)? else {
        if security.require_secure_transport {
            bail!(
                "security.require-secure-transport needs a certificate: give security.ssl-cert and security.ssl-key, or switch auto-tls on"
            );
        }
        return Ok(Tls { acceptor: None, variables });
    };
    let shown = |path: &Path| path.display().to_string();
    variables.extend([
        ("have_ssl", "YES".to_owned()),
        ("have_openssl", "YES".to_owned()),
        ("tls_version", security.tls_version.clone()),
        ("ssl_cert", shown(&files.cert)),
        ("ssl_key", shown(&files.key)),
        ("ssl_ca", files.ca.as_deref().map(shown).unwrap_or_default()),
    ]);
    Ok(Tls { acceptor: Some(acceptor), variables })
}

fn acceptor(security: &SecuritySection, data_dir: &str) -> Result<Option<(TlsAcceptor, TlsFiles)>> {
    let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
    let versions = &security.tls_version;
    let files = match (path(&security.ssl_cert), path(&security.ssl_key)) {
        (Some(cert), Some(key)) => TlsFiles { cert, key, ca: path(&security.ssl_ca) },
        (None, None) if !security.auto_tls => return Ok(None),
        (None, None) if data_dir.is_empty() => return Ok(Some((generate::in_memory(versions)?, TlsFiles::default()))),
        (None, None) => generate::files_in(&Path::new(data_dir).join("tls"))?,
        (Some(_), None) => bail!("security.ssl-cert needs security.ssl-key beside it"),
        (None, Some(_)) => bail!("security.ssl-key needs security.ssl-cert beside it"),
    };
    Ok(Some((tls::acceptor(&files, versions)?, files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_pair_and_a_demand_without_a_certificate_are_errors() {
        let error = |security: &SecuritySection| prepare(security, "").err().expect("refused").to_string();
        let half = SecuritySection { ssl_cert: "cert.pem".to_owned(), ..SecuritySection::default() };
        assert!(error(&half).contains("needs security.ssl-key"), "{}", error(&half));
        let none = SecuritySection { auto_tls: false, require_secure_transport: true, ..SecuritySection::default() };
        assert!(error(&none).contains("needs a certificate"), "{}", error(&none));
        assert!(prepare(&SecuritySection { require_secure_transport: false, ..none }, "").expect("no TLS").acceptor.is_none());
    }

    #[test]
    fn certificates_are_made_in_the_data_directory_or_in_memory() {
        let directory = tempfile::tempdir().expect("a directory");
        let tls = prepare(&SecuritySection::default(), &directory.path().display().to_string()).expect("made");
        assert!(tls.acceptor.is_some() && directory.path().join("tls/server-cert.pem").exists());
        assert!(tls.variables.contains(&("have_ssl", "YES".to_owned())));
        assert!(prepare(&SecuritySection::default(), "").expect("made").acceptor.is_some());
    }
}
