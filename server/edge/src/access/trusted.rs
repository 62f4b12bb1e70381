//! A reverse proxy that says in a header who sends a request. It is believed where its address is named in the settings, and nowhere else.

use std::net::IpAddr;
use std::str::FromStr;

use access::IdentityMapping;
use hyper::header::HeaderName;

/// The header with the name of the user, unless the settings name another one.
pub const USER_HEADER: &str = "x-forwarded-user";

/// The claims of such a caller, for the rules: its name and its groups.
pub const USER_CLAIM: &str = "user";
/// See [`USER_CLAIM`].
pub const GROUPS_CLAIM: &str = "groups";

/// An address, or all that begin with the same bits: `10.0.0.2`, `10.1.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    bits: u32,
}

/// Who is believed, in which headers, and what that gives.
#[derive(Debug, Clone)]
pub struct TrustedHeaders {
    /// The addresses of the proxies.
    pub proxies: Vec<AddressRange>,
    /// The header with the name of the user.
    pub user: HeaderName,
    /// The header with their groups, commas between them; `None` for no such header.
    pub groups: Option<HeaderName>,
    /// The rules by which users become principals.
    pub mapping: IdentityMapping,
}

/// Why a text is no range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is neither an address nor a range of them: write 10.0.0.2 or 10.1.0.0/16, and not all addresses there are"
)]
pub struct AddressRangeError(String);

impl AddressRange {
    /// Whether the address is in it. An IPv4 address that is written as IPv6 is the same address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let common = match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => (first.to_bits() ^ address.to_bits()).leading_zeros(),
            (IpAddr::V6(first), IpAddr::V6(address)) => (first.to_bits() ^ address.to_bits()).leading_zeros(),
            _ => return false,
        };
        common >= self.bits
    }
}

impl FromStr for AddressRange {
    type Err = AddressRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || AddressRangeError(text.chars().take(60).collect());
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let first = address.parse::<IpAddr>().map_err(|_no_address| wrong())?.to_canonical();
        let all = if first.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(all), |bits| bits.parse::<u32>().map_err(|_no_number| wrong()))?;
        // Everybody is nobody's proxy.
        if bits == 0 || bits > all || first.is_unspecified() {
            return Err(wrong());
        }
        Ok(Self { first, bits })
    }
}

impl TrustedHeaders {
    /// Whether a peer at `address` is believed.
    pub fn is_from(&self, address: IpAddr) -> bool {
        self.proxies.iter().any(|range| range.contains(address))
    }
}

#[cfg(test)]
mod tests {
    //! Tests of which addresses are meant.

    use super::*;

    #[test]
    fn a_range_is_as_wide_as_it_says_and_never_everything() {
        let contains = |range: &str, address: &str| {
            range.parse::<AddressRange>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("10.0.0.2", "10.0.0.2") && contains("10.0.0.2", "::ffff:10.0.0.2"));
        assert!(!contains("10.0.0.2", "10.0.0.3") && !contains("10.0.0.2", "::1"));
        assert!(contains("10.1.0.0/16", "10.1.255.1") && !contains("10.1.0.0/16", "10.2.0.1"));
        assert!(contains("fd00::/8", "fd12::1") && !contains("fd00::/8", "fe80::1"));
        for none in
            ["", "10.0.0", "0.0.0.0/0", "::/0", "10.0.0.0/33", "10.0.0.0/x", "0.0.0.0", "::", "a.example"]
        {
            assert!(none.parse::<AddressRange>().is_err(), "{none}");
        }
    }
}
