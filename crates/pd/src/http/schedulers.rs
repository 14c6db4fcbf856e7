//! Pages about schedulers.

use std::{collections::HashMap, time::Duration};

use axum::{
    Json,
    extract::{Path, Query, State},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Member, Page};
use crate::{Error, core::scheduler::Scheduler};

/// `schedulers?status=paused` and `status=disabled` show those alone.
pub(super) async fn list(State(node): Member, Query(query): Query<HashMap<String, String>>) -> Page {
    node.leading()?;
    let now = node.now();
    let names = node.read(|cluster| {
        let config = &cluster.state.config.schedulers;
        let disabled = |scheduler: &Scheduler| config.disabled.iter().any(|name| name == scheduler.name());
        let runs = |scheduler: &Scheduler| match scheduler {
            Scheduler::EvictLeader => !config.evict_leader_stores.is_empty(),
            other => !disabled(other),
        };
        let halted: Vec<Scheduler> = cluster.live.halted(now).collect();
        let all = Scheduler::ALL.into_iter();
        let names = |chosen: &dyn Fn(&Scheduler) -> bool| all.filter(chosen).map(Scheduler::name).collect::<Vec<_>>();
        match query.get("status").map(String::as_str) {
            None | Some("") => Some(names(&runs)),
            Some("paused") => Some(names(&|scheduler| runs(scheduler) && halted.contains(scheduler))),
            Some("disabled") => Some(names(&disabled)),
            Some(_) => None,
        }
    });
    Ok(Json(json!(names.ok_or(Error::Invalid("status must be paused or disabled"))?)))
}

/// What a scheduler was told: the stores that are to lead nothing.
pub(super) async fn settings(State(node): Member, Path(name): Path<String>) -> Page {
    node.leading()?;
    match known(&name)? {
        Scheduler::EvictLeader => Ok(Json(node.read(|cluster| {
            let everything = json!([{ "start-key": "", "end-key": "" }]);
            let stores = cluster.state.config.schedulers.evict_leader_stores.iter();
            let ranges: HashMap<String, Value> = stores.map(|store| (store.to_string(), everything.clone())).collect();
            json!({ "store-id-ranges": ranges })
        }))),
        _ => Ok(Json(json!({}))),
    }
}

/// For how many seconds nothing is wanted of a scheduler; 0 lets it go on.
#[derive(Debug, Deserialize)]
pub(super) struct Halt {
    delay: u64,
}

/// `all` halts every scheduler. Only the member that leads now knows of it: nothing stays halted for longer than that member leads.
pub(super) async fn halt(State(node): Member, Path(name): Path<String>, Json(halt): Json<Halt>) -> Page {
    node.leading()?;
    let schedulers = if name == "all" { Scheduler::ALL.to_vec() } else { vec![known(&name)?] };
    let until = (halt.delay > 0).then(|| node.now() + Duration::from_secs(halt.delay));
    node.write(|cluster| schedulers.into_iter().for_each(|scheduler| cluster.live.halt(scheduler, until)));
    Ok(Json(json!("Pause or resume the scheduler successfully.")))
}

/// `{"name": "evict-leader-scheduler", "store_id": 1}`; other schedulers by name alone.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    name: String,
    store_id: Option<u64>,
}

fn known(name: &str) -> Result<Scheduler, Error> {
    // Evicting from one store is named with it when it is removed.
    let name = if name.starts_with("evict-leader-scheduler") { "evict-leader-scheduler" } else { name };
    Scheduler::ALL.into_iter().find(|scheduler| scheduler.name() == name).ok_or(Error::Invalid("no scheduler of that name"))
}

pub(super) async fn add(State(node): Member, Json(wanted): Json<Wanted>) -> Page {
    let scheduler = known(&wanted.name)?;
    if scheduler == Scheduler::EvictLeader {
        let store_id = wanted.store_id.ok_or(Error::Invalid("store_id is missing"))?;
        node.read(|cluster| cluster.state.living_store(store_id).map(|_| ()))?;
        node.change_config(|config| {
            let stores = &mut config.schedulers.evict_leader_stores;
            if !stores.contains(&store_id) {
                stores.push(store_id);
            }
        })
        .await?;
    } else {
        node.change_config(|config| config.schedulers.disabled.retain(|name| name != scheduler.name())).await?;
    }
    Ok(Json(json!("The scheduler is created.")))
}

/// `evict-leader-scheduler` ends for all stores, `evict-leader-scheduler-1` for one.
pub(super) async fn remove(State(node): Member, Path(name): Path<String>) -> Page {
    let scheduler = known(&name)?;
    if scheduler == Scheduler::EvictLeader {
        let store = name.strip_prefix("evict-leader-scheduler-").map(|id| id.parse::<u64>().map_err(|_| Error::Invalid("no store id")));
        let store = store.transpose()?;
        node.change_config(|config| config.schedulers.evict_leader_stores.retain(|id| store.is_some_and(|store| store != *id))).await?;
    } else {
        node.change_config(|config| {
            if config.schedulers.disabled.iter().all(|name| name != scheduler.name()) {
                config.schedulers.disabled.push(scheduler.name().to_owned());
            }
        })
        .await?;
    }
    Ok(Json(json!("The scheduler is removed.")))
}
