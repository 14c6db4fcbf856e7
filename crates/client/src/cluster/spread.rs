//! Requests whose keys may lie in several regions.
//!
//! ```text
//!   items ─▶ grouped by region ─▶ one request a group, all at the same time ─▶ (items, answer) pairs
//!               ▲                        │ not served: regions have changed
//!               └── the group's items ───┘
//! ```
//!
//! Invariant: every item is in exactly one of the pairs, or the whole has failed; when it has, no request of it is under way any more.

use std::pin::Pin;

use bytes::Bytes;
use env::BoxFuture;
use futures_util::future::join_all;

use super::{ClusterStore, command::Command, patience::Patience};
use crate::error::{Error, Result};

/// What is spread: items by number, their keys, and requests for some of them.
pub(super) trait Spread<C: Command>: Sync {
    /// Number of items.
    fn len(&self) -> usize;

    /// Where an item belongs.
    fn key(&self, item: usize) -> Bytes;

    /// The request for items that lie in one region.
    fn request(&self, items: &[usize]) -> C;
}

/// Which items a request was for, and its answer.
pub(super) type Part<C> = (Vec<usize>, <C as Command>::Answer);

/// All parts, once they are there.
type Parts<'a, C> = Pin<Box<dyn Future<Output = Result<Vec<Part<C>>>> + Send + 'a>>;

impl ClusterStore {
    /// Sends requests for all items.
    pub(super) async fn spread<C: Command>(&self, work: &dyn Spread<C>) -> Result<Vec<Part<C>>> {
        self.spread_items((0..work.len()).collect(), work, self.patience()).await
    }

    fn spread_items<'a, C: Command>(&'a self, items: Vec<usize>, work: &'a dyn Spread<C>, mut patience: Patience) -> Parts<'a, C> {
        Box::pin(async move {
            let mut groups = self.group(&items, |item| work.key(item), &mut patience).await?;
            if groups.len() == 1
                && let Some((region, items)) = groups.pop()
            {
                return match self.send(&region, work.request(&items), &mut patience).await? {
                    Some(answer) => Ok(vec![(items, answer)]),
                    None => self.spread_items(items, work, patience).await,
                };
            }
            let sent = groups.into_iter().map(|(region, items)| {
                let mut patience = patience.clone();
                async move {
                    match self.send(&region, work.request(&items), &mut patience).await? {
                        Some(answer) => Ok(vec![(items, answer)]),
                        None => self.spread_items(items, work, patience).await,
                    }
                }
            });
            let mut parts = Vec::new();
            let mut failed: Option<Error> = None;
            for result in join_all(sent).await {
                match result {
                    Ok(part) => parts.extend(part),
                    // What may have been carried out weighs more than what was not.
                    Err(error @ Error::StoreUnavailable { unanswered: true, .. }) => failed = Some(error),
                    Err(error) => failed = Some(failed.unwrap_or(error)),
                }
            }
            match failed {
                Some(error) => Err(error),
                None => Ok(parts),
            }
        })
    }

    /// Sends a request that belongs to one key.
    pub(super) fn at_key<C: Command>(&self, key: Bytes, request: C) -> BoxFuture<Result<C::Answer>> {
        let this = self.clone();
        Box::pin(async move {
            let mut patience = this.patience();
            loop {
                let region = this.region_of(&key, &mut patience).await?;
                if let Some(answer) = this.send(&region, request.clone(), &mut patience).await? {
                    return Ok(answer);
                }
            }
        })
    }
}
