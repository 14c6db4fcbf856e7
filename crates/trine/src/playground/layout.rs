//! What a playground consists of: how many processes of each role, their ports, their directories. Written down at the first start, because the
//! placement driver's members know each other by their addresses.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

/// A role of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A member of the placement driver.
    Pd,
    /// A store.
    Kv,
    /// A SQL server.
    Sql,
}

impl Role {
    /// The subcommand.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pd => "pd",
            Self::Kv => "kv",
            Self::Sql => "sql",
        }
    }

    /// Ports of the first process of the role, if they are free: what it serves, and its second port.
    fn usual_ports(self) -> [u16; 2] {
        match self {
            Self::Pd => [2379, 2380],
            Self::Kv => [20160, 20180],
            Self::Sql => [4000, 10080],
        }
    }
}

/// The name of a process.
pub fn name(role: Role, index: usize) -> String {
    format!("{}-{index}", role.name())
}

/// Two ports of a process: of clients and of peers for a placement driver, of clients and of the status page for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ports {
    service: u16,
    second: u16,
}

/// The processes and their ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    #[serde(default)]
    pd: Vec<Ports>,
    #[serde(default)]
    kv: Vec<Ports>,
    #[serde(default)]
    sql: Vec<Ports>,
}

fn file(directory: &Path) -> PathBuf {
    directory.join("playground.toml")
}

impl Layout {
    /// The layout written down in a directory, with as many processes more as asked for; a new one where there is none. Without a number there is one
    /// process of the role, or as many as there were.
    pub fn load_or_make(directory: &Path, pd: Option<usize>, kv: Option<usize>, sql: Option<usize>) -> Result<Self> {
        let path = file(directory);
        let mut layout = match std::fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).with_context(|| format!("cannot read {}", path.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        layout.grow(pd, kv, sql)?;
        let text = toml::to_string(&layout).context("the layout cannot be written")?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(layout)
    }

    fn grow(&mut self, pd: Option<usize>, kv: Option<usize>, sql: Option<usize>) -> Result<()> {
        if !self.pd.is_empty() && pd.is_some_and(|pd| pd != self.pd.len()) {
            bail!("this playground was made with {} placement drivers; another number needs another directory", self.pd.len());
        }
        if kv.is_some_and(|kv| kv < self.kv.len()) {
            bail!("this playground has {} stores with data in them; fewer need another directory", self.kv.len());
        }
        for (role, wanted) in [(Role::Pd, pd), (Role::Kv, kv), (Role::Sql, sql)] {
            let wanted = wanted.unwrap_or(self.count(role).max(1));
            if wanted == 0 {
                bail!("a cluster needs a process of role {}", role.name());
            }
            // SQL servers keep nothing: fewer are as good as more.
            self.list_mut(role).truncate(wanted);
            while self.count(role) < wanted {
                let ports = self.free_ports(role)?;
                self.list_mut(role).push(ports);
            }
        }
        Ok(())
    }

    fn list(&self, role: Role) -> &Vec<Ports> {
        match role {
            Role::Pd => &self.pd,
            Role::Kv => &self.kv,
            Role::Sql => &self.sql,
        }
    }

    fn list_mut(&mut self, role: Role) -> &mut Vec<Ports> {
        match role {
            Role::Pd => &mut self.pd,
            Role::Kv => &mut self.kv,
            Role::Sql => &mut self.sql,
        }
    }

    /// Processes of a role.
    pub fn count(&self, role: Role) -> usize {
        self.list(role).len()
    }

    fn is_taken(&self, port: u16) -> bool {
        [&self.pd, &self.kv, &self.sql].into_iter().flatten().any(|ports| ports.service == port || ports.second == port)
    }

    /// The usual ports if they are free, else any.
    fn free_ports(&self, role: Role) -> Result<Ports> {
        let free =
            |port: u16| TcpListener::bind(("127.0.0.1", port)).and_then(|listener| listener.local_addr()).map(|address| address.port());
        let mut found = [0; 2];
        for (place, usual) in role.usual_ports().into_iter().enumerate() {
            let mut port = if self.is_taken(usual) { None } else { free(usual).ok() };
            while port.is_none() {
                let any = free(0).context("there is no free port")?;
                port = Some(any).filter(|any| !self.is_taken(*any) && !found.contains(any));
            }
            found[place] = port.unwrap_or_default();
        }
        Ok(Ports { service: found[0], second: found[1] })
    }

    fn pd_endpoints(&self) -> String {
        self.pd.iter().map(|ports| format!("127.0.0.1:{}", ports.service)).collect::<Vec<_>>().join(",")
    }

    /// The command line of a process.
    pub fn arguments(&self, role: Role, index: usize, directory: &Path) -> Vec<String> {
        let Ports { service, second } = self.list(role)[index];
        let data = directory.join(name(role, index));
        let mut arguments = vec![role.name().to_owned()];
        match role {
            Role::Pd => {
                let member = |(index, ports): (usize, &Ports)| format!("{}=http://127.0.0.1:{}", name(Role::Pd, index), ports.second);
                let initial = self.pd.iter().enumerate().map(member).collect::<Vec<_>>().join(",");
                arguments.extend([
                    format!("--name={}", name(role, index)),
                    format!("--data-dir={}", data.display()),
                    format!("--client-urls=http://127.0.0.1:{service}"),
                    format!("--peer-urls=http://127.0.0.1:{second}"),
                    format!("--initial-cluster={initial}"),
                    format!("--config={}", directory.join("pd.toml").display()),
                ]);
            }
            Role::Kv => arguments.extend([
                format!("--pd={}", self.pd_endpoints()),
                format!("--data-dir={}", data.display()),
                format!("--addr=127.0.0.1:{service}"),
                format!("--status-addr=127.0.0.1:{second}"),
            ]),
            Role::Sql => {
                arguments.extend([format!("--pd={}", self.pd_endpoints()), format!("--port={service}"), format!("--status-port={second}")])
            }
        }
        arguments
    }

    /// What to tell a person.
    pub fn how_to_connect(&self, directory: &Path) -> String {
        let mut text = format!(
            "Trine {} playground is ready: {} placement driver(s), {} store(s), {} SQL server(s).\n",
            env!("CARGO_PKG_VERSION"),
            self.pd.len(),
            self.kv.len(),
            self.sql.len()
        );
        for ports in &self.sql {
            text += &format!("  MySQL clients: 127.0.0.1:{}   status: http://127.0.0.1:{}/status\n", ports.service, ports.second);
        }
        text += &format!(
            "  placement driver: {}   (trine ctl --pd {0} store; trine sql --pd {0} for one more SQL server)\n",
            self.pd_endpoints()
        );
        text += &format!("  data: {}\n", directory.display());
        if let Some(first) = self.sql.first() {
            text += &format!("  connect with: mysql --host 127.0.0.1 --port {} --user root\n", first.service);
        }
        text + "  stop with Ctrl-C"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_start_finds_the_ports_of_the_first_and_may_add_processes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let first = Layout::load_or_make(directory.path(), Some(3), Some(2), None).expect("a layout");
        assert_eq!((first.pd.len(), first.kv.len(), first.sql.len()), (3, 2, 1));
        let again = Layout::load_or_make(directory.path(), None, None, None).expect("the same layout");
        assert_eq!(again, first);
        let grown = Layout::load_or_make(directory.path(), Some(3), Some(3), Some(2)).expect("more of it");
        assert_eq!((&grown.kv[..2], grown.kv.len(), grown.sql.len()), (&first.kv[..], 3, 2));
        assert!(Layout::load_or_make(directory.path(), Some(1), None, None).is_err(), "members cannot be left out");
        assert!(Layout::load_or_make(directory.path(), None, Some(1), None).is_err(), "stores have data");
        let mut ports: Vec<u16> = [grown.pd, grown.kv, grown.sql].into_iter().flatten().flat_map(|p| [p.service, p.second]).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 16, "no port twice");
    }
}
