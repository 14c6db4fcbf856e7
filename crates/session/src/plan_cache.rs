//! Plans kept for statements that come again.
//!
//! ```text
//! text:      normal form (literals taken out) ─┐
//! prepared:  text with its markers ────────────┼─► key ─► front cache of the session ─► shared cache of the server ─► planner
//! what else the plan depends on: PlanEnv ──────┘          (no lock)                     (sharded)
//! ```
//!
//! One plan serves all sessions whose [`PlanEnv`] is equal, so memory grows with the number of distinct statements, not with the number
//! of connections. A plan is used only while the tables it names are defined as they were when it was made, and until new statistics
//! arrive.

use std::{
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use base::{TableId, TimeStamp};
use catalog::InfoSchema;
use expr::SqlMode;
use parking_lot::Mutex;
use planner::{
    PhysicalPlan, RuleSet,
    physical::{OutputColumn, TableAccess},
};
use rustc_hash::{FxHashMap, FxHasher};
use types::{Collation, Datum, FieldType, TimeKind};

const SHARDS: usize = 64;
/// The id of the next plan.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);
/// Plans a session finds without asking the shared cache.
const FRONT: usize = 128;

/// What a plan depends on besides the statement's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanEnv {
    /// The current database.
    pub database: Option<Arc<str>>,
    /// `sql_mode`
    pub sql_mode: SqlMode,
    /// `collation_connection`
    pub collation: Collation,
    /// `time_zone`
    pub time_zone: String,
    /// Switched-off rules.
    pub rules: RuleSet,
    /// `div_precision_increment`
    pub div_precision_increment: u8,
    /// `sql_select_limit`
    pub select_limit: Option<u64>,
}

/// A plan with what an execution needs beside it.
pub struct CachedPlan {
    /// The plan.
    pub plan: Arc<PhysicalPlan>,
    /// The result's columns, shared by all executions.
    pub columns: Arc<[OutputColumn]>,
    /// The stored tables it names, and those that foreign keys lead to from them, each once.
    pub tables: Vec<TableId>,
    /// When the youngest definition among them was made: older snapshots must look before they use the plan.
    pub youngest_definition: TimeStamp,
    /// Whether it changes rows that foreign keys lead from or to: then it locks from the first try, for others must see what it relies on.
    pub has_foreign_keys: bool,
    /// Whether it reads tables that the server computes.
    pub has_virtual_tables: bool,
    /// The schema it was made for.
    pub schema: Arc<InfoSchema>,
    /// Tells plans apart, also ones that are gone.
    pub id: u64,
    key: Vec<u8>,
    env: Arc<PlanEnv>,
    stats_epoch: usize,
}

/// The statement a plan is looked for.
pub struct PlanKey<'a> {
    /// Normal form or text.
    pub text: &'a [u8],
    /// Types of the values given for markers.
    pub param_types: &'a [FieldType],
    /// What else the plan depends on.
    pub env: &'a Arc<PlanEnv>,
}

impl PlanKey<'_> {
    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(self.text);
        for ty in self.param_types {
            hasher.write_u8(param_class(ty));
        }
        hasher.finish()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.text.len() + self.param_types.len() + 1);
        key.extend_from_slice(self.text);
        key.push(0);
        key.extend(self.param_types.iter().map(param_class));
        key
    }

    fn matches(&self, cached: &CachedPlan) -> bool {
        let Some((text, classes)) = cached.key.split_at_checked(self.text.len()) else { return false };
        text == self.text
            && classes.len() == self.param_types.len() + 1
            && classes[1..].iter().zip(self.param_types).all(|(class, ty)| *class == param_class(ty))
            && (Arc::ptr_eq(&cached.env, self.env) || cached.env == *self.env)
    }
}

/// Types that a plan tells apart.
fn param_class(ty: &FieldType) -> u8 {
    ty.tp.mysql_type() ^ (u8::from(ty.unsigned) << 7)
}

/// The type of a value given for a marker.
pub fn param_type(value: &Datum, collation: Collation) -> FieldType {
    match value {
        Datum::Null => FieldType::null(),
        Datum::Int(_) => FieldType::bigint(),
        Datum::UInt(_) => FieldType::unsigned_bigint(),
        Datum::Float(_) => FieldType::float(),
        Datum::Double(_) => FieldType::double(),
        Datum::Decimal(_) => FieldType::decimal(65, 30),
        Datum::Bytes(_) => FieldType::varchar(16_383).with_collation(collation),
        Datum::Time(time) => match time.kind() {
            TimeKind::Date => FieldType::date(),
            TimeKind::DateTime => FieldType::datetime(time.fsp()),
            TimeKind::Timestamp => FieldType::timestamp(time.fsp()),
        },
        Datum::Duration(duration) => FieldType::time(duration.fsp()),
        Datum::Json(_) => FieldType::new(types::TypeKind::Json),
    }
}

/// The plans of a server.
pub struct SharedPlans {
    shards: [Mutex<FxHashMap<u64, Arc<CachedPlan>>>; SHARDS],
    capacity: usize,
    stats_epoch: AtomicUsize,
    hits: AtomicUsize,
    misses: AtomicUsize,
}

impl SharedPlans {
    /// A cache of about `capacity` plans.
    pub fn new(capacity: usize) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            capacity: capacity.div_ceil(SHARDS),
            stats_epoch: AtomicUsize::new(0),
            hits: AtomicUsize::new(0),
            misses: AtomicUsize::new(0),
        }
    }

    /// New statistics have arrived: plans made before are not used again.
    pub fn statistics_changed(&self) {
        self.stats_epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a plan was found and not found since start.
    pub fn hits_and_misses(&self) -> (usize, usize) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    fn get(&self, hash: u64, key: &PlanKey<'_>) -> Option<Arc<CachedPlan>> {
        let shard = self.shards[hash as usize % SHARDS].lock();
        shard.get(&hash).filter(|cached| key.matches(cached)).cloned()
    }

    fn put(&self, hash: u64, cached: &Arc<CachedPlan>) {
        let mut shard = self.shards[hash as usize % SHARDS].lock();
        if shard.len() >= self.capacity && !shard.contains_key(&hash) {
            // Any victim will do: what is in use comes back with one planning.
            if let Some(victim) = shard.keys().next().copied() {
                shard.remove(&victim);
            }
        }
        shard.insert(hash, cached.clone());
    }
}

/// The plans a session has used last.
#[derive(Default)]
pub struct FrontPlans {
    plans: FxHashMap<u64, Arc<CachedPlan>>,
    /// Hits not yet counted in the shared figures.
    hits: usize,
}

impl FrontPlans {
    /// Finds a plan that may still be used.
    pub fn get(&mut self, shared: &SharedPlans, key: &PlanKey<'_>, current: &InfoSchema) -> Option<Arc<CachedPlan>> {
        let hash = key.hash();
        if let Some(cached) = self.plans.get(&hash)
            && key.matches(cached)
            && cached.is_usable(shared, current)
        {
            self.hits += 1;
            if self.hits == 64 {
                shared.hits.fetch_add(self.hits, Ordering::Relaxed);
                self.hits = 0;
            }
            return Some(cached.clone());
        }
        match shared.get(hash, key).filter(|cached| cached.is_usable(shared, current)) {
            Some(cached) => {
                shared.hits.fetch_add(1, Ordering::Relaxed);
                self.remember(hash, &cached);
                Some(cached)
            }
            None => {
                shared.misses.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Keeps a plan, if it is right for all values of its parameters.
    pub fn put(&mut self, shared: &SharedPlans, key: &PlanKey<'_>, cached: &Arc<CachedPlan>) {
        if cached.plan.cacheable {
            let hash = key.hash();
            shared.put(hash, cached);
            self.remember(hash, cached);
        }
    }

    fn remember(&mut self, hash: u64, cached: &Arc<CachedPlan>) {
        if self.plans.len() >= FRONT {
            self.plans.clear();
        }
        self.plans.insert(hash, cached.clone());
    }

    /// Hits since the last call, for `Last_plan_from_cache`-like figures.
    pub fn flush(&mut self, shared: &SharedPlans) {
        shared.hits.fetch_add(std::mem::take(&mut self.hits), Ordering::Relaxed);
    }
}

impl CachedPlan {
    /// Puts a fresh plan together.
    pub fn new(mut plan: PhysicalPlan, schema: Arc<InfoSchema>, key: &PlanKey<'_>, shared: &SharedPlans) -> Arc<Self> {
        let mut tables: Vec<TableId> = plan.tables.iter().map(|used| used.id).collect();
        let mut has_foreign_keys = false;
        if plan.is_write && schema.has_foreign_keys() {
            let changed = plan.tables.iter().filter(|used| used.access != TableAccess::Select);
            for table in changed.filter_map(|used| schema.table_ref(used.id)) {
                has_foreign_keys |= !table.foreign_keys.is_empty() || schema.children(&table.database, &table.name).next().is_some();
                tables.extend(schema.related_by_keys(table));
            }
        }
        tables.sort_unstable();
        tables.dedup();
        let columns = std::mem::take(&mut plan.output).into();
        let defined = tables.iter().filter_map(|id| schema.table_ref(*id)).map(|table| table.update_ts);
        let youngest_definition = defined.max().unwrap_or(TimeStamp::ZERO);
        let has_virtual_tables = plan.tables.iter().any(|used| catalog::infoschema_tables::is_virtual_database(&used.database));
        Arc::new(Self {
            has_foreign_keys,
            has_virtual_tables,
            plan: Arc::new(plan),
            columns,
            tables,
            youngest_definition,
            schema,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            key: key.bytes(),
            env: key.env.clone(),
            stats_epoch: shared.stats_epoch.load(Ordering::Relaxed),
        })
    }

    /// Whether the tables are still defined as they were, and the statistics the same.
    fn is_usable(&self, shared: &SharedPlans, current: &InfoSchema) -> bool {
        self.stats_epoch == shared.stats_epoch.load(Ordering::Relaxed)
            && (self.schema.version() == current.version() || self.same_tables(current))
    }

    fn same_tables(&self, current: &InfoSchema) -> bool {
        self.tables.iter().all(|id| {
            let version = |schema: &InfoSchema| schema.table_ref(*id).map(|table| table.update_version);
            version(current).is_some() && version(current) == version(&self.schema)
        })
    }
}
