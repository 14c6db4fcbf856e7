//! How a client's bytes travel, and what an account asks of that (`REQUIRE`).

/// TLS as it was agreed on with a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transport {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, as OpenSSL calls it.
    pub cipher: &'static str,
    /// The client's certificate, signed by an authority the server knows.
    pub certificate: Option<Certificate>,
}

/// Whom a client's certificate is about, in the form `/C=SE/O=MySQL/CN=client`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Its subject.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
}

/// What an account asks of its clients' connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requirement {
    /// `REQUIRE NONE`
    #[default]
    Nothing,
    /// `REQUIRE SSL`
    Tls,
    /// `REQUIRE X509`: a certificate.
    Certificate,
    /// `REQUIRE CIPHER … ISSUER … SUBJECT …`; an empty text asks for nothing. Issuer and subject ask for a certificate.
    Details {
        /// The cipher suite.
        cipher: String,
        /// Who has signed the certificate.
        issuer: String,
        /// Whom it is about.
        subject: String,
    },
}

impl Requirement {
    /// Reads the columns `ssl_type`, `ssl_cipher`, `x509_issuer` and `x509_subject` of `mysql.user`.
    pub(crate) fn from_columns(kind: &str, cipher: String, issuer: String, subject: String) -> Self {
        match kind.to_ascii_uppercase().as_str() {
            "ANY" => Self::Tls,
            "X509" => Self::Certificate,
            "SPECIFIED" => Self::Details { cipher, issuer, subject },
            _ => Self::Nothing,
        }
    }

    /// The columns that [`Requirement::from_columns`] reads.
    pub(crate) fn columns(&self) -> [&str; 4] {
        match self {
            Self::Nothing => [""; 4],
            Self::Tls => ["ANY", "", "", ""],
            Self::Certificate => ["X509", "", "", ""],
            Self::Details { cipher, issuer, subject } => ["SPECIFIED", cipher, issuer, subject],
        }
    }

    /// Whether a client that came this way meets it.
    pub fn is_met_by(&self, transport: Option<&Transport>) -> bool {
        let Some(transport) = transport else { return *self == Self::Nothing };
        match self {
            Self::Nothing | Self::Tls => true,
            Self::Certificate => transport.certificate.is_some(),
            Self::Details { cipher, issuer, subject } => {
                let is = |wanted: &str, of: fn(&Certificate) -> &str| {
                    wanted.is_empty() || transport.certificate.as_ref().is_some_and(|certificate| of(certificate) == wanted)
                };
                (cipher.is_empty() || cipher.eq_ignore_ascii_case(transport.cipher))
                    && is(issuer, |certificate| &certificate.issuer)
                    && is(subject, |certificate| &certificate.subject)
            }
        }
    }
}

impl From<&parser::ast::Require> for Requirement {
    fn from(require: &parser::ast::Require) -> Self {
        match require {
            parser::ast::Require::None => Self::Nothing,
            parser::ast::Require::Ssl => Self::Tls,
            parser::ast::Require::X509 => Self::Certificate,
            parser::ast::Require::Items(items) => {
                let of = |name: &str| items.iter().find(|(item, _)| *item == name).map_or(String::new(), |(_, value)| value.clone());
                Self::Details { cipher: of("CIPHER"), issuer: of("ISSUER"), subject: of("SUBJECT") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_requirement_admits_what_meets_it_and_nothing_less() {
        let certificate = Certificate { subject: "/CN=client".to_owned(), issuer: "/CN=ca".to_owned() };
        let plain = Transport { version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384", certificate: None };
        let proved = Transport { certificate: Some(certificate), ..plain.clone() };
        let details = |cipher: &str, issuer: &str, subject: &str| Requirement::Details {
            cipher: cipher.to_owned(),
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
        };
        for (requirement, without_tls, without_certificate, with_certificate) in [
            (Requirement::Nothing, true, true, true),
            (Requirement::Tls, false, true, true),
            (Requirement::Certificate, false, false, true),
            (details("TLS_AES_256_GCM_SHA384", "", ""), false, true, true),
            (details("ECDHE-RSA-AES256-GCM-SHA384", "", ""), false, false, false),
            (details("", "/CN=ca", "/CN=client"), false, false, true),
            (details("", "/CN=ca", "/CN=other"), false, false, false),
            (details("", "/CN=other", ""), false, false, false),
        ] {
            let met = [None, Some(&plain), Some(&proved)].map(|transport| requirement.is_met_by(transport));
            assert_eq!(met, [without_tls, without_certificate, with_certificate], "{requirement:?}");
            let [kind, cipher, issuer, subject] = requirement.columns();
            assert_eq!(Requirement::from_columns(kind, cipher.to_owned(), issuer.to_owned(), subject.to_owned()), requirement);
        }
    }
}
