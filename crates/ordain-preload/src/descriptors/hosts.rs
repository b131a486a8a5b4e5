//! Addresses of sockets as bytes: their families, hosts and ports, and which address reaches which.

use core::ffi::c_int;
use libc::{AF_INET, AF_INET6};

/// An IPv4 host as a host of IPv6.
const MAPPED: [u8; 12] = *b"\0\0\0\0\0\0\0\0\0\0\xff\xff";

/// The family of an address.
pub(super) fn family(address: &[u8]) -> c_int {
    match address {
        [low, high, ..] => c_int::from(u16::from_le_bytes([*low, *high])),
        _ => 0,
    }
}

/// The port, if it is an address of this machine that has one.
pub(super) fn own_port(address: &[u8]) -> Option<u16> {
    let own = match (family(address), address) {
        (AF_INET, [_, _, _, _, ip @ ..]) => matches!(ip, [127, ..] | [0, 0, 0, 0, ..]),
        (AF_INET6, [_, _, _, _, _, _, _, _, ip @ ..]) => {
            ip.len() >= 16 && (ip[..15].iter().all(|b| *b == 0) || ip[..12] == MAPPED && ip[12] == 127)
        }
        _ => false,
    };
    own.then(|| u16::from_be_bytes([address[2], address[3]]))
}

/// The number of a host, in the form that is common to both families.
fn host(address: &[u8]) -> Option<[u8; 16]> {
    let mut host = [0; 16];
    host[..12].copy_from_slice(&MAPPED);
    match family(address) {
        AF_INET => host[12..].copy_from_slice(address.get(4..8)?),
        AF_INET6 => host.copy_from_slice(address.get(8..24)?),
        _ => return None,
    }
    Some(host)
}

/// Whether a host stands for all of this machine.
fn is_any(host: &[u8; 16]) -> bool {
    host[12..] == [0; 4] && (host[..12] == [0; 12] || host[..12] == MAPPED)
}

/// Whether who connects to `to` reaches who listens at `at`. `is_local` tells whether an address is one of this machine.
pub(super) fn reaches(to: &[u8], at: &[u8], is_local: impl Fn(&[u8]) -> bool) -> bool {
    let (Some(there), Some(here)) = (host(to), host(at)) else { return false };
    if to.get(2..4) != at.get(2..4) {
        return false;
    }
    // Who connects to all of this machine reaches it by its own number.
    there == here || is_any(&there) || is_any(&here) && is_local(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, SocketAddr};

    /// An address as the kernel has it.
    fn address(text: &str) -> Vec<u8> {
        let address: SocketAddr = text.parse().expect("an address");
        let port = address.port().to_be_bytes();
        let family = |family: c_int| (family as u16).to_le_bytes();
        match address.ip() {
            IpAddr::V4(ip) => [&family(AF_INET)[..], &port, &ip.octets(), &[0; 8]].concat(),
            IpAddr::V6(ip) => [&family(AF_INET6)[..], &port, &[0; 4], &ip.octets(), &[0; 4]].concat(),
        }
    }

    #[test]
    fn families_are_read() {
        assert_eq!(family(&address("1.2.3.4:5")), AF_INET);
        assert_eq!(family(&address("[::1]:5")), AF_INET6);
        assert_eq!(family(&[1, 0, b'/']), libc::AF_UNIX);
        assert_eq!((family(&[]), family(&[2])), (0, 0));
    }

    #[test]
    fn addresses_of_this_machine_have_ports() {
        for text in ["127.0.0.1:80", "127.9.9.9:80", "0.0.0.0:80", "[::]:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert_eq!(own_port(&address(text)), Some(80), "{text}");
        }
        for text in ["10.0.0.1:80", "[::ffff:10.0.0.1]:80", "[1::1]:80", "[::1:1]:80"] {
            assert_eq!(own_port(&address(text)), None, "{text}");
        }
        assert_eq!(own_port(&address("127.0.0.1:65535")), Some(65_535));
    }

    #[test]
    fn addresses_that_are_cut_off_have_no_ports() {
        let whole = [address("127.0.0.1:80"), address("[::1]:80")];
        for whole in whole {
            for length in 0..if family(&whole) == AF_INET { 5 } else { 24 } {
                assert_eq!(own_port(&whole[..length]), None, "{length}");
            }
        }
    }

    fn reach(to: &str, at: &str) -> bool {
        reaches(&address(to), &address(at), |to| to.starts_with(&address("10.0.0.1:80")[..8]))
    }

    #[test]
    fn the_same_address_is_reached_in_both_families() {
        assert!(reach("10.0.0.9:80", "10.0.0.9:80"));
        assert!(reach("[::ffff:10.0.0.9]:80", "10.0.0.9:80"));
        assert!(!reach("10.0.0.9:80", "10.0.0.9:81"));
        assert!(!reach("10.0.0.9:80", "10.0.0.8:80"));
    }

    #[test]
    fn who_listens_everywhere_is_reached_by_any_number_of_this_machine() {
        assert!(reach("10.0.0.1:80", "0.0.0.0:80"));
        assert!(reach("10.0.0.1:80", "[::]:80"));
        assert!(!reach("10.0.0.2:80", "0.0.0.0:80"));
        // Who connects to any address connects to this machine.
        assert!(reach("0.0.0.0:80", "127.0.0.1:80"));
        assert!(!reach("0.0.0.0:80", "127.0.0.1:81"));
    }

    #[test]
    fn other_families_reach_nobody() {
        assert!(!reaches(&[1, 0, 0, 0], &address("0.0.0.0:0"), |_| true));
        assert!(!reaches(&address("1.2.3.4:5")[..6], &address("1.2.3.4:5"), |_| true));
    }
}
