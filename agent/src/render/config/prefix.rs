//! Addresses and prefixes in the words of the response.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
    str::FromStr,
};

use ipnet::IpNet;

/// An address with an optional prefix length, kept as the controller wrote it.
///
/// The text is kept because it is what people search for in logs and what earlier configurations say:
/// `2001:db8::0/127` and `2001:db8::/127` are equal to a router, but swapping them is a change on every DPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix {
    address: IpAddr,
    length: Option<u8>,
    text: String,
}

impl Prefix {
    /// The address, with host bits.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    pub(crate) fn is_v4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// The address, if it is IPv4.
    pub(crate) fn v4(&self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        }
    }

    pub(crate) fn length(&self) -> Option<u8> {
        self.length
    }

    fn full_length(&self) -> u8 {
        if self.is_v4() { 32 } else { 128 }
    }

    /// The network, host bits cleared; an address alone is a network of one.
    pub(crate) fn net(&self) -> IpNet {
        IpNet::new(self.address, self.length.unwrap_or(self.full_length()))
            .map_or_else(|_| IpNet::from(self.address), |net| net.trunc())
    }

    /// The network that this is in; the text stays as it is if no host bit is set.
    pub(crate) fn without_host_bits(self) -> Self {
        let net = self.net();
        if net.network() == self.address {
            return self;
        }
        Self { address: net.network(), length: Some(net.prefix_len()), text: net.to_string() }
    }

    /// The text with a length: its own, else `fallback`, else that of a single address.
    pub(crate) fn cidr(&self, fallback: Option<u8>) -> String {
        match self.length {
            Some(_) => self.text.clone(),
            None => format!("{}/{}", self.text, fallback.unwrap_or(self.full_length()).min(self.full_length())),
        }
    }

    /// Whether all of `other` lies within this network.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.is_v4() == other.is_v4() && self.net().contains(&other.net())
    }
}

impl FromStr for Prefix {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, length) = match text.split_once('/') {
            Some(_) => {
                let net: IpNet = text.parse().map_err(|_| ())?;
                (net.addr(), Some(net.prefix_len()))
            }
            None => (text.parse().map_err(|_| ())?, None),
        };
        Ok(Self { address, length, text: text.into() })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn the_text_is_kept_and_the_network_is_known() {
        for (text, net) in [
            ("1.0.0.0/0", "0.0.0.0/0"),
            ("10.217.5.169/29", "10.217.5.168/29"),
            ("2001:db8::0/127", "2001:db8::/127"),
            ("10.0.0.1", "10.0.0.1/32"),
            ("::1", "::1/128"),
        ] {
            assert_eq!(prefix(text).to_string(), text);
            assert_eq!(prefix(text).net().to_string(), net);
        }
    }

    #[test]
    fn host_bits_go_and_all_else_stays() {
        for (text, kept) in [
            ("192.0.2.7/24", "192.0.2.0/24"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8::0/127", "2001:db8::0/127"),
            ("2001:db8::1/127", "2001:db8::/127"),
        ] {
            assert_eq!(prefix(text).without_host_bits().to_string(), kept);
        }
    }

    #[test]
    fn a_missing_length_is_filled_in() {
        assert_eq!(prefix("10.0.0.1").cidr(Some(24)), "10.0.0.1/24");
        assert_eq!(prefix("10.0.0.1").cidr(None), "10.0.0.1/32");
        assert_eq!(prefix("10.0.0.1").cidr(Some(64)), "10.0.0.1/32");
        assert_eq!(prefix("10.0.0.1/8").cidr(Some(24)), "10.0.0.1/8");
    }

    #[test]
    fn containment_is_by_network_and_family() {
        assert!(prefix("5.255.254.0/24").contains(&prefix("5.255.254.67/32")));
        assert!(!prefix("5.255.254.0/24").contains(&prefix("67.67.67.6/7")));
        assert!(!prefix("0.0.0.0/0").contains(&prefix("2001:db8::/32")));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0/8", "010.0.0.1", "10.0.0.0/8 ", "a", "::/129", "10.0.0.0/", "/8"] {
            assert!(text.parse::<Prefix>().is_err(), "{text:?}");
        }
    }
}
