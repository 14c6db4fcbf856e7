//! What the servers of a cluster tell each other of through meta keys: accounts and privileges have changed, global variables were set.
//!
//! Whoever changes something writes a counter in the same store; every server looks at the counters several times a second
//! ([`catalog::Catalog::watch_notices`]) and reads again what has changed. In one process nothing is written.

use std::sync::{Arc, Weak};

use catalog::{
    change_meta,
    meta::{Meta, keys},
};
use client::TxnOptions;
use serde::{Deserialize, Serialize};

use crate::{Error, domain::Domain, vars};

/// A value of SET GLOBAL.
#[derive(Serialize, Deserialize)]
struct StoredVariable {
    name: String,
    /// The text SHOW VARIABLES prints; absent for the default.
    value: Option<String>,
}

/// Accounts or privileges have changed.
pub(crate) async fn accounts_changed(domain: &Domain) -> Result<(), Error> {
    if domain.catalog().servers().is_some() {
        change_meta!(domain.client(), TxnOptions::default(), |meta, _now| {
            meta.notify(|notices| notices.accounts += 1).await?;
        });
    }
    Ok(())
}

/// A global variable was set.
pub(crate) async fn variable_changed(domain: &Domain, name: &str, value: Option<&str>) -> Result<(), Error> {
    if domain.catalog().servers().is_some() {
        let key = codec::meta::hash_field_key(keys::GLOBAL_VARIABLES, name.as_bytes());
        let stored = StoredVariable { name: name.to_owned(), value: value.map(str::to_owned) };
        change_meta!(domain.client(), TxnOptions::default(), |meta, _now| {
            meta.put(key.clone(), &stored)?;
            meta.notify(|notices| notices.variables += 1).await?;
        });
    }
    Ok(())
}

/// Takes over the values that were set on any server.
pub(crate) async fn load_variables(domain: &Domain) -> Result<(), Error> {
    if domain.catalog().servers().is_none() {
        return Ok(());
    }
    let mut txn = domain.client().begin(TxnOptions::default());
    let stored = Meta::new(&mut txn).hash::<StoredVariable>(keys::GLOBAL_VARIABLES).await;
    txn.rollback().await;
    for StoredVariable { name, value } in stored? {
        match vars::settable(&name, true) {
            Ok(definition) => domain.set_global(definition, value),
            Err(error) => tracing::warn!(variable = name, %error, "a stored variable is skipped"),
        }
    }
    Ok(())
}

/// Reads again what other servers have changed, as long as there is a domain.
pub(crate) async fn follow(domain: Weak<Domain>) {
    let Some(mut told) = domain.upgrade().map(|domain| domain.catalog().watch_notices()) else { return };
    let mut known = *told.borrow_and_update();
    while told.changed().await.is_ok() {
        let notices = *told.borrow_and_update();
        let Some(domain) = domain.upgrade() else { return };
        if let Err(error) = catch_up(&domain, known, notices).await {
            // The next notice, or the next start, reads everything.
            tracing::warn!(%error, "could not read what another server has changed");
            continue;
        }
        known = notices;
    }
}

async fn catch_up(domain: &Arc<Domain>, known: catalog::Notices, notices: catalog::Notices) -> Result<(), Error> {
    if known.accounts != notices.accounts {
        domain.accounts().reload(domain).await?;
    }
    if known.variables != notices.variables {
        load_variables(domain).await?;
    }
    Ok(())
}
