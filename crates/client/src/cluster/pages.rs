//! Pages of the placement driver (`/pd/api/v1`) over HTTP, asked of one member after the other until one answers.
//!
//! Any member can be asked anything, because those that do not lead pass requests on. The next one is asked when a member cannot be reached, and when it
//! says that it cannot answer for the cluster now (503). A request that was sent and not answered in time is asked again only if it changes
//! nothing: it may have been carried out.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, StatusCode, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};

/// Time to connect to a member.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// Time a member has to answer: longer than it waits itself for a change to be replicated.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// No member answers for the cluster.
    #[error("no member of the placement driver answers: {tried}")]
    NoMember {
        /// The members and what each of them said.
        tried: String,
    },
    /// A change was sent and may have been made.
    #[error("{address}: {reason}; whether the change was made is not known")]
    Unanswered {
        /// The member.
        address: String,
        /// What became of the connection.
        reason: String,
    },
    /// The placement driver says no.
    #[error("{message}")]
    Refused {
        /// HTTP's status.
        status: u16,
        /// What it says.
        message: String,
    },
}

/// How an attempt at one member ended without an answer.
enum Failed {
    /// Nothing was carried out.
    NotSent(String),
    /// It may have been carried out.
    NotAnswered(String),
}

/// The members whose pages can be asked for.
#[derive(Clone, Debug)]
pub struct PdPages {
    /// `host:port`
    addresses: Vec<String>,
}

impl PdPages {
    /// The members at some addresses, `host:port`.
    pub fn new(addresses: Vec<String>) -> Self {
        Self { addresses }
    }

    /// Where the members are.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Looks at a page.
    pub async fn get(&self, path: &str) -> Result<Value, PageError> {
        self.ask(&Method::GET, path, None).await
    }

    /// Asks for something to be done.
    pub async fn post(&self, path: &str, body: Option<Value>) -> Result<Value, PageError> {
        self.ask(&Method::POST, path, body).await
    }

    /// Asks for something to be taken away.
    pub async fn delete(&self, path: &str) -> Result<Value, PageError> {
        self.ask(&Method::DELETE, path, None).await
    }

    async fn ask(&self, method: &Method, path: &str, body: Option<Value>) -> Result<Value, PageError> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let mut failures = Vec::new();
        for address in &self.addresses {
            match attempt(address, method, path, body.clone()).await {
                Ok((status, page)) if status.is_success() => return Ok(page),
                Ok((StatusCode::SERVICE_UNAVAILABLE, page)) => failures.push(format!("{address} ({})", reason(&page))),
                Ok((status, page)) => return Err(PageError::Refused { status: status.as_u16(), message: reason(&page) }),
                Err(Failed::NotAnswered(reason)) if *method != Method::GET => {
                    return Err(PageError::Unanswered { address: address.clone(), reason });
                }
                Err(Failed::NotSent(reason) | Failed::NotAnswered(reason)) => failures.push(format!("{address} ({reason})")),
            }
        }
        Err(PageError::NoMember { tried: failures.join(", ") })
    }
}

async fn attempt(address: &str, method: &Method, path: &str, body: String) -> Result<(StatusCode, Value), Failed> {
    let stream = match timeout(CONNECT_WITHIN, TcpStream::connect(address)).await {
        Err(_) => return Err(Failed::NotSent("it cannot be reached in time".to_owned())),
        Ok(Err(error)) => return Err(Failed::NotSent(error.to_string())),
        Ok(Ok(stream)) => stream,
    };
    match timeout(ANSWER_WITHIN, exchange(stream, address, method, path, body)).await {
        Ok(answered) => answered,
        Err(_) => Err(Failed::NotAnswered("it does not answer in time".to_owned())),
    }
}

async fn exchange(stream: TcpStream, address: &str, method: &Method, path: &str, body: String) -> Result<(StatusCode, Value), Failed> {
    let sent = |error: hyper::Error| Failed::NotAnswered(error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| Failed::NotSent(error.to_string()))?;
    let request = Request::builder()
        .method(method)
        .uri(format!("/pd/api/v1/{path}"))
        .header(header::HOST, address)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| Failed::NotSent(error.to_string()))?;
    let mut connection = std::pin::pin!(connection);
    let answered = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        Ok::<_, hyper::Error>((status, response.into_body().collect().await?.to_bytes()))
    };
    let mut answered = std::pin::pin!(answered);
    let (status, bytes) = tokio::select! {
        answered = &mut answered => answered,
        // What ended it the request sees too.
        _ = &mut connection => answered.await,
    }
    .map_err(sent)?;
    let page = serde_json::from_slice(&bytes).unwrap_or_else(|_| match String::from_utf8_lossy(&bytes).trim() {
        "" => Value::Null,
        text => Value::String(text.to_owned()),
    });
    Ok((status, page))
}

/// What a page says about a failure.
fn reason(page: &Value) -> String {
    match page.get("error").unwrap_or(page) {
        Value::String(text) => text.clone(),
        Value::Null => "it says nothing more".to_owned(),
        other => other.to_string(),
    }
}
