//! `knightwatch sim`: the site alone, for any client.

use std::collections::BTreeSet;
use std::future::{Future, pending};
use std::io::{self, Write};
use std::net::SocketAddr;

use clap::Args;
use tokio::net::TcpListener;

use super::script::check_speed;
use super::{
    ArenaOptions, NewTeam, NewUser, PlayerOptions, Quirk, Quirks, Script, ScriptError, Sim,
    SimOptions,
};
use crate::plural;
use crate::sim::site::id::UserId;

/// What the command line says about a site.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9663")]
    pub listen: SocketAddr,
    /// A user of the server, a bot with `:bot`; its token is `lip_` and the name in lower case. With `:guest` somebody
    /// without an account, who plays through the Board API with his token as a visitor does in his browser; with `:browser`
    /// a human who is always there without a stream, as on the page of a bot that runs with `daemon.guest`, and who can
    /// ask every bot for takebacks, as if its preferences allowed it
    #[arg(long = "user", value_name = "NAME[:bot|:guest|:browser]")]
    pub users: Vec<NewUser>,
    /// Hold an arena, as in `Friday,clock=60+0,minutes=10,starts-in=30s,bots,rated`; further keys: id, variant, position,
    /// password, team, teams, min-rating, max-rating, min-rated-games, allow, banned, berserkable, streakable, created-by
    #[arg(long = "arena", value_name = "NAME[,KEY=VALUE]...")]
    pub arenas: Vec<ArenaOptions>,
    /// A team, as in `The Bots,password=secret,leader=NAME,members=A,members=B,by-message`
    #[arg(long = "team", value_name = "NAME[,KEY=VALUE]...")]
    pub teams: Vec<NewTeam>,
    /// Let all clocks and timers of the server run this many times as fast, 0.1 to 1000: a minute on a player's clock
    /// is over after 60/X seconds, keep-alive lines come every 7/X. Clients are not printed [default: 1]
    #[arg(long, value_name = "X", value_parser = speed)]
    pub speed: Option<f64>,
    /// Count calls as Lichess does and answer 429 when they are too many: 100 games a day between bots, 200 challenges,
    /// 30 event streams in ten minutes, ...
    #[arg(long)]
    pub limits: bool,
    /// ApiResult with the HTML page of a proxy when more than N requests come from one address within a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub nginx_limit: Option<u32>,
    /// Switch something of which nobody is sure how Lichess does it, such as castling=e1h1; a wrong name tells which
    /// there are
    #[arg(long = "quirk", value_name = "NAME[=VALUE]")]
    pub quirks: Vec<Quirk>,
    /// Let things go wrong as a script says, and take users and settings from it: a file, or one of F1 to F17; `list`
    /// tells what these are
    #[arg(long = "faults", visible_alias = "script", value_name = "FILE|NAME", value_parser = scripted)]
    pub scripts: Vec<Scripted>,
    /// A user that plays by itself, for as many as you like: see the end of this help
    #[arg(long = "player", value_name = "NAME[,KEY[=VALUE]]...")]
    pub players: Vec<PlayerOptions>,
    /// Let built-in players choose as in another run with this seed; ids are those of that run, too
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print no line for every game that is over
    #[arg(long)]
    pub quiet: bool,
}

/// What `--faults` asks for.
#[derive(Clone, Debug)]
pub enum Scripted {
    /// To be printed what ships with the program.
    List,
    Script(Box<Script>),
}

fn scripted(name: &str) -> Result<Scripted, ScriptError> {
    match name {
        "list" => Ok(Scripted::List),
        name => Ok(Scripted::Script(Box::new(Script::load(name)?))),
    }
}

fn speed(text: &str) -> Result<f64, &'static str> {
    check_speed(text.parse().unwrap_or(f64::NAN))
}

/// The users, each name once: whoever is requested for twice has to be the same.
fn unique_users(requested: impl Iterator<Item = NewUser>) -> io::Result<Vec<NewUser>> {
    let mut users: Vec<NewUser> = Vec::new();
    for user in requested {
        let id = UserId::of(&user.name);
        match users.iter().find(|other| UserId::of(&other.name) == id) {
            None => users.push(user),
            Some(other)
                if (other.bot, other.guest, other.browser)
                    == (user.bot, user.guest, user.browser) => {}
            Some(other) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!(
                        "there are two users {} and {} of different kinds; names are the same in upper and lower case",
                        other.name, user.name
                    ),
                ));
            }
        }
    }
    Ok(users)
}

/// Those who are to be challenged and are nobody here.
fn unknown_opponents<'a>(users: &[NewUser], sparring: &'a [PlayerOptions]) -> BTreeSet<&'a str> {
    let builtin_players = sparring
        .iter()
        .cloned()
        .flat_map(PlayerOptions::expand_copies);
    let names = users.iter().map(|user| user.name.clone());
    let known: BTreeSet<UserId> = names
        .chain(builtin_players.map(|resident| resident.name))
        .map(|name| UserId::of(&name))
        .collect();
    let plans = sparring
        .iter()
        .filter_map(|sparring| sparring.challenges.as_ref());
    plans
        .map(|plan| plan.opponent.as_str())
        .filter(|name| !known.contains(&UserId::of(name)))
        .collect()
}

fn print_library() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (name, description) in Script::library() {
        writeln!(out, "{name:<4} {description}")?;
    }
    out.flush()
}

/// Serves a site with these users until `stop` is done, and says at the start where it is and who has which token.
///
/// # Errors
/// When the address cannot be bound or nothing can be printed.
pub async fn run_command(
    args: SimArgs,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let mut script = Script::default();
    let mut descriptions = Vec::new();
    for scripted in args.scripts {
        let Scripted::Script(next) = scripted else {
            return print_library();
        };
        descriptions.extend(next.description.clone());
        script.extend(*next);
    }
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        let text = format!(
            "cannot serve on {}, try --listen 127.0.0.1:0: {error}",
            args.listen
        );
        io::Error::new(error.kind(), text)
    })?;
    let address = listener.local_addr()?;
    super::warn_if_reachable(address);
    let users = unique_users(args.users.into_iter().chain(script.users))?;
    let sparring: Vec<PlayerOptions> = args.players.into_iter().chain(script.players).collect();
    let unknown_opponents = unknown_opponents(&users, &sparring);
    let names: Vec<(String, bool)> = users
        .iter()
        .map(|user| (user.name.clone(), user.bot))
        .collect();
    let is_empty = users.is_empty() && sparring.is_empty();
    let speed = args.speed.or(script.speed).unwrap_or(1.0);
    let limits = args.limits || script.limits.unwrap_or(false);
    let quirks = args.quirks.into_iter().map(|quirk| quirk.0);
    let sim = Sim::new(SimOptions {
        users,
        speed,
        // No id is ever given twice, not even after a restart.
        seed: args
            .seed
            .or(script.seed)
            .unwrap_or_else(|| fastrand::u64(..)),
        quirks: Quirks::with([script.quirks].into_iter().chain(quirks))
            .map_err(io::Error::other)?,
        limits,
        nginx_limit: args.nginx_limit.or(script.nginx_limit),
        faults: script.faults,
        ..SimOptions::default()
    });
    for team in args.teams.into_iter().chain(script.teams) {
        sim.add_team(team);
    }
    let mut arenas = Vec::new();
    for arena in args.arenas.iter().chain(&script.arenas) {
        let id = sim.add_arena(arena).map_err(io::Error::other)?;
        arenas.push((id, arena));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "Simulated Lichess on http://{address}")?;
    for (name, bot) in names {
        let title = if bot { "BOT " } else { "" };
        writeln!(out, "  {title}{name}  token {}", sim.token_of(&name))?;
    }
    if is_empty {
        writeln!(
            out,
            "  nobody has an account here: name users, as in knightwatch sim --user MyBot:bot\n  \
             MyBot then plays with LICHESS_TOKEN=lip_mybot knightwatch run --set lichess.url=http://{address}"
        )?;
    }
    for (id, arena) in arenas {
        let seconds = plural::count(arena.starts_in.as_secs(), "second", "seconds");
        let name = &arena.name;
        writeln!(
            out,
            "  arena {id}  {name}, in {seconds}, for {}",
            plural::count(arena.minutes, "minute", "minutes")
        )?;
    }
    if speed != 1.0 {
        writeln!(out, "  all clocks and timers run {speed} times as fast")?;
    }
    if limits {
        writeln!(out, "  calls are limited as on Lichess")?;
    }
    for description in descriptions {
        writeln!(out, "  {description}")?;
    }
    for opponent in unknown_opponents {
        writeln!(
            out,
            "  nobody here is called {opponent}, who is to be challenged"
        )?;
    }
    out.flush()?;
    drop(out);
    for sparring in sparring {
        sim.add_player(sparring);
    }
    let printer = async {
        match args.quiet {
            true => pending().await,
            false => print_finished_games(&sim).await,
        }
    };
    tokio::select! {
        served = sim.serve(listener, stop) => served,
        error = printer => Err(error),
    }
}

/// Prints a line for every game that is over, until that fails.
async fn print_finished_games(sim: &Sim) -> io::Error {
    let mut finished = sim.finished_count();
    let mut printed = 0;
    loop {
        let (games, total) = sim.finished_after(printed);
        printed = total;
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
        if finished.wait_for(|count| *count > printed).await.is_err() {
            return io::ErrorKind::BrokenPipe.into();
        }
    }
}
