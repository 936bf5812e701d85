//! The local web page and the metrics for Prometheus.
//!
//! Invariants: nothing is asked of other machines; without a token only this machine is answered, and only requests that
//! name it (so no other page's script gets in by a name of its own); what is not understood is answered by a 4xx; memory
//! does not grow with time, requests or clients.

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

/// Says what is known of this machine.
pub type DescribeMachine = Box<dyn Fn() -> ThisMachine + Send + Sync>;

/// Where and what is served.
pub struct Options {
    /// The address to listen at; port 0 takes a free one.
    pub address: SocketAddr,
    /// What a client must show; there must be one where other machines may ask.
    pub token: Option<String>,
    /// The metrics alone.
    pub only_metrics: bool,
    /// A profile to look at.
    pub profile: Option<PathBuf>,
    /// Seconds between samples.
    pub interval: f64,
    /// Says what is known of this machine, for the calculator.
    pub here: DescribeMachine,
}

/// Clients that are answered at once; more wait in the system's queue.
const CLIENTS: usize = 4096;
/// How long a client may take for the head of a request, and between two.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of a request's head at most.
const HEAD: usize = 16 << 10;

/// What other machines, and who asked for it, must show.
struct Token {
    text: String,
    /// The name of its cookie. Browsers send a host's cookies to all of its ports.
    cookie: String,
}

/// What all clients share.
struct Site {
    token: Option<Token>,
    /// Other machines may ask, by any name of this one.
    open: bool,
    profile: Option<Bytes>,
    latest: RwLock<Latest>,
    describe_machine: DescribeMachine,
    /// What it said last.
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

    /// This machine as it was found last.
    fn here(&self) -> ThisMachine {
        let known = self.here.read().unwrap_or_else(PoisonError::into_inner).clone();
        known.unwrap_or_else(|| self.refresh_machine())
    }

    /// Finds it anew.
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

/// A token that nobody guesses.
///
/// # Errors
/// The system has no source of chance.
pub fn fresh_token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The file of a profile, if it is one: an object with `traceEvents`, or a list of events.
fn read_profile(path: &PathBuf) -> io::Result<Bytes> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Trace {
        Object {
            #[serde(rename = "traceEvents")]
            _events: Vec<serde::de::IgnoredAny>,
        },
        List(#[allow(dead_code, reason = "only looked at")] Vec<serde::de::IgnoredAny>),
    }
    let name =
        |e: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {e}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| name(&e))?;
    serde_json::from_slice::<Trace>(&bytes)
        .map_err(|_| name(&"no trace in Chrome's format, which is {\"traceEvents\": [...]}"))?;
    Ok(bytes.into())
}

/// Serves until the process ends. `ready` hears the address once clients may come.
///
/// # Errors
/// The address cannot be listened at, the profile cannot be read, or other machines could ask without a token.
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

/// A thousand clients are a thousand files, and the usual limit is 1,024.
fn raise_file_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write one struct.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(2 * CLIENTS as libc::rlim_t).max(limit.rlim_cur);
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

async fn serve(listener: TcpListener, site: Arc<Site>, only_metrics: bool) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let router = pages::router(site.clone(), only_metrics);
    let places = Arc::new(Semaphore::new(CLIENTS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Out of files: those that are served give some back.
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
                .header_read_timeout(PATIENCE)
                .max_buf_size(HEAD)
                .max_headers(64);
            // A client that breaks off is no error of ours.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

type Answer = hyper::Response<Body>;

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(count: usize) -> u64 {
        let site = Site::new(None, ([127, 0, 0, 1], 80).into(), None, Box::new(|| unreachable!("nobody asks")));
        let (mut monitor, mut history) = (Monitor::new(None), History::default());
        let held = || -> u64 {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
            text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
        };
        let mut before = 0;
        for look in 0..count {
            site.take_sample(&mut monitor, &mut history);
            if look == crate::history::CAPACITY {
                before = held();
            }
        }
        held().saturating_sub(before)
    }

    #[test]
    fn a_day_of_looking_takes_no_memory() {
        let grown = looks(86_400);
        assert!(grown < 4 << 20, "{grown} bytes");
    }
}
