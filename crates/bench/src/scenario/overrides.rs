//! What the command line lays over a scenario.

use toml::{Table, Value};

use super::merge;

/// One thing the command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Override {
    /// `key.path=value`, the value in TOML.
    Set(String),
    /// A key and a value that is text whatever it looks like.
    Text(String, String),
    /// Only these targets, and the variations of them.
    OnlyTargets(Vec<String>),
    /// One target instead of all: servers that run already. Variations that would change a started target do not apply to it.
    Endpoints(Vec<String>),
}

impl Override {
    /// Lays it over a scenario.
    pub(super) fn apply(&self, scenario: &mut Table) -> Result<(), String> {
        match self {
            Self::Set(assignment) => merge::set(scenario, assignment),
            Self::Text(key, text) => merge::set_value(scenario, key, &Value::String(text.clone())),
            Self::OnlyTargets(names) => only_targets(scenario, names),
            Self::Endpoints(endpoints) => {
                use_endpoints(scenario, endpoints);
                Ok(())
            }
        }
    }
}

fn list<'a>(scenario: &'a mut Table, key: &str) -> Option<&'a mut Vec<Value>> {
    scenario.get_mut(key).and_then(Value::as_array_mut)
}

fn name(element: &Value) -> &str {
    element.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn only_targets(scenario: &mut Table, wanted: &[String]) -> Result<(), String> {
    let is_wanted = |name: &str| wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(name));
    let Some(targets) = list(scenario, "target") else { return Ok(()) };
    let names: Vec<String> = targets.iter().map(|target| name(target).to_owned()).collect();
    if let Some(unknown) = wanted.iter().find(|wanted| !names.iter().any(|name| wanted.eq_ignore_ascii_case(name))) {
        return Err(format!("there is no target `{unknown}`, but {}", names.join(", ")));
    }
    targets.retain(|target| is_wanted(name(target)));
    if let Some(variations) = list(scenario, "variation") {
        for variation in variations.iter_mut() {
            let Some(Value::Array(of)) = variation.get_mut("targets") else { continue };
            of.retain(|target| target.as_str().is_some_and(is_wanted));
            if of.is_empty() {
                *variation = Value::Boolean(false);
            }
        }
        variations.retain(Value::is_table);
    }
    forget_baseline(scenario);
    Ok(())
}

fn use_endpoints(scenario: &mut Table, endpoints: &[String]) {
    let addresses = endpoints.iter().cloned().map(Value::String).collect();
    let mut target = Table::new();
    target.insert("name".to_owned(), Value::String(endpoints.join(", ")));
    target.insert("topology".to_owned(), Value::String("endpoints".to_owned()));
    target.insert("endpoints".to_owned(), Value::Array(addresses));
    scenario.insert("target".to_owned(), Value::Array(vec![Value::Table(target)]));
    if let Some(variations) = list(scenario, "variation") {
        variations.retain(|variation| variation.get("target").is_none() && variation.get("targets").is_none());
    }
    forget_baseline(scenario);
}

/// The subject that others were compared with may not be there any more: the first one takes its place.
fn forget_baseline(scenario: &mut Table) {
    if let Some(Value::Table(report)) = scenario.get_mut("report") {
        report.remove("baseline");
    }
}
