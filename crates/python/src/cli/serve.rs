//! `cuprous serve`: the calculator, the monitor and the profile viewer as a local web page.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use cuprous_watch::{Monitor, serve};

use super::top::{address, serving};

#[derive(Args)]
pub(super) struct Options {
    /// Port or address to listen on. Other machines can reach an address that is not loopback, and then need the token
    /// that is printed
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value = "8642")]
    listen: SocketAddr,
    /// Requires a token on this machine too
    #[arg(long)]
    token: bool,
    /// A profile to show: a trace in Chrome's format
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

pub(super) fn run(options: &Options, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let needs_token = options.token || !options.listen.ip().is_loopback();
    let token = if needs_token { Some(serve::fresh_token()?) } else { None };
    let mut path = token.as_ref().map_or_else(|| "/".to_owned(), |token| format!("/?token={token}"));
    if options.profile.is_some() {
        path += "#profile";
    }
    let monitor = Monitor::new(cuprous_cuda::driver::why_unavailable());
    let profile = options.profile.clone();
    let options = serve::Options {
        address: options.listen,
        token,
        only_metrics: false,
        profile,
        interval: 1.0,
        here: Box::new(crate::machine::estimator_machine),
    };
    serving(options, monitor, out, err, "Cuprous", &path)
}
