//! How a request reaches weir and its reply comes back: links, as many as there are calls at a
//! time.
//!
//! A deadline ends a call, not the connecting, which has a second, or a longer deadline: so a first
//! connection that is slow (TLS, a cold process) is there for a later call, and the error of a
//! login that comes late is told to the next one.
//!
//! A link is of a *generation*. Once a connection was lost, or its server is no longer the primary,
//! links of earlier generations are closed when they come back. It is of a runtime, too, and only
//! calls of that one use it; those of others close it if they need its room, as a runtime may have
//! ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Value;
use tokio::runtime::{Handle, Id};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};
use tokio::time::timeout;

use crate::cause::Cause;
use crate::link::{Link, NoReply};
use crate::options::Settings;
use crate::route::Route;

/// How long connecting goes on at least, also if its call has ended.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(1);
const HANG_UPS_MAX: usize = 3; // of new connections, in one call

pub(crate) struct Wire {
    settings: Arc<Settings>,
    room: Arc<Semaphore>,
    freed: Arc<Notify>, // a link has been put on the shelf, or there is room for one
    closing: Notify,
    is_busy_when_full: bool,
    shelf: Mutex<Shelf>,
}

/// The links that wait for a call.
struct Shelf {
    idle: Vec<Open>, // the last one used is the first to be used
    generation: u64,
    is_closed: bool,
    late: Option<NoReply>, // what a login was told when its caller had gone
    route: Route,
}

/// A link that is open, or will be.
struct Open {
    link: Link,
    generation: u64,
    runtime: Id,
    has_replied: bool, // to a call
    _room: Room,
}

/// The room of a link; another one may be opened once it is dropped.
struct Room {
    permit: Option<OwnedSemaphorePermit>,
    freed: Arc<Notify>,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.permit.take();
        self.freed.notify_one();
    }
}

/// Connecting, in a task. It may end after its call.
struct Attempt {
    wire: Arc<Wire>,
    end: oneshot::Receiver<Result<(), NoReply>>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.end.close();
        if let Ok(Err(error)) = self.end.try_recv() {
            self.wire.shelf().tell_late(error);
        }
    }
}

impl Shelf {
    fn tell_late(&mut self, error: NoReply) {
        if matches!(error, NoReply::Refused(_)) {
            self.late = Some(error);
        }
    }

    fn begin_generation(&mut self) {
        self.generation += 1;
        self.idle.clear();
    }
}

impl Wire {
    pub fn new(settings: Arc<Settings>, links_max: usize, is_busy_when_full: bool) -> Arc<Wire> {
        let route = Route::new(&settings.address);
        Arc::new(Wire {
            settings,
            room: Arc::new(Semaphore::new(links_max)),
            freed: Arc::default(),
            closing: Notify::new(),
            is_busy_when_full,
            shelf: Mutex::new(Shelf {
                idle: Vec::new(),
                generation: 0,
                is_closed: false,
                late: None,
                route,
            }),
        })
    }

    /// The reply. A future that is dropped closes its connection.
    pub async fn ask(self: &Arc<Wire>, words: &[String], time: Duration) -> Result<Value, NoReply> {
        let closing = self.closing.notified();
        if self.shelf().is_closed {
            return Err(NoReply::Closed);
        }
        tokio::select! {
            biased;
            outcome = timeout(time, self.ask_once(words)) => outcome.unwrap_or_else(|_| {
                self.shelf().route.forget();
                Err(NoReply::timeout("no reply in time"))
            }),
            () = closing => Err(NoReply::lost("the Limiter was closed")),
        }
    }

    /// Ends all calls.
    pub fn close(&self) {
        let mut shelf = self.shelf();
        shelf.is_closed = true;
        shelf.begin_generation();
        drop(shelf);
        self.closing.notify_waiters();
    }

    async fn ask_once(self: &Arc<Wire>, words: &[String]) -> Result<Value, NoReply> {
        let mut open = self.take().await?;
        let outcome = open.link.ask(words).await;
        open.has_replied = true;
        let is_plain = leaves_no_trace(words);
        match &outcome {
            Ok(_) if is_plain => self.put(open),
            Ok(_) => {}
            Err(NoReply::Refused(refused)) => {
                if is_plain && !refused.leaves_connection() {
                    self.put(open);
                }
                if refused.leaves_server() {
                    self.leave_server();
                }
            }
            Err(_) => {
                drop(open);
                self.leave_server();
            }
        }
        outcome
    }

    /// A link of the shelf, or a new one, once it is there.
    async fn take(self: &Arc<Wire>) -> Result<Open, NoReply> {
        if let Some(late) = self.shelf().late.take() {
            return Err(late);
        }
        let runtime = Handle::current().id();
        let mut attempt: Option<Attempt> = None;
        let mut hang_ups = 0;
        loop {
            let freed = self.freed.notified();
            if let Some(open) = self.fresh(runtime, &mut hang_ups)? {
                return Ok(open);
            }
            if attempt.is_none() {
                match self.find_room() {
                    Ok(permit) => attempt = Some(self.start(permit)),
                    Err(_) if self.is_busy_when_full => {
                        return Err(NoReply::Lost(Cause::Busy, "too many calls wait".to_string()));
                    }
                    Err(_) => {}
                }
            }
            let Some(connecting) = &mut attempt else {
                freed.await;
                continue;
            };
            tokio::select! {
                ended = &mut connecting.end => {
                    attempt = None;
                    ended.unwrap_or_else(|_| Err(NoReply::lost("connecting was ended")))?;
                }
                () = freed => {}
            }
        }
    }

    /// A link of this runtime that waits, and that the server has not closed meanwhile.
    fn fresh(&self, runtime: Id, hang_ups: &mut usize) -> Result<Option<Open>, NoReply> {
        let mut shelf = self.shelf();
        while let Some(index) = shelf.idle.iter().rposition(|open| open.runtime == runtime) {
            let open = shelf.idle.remove(index);
            if !open.link.is_ended() {
                return Ok(Some(open));
            }
            *hang_ups += usize::from(!open.has_replied);
        }
        if *hang_ups >= HANG_UPS_MAX {
            return Err(NoReply::lost("the server closes new connections"));
        }
        Ok(None)
    }

    /// Room for a link. If all is taken, a link that waits is closed: it is of another runtime.
    fn find_room(&self) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let found = self.room.clone().try_acquire_owned();
        if found.is_err() {
            let mut shelf = self.shelf();
            if !shelf.idle.is_empty() {
                drop(shelf.idle.remove(0));
                return self.room.clone().try_acquire_owned();
            }
        }
        found
    }

    fn put(&self, open: Open) {
        let mut shelf = self.shelf();
        if !shelf.is_closed && open.generation == shelf.generation {
            shelf.idle.push(open);
            self.freed.notify_one();
        }
    }

    fn leave_server(&self) {
        let mut shelf = self.shelf();
        shelf.route.forget();
        shelf.begin_generation();
    }

    fn start(self: &Arc<Wire>, permit: OwnedSemaphorePermit) -> Attempt {
        let room = Room { permit: Some(permit), freed: self.freed.clone() };
        let (tell, end) = oneshot::channel();
        let wire = self.clone();
        tokio::spawn(async move {
            let outcome = wire.connect(room).await;
            if let Err(Err(error)) = tell.send(outcome) {
                wire.shelf().tell_late(error);
            }
        });
        Attempt { wire: self.clone(), end }
    }

    /// Puts a new link on the shelf.
    async fn connect(&self, room: Room) -> Result<(), NoReply> {
        let (mut route, generation) = {
            let shelf = self.shelf();
            (shelf.route.clone(), shelf.generation)
        };
        let time = CONNECT_TIME.max(self.settings.deadline);
        let outcome = timeout(time, route.connect(&self.settings, time)).await;
        let outcome = outcome.unwrap_or_else(|_| Err(NoReply::timeout("no connection in time")));
        if outcome.is_err() {
            route.forget();
        }
        let mut shelf = self.shelf();
        if shelf.generation == generation {
            shelf.route = route;
        }
        let link = outcome?;
        drop(shelf);
        let runtime = Handle::current().id();
        self.put(Open { link, generation, runtime, has_replied: false, _room: room });
        Ok(())
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a connection is as before once these words are answered. Other commands may leave it
/// subscribed, in a transaction, or of another user.
fn leaves_no_trace(words: &[String]) -> bool {
    let prefix = words.first().and_then(|name| name.get(..3));
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("RL."))
}
