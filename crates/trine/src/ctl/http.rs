//! The way to the pages of the placement driver, and what people are told when it fails.

use anyhow::{Result, anyhow, bail};
use client::{PageError, PdPages};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// The members that can be asked.
pub struct Pages(PdPages);

/// A name as a part of a path.
pub fn escaped(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

impl Pages {
    /// Reads `HOST:PORT,…`; a port that is not given is 2379. URLs are taken too.
    pub fn of(list: &str) -> Result<Self> {
        let mut addresses = Vec::new();
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            if entry.starts_with("https://") {
                bail!("{entry}: the placement driver does not speak TLS yet; name it as HOST:PORT");
            }
            let address = entry.strip_prefix("http://").unwrap_or(entry).trim_end_matches('/');
            let has_port = address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
            if address.contains('/') || address.contains(':') && !has_port {
                bail!("{entry:?} is no address of a placement driver; they are written HOST:PORT");
            }
            addresses.push(if has_port { address.to_owned() } else { format!("{address}:2379") });
        }
        if addresses.is_empty() {
            bail!("--pd names no placement driver; they are written HOST:PORT,…");
        }
        Ok(Self(PdPages::new(addresses)))
    }

    /// Where the members are.
    pub fn addresses(&self) -> &[String] {
        self.0.addresses()
    }

    /// Looks at a page.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.0.get(path).await.map_err(|error| told(error, path))
    }

    /// Asks for something to be done.
    pub async fn post(&self, path: &str, body: Option<Value>) -> Result<Value> {
        self.0.post(path, body).await.map_err(|error| told(error, path))
    }

    /// Asks for something to be taken away.
    pub async fn delete(&self, path: &str) -> Result<Value> {
        self.0.delete(path).await.map_err(|error| told(error, path))
    }
}

/// An error with the way out.
fn told(error: PageError, path: &str) -> anyhow::Error {
    match error {
        PageError::NoMember { .. } => anyhow!(
            "{error}. Name running ones with --pd HOST:PORT,…; `trine pd` prints where it serves clients, and a `trine` that is one process with \
             everything in it has no such port"
        ),
        PageError::Unanswered { .. } => anyhow!("{error}: look before asking for it again"),
        PageError::Refused { status: 404, message } => {
            let way_out = match path.split(['/', '?']).next() {
                Some("store") => "`trine ctl store` lists those there are",
                Some("region" | "regions") => "`trine ctl region` lists those there are",
                Some("operators") => "`trine ctl operator` lists those under way",
                _ => "the placement driver may be of a version without this page",
            };
            anyhow!("{message}; {way_out}")
        }
        PageError::Refused { message, .. } => anyhow!(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_as_urls_and_without_port() {
        let pages = Pages::of("http://10.0.0.1:2379/, pd2 ,10.0.0.3:1234").expect("addresses");
        assert_eq!(pages.addresses(), ["10.0.0.1:2379", "pd2:2379", "10.0.0.3:1234"]);
        for wrong in ["", ",", "https://pd:2379", "pd:", "pd:23790000", "pd/pd/api"] {
            assert!(Pages::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_refusal_says_where_to_look() {
        let refused = |status, message: &str| PageError::Refused { status, message: message.to_owned() };
        let text = told(refused(404, "store 9 is not known"), "store/9").to_string();
        assert_eq!(text, "store 9 is not known; `trine ctl store` lists those there are");
        assert_eq!(told(refused(400, "no"), "config").to_string(), "no");
    }
}
