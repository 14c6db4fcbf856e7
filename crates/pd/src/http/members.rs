//! Pages about the members.

use axum::{
    Json,
    extract::{Path, State},
};
use proto::pdpb;
use serde_json::{Value, json};

use super::{Member, Page};
use crate::{Error, node::Node};

fn one(member: &pdpb::Member) -> Value {
    json!({
        "name": member.name,
        "member_id": member.member_id,
        "peer_urls": member.peer_urls,
        "client_urls": member.client_urls,
        "binary_version": member.binary_version,
    })
}

fn all(node: &Node) -> Vec<pdpb::Member> {
    node.read(|cluster| cluster.state.members.values().cloned().collect())
}

pub(super) async fn list(State(node): Member) -> Page {
    let leader = node.leader().as_ref().map(one);
    Ok(Json(json!({
        "header": { "cluster_id": node.cluster_id() },
        "members": all(&node).iter().map(one).collect::<Vec<_>>(),
        "leader": leader,
        "etcd_leader": leader,
    })))
}

pub(super) async fn leader(State(node): Member) -> Page {
    Ok(Json(one(&node.leader().ok_or(Error::NoLeader)?)))
}

pub(super) async fn health(State(node): Member) -> Page {
    let reachable = node.reachable_members();
    let pages = all(&node).into_iter().map(|member| {
        let healthy = reachable.contains(&member.member_id) || member.member_id == node.member().member_id && node.status().leads;
        json!({ "name": member.name, "member_id": member.member_id, "client_urls": member.client_urls, "health": healthy })
    });
    Ok(Json(Value::Array(pages.collect())))
}

pub(super) async fn status(State(node): Member) -> Page {
    let status = node.status();
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "name": node.member().name,
        "leader_id": status.leader,
        "raft_term": status.term,
        "is_leader": status.leads,
    })))
}

pub(super) async fn version() -> Page {
    Ok(Json(json!({ "version": env!("CARGO_PKG_VERSION") })))
}

fn named(node: &Node, name: &str) -> Result<u64, Error> {
    let found = all(node).into_iter().find(|member| member.name == name).map(|member| member.member_id);
    found.ok_or_else(|| Error::Member { member: name.to_owned(), reason: "not known" })
}

pub(super) async fn remove_by_name(State(node): Member, Path(name): Path<String>) -> Page {
    node.remove_member(named(&node, &name)?).await?;
    Ok(Json(json!(format!("removed, pd: {name}"))))
}

pub(super) async fn remove_by_id(State(node): Member, Path(id): Path<u64>) -> Page {
    node.remove_member(id).await?;
    Ok(Json(json!(format!("removed, pd: {id}"))))
}

pub(super) async fn transfer(State(node): Member, Path(name): Path<String>) -> Page {
    node.transfer_leader(named(&node, &name)?).await?;
    Ok(Json(json!("The leader was transferred.")))
}

pub(super) async fn resign(State(node): Member) -> Page {
    let own = node.member().member_id;
    let next = node.reachable_members().into_iter().find(|id| *id != own);
    let next = next.ok_or_else(|| Error::Member { member: node.member().name.clone(), reason: "no other member can be reached" })?;
    node.transfer_leader(next).await?;
    Ok(Json(json!("The leader has resigned.")))
}
