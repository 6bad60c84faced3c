//! The caller of a request: the key `ip:...` of its address, as weir's own {ip} writes it.
//!
//! A user may have a whole IPv6 network, so 64 bits count. But an address that carries an IPv4
//! address is that one: mapped, translated (also by NAT64), 6to4 or compatible.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::Mistake;

const HOST_BITS: u32 = 64;
/// The first 96 bits of addresses whose last 32 are an IPv4 address.
const CARRIERS: [u128; 3] = [0xFFFF, 0xFFFF_0000, 0x0064_FF9B << 64];
const COMPATIBLE: u128 = 0;
const SIX_TO_FOUR: u128 = 0x2002;

/// The key of a request: `peer` is the address of the connection, `forwarded` the values of
/// X-Forwarded-For, of which the entry `trusted_hops` from the right is read if that is above 0.
pub fn caller_key<S: AsRef<str>>(
    peer: &str,
    forwarded: &[S],
    trusted_hops: usize,
) -> Result<String, Mistake> {
    let entries: Vec<_> = forwarded.iter().flat_map(|value| value.as_ref().split(',')).collect();
    let text = if trusted_hops == 0 {
        peer
    } else if let Some(index) = entries.len().checked_sub(trusted_hops) {
        entries[index].trim_matches([' ', '\t'])
    } else {
        let text = format!("X-Forwarded-For has fewer than {trusted_hops} entries");
        return Err(Mistake::new(text));
    };
    let network = network_of(text)
        .ok_or_else(|| Mistake::new("the request has no address to limit it by: pass `key`"))?;
    Ok(format!("ip:{network}"))
}

/// The IPv4 address, or the network of the IPv6 address, that counts as one caller.
fn network_of(text: &str) -> Option<IpAddr> {
    let address = without_port(text)?;
    let address = if address.contains(':') { address.split('%').next()? } else { address };
    let number = match address.parse().ok()? {
        IpAddr::V4(address) => return Some(address.into()),
        IpAddr::V6(address) => u128::from(address),
    };
    Some(match carried(number) {
        Some(address) => address.into(),
        None => Ipv6Addr::from(number >> HOST_BITS << HOST_BITS).into(),
    })
}

/// The address in "[address]:port", "address:port" or "address".
fn without_port(text: &str) -> Option<&str> {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|each| each.is_ascii_digit());
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let is_right = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return is_right.then_some(address);
    }
    match text.split_once(':') {
        Some((address, port)) if is_port(port) => Some(address),
        _ => Some(text),
    }
}

/// The IPv4 address within an IPv6 address.
fn carried(number: u128) -> Option<Ipv4Addr> {
    let (first, last) = (number >> 32, number as u32);
    if CARRIERS.contains(&first) || (first == COMPATIBLE && last > 1) {
        return Some(last.into());
    }
    (number >> 112 == SIX_TO_FOUR).then(|| ((number >> 80) as u32).into())
}
