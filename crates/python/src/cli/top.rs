//! `cuprous top`: the current state of the machine, in a terminal, as text, as JSON or for Prometheus.

use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use clap::Args;
use cuprous_watch::screen::View;
use cuprous_watch::{Monitor, serve, text, top};

use super::report::json;
use super::terminal;
use crate::machine;

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if (0.1..=86_400.0).contains(&value) { Ok(value) } else { Err("must be from 0.1 to 86400 seconds".into()) }
}

/// Parses an address. `:9100` and `9100` are ports that only this machine can reach.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let port =
        text.strip_prefix(':').unwrap_or(text).parse::<u16>().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    port.or_else(|_| text.replace("localhost", "127.0.0.1").parse())
        .map_err(|_| "an address must be like 127.0.0.1:9100, [::1]:9100 or a port".into())
}

#[derive(Args)]
pub(super) struct Options {
    /// Prints one sample as text; the default if the output is not a terminal
    #[arg(long)]
    once: bool,
    /// Prints JSON: one object, or with --watch one object per line
    #[arg(long)]
    json: bool,
    /// Seconds between samples (default: 1)
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "once")]
    watch: Option<f64>,
    /// Serves metrics for Prometheus under http://ADDRESS/metrics: a port of this machine, or an address with a port
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with_all = ["once", "json"])]
    prometheus: Option<SocketAddr>,
}

pub(super) fn run(options: &Options, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let mut monitor = Monitor::new(cuprous_cuda::driver::why_unavailable());
    let interval = options.watch.unwrap_or(1.0);
    if let Some(address) = options.prometheus {
        let options = serve::Options {
            address,
            token: None,
            only_metrics: true,
            profile: None,
            interval,
            here: Box::new(machine::estimator_machine),
        };
        return serving(options, monitor, out, err, "metrics for Prometheus", "/metrics");
    }
    let interactive = io::stdout().is_terminal() && io::stdin().is_terminal();
    if interactive && !options.once && !options.json {
        let view = View { interval, color: terminal::colored(), ascii: terminal::is_ascii(), ..View::default() };
        return top::run(monitor, view).map(|()| 0);
    }
    super::restore_default_sigint();
    // Rates need two readings.
    std::thread::sleep(Duration::from_millis(200));
    loop {
        let sample = monitor.sample();
        match (options.json, options.watch) {
            (true, None) => json(out, &sample)?,
            (true, Some(_)) => writeln!(out, "{}", serde_json::to_string(&sample)?)?,
            (false, _) => {
                let mut page = Vec::new();
                text::write(&mut page, &sample)?;
                out.write_all(&terminal::in_locale(page))?;
            }
        }
        out.flush()?;
        if options.watch.is_none() {
            return Ok(0);
        }
        std::thread::sleep(Duration::from_secs_f64(interval));
    }
}

/// Returns an address that a browser can open. For the unspecified address (`0.0.0.0`), that is the address by which
/// other machines reach this one.
fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    // No packet is sent: connecting makes the kernel choose the address that it would send from.
    let (any, other): (IpAddr, IpAddr) = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
    };
    let outward = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((other, 9))?;
        socket.local_addr()
    });
    let home = if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    SocketAddr::new(outward.map_or(home, |own| own.ip()), address.port())
}

/// Serves until the process is ended.
pub(super) fn serving(
    options: serve::Options,
    monitor: Monitor,
    out: &mut dyn Write,
    err: &mut dyn Write,
    what: &str,
    path: &str,
) -> io::Result<i32> {
    super::restore_default_sigint();
    let done = serve::run(options, monitor, |address| {
        let address = reachable(address);
        let _ = writeln!(out, "{what}: http://{address}{path}\nCtrl-C ends it.").and_then(|()| out.flush());
    });
    match done {
        Ok(()) => Ok(0),
        Err(e) => writeln!(err, "cuprous: {e}").map(|()| 1),
    }
}
