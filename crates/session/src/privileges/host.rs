//! Host patterns of accounts: `%`, `192.168.%`, `10.0.0.0/255.0.0.0`, `10.0.0.0/8`, `localhost`.

use std::net::IpAddr;

/// Whether a pattern matches a client's address.
pub(crate) fn matches(pattern: &str, host: &str) -> bool {
    if pattern.is_empty() || pattern == "%" {
        return true;
    }
    let is_local = matches!(host, "127.0.0.1" | "::1" | "localhost");
    if is_local && pattern.eq_ignore_ascii_case("localhost") {
        return true;
    }
    match pattern.split_once('/') {
        Some((network, mask)) => in_network(network, mask, host),
        None => like(pattern.as_bytes(), host.as_bytes()),
    }
}

/// How specific a pattern is. Exact names and addresses come first, then networks by the length of their masks, then patterns with wildcards
/// by their length before the first one, then `%`, then the empty pattern.
pub(crate) fn specificity(pattern: &str) -> u32 {
    match pattern {
        "" => 0,
        "%" => 1,
        _ => match (pattern.split_once('/'), pattern.find(['%', '_'])) {
            (Some((_, mask)), _) => 1 << 16 | mask_bits(mask).unwrap_or(0),
            (None, Some(at)) => 2 + at as u32,
            (None, None) => u32::MAX,
        },
    }
}

/// The length of a mask written as `255.255.0.0` or `16`.
fn mask_bits(mask: &str) -> Option<u32> {
    if let Ok(IpAddr::V4(mask)) = mask.parse() {
        let bits = u32::from(mask);
        return (bits.leading_ones() == bits.count_ones()).then(|| bits.leading_ones());
    }
    mask.parse().ok().filter(|bits| *bits <= 128)
}

fn in_network(network: &str, mask: &str, host: &str) -> bool {
    let (Ok(network), Ok(host), Some(bits)) = (network.parse::<IpAddr>(), host.parse::<IpAddr>(), mask_bits(mask)) else { return false };
    match (network, host.to_canonical()) {
        (IpAddr::V4(network), IpAddr::V4(host)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            u32::from(host) & mask == u32::from(network) & mask
        }
        (IpAddr::V6(network), IpAddr::V6(host)) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            u128::from(host) & mask == u128::from(network) & mask
        }
        _ => false,
    }
}

/// SQL's LIKE over bytes, without regard to letter case.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((b'%', pattern)), _) => (0..=text.len()).any(|skip| like(pattern, &text[skip..])),
        (Some((b'_', pattern)), Some((_, text))) => like(pattern, text),
        (Some((p, pattern)), Some((t, text))) => p.eq_ignore_ascii_case(t) && like(pattern, text),
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_as_names_patterns_and_networks() {
        assert!(matches("%", "1.2.3.4") && matches("localhost", "127.0.0.1") && matches("LOCALHOST", "localhost"));
        assert!(matches("192.168._.%", "192.168.1.20") && !matches("192.168._.%", "192.168.10.20"));
        assert!(!matches("localhost", "10.0.0.1"));
        assert!(matches("10.1.0.0/255.255.0.0", "10.1.2.3") && !matches("10.1.0.0/255.255.0.0", "10.2.2.3"));
        assert!(matches("10.1.0.0/16", "10.1.2.3") && matches("fe80::/10", "fe80::1") && !matches("fe80::/10", "10.1.2.3"));
        assert!(!matches("10.1.0.0/255.0.255.0", "10.1.0.0"), "a mask with holes is none");
    }

    #[test]
    fn exact_hosts_come_before_networks_and_those_before_wildcards() {
        let mut hosts = ["%", "", "10.%", "10.1.0.0/16", "10.0.0.0/255.0.0.0", "localhost", "10.1.%"];
        hosts.sort_by_key(|host| std::cmp::Reverse(specificity(host)));
        assert_eq!(hosts, ["localhost", "10.1.0.0/16", "10.0.0.0/255.0.0.0", "10.1.%", "10.%", "%", ""]);
    }
}
