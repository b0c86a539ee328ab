//! Command line definitions for clap.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use clap::{ArgGroup, Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::book::GameOptions;
use crate::bot::{ChallengeQuery, CommandError, argument, time_control};
use crate::chess::perft::MAX_DEPTH;
use crate::chess::{self, FenError, Position};
use crate::clock;
use crate::control::{OperatorCommand, SocketArgs};
use crate::convert::ConvertOptions;
use crate::draw::RenderOptions;
use crate::events::{Color, Player};
use crate::init::{InitOptions, ServiceCommand};
use crate::lab::epd::EpdOptions;
use crate::lab::perft;
use crate::lab::{
    CalibrateOptions, DatagenOptions, FitWdlOptions, GauntletOptions, MatchOptions, TrainOptions,
    TuneOptions,
};
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::{TimeControl, Variant};
use crate::sim::SimArgs;
use crate::spelling::choices;
use crate::store::{Filter, GroupBy, Outcome, SPEEDS, View, local_day_end, local_day_start};
use crate::uci;

/// An always-on Lichess bot with its own chess engine, in one binary.
#[derive(Debug, Parser)]
#[command(
    name = "knightwatch",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Example: knightwatch demo\n\n\
        Exit codes: 0 done, 1 failed, 2 wrong usage, 69 another instance uses this token, \
        77 token rejected, 78 configuration. Logs go to stderr, data to stdout. \
        Without arguments, on a pipe: a UCI engine."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Headings of the list of commands with their commands; `None` stands for all commands without a heading.
const HEADINGS: [(&str, Option<&[&str]>); 7] = [
    (
        "Play",
        Some(&["run", "demo", "init", "convert", "upgrade", "check"]),
    ),
    ("Operate", None),
    (
        "Look back",
        Some(&["games", "export", "import", "replay", "render"]),
    ),
    ("Install", Some(&["service", "completions", "man"])),
    ("Simulate", Some(&["sim"])),
    ("Engine", Some(&["uci", "bench", "perft", "epd", "book"])),
    (
        "Develop",
        Some(&["datagen", "train", "match", "gauntlet", "calibrate"]),
    ),
];

/// Number of headings that `-h` shows.
const SHORT_HELP_HEADINGS: usize = 3;

/// Largest width of help texts, in columns.
const MAX_HELP_COLUMNS: usize = 100;

impl Cli {
    /// The definitions, with commands grouped by heading: all with `--help`, the common ones with `-h`.
    pub fn definitions() -> clap::Command {
        let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = columns.unwrap_or(MAX_HELP_COLUMNS).min(MAX_HELP_COLUMNS);
        let plain = Self::command();
        let (short, long) = (
            command_list(&plain, SHORT_HELP_HEADINGS, width),
            command_list(&plain, HEADINGS.len(), width),
        );
        let short = format!("{short}\n\nAll commands: knightwatch --help");
        plain
            .help_template("{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}")
            .before_help(short)
            .before_long_help(long)
    }

    /// Whether the arguments are lines of UCI, as OpenBench passes them, and not a command with its arguments.
    pub fn are_uci_lines(arguments: &[String]) -> bool {
        arguments.first().is_some_and(|first| {
            uci::is_command(first) && Self::command().find_subcommand(first).is_none()
        })
    }

    /// Parses the arguments of this process; exits with a message if they are invalid.
    pub fn from_process() -> Self {
        let mut definitions = Self::definitions();
        let matches = definitions.try_get_matches_from_mut(std::env::args_os());
        let matches = matches.unwrap_or_else(|help_or_error| {
            let printed = help_or_error.print().and_then(|()| io::stdout().flush());
            std::process::exit(match printed {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    eprintln!("error: cannot print: {error}");
                    1
                }
                _ => help_or_error.exit_code(),
            })
        });
        clap::FromArgMatches::from_arg_matches(&matches)
            .unwrap_or_else(|error| error.format(&mut definitions).exit())
    }

    /// Writes the completions for a shell.
    pub fn write_completions(shell: Shell, out: &mut impl Write) -> io::Result<()> {
        // The generator panics when it cannot write.
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Self::command(), "knightwatch", &mut text);
        out.write_all(&text)
    }

    /// Writes the manual page, or the pages of all commands to a directory.
    pub fn write_manual(directory: Option<&Path>, out: &mut impl Write) -> io::Result<()> {
        match directory {
            None => clap_mangen::Man::new(Self::command()).render(out),
            Some(directory) => clap_mangen::generate_to(Self::command(), directory),
        }
    }
}

/// The list of commands below the first `headings` headings.
fn command_list(definitions: &clap::Command, headings: usize, width: usize) -> String {
    const INDENT: usize = 15;
    let is_named = |name: &str| {
        let mut named = HEADINGS.iter().filter_map(|(_, names)| *names);
        named.any(|names| names.contains(&name))
    };
    let find = |name: &&str| definitions.find_subcommand(name);
    let line = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string);
        let about = wrapped(&about.unwrap_or_default(), width.saturating_sub(INDENT));
        let about = about.join(&format!("\n{:INDENT$}", ""));
        format!("  {:<w$}{about}\n", command.get_name(), w = INDENT - 2)
    };
    let mut text = String::new();
    for (heading, names) in &HEADINGS[..headings] {
        let commands: Vec<&clap::Command> = match names {
            Some(names) => names.iter().filter_map(find).collect(),
            None => {
                let all = definitions.get_subcommands();
                all.filter(|command| !command.is_hide_set() && !is_named(command.get_name()))
                    .collect()
            }
        };
        text += &format!("\n{heading}:\n");
        text.extend(commands.into_iter().map(line));
    }
    text.trim().to_owned()
}

/// Wraps the text to this width; longer words are not broken.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Play on Lichess until stopped
    #[command(after_help = "Examples:\n  \
        knightwatch run\n  \
        knightwatch run --config /etc/knightwatch/config.toml\n  \
        knightwatch run --set games.concurrency=1 --set daemon.log_level=debug\n  \
        knightwatch run --moves\n  \
        LICHESS_TOKEN=lip_... KNIGHTWATCH__LICHESS__URL=http://127.0.0.1:9663 knightwatch run\n\n\
        On the first SIGTERM or Ctrl-C running games are finished and no new ones begin; the second exits at once. \
        Unfinished games are resumed at the next start. SIGHUP reloads the configuration, as `knightwatch \
        reload` does; when a terminal is closed it has the effect of SIGTERM.")]
    Run {
        #[command(flatten)]
        config: ConfigArgs,
        /// Print the moves of all games with clocks and search results, as the demo does
        #[arg(long)]
        moves: bool,
        /// Run the clock faster than wall time by this factor, as the simulator does with --speed
        #[arg(long, value_name = "FACTOR", hide = true)]
        time_scale: Option<clock::TimeScale>,
        /// Test hook: panic in every search after this many nodes
        #[arg(long, value_name = "NODES", hide = true)]
        engine_panics: Option<u64>,
        /// Test hook: panic once in the task of the first account after this many seconds
        #[arg(long, value_name = "SECONDS", hide = true)]
        account_panics: Option<u64>,
    },

    /// Watch the bot play built-in opponents on a simulated Lichess, offline
    #[command(
        after_help = "Examples:\n  knightwatch demo\n  knightwatch demo --games 5\n  \
        knightwatch demo --web 127.0.0.1:9664\n\n\
        It prints the address of a page, on which you can watch the games and play against the bot."
    )]
    Demo {
        /// End after this many games, with a table of the results
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        games: Option<u32>,
        /// Address of the simulator; port 0 selects a free port
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = listen_address)]
        listen: SocketAddr,
        /// Address of the page; port 0 selects a free port
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = listen_address)]
        web: SocketAddr,
    },

    /// Ask a few questions, then write a configuration and a token file
    #[command(after_help = "Examples:\n  \
        knightwatch init\n  \
        knightwatch init --config ./knightwatch.toml\n  \
        sudo knightwatch init --service\n  \
        knightwatch init --from ~/lichess-bot/config.yml\n\n\
        The token is tested at once. Nothing is written before the last question is answered, and nothing is \
        replaced without asking. Answers may be piped in, one per line.")]
    Init(InitOptions),

    /// Convert the configuration of lichess-bot or BotLi
    #[command(after_help = "Examples:\n  \
        knightwatch convert ~/lichess-bot/config.yml\n  \
        knightwatch convert ~/BotLi/config.yml -o config.toml\n\n\
        Comments name each key: as it was carried over, how it was changed, or why it was not. The token is not copied; \
        knightwatch init --from FILE writes it into a token file, too.")]
    Convert(ConvertOptions),

    /// Install, print or remove the systemd unit
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Example: sudo knightwatch service install"
    )]
    Service(ServiceCommand),

    /// Print completions for a shell
    #[command(after_help = "Examples:\n  \
        knightwatch completions bash > ~/.local/share/bash-completion/completions/knightwatch\n  \
        knightwatch completions fish > ~/.config/fish/completions/knightwatch.fish\n  \
        knightwatch completions zsh > ~/.zfunc/_knightwatch")]
    Completions { shell: Shell },

    /// Print the manual page, or write the pages of all commands
    #[command(after_help = "Examples:\n  \
        knightwatch man | man -l -\n  \
        knightwatch man /usr/local/share/man/man1")]
    Man {
        /// The directory for the pages of all commands
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },

    /// Turn the account into a bot account; this cannot be undone
    #[command(after_help = "Examples:\n  knightwatch upgrade\n  knightwatch upgrade --yes")]
    Upgrade {
        #[command(flatten)]
        config: ConfigArgs,
        /// The account, if the configuration has several
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },

    /// Check everything the bot needs, with a hint for each problem
    #[command(
        after_help = "Example: knightwatch check --config /etc/knightwatch/config.toml\n\n\
        Exits with 0 if there is no problem, 77 if Lichess rejects the token or the account is not a bot, \
        78 for the configuration or a missing token, 1 if Lichess cannot be reached."
    )]
    Check(ConfigArgs),

    /// Show how a challenge would be answered and why, rule by rule
    #[command(group(ArgGroup::new("asked").args(["challenge", "user"]).required(true)), after_help = "Examples:\n  \
        knightwatch explain LAST\n  \
        knightwatch explain --user Anna --rating 1500 --clock 3+2 --rated\n  \
        knightwatch explain --user Anna --color white --at 23:30\n  \
        knightwatch explain challenge.json\n  \
        tail -1 events.ndjson | knightwatch explain - --config /etc/knightwatch/config.toml\n\n\
        LAST is the latest incoming challenge in the records. A file contains one challenge as sent by Lichess: a line of /api/stream/event, or an object of \
        /api/challenge. Running games are not considered; challenges accepted today are, if they can be read.")]
    Explain {
        /// The challenge: LAST, a file with it as JSON, or - for JSON from stdin
        #[arg(value_name = "CHALLENGE")]
        challenge: Option<PathBuf>,
        #[command(flatten)]
        asked: AskedArgs,
        /// The age of the challenger's account, for rules with age_days
        #[arg(long, value_name = "DAYS")]
        age_days: Option<u32>,
        /// Text of the challenger's profile, for rules with engine or bio
        #[arg(long, value_name = "TEXT")]
        bio: Option<String>,
        /// The time of day on this machine, for rules with hours [default: now]
        #[arg(long, value_name = "HH:MM", value_parser = time_of_day)]
        at: Option<SystemTime>,
        /// The account that is challenged, if the configuration has several
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        #[command(flatten)]
        config: ConfigArgs,
    },

    /// Print the effective settings and the source of each
    #[command(after_help = "Examples:\n  \
        knightwatch config\n  \
        knightwatch config --config /etc/knightwatch/config.toml --account MyBot\n\n\
        The output has the form of a configuration file. Passwords are hidden.")]
    Config {
        #[command(flatten)]
        config: ConfigArgs,
        /// Print the settings of this account, if the configuration has several
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
    },

    /// Show the status of a running bot
    #[command(
        after_help = "Examples:\n  knightwatch status\n  knightwatch status --json | jq .oldest_turn_ms\n  \
        sudo knightwatch status --socket /run/knightwatch/control.sock\n\n\
        Exits with 0 if the bot is healthy, 1 if it is unhealthy or not running."
    )]
    Status {
        #[command(flatten)]
        socket: SocketArgs,
        /// Print the whole status as JSON
        #[arg(long)]
        json: bool,
    },

    #[command(flatten)]
    Operator(OperatorCommand),

    /// List finished games and statistics
    #[command(after_help = "Examples:\n  \
        knightwatch games\n  \
        knightwatch games --opponent Anna --result lost\n  \
        knightwatch games --rated --since 2026-05-01 --by speed\n  \
        knightwatch games --ratings\n  \
        knightwatch games --toughest\n  \
        knightwatch games --limit 1000 --json | jq .opponent.name\n\n\
        The bot need not be running. Days and hours are local time; with TZ=UTC they are UTC.")]
    Games {
        #[command(flatten)]
        config: ConfigArgs,
        #[command(flatten)]
        filter: FilterArgs,
        #[command(flatten)]
        view: ViewArgs,
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },

    /// Write games as PGN
    #[command(after_help = "Examples:\n  \
        knightwatch export -o games.pgn\n  \
        knightwatch export abcdEFGH\n  \
        knightwatch export https://lichess.org/abcdEFGH\n  \
        knightwatch export --opponent Anna --since 2026-05-01 --no-evals\n\n\
        Games without moves are left out. If no game is left, the command fails and writes no file.")]
    Export {
        /// Games by id or address [default: all that match the other arguments]
        #[arg(value_name = "ID", value_parser = game)]
        ids: Vec<String>,
        #[command(flatten)]
        config: ConfigArgs,
        #[command(flatten)]
        filter: FilterArgs,
        /// The file to write [default: stdout]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Omit the clocks
        #[arg(long)]
        no_clocks: bool,
        /// Omit the evaluations of the engine
        #[arg(long)]
        no_evals: bool,
    },

    /// Add games from PGN files and from Lichess's export to the records
    #[command(after_help = "Examples:\n  \
        knightwatch import old-games.pgn\n  \
        knightwatch import --account MyBot lichess_MyBot.ndjson archive/*.pgn\n  \
        knightwatch import --from-lichess --since 2026-01-01\n\n\
        Lichess sends 20 to 60 games a second. Games that are known already change nothing. Those in which none of our accounts plays are skipped, and those \
        that are not valid too; the rest is imported. The bot may be running.")]
    Import {
        /// PGN files, and files with one JSON object per game and line, as Lichess exports them; - is stdin
        #[arg(value_name = "FILE", required_unless_present = "from_lichess")]
        files: Vec<PathBuf>,
        /// Fetch the games of our accounts from the server, with their tokens
        #[arg(long, conflicts_with = "files")]
        from_lichess: bool,
        /// Import only games that started on this day in UTC or later
        #[arg(long, value_name = "YYYY-MM-DD")]
        since: Option<jiff::civil::Date>,
        /// Import the games of this account [default: those of the configuration, or else of the records]
        #[arg(long, value_name = "NAME", value_parser = user)]
        account: Vec<String>,
        #[command(flatten)]
        config: ConfigArgs,
    },

    /// Repeat the decisions of a game from its trace
    #[command(after_help = "Examples:\n  \
        knightwatch replay abcdEFGH\n  \
        knightwatch replay abcdEFGH.jsonl --search\n\n\
        A trace contains all inputs of a game: stream lines, search results and responses of the server. The decisions \
        are printed; those that would now be different are marked with !. \
        Exits with 1 if any decision differs, or if the trace is incomplete.")]
    Replay {
        /// A trace file, or the id or address of a game with a trace
        trace: PathBuf,
        /// Repeat each search to its depth, on one thread with an empty table
        #[arg(long)]
        search: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },

    /// Draw a position or a game as an SVG image
    #[command(after_help = "Examples:\n  \
        knightwatch render 'r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/8/PPPP1PPP/RNBQK1NR w KQkq -' -o board.svg\n  \
        knightwatch render startpos e4 c5 Nf3 -o sicilian.svg\n  \
        knightwatch render game.pgn --ply 12 --black -o board.svg\n  \
        knightwatch render game.pgn --animated -o game.svg\n  \
        knightwatch export abcdEFGH | knightwatch render - --animated -o game.svg")]
    Render(RenderOptions),

    /// Serve a Lichess in a box on localhost, for any client
    #[command(after_help = "Examples:\n  \
        knightwatch sim --user MyBot:bot --user Rival:bot\n  \
        knightwatch sim --user MyBot:bot --player Echo,kind=engine,nodes=2000,challenges=MyBot,count=10\n  \
        knightwatch sim --user MyBot:bot --player Pest,human,challenges=MyBot,clock=180+2,chats\n  \
        knightwatch sim --user MyBot:bot --player Rival,challenges=MyBot --speed 10 --limits --faults F6\n  \
        knightwatch sim --user MyBot:bot --player Foe,copies=9,joins-arenas --arena Fri,clock=60+0,bots\n\n\
        Point a client at the address with the token that is printed for its user:\n  \
        Knightwatch  LICHESS_TOKEN=lip_mybot knightwatch run --set lichess.url=http://127.0.0.1:9663\n  \
        lichess-bot  in config.yml token: \"lip_mybot\" and url: \"http://127.0.0.1:9663/\", online_moves off\n  \
        BotLi        in config.yml token: \"lip_mybot\" and url: \"http://127.0.0.1:9663\"\n  \
        berserk      Client(TokenSession(\"lip_mybot\"), base_url=\"http://127.0.0.1:9663\")\n\n\
        Keys of a built-in player; clock, color, declines and chats may be repeated and are used in turn:\n  \
        moves       kind=random|greedy|engine|idle, nodes=N, delay=200ms..1s\n  \
        account     rating=N, human (else a bot), copies=N (NAME1, NAME2, ...)\n  \
        challenges  challenges=OPPONENT, clock=SECONDS+SECONDS or 3d or unlimited,\n              \
        color=white|black|random, rated, variant=KEY of Lichess, fen=FEN, count=N,\n              \
        concurrency=N, burst=N (sent at once), cancels-every=N (cancels every Nth)\n  \
        declines    declines, or declines=REASON: generic, later, tooFast, tooSlow, timeControl, rated,\n              \
        casual, standard, variant, noBot, onlyBot\n  \
        in a game   aborts, resigns[=PAWNS behind], stalls-when-lost[=PAWNS behind], disconnects-at=PLY,\n              \
        reconnects-after=30s, offers-draws, accepts-draws, requests-takebacks,\n              \
        accepts-takebacks, chats[=plain|long|links|control], offers-rematches\n  \
        arenas      joins-arenas: joins every arena that admits bots\n  \
        lobby       answers-seeks: plays everybody who seeks a game; needs human\n\n\
        Keys of a TOML script: description, speed, seed, limits, nginx-limit, [quirks], [[user]], [[player]], \
        [[team]], [[arena]] and [[fault]], as in\n  \
        [[fault]]\n  \
        endpoint = \"move\"    # or game-stream, event-stream, challenge-create, ...; also: user, game, ply\n  \
        nth = 3              # times, probability; at, every, from and until take times as in \"30s\"\n  \
        do = { status = { code = 429, body = \"html\" } }\n\n\
        Values of `do`:\n  \
        requests    status (code, body, message, seconds, key, retry-after, headers), reset, stall,\n              \
        applied-late, response-lost, response-late, drip, latency (min, jitter)\n  \
        streams     eof, stream-reset, silence, garbage, truncated, oversized, duplicate-final, drip,\n              \
        latency; also after-lines = N\n  \
        the site    restart (downtime, streams), skew (date, clocks, drift), castling,\n              \
        pair (white, black, clock)")]
    Sim(SimArgs),

    /// Run as a UCI or XBoard engine on stdin and stdout, as without arguments
    #[command(after_help = "Examples:\n  \
        knightwatch uci\n  \
        knightwatch 'position startpos moves e2e4' 'go depth 10'\n\n\
        Lines given as arguments are executed one after another, each to its end. Without them lines are read from \
        stdin, and the end of the input stops the search. docs/engine/protocols.md lists commands and options.")]
    Uci,

    /// Search a fixed set of positions and print the node count, which identifies the search
    #[command(after_help = "Example: knightwatch bench\n\nThe last line is: NODES nodes NPS nps")]
    Bench,

    /// Count the positions that are DEPTH plies away
    #[command(after_help = "Examples:\n  \
        knightwatch perft 6\n  \
        knightwatch perft 4 --divide --fen '8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1'\n  \
        knightwatch perft 4 --fen 'startpos e4 c5'\n  \
        knightwatch perft 4 --variant atomic\n  \
        knightwatch perft 8 --threads 4 --hash 1024")]
    Perft {
        /// Depth in plies
        #[arg(value_name = "DEPTH", value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_DEPTH)))]
        depth: u32,
        /// Rules: standard, crazyhouse, antichess, atomic, horde, kingOfTheHill, racingKings or threeCheck
        #[arg(long, value_name = "VARIANT", default_value = "standard", hide_default_value = true, value_parser = rules)]
        variant: chess::Variant,
        /// The position to start from: a FEN or startpos, optionally followed by moves [default: the start position]
        #[arg(long, value_name = "POSITION")]
        fen: Option<String>,
        /// Print the count below each move
        #[arg(long)]
        divide: bool,
        /// Threads that share the work
        #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN, value_parser = threads)]
        threads: NonZeroUsize,
        /// Size of the hash table in MiB; 0 disables it
        #[arg(long, value_name = "MIB", default_value = "0", value_parser = hash_mib())]
        hash: usize,
    },

    /// Solve the positions of an EPD test suite
    #[command(after_help = "Examples:\n  \
        knightwatch epd suite.epd --movetime 1000\n  \
        knightwatch epd tests/suites/mates.epd --nodes 20000000 --hash 64\n\n\
        A line is a position and what is right there, in any of these ways:\n  \
        bm Ra8#;               one of these moves\n  \
        am Qxb2;               none of these moves\n  \
        dm 3;                  mate in at most so many moves\n  \
        c0 \"e4=10, d4=7\";    points for moves; also c9 \"e2e4 d2d4\"; c8 \"10 7\";\n\n\
        Time and depth to the solution are those from which on the engine did not change its mind any more.")]
    Epd(EpdOptions),

    /// Let the engine play itself and store the games, for training
    #[command(
        after_help = "Example: knightwatch datagen --data games --threads 2 --nodes 120 --minutes 60\n\n\
        Ctrl-C stops it after the running games; the next run adds to what is there."
    )]
    Datagen(DatagenOptions),

    /// Train a network on stored games
    #[command(
        after_help = "Example: knightwatch train --data games --hidden 128 --buckets 8 --out new.kwnn"
    )]
    Train(TrainOptions),

    /// Let two settings of this engine play a match at a fixed number of nodes
    #[command(after_help = "Examples:\n  \
        knightwatch match new.kwnn none --nodes 5000 --balanced --games 400\n  \
        knightwatch match new.kwnn embedded --openings openings.epd --games 20000 --sprt 0 5\n  \
        knightwatch match --set rfp_margin=90 --against rfp_margin=70 --sprt 0 10\n\n\
        Each opening is played twice with colors exchanged. Elo is given with the interval that is right 95 times \
        of 100, and as nElo in standard deviations of a game, times 347; pairs are counted by their points from 0 to 2. \
        A game is won when both sides see 7 pawns for four plies, and drawn within 0.08 pawns for ten plies from ply 70 \
        on. The numbers of the search can be set in a build with \
        `cargo build --profile dist --features tune`; they are in crates/engine/src/params.rs.")]
    Match(MatchOptions),

    /// Play against another engine, by UCI and with a clock
    #[command(after_help = "Examples:\n  \
        knightwatch gauntlet /usr/games/ethereal-chess --tc 8+0.08 --games 200\n  \
        knightwatch gauntlet /usr/games/stockfish --opponent-option 'Skill Level=15'\n  \
        knightwatch gauntlet self --option Threads=2 --tc 2+0.02 --threads 1\n  \
        knightwatch gauntlet /usr/games/fairy-stockfish --variant horde --tc 2+0.02\n\n\
        Each opening is played twice with colors exchanged. Who oversteps the clock by 50 ms in all loses; a game is \
        won when both engines see 15 pawns for six plies, and a draw after 400 plies. Games of variants are played to the \
        end; their openings have four or five random plies. \
        Ctrl-C stops it after the running games and prints the result so far.")]
    Gauntlet(GauntletOptions),

    /// Measure the levels of `strength` against another engine at its levels
    #[command(
        after_help = "Example: knightwatch calibrate /usr/games/stockfish --levels 1200,1400 --anchors 1350@20000\n\n\
        Ctrl-C stops it after the running games and prints the result so far. Nothing depends on time. \
        docs/engine/strength.md says what to do with what comes out."
    )]
    Calibrate(CalibrateOptions),

    /// Tune the numbers of the search by games of the engine against itself
    #[command(
        hide = true,
        after_help = "Example: knightwatch tune --state tune.json --games 20000\n\n\
        Needs a build with `cargo build --profile dist --features tune`. Ctrl-C stops it after the \
        running games; the same command continues. The result fits into crates/engine/src/params.rs."
    )]
    Tune(TuneOptions),

    /// Fit to stored games how often positions are won, drawn and lost
    #[command(
        hide = true,
        after_help = "Example: knightwatch fit-wdl --data games\n\nWhat comes out fits into crates/engine/src/wdl.rs."
    )]
    FitWdl(FitWdlOptions),

    /// Show and build Polyglot books
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Example: knightwatch book build lines.txt -o mine.bin"
    )]
    Book(BookCommand),
}

#[derive(Debug, Subcommand)]
pub enum BookCommand {
    /// List the book moves of a position with their weights
    #[command(after_help = "Examples:\n  \
        knightwatch book probe default\n  \
        knightwatch book probe mine.bin e4 c5\n  \
        knightwatch book probe mine.bin 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1'")]
    Probe {
        /// A Polyglot book, or `default` for the embedded one
        book: PathBuf,
        /// A FEN or startpos, optionally followed by moves, or moves alone [default: the start position]
        position: Vec<String>,
    },
    /// Compile lines of moves and PGN games to a Polyglot book
    #[command(
        after_help = "Examples:\n  knightwatch book build white.txt black.txt -o mine.bin\n  \
        knightwatch book build games.pgn --min-games 5 --max-ply 24 -o mine.bin\n\n\
        A move of a game has weight 2 if its side won and 1 for a draw; a line has the weight given in it, or 10."
    )]
    Build {
        /// Text files with lines of moves, and PGN files, whose names end in `.pgn`
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The book to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        games: GameArgs,
    },
}

/// Selection of the games of a book.
#[derive(Args, Clone, Debug)]
pub struct GameArgs {
    /// Omit moves played in fewer games
    #[arg(long, value_name = "N", default_value_t = GameOptions::default().min_games)]
    min_games: u32,
    /// Omit moves after this many plies
    #[arg(long, value_name = "N", default_value_t = GameOptions::default().max_ply)]
    max_ply: u32,
    /// Omit games of players with a lower rating, or none
    #[arg(long, value_name = "RATING", default_value_t = GameOptions::default().min_rating)]
    min_rating: u32,
    /// Double the weight for each 200 points of the player's rating above 1600
    #[arg(long)]
    by_rating: bool,
}

impl From<GameArgs> for GameOptions {
    fn from(arguments: GameArgs) -> GameOptions {
        GameOptions {
            min_games: arguments.min_games,
            max_ply: arguments.max_ply,
            min_rating: arguments.min_rating,
            by_rating: arguments.by_rating,
        }
    }
}

/// Filter of recorded games.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Games of this account
    #[arg(long, value_name = "NAME", value_parser = user)]
    account: Option<String>,
    /// Games against this player
    #[arg(long, value_name = "NAME", value_parser = user)]
    opponent: Option<String>,
    /// Games against players whose names contain this
    #[arg(long, value_name = "PART")]
    search: Option<String>,
    /// won, drawn, lost, void (aborted) or open (unfinished)
    #[arg(long, value_name = "RESULT")]
    result: Option<Outcome>,
    /// Our color: white or black
    #[arg(long, value_name = "COLOR", value_parser = color)]
    color: Option<Color>,
    /// Games of this speed
    #[arg(long, value_parser = SPEEDS)]
    speed: Option<String>,
    /// Games of this variant
    #[arg(long, value_parser = PossibleValuesParser::new(Variant::ALL.iter().map(|variant| variant.key())))]
    variant: Option<String>,
    /// Only rated games
    #[arg(long, conflicts_with = "casual")]
    rated: bool,
    /// Only casual games
    #[arg(long)]
    casual: bool,
    /// Games of this tournament
    #[arg(long, value_name = "ID", value_parser = arena)]
    tournament: Option<String>,
    /// Started on this day or later, as in 2026-05-24
    #[arg(long, value_name = "DAY", value_parser = local_day_start)]
    since: Option<i64>,
    /// Started on this day or earlier
    #[arg(long, value_name = "DAY", value_parser = local_day_end)]
    until: Option<i64>,
}

impl From<FilterArgs> for Filter {
    fn from(arguments: FilterArgs) -> Filter {
        Filter {
            account: arguments.account,
            opponent: arguments.opponent,
            search: arguments.search,
            outcome: arguments.result,
            color: arguments.color,
            speed: arguments.speed,
            variant: arguments.variant,
            rated: (arguments.rated || arguments.casual).then_some(arguments.rated),
            tournament: arguments.tournament,
            since: arguments.since,
            until: arguments.until,
        }
    }
}

/// View of the selected games.
#[derive(Args, Clone, Debug)]
pub struct ViewArgs {
    /// Show at most N games, the latest first
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    limit: u32,
    /// Results by opponent, speed, color, opening, tournament or month
    #[arg(long, value_name = "GROUP", group = "view")]
    by: Option<GroupBy>,
    /// Opponents who outscored their rating against us (3+ games)
    #[arg(long, group = "view")]
    toughest: bool,
    /// Our ratings, and our performance in the last 100 rated games
    #[arg(long, group = "view")]
    ratings: bool,
}

impl From<ViewArgs> for View {
    fn from(arguments: ViewArgs) -> View {
        match arguments.by {
            Some(by) => View::By(by),
            None if arguments.toughest => View::Toughest(3),
            None if arguments.ratings => View::Ratings,
            None => View::List(arguments.limit),
        }
    }
}

/// Sources of settings besides the defaults and the environment.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// The configuration file [default: ./knightwatch.toml, ~/.config/knightwatch/config.toml or
    /// /etc/knightwatch/config.toml, the first that exists; root looks in /etc before ~/.config]
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Override one setting, as in `--set engine.hash_mib=64`
    #[arg(long, value_name = "SECTION.KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
}

/// A challenge described by arguments, for `explain`.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub struct AskedArgs {
    /// The challenger
    #[arg(long, value_name = "NAME", value_parser = challenger)]
    user: Option<String>,
    /// Their rating in this kind of game
    #[arg(long, value_name = "ELO", requires = "user")]
    rating: Option<u32>,
    /// Their title, as in GM; BOT for a bot
    #[arg(long, value_name = "TITLE", requires = "user")]
    title: Option<String>,
    /// Minutes and seconds as in 3+2, days for a move as in 2d, or unlimited
    #[arg(long, value_name = "TC", requires = "user", default_value = "3+2", value_parser = time_control)]
    clock: TimeControl,
    /// A rated game
    #[arg(long, requires = "user")]
    rated: bool,
    /// Lichess's key: standard, chess960, fromPosition, crazyhouse, antichess, ... [default: fromPosition with --fen,
    /// or else standard]
    #[arg(long, value_name = "KEY", requires = "user", value_parser = variant)]
    variant: Option<Variant>,
    /// The initial position
    #[arg(long, value_name = "FEN", requires = "user", value_parser = initial_position)]
    fen: Option<String>,
    /// Our color: white or black [default: random]
    #[arg(long, value_name = "COLOR", requires = "user", value_parser = color)]
    color: Option<Color>,
}

impl AskedArgs {
    /// The challenge, if `--user` is given.
    pub fn asked(self) -> Option<ChallengeQuery> {
        let from = Player {
            name: self.user?,
            title: self.title.map(|title| title.to_uppercase()),
            rating: self.rating,
            provisional: false,
        };
        let default = match self.fen {
            Some(_) => Variant::FromPosition,
            None => Variant::Standard,
        };
        let variant = self.variant.unwrap_or(default);
        let query = ChallengeQuery::of(&from, self.clock, variant, self.rated);
        Some(query.with(self.fen, self.color))
    }
}

fn variant(text: &str) -> Result<Variant, String> {
    match Variant::from_key(text) {
        Variant::Unknown => {
            let keys: Vec<&str> = Variant::ALL.iter().map(|variant| variant.key()).collect();
            Err(choices("variants are", text, &keys))
        }
        known => Ok(known),
    }
}

/// Checks a FEN of any variant.
fn initial_position(text: &str) -> Result<String, FenError> {
    let mut variants = chess::Variant::ALL.into_iter();
    match variants.any(|variant| Position::from_variant_fen(variant, text).is_ok()) {
        true => Ok(text.to_owned()),
        false => Position::from_fen(text).map(|_| text.to_owned()),
    }
}

/// Parses a time of day: that moment of today.
fn time_of_day(text: &str) -> Result<SystemTime, &'static str> {
    let expected = "expected hours and minutes, as in 23:30";
    let time = jiff::civil::Time::strptime("%H:%M", text).map_err(|_| expected)?;
    let today = jiff::Zoned::now().with().time(time).build();
    Ok(today.map_err(|_| expected)?.timestamp().into())
}

/// Parses the id or address of a game.
fn game(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::Game).to_owned())
}

/// Parses the id or address of an arena.
fn arena(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::Arena).to_owned())
}

/// Parses the name or address of a user.
fn user(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::User).to_owned())
}

/// Parses the name or address of a user, which must be valid.
fn challenger(text: &str) -> Result<String, CommandError> {
    argument::user(text).map(|user| user.to_string())
}

fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = text.parse();
    address.map_err(|_| "write an IP address and a port, as in 127.0.0.1:9664")
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let most = perft::MAX_THREADS;
    let number = text
        .parse()
        .ok()
        .filter(|number: &NonZeroUsize| number.get() <= most);
    number.ok_or_else(|| format!("expected a number from 1 to {most}"))
}

fn rules(text: &str) -> Result<chess::Variant, String> {
    chess::Variant::from_name(text).ok_or_else(|| {
        let keys = chess::Variant::ALL.map(chess::Variant::key).join(", ");
        format!("expected one of {keys}")
    })
}

fn hash_mib() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(..=perft::MAX_HASH_MIB)
}

fn color(text: &str) -> Result<Color, String> {
    match text {
        "white" => Ok(Color::White),
        "black" => Ok(Color::Black),
        _ => Err("expected white or black".to_owned()),
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err("expected SECTION.KEY=VALUE".to_owned()),
    }
}
