//! Pages about the configuration and the cluster as a whole.

use axum::{
    Json,
    extract::{Path, State},
};
use proto::pdstate::{SetServiceSafePoint, command::Kind};
use serde_json::{Map, Value, json};

use super::{Member, Page};
use crate::{Error, core::PlacementConfig, node::Node};

fn value_of(config: &PlacementConfig) -> Value {
    serde_json::to_value(config).expect("a configuration is representable in JSON")
}

fn current(node: &Node) -> Result<Value, Error> {
    node.leading()?;
    Ok(node.read(|cluster| value_of(&cluster.state.config)))
}

pub(super) async fn all(State(node): Member) -> Page {
    Ok(Json(current(&node)?))
}

pub(super) async fn schedule(State(node): Member) -> Page {
    Ok(Json(current(&node)?["schedule"].take()))
}

pub(super) async fn replication(State(node): Member) -> Page {
    Ok(Json(current(&node)?["replication"].take()))
}

/// Settings by name, with or without their section: `{"max-replicas": 5}`, `{"schedule.leader-schedule-limit": 8}`,
/// `{"schedule": {…}}`. All are taken or none.
pub(super) async fn set(State(node): Member, Json(settings): Json<Map<String, Value>>) -> Page {
    let mut wanted = current(&node)?;
    for (name, value) in &settings {
        put(&mut wanted, name, value).ok_or(Error::Invalid("no setting of that name"))?;
    }
    let wanted: PlacementConfig = serde_json::from_value(wanted).map_err(|_| Error::Invalid("a value of the wrong type"))?;
    node.change_config(|config| *config = wanted).await?;
    Ok(Json(json!("The config is updated.")))
}

/// Puts a value where its name says; `None` when there is no such setting.
fn put(config: &mut Value, name: &str, value: &Value) -> Option<()> {
    // The section's own name, as the reference system has it.
    let name = name.strip_prefix("replicate.").map_or(name.to_owned(), |rest| format!("replication.{rest}"));
    if let Some((section, rest)) = name.split_once('.') {
        return put(config.get_mut(section)?, rest, value);
    }
    if let (Some(Value::Object(_)), Value::Object(inner)) = (config.get(&name), value) {
        let section = config.get_mut(&name)?;
        return inner.iter().try_for_each(|(name, value)| put(section, name, value));
    }
    if let Some(slot) = config.get_mut(&name) {
        *slot = value.clone();
        return Some(());
    }
    let sections = config.as_object_mut()?;
    let slot = sections.values_mut().find_map(|section| section.as_object_mut()?.get_mut(&name))?;
    *slot = value.clone();
    Some(())
}

pub(super) async fn cluster(State(node): Member) -> Page {
    node.leading()?;
    Ok(Json(node.read(|cluster| {
        let state = &cluster.state;
        json!({ "id": state.cluster_id, "max_peer_count": state.config.replication.max_replicas, "bootstrapped": state.bootstrapped })
    })))
}

pub(super) async fn safe_points(State(node): Member) -> Page {
    node.confirm().await?;
    let wall_ms = node.env().wall_ms();
    Ok(Json(node.read(|cluster| {
        let services = cluster.state.services(wall_ms).map(
            |(name, safe_point, expires_ms)| json!({ "service_id": name, "safe_point": safe_point.0, "expired_at": expires_ms / 1000 }),
        );
        json!({ "gc_safe_point": cluster.state.gc_safe_point().0, "service_gc_safe_points": services.collect::<Vec<_>>() })
    })))
}

pub(super) async fn remove_safe_point(State(node): Member, Path(service): Path<String>) -> Page {
    node.leading()?;
    let wall_ms = node.env().wall_ms();
    node.propose(Kind::SetServiceSafePoint(SetServiceSafePoint { service, safe_point: 0, expires_ms: 0, wall_ms })).await?;
    Ok(Json(json!("The service's safe point is removed.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_with_and_without_their_section() {
        let mut config = value_of(&PlacementConfig::default());
        assert_eq!(put(&mut config, "max-replicas", &json!(5)), Some(()));
        assert_eq!(put(&mut config, "schedule.leader-schedule-limit", &json!(9)), Some(()));
        assert_eq!(put(&mut config, "replicate.location-labels", &json!("zone,host")), Some(()));
        assert_eq!(put(&mut config, "schedule", &json!({ "max-snapshot-count": 3 })), Some(()));
        assert_eq!(put(&mut config, "no-such-setting", &json!(1)), None);
        let config: PlacementConfig = serde_json::from_value(config).unwrap();
        assert_eq!((config.replication.max_replicas, config.schedule.leader_schedule_limit, config.schedule.max_snapshot_count), (5, 9, 3));
        assert_eq!(config.replication.location_labels, ["zone", "host"]);
    }
}
