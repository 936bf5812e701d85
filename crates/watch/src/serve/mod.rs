//! The local web page and the metrics for Prometheus.
//!
//! Invariants:
//! - The server contacts no other machine.
//! - Without a token it answers only this machine, and only requests whose `Host` names it. So a page from elsewhere
//!   cannot reach it through a DNS name of its own.
//! - A request that is not understood is answered with a 4xx status.
//! - Memory does not grow with time, requests or clients.

mod calculator;
mod guard;
mod pages;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::body::{Body, Bytes};
use cuprous_advisor::question::ThisMachine;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::history::{History, Series};
use crate::monitor::Monitor;
use crate::sample::Sample;

/// A function that returns what is known of this machine.
pub type DescribeMachine = Box<dyn Fn() -> ThisMachine + Send + Sync>;

/// Options of the server.
pub struct Options {
    /// The address on which to listen. Port 0 takes a free port.
    pub address: SocketAddr,
    /// The token that clients must present. Required if other machines can connect.
    pub token: Option<String>,
    /// Serves only the metrics.
    pub only_metrics: bool,
    /// A profile to show.
    pub profile: Option<PathBuf>,
    /// Seconds between samples.
    pub interval: f64,
    /// Returns what is known of this machine, for the calculator.
    pub here: DescribeMachine,
}

/// The most clients that are served at once. More wait in the system's queue.
const MAX_CLIENTS: usize = 4096;
/// The time that a client may take to send the head of a request, and between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);
/// The largest head of a request in bytes.
const MAX_HEAD: usize = 16 << 10;

/// The token that clients must present.
struct Token {
    text: String,
    /// The name of its cookie. It contains the port, because browsers send a host's cookies to all of its ports.
    cookie: String,
}

/// The state that all clients share.
struct Site {
    token: Option<Token>,
    /// Other machines may connect, by any name of this one.
    open: bool,
    profile: Option<Bytes>,
    latest: RwLock<Latest>,
    describe_machine: DescribeMachine,
    /// The latest result of `describe_machine`.
    here: RwLock<Option<ThisMachine>>,
}

/// The newest sample, as it is sent.
#[derive(Clone, Default)]
struct Latest {
    sample: Bytes,
    metrics: Bytes,
}

#[derive(Serialize)]
struct SampleWithHistory<'a> {
    sample: &'a Sample,
    host: &'a [Series; 2],
    gpus: &'a std::collections::HashMap<u32, [Series; 4]>,
}

impl Site {
    fn new(token: Option<String>, address: SocketAddr, profile: Option<Bytes>, here: DescribeMachine) -> Site {
        let token = token.map(|text| Token { text, cookie: format!("cuprous-{}", address.port()) });
        let open = !address.ip().is_loopback();
        Site { token, open, profile, latest: RwLock::default(), describe_machine: here, here: RwLock::default() }
    }

    fn latest(&self) -> Latest {
        self.latest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what was last known of this machine.
    fn here(&self) -> ThisMachine {
        let known = self.here.read().unwrap_or_else(PoisonError::into_inner).clone();
        known.unwrap_or_else(|| self.refresh_machine())
    }

    /// Calls `describe_machine` and stores the result.
    fn refresh_machine(&self) -> ThisMachine {
        let found = (self.describe_machine)();
        *self.here.write().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        found
    }

    fn take_sample(&self, monitor: &mut Monitor, history: &mut History) {
        let sample = monitor.sample();
        history.add(&sample);
        let body = SampleWithHistory { sample: &sample, host: &history.host, gpus: &history.gpus };
        let latest = Latest {
            sample: serde_json::to_vec(&body).unwrap_or_default().into(),
            metrics: crate::metrics::page(&sample).into(),
        };
        *self.latest.write().unwrap_or_else(PoisonError::into_inner) = latest;
    }
}

/// Returns a random token.
///
/// # Errors
/// The system has no source of randomness.
pub fn fresh_token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Reads a profile, and checks that it is an object with `traceEvents` or a list of events.
fn read_profile(path: &PathBuf) -> io::Result<Bytes> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Trace {
        Object {
            #[serde(rename = "traceEvents")]
            _events: Vec<serde::de::IgnoredAny>,
        },
        List(#[allow(dead_code, reason = "only parsed")] Vec<serde::de::IgnoredAny>),
    }
    let name =
        |e: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {e}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| name(&e))?;
    serde_json::from_slice::<Trace>(&bytes)
        .map_err(|_| name(&"not a trace in Chrome's format, which is {\"traceEvents\": [...]}"))?;
    Ok(bytes.into())
}

/// Serves until the process ends. Calls `ready` with the address when clients can connect.
///
/// # Errors
/// The server cannot listen on the address, the profile cannot be read, or other machines could connect without a
/// token.
pub fn run(options: Options, mut monitor: Monitor, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let profile = options.profile.as_ref().map(read_profile).transpose()?;
    let listener = TcpListener::bind(options.address)
        .map_err(|e| io::Error::new(e.kind(), format!("cannot listen at {}: {e}", options.address)))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() && options.token.is_none() && !options.only_metrics {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "other machines need a token"));
    }
    raise_file_limit();
    let site = Arc::new(Site::new(options.token, address, profile, options.here));
    let mut history = History::default();
    site.take_sample(&mut monitor, &mut history);
    let watched = site.clone();
    let pause = Duration::from_secs_f64(options.interval.max(0.1));
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(pause);
            watched.take_sample(&mut monitor, &mut history);
        }
    });
    ready(address);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(
        listener,
        site,
        options.only_metrics,
    ))
}

/// Raises the limit of open files, which is usually 1,024. Each client is an open file.
#[cfg(unix)]
fn raise_file_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both functions read or write one struct.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(2 * MAX_CLIENTS as libc::rlim_t).max(limit.rlim_cur);
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Has no effect: sockets are not files on Windows.
#[cfg(not(unix))]
fn raise_file_limit() {}

async fn serve(listener: TcpListener, site: Arc<Site>, only_metrics: bool) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let router = pages::router(site.clone(), only_metrics);
    let slots = Arc::new(Semaphore::new(MAX_CLIENTS));
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return Ok(()) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Out of file descriptors. Clients that disconnect free some.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let (site, router) = (site.clone(), router.clone());
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
                let (site, router) = (site.clone(), router.clone());
                async move {
                    match guard::check(&site, &request) {
                        Err(refusal) => Ok(guard::finish(guard::answer(refusal))),
                        Ok(()) => TowerToHyperService::new(router).call(request).await.map(guard::finish),
                    }
                }
            });
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder
                .half_close(true)
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_buf_size(MAX_HEAD)
                .max_headers(64);
            // A client that disconnects early is not an error.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            drop(slot);
        });
    }
}

type Answer = hyper::Response<Body>;

#[cfg(test)]
mod tests {
    use super::*;

    fn growth_after(count: usize) -> u64 {
        let site =
            Site::new(None, ([127, 0, 0, 1], 80).into(), None, Box::new(|| unreachable!("no estimate is requested")));
        let (mut monitor, mut history) = (Monitor::new(None), History::default());
        let resident = || -> u64 {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
            text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
        };
        let mut before = 0;
        for sample in 0..count {
            site.take_sample(&mut monitor, &mut history);
            if sample == crate::history::CAPACITY {
                before = resident();
            }
        }
        resident().saturating_sub(before)
    }

    #[test]
    fn a_day_of_sampling_takes_no_memory() {
        let grown = growth_after(86_400);
        assert!(grown < 4 << 20, "{grown} bytes");
    }
}
