//! Pages about operators.

use axum::{
    Json,
    extract::{Path, State},
};
use proto::pdpb::OperatorStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Member, Page, from_hex};
use crate::{
    Error,
    core::operator::{Operator, OperatorKind, Step, steps_to},
    node::Node,
};

fn page(operator: &Operator) -> Value {
    let step = |step: &Step| match step {
        Step::AddLearner(peer) => json!({ "add-learner": { "store": peer.store_id, "peer": peer.id } }),
        Step::Promote(peer) => json!({ "promote": { "store": peer.store_id, "peer": peer.id } }),
        Step::RemovePeer(peer) => json!({ "remove-peer": { "store": peer.store_id, "peer": peer.id } }),
        Step::TransferLeader { from_store, to_store } => json!({ "transfer-leader": { "from": from_store, "to": to_store } }),
        Step::LeaveJoint => json!("leave-joint-state"),
        Step::MergeInto { target } => json!({ "merge-region": { "into": target.id } }),
        Step::Absorb { source } => json!({ "merge-region": { "from": source.id } }),
        Step::Split { keys, .. } => json!({ "split": { "keys": keys.iter().map(|key| super::hex(key)).collect::<Vec<_>>() } }),
    };
    json!({
        "region_id": operator.region_id,
        "kind": operator.kind.name(),
        "desc": operator.description,
        "current_step": operator.at,
        "steps": operator.steps.iter().map(step).collect::<Vec<_>>(),
        "status": "RUNNING",
    })
}

pub(super) async fn list(State(node): Member) -> Page {
    node.leading()?;
    Ok(Json(node.read(|cluster| Value::Array(cluster.live.controller.iter().map(page).collect()))))
}

pub(super) async fn one(State(node): Member, Path(region): Path<u64>) -> Page {
    node.leading()?;
    let found = node.read(|cluster| {
        let controller = &cluster.live.controller;
        let ended = |id| {
            let ended = controller.ended(id)?;
            Some(json!({ "region_id": id, "desc": ended.description, "kind": ended.kind.name(), "status": ended.status.as_str_name() }))
        };
        controller.of(region).map(page).or_else(|| ended(region))
    });
    Ok(Json(found.ok_or(Error::NoOperator(region))?))
}

pub(super) async fn remove(State(node): Member, Path(region): Path<u64>) -> Page {
    node.leading()?;
    match node.write(|cluster| cluster.live.controller.end(region, OperatorStatus::Cancel)) {
        true => Ok(Json(json!("The operator is canceled."))),
        false => Err(Error::NoOperator(region).into()),
    }
}

/// What can be asked for.
#[derive(Debug, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub(super) enum Wanted {
    TransferLeader {
        region_id: u64,
        to_store_id: u64,
    },
    AddPeer {
        region_id: u64,
        store_id: u64,
    },
    RemovePeer {
        region_id: u64,
        store_id: u64,
    },
    TransferPeer {
        region_id: u64,
        from_store_id: u64,
        to_store_id: u64,
    },
    MergeRegion {
        source_region_id: u64,
        target_region_id: u64,
    },
    SplitRegion {
        region_id: u64,
        #[serde(default)]
        keys: Vec<String>,
    },
    ScatterRegion {
        region_id: u64,
        #[serde(default)]
        group: String,
    },
}

pub(super) async fn add(State(node): Member, Json(wanted): Json<Wanted>) -> Page {
    let leading = node.leading()?;
    let now = node.now();
    let effects = match wanted {
        Wanted::ScatterRegion { region_id, group } => node.write(|cluster| cluster.scatter(region_id, &group, now))?,
        Wanted::MergeRegion { source_region_id, target_region_id } => {
            node.write(|cluster| cluster.merge(source_region_id, target_region_id, now))?
        }
        Wanted::SplitRegion { region_id, keys } => {
            let keys: Result<Vec<bytes::Bytes>, Error> = keys.iter().map(|key| from_hex(key).map(Into::into)).collect();
            let keys = keys?;
            node.write(|cluster| cluster.split(region_id, keys, now))?
        }
        Wanted::TransferLeader { region_id, to_store_id } => {
            move_to(&node, region_id, Some(to_store_id), |stores| {
                if stores.contains(&to_store_id) { Ok(()) } else { Err("it has no replica on that store") }
            })
            .await?
        }
        Wanted::AddPeer { region_id, store_id } => move_to(&node, region_id, None, |stores| with(stores, store_id)).await?,
        Wanted::RemovePeer { region_id, store_id } => move_to(&node, region_id, None, |stores| without(stores, store_id)).await?,
        Wanted::TransferPeer { region_id, from_store_id, to_store_id } => {
            let change = |stores: &mut Vec<u64>| without(stores, from_store_id).and_then(|()| with(stores, to_store_id));
            move_to(&node, region_id, None, change).await?
        }
    };
    leading.carry_out(&node, effects);
    Ok(Json(json!("The operator is created.")))
}

fn with(stores: &mut Vec<u64>, store: u64) -> Result<(), &'static str> {
    if stores.contains(&store) {
        return Err("it has a replica on that store already");
    }
    stores.push(store);
    Ok(())
}

fn without(stores: &mut Vec<u64>, store: u64) -> Result<(), &'static str> {
    let before = stores.len();
    stores.retain(|known| *known != store);
    if stores.len() == before { Err("it has no replica on that store") } else { Ok(()) }
}

async fn move_to(
    node: &Node,
    region_id: u64,
    leader: Option<u64>,
    change: impl FnOnce(&mut Vec<u64>) -> Result<(), &'static str>,
) -> Result<Vec<crate::core::Effect>, Error> {
    let mut id = node.allocate_ids(1).await.ok();
    let now = node.now();
    node.write(|cluster| {
        let region = cluster.state.regions.get(region_id).ok_or(Error::RegionNotFound(region_id))?;
        let mut stores: Vec<u64> = region.meta.peers.iter().map(|peer| peer.store_id).collect();
        change(&mut stores).map_err(|reason| Error::NotScheduled { region_id, reason })?;
        for store in &stores {
            cluster.state.living_store(*store)?;
        }
        if stores.is_empty() {
            return Err(Error::NotScheduled { region_id, reason: "it would have no replica" });
        }
        let steps = steps_to(region, &stores, leader, || id.take()).ok_or(Error::NoLeader)?;
        let operator = Operator::new(region, OperatorKind::Admin, "asked-for", steps, now);
        cluster.begin_asked(operator, now)
    })
}
