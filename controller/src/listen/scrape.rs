//! Connections of those who read metrics: few at a time, and none for long.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};

/// Connections at a time, and how long one lasts.
const MOST: usize = 64;
const LONGEST: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);

/// A listener that keeps no connection for long.
pub(crate) struct Scrapers {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

/// A connection that ends by itself.
pub(crate) struct Scrape {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Scrapers {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(MOST)) }
    }
}

impl Listener for Scrapers {
    type Io = Scrape;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Scrape, SocketAddr) {
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    return (Scrape { stream, end: Box::pin(sleep(LONGEST)), _place: place }, address);
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection for metrics cannot be accepted");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Scrape {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Scrape {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
