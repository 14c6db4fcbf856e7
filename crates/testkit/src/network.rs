//! A network of a test's own, whose machines can be cut off from each other.
//!
//! ```text
//!   machine 0 ─ 10.77.0.1 ─┐
//!   machine 1 ─ 10.77.0.2 ─┼─ bridge ─ 10.77.0.100   the test's thread and those it starts: clients, who reach every machine at all times
//!   machine 2 ─ 10.77.0.3 ─┘
//! ```
//!
//! Each machine is a network namespace of its own, and so is the place of the clients. They have no names: descriptors of this process hold them, so
//! however the test ends the kernel takes them away with all that is in them.
//!
//! A cut is an entry in the table of neighbours of those who send: what goes to a machine that is cut off is addressed to a network card that is not there.
//! Nobody is told, as with a switch that has failed: connections stay open and hear nothing. This needs no packet filter, neither in the kernel nor as a program.

use std::{net::Ipv4Addr, process::Command};

use anyhow::{Context as _, Result};
use bench::network::{Namespace, enter_new_network};

use crate::disk::{enter_private_mounts, on_a_private_thread, run};

/// What is sent here is lost.
const NOBODY: &str = "02:00:00:00:00:ff";

/// Runs a test on a thread with a network and mounts of its own (see [`crate::with_private_mounts`]); that network has no link to any other.
///
/// Where that is not allowed the test is not run and the reason is printed; with `TRINE_REQUIRE_MOUNTS` set that is a failure.
pub fn with_private_network(test: impl FnOnce() + Send + 'static) {
    on_a_private_thread(
        || {
            enter_private_mounts()?;
            enter_new_network().context("no network namespace")
        },
        test,
    );
}

/// Which way a cut goes, seen from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It hears nothing from the other machines; what it sends arrives.
    In,
    /// The other machines hear nothing from it; what they send arrives.
    Out,
    /// Neither.
    Both,
}

/// Machines on a bridge.
#[derive(Debug)]
pub struct Network {
    machines: Vec<Namespace>,
}

fn ip(command: &str) -> Result<()> {
    run(Command::new("ip").args(command.split(' ')))
}

fn card(machine: usize) -> String {
    format!("02:00:00:00:00:{:02x}", machine + 1)
}

impl Network {
    /// Makes a network of so many machines, for the thread that is in a private network.
    pub fn create(machines: usize) -> Result<Self> {
        ip("link set lo up")?;
        ip("link add bridge type bridge")?;
        ip("link set bridge up")?;
        ip("addr add 10.77.0.100/24 dev bridge")?;
        let network = Self { machines: (0..machines).map(|_| Namespace::create()).collect::<Result<_, _>>()? };
        for (number, machine) in network.machines.iter().enumerate() {
            ip(&format!("link add machine{number} type veth peer name eth0 address {} netns {}", card(number), machine.path()))?;
            ip(&format!("link set machine{number} master bridge up"))?;
            machine.ip("link set lo up")?;
            machine.ip(&format!("addr add {}/24 dev eth0", network.address(number)))?;
            machine.ip("link set eth0 up")?;
        }
        for machine in 0..machines {
            network.heal(machine)?;
        }
        Ok(network)
    }

    /// Where a machine is.
    pub fn address(&self, machine: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, machine as u8 + 1)
    }

    /// Runs something on a thread that is on the machine; processes it starts are there too.
    pub fn within<T: Send>(&self, machine: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
        Ok(self.machines[machine].within(work)?)
    }

    /// Cuts a machine off from the other machines.
    pub fn cut(&self, machine: usize, direction: Direction) -> Result<()> {
        for other in (0..self.machines.len()).filter(|other| *other != machine) {
            if direction != Direction::Out {
                self.send(other, machine, NOBODY)?;
            }
            if direction != Direction::In {
                self.send(machine, other, NOBODY)?;
            }
        }
        Ok(())
    }

    /// Takes back every cut of a machine.
    pub fn heal(&self, machine: usize) -> Result<()> {
        for other in (0..self.machines.len()).filter(|other| *other != machine) {
            self.send(other, machine, &card(machine))?;
            self.send(machine, other, &card(other))?;
        }
        Ok(())
    }

    /// What one machine sends to another goes to this network card.
    fn send(&self, from: usize, to: usize, card: &str) -> Result<()> {
        Ok(self.machines[from].ip(&format!("neigh replace {} lladdr {card} dev eth0 nud permanent", self.address(to)))?)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Read as _, Write as _},
        net::{SocketAddr, TcpListener, TcpStream},
        time::Duration,
    };

    use super::*;

    fn connect(to: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&to, Duration::from_secs(1))
    }

    /// Whether a byte from one arrives at the other.
    fn arrives(from: &mut TcpStream, to: &mut TcpStream) -> bool {
        to.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
        from.write_all(b"x").expect("the connection is not broken");
        to.read_exact(&mut [0]).is_ok()
    }

    #[test]
    fn cuts_go_the_way_they_are_told_and_keep_connections_open() {
        with_private_network(|| {
            let network = Network::create(3).expect("a network");
            let [zero, one] = [0, 1].map(|machine| SocketAddr::new(network.address(machine).into(), 4000));
            let listeners = [(0, zero), (1, one)].map(|(machine, at)| network.within(machine, || TcpListener::bind(at)));
            let [_at_zero, at_one] = listeners.map(|listener| listener.expect("on the machine").expect("it listens"));
            let reaches = |machine, to| network.within(machine, || connect(to).is_ok()).expect("on the machine");
            assert!(reaches(0, one) && reaches(1, zero) && reaches(2, one) && connect(one).is_ok());
            while at_one.set_nonblocking(true).is_ok() && at_one.accept().is_ok() {}
            at_one.set_nonblocking(false).expect("it waits");
            let mut from_zero = network.within(0, || connect(one)).expect("on the machine").expect("a connection");
            let (mut at_one_end, _) = at_one.accept().expect("a connection");
            assert!(arrives(&mut from_zero, &mut at_one_end) && arrives(&mut at_one_end, &mut from_zero));

            network.cut(0, Direction::Both).expect("a cut");
            assert!(!reaches(0, one) && !reaches(1, zero) && reaches(2, one));
            assert!(connect(zero).is_ok(), "clients are not cut off");
            network.heal(0).expect("no cut");

            network.cut(0, Direction::Out).expect("a cut");
            assert!(!arrives(&mut from_zero, &mut at_one_end));
            assert!(arrives(&mut at_one_end, &mut from_zero));
            network.heal(0).expect("no cut");
            at_one_end.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
            at_one_end.read_exact(&mut [0]).expect("what was lost is sent again");
            // Back and forth once more: what nobody has acknowledged yet would hold the next byte back.
            assert!(
                arrives(&mut at_one_end, &mut from_zero)
                    && arrives(&mut from_zero, &mut at_one_end)
                    && arrives(&mut at_one_end, &mut from_zero)
            );

            network.cut(0, Direction::In).expect("a cut");
            assert!(arrives(&mut from_zero, &mut at_one_end));
            assert!(!arrives(&mut at_one_end, &mut from_zero));
        });
    }
}
