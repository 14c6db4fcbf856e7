//! A network namespace without a name: descriptors of this process hold it, so however the process ends the kernel takes the namespace away
//! with every network card in it.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd as _, RawFd},
        unix::process::CommandExt as _,
    },
    process::Command,
    sync::Arc,
    thread,
};

use super::program;
use crate::Error;

/// A network namespace that lives as long as this and its clones, and as long as processes are in it.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<File>);

impl Namespace {
    /// Makes a namespace in which there is nothing but a loopback card that is down. Needs `CAP_SYS_ADMIN`.
    pub fn create() -> Result<Self, Error> {
        let create = || {
            enter_new_network()?;
            Ok(Self(Arc::new(File::open("/proc/thread-self/ns/net")?)))
        };
        thread::scope(|scope| scope.spawn(create).join().expect("no panic")).map_err(refused)
    }

    /// Runs something on a thread of the namespace; sockets it opens stay there, and processes it starts are there.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let enter = || {
            enter(self.0.as_raw_fd())?;
            Ok(work())
        };
        thread::scope(|scope| scope.spawn(enter).join().expect("no panic")).map_err(refused)
    }

    /// Runs `ip` in the namespace.
    pub fn ip(&self, arguments: &str) -> Result<(), Error> {
        self.within(|| program::ip(arguments))?.map(|_| ())
    }

    /// Makes a process that is about to be started start in the namespace.
    pub fn place(&self, command: &mut Command) {
        let namespace = self.clone();
        // SAFETY: between fork and exec only a system call is made, on a descriptor that the closure owns.
        unsafe { command.pre_exec(move || enter(namespace.0.as_raw_fd())) };
    }

    /// How other processes of this user name it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// Gives this thread, and those it starts, a network of its own that has no link to any other.
pub fn enter_new_network() -> io::Result<()> {
    // SAFETY: a plain system call that concerns this thread alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn enter(namespace: RawFd) -> io::Result<()> {
    // SAFETY: a plain system call that concerns this thread alone.
    if unsafe { libc::setns(namespace, libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn refused(error: io::Error) -> Error {
    let hint = if error.kind() == io::ErrorKind::PermissionDenied { " (it needs root: CAP_SYS_ADMIN and CAP_NET_ADMIN)" } else { "" };
    Error::Machine { what: "a network namespace cannot be made or entered".to_owned(), reason: format!("{error}{hint}") }
}
