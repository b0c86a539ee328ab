//! Command `knightwatch sim`: serves a simulated site for any client.

use std::collections::BTreeSet;
use std::future::{Future, pending};
use std::io::{self, Write};
use std::net::SocketAddr;

use clap::Args;
use tokio::net::TcpListener;

use crate::arena::options::ArenaOptions;
use crate::options::{NewUser, SimOptions};
use crate::players::PlayerOptions;
use crate::quirks::{Quirk, Quirks};
use crate::script::{Script, ScriptError, check_names, check_speed, find_duplicate};
use crate::sim::{Sim, warn_if_reachable};
use crate::site::UserId;
use crate::site::team::{NewTeam, TeamId};
use knightwatch_util::plural;
use knightwatch_util::signals::{OnHangup, Signals};

/// Arguments of the command.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9663")]
    pub listen: SocketAddr,
    /// Add a user, a bot with `:bot`; the token is `lip_` and the name in lower case. `:guest` is a player without an
    /// account, who plays through the Board API with the token as a visitor does in their browser; `:browser` is a
    /// human who is always online without a stream, as on the page of a bot with `web.play_as`, and who may
    /// propose takebacks to every bot
    #[arg(long = "user", value_name = "NAME[:bot|:guest|:browser]")]
    pub users: Vec<NewUser>,
    /// Create an arena, as in `Friday,clock=60+0,minutes=10,starts-in=30s,bots,rated`; further keys: id,
    /// description, variant, position, password, team, teams, min-rating, max-rating, min-rated-games, allow, banned,
    /// berserkable, streakable, created-by
    #[arg(long = "arena", value_name = "NAME[,KEY=VALUE]...")]
    pub arenas: Vec<ArenaOptions>,
    /// Create a team, as in `The Bots,password=secret,leader=NAME,members=A,members=B,by-message`
    #[arg(long = "team", value_name = "NAME[,KEY=VALUE]...")]
    pub teams: Vec<NewTeam>,
    /// Speed up all clocks and timers of the server by this factor, 0.1 to 1000: a minute on a player's clock lasts
    /// 60/X seconds, keep-alive lines come every 7/X. Clients are not informed [default: 1]
    #[arg(long, value_name = "X", value_parser = speed)]
    pub speed: Option<f64>,
    /// Apply Lichess's rate limits and answer 429 above them: 100 games a day between bots, 200 challenges, 30 event
    /// streams in ten minutes, ...
    #[arg(long)]
    pub limits: bool,
    /// Answer with the HTML page of a proxy above N requests per minute from one address
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub nginx_limit: Option<u32>,
    /// Change behavior of Lichess that is not settled, such as castling=e1h1; an unknown name lists all names
    #[arg(long = "quirk", value_name = "NAME[=VALUE]")]
    pub quirks: Vec<Quirk>,
    /// Inject faults from a script and take users and settings from it: a file, or one of F1 to F17; `list` describes
    /// them
    #[arg(long = "faults", visible_alias = "script", value_name = "FILE|NAME", value_parser = faults_arg)]
    pub scripts: Vec<FaultsArg>,
    /// Add a built-in player; may be repeated. The keys are listed at the end of this help
    #[arg(long = "player", value_name = "NAME[,KEY[=VALUE]]...")]
    pub players: Vec<PlayerOptions>,
    /// Let built-in players choose as in another run with this seed; ids are those of that run, too
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Do not print a line for each finished game
    #[arg(long)]
    pub quiet: bool,
}

/// Value of `--faults`.
#[derive(Clone, Debug)]
pub enum FaultsArg {
    /// List the scripts of the library.
    List,
    Script(Box<Script>),
}

fn faults_arg(name: &str) -> Result<FaultsArg, ScriptError> {
    match name {
        "list" => Ok(FaultsArg::List),
        name => Ok(FaultsArg::Script(Box::new(Script::load(name)?))),
    }
}

fn speed(text: &str) -> Result<f64, &'static str> {
    check_speed(text.parse().unwrap_or(f64::NAN))
}

/// Returns the users of all sources without duplicates. Users of the same name must be of the same kind.
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
                        "users {} and {} have the same name but different kinds; case does not matter in names",
                        other.name, user.name
                    ),
                ));
            }
        }
    }
    Ok(users)
}

/// Checks that no two teams have the same id.
fn check_teams(teams: &[NewTeam]) -> io::Result<()> {
    let names = teams.iter().map(|team| team.name.as_str());
    let Some([first, second]) = find_duplicate(names, TeamId::of) else {
        return Ok(());
    };
    let text = format!(
        "teams {first} and {second} have the same id, {}: rename or remove one",
        TeamId::of(first)
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// Returns the opponents of built-in players that are not users of the site.
fn unknown_opponents(users: &[NewUser], players: &[PlayerOptions]) -> BTreeSet<String> {
    let builtin_players = players
        .iter()
        .cloned()
        .flat_map(PlayerOptions::expand_copies);
    let names = users.iter().map(|user| user.name.clone());
    let known: BTreeSet<UserId> = names
        .chain(builtin_players.map(|player| player.name))
        .map(|name| UserId::of(&name))
        .collect();
    let plans = players
        .iter()
        .filter_map(|player| player.challenges.as_ref());
    plans
        .map(|plan| plan.opponent.clone())
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

/// Returns a future that completes at Ctrl-C or SIGTERM, or when the terminal is closed. All signals are caught from the
/// call on. SIGHUP from elsewhere has no effect: there is nothing to reload.
///
/// # Panics
/// Outside of a tokio runtime, or if signals cannot be listened for.
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    let mut signals = Signals::new(OnHangup::Ignore).expect("signals can be listened for");
    async move {
        signals.next().await;
    }
}

/// Serves a site with these users until `stop` completes. Prints its address and the users' tokens first.
///
/// # Errors
/// If the address cannot be bound, an option is invalid, or output fails.
pub async fn run_command(
    args: SimArgs,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let mut script = Script::default();
    let mut descriptions = Vec::new();
    for faults_arg in &args.scripts {
        let FaultsArg::Script(next) = faults_arg else {
            return print_library();
        };
        descriptions.extend(next.description.clone());
        script.extend(*next.clone());
    }
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        let text = format!(
            "cannot listen on {}, try --listen 127.0.0.1:0: {error}",
            args.listen
        );
        io::Error::new(error.kind(), text)
    })?;
    let address = listener.local_addr()?;
    warn_if_reachable(address);
    let quiet = args.quiet;
    let setup = SiteSetup::new(args, script)?;
    setup.print(address, &descriptions, &mut io::stdout().lock())?;
    let sim = setup.sim;
    let printer = async {
        match quiet {
            true => pending().await,
            false => print_finished_games(&sim).await,
        }
    };
    tokio::select! {
        served = sim.serve(listener, stop) => served,
        error = printer => Err(error),
    }
}

/// The site that the arguments and the script describe.
struct SiteSetup {
    sim: Sim,
    /// Names of the users, and whether they are bots.
    users: Vec<(String, bool)>,
    /// Built-in players.
    players: Vec<PlayerOptions>,
    /// Ids of the arenas with their options.
    arenas: Vec<(String, ArenaOptions)>,
    unknown_opponents: BTreeSet<String>,
    speed: f64,
    limits: bool,
}

impl SiteSetup {
    fn new(args: SimArgs, script: Script) -> io::Result<SiteSetup> {
        check_names(&args.users, &args.players)
            .map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
        let users = unique_users(args.users.into_iter().chain(script.users))?;
        let teams: Vec<NewTeam> = args.teams.into_iter().chain(script.teams).collect();
        check_teams(&teams)?;
        let players: Vec<PlayerOptions> = args.players.into_iter().chain(script.players).collect();
        let unknown_opponents = unknown_opponents(&users, &players);
        let names = users
            .iter()
            .map(|user| (user.name.clone(), user.bot))
            .collect();
        let speed = args.speed.or(script.speed).unwrap_or(1.0);
        let limits = args.limits || script.limits.unwrap_or(false);
        let quirks = args.quirks.into_iter().map(|quirk| quirk.0);
        let sim = Sim::new(SimOptions {
            users,
            speed,
            // Ids are not reused, even after a restart.
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
        // Before teams and arenas, whose unknown users are humans.
        for player in &players {
            sim.add_player(player.clone());
        }
        for team in teams {
            sim.add_team(team);
        }
        let mut arenas = Vec::new();
        for arena in args.arenas.into_iter().chain(script.arenas) {
            let id = sim.add_arena(&arena).map_err(io::Error::other)?;
            arenas.push((id, arena));
        }
        Ok(SiteSetup {
            sim,
            users: names,
            players,
            arenas,
            unknown_opponents,
            speed,
            limits,
        })
    }

    /// Prints the address and all that a client needs to know, with the descriptions of the scripts.
    fn print(
        &self,
        address: SocketAddr,
        descriptions: &[String],
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(out, "Simulated Lichess on http://{address}")?;
        for (name, bot) in &self.users {
            let title = if *bot { "BOT " } else { "" };
            writeln!(out, "  {title}{name}  token {}", self.sim.token_of(name))?;
        }
        if self.users.is_empty() && self.players.is_empty() {
            writeln!(
                out,
                "  there are no users: add some, as in knightwatch sim --user MyBot:bot\n  \
                 MyBot then plays with LICHESS_TOKEN=lip_mybot knightwatch run --set lichess.url=http://{address}"
            )?;
        }
        for (id, arena) in &self.arenas {
            let seconds = plural::count(arena.starts_in.as_secs(), "second", "seconds");
            let name = &arena.name;
            writeln!(
                out,
                "  arena {id}  {name}, in {seconds}, for {}",
                plural::count(arena.minutes, "minute", "minutes")
            )?;
        }
        if self.speed != 1.0 {
            writeln!(
                out,
                "  all clocks and timers run {} times as fast",
                self.speed
            )?;
        }
        if self.limits {
            writeln!(out, "  rate limits are those of Lichess")?;
        }
        for description in descriptions {
            writeln!(out, "  {description}")?;
        }
        for opponent in &self.unknown_opponents {
            writeln!(
                out,
                "  {opponent}, who is to be challenged, is not a user of this site"
            )?;
        }
        out.flush()
    }
}

/// Prints a line for each finished game until printing fails.
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
