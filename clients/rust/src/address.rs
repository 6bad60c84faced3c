//! Where weir is: the URL of a Limiter.
//!
//! ```text
//! redis://[user[:password]@]host[:port]        rediss:// with TLS, ?ca=PATH
//! unix:///path
//! redis+sentinel://[user:password@]h1:26379,h2:26379/NAME        rediss+sentinel:// with TLS
//! ```
//!
//! All take ?deadline=50ms (or 1s) and ?fail=closed. User, password, path and NAME may be
//! percent-encoded. An error never shows the URL, as it has the password.

use std::fmt;
use std::time::Duration;

use crate::error::Mistake;
use crate::options::Fail;

pub(crate) const PORT: u16 = 7379;
pub(crate) const SENTINEL_PORT: u16 = 26379;
const DEADLINE_MAX: Duration = Duration::from_secs(3600);
const SCHEMES: [&str; 5] = ["redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"];

/// A server's or a Sentinel's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Host(String, u16),
    Socket(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Host(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Place::Host(host, port) => write!(f, "{host}:{port}"),
            Place::Socket(path) => f.write_str(path),
        }
    }
}

/// One place, or the places of Sentinels and the name of the primary that they know.
#[derive(Clone, Default)]
pub(crate) struct Address {
    pub places: Vec<Place>,
    pub master: Option<String>,
    pub uses_tls: bool,
    pub ca: Option<String>, // the path of the authorities' certificates; None: the system's
    pub username: String,   // empty: none
    pub password: Option<String>,
    pub deadline: Option<Duration>,
    pub fail: Option<Fail>,
}

impl Address {
    pub fn has_login(&self) -> bool {
        !self.username.is_empty() || self.password.is_some()
    }
}

/// The URL without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Place::Socket(path)] = self.places.as_slice() {
            return write!(f, "unix://{path}");
        }
        f.write_str(if self.uses_tls { "rediss" } else { "redis" })?;
        f.write_str(if self.master.is_some() { "+sentinel://" } else { "://" })?;
        if !self.username.is_empty() {
            write!(f, "{}@", self.username)?;
        }
        let places: Vec<_> = self.places.iter().map(Place::to_string).collect();
        f.write_str(&places.join(","))?;
        self.master.as_ref().map_or(Ok(()), |name| write!(f, "/{name}"))
    }
}

/// A Mistake says which part of the URL is wrong.
pub(crate) fn parse_url(url: &str) -> Result<Address, Mistake> {
    let (scheme, rest) = url.split_once("://").ok_or_else(unknown_scheme)?;
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "http" || scheme == "https" {
        return Err(Mistake::new(
            "weir's HTTP has no client here: docs/http.md says how to ask it",
        ));
    }
    if !SCHEMES.contains(&scheme.as_str()) {
        return Err(unknown_scheme());
    }
    if rest.chars().any(|each| each == '#' || each.is_whitespace() || each.is_control()) {
        return Err(Mistake::new("the URL has a blank or a '#': percent-encode them"));
    }
    let uses_tls = scheme.starts_with("rediss");
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut address = parse_query(query, uses_tls)?;
    if scheme == "unix" {
        if !rest.starts_with('/') || rest == "/" {
            let text = "the URL of a Unix socket has an absolute path: unix:///path";
            return Err(Mistake::new(text));
        }
        address.places = vec![Place::Socket(decode(rest, "path")?)];
        return Ok(address);
    }
    let (login, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
    let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
    address.username = decode(user, "user")?;
    address.password = password.map(|text| decode(text, "password")).transpose()?;
    address.uses_tls = uses_tls;
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    if scheme.ends_with("+sentinel") {
        if path.is_empty() {
            let text = "the URL lacks the name of the primary: redis+sentinel://host/NAME";
            return Err(Mistake::new(text));
        }
        address.master = Some(decode(path, "name")?);
        address.places = parse_places(hosts.split(','))?;
    } else if path.is_empty() || path == "0" {
        address.places = vec![parse_place(hosts, PORT)?];
    } else {
        return Err(Mistake::new("weir has one database: the URL's path is empty or /0"));
    }
    Ok(address)
}

/// The places of Sentinels.
pub(crate) fn parse_places<'a>(
    texts: impl Iterator<Item = &'a str>,
) -> Result<Vec<Place>, Mistake> {
    texts.map(|text| parse_place(text, SENTINEL_PORT)).collect()
}

/// name, name:port, or an IPv6 address in brackets and perhaps a port.
pub(crate) fn parse_place(text: &str, default_port: u16) -> Result<Place, Mistake> {
    let is_ipv6 = |each: char| each.is_ascii_hexdigit() || ":.%".contains(each);
    let (host, digits) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) if host.chars().all(is_ipv6) => (host, None),
            Some((host, port)) if host.chars().all(is_ipv6) && port.starts_with(':') => {
                (host, Some(&port[1..]))
            }
            _ => return Err(no_host()),
        },
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() || (!text.starts_with('[') && host.contains(['[', ']', ':', '/', ',', '@']))
    {
        return Err(no_host());
    }
    let port = match digits {
        None => default_port,
        Some(digits) if (1..=5).contains(&digits.len()) && all_digits(digits) => {
            let port = digits.parse().ok().filter(|port| *port > 0);
            port.ok_or_else(|| Mistake::new("the port is a number from 1 to 65535"))?
        }
        Some(_) => return Err(no_host()),
    };
    Ok(Place::Host(host.to_string(), port))
}

pub(crate) fn check_deadline(deadline: Duration) -> Result<Duration, Mistake> {
    if deadline.is_zero() || deadline > DEADLINE_MAX {
        return Err(Mistake::new("the deadline is above 0, and an hour at most"));
    }
    Ok(deadline)
}

fn parse_query(query: &str, has_ca: bool) -> Result<Address, Mistake> {
    let mut address = Address::default();
    for each in query.split('&').filter(|each| !each.is_empty()) {
        let (name, value) = each.split_once('=').unwrap_or((each, ""));
        let was_said = match name {
            "deadline" => address.deadline.replace(parse_time(value)?).is_some(),
            "fail" => address.fail.replace(value.parse()?).is_some(),
            "ca" if has_ca && !value.is_empty() => {
                address.ca.replace(decode(value, "ca")?).is_some()
            }
            _ => {
                let known = "it may have deadline and fail; rediss also ca";
                return Err(Mistake::new(format!("the URL has an unknown parameter; {known}")));
            }
        };
        if was_said {
            return Err(Mistake::new(format!("the URL has the parameter {name} twice")));
        }
    }
    Ok(address)
}

fn parse_time(text: &str) -> Result<Duration, Mistake> {
    let wrong = || Mistake::new("the URL's deadline is like 50ms or 1s");
    let (digits, unit_ms) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1000),
    };
    if !(1..=7).contains(&digits.len()) || !all_digits(digits) {
        return Err(wrong());
    }
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    check_deadline(Duration::from_millis(number * unit_ms))
}

fn decode(text: &str, part: &str) -> Result<String, Mistake> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let digits = digits.filter(|pair| pair.chars().all(|each| each.is_ascii_hexdigit()));
        let byte = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(|| {
            let text = "has a '%' that encodes nothing: a '%' is %25";
            Mistake::new(format!("the URL's {part} {text}"))
        })?;
        bytes.push(byte);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| Mistake::new(format!("the URL's {part} is no UTF-8 text")))
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|each| each.is_ascii_digit())
}

fn no_host() -> Mistake {
    Mistake::new("the URL's host is name, name:port, or an IPv6 address in brackets")
}

fn unknown_scheme() -> Mistake {
    let schemes = SCHEMES.join(", ");
    Mistake::new(format!("the URL does not begin with one of {schemes} and ://"))
}
