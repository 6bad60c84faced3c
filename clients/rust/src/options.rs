//! The options of a Limiter.

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::address::{self, Address, Place};
use crate::cause::Cause;
use crate::error::Mistake;
#[cfg(feature = "tls")]
use crate::tls::Tls;

const DEADLINE: Duration = Duration::from_millis(50);

pub(crate) type OnUnavailable = Arc<dyn Fn(Cause) + Send + Sync>;
pub(crate) type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;
pub(crate) type Every = Arc<dyn Fn(Duration, Beat) -> Stop + Send + Sync>;

/// What [`Options::every`] calls again and again, and awaits.
pub type Beat = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Ends that.
pub type Stop = Box<dyn FnOnce() + Send>;

/// What is decided without an answer of weir.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fail {
    /// Calls are allowed.
    #[default]
    Open,
    /// They are not.
    Closed,
}

impl FromStr for Fail {
    type Err = Mistake;

    fn from_str(word: &str) -> Result<Fail, Mistake> {
        match word {
            "open" => Ok(Fail::Open),
            "closed" => Ok(Fail::Closed),
            _ => Err(Mistake::new("fail is 'open' or 'closed'")),
        }
    }
}

/// Where weir is, and what a Limiter does without it.
///
/// What a URL says, an option may not say again. Without a place it is 127.0.0.1, port 7379.
#[derive(Clone, Default)]
#[must_use]
pub struct Options {
    url: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    unix_socket: Option<String>,
    sentinels: Option<Vec<String>>,
    master: Option<String>,
    username: Option<String>,
    password: Option<String>,
    tls: bool,
    #[cfg(feature = "tls")]
    tls_config: Option<Arc<crate::rustls::ClientConfig>>,
    deadline: Option<Duration>,
    fail: Option<Fail>,
    on_unavailable: Option<OnUnavailable>,
    clock: Option<Clock>,
    every: Option<Every>,
}

impl Options {
    pub fn new() -> Options {
        Options::default()
    }

    /// redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://; README has their
    /// forms.
    pub fn url(mut self, url: impl Into<String>) -> Options {
        self.url = Some(url.into());
        self
    }

    pub fn host(mut self, host: impl Into<String>) -> Options {
        self.host = Some(host.into());
        self
    }

    pub fn port(mut self, port: u16) -> Options {
        self.port = Some(port);
        self
    }

    /// The path of a Unix socket.
    pub fn unix_socket(mut self, path: impl Into<String>) -> Options {
        self.unix_socket = Some(path.into());
        self
    }

    /// The places of Sentinels, "host" or "host:port"; they need [`Options::master`].
    pub fn sentinels<S: Into<String>>(mut self, places: impl IntoIterator<Item = S>) -> Options {
        self.sentinels = Some(places.into_iter().map(Into::into).collect());
        self
    }

    /// The name by which Sentinels know the primary.
    pub fn master(mut self, name: impl Into<String>) -> Options {
        self.master = Some(name.into());
        self
    }

    pub fn username(mut self, name: impl Into<String>) -> Options {
        self.username = Some(name.into());
        self
    }

    pub fn password(mut self, password: impl Into<String>) -> Options {
        self.password = Some(password.into());
        self
    }

    /// Speaks TLS, and verifies the server's name by the authorities of the system.
    pub fn tls(mut self, uses_tls: bool) -> Options {
        self.tls = uses_tls;
        self
    }

    /// Speaks TLS as this says: with an authority, a certificate and a key of your own. The URL may
    /// be one of redis:// or rediss://, without `?ca=`.
    #[cfg(feature = "tls")]
    pub fn tls_config(mut self, config: Arc<crate::rustls::ClientConfig>) -> Options {
        self.tls_config = Some(config);
        self
    }

    /// How long a call may take: 50 ms if this is not said.
    pub fn deadline(mut self, deadline: Duration) -> Options {
        self.deadline = Some(deadline);
        self
    }

    /// [`Fail::Open`] if this is not said.
    pub fn fail(mut self, fail: Fail) -> Options {
        self.fail = Some(fail);
        self
    }

    /// Called at each answer that is missing, in a task: it must not block, nor ask the Limiter of
    /// threads, which panics then. Without it standard error gets a line, at most one a minute.
    pub fn on_unavailable(mut self, tell: impl Fn(Cause) + Send + Sync + 'static) -> Options {
        self.on_unavailable = Some(Arc::new(tell));
        self
    }

    /// For tests: the time.
    pub fn clock(mut self, now: impl Fn() -> Instant + Send + Sync + 'static) -> Options {
        self.clock = Some(Arc::new(now));
        self
    }

    /// For tests: begins what is called again and again, as a heartbeat is.
    pub fn every(
        mut self,
        begin: impl Fn(Duration, Beat) -> Stop + Send + Sync + 'static,
    ) -> Options {
        self.every = Some(Arc::new(begin));
        self
    }

    /// With beats that run on this runtime, whoever awaits them.
    #[cfg(feature = "blocking")]
    pub(crate) fn beating_on(mut self, runtime: tokio::runtime::Handle) -> Options {
        self.every = self.every.map(|begin| -> Every {
            Arc::new(move |period, beat| {
                let runtime = runtime.clone();
                let spawned = move || {
                    let beaten = runtime.spawn(beat());
                    Box::pin(async move { drop(beaten.await) }) as _
                };
                begin(period, Box::new(spawned))
            })
        });
        self
    }

    pub(crate) fn settings(self) -> Result<Settings, Mistake> {
        let address = self.address()?;
        let deadline = address.deadline.unwrap_or(DEADLINE);
        Ok(Settings {
            #[cfg(feature = "tls")]
            tls: Tls::of(&address, self.tls_config)?,
            deadline: address::check_deadline(deadline)?,
            fail: address.fail.unwrap_or_default(),
            address,
            on_unavailable: self.on_unavailable,
            clock: self.clock.unwrap_or_else(|| Arc::new(Instant::now)),
            every: self.every.unwrap_or_else(|| Arc::new(every_by_task)),
        })
    }

    fn address(&self) -> Result<Address, Mistake> {
        let mut address = match &self.url {
            None => self.address_without_url()?,
            Some(_) if self.has_place() => {
                let text = "a Limiter has a URL, or host and port, unix_socket, or sentinels";
                return Err(Mistake::new(text));
            }
            Some(url) => address::parse_url(url)?,
        };
        let username = (!address.username.is_empty()).then(|| address.username.clone());
        let uses_tls = address.uses_tls.then_some(true);
        address.username = either("username", username, &self.username)?.unwrap_or_default();
        address.password = either("password", address.password, &self.password)?;
        address.uses_tls = either("tls", uses_tls, &self.tls.then_some(true))?.is_some();
        #[cfg(feature = "tls")]
        if self.tls_config.is_some() {
            either("the authorities of TLS", address.ca.clone(), &Some(String::new()))?;
            address.uses_tls = true;
        }
        address.deadline = either("deadline", address.deadline, &self.deadline)?;
        address.fail = either("fail", address.fail, &self.fail)?;
        if address.uses_tls && matches!(address.places[0], Place::Socket(_)) {
            return Err(Mistake::new("a Unix socket has no TLS"));
        }
        if address.uses_tls && cfg!(not(feature = "tls")) {
            return Err(Mistake::new("TLS needs the feature `tls` of weir-client"));
        }
        Ok(address)
    }

    fn has_place(&self) -> bool {
        self.host.is_some() || self.port.is_some() || self.unix_socket.is_some() || self.has_group()
    }

    fn has_group(&self) -> bool {
        self.sentinels.is_some() || self.master.is_some()
    }

    fn address_without_url(&self) -> Result<Address, Mistake> {
        let has_host = self.host.is_some() || self.port.is_some();
        if let Some(path) = &self.unix_socket {
            if has_host || self.has_group() {
                return Err(Mistake::new("a Unix socket has no host, port or sentinels"));
            }
            return Ok(Address { places: vec![Place::Socket(path.clone())], ..Address::default() });
        }
        if self.has_group() {
            let (Some(sentinels), Some(master), false) = (&self.sentinels, &self.master, has_host)
            else {
                let text = "sentinels need the name of their master, and no host or port";
                return Err(Mistake::new(text));
            };
            if sentinels.is_empty() || master.is_empty() {
                return Err(Mistake::new("there is at least one Sentinel, and a name"));
            }
            let places = address::parse_places(sentinels.iter().map(String::as_str))?;
            return Ok(Address { places, master: Some(master.clone()), ..Address::default() });
        }
        let host = self.host.as_deref().unwrap_or("127.0.0.1");
        let is_bare = host.matches(':').count() > 1 && !host.starts_with('[');
        let mut text = if is_bare { format!("[{host}]") } else { host.to_string() };
        if let Some(port) = self.port {
            text += &format!(":{port}");
        }
        let places = vec![address::parse_place(&text, address::PORT)?];
        Ok(Address { places, ..Address::default() })
    }
}

/// Shows nothing of it, as there may be a password.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

/// The options, checked.
pub(crate) struct Settings {
    pub address: Address,
    #[cfg(feature = "tls")]
    pub tls: Option<Tls>,
    pub deadline: Duration,
    pub fail: Fail,
    pub on_unavailable: Option<OnUnavailable>,
    pub clock: Clock,
    pub every: Every,
}

fn either<T: Clone>(
    name: &str,
    of_url: Option<T>,
    option: &Option<T>,
) -> Result<Option<T>, Mistake> {
    if of_url.is_some() && option.is_some() {
        return Err(Mistake::new(format!("both the URL and an option say {name}")));
    }
    Ok(of_url.or_else(|| option.clone()))
}

/// Awaits a beat again and again, in a task. A beat that has begun ends.
fn every_by_task(period: Duration, beat: Beat) -> Stop {
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = &mut stopped => return,
                () = tokio::time::sleep(period) => beat().await,
            }
        }
    });
    Box::new(move || drop(stop))
}
