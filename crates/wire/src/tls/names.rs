//! Names in certificates, in the one-line form of OpenSSL that `REQUIRE SUBJECT` and `REQUIRE ISSUER` compare with: `/C=SE/O=MySQL/CN=client`.

use rustls::pki_types::CertificateDer;
use x509_cert::{
    Certificate,
    der::{Decode as _, Tag, Tagged as _, asn1::ObjectIdentifier},
    name::Name,
};

use super::ClientCertificate;

/// Attribute types with the short names OpenSSL has for them.
const SHORT_NAMES: [(&str, &str); 11] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.42", "GN"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
    ("0.9.2342.19200300.100.1.25", "DC"),
];

/// Subject and issuer of a certificate; both empty for one that cannot be read, which then matches no account.
pub(super) fn of_certificate(der: &CertificateDer<'_>) -> ClientCertificate {
    match Certificate::from_der(der) {
        Ok(certificate) => ClientCertificate {
            subject: one_line(&certificate.tbs_certificate.subject),
            issuer: one_line(&certificate.tbs_certificate.issuer),
        },
        Err(_) => ClientCertificate::default(),
    }
}

fn one_line(name: &Name) -> String {
    let mut line = String::new();
    for attribute in name.0.iter().flat_map(|part| part.0.iter()) {
        let text = match attribute.value.tag() {
            // UTF-16; no authority has used it for a long time.
            Tag::BmpString => String::new(),
            _ => String::from_utf8_lossy(attribute.value.value()).into_owned(),
        };
        line.push('/');
        line.push_str(&short_name(&attribute.oid));
        line.push('=');
        line.push_str(&text);
    }
    line
}

fn short_name(oid: &ObjectIdentifier) -> String {
    let oid = oid.to_string();
    SHORT_NAMES.iter().find(|(known, _)| *known == oid).map_or(oid, |(_, short)| (*short).to_owned())
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject as _;

    use super::*;
    use crate::tls::generate;

    #[test]
    fn names_are_written_as_openssl_does() {
        let directory = tempfile::tempdir().expect("a directory");
        generate::files_in(directory.path()).expect("made");
        let der = CertificateDer::from_pem_file(directory.path().join("client-cert.pem")).expect("readable");
        let names = of_certificate(&der);
        assert_eq!(names.subject, "/CN=Trine_Auto_Generated_Client_Certificate");
        assert_eq!(names.issuer, "/CN=Trine_Auto_Generated_CA_Certificate");
        assert_eq!(of_certificate(&CertificateDer::from_slice(b"nonsense")), ClientCertificate::default());
    }
}
