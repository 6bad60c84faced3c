//! A server that a test plays: it notes each request, and answers as a function says.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(60); // for any one thing to happen
pub const ALLOWED: &str = "*5\r\n:1\r\n:9\r\n:0\r\n:900\r\n:0\r\n";

/// A request, and the connection that it came on, from 0.
pub struct Asked {
    pub connection: usize,
    pub words: Vec<String>,
    stream: TcpStream,
}

impl Asked {
    pub fn reply(&self, text: impl AsRef<[u8]>) {
        let _ = (&self.stream).write_all(text.as_ref());
    }

    pub fn hang_up(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    pub fn name(&self) -> &str {
        &self.words[0]
    }
}

pub struct Server {
    pub port: u16,
    pub connections: Arc<AtomicUsize>,
    asked: Mutex<Receiver<Asked>>,
}

impl Server {
    /// One whose requests are answered by the test alone, once `next` returns them.
    pub fn silent() -> Server {
        Server::answering(|_| ())
    }

    /// One that calls this for each request before `next` returns it.
    pub fn answering(answer: impl Fn(&Asked) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, asked) = channel();
        let (connections, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
        let count = connections.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (tell, answer) = (tell.clone(), answer.clone());
                let connection = count.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || serve(connection, stream.unwrap(), &tell, &*answer));
            }
        });
        Server { port, connections, asked: Mutex::new(asked) }
    }

    /// With a deadline that no call reaches.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}?deadline={}s", self.port, PATIENCE.as_secs())
    }

    pub fn next(&self) -> Asked {
        self.asked.lock().unwrap().recv_timeout(PATIENCE).expect("a request")
    }

    /// The next request of this name.
    pub fn next_of(&self, name: &str) -> Asked {
        loop {
            let asked = self.next();
            if asked.name() == name {
                return asked;
            }
        }
    }

    pub fn has_next(&self) -> bool {
        self.asked.lock().unwrap().try_recv().is_ok()
    }
}

/// The same within a runtime, whose other tasks go on.
pub async fn next_of(server: &Arc<Server>, name: &'static str) -> Asked {
    let server = server.clone();
    tokio::task::spawn_blocking(move || server.next_of(name)).await.unwrap()
}

fn serve(connection: usize, stream: TcpStream, tell: &Sender<Asked>, answer: &dyn Fn(&Asked)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(words) = read_request(&mut reader) {
        let asked = Asked { connection, words, stream: stream.try_clone().unwrap() };
        answer(&asked);
        if tell.send(asked).is_err() {
            return; // the test has ended
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Vec<String>> {
    (0..read_number(reader)?)
        .map(|_| {
            let mut bytes = vec![0; read_number(reader)? + 2];
            reader.read_exact(&mut bytes).ok()?;
            bytes.truncate(bytes.len() - 2);
            String::from_utf8(bytes).ok()
        })
        .collect()
}

fn read_number(reader: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.get(1..)?.trim_end().parse().ok()
}
