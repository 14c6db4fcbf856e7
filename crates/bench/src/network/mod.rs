//! Networks of local targets: this machine's own, or one of namespaces like that of containers; delays between zones; shares of the processors.
//!
//! ```text
//!   this machine                                      namespace of the switch
//!   driver ─ veth 10.77.n.254 ────────────────────────┬─ bridge
//!                                                     ├─────── veth ─ eth0 10.77.n.1    namespace of a server in zone 0
//!                                                     ├─────── veth ─ eth0 10.77.n.2    … another in zone 0
//!                                                     └─────── veth ─ eth0 10.77.n.33   … one in zone 1
//! ```
//!
//! | part | needs | without it |
//! |---|---|---|
//! | [`Network::namespaces`] | root (`CAP_SYS_ADMIN`, `CAP_NET_ADMIN`), `ip` of package iproute2 | an error that says so |
//! | delays between zones | `tc` of package iproute2 and a kernel with `sch_netem`, or else `/dev/net/tun` | an error that says so |
//! | [`CpuQuota`] | root, control groups of version 2 or 1 with the controller `cpu` | an error that says so |
//!
//! Everything is taken away when it is dropped. Namespaces and cards also go when this process is killed: nothing but its descriptors holds them.
//!
//! # Delays
//!
//! A packet from a server in one zone to a server in another takes longer by the delay, so a round trip takes twice the delay longer. Drivers
//! are in no zone: their packets are never delayed. Where the kernel has `netem` it delays what leaves a server's card. Where it has not, packets
//! between zones take a way through this process, which costs it processor time; [`Network::in_words`] says which one it is, because figures
//! over the two do not compare.

mod namespace;
mod program;
mod quota;
mod relay;

use std::{
    net::Ipv4Addr,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

pub use self::{
    namespace::{Namespace, enter_new_network},
    quota::CpuQuota,
};
use self::{
    program::{ip, tc},
    relay::Relay,
};
use crate::Error;

/// Zones there may be, and servers in each: a zone has 32 addresses of the network's 256, and the last of such ranges is for drivers.
const ZONES: u32 = 7;
const SERVERS_A_ZONE: u32 = 30;
/// The driver's place in the network.
const DRIVER: u8 = 254;

/// The network of a target.
#[derive(Debug)]
pub struct Network {
    /// The namespace with the bridge; none on this machine's own network.
    switch: Option<Namespace>,
    /// None when no packet is delayed.
    delay: Option<Delay>,
    /// Third part of all addresses.
    subnet: u8,
    servers: Vec<Server>,
}

/// Who delays packets between zones, and by how much.
#[derive(Debug)]
enum Delay {
    /// The kernel.
    Netem(Duration),
    /// This process.
    Relay(Duration, Relay),
}

#[derive(Debug)]
struct Server {
    address: Ipv4Addr,
    zone: u32,
    /// None on this machine's own network.
    namespace: Option<Namespace>,
}

impl Default for Network {
    fn default() -> Self {
        Self::host()
    }
}

impl Network {
    /// This machine's own network: every server is on the loopback address.
    pub fn host() -> Self {
        Self { switch: None, delay: None, subnet: 0, servers: Vec::new() }
    }

    /// A network of namespaces, in which packets between zones take longer by `delay`. Servers are added one by one.
    pub fn namespaces(delay: Duration) -> Result<Self, Error> {
        let subnet = free_subnet()?;
        let delay = match delay {
            Duration::ZERO => None,
            _ if kernel_delays()? => Some(Delay::Netem(delay)),
            _ => Some(Delay::Relay(delay, Relay::new(delay))),
        };
        let switch = Some(bridge(Ipv4Addr::new(10, 77, subnet, DRIVER))?);
        Ok(Self { switch, delay, subnet, servers: Vec::new() })
    }

    /// Adds a server in a zone, from 0; answers its number. On this machine's own network it has no namespace.
    pub fn add(&mut self, zone: u32) -> Result<usize, Error> {
        let number = self.servers.len();
        let Some(switch) = &self.switch else {
            self.servers.push(Server { address: Ipv4Addr::LOCALHOST, zone, namespace: None });
            return Ok(number);
        };
        let in_zone = self.servers.iter().filter(|server| server.zone == zone).count() as u32;
        if zone >= ZONES || in_zone >= SERVERS_A_ZONE {
            let reason = format!("there may be {ZONES} zones of {SERVERS_A_ZONE} servers");
            return Err(Error::Machine { what: format!("a network has no place for server {in_zone} of zone {zone}"), reason });
        }
        let address = Ipv4Addr::new(10, 77, self.subnet, (zone * 32 + in_zone + 1) as u8);
        let namespace = bridged(switch, address, number)?;
        match &mut self.delay {
            None => {}
            Some(Delay::Netem(delay)) => {
                for arguments in delaying_commands(self.subnet, zone, *delay) {
                    namespace.within(|| tc(&arguments))??;
                }
            }
            Some(Delay::Relay(_, relay)) => relay.add(address, zone, &namespace)?,
        }
        self.servers.push(Server { address, zone, namespace: Some(namespace) });
        Ok(number)
    }

    /// Where a server is.
    ///
    /// # Panics
    ///
    /// When there is no such server.
    pub fn address(&self, server: usize) -> Ipv4Addr {
        self.servers[server].address
    }

    /// The namespace of a server; none on this machine's own network.
    ///
    /// # Panics
    ///
    /// When there is no such server.
    pub fn namespace(&self, server: usize) -> Option<&Namespace> {
        self.servers[server].namespace.as_ref()
    }

    /// Makes a process that is about to be started start on a server.
    ///
    /// # Panics
    ///
    /// When there is no such server.
    pub fn place(&self, server: usize, command: &mut Command) {
        if let Some(namespace) = self.namespace(server) {
            namespace.place(command);
        }
    }

    /// Runs something on a thread that is on a server.
    ///
    /// # Panics
    ///
    /// When there is no such server.
    pub fn within<T: Send>(&self, server: usize, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        match self.namespace(server) {
            None => Ok(work()),
            Some(namespace) => namespace.within(work),
        }
    }

    /// What it is, as reports say it.
    pub fn in_words(&self) -> String {
        let millis = |delay: &Duration| delay.as_secs_f64() * 1000.0;
        let way = if self.switch.is_some() { "namespaces on a bridge" } else { "loopback" };
        match &self.delay {
            None => way.to_owned(),
            Some(Delay::Netem(delay)) => format!("{way}, {} ms longer each way between two zones (netem)", millis(delay)),
            Some(Delay::Relay(delay, _)) => {
                format!("{way}, {} ms longer each way between two zones (a relay in user space: the kernel has no netem)", millis(delay))
            }
        }
    }
}

/// The third part of addresses that no card of this machine has.
fn free_subnet() -> Result<u8, Error> {
    let taken = ip("-4 -o addr show")?;
    let first = std::process::id();
    let free = (0..=255u32).map(|step| (first + step) as u8).find(|subnet| !taken.contains(&format!(" 10.77.{subnet}.")));
    free.ok_or_else(|| Error::Machine { what: "there is no free network".to_owned(), reason: "10.77.0.0/16 is in use".to_owned() })
}

/// A name of a card that this machine does not have.
fn card_name() -> String {
    static CARDS: AtomicU32 = AtomicU32::new(0);
    format!("tr{:x}n{}", std::process::id(), CARDS.fetch_add(1, Ordering::Relaxed))
}

/// Makes a bridge in a namespace of its own, with a card on this machine.
fn bridge(driver: Ipv4Addr) -> Result<Namespace, Error> {
    let switch = Namespace::create()?;
    let card = card_name();
    switch.ip("link add bridge type bridge")?;
    switch.ip("link set bridge up")?;
    ip(&format!("link add {card} type veth peer name driver netns {}", switch.path()))?;
    switch.ip("link set driver master bridge up")?;
    ip(&format!("addr add {driver}/24 dev {card}"))?;
    ip(&format!("link set {card} up"))?;
    Ok(switch)
}

/// Makes a namespace with a card on the bridge.
fn bridged(switch: &Namespace, address: Ipv4Addr, number: usize) -> Result<Namespace, Error> {
    let namespace = Namespace::create()?;
    switch.ip(&format!("link add server{number} type veth peer name eth0 netns {}", namespace.path()))?;
    switch.ip(&format!("link set server{number} master bridge up"))?;
    namespace.ip("link set lo up")?;
    namespace.ip(&format!("addr add {address}/24 dev eth0"))?;
    namespace.ip("link set eth0 up")?;
    Ok(namespace)
}

/// Whether this kernel can delay packets.
fn kernel_delays() -> Result<bool, Error> {
    match Namespace::create()?.within(|| tc("qdisc add dev lo root netem delay 1ms"))? {
        Ok(_) => Ok(true),
        Err(Error::Machine { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Arguments of `tc` on a server: what goes to other zones goes through netem, everything else past it.
fn delaying_commands(subnet: u8, zone: u32, delay: Duration) -> Vec<String> {
    let micros = delay.as_micros();
    let mut commands = vec![
        "qdisc add dev eth0 root handle 1: htb default 1".to_owned(),
        "class add dev eth0 parent 1: classid 1:1 htb rate 100gbit".to_owned(),
        "class add dev eth0 parent 1: classid 1:2 htb rate 100gbit".to_owned(),
        // As many packets as may be under way at 10 Gbit/s for a hundred milliseconds: none is lost for want of place.
        format!("qdisc add dev eth0 parent 1:2 handle 2: netem delay {micros}us limit 100000"),
    ];
    commands.extend((0..ZONES).filter(|other| *other != zone).map(|other| {
        let first = other * 32;
        format!("filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst 10.77.{subnet}.{first}/27 flowid 1:2")
    }));
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_to_every_other_zone_and_no_others_are_delayed() {
        let commands = delaying_commands(9, 1, Duration::from_micros(1500));
        assert!(commands.iter().any(|command| command.contains("netem delay 1500us")), "{commands:#?}");
        let ranges: Vec<_> = commands.iter().filter_map(|command| command.split_once(" dst ")?.1.split(' ').next()).collect();
        assert_eq!(ranges, ["10.77.9.0/27", "10.77.9.64/27", "10.77.9.96/27", "10.77.9.128/27", "10.77.9.160/27", "10.77.9.192/27"]);
    }
}
