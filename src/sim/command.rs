//! `knightwatch sim`: the site alone, for any client.

use std::future::Future;
use std::io::{self, Write};
use std::net::SocketAddr;

use clap::Args;
use tokio::net::TcpListener;

use super::{NewUser, Sim, SimOptions};

/// What the command line says about a site.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9663")]
    pub listen: SocketAddr,
    /// A user of the server, a bot with `:bot`; its token is `lip_` and the name in lower case
    #[arg(long = "user", value_name = "NAME[:bot]")]
    pub users: Vec<NewUser>,
    /// Let all clocks and timers of the server run this many times as fast, 0.1 to 1000: a minute on a player's clock
    /// is over after 60/X seconds, keep-alive lines come every 7/X. Clients are not told [default: 1]
    #[arg(long, value_name = "X", value_parser = speed)]
    pub speed: Option<f64>,
    /// Count calls as Lichess does and answer 429 when they are too many: 100 games a day between bots, 200 challenges,
    /// 30 event streams in ten minutes, ...
    #[arg(long)]
    pub limits: bool,
    /// Answer with the HTML page of a proxy when more than N requests come from one address within a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub nginx_limit: Option<u32>,
}

fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|speed| (0.1..=1_000.0).contains(speed))
        .ok_or_else(|| "expected a number from 0.1 to 1000".to_owned())
}

/// Serves a site with these users until `stop` is done, and says at the start where it is and who has which token.
///
/// # Errors
/// When the address cannot be bound or nothing can be printed.
pub async fn run_command(
    args: SimArgs,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = TcpListener::bind(args.listen).await?;
    let address = listener.local_addr()?;
    let names: Vec<(String, bool)> = args
        .users
        .iter()
        .map(|user| (user.name.clone(), user.bot))
        .collect();
    let speed = args.speed.unwrap_or(1.0);
    let sim = Sim::new(SimOptions {
        users: args.users,
        speed,
        // No id is ever given twice, not even after a restart.
        seed: fastrand::u64(..),
        limits: args.limits,
        nginx_limit: args.nginx_limit,
        ..SimOptions::default()
    });
    let mut out = io::stdout().lock();
    writeln!(out, "Lichess in a box on http://{address}")?;
    for (name, bot) in names {
        let title = if bot { "BOT " } else { "" };
        writeln!(out, "  {title}{name}  token {}", sim.token_of(&name))?;
    }
    if speed != 1.0 {
        writeln!(out, "  all clocks and timers run {speed} times as fast")?;
    }
    if args.limits {
        writeln!(out, "  calls are limited as on Lichess")?;
    }
    out.flush()?;
    drop(out);
    sim.serve(listener, stop).await
}
