//! Rows of tables about the whole cluster: its processes, its regions, who waits for whom.
//!
//! They ask other processes, so they are read when a statement names them and only then. Who may not see what others do gets no rows, but for
//! connections of the same user.

use catalog::{ServerAbout, TableInfo, name::eq_ignore_case};
use client::{LabelPage, RegionPage};
use exec::ExecCtx;
use types::{Datum, Time};

use crate::{
    peers,
    regions::{all_parts, key_info, key_name, parts_in},
    result::text,
    virtual_tables::{SessionTables, process_row},
};

type Rows = Vec<Vec<Datum>>;

fn number(number: u64) -> Datum {
    Datum::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A moment, of milliseconds since the epoch; nothing for 0.
fn moment(wall_ms: u64) -> Datum {
    let micros = i64::try_from(wall_ms).ok().and_then(|ms| ms.checked_mul(1000));
    micros.and_then(|micros| Time::timestamp_from_unix_micros(micros, 0)).map_or(Datum::Null, Datum::Time)
}

/// Time since a moment, as `1h2m3s`.
fn uptime(started_ms: u64, now_ms: u64) -> Datum {
    if started_ms == 0 {
        return Datum::Null;
    }
    let seconds = now_ms.saturating_sub(started_ms) / 1000;
    text(format!("{}h{}m{}s", seconds / 3600, seconds / 60 % 60, seconds % 60))
}

/// Where a server's status page is; nothing where it has none.
fn status_address(about: &ServerAbout) -> String {
    if about.status_port == 0 { String::new() } else { format!("{}:{}", about.host, about.status_port) }
}

impl SessionTables {
    /// The rows of a table about the cluster; `None` for other tables.
    pub(crate) async fn cluster_rows(&self, table: &TableInfo, ctx: &ExecCtx) -> exec::Result<Option<Rows>> {
        if !eq_ignore_case(&table.database, "information_schema") {
            return Ok(None);
        }
        let rows = match table.name.as_str() {
            "CLUSTER_PROCESSLIST" => self.cluster_processes().await?,
            // What follows tells of everybody's data.
            "CLUSTER_INFO" | "TIDB_SERVERS_INFO" | "TIKV_STORE_STATUS" | "TIKV_REGION_STATUS" | "TIKV_REGION_PEERS" | "DATA_LOCK_WAITS"
            | "DEADLOCKS"
                if !self.sees_all =>
            {
                Vec::new()
            }
            "CLUSTER_INFO" => self.cluster_info().await?,
            "TIDB_SERVERS_INFO" => self.servers_info().await?,
            "TIKV_STORE_STATUS" => self.store_status().await?,
            "TIKV_REGION_STATUS" => self.region_status(ctx).await?,
            "TIKV_REGION_PEERS" => self.region_peers().await?,
            "DATA_LOCK_WAITS" => self.lock_waits(ctx).await?,
            "DEADLOCKS" => self.deadlocks(ctx),
            _ => return Ok(None),
        };
        Ok(Some(rows))
    }

    fn now_ms(&self) -> u64 {
        self.domain.client().env().wall_ms()
    }

    async fn cluster_processes(&self) -> exec::Result<Rows> {
        let servers = peers::processes(&self.domain, self.only_of().map(str::to_owned)).await?;
        let rows = servers.into_iter().flat_map(|(about, processes)| {
            let instance = text(peers::instance(&about));
            processes.into_iter().map(move |process| {
                let mut row = vec![instance.clone()];
                row.extend(process_row(process));
                row
            })
        });
        Ok(rows.collect())
    }

    async fn cluster_info(&self) -> exec::Result<Rows> {
        let now = self.now_ms();
        let row = |kind: &str, instance: &str, status: &str, versions: [&str; 2], started_ms: u64, id: Datum| {
            let [version, hash] = versions.map(text);
            vec![text(kind), text(instance), text(status), version, hash, moment(started_ms), uptime(started_ms, now), id]
        };
        let mut rows = Vec::new();
        for server in peers::servers(&self.domain).await? {
            let about = &server.about;
            let versions = [about.version.as_str(), about.git_hash.as_str()];
            let id = Datum::Int(i64::from(server.number));
            rows.push(row("tidb", &peers::instance(about), &status_address(about), versions, about.started_ms, id));
        }
        let client = self.domain.client();
        for member in client.member_pages().await? {
            let url = member.client_urls.first().map_or("", |url| url.trim_start_matches("http://"));
            rows.push(row("pd", url, url, [&member.binary_version, &member.git_hash], 0, Datum::Null));
        }
        // In one process the store has no address of its own.
        for page in client.store_pages().await?.into_iter().filter(|page| !page.store.address.is_empty()) {
            let store = page.store;
            let started_ms = u64::try_from(store.start_timestamp).unwrap_or(0).saturating_mul(1000);
            let versions = [store.version.as_str(), store.git_hash.as_str()];
            rows.push(row("tikv", &store.address, &store.status_address, versions, started_ms, Datum::Null));
        }
        Ok(rows)
    }

    async fn servers_info(&self) -> exec::Result<Rows> {
        let servers = peers::servers(&self.domain).await?;
        let rows = servers.into_iter().map(|server| {
            let about = server.about;
            vec![
                text(server.id.to_string()),
                text(about.host),
                Datum::Int(i64::from(about.port)),
                Datum::Int(i64::from(about.status_port)),
                text(format!("{}s", catalog::LEASE.as_secs())),
                text(about.version),
                text(about.git_hash),
                text("Off"),
                text(""),
            ]
        });
        Ok(rows.collect())
    }

    async fn store_status(&self) -> exec::Result<Rows> {
        let now = self.now_ms();
        let label = |label: &LabelPage| serde_json::json!({ "key": label.key, "value": label.value });
        let stores = self.domain.client().store_pages().await?;
        let rows = stores.into_iter().map(|page| {
            let (store, status) = (page.store, page.status);
            let started_ms = u64::try_from(store.start_timestamp).unwrap_or(0).saturating_mul(1000);
            vec![
                number(store.id),
                text(store.address),
                Datum::Int(store.state),
                text(store.state_name),
                text(serde_json::Value::from_iter(store.labels.iter().map(label)).to_string()),
                text(store.version),
                text(status.capacity),
                text(status.available),
                number(status.leader_count),
                number(status.leader_size),
                number(status.region_count),
                number(status.region_size),
                moment(started_ms),
                moment(status.last_heartbeat_ms.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0)),
                uptime(started_ms, now),
            ]
        });
        Ok(rows.collect())
    }

    async fn regions(&self) -> exec::Result<Vec<RegionPage>> {
        let everything = base::KeyRange { start: bytes::Bytes::new(), end: bytes::Bytes::new() };
        Ok(self.domain.client().region_pages(&everything).await?)
    }

    /// One row for each table and index a region has keys of, and one for a region without any.
    async fn region_status(&self, ctx: &ExecCtx) -> exec::Result<Rows> {
        let parts = all_parts(&ctx.infoschema);
        let mut rows = Vec::new();
        for region in self.regions().await? {
            let range = region.range()?;
            let row = |of: [Datum; 6]| {
                let mut row = vec![number(region.id), text(&region.start_key), text(&region.end_key)];
                row.extend(of);
                let measured = [region.written_bytes, region.read_bytes, region.approximate_size, region.approximate_keys];
                row.extend([number(region.epoch.conf_ver), number(region.epoch.version)]);
                row.extend(measured.map(number));
                row
            };
            let found = parts_in(&parts, &range);
            if found.is_empty() {
                rows.push(row([Datum::Null, Datum::Null, Datum::Null, Datum::Int(0), Datum::Null, Datum::Null]));
            }
            rows.extend(found.iter().map(|part| {
                let (table, index) = (part.table, part.index);
                row([
                    Datum::Int(table.id.0),
                    text(&table.database),
                    text(&table.name),
                    Datum::Int(i64::from(index.is_some())),
                    index.map_or(Datum::Null, |index| Datum::Int(index.id.0)),
                    index.map_or(Datum::Null, |index| text(&index.name)),
                ])
            }));
        }
        Ok(rows)
    }

    async fn region_peers(&self) -> exec::Result<Rows> {
        let mut rows = Vec::new();
        for region in self.regions().await? {
            for peer in &region.peers {
                let down = region.down_peers.iter().find(|down| down.peer.id == peer.id);
                let is_pending = region.pending_peers.iter().any(|pending| pending.id == peer.id);
                let status = match (down, is_pending) {
                    (Some(_), _) => "DOWN",
                    (None, true) => "PENDING",
                    (None, false) => "NORMAL",
                };
                rows.push(vec![
                    number(region.id),
                    number(peer.id),
                    number(peer.store_id),
                    Datum::Int(i64::from(peer.role_name == "Learner")),
                    Datum::Int(i64::from(region.leader.as_ref().is_some_and(|leader| leader.id == peer.id))),
                    text(status),
                    number(down.map_or(0, |down| down.down_seconds)),
                ]);
            }
        }
        Ok(rows)
    }

    async fn lock_waits(&self, ctx: &ExecCtx) -> exec::Result<Rows> {
        let waits = self.domain.client().all_lock_waits().await?;
        let rows = waits.into_iter().map(|edge| {
            vec![
                text(key_name(&edge.key)),
                key_info(&ctx.infoschema, &edge.key).map_or(Datum::Null, text),
                Datum::UInt(edge.waiter.0),
                Datum::UInt(edge.holder.0),
                Datum::Null,
                Datum::Null,
            ]
        });
        Ok(rows.collect())
    }

    fn deadlocks(&self, ctx: &ExecCtx) -> Rows {
        let mut rows = Vec::new();
        for deadlock in self.domain.deadlocks().all() {
            for edge in &deadlock.edges {
                rows.push(vec![
                    number(deadlock.id),
                    moment(deadlock.wall_ms),
                    Datum::Int(0),
                    Datum::UInt(edge.waiter.0),
                    Datum::Null,
                    Datum::Null,
                    text(key_name(&edge.key)),
                    key_info(&ctx.infoschema, &edge.key).map_or(Datum::Null, text),
                    Datum::UInt(edge.holder.0),
                ]);
            }
        }
        rows
    }
}
