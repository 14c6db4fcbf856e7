//! Certificates of the server's own, for who has none: an authority, and a certificate of the server and one of clients that it has signed.
//!
//! ```text
//! ca.pem  ca-key.pem ─┬─► server-cert.pem  server-key.pem      localhost, this machine's name, loopback addresses
//!                     └─► client-cert.pem  client-key.pem      for accounts that REQUIRE X509
//! ```
//!
//! Elliptic curve keys (P-256): made in no time, and every client of this decade knows them. The files are made once and stay: clients
//! may keep `ca.pem`. They are kept under the names MySQL gives them.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

use super::{TlsAcceptor, TlsError, TlsFiles};

/// A certificate and its key in PEM form.
struct Pair {
    cert: String,
    key: String,
}

/// The authority and what it has signed.
struct Made {
    ca: Pair,
    server: Pair,
    client: Pair,
}

/// The server's own files in a directory; they are made unless they are there.
pub fn files_in(directory: &Path) -> Result<TlsFiles, TlsError> {
    let path = |name: &str| directory.join(name);
    let files = TlsFiles { cert: path("server-cert.pem"), key: path("server-key.pem"), ca: Some(path("ca.pem")) };
    // The server's key is written last: when it is there, everything is.
    if files.key.exists() {
        return Ok(files);
    }
    let failed = |reason: String| TlsError::Generate { path: directory.to_owned(), reason };
    let made = make().map_err(|error| failed(error.to_string()))?;
    let write_all = || -> std::io::Result<()> {
        fs::create_dir_all(directory)?;
        write(path("ca.pem"), &made.ca.cert, 0o644)?;
        write(path("ca-key.pem"), &made.ca.key, 0o600)?;
        write(path("client-cert.pem"), &made.client.cert, 0o644)?;
        write(path("client-key.pem"), &made.client.key, 0o600)?;
        write(path("server-cert.pem"), &made.server.cert, 0o644)?;
        write(path("server-key.pem.tmp"), &made.server.key, 0o600)?;
        fs::rename(path("server-key.pem.tmp"), path("server-key.pem"))
    };
    write_all().map_err(|error| failed(error.to_string()))?;
    Ok(files)
}

/// A certificate that ends with the process, for a server without a directory of its own.
pub fn in_memory(versions: &str) -> Result<TlsAcceptor, TlsError> {
    let failed = |reason: String| TlsError::Generate { path: PathBuf::from("memory"), reason };
    let made = make().map_err(|error| failed(error.to_string()))?;
    let chain = CertificateDer::from_pem_slice(made.server.cert.as_bytes()).map_err(|error| failed(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(made.server.key.as_bytes()).map_err(|error| failed(error.to_string()))?;
    super::build(vec![chain], key, Vec::new(), versions, &failed)
}

fn write(path: PathBuf, text: &str, mode: u32) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn make() -> Result<Made, rcgen::Error> {
    let ca_key = KeyPair::generate()?;
    let mut ca = named("Trine_Auto_Generated_CA_Certificate", Vec::new())?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_cert = ca.self_signed(&ca_key)?.pem();
    let ca_pair = Pair { cert: ca_cert, key: ca_key.serialize_pem() };
    let issuer = Issuer::new(ca, ca_key);
    let signed = |name: &str, names: Vec<String>, purpose: ExtendedKeyUsagePurpose| -> Result<Pair, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = named(name, names)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        Ok(Pair { cert: params.signed_by(&key, &issuer)?.pem(), key: key.serialize_pem() })
    };
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    hosts.extend(fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned()).filter(|name| is_dns_name(name)));
    let server = signed("Trine_Auto_Generated_Server_Certificate", hosts, ExtendedKeyUsagePurpose::ServerAuth)?;
    let client = signed("Trine_Auto_Generated_Client_Certificate", Vec::new(), ExtendedKeyUsagePurpose::ClientAuth)?;
    Ok(Made { ca: ca_pair, server, client })
}

/// Parameters that hold for all three; ten years, as MySQL's own certificates.
fn named(common_name: &str, hosts: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    let year = this_year();
    params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + 10, 1, 1);
    Ok(params)
}

/// The year, roughly: certificates begin a year before it.
fn this_year() -> i32 {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    1970 + (seconds / 31_556_952) as i32
}

fn is_dns_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn files_are_made_once_and_keys_are_for_the_owner_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = files_in(directory.path()).expect("made");
        let first = fs::read_to_string(&files.cert).expect("there");
        assert_eq!(files_in(directory.path()).expect("found"), files);
        assert_eq!(fs::read_to_string(&files.cert).expect("there"), first, "a second start keeps the certificate");
        for name in ["ca-key.pem", "server-key.pem", "client-key.pem"] {
            let mode = fs::metadata(directory.path().join(name)).expect("there").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
        }
    }
}
