//! `trine ctl` against a cluster of processes: what it changes is seen to happen, and what it cannot do it says.

use std::time::Duration;

use serde_json::Value;
use testkit::wait_until;

use crate::{
    command_line::{refused, run},
    stores::cluster::Cluster,
};

/// Replicas are made and leaders move within seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// `trine ctl` with the placement driver's addresses.
struct Ctl(String);

impl Ctl {
    fn text(&self, args: &[&str]) -> String {
        let output = run(&[&["ctl", "--pd", &self.0], args].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[&["--json"], args].concat())).expect("JSON")
    }

    /// The first region's id, the store of its leader and the stores of its replicas.
    fn region(&self) -> (u64, u64, Vec<u64>) {
        let page = self.json(&["region"]);
        let region = &page["regions"][0];
        let mut stores: Vec<u64> = region["peers"].as_array().expect("peers").iter().filter_map(|peer| peer["store_id"].as_u64()).collect();
        stores.sort_unstable();
        (region["id"].as_u64().expect("an id"), region["leader"]["store_id"].as_u64().unwrap_or(0), stores)
    }

    fn wait(&self, what: &str, reached: impl Fn(&Self) -> bool) {
        wait_until(what, PATIENCE, || reached(self).then_some(())).expect(what);
    }
}

#[test]
fn regions_stores_and_settings_are_changed_and_seen_to_be() {
    let cluster = Cluster::start(3);
    let ctl = Ctl(cluster.endpoints());
    ctl.wait("three replicas", |ctl| ctl.region().2.len() == 3);
    // Nothing else moves leaders meanwhile.
    ctl.text(&["scheduler", "pause", "all", "600"]);
    assert!(ctl.text(&["scheduler"]).lines().any(|line| line.contains("balance-leader-scheduler") && line.contains("paused")));
    let (region, leader, stores) = ctl.region();
    let other = *stores.iter().find(|store| **store != leader).expect("a store that does not lead");
    ctl.text(&["operator", "add", "transfer-leader", &region.to_string(), &other.to_string()]);
    ctl.wait("the leader moves", |ctl| ctl.region().1 == other);
    ctl.text(&["scheduler", "resume", "all"]);
    assert_eq!(ctl.json(&["scheduler"])["paused"], serde_json::json!([]));
    ctl.text(&["scheduler", "add", "evict-leader-scheduler", &other.to_string()]);
    ctl.wait("the store is freed of leaders", |ctl| ctl.region().1 != other);
    ctl.text(&["scheduler", "remove", &format!("evict-leader-scheduler-{other}")]);

    ctl.text(&["store", "label", &other.to_string(), "zone=z1", "host=h1"]);
    let labels = ctl.json(&["store", &other.to_string()])["store"]["labels"].clone();
    assert!(labels.to_string().contains("z1") && ctl.text(&["store"]).contains("host=h1"), "{labels}");
    ctl.text(&["config", "set", "max-replicas", "2"]);
    assert!(
        ctl.text(&["config", "show", "replication"]).lines().any(|line| line.contains("replication.max-replicas") && line.ends_with(" 2"))
    );
    ctl.wait("two replicas", |ctl| ctl.region().2.len() == 2);
    // A store is emptied and forgotten.
    let (_, _, stores) = ctl.region();
    let emptied = stores[0].to_string();
    ctl.text(&["store", "offline", &emptied]);
    ctl.wait("the store is empty", |ctl| ctl.json(&["store", &emptied])["store"]["state_name"] == "Tombstone");
    assert!(!ctl.region().2.contains(&stores[0]) && ctl.json(&["store"])["count"] == 2);
    ctl.text(&["store", "remove-tombstone"]);
    refused(&["ctl", "--pd", &ctl.0, "store", &emptied], &[&format!("store {emptied} is not known"), "trine ctl store"]);

    let id = region.to_string();
    ctl.text(&["operator", "add", "split-region", &id, "--keys", "6D"]);
    ctl.wait("the region is split", |ctl| ctl.json(&["region", "scan"])["count"] == 2);
    assert_eq!(ctl.json(&["region", "key", "6D"])["start_key"], "6D");
    assert_eq!(ctl.json(&["region", "key", "--raw", "l"])["end_key"], "6D");
    assert_eq!(ctl.json(&["region", "sibling", &id])["count"], 1);
    assert_eq!(ctl.json(&["region", "top", "version", "1"])["count"], 1);
    assert_eq!(ctl.json(&["region", "check", "miss-peer"])["count"].as_u64(), Some(0));
    assert!(ctl.text(&["safe-point"]).contains("(garbage collection)"));
    let [first, second] = [(), ()].map(|()| ctl.json(&["tso"])["tso"].as_u64().expect("a timestamp"));
    assert!(second > first, "{second} after {first}");
    let decoded = ctl.json(&["tso", "443852055297916932"]);
    assert_eq!((&decoded["physical"], &decoded["logical"]), (&1_693_161_221_687_u64.into(), &4.into()));
}

#[test]
fn members_hand_over_are_removed_and_stand_in_for_each_other() {
    let mut cluster = Cluster::with_members(3, 1);
    let ctl = Ctl(cluster.endpoints());
    let leader = |ctl: &Ctl| ctl.json(&["member", "leader", "show"])["name"].as_str().map(str::to_owned);
    let before = leader(&ctl).expect("a leader");
    let next = if before == "pd0" { "pd1" } else { "pd0" };
    ctl.text(&["member", "transfer", next]);
    ctl.wait("it leads", |ctl| leader(ctl).as_deref() == Some(next));
    ctl.wait("all are healthy", |ctl| ctl.text(&["health"]).matches("healthy").count() == 3);
    // The last of the list is gone: the others are asked, and it is taken out.
    let dead_first = ctl.0.rsplit(',').collect::<Vec<_>>().join(",");
    cluster.kill_member();
    let ctl = Ctl(dead_first);
    ctl.wait("it is missed", |ctl| ctl.text(&["health"]).contains("unreachable"));
    ctl.text(&["member", "remove", "pd2"]);
    ctl.wait("two members", |ctl| ctl.json(&["member"])["members"].as_array().is_some_and(|members| members.len() == 2));
    refused(&["ctl", "--pd", &ctl.0, "member", "remove", "pd2"], &["pd2", "not known"]);
}

#[test]
fn a_placement_driver_that_cannot_be_reached_is_named_with_the_way_out() {
    refused(&["ctl", "--pd", "127.0.0.1:1", "store"], &["127.0.0.1:1", "--pd HOST:PORT"]);
    refused(&["ctl", "-u", "https://127.0.0.1:1", "store"], &["TLS"]);
}
