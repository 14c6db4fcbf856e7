//! Where the processes of a target are: which addresses and ports they have, and what of the machine they may use.

use std::{fs::File, net::TcpListener, os::unix::process::CommandExt as _, process::Command, sync::Arc, time::Duration};

use super::{
    delay::Delay,
    namespace::{self, Bridge, Namespace},
    quota::{self, Quota},
};
use crate::{
    Error,
    scenario::{Network, NetworkKind, Target, Topology},
};

/// The places of one target. It goes after the target's processes.
#[derive(Debug, Default)]
pub struct Site {
    taken: Vec<u16>,
    network: Network,
    cores: f64,
    // In the order of their end: the bridge goes last.
    delay: Option<Delay>,
    bridge: Option<Bridge>,
    quota: Option<Quota>,
}

/// The place of one process.
#[derive(Debug)]
pub struct Place {
    /// Its address.
    pub host: String,
    /// Number of its zone, from 0, where there are several.
    pub zone: Option<u32>,
    namespace: Option<Namespace>,
    quota: Option<Arc<File>>,
}

impl Place {
    /// For a process that is no server: on this machine's network, with all of its processors.
    pub fn on_this_machine() -> Self {
        Self { host: "127.0.0.1".to_owned(), zone: None, namespace: None, quota: None }
    }

    /// Puts a process that is about to be started in its place.
    pub fn apply(&self, command: &mut Command) {
        let (namespace, members) = (self.namespace.clone(), self.quota.clone());
        // SAFETY: between fork and exec two system calls are made on descriptors that are open.
        unsafe {
            command.pre_exec(move || {
                if let Some(namespace) = &namespace {
                    namespace::enter(namespace.descriptor())?;
                }
                members.as_ref().map_or(Ok(()), |members| quota::join(members))
            });
        }
    }
}

impl Site {
    /// The site of a target.
    pub fn new(target: &Target, topology: Topology) -> Result<Self, Error> {
        if topology == Topology::Endpoints {
            return Ok(Self::default());
        }
        let network = target.network.clone();
        let in_namespaces = network.kind == NetworkKind::Namespaces;
        let is_delayed = in_namespaces && network.zones > 1 && network.delay_ms > 0.0;
        Ok(Self {
            taken: Vec::new(),
            delay: is_delayed.then(|| Delay::new(Duration::from_secs_f64(network.delay_ms / 1000.0))),
            bridge: in_namespaces.then(Bridge::create).transpose()?,
            quota: (target.cpu.cores > 0.0).then(|| Quota::create(target.cpu.cores)).transpose()?,
            cores: target.cpu.cores,
            network,
        })
    }

    /// The place of one more process: the `index`th of its role.
    pub fn place(&mut self, index: usize) -> Result<Place, Error> {
        let quota = self.quota.as_ref().map(Quota::members);
        let zones = self.network.zones.max(1);
        let zone = (zones > 1).then_some(index as u32 % zones);
        let Some(bridge) = &mut self.bridge else { return Ok(Place { zone, quota, ..Place::on_this_machine() }) };
        let (host, namespace) = bridge.machine()?;
        if let (Some(delay), Some(zone)) = (&mut self.delay, zone) {
            delay.add(&host, zone, &namespace)?;
        }
        Ok(Place { host, zone, namespace: Some(namespace), quota })
    }

    /// A port of a place that nobody has: the usual one on a network of its own, any on this machine's.
    pub fn port(&mut self, usual: u16) -> Result<u16, Error> {
        if self.bridge.is_some() { Ok(usual) } else { self.free_port() }
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
        let way = match self.network.kind {
            NetworkKind::Host => "loopback",
            NetworkKind::Namespaces => "namespaces on a bridge",
        };
        let mut text = if self.network.balancer { format!("HAProxy, then {way}") } else { way.to_owned() };
        if self.network.zones > 1 {
            text += &format!("; {} zones", self.network.zones);
        }
        if self.delay.is_some() {
            text += &format!(", {} ms longer each way between two of them", self.network.delay_ms);
        }
        if self.quota.is_some() {
            text += &format!("; servers limited to {} cores together", self.cores);
        }
        text
    }
}
