//! A connection to a server or to a Sentinel, for one request at a time.
//!
//! The crate `redis` writes the requests and reads the replies. Its connections are not used: they
//! are shared by calls, so that a call that is given up leaves its reply behind; and they do not
//! show what a server says before it closes them.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;

use redis::Value;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use crate::address::Place;
use crate::cause::{Cause, Refused};
use crate::options::Settings;

const READ_BYTES_MIN: usize = 4096;

/// Why there is no reply.
#[derive(Clone, Debug)]
pub(crate) enum NoReply {
    Lost(Cause, String),
    Refused(Refused),
    /// The Limiter was closed before the call.
    Closed,
}

impl NoReply {
    pub fn timeout(text: &str) -> NoReply {
        NoReply::Lost(Cause::Timeout, text.to_string())
    }

    pub fn lost(text: &str) -> NoReply {
        NoReply::Lost(Cause::Connection, text.to_string())
    }
}

impl From<io::Error> for NoReply {
    fn from(error: io::Error) -> NoReply {
        NoReply::Lost(Cause::Connection, error.to_string())
    }
}

/// A value, or the text of an error.
type Reply = Result<Value, String>;

/// A link that is dropped closes its connection.
pub(crate) struct Link {
    stream: Stream,
    is_used: bool,
    has_more: bool, // than the reply was read
}

enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

impl Link {
    pub async fn connect(place: &Place, settings: &Settings) -> Result<Link, NoReply> {
        let stream = match place {
            Place::Host(host, port) => connect_tcp(host, *port, settings).await?,
            #[cfg(unix)]
            Place::Socket(path) => Stream::Unix(UnixStream::connect(path).await?),
            #[cfg(not(unix))]
            Place::Socket(_) => return Err(io::Error::from(ErrorKind::Unsupported).into()),
        };
        Ok(Link { stream, is_used: false, has_more: false })
    }

    /// The reply to these words. If the future is dropped, the link must be, too.
    pub async fn ask(&mut self, words: &[impl AsRef<str>]) -> Result<Value, NoReply> {
        self.is_used = true;
        let mut request = redis::Cmd::new();
        for word in words {
            request.arg(word.as_ref());
        }
        let request = request.get_packed_command();
        let (reply, has_more) = match &mut self.stream {
            Stream::Tcp(stream) => converse(stream, &request).await?,
            #[cfg(unix)]
            Stream::Unix(stream) => converse(stream, &request).await?,
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => converse(stream, &request).await?,
        };
        self.has_more = has_more;
        match reply {
            Ok(value) => Ok(value),
            Err(text) => Err(NoReply::Refused(Refused { text, is_login: false })),
        }
    }

    /// Whether the server has closed the connection, or has said what it was not asked for. What a
    /// server says to a new connection is the answer to its first request.
    pub fn is_ended(&self) -> bool {
        if self.has_more {
            return true;
        }
        let mut byte = [MaybeUninit::uninit(); 1];
        let peeked = match &self.stream {
            Stream::Tcp(stream) => SockRef::from(stream).peek(&mut byte),
            #[cfg(unix)]
            Stream::Unix(stream) => SockRef::from(stream).peek(&mut byte),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => SockRef::from(stream.get_ref().0).peek(&mut byte),
        };
        match peeked {
            Ok(0) => true,
            Ok(_) => self.is_used,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}

async fn connect_tcp(host: &str, port: u16, settings: &Settings) -> Result<Stream, NoReply> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_keepalive(true)?;
    #[cfg(feature = "tls")]
    if let Some(tls) = &settings.tls {
        return Ok(Stream::Tls(Box::new(tls.connect(host, stream).await?)));
    }
    let _ = settings;
    Ok(Stream::Tcp(stream))
}

/// The reply, and whether there was more than that.
async fn converse<S>(stream: &mut S, request: &[u8]) -> Result<(Reply, bool), NoReply>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let written = async {
        stream.write_all(request).await?;
        stream.flush().await
    };
    let written = written.await; // if it failed, the server may have said why
    let mut received = Vec::new();
    loop {
        received.reserve(READ_BYTES_MIN.max(received.len()));
        let is_ended = match stream.read_buf(&mut received).await {
            Ok(bytes) => bytes == 0,
            Err(error) => {
                written?;
                return Err(error.into());
            }
        };
        if is_ended {
            written?;
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server hung up").into());
        }
        if let Some(reply) = parse(&received)? {
            let has_more = matches!(parse(&received[..received.len() - 1]), Ok(Some(_)));
            return Ok((reply, has_more));
        }
    }
}

/// The reply, if all of it is there. An error is read here, as it may quote a word that the server
/// has cut within a character, which the crate refuses.
fn parse(received: &[u8]) -> Result<Option<Reply>, NoReply> {
    if let Some(line) = received.strip_prefix(b"-") {
        let end = line.windows(2).position(|pair| pair == b"\r\n");
        return Ok(end.map(|end| Err(String::from_utf8_lossy(&line[..end]).into_owned())));
    }
    match redis::parse_redis_value(received) {
        Ok(value) => Ok(Some(Ok(value))),
        Err(error) if error.kind() == redis::ErrorKind::Io => Ok(None), // there is more to come
        Err(error) => Err(NoReply::lost(&error.to_string())),
    }
}
