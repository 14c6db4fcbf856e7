//! Networks and processor shares as they are used: real namespaces and control groups. They need root; elsewhere the tests
//! say that they were skipped, and fail instead with `TRINE_REQUIRE_MOUNTS=1`.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use bench::{
    Error,
    network::{CpuQuota, Network, enter_new_network},
};

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a test on a thread whose machine's network is one of its own.
fn with_private_network(test: impl FnOnce() + Send + 'static) {
    let work = || match enter_new_network() {
        Ok(()) => test(),
        Err(error) => {
            assert!(std::env::var_os("TRINE_REQUIRE_MOUNTS").is_none(), "networks of the tests' own are required, but: {error}");
            println!("skipped: {error} (the test makes networks and must run as root)");
        }
    };
    if let Err(panic) = std::thread::spawn(work).join() {
        std::panic::resume_unwind(panic);
    }
}

fn listen(network: &Network, server: usize) -> (TcpListener, SocketAddr) {
    let address = network.address(server);
    let listener = network.within(server, || TcpListener::bind((address, 0))).expect("on the server").expect("listens");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn connect(to: SocketAddr) -> std::io::Result<TcpStream> {
    TcpStream::connect_timeout(&to, PATIENCE)
}

/// Sends a byte there and back; answers how long it took.
fn round_trip(one: &mut TcpStream, other: &mut TcpStream) -> Duration {
    let began = Instant::now();
    one.write_all(b"a").expect("sent");
    other.read_exact(&mut [0]).expect("received");
    other.write_all(b"b").expect("sent");
    one.read_exact(&mut [0]).expect("received");
    began.elapsed()
}

fn cards() -> Vec<String> {
    let listed = Command::new("ip").args(["-o", "link"]).output().expect("ip runs");
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn servers_in_namespaces_reach_each_other_and_vanish_with_the_network() {
    with_private_network(|| {
        let before = cards();
        let mut network = Network::namespaces(Duration::ZERO).expect("a network");
        for zone in [0, 0, 1] {
            network.add(zone).expect("a server");
        }
        assert_eq!(network.in_words(), "namespaces on a bridge");
        let (listener, address) = listen(&network, 2);
        let mut here = connect(address).expect("the driver reaches a server");
        let mut there = listener.accept().expect("a connection").0;
        round_trip(&mut here, &mut there);
        let mut from_server = network.within(0, || connect(address)).expect("on the server").expect("a server reaches another");
        round_trip(&mut from_server, &mut listener.accept().expect("a connection").0);
        // A process that is placed there has the server's address and no other.
        let mut command = Command::new("ip");
        network.place(1, command.args(["-4", "-o", "addr", "show", "eth0"]));
        let shown = String::from_utf8(command.output().expect("ip runs").stdout).expect("text");
        assert!(shown.contains(&format!(" {}/24 ", network.address(1))), "{shown}");
        assert!(cards().len() > before.len());
        drop((network, listener, here, there, from_server));
        // The kernel takes a namespace away a moment after its last descriptor.
        let deadline = Instant::now() + PATIENCE;
        while cards() != before {
            assert!(Instant::now() < deadline, "cards are left: {:?}", cards());
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn packets_between_zones_take_longer_and_others_do_not() {
    with_private_network(|| {
        const DELAY: Duration = Duration::from_millis(150);
        let mut network = Network::namespaces(DELAY).expect("a network that delays");
        println!("{}", network.in_words());
        for zone in [0, 0, 1] {
            network.add(zone).expect("a server");
        }
        assert!(network.in_words().contains("150 ms longer each way between two zones"), "{}", network.in_words());
        let (listener, address) = listen(&network, 0);
        // The shortest of several: what the machine adds is not the network's.
        let shortest = |from: Option<usize>| {
            let mut one = match from {
                Some(server) => network.within(server, || connect(address)).expect("on the server"),
                None => connect(address),
            }
            .expect("connects");
            one.set_nodelay(true).expect("set");
            let mut other = listener.accept().expect("a connection").0;
            other.set_nodelay(true).expect("set");
            (0..5).map(|_| round_trip(&mut one, &mut other)).min().expect("some")
        };
        let (same_zone, other_zone, driver) = (shortest(Some(1)), shortest(Some(2)), shortest(None));
        assert!(other_zone >= 2 * DELAY, "{other_zone:?}");
        assert!(same_zone < DELAY && driver < DELAY, "{same_zone:?}, {driver:?}");
    });
}

#[test]
fn much_data_between_zones_arrives_as_it_was_sent() {
    with_private_network(|| {
        let mut network = Network::namespaces(Duration::from_millis(2)).expect("a network that delays");
        network.add(0).expect("a server");
        network.add(1).expect("a server");
        let (listener, address) = listen(&network, 0);
        let sent: Vec<u8> = (0..4_000_000u32).flat_map(u32::to_le_bytes).collect();
        let mut one = network.within(1, || connect(address)).expect("on the server").expect("connects");
        let mut other = listener.accept().expect("a connection").0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                one.write_all(&sent).expect("sent");
                one.shutdown(std::net::Shutdown::Write).expect("ended");
            });
            let mut received = Vec::new();
            other.read_to_end(&mut received).expect("received");
            assert!(received == sent, "{} bytes of {} arrived, or others", received.len(), sent.len());
        });
    });
}

#[test]
fn a_zone_that_is_full_is_said() {
    with_private_network(|| {
        let mut network = Network::namespaces(Duration::ZERO).expect("a network");
        let refused = network.add(7);
        assert!(matches!(&refused, Err(Error::Machine { reason, .. }) if reason.contains("7 zones of 30 servers")), "{refused:?}");
    });
}

#[test]
fn the_host_network_is_loopback() {
    let mut network = Network::host();
    let server = network.add(0).expect("a server");
    let (_listener, address) = listen(&network, server);
    assert!(connect(address).is_ok() && address.ip().is_loopback());
    assert_eq!(network.in_words(), "loopback");
}

/// Value of a line `name value`.
fn counter(text: &str, name: &str) -> u64 {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or_default()
}

#[test]
fn processes_over_their_share_of_the_processors_are_held_back() {
    // SAFETY: a plain system call.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root && std::env::var_os("TRINE_REQUIRE_MOUNTS").is_none() {
        println!("skipped: the test makes a control group and must run as root");
        return;
    }
    let quota = CpuQuota::new(0.2).expect("a share");
    let mut command = Command::new("sh");
    quota.place(command.args(["-c", "while :; do :; done"]).stdin(Stdio::null())).expect("placed");
    let mut busy = command.spawn().expect("sh runs");
    let group = quota.group().to_owned();
    let deadline = Instant::now() + PATIENCE;
    // The kernel says how often it has held the group back.
    while counter(&fs::read_to_string(group.join("cpu.stat")).expect("statistics"), "nr_throttled ") < 3 {
        assert!(Instant::now() < deadline, "the group is never held back");
        std::thread::sleep(Duration::from_millis(20));
    }
    let members = fs::read_to_string(group.join("cgroup.procs")).expect("members");
    assert!(members.lines().any(|member| member == busy.id().to_string()), "{members}");
    busy.kill().and_then(|()| busy.wait()).expect("ended");
    drop(quota);
    assert!(!group.exists(), "the group is left");
    let refused = CpuQuota::new(0.0);
    assert!(matches!(&refused, Err(Error::Machine { what, .. }) if what.contains("0 cores")), "{refused:?}");
}
