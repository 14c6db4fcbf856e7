//! What SQL servers ask each other, and answer, through meta keys: there is no other channel between them.
//!
//! ```text
//!   asker:     question ─▶ Questions[id]   (and a notice)      looks for Answers[id] ─▶ takes it away
//!   the asked: hears the notice ─▶ finds Questions[id] ─▶ does it ─▶ takes it away and writes Answers[id], in one transaction
//! ```
//!
//! Who can write to the store can do everything anyway, so a question needs no other proof of where it comes from. What is asked and answered is the
//! business of the layer above; here it is JSON.
//!
//! Invariants:
//! - A question is taken away by the one it was asked of, or when its time is over.
//! - The asker does not wait longer than the lease of the one it asks: a server that has died is not waited for.

use std::time::Duration;

use base::TimeStamp;
use client::{Client, SnapshotOptions, TxnOptions};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Error, Result, change_meta,
    meta::{Meta, decode, keys},
    servers::{LEASE, LOOK_EVERY, Servers},
};

/// A question to one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id, never used again.
    pub id: i64,
    /// The server it is asked of.
    pub to: i64,
    /// When nobody waits for the answer any more, in milliseconds of the placement driver's timestamps.
    pub expires_ms: u64,
    /// What is asked.
    pub body: Value,
}

/// An answer that waits for the one who asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Answer {
    id: i64,
    expires_ms: u64,
    body: Value,
}

fn encoded<T: Serialize>(key: &[u8], value: &T) -> Result<Value> {
    serde_json::to_value(value).map_err(|source| Error::EncodeMeta { key: key.to_vec(), source })
}

impl Servers {
    /// Asks one server and waits for its answer.
    pub async fn ask<A: DeserializeOwned>(&self, to: i64, question: &impl Serialize) -> Result<A> {
        let client = self.client();
        let id = client.allocate_id().await? as i64;
        let (question_key, answer_key) = (keys::numbered(keys::QUESTIONS, id), keys::numbered(keys::ANSWERS, id));
        let body = encoded(&question_key, question)?;
        change_meta!(client, TxnOptions::default(), |meta, now| {
            let expires_ms = now.physical_ms() + LEASE.as_millis() as u64;
            meta.put(question_key.clone(), &Question { id, to, expires_ms, body: body.clone() })?;
            meta.notify(|notices| notices.questions += 1).await?;
        });
        let until = client.env().now() + LEASE;
        let found = loop {
            let newest = client.snapshot(TimeStamp::MAX, SnapshotOptions::default());
            if let Some(value) = newest.get(&answer_key).await? {
                break Some(decode::<Answer>(&answer_key, &value)?);
            }
            if client.env().now() >= until {
                break None;
            }
            client.env().sleep(LOOK_EVERY).await;
        };
        change_meta!(client, TxnOptions::default(), |meta, _now| {
            meta.remove(question_key.clone());
            meta.remove(answer_key.clone());
        });
        let answer = found.ok_or(Error::NoAnswer { server: to })?;
        serde_json::from_value(answer.body).map_err(|source| Error::DecodeMeta { key: answer_key, source })
    }

    /// The questions to this server that somebody waits for.
    pub async fn questions(&self) -> Result<Vec<Question>> {
        let mut txn = self.client().begin(TxnOptions::default());
        let now = txn.ensure_start_ts().await?;
        let questions = Meta::new(&mut txn).hash::<Question>(keys::QUESTIONS).await;
        txn.rollback().await;
        let is_ours = |question: &Question| question.to == self.id() && question.expires_ms > now.physical_ms();
        Ok(questions?.into_iter().filter(is_ours).collect())
    }

    /// Answers a question, unless it was taken back meanwhile.
    pub async fn answer(&self, question: &Question, answer: &impl Serialize) -> Result<()> {
        let (question_key, answer_key) = (keys::numbered(keys::QUESTIONS, question.id), keys::numbered(keys::ANSWERS, question.id));
        let body = encoded(&answer_key, answer)?;
        change_meta!(self.client(), TxnOptions::default(), |meta, _now| {
            if meta.get::<Question>(&question_key).await?.is_some() {
                meta.remove(question_key.clone());
                let answer = Answer { id: question.id, expires_ms: question.expires_ms, body: body.clone() };
                meta.put(answer_key.clone(), &answer)?;
            }
        });
        Ok(())
    }
}

/// How long questions and answers stay behind their time: the asker has taken them away by then, if it lives.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Forgets what nobody has taken away.
pub(crate) async fn sweep(client: &Client) -> Result<()> {
    change_meta!(client, TxnOptions::default(), |meta, now| {
        let is_over = |expires_ms: u64| expires_ms + FORGOTTEN_AFTER.as_millis() as u64 <= now.physical_ms();
        for question in meta.hash::<Question>(keys::QUESTIONS).await?.iter().filter(|question| is_over(question.expires_ms)) {
            meta.remove(keys::numbered(keys::QUESTIONS, question.id));
        }
        for answer in meta.hash::<Answer>(keys::ANSWERS).await?.iter().filter(|answer| is_over(answer.expires_ms)) {
            meta.remove(keys::numbered(keys::ANSWERS, answer.id));
        }
    });
    Ok(())
}
