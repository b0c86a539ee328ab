//! `knightwatch sim`: the site alone, for any client.

use std::future::{Future, pending};
use std::io::{self, Write};
use std::net::SocketAddr;

use clap::Args;
use tokio::net::TcpListener;

use super::{ArenaOptions, NewTeam, NewUser, Quirk, Quirks, Sim, SimOptions, Sparring};

/// What the command line says about a site.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9663")]
    pub listen: SocketAddr,
    /// A user of the server, a bot with `:bot`; its token is `lip_` and the name in lower case
    #[arg(long = "user", value_name = "NAME[:bot]")]
    pub users: Vec<NewUser>,
    /// Hold an arena, as in `Friday,clock=60+0,minutes=10,starts=30s,bots,rated`; further keys: id, variant, position,
    /// password, team, teams, min-rating, max-rating, min-rated-games, allow, banned, berserkable, streakable, created-by
    #[arg(long = "arena", value_name = "NAME[,KEY=VALUE]...")]
    pub arenas: Vec<ArenaOptions>,
    /// A team, as in `The Bots,password=secret,leader=NAME,members=A,members=B,by-message`
    #[arg(long = "team", value_name = "NAME[,KEY=VALUE]...")]
    pub teams: Vec<NewTeam>,
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
    /// Switch something of which nobody is sure how Lichess does it, such as castling=e1h1; a wrong name tells which
    /// there are
    #[arg(long = "quirk", value_name = "NAME[=VALUE]")]
    pub quirks: Vec<Quirk>,
    /// A user that plays by itself, for as many as you like: see the end of this help
    #[arg(long = "spar", value_name = "NAME[,KEY[=VALUE]]...")]
    pub sparring: Vec<Sparring>,
    /// Let sparring users choose as in another run with this seed; ids are those of that run, too
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print no line for every game that is over
    #[arg(long)]
    pub quiet: bool,
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
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..)),
        quirks: Quirks::with(args.quirks.into_iter().map(|quirk| quirk.0))
            .map_err(io::Error::other)?,
        limits: args.limits,
        nginx_limit: args.nginx_limit,
        ..SimOptions::default()
    });
    for team in args.teams {
        sim.team(team);
    }
    let mut arenas = Vec::new();
    for arena in &args.arenas {
        let id = sim.arena(arena).map_err(io::Error::other)?;
        arenas.push((id, arena));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "Lichess in a box on http://{address}")?;
    for (name, bot) in names {
        let title = if bot { "BOT " } else { "" };
        writeln!(out, "  {title}{name}  token {}", sim.token_of(&name))?;
    }
    for (id, arena) in arenas {
        let seconds = arena.starts.as_secs();
        let name = &arena.name;
        writeln!(
            out,
            "  arena {id}  {name}, in {seconds} seconds, for {} minutes",
            arena.minutes
        )?;
    }
    if speed != 1.0 {
        writeln!(out, "  all clocks and timers run {speed} times as fast")?;
    }
    if args.limits {
        writeln!(out, "  calls are limited as on Lichess")?;
    }
    out.flush()?;
    drop(out);
    for sparring in args.sparring {
        sim.spar(sparring);
    }
    let teller = async {
        match args.quiet {
            true => pending().await,
            false => tell(&sim).await,
        }
    };
    tokio::select! {
        served = sim.serve(listener, stop) => served,
        error = teller => Err(error),
    }
}

/// Prints a line for every game that is over, until that fails.
async fn tell(sim: &Sim) -> io::Error {
    let mut finished = sim.finished();
    let mut told = 0;
    loop {
        let (games, total) = sim.finished_after(told);
        told = total;
        let mut out = io::stdout().lock();
        for game in games {
            if let Err(error) = writeln!(out, "{game}") {
                return error;
            }
        }
        if let Err(error) = out.flush() {
            return error;
        }
        drop(out);
        if finished.wait_for(|count| *count > told).await.is_err() {
            return io::ErrorKind::BrokenPipe.into();
        }
    }
}
