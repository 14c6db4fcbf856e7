//! Tables about the processes of a cluster, its regions and its locks, with the columns of the reference system for which there is something to say.
//! All rows come from the session layer.

use super::{
    definition::{Type::*, VirtualTable},
    server::tables,
};

pub(super) const TABLES: &[VirtualTable] = tables! {
    "information_schema" "CLUSTER_INFO" (
        "TYPE" Name(64), "INSTANCE" Name(64), "STATUS_ADDRESS" Name(64), "VERSION" Name(64), "GIT_HASH" Name(64),
        "START_TIME" Nullable(&Timestamp), "UPTIME" Nullable(&Name(32)), "SERVER_ID" Nullable(&BigInt),
    ) None;
    "information_schema" "TIDB_SERVERS_INFO" (
        "DDL_ID" Name(64), "IP" Name(64), "PORT" BigInt, "STATUS_PORT" BigInt, "LEASE" Name(64), "VERSION" Name(64), "GIT_HASH" Name(64),
        "BINLOG_STATUS" Name(64), "LABELS" Name(128),
    ) None;
    "information_schema" "CLUSTER_PROCESSLIST" (
        "INSTANCE" Name(64), "ID" Unsigned, "USER" Name(32), "HOST" Name(261), "DB" Nullable(&Name(64)), "COMMAND" Name(16), "TIME" Int,
        "STATE" Nullable(&Name(64)), "INFO" Nullable(&LongText),
    ) None;
    "information_schema" "TIKV_STORE_STATUS" (
        "STORE_ID" BigInt, "ADDRESS" Name(64), "STORE_STATE" BigInt, "STORE_STATE_NAME" Name(64), "LABEL" LongText, "VERSION" Name(64),
        "CAPACITY" Name(64), "AVAILABLE" Name(64), "LEADER_COUNT" BigInt, "LEADER_SIZE" BigInt, "REGION_COUNT" BigInt, "REGION_SIZE" BigInt,
        "START_TS" Nullable(&Timestamp), "LAST_HEARTBEAT_TS" Nullable(&Timestamp), "UPTIME" Nullable(&Name(64)),
    ) None;
    "information_schema" "TIKV_REGION_STATUS" (
        "REGION_ID" BigInt, "START_KEY" LongText, "END_KEY" LongText, "TABLE_ID" Nullable(&BigInt), "DB_NAME" Nullable(&Name(64)),
        "TABLE_NAME" Nullable(&Name(64)), "IS_INDEX" Int, "INDEX_ID" Nullable(&BigInt), "INDEX_NAME" Nullable(&Name(64)),
        "EPOCH_CONF_VER" BigInt, "EPOCH_VERSION" BigInt, "WRITTEN_BYTES" BigInt, "READ_BYTES" BigInt, "APPROXIMATE_SIZE" BigInt,
        "APPROXIMATE_KEYS" BigInt,
    ) None;
    "information_schema" "TIKV_REGION_PEERS" (
        "REGION_ID" BigInt, "PEER_ID" BigInt, "STORE_ID" BigInt, "IS_LEARNER" Int, "IS_LEADER" Int, "STATUS" Name(10),
        "DOWN_SECONDS" BigInt,
    ) None;
    "information_schema" "DATA_LOCK_WAITS" (
        "KEY" LongText, "KEY_INFO" Nullable(&LongText), "TRX_ID" Unsigned, "CURRENT_HOLDING_TRX_ID" Unsigned, "SQL_DIGEST" Nullable(&Name(64)),
        "SQL_DIGEST_TEXT" Nullable(&LongText),
    ) None;
    "information_schema" "DEADLOCKS" (
        "DEADLOCK_ID" BigInt, "OCCUR_TIME" Nullable(&Timestamp), "RETRYABLE" Int, "TRY_LOCK_TRX_ID" Unsigned,
        "CURRENT_SQL_DIGEST" Nullable(&Name(64)), "CURRENT_SQL_DIGEST_TEXT" Nullable(&LongText), "KEY" Nullable(&LongText),
        "KEY_INFO" Nullable(&LongText), "TRX_HOLDING_LOCK" Unsigned,
    ) None;
};
