//! Splits: ids for new regions, news of what became of old ones, and orders to split.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use proto::{
    metapb::Region,
    pdpb::{
        AskBatchSplitRequest, AskBatchSplitResponse, AskSplitRequest, AskSplitResponse, GetOperatorRequest, GetOperatorResponse,
        OperatorStatus, ReportBatchSplitRequest, ReportBatchSplitResponse, ReportSplitRequest, ReportSplitResponse, ScatterRegionRequest,
        ScatterRegionResponse, SplitAndScatterRegionsRequest, SplitAndScatterRegionsResponse, SplitId, SplitRegionsRequest,
        SplitRegionsResponse,
    },
    pdstate::{PutRegions, command::Kind},
};

use crate::{Error, Result, node::Node};

/// How often a split that was asked for is looked at, and asked for again.
const SPLIT_LOOKS: usize = 50;
/// Pause between two looks.
const SPLIT_PAUSE: Duration = Duration::from_millis(100);
/// Parts one region may be split into at a time.
const MAX_PARTS: u32 = 4096;

async fn split_ids(node: &Node, region: Option<Region>, count: u32) -> Result<Vec<SplitId>> {
    node.leading()?;
    let region = region.ok_or(Error::Invalid("no region"))?;
    if count == 0 || count > MAX_PARTS {
        return Err(Error::Invalid("a split makes 1 to 4096 new regions"));
    }
    node.read(|cluster| match cluster.state.bootstrapped {
        true => cluster
            .state
            .regions
            .check(&region)
            .map_err(|stale| Error::StaleRegion { region_id: stale.region_id, known_id: stale.known_id }),
        false => Err(Error::NotBootstrapped),
    })?;
    let peers = region.peers.len() as u64;
    let mut next = node.allocate_ids(u64::from(count) * (peers + 1)).await?;
    let mut take = || {
        next += 1;
        next - 1
    };
    Ok((0..count).map(|_| SplitId { new_region_id: take(), new_peer_ids: (0..peers).map(|_| take()).collect() }).collect())
}

pub(super) async fn ask_split(node: Arc<Node>, request: AskSplitRequest) -> Result<AskSplitResponse> {
    let ids = split_ids(&node, request.region, 1).await?;
    let SplitId { new_region_id, new_peer_ids } = ids.into_iter().next().ok_or(Error::Invalid("no region"))?;
    Ok(AskSplitResponse { header: None, new_region_id, new_peer_ids })
}

pub(super) async fn ask_batch_split(node: Arc<Node>, request: AskBatchSplitRequest) -> Result<AskBatchSplitResponse> {
    let ids = split_ids(&node, request.region, request.split_count).await?;
    Ok(AskBatchSplitResponse { header: None, ids })
}

async fn take_news(node: &Node, regions: Vec<Region>) -> Result<()> {
    node.leading()?;
    let now = node.now();
    let records = node.write(|cluster| cluster.on_split(&regions, now))?;
    if !records.is_empty() {
        node.propose(Kind::PutRegions(PutRegions { regions: records })).await?;
    }
    Ok(())
}

pub(super) async fn report_split(node: Arc<Node>, request: ReportSplitRequest) -> Result<ReportSplitResponse> {
    take_news(&node, request.left.into_iter().chain(request.right).collect()).await?;
    Ok(ReportSplitResponse::default())
}

pub(super) async fn report_batch_split(node: Arc<Node>, request: ReportBatchSplitRequest) -> Result<ReportBatchSplitResponse> {
    take_news(&node, request.regions).await?;
    Ok(ReportBatchSplitResponse::default())
}

/// Splits regions at keys and waits until they are split, as far as time allows.
pub(super) async fn split_regions(node: Arc<Node>, request: SplitRegionsRequest) -> Result<SplitRegionsResponse> {
    let (finished_percentage, regions_id) = split_at(&node, &request.split_keys).await?;
    Ok(SplitRegionsResponse { header: None, finished_percentage, regions_id })
}

async fn split_at(node: &Arc<Node>, keys: &[Bytes]) -> Result<(u64, Vec<u64>)> {
    let leading = node.leading()?;
    if keys.is_empty() {
        return Err(Error::Invalid("no keys to split at"));
    }
    let begins = |node: &Node, key: &Bytes| {
        node.read(|cluster| cluster.state.regions.by_key(key).filter(|info| info.start_key() == key).map(|info| info.id()))
    };
    for attempt in 0..SPLIT_LOOKS {
        let open: Vec<&Bytes> = keys.iter().filter(|key| begins(node, key).is_none()).collect();
        if open.is_empty() {
            break;
        }
        if attempt > 0 {
            node.env().sleep(SPLIT_PAUSE).await;
        }
        let mut by_region: BTreeMap<u64, Vec<Bytes>> = BTreeMap::new();
        node.read(|cluster| {
            for key in open {
                if let Some(info) = cluster.state.regions.by_key(key).filter(|info| info.start_key() != key) {
                    by_region.entry(info.id()).or_default().push(key.clone());
                }
            }
        });
        for (region_id, mut keys) in by_region {
            keys.sort_unstable();
            let now = node.now();
            // One that has another operator is tried again.
            if let Ok(effects) = node.write(|cluster| cluster.split(region_id, keys, now)) {
                leading.carry_out(node, effects);
            }
        }
    }
    let ids: Vec<u64> = keys.iter().filter_map(|key| begins(node, key)).collect();
    Ok((ids.len() as u64 * 100 / keys.len() as u64, ids))
}

pub(super) async fn split_and_scatter(node: Arc<Node>, request: SplitAndScatterRegionsRequest) -> Result<SplitAndScatterRegionsResponse> {
    let (split_finished_percentage, regions_id) = split_at(&node, &request.split_keys).await?;
    let failed = scatter_all(&node, &regions_id, &request.group)?;
    let scatter_finished_percentage = percentage(regions_id.len(), failed.len());
    Ok(SplitAndScatterRegionsResponse { header: None, split_finished_percentage, scatter_finished_percentage, regions_id })
}

/// Percent of `all` that did not fail.
fn percentage(all: usize, failed: usize) -> u64 {
    ((all - failed) * 100).checked_div(all).map_or(100, |percent| percent as u64)
}

/// Asks for regions to be spread; answers those that cannot be.
fn scatter_all(node: &Arc<Node>, regions: &[u64], group: &str) -> Result<Vec<u64>> {
    let leading = node.leading()?;
    let mut failed = Vec::new();
    for region_id in regions {
        let now = node.now();
        match node.write(|cluster| cluster.scatter(*region_id, group, now)) {
            Ok(effects) => leading.carry_out(node, effects),
            Err(error) => {
                tracing::debug!(region_id, %error, "a region is not scattered");
                failed.push(*region_id);
            }
        }
    }
    Ok(failed)
}

pub(super) async fn scatter(node: Arc<Node>, request: ScatterRegionRequest) -> Result<ScatterRegionResponse> {
    if !request.regions_id.is_empty() {
        let failed_regions_id = scatter_all(&node, &request.regions_id, &request.group)?;
        let finished_percentage = percentage(request.regions_id.len(), failed_regions_id.len());
        return Ok(ScatterRegionResponse { header: None, finished_percentage, failed_regions_id });
    }
    let region_id = if request.region_id != 0 { request.region_id } else { request.region.map_or(0, |region| region.id) };
    let leading = node.leading()?;
    let now = node.now();
    let effects = node.write(|cluster| cluster.scatter(region_id, &request.group, now))?;
    leading.carry_out(&node, effects);
    Ok(ScatterRegionResponse { header: None, finished_percentage: 100, failed_regions_id: Vec::new() })
}

/// The operator of a region, or how its last one ended.
pub(super) async fn get_operator(node: Arc<Node>, request: GetOperatorRequest) -> Result<GetOperatorResponse> {
    node.leading()?;
    let (desc, kind, status) = node.read(|cluster| {
        let controller = &cluster.live.controller;
        let running = controller.of(request.region_id).map(|operator| (operator.description, operator.kind, OperatorStatus::Running));
        running
            .or_else(|| controller.ended(request.region_id).map(|ended| (ended.description, ended.kind, ended.status)))
            .ok_or(Error::NoOperator(request.region_id))
    })?;
    Ok(GetOperatorResponse {
        header: None,
        region_id: request.region_id,
        desc: Bytes::from_static(desc.as_bytes()),
        status: status as i32,
        kind: Bytes::from_static(kind.name().as_bytes()),
    })
}
