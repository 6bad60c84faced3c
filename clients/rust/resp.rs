//! A connection that speaks RESP, for programs that use the standard library only. A program that
//! may depend on crates should use the crate `redis` instead: it has pools, TLS and async.
//!
//! Every call has a deadline for all that it does, except that the system's resolver may take
//! longer to find the address of a host name.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

const BYTES_MAX: usize = 1 << 20; // of a string
const ITEMS_MAX: usize = 1 << 10; // of an array
const DEPTH_MAX: usize = 4;

#[derive(Debug)]
pub enum Reply {
    Integer(i64),
    Text(Vec<u8>),
    Error(String),
    Array(Vec<Reply>),
    Nil,
}

impl Reply {
    pub fn integer(&self) -> Option<i64> {
        match self {
            Reply::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The items of an array, else none.
    pub fn items(&self) -> &[Reply] {
        match self {
            Reply::Array(items) => items,
            _ => &[],
        }
    }
}

/// A connection. After an error it must be dropped: a late reply would be taken for another's.
pub struct Connection {
    reader: BufReader<Stream>,
}

struct Stream {
    socket: TcpStream,
    deadline: Instant,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.socket.set_read_timeout(Some(time_until(self.deadline)?))?;
        self.socket.read(buffer)
    }
}

impl Connection {
    pub fn connect(address: &str, deadline: Instant) -> Result<Connection> {
        let mut last = Error::new(ErrorKind::NotFound, "the host has no address");
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, time_until(deadline)?) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    return Ok(Connection { reader: BufReader::new(Stream { socket, deadline }) });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Sends the words of a command and returns the reply, which may be an error of the server.
    pub fn call(&mut self, words: &[&[u8]], deadline: Instant) -> Result<Reply> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            write!(request, "${}\r\n", word.len())?;
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        let stream = self.reader.get_mut();
        stream.deadline = deadline;
        stream.socket.set_write_timeout(Some(time_until(deadline)?))?;
        stream.socket.write_all(&request)?;
        self.read_reply(0)
    }

    /// False if the server has closed the connection or sent what was not asked for.
    pub fn is_idle(&self) -> bool {
        let socket = &self.reader.get_ref().socket;
        let mut byte = [0];
        let peeked = socket.set_nonblocking(true).and_then(|()| socket.peek(&mut byte));
        let blocks = matches!(peeked, Err(error) if error.kind() == ErrorKind::WouldBlock);
        blocks && self.reader.buffer().is_empty() && socket.set_nonblocking(false).is_ok()
    }

    fn read_reply(&mut self, depth: usize) -> Result<Reply> {
        let line = self.read_line()?;
        let (kind, rest) = line.split_at(line.len().min(1));
        match kind {
            "+" => Ok(Reply::Text(rest.into())),
            "-" => Ok(Reply::Error(rest.into())),
            ":" => rest.parse().map(Reply::Integer).map_err(|_| not_resp()),
            "$" | "*" if rest == "-1" => Ok(Reply::Nil),
            "$" => {
                let mut text = vec![0; read_size(rest, BYTES_MAX)? + 2];
                self.reader.read_exact(&mut text)?;
                text.truncate(text.len() - 2);
                Ok(Reply::Text(text))
            }
            "*" if depth < DEPTH_MAX => {
                let size = read_size(rest, ITEMS_MAX)?;
                let items = (0..size).map(|_| self.read_reply(depth + 1));
                items.collect::<Result<_>>().map(Reply::Array)
            }
            _ => Err(not_resp()),
        }
    }

    /// A line without its end.
    fn read_line(&mut self) -> Result<String> {
        let mut line = Vec::new();
        self.reader.by_ref().take(BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        let line = line.strip_suffix(b"\r\n").ok_or_else(not_resp)?;
        Ok(String::from_utf8_lossy(line).into_owned())
    }
}

fn read_size(text: &str, max: usize) -> Result<usize> {
    text.parse().ok().filter(|size| *size <= max).ok_or_else(not_resp)
}

fn not_resp() -> Error {
    Error::new(ErrorKind::InvalidData, "the server closed the connection or does not speak RESP")
}

/// The time that is left, an error if none is.
fn time_until(deadline: Instant) -> Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}
