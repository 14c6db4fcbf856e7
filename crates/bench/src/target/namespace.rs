//! Network namespaces: each process of a target on a network of its own as a container has it, all of them ports of one bridge.
//!
//! ```text
//!   drivers ── bridge 10.77.N.254 ──┬── veth ── eth0 10.77.N.1  pd-0
//!              (this machine)       ├── veth ── eth0 10.77.N.2  kv-0
//!                                   └── …
//! ```
//! A namespace goes when its last process and its last descriptor are gone, its cards with it; the bridge is taken away by [`Bridge`]'s end.

use std::{
    fs::File,
    os::fd::{AsRawFd as _, RawFd},
    process::Command,
    sync::Arc,
};

use super::child::find_program;
use crate::Error;

/// A namespace that lives as long as this, or a process in it.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<File>);

impl Namespace {
    /// A new one, with its loopback up.
    fn create() -> Result<Self, Error> {
        let create = || {
            // SAFETY: a plain system call that concerns this thread alone, which ends with this closure.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(failed("a network namespace cannot be made (this needs root)", std::io::Error::last_os_error()));
            }
            let path = "/proc/thread-self/ns/net";
            File::open(path).map(|file| Self(Arc::new(file))).map_err(Error::file("open", path))
        };
        let namespace = std::thread::scope(|scope| scope.spawn(create).join().expect("it does not panic"))?;
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// For processes that are about to enter it.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Runs something on a thread that is in it.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
        let enter = || {
            enter(self.descriptor()).map_err(|error| failed("a network namespace cannot be entered", error))?;
            work()
        };
        std::thread::scope(|scope| scope.spawn(enter).join().expect("it does not panic"))
    }

    /// Runs `ip` in it.
    pub fn ip(&self, command: &str) -> Result<(), Error> {
        self.within(|| ip(command))
    }

    /// How `ip` names it while we live.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.descriptor())
    }
}

/// Moves the calling thread, or the process between fork and exec, into a namespace.
pub fn enter(namespace: RawFd) -> std::io::Result<()> {
    // SAFETY: a plain system call on a descriptor that is open.
    if unsafe { libc::setns(namespace, libc::CLONE_NEWNET) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// An error of the machine.
pub fn failed(what: &str, error: std::io::Error) -> Error {
    Error::Machine { what: what.to_owned(), reason: error.to_string() }
}

fn ip(command: &str) -> Result<(), Error> {
    let program = find_program("ip", "iproute2", "")?;
    let output = Command::new(&program).args(command.split(' ')).output().map_err(Error::file("start", &program))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(Error::Machine { what: format!("`ip {command}` failed (namespaces need root)"), reason })
        }
    }
}

/// A bridge on this machine, and how many machines are on it.
#[derive(Debug)]
pub struct Bridge {
    name: String,
    subnet: u8,
    machines: u8,
}

impl Bridge {
    /// A bridge in a subnet that is not in use.
    pub fn create() -> Result<Self, Error> {
        let begin = std::process::id() as u8;
        for subnet in (0..=255).map(|offset: u8| begin.wrapping_add(offset)) {
            let name = format!("trine-bench{subnet}");
            if std::path::Path::new("/sys/class/net").join(&name).exists() {
                continue;
            }
            ip(&format!("link add {name} type bridge"))?;
            let bridge = Self { name, subnet, machines: 0 };
            ip(&format!("addr add 10.77.{subnet}.254/24 dev {}", bridge.name))?;
            ip(&format!("link set {} up", bridge.name))?;
            return Ok(bridge);
        }
        Err(Error::Machine {
            what: "there is no free network of 10.77.0.0/24 to 10.77.255.0/24".to_owned(),
            reason: "all are in use".to_owned(),
        })
    }

    /// One more machine on the bridge: its address and its namespace.
    pub fn machine(&mut self) -> Result<(String, Namespace), Error> {
        self.machines += 1;
        let (number, address) = (self.machines, format!("10.77.{}.{}", self.subnet, self.machines));
        let namespace = Namespace::create()?;
        let card = format!("tb{}-{number}", self.subnet);
        ip(&format!("link add {card} type veth peer name eth0 netns {}", namespace.path()))?;
        ip(&format!("link set {card} master {} up", self.name))?;
        namespace.ip(&format!("addr add {address}/24 dev eth0"))?;
        namespace.ip("link set eth0 up")?;
        Ok((address, namespace))
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // Nothing can be done about one that stays.
        let _ = ip(&format!("link del {}", self.name));
    }
}
