//! Delay between zones where the kernel has no `netem`: packets between two servers of different zones travel through this process and wait here.
//!
//! ```text
//!   server of zone 0 ── card `zones` ──┐                     ┌── card `zones` ── server of zone 1
//!                        (TUN)         └─► queue, by due time ┘   (TUN)
//! ```
//!
//! Each server has a route to every server of another zone by a card of its own whose other end is a descriptor here. One thread reads packets, keeps each
//! for the delay and writes it to the card of its destination; packets of one pair keep their order. What packets wait beyond the delay is the time to read
//! and write them, some ten microseconds.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read as _, Write as _},
    net::Ipv4Addr,
    os::{fd::AsRawFd as _, unix::fs::OpenOptionsExt as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::namespace::Namespace;
use crate::Error;

/// Largest packet of a card.
const PACKET_BYTES: usize = 2048;
/// Card's name.
const CARD: &str = "zones";
/// How often the thread looks whether it should end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A server with a card of its own for other zones.
#[derive(Debug)]
struct Server {
    address: Ipv4Addr,
    zone: u32,
    namespace: Namespace,
    card: Arc<File>,
}

/// Servers in zones. The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct Relay {
    delay: Duration,
    servers: Vec<Server>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// No servers yet.
    pub(super) fn new(delay: Duration) -> Self {
        Self { delay, servers: Vec::new(), stop: Arc::new(AtomicBool::new(false)), thread: None }
    }

    /// Adds a server; the way between it and those of other zones is delayed from now on.
    pub(super) fn add(&mut self, address: Ipv4Addr, zone: u32, namespace: &Namespace) -> Result<(), Error> {
        let card = Arc::new(namespace.within(open_card)?.map_err(no_card)?);
        namespace.ip(&format!("link set {CARD} mtu 1500 txqueuelen 10000 up"))?;
        let server = Server { address, zone, namespace: namespace.clone(), card };
        for other in self.servers.iter().filter(|other| other.zone != zone) {
            server.namespace.ip(&format!("route add {}/32 dev {CARD} src {address}", other.address))?;
            other.namespace.ip(&format!("route add {address}/32 dev {CARD} src {}", other.address))?;
        }
        self.servers.push(server);
        self.restart();
        Ok(())
    }

    /// The thread goes on with the servers that there are now; what waits in it is sent again by those who sent it.
    fn restart(&mut self) {
        self.end();
        self.stop = Arc::new(AtomicBool::new(false));
        let cards = self.servers.iter().map(|server| (server.address, server.card.clone())).collect();
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

impl Drop for Relay {
    fn drop(&mut self) {
        self.end();
    }
}

fn no_card(error: io::Error) -> Error {
    let what = "packets between zones cannot be delayed: the kernel has no sch_netem, and a card for delays cannot be made".to_owned();
    Error::Machine { what, reason: format!("/dev/net/tun: {error} (it needs root and the kernel's `tun`)") }
}

/// Makes a card in this thread's namespace.
fn open_card() -> io::Result<File> {
    let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: all zeros is a value of this plain structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The name is shorter than its field, the rest of which is zero.
    for (to, from) in request.ifr_name.iter_mut().zip(CARD.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the descriptor is open, and the request reads and writes one structure that outlives the call.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
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
        while let Some(first) = queue.pop_front_if(|first| first.due <= Instant::now()) {
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
