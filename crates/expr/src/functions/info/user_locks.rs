//! GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, IS_FREE_LOCK, IS_USED_LOCK.
//!
//! The locks are those of the server the client is connected to; the session keeps them and gives them back when it ends.

use std::time::Duration;

use types::Datum;

use crate::context::{LockWait, StatementHost};
use crate::error::{Error, Result};
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

/// Most characters of a lock's name.
const MAX_NAME_CHARS: usize = 64;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("get_lock", (2, 2), &[Want::Raw, Want::Real], |_| rt::int_of(1), get).sees_null().volatile().waits(),
    Builtin::new("release_lock", (1, 1), &[Want::Raw], |_| rt::int_of(1), release).sees_null().volatile(),
    Builtin::new("release_all_locks", (0, 0), &[], |_| rt::uint(), |a| Ok(Datum::UInt(host(a).map_or(0, |h| h.release_all_locks()))))
        .never_null()
        .volatile(),
    Builtin::new("is_free_lock", (1, 1), &[Want::Raw], |_| rt::int_of(1), is_free).sees_null().volatile(),
    Builtin::new("is_used_lock", (1, 1), &[Want::Raw], |_| rt::uint(), is_used).sees_null().volatile(),
];

fn host<'a>(a: &Args<'a>) -> Option<&'a dyn StatementHost> {
    a.ctx.host.as_deref()
}

/// A lock's name, whatever its case.
fn name(a: &Args<'_>) -> Result<String> {
    let wrong = |name: &str| Error::WrongLockName { name: name.to_owned() };
    if a.is_null(0) {
        return Err(wrong("NULL"));
    }
    let name = a.text(0);
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        return Err(wrong(&name));
    }
    Ok(name.to_lowercase())
}

/// A negative timeout, and one that is NULL, is as good as forever.
fn get(a: &Args<'_>) -> Result<Datum> {
    let name = name(a)?;
    let seconds = if a.is_null(1) { -1.0 } else { a.real(1) };
    let timeout = if seconds < 0.0 { None } else { Duration::try_from_secs_f64(seconds).ok() };
    let Some(host) = host(a) else { return Ok(Datum::Null) };
    match host.get_lock(&name, timeout) {
        LockWait::Taken => Ok(Datum::Int(1)),
        LockWait::TimedOut => Ok(Datum::Int(0)),
        LockWait::Interrupted => Err(Error::Interrupted),
        LockWait::Deadlock => Err(Error::UserLockDeadlock),
    }
}

/// 1 if it was the session's, 0 if it is another's, NULL if nobody has it.
fn release(a: &Args<'_>) -> Result<Datum> {
    let name = name(a)?;
    Ok(host(a).and_then(|host| host.release_lock(&name)).map_or(Datum::Null, Datum::from))
}

fn is_free(a: &Args<'_>) -> Result<Datum> {
    let name = name(a)?;
    Ok(Datum::from(host(a).is_none_or(|host| host.lock_owner(&name).is_none())))
}

fn is_used(a: &Args<'_>) -> Result<Datum> {
    let name = name(a)?;
    Ok(host(a).and_then(|host| host.lock_owner(&name)).map_or(Datum::Null, Datum::UInt))
}
