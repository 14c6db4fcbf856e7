//! Pushed-down plans through the client: several ranges, both directions, locks in the way, cancellation.

use std::sync::Arc;

use crate::cluster::{Cluster, until};
use base::{ColumnId, KeyRange, TableId};
use bytes::Bytes;
use client::{CancelReason, CancelToken, DagStream, Error, SnapshotOptions, Transaction};
use codec::{Handle, row::RowBuilder};
use copr::{
    DagPlan, DagRequest, HandleKind, ScanColumn, ScanSpec, TableScan,
    record::{push_column, record_key},
};
use expr::EvalCtx;
use proto::kvrpcpb::{CommitRequest, Mutation, Op, PrewriteRequest};
use types::{Datum, FieldType};

const TABLE: TableId = TableId(7);

fn key(id: i64) -> Bytes {
    record_key(TABLE, &Handle::Int(id)).into()
}

fn row(value: i64) -> Bytes {
    let mut builder = RowBuilder::new();
    builder.start();
    push_column(&mut builder, ColumnId(2), &FieldType::bigint(), Datum::Int(value).as_ref()).unwrap();
    builder.finish().into()
}

fn write_rows(txn: &mut Transaction, ids: impl Iterator<Item = i64>, value: i64) {
    for id in ids {
        txn.set(key(id), row(value), Default::default()).unwrap();
    }
}

fn request(ranges: &[(i64, i64)], desc: bool) -> DagRequest {
    let column = |id| ScanColumn { id: ColumnId(id), ty: FieldType::bigint(), default: Datum::Null };
    let scan = TableScan { table: TABLE, columns: vec![column(1), column(2)], handle: HandleKind::IntColumn { id: ColumnId(1) } };
    let plan = DagPlan { scan: ScanSpec::Table(scan), filters: vec![], ops: vec![], output: vec![] };
    let ranges = ranges.iter().map(|(start, end)| KeyRange::new(key(*start), key(*end))).collect();
    DagRequest { desc, chunk_rows: 100, ..DagRequest::new(Arc::new(plan), ranges, Arc::new(EvalCtx::default())) }
}

async fn collect(stream: &mut DagStream) -> Vec<(i64, i64)> {
    let mut rows = Vec::new();
    while let Some(chunk) = stream.next().await.unwrap() {
        rows.extend(chunk.iter().map(|row| {
            let values = row.to_datums();
            (values[0].as_i64().unwrap(), values[1].as_i64().unwrap())
        }));
    }
    rows
}

fn assert_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn ranges_are_read_in_order_in_both_directions() {
    let cluster = Cluster::new();
    let mut txn = cluster.optimistic();
    write_rows(&mut txn, 0..2000, 1);
    txn.commit().await.unwrap();
    let snapshot = cluster.snapshot().await;
    let mut txn = cluster.optimistic();
    write_rows(&mut txn, 0..2000, 2);
    txn.commit().await.unwrap();
    let expected: Vec<(i64, i64)> = (5..1200).chain(1500..1502).map(|id| (id, 1)).collect();
    let ranges = [(5, 1200), (1300, 1300), (1500, 1502)];
    assert_eq!(assert_send(collect(&mut snapshot.dag(request(&ranges, false)))).await, expected);
    let reversed: Vec<_> = expected.into_iter().rev().collect();
    assert_eq!(collect(&mut snapshot.dag(request(&ranges, true))).await, reversed);
    assert!(collect(&mut snapshot.dag(request(&[], false))).await.is_empty());
}

/// Locks of a committed, a living and a dead transaction lie in the range: the stream resolves each and goes on where it stood.
#[tokio::test]
async fn locks_in_the_way_are_resolved_and_the_scan_goes_on() {
    for desc in [false, true] {
        let (cluster, clock) = Cluster::manual();
        let mut txn = cluster.optimistic();
        write_rows(&mut txn, 0..1000, 1);
        txn.commit().await.unwrap();
        let mut locks = Vec::new();
        for (ids, ttl) in [([10, 700], 3_000u64), ([20, 720], 900_000), ([30, 730], 900_000)] {
            let start_ts = cluster.client.timestamp().await.unwrap();
            let mutation = |id: i64| Mutation { op: Op::Put as i32, key: key(id), value: row(9), assertion: 0 };
            let request = PrewriteRequest {
                mutations: ids.map(mutation).to_vec(),
                primary_lock: key(ids[0]),
                start_version: start_ts.0,
                lock_ttl: ttl,
                ..Default::default()
            };
            assert!(cluster.storage.prewrite(&request).await.unwrap().errors.is_empty());
            locks.push(start_ts);
        }
        let commit_ts = cluster.client.timestamp().await.unwrap();
        let commit = CommitRequest { start_version: locks[2].0, keys: vec![key(30)], commit_version: commit_ts.0, ..Default::default() };
        assert!(cluster.storage.commit(commit).await.unwrap().error.is_none());
        clock.advance(std::time::Duration::from_secs(60));

        let mut rows = collect(&mut cluster.snapshot().await.dag(request(&[(0, 1000)], desc))).await;
        if desc {
            rows.reverse();
        }
        let expected: Vec<_> = (0..1000).map(|id| (id, if [30, 730].contains(&id) { 9 } else { 1 })).collect();
        assert_eq!(rows, expected);
        // What was dead or committed is written away; the living one is still there.
        until("two locks are left", || cluster.storage.lock_counts() == (0, 2)).await;
    }
}

#[tokio::test]
async fn a_cancelled_statement_stops_between_pages() {
    let cluster = Cluster::new();
    let mut txn = cluster.optimistic();
    write_rows(&mut txn, 0..5000, 1);
    txn.commit().await.unwrap();
    let cancel = CancelToken::new();
    let ts = cluster.client.timestamp().await.unwrap();
    let snapshot = cluster.client.snapshot(ts, SnapshotOptions { cancel: cancel.clone(), ..Default::default() });
    let mut stream = snapshot.dag(request(&[(0, 5000)], false));
    assert!(stream.next().await.unwrap().is_some());
    cancel.cancel(CancelReason::KillQuery);
    let ended = loop {
        match stream.next().await {
            Ok(Some(_)) => {}
            other => break other,
        }
    };
    assert!(matches!(ended, Err(Error::Cancelled(CancelReason::KillQuery))));
}
