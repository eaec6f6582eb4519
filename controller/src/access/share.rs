//! How many calls one client may have in flight: nobody takes the turns of all others.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use proto::MachineId;

use super::Caller;
use crate::listen::PeerInfo;

/// Calls in flight of one machine, of a service, and of one address where nobody is known.
const OF_A_MACHINE: usize = 8;
const OF_A_SERVICE: usize = 64;
const OF_AN_ADDRESS: usize = 256;

/// Calls in flight by client.
#[derive(Debug, Clone, Default)]
pub(super) struct Shares(Arc<Mutex<HashMap<Client, usize>>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Client {
    Machine(MachineId),
    /// A service, by its certificate.
    Service(u64),
    Address(Option<IpAddr>),
}

/// One call in flight, as long as this is kept.
#[derive(Debug)]
pub(super) struct InFlight {
    shares: Shares,
    client: Option<Client>,
}

impl Shares {
    /// Takes a place for a call.
    ///
    /// # Errors
    /// How many calls the client may have, if it has them.
    pub(super) fn take(&self, caller: &Caller, peer: Option<&PeerInfo>) -> Result<InFlight, usize> {
        let address = peer.map(|peer| peer.address.ip());
        let (client, most) = match caller {
            // Whoever runs the site has to be able to look at it at any time.
            Caller::Operator => return Ok(InFlight { shares: self.clone(), client: None }),
            Caller::Machine(id) => (Client::Machine(id.clone()), OF_A_MACHINE),
            Caller::Tenant | Caller::Observer => (Client::Service(certificate(peer)), OF_A_SERVICE),
            Caller::Nobody => (Client::Address(address), OF_A_MACHINE),
            Caller::Anybody => (Client::Address(address), OF_AN_ADDRESS),
        };
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = shares.entry(client.clone()).or_default();
        if *calls >= most {
            return Err(most);
        }
        *calls += 1;
        Ok(InFlight { shares: self.clone(), client: Some(client) })
    }
}

/// Tells the certificates of services apart.
fn certificate(peer: Option<&PeerInfo>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let chain = peer.and_then(|peer| peer.certificates.as_ref());
    chain.and_then(|chain| chain.first()).map(|own| own.as_ref()).hash(&mut hasher);
    hasher.finish()
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(client) = &self.client else { return };
        let mut shares = self.shares.0.lock().unwrap_or_else(PoisonError::into_inner);
        match shares.get_mut(client) {
            Some(calls) if *calls > 1 => *calls -= 1,
            _ => drop(shares.remove(client)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_share_and_operators_have_no_limit() {
        let shares = Shares::default();
        let machine = |n: u8| Caller::Machine(format!("fm100ds{n:0>52}").parse().unwrap());
        let mut held: Vec<_> = (0..8).map(|_| shares.take(&machine(1), None).unwrap()).collect();
        assert_eq!(shares.take(&machine(1), None).err(), Some(8));
        shares.take(&machine(2), None).unwrap();
        held.pop();
        held.push(shares.take(&machine(1), None).unwrap());
        let peer = PeerInfo { address: "192.0.2.1:9".parse().unwrap(), certificates: None };
        let address = Some(&peer);
        let service = |byte: u8| PeerInfo { certificates: Some(Arc::new(vec![vec![byte].into()])), ..peer.clone() };
        held.extend((0..64).map(|_| shares.take(&Caller::Observer, Some(&service(1))).unwrap()));
        assert_eq!(shares.take(&Caller::Observer, Some(&service(1))).err(), Some(64));
        shares.take(&Caller::Observer, Some(&service(2))).unwrap();
        held.extend((0..256).map(|_| shares.take(&Caller::Anybody, address).unwrap()));
        assert_eq!(shares.take(&Caller::Anybody, address).err(), Some(256));
        held.extend((0..1000).map(|_| shares.take(&Caller::Operator, address).unwrap()));
        drop(held);
        assert!(shares.0.lock().unwrap().is_empty());
    }
}
