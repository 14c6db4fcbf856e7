//! INET_ATON, INET_NTOA, INET6_ATON, INET6_NTOA, IS_IPV4, IS_IPV6 ….

use std::net::{Ipv4Addr, Ipv6Addr};

use types::{Collation, Datum};

use crate::error::Result;
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("inet_aton", (1, 1), &[Want::Raw], |_| rt::uint(), inet_aton),
    Builtin::new("inet_ntoa", (1, 1), &[Want::Int], |s| s.connection_string(31), inet_ntoa),
    Builtin::new("inet6_aton", (1, 1), &[Want::Raw], |_| rt::string(16, Collation::Binary), inet6_aton),
    Builtin::new("inet6_ntoa", (1, 1), &[Want::Raw], |s| s.connection_string(39), inet6_ntoa),
    Builtin::new("is_ipv4", (1, 1), &[Want::Raw], |_| rt::boolean(), |a| truth(a.text(0).parse::<Ipv4Addr>().is_ok())),
    Builtin::new("is_ipv6", (1, 1), &[Want::Raw], |_| rt::boolean(), |a| truth(a.text(0).parse::<Ipv6Addr>().is_ok())),
    Builtin::new("is_ipv4_compat", (1, 1), &[Want::Raw], |_| rt::boolean(), |a| truth(has_prefix(a.bytes(0), &[0; 12]))),
    Builtin::new("is_ipv4_mapped", (1, 1), &[Want::Raw], |_| rt::boolean(), |a| truth(has_prefix(a.bytes(0), &MAPPED))),
];

const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

fn truth(value: bool) -> Result<Datum> {
    Ok(Datum::Int(i64::from(value)))
}

fn has_prefix(address: &[u8], prefix: &[u8; 12]) -> bool {
    address.len() == 16 && address.starts_with(prefix)
}

fn incorrect(a: &Args<'_>, function: &str) -> Result<Datum> {
    a.warn(1411, format!("Incorrect string value: '{}' for function {function}", a.text(0)));
    Ok(Datum::Null)
}

/// Short forms put the last part at the end: `127.1` is `127.0.0.1`.
fn inet_aton(a: &Args<'_>) -> Result<Datum> {
    let text = a.text(0);
    let parts: Option<Vec<u64>> = text
        .split('.')
        .map(|p| if p.len() <= 3 && p.bytes().all(|b| b.is_ascii_digit()) { p.parse().ok().filter(|v| *v < 256) } else { None })
        .collect();
    let Some(parts) = parts.filter(|p| (1..=4).contains(&p.len())) else { return incorrect(a, "inet_aton") };
    let (last, head) = parts.split_last().map_or((0, &[][..]), |(l, h)| (*l, h));
    let value = head.iter().enumerate().fold(last, |sum, (i, part)| sum | part << (24 - 8 * i));
    Ok(Datum::UInt(value))
}

fn inet_ntoa(a: &Args<'_>) -> Result<Datum> {
    match u32::try_from(a.bits(0)) {
        Ok(v) => Ok(Datum::Bytes(Ipv4Addr::from(v).to_string().into_bytes())),
        Err(_) => {
            a.warn(1411, format!("Incorrect integer value: '{}' for function inet_ntoa", a.int(0)));
            Ok(Datum::Null)
        }
    }
}

fn inet6_aton(a: &Args<'_>) -> Result<Datum> {
    let text = a.text(0);
    if let Ok(v4) = text.parse::<Ipv4Addr>() {
        return Ok(Datum::Bytes(v4.octets().to_vec()));
    }
    match text.parse::<Ipv6Addr>() {
        Ok(v6) => Ok(Datum::Bytes(v6.octets().to_vec())),
        Err(_) => incorrect(a, "inet6_aton"),
    }
}

fn inet6_ntoa(a: &Args<'_>) -> Result<Datum> {
    let bytes = a.bytes(0);
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Ok(Datum::Bytes(Ipv4Addr::from(v4).to_string().into_bytes()));
    }
    match <[u8; 16]>::try_from(bytes) {
        Ok(v6) => Ok(Datum::Bytes(Ipv6Addr::from(v6).to_string().into_bytes())),
        Err(_) => incorrect(a, "inet6_ntoa"),
    }
}
