//! Logical rewrite rules. Each is named, has a file of its own and can be switched off by name.
//!
//! | rule | what it does |
//! |---|---|
//! | `simplify_predicates` | folds constants, splits conjunctions, drops true conditions, turns false ones into no rows |
//! | `decorrelate` | turns an `Apply` whose dependence is a plain condition into a join |
//! | `outer_to_inner` | an outer join whose NULLs a filter above refuses becomes an inner join |
//! | `push_down_predicates` | moves conditions towards the tables they are about |
//! | `propagate_constants` | `a = b AND b = 1` implies `a = 1` |
//! | `eliminate_max_min` | MIN(x), MAX(x) without groups become the first row in the order of x |
//! | `reorder_joins` | orders inner joins by estimated size |
//! | `prune_columns` | drops columns nobody reads |
//! | `eliminate_projections` | merges and drops projections |
//! | `push_down_limits` | moves LIMIT below operators that keep order and number of rows |
//!
//! Further switches are read by the choice of physical operators: `push_down_aggregates`, `push_down_top_n`, `point_get`, `index_access`,
//! `index_join`, `ordered_scan`, `stream_aggregate`. With everything switched off the planner still gives right, if slow, plans.
//!
//! Every rule keeps the plan's rows and its output columns; only their cost may change.

mod decorrelate;
mod eliminate_max_min;
mod eliminate_projections;
mod outer_to_inner;
mod propagate_constants;
mod prune_columns;
mod push_down_limits;
mod push_down_predicates;
mod reorder_joins;
mod simplify_predicates;

use expr::BuildCtx;

use crate::{
    choose::Estimator,
    logical::{Col, Columns, Plan},
};

/// What a rule may look at.
pub(crate) struct RuleCx<'a> {
    pub columns: &'a mut Columns,
    pub build: BuildCtx<'a>,
    pub estimator: &'a Estimator<'a>,
    pub rules: RuleSet,
}

macro_rules! rules {
    ($($name:ident $text:literal),* $(,)?) => {
        /// A rewrite rule or a choice of the planner that can be switched off.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Rule {
            $($name),*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[$(Rule::$name),*];

            /// The name by which it is switched off.
            pub fn name(self) -> &'static str {
                match self {
                    $(Rule::$name => $text),*
                }
            }
        }
    };
}

rules! {
    SimplifyPredicates "simplify_predicates",
    Decorrelate "decorrelate",
    OuterToInner "outer_to_inner",
    PushDownPredicates "push_down_predicates",
    PropagateConstants "propagate_constants",
    EliminateMaxMin "eliminate_max_min",
    ReorderJoins "reorder_joins",
    PruneColumns "prune_columns",
    EliminateProjections "eliminate_projections",
    PushDownLimits "push_down_limits",
    PushDownAggregates "push_down_aggregates",
    PushDownTopN "push_down_top_n",
    PointGet "point_get",
    IndexAccess "index_access",
    IndexJoin "index_join",
    OrderedScan "ordered_scan",
    StreamAggregate "stream_aggregate",
}

impl Rule {
    /// The rule of this name.
    pub fn by_name(name: &str) -> Option<Rule> {
        Self::ALL.iter().copied().find(|rule| rule.name().eq_ignore_ascii_case(name))
    }
}

/// The rules that are switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleSet {
    disabled: u32,
}

impl RuleSet {
    /// All rules switched on.
    pub const ALL_ON: RuleSet = RuleSet { disabled: 0 };

    /// All rules switched off.
    pub fn all_off() -> Self {
        Rule::ALL.iter().fold(Self::ALL_ON, |set, rule| set.without(*rule))
    }

    /// The same with one more rule switched off.
    pub fn without(self, rule: Rule) -> Self {
        Self { disabled: self.disabled | 1 << rule as u32 }
    }

    /// Whether a rule is switched on.
    pub fn is_on(self, rule: Rule) -> bool {
        self.disabled & 1 << rule as u32 == 0
    }

    /// Reads a comma-separated list of names of rules to switch off.
    ///
    /// # Errors
    /// The first name that is no rule.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut set = Self::ALL_ON;
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            set = set.without(Rule::by_name(name).ok_or_else(|| name.to_owned())?);
        }
        Ok(set)
    }
}

/// Applies the rules in their fixed order. `output` are the columns that the plan's reader wants.
pub(crate) fn rewrite(mut plan: Plan, output: &[Col], cx: &mut RuleCx<'_>) -> Plan {
    let on = |rule| cx.rules.is_on(rule);
    let order: Vec<Rule> = [
        Rule::SimplifyPredicates,
        Rule::Decorrelate,
        Rule::OuterToInner,
        Rule::EliminateProjections,
        Rule::PushDownPredicates,
        Rule::PropagateConstants,
        Rule::PushDownPredicates,
        Rule::EliminateMaxMin,
        Rule::ReorderJoins,
        Rule::PruneColumns,
        Rule::EliminateProjections,
        Rule::PushDownLimits,
    ]
    .into_iter()
    .filter(|rule| on(*rule))
    .collect();
    for rule in order {
        plan = match rule {
            Rule::SimplifyPredicates => simplify_predicates::apply(plan, cx),
            Rule::Decorrelate => decorrelate::apply(plan, cx),
            Rule::OuterToInner => outer_to_inner::apply(plan),
            Rule::PushDownPredicates => push_down_predicates::apply(plan, cx),
            Rule::PropagateConstants => propagate_constants::apply(plan, cx),
            Rule::EliminateMaxMin => eliminate_max_min::apply(plan, cx),
            Rule::ReorderJoins => reorder_joins::apply(plan, cx),
            Rule::PruneColumns => prune_columns::apply(plan, output),
            Rule::EliminateProjections => eliminate_projections::apply(plan),
            Rule::PushDownLimits => push_down_limits::apply(plan),
            _ => plan,
        };
    }
    plan
}
