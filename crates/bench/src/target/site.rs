//! Where the processes of a target are: which addresses and ports they have, and what of the machine they may use.

use std::{net::TcpListener, process::Command, sync::Arc, time::Duration};

use crate::{
    Error,
    network::{CpuQuota, Namespace, Network},
    scenario::{self, NetworkKind, Target, Topology},
};

/// The places of one target. It goes after the target's processes.
#[derive(Debug, Default)]
pub struct Site {
    taken: Vec<u16>,
    settings: scenario::Network,
    network: Network,
    quota: Option<Arc<CpuQuota>>,
}

/// The place of one process.
#[derive(Debug)]
pub struct Place {
    /// Its address.
    pub host: String,
    /// Number of its zone, from 0, where there are several.
    pub zone: Option<u32>,
    namespace: Option<Namespace>,
    quota: Option<Arc<CpuQuota>>,
}

impl Place {
    /// For a process that is no server: on this machine's network, with all of its processors.
    pub fn on_this_machine() -> Self {
        Self { host: "127.0.0.1".to_owned(), zone: None, namespace: None, quota: None }
    }

    /// Puts a process that is about to be started in its place.
    pub fn apply(&self, command: &mut Command) -> Result<(), Error> {
        if let Some(namespace) = &self.namespace {
            namespace.place(command);
        }
        self.quota.as_ref().map_or(Ok(()), |quota| quota.place(command))
    }
}

impl Site {
    /// The site of a target.
    pub fn new(target: &Target, topology: Topology) -> Result<Self, Error> {
        if topology == Topology::Endpoints {
            return Ok(Self::default());
        }
        let settings = target.network.clone();
        let delay_ms = if settings.zones > 1 { settings.delay_ms.max(0.0) } else { 0.0 };
        let network = match settings.kind {
            NetworkKind::Host => Network::host(),
            NetworkKind::Namespaces => Network::namespaces(Duration::from_secs_f64(delay_ms / 1000.0))?,
        };
        let quota = (target.cpu.cores > 0.0).then(|| CpuQuota::new(target.cpu.cores).map(Arc::new)).transpose()?;
        Ok(Self { taken: Vec::new(), settings, network, quota })
    }

    /// The place of one more process: the `index`th of its role.
    pub fn place(&mut self, index: usize) -> Result<Place, Error> {
        let zone = (self.settings.zones > 1).then_some(index as u32 % self.settings.zones.max(1));
        let server = self.network.add(zone.unwrap_or(0))?;
        let host = self.network.address(server).to_string();
        Ok(Place { host, zone, namespace: self.network.namespace(server).cloned(), quota: self.quota.clone() })
    }

    /// A port of a place that nobody has: the usual one on a network of its own, any on this machine's.
    pub fn port(&mut self, usual: u16) -> Result<u16, Error> {
        if self.settings.kind == NetworkKind::Namespaces { Ok(usual) } else { self.free_port() }
    }

    /// A port of this machine that nobody has.
    pub fn free_port(&mut self) -> Result<u16, Error> {
        loop {
            let port = TcpListener::bind(("127.0.0.1", 0))
                .and_then(|listener| listener.local_addr())
                .map_err(|error| Error::Machine { what: "there is no free port".to_owned(), reason: error.to_string() })?
                .port();
            if !self.taken.contains(&port) {
                self.taken.push(port);
                return Ok(port);
            }
        }
    }

    /// The network between drivers and servers, in words.
    pub fn in_words(&self) -> String {
        let way = self.network.in_words();
        let mut text = if self.settings.balancer { format!("HAProxy, then {way}") } else { way };
        if self.settings.zones > 1 {
            text += &format!("; {} zones", self.settings.zones);
        }
        if let Some(quota) = &self.quota {
            text += &format!("; servers limited to {} cores together", quota.cores());
        }
        text
    }
}
