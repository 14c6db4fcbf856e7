//! Delay between zones: packets between two machines of different zones travel through this process and wait here.
//!
//! ```text
//!   machine of zone 0 ── card `zones` ──┐                     ┌── card `zones` ── machine of zone 1
//!                        (TUN)          └─► queue, by due time ┘   (TUN)
//! ```
//!
//! Each machine has a route to every machine of another zone by a card of its own whose other end is a descriptor here. One thread reads packets, keeps each
//! for the delay and writes it to the card of its destination; packets of one pair keep their order. The kernel's own way to do this, netem, is a module that
//! many kernels of virtual machines and containers lack. What packets wait beyond the delay is the time to read and write them, some ten microseconds.

use std::{
    collections::VecDeque,
    fs::File,
    io::{Read as _, Write as _},
    net::Ipv4Addr,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::namespace::{Namespace, failed};
use crate::Error;

/// Largest packet of a card.
const PACKET_BYTES: usize = 2048;
/// Card's name.
const CARD: &str = "zones";
/// How often the thread looks whether it should end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A machine with a card of its own for other zones.
#[derive(Debug)]
struct Machine {
    address: Ipv4Addr,
    zone: u32,
    namespace: Namespace,
    card: Arc<File>,
}

/// Machines in zones. Machines can be added until [`Delay::begin`].
#[derive(Debug)]
pub struct Delay {
    delay: Duration,
    machines: Vec<Machine>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Delay {
    /// No machines yet.
    pub fn new(delay: Duration) -> Self {
        Self { delay, machines: Vec::new(), stop: Arc::new(AtomicBool::new(false)), thread: None }
    }

    /// Adds a machine; the way between it and those of other zones is delayed from now on.
    pub fn add(&mut self, address: &str, zone: u32, namespace: &Namespace) -> Result<(), Error> {
        let invalid = |_| Error::Machine { what: format!("{address} is no address"), reason: "of version 4".to_owned() };
        let address: Ipv4Addr = address.parse().map_err(invalid)?;
        let card = Arc::new(namespace.within(open_card)?);
        namespace.ip(&format!("link set {CARD} mtu 1500 txqueuelen 10000 up"))?;
        let machine = Machine { address, zone, namespace: namespace.clone(), card };
        for other in self.machines.iter().filter(|other| other.zone != zone) {
            machine.namespace.ip(&format!("route add {}/32 dev {CARD} src {address}", other.address))?;
            other.namespace.ip(&format!("route add {address}/32 dev {CARD} src {}", other.address))?;
        }
        self.machines.push(machine);
        self.restart();
        Ok(())
    }

    /// The thread goes on with the machines that there are now; what waits in it is sent again by those who sent it.
    fn restart(&mut self) {
        self.end();
        self.stop = Arc::new(AtomicBool::new(false));
        let cards = self.machines.iter().map(|machine| (machine.address, machine.card.clone())).collect();
        let (delay, stop) = (self.delay, self.stop.clone());
        self.thread = Some(std::thread::spawn(move || carry(cards, delay, &stop)));
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // It has nothing to tell.
        }
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.end();
    }
}

/// Makes a card in this thread's namespace.
fn open_card() -> Result<File, Error> {
    let path = c"/dev/net/tun";
    let what = "a network card for delays cannot be made";
    // SAFETY: the path ends with a zero; the descriptor is owned at once; the request is of the size that the call reads, and its name is shorter than its
    // field, the rest of which is zero.
    unsafe {
        let descriptor = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC);
        if descriptor < 0 {
            return Err(failed(what, std::io::Error::last_os_error()));
        }
        let file = File::from(OwnedFd::from_raw_fd(descriptor));
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(CARD.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        if libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &request) < 0 {
            return Err(failed(what, std::io::Error::last_os_error()));
        }
        Ok(file)
    }
}

/// Packets in the order in which they came, which is that in which they are due: the delay is the same for all.
struct Waiting {
    due: Instant,
    to: usize,
    packet: Vec<u8>,
}

fn carry(cards: Vec<(Ipv4Addr, Arc<File>)>, delay: Duration, stop: &AtomicBool) {
    let mut queue: VecDeque<Waiting> = VecDeque::new();
    let mut polled: Vec<libc::pollfd> =
        cards.iter().map(|(_, card)| libc::pollfd { fd: card.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
    let mut buffer = [0; PACKET_BYTES];
    while !stop.load(Ordering::Relaxed) {
        let wait = queue.front().map_or(LOOK_EVERY, |first| first.due.saturating_duration_since(Instant::now()).min(LOOK_EVERY));
        let wait = libc::timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        // SAFETY: the list is ours and its length is told; its descriptors are open as long as the cards.
        unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &wait, std::ptr::null()) };
        let due = Instant::now() + delay;
        for ((_, card), _) in cards.iter().zip(&polled).filter(|(_, poll)| poll.revents & libc::POLLIN != 0) {
            // Until there is none; a card that is gone reads nothing.
            while let Ok(length @ 1..) = (&**card).read(&mut buffer) {
                let to = destination(&buffer[..length]).and_then(|to| cards.iter().position(|(address, _)| *address == to));
                // What is for nobody here (multicast of version 6) is lost, as on any wire.
                queue.extend(to.map(|to| Waiting { due, to, packet: buffer[..length].to_vec() }));
            }
        }
        while queue.front().is_some_and(|first| first.due <= Instant::now()) {
            let Some(first) = queue.pop_front() else { break };
            // A full card loses it; TCP sends it again.
            let _ = (&*cards[first.to].1).write(&first.packet);
        }
    }
}

/// Of a packet of IP version 4.
fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    let version = packet.first()? >> 4;
    let bytes: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    (version == 4).then(|| bytes.into())
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        net::{TcpListener, TcpStream},
    };

    use super::{super::namespace::Bridge, *};

    /// Milliseconds of a byte there and back between two machines.
    fn round_trip(from: &Namespace, to: &Namespace, address: &str) -> f64 {
        let to_io = |error: io::Error| failed("network", error);
        let listener = to.within(|| TcpListener::bind((address, 4000)).map_err(to_io)).expect("it listens");
        let mut client = from.within(|| TcpStream::connect((address, 4000)).map_err(to_io)).expect("it connects");
        let (mut server, _) = listener.accept().expect("a connection");
        let began = Instant::now();
        client.write_all(b"x").expect("sent");
        server.read_exact(&mut [0]).expect("received");
        server.write_all(b"y").expect("sent");
        client.read_exact(&mut [0]).expect("received");
        began.elapsed().as_secs_f64() * 1000.0
    }

    #[test]
    fn packets_between_zones_take_longer_and_within_a_zone_do_not() {
        let mut bridge = match Bridge::create() {
            Ok(bridge) => bridge,
            Err(error) if std::env::var_os("TRINE_REQUIRE_MOUNTS").is_none() => return eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        };
        let mut delay = Delay::new(Duration::from_millis(30));
        let mut machines = Vec::new();
        for zone in [0, 0, 1] {
            let (address, namespace) = bridge.machine().expect("a machine");
            delay.add(&address, zone, &namespace).expect("in a zone");
            machines.push((address, namespace));
        }
        let [(_, zero), (address, same), (far_address, far)] = &machines[..] else { panic!("three") };
        // The delay is a floor whatever the machine does; a packet within a zone can be held up by the machine alone.
        assert!(round_trip(zero, far, far_address) >= 60.0);
        assert!((0..20).any(|_| round_trip(zero, same, address) < 30.0));
    }
}
