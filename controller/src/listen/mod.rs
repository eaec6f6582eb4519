//! Connections of clients, from the socket to the first bytes of HTTP/2: who says nothing is not kept, and those who do
//! nothing wrong get in however many others keep the door.
//!
//! Before the handshake nothing is known of a client but its address, which many share. So what has not said anything yet is
//! limited as a whole, and the oldest of those makes room: a good client needs milliseconds. Of the connections that are
//! open, a tenth is kept for operators: clients with an operator's certificate, and where there are no certificates those of
//! this machine.

mod pending;
mod rated;
mod scrape;
mod stream;
mod tls;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use pending::Pending;
pub(crate) use rated::Rated;
pub(crate) use scrape::Scrapers;
use stream::Connection;
pub(crate) use stream::PeerInfo;
pub use tls::TlsFault;
pub(crate) use tls::TlsFiles;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;

/// Longest time from the connection to the first bytes of HTTP/2, TLS included.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);
/// Connections that may be before that at once, where there are files for them.
const MOST_PENDING: usize = 256;
/// Files that are kept for the database, BMCs, metrics and the rest, where there are so many.
const OTHER_FILES: usize = 320;
/// Pause when there are no files left.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether a client is one of those that a share of the connections is kept for.
pub(crate) type IsOperator = Arc<dyn Fn(&PeerInfo) -> bool + Send + Sync>;

/// Accepts connections for as long as the stream that is given back is kept.
pub(crate) fn accept(
    listener: TcpListener,
    tls: Option<Arc<TlsFiles>>,
    is_operator: IsOperator,
) -> ReceiverStream<io::Result<Connection>> {
    let (sender, receiver) = mpsc::channel(64);
    let (most, most_pending) = shares(most_files());
    let door = Door {
        tls,
        is_operator,
        pending: Arc::new(Pending::new(most_pending)),
        open: Arc::new(Semaphore::new(most - most / 10)),
        of_operators: Arc::new(Semaphore::new(most / 10)),
        full: Arc::default(),
    };
    tokio::spawn(door.keep(listener, sender));
    ReceiverStream::new(receiver)
}

#[derive(Clone)]
struct Door {
    tls: Option<Arc<TlsFiles>>,
    is_operator: IsOperator,
    pending: Arc<Pending>,
    open: Arc<Semaphore>,
    of_operators: Arc<Semaphore>,
    full: Arc<Rated>,
}

impl Door {
    async fn keep(self, listener: TcpListener, sender: mpsc::Sender<io::Result<Connection>>) {
        let troubles = Rated::default();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = sender.closed() => return,
            };
            match accepted {
                Ok((stream, address)) => {
                    let (door, sender) = (self.clone(), sender.clone());
                    self.pending.spawn(async move {
                        if let Some(connection) = door.let_in(stream, address).await {
                            // The server has ended, otherwise.
                            let _ = sender.send(Ok(connection)).await;
                        }
                    });
                }
                Err(error) => {
                    if let Some(times) = troubles.now() {
                        tracing::warn!(%error, times, "a connection cannot be accepted");
                    }
                    // With no file descriptor left, trying on at once would take the whole processor; who is silent gives one.
                    self.pending.end_oldest();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn let_in(&self, stream: TcpStream, address: SocketAddr) -> Option<Connection> {
        let _ = stream.set_nodelay(true);
        let acceptor = self.tls.as_ref().map(|tls| TlsAcceptor::from(tls.current()));
        let shaken = tokio::time::timeout(LONGEST_HANDSHAKE, Connection::shake_hands(stream, address, acceptor)).await;
        let mut connection = match shaken {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => {
                tracing::debug!(%address, %error, "a connection came to nothing");
                return None;
            }
            Err(_) => {
                tracing::debug!(%address, "a connection said nothing for too long");
                return None;
            }
        };
        let place = self.open.clone().try_acquire_owned().ok().or_else(|| {
            let known = (self.is_operator)(&connection.peer());
            known.then(|| self.of_operators.clone().try_acquire_owned().ok()).flatten()
        });
        if place.is_none()
            && let Some(times) = self.full.now()
        {
            tracing::warn!(%address, times, "there are too many connections: one is refused");
        }
        connection.keep(place?);
        Some(connection)
    }
}

/// How many connections there may be, and how many that have not said anything: what is needed elsewhere comes first.
fn shares(files: usize) -> (usize, usize) {
    let pending = MOST_PENDING.min(files / 8).max(8);
    let others = OTHER_FILES.min(files / 2);
    (files.saturating_sub(pending + others).max(16), pending)
}

/// Files that this process may have. The limit is raised as far as it goes.
fn most_files() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20).min(1 << 20);
    usize::try_from(files).unwrap_or(1024)
}

/// Where there are no certificates, whoever works at this machine.
pub(crate) fn is_of_this_machine(peer: &PeerInfo) -> bool {
    let ip = match peer.address.ip() {
        IpAddr::V6(ip) => ip.to_canonical(),
        ip => ip,
    };
    ip.is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_left_for_everything_else() {
        for (files, open, pending) in [(256, 96, 32), (400, 150, 50), (1024, 576, 128), (20_000, 19_424, 256)] {
            assert_eq!(shares(files), (open, pending), "{files}");
        }
    }
}
