//! A connection that has said that it speaks HTTP/2.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rustls::pki_types::CertificateDer;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::OwnedSemaphorePermit,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tonic::transport::server::Connected;

/// What every client of HTTP/2 sends first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Who is at the other end.
#[derive(Debug, Clone)]
pub(crate) struct PeerInfo {
    pub(crate) address: SocketAddr,
    /// Its certificate first; none without TLS, or if it has shown none.
    pub(crate) certificates: Option<Arc<Vec<CertificateDer<'static>>>>,
}

/// A client's connection, from its first bytes on.
pub(crate) struct Connection {
    stream: Stream,
    peer: PeerInfo,
    /// Bytes of the preface that were given on.
    given: usize,
    place: Option<OwnedSemaphorePermit>,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connection {
    /// TLS, if there is any, and the first bytes.
    pub(super) async fn shake_hands(
        stream: TcpStream,
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
    ) -> io::Result<Self> {
        let (mut stream, certificates) = match tls {
            None => (Stream::Plain(stream), None),
            Some(acceptor) => {
                let stream = acceptor.accept(stream).await?;
                let shown = stream.get_ref().1.peer_certificates();
                let certificates = shown.map(|chain| chain.iter().map(|one| one.clone().into_owned()).collect());
                (Stream::Tls(Box::new(stream)), certificates.map(Arc::new))
            }
        };
        let mut first = [0; PREFACE.len()];
        match &mut stream {
            Stream::Plain(stream) => stream.read_exact(&mut first).await?,
            Stream::Tls(stream) => stream.read_exact(&mut first).await?,
        };
        if first != *PREFACE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak HTTP/2"));
        }
        Ok(Self { stream, peer: PeerInfo { address, certificates }, given: 0, place: None })
    }

    pub(super) fn peer(&self) -> PeerInfo {
        self.peer.clone()
    }

    /// Holds a place among the connections until its end.
    pub(super) fn keep(&mut self, place: OwnedSemaphorePermit) {
        self.place = Some(place);
    }
}

impl Connected for Connection {
    type ConnectInfo = PeerInfo;

    fn connect_info(&self) -> PeerInfo {
        self.peer()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(rest) = PREFACE.get(self.given..).filter(|rest| !rest.is_empty()) {
            let part = rest.get(..rest.len().min(buffer.remaining())).unwrap_or_default();
            buffer.put_slice(part);
            self.given += part.len();
            return Poll::Ready(Ok(()));
        }
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
