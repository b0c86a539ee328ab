//! The command line: clap definitions only.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{ArgGroup, Args, CommandFactory, Parser, Subcommand};

use crate::book::GameOptions;
use crate::bot::{Refused, argument, policy::Asked, time_control};
use crate::chess::perft::MAX_DEPTH;
use crate::clock;
use crate::control::{OperatorCommand, SocketArgs};
use crate::draw::RenderOptions;
use crate::epd::EpdOptions;
use crate::events::{Color, Player};
use crate::init::InitOptions;
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::{TimeControl, Variant};
use crate::perft;
use crate::sim::SimArgs;
use crate::spelling::choices;
use crate::store::{By, Filter, Outcome, View, local_day, local_day_after};
use crate::train::{
    ChancesOptions, DatagenOptions, FitOptions, GauntletOptions, LadderOptions, MatchOptions,
    TrainOptions, TuneOptions,
};

/// An always-on Lichess bot with its own chess engine, in one binary.
#[derive(Debug, Parser)]
#[command(
    name = "knightwatch",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Example: knightwatch demo\n\n\
        Exit codes: 0 done, 1 failed, 2 wrong usage, 69 another instance uses this token, \
        77 token rejected, 78 configuration. Logs go to stderr, data to stdout."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The headings of the list of commands, and what stands below each; where `None` is, all commands that no heading names.
const HEADINGS: [(&str, Option<&[&str]>); 6] = [
    ("Play", Some(&["run", "demo", "init", "upgrade", "check"])),
    ("Operate", None),
    ("Look back", Some(&["games", "export", "replay", "render"])),
    ("Simulate", Some(&["sim"])),
    ("Engine", Some(&["uci", "bench", "perft", "epd", "book"])),
    (
        "Develop",
        Some(&["datagen", "train", "match", "gauntlet", "ladder"]),
    ),
];

/// How many of the headings `-h` shows.
const HEADINGS_IN_SHORT: usize = 3;

/// The widest help, in columns.
const WIDEST: usize = 100;

impl Cli {
    /// The definitions, with the commands below their headings: all with `--help`, those that most people need with `-h`.
    pub fn definitions() -> clap::Command {
        let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = columns.unwrap_or(WIDEST).min(WIDEST);
        let plain = Self::command();
        let (short, long) = (
            listed(&plain, HEADINGS_IN_SHORT, width),
            listed(&plain, HEADINGS.len(), width),
        );
        let short = format!("{short}\n\nAll commands: knightwatch --help");
        plain
            .help_template("{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}")
            .before_help(short)
            .before_long_help(long)
    }

    /// What this process was asked for. Where that is no command, it ends with a message.
    pub fn of_process() -> Self {
        let mut definitions = Self::definitions();
        let matches = definitions.get_matches_mut();
        clap::FromArgMatches::from_arg_matches(&matches)
            .unwrap_or_else(|error| error.format(&mut definitions).exit())
    }
}

/// The commands below the first of the headings.
fn listed(definitions: &clap::Command, headings: usize, width: usize) -> String {
    const INDENT: usize = 14;
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

/// The text in lines of this width, where its words are not longer.
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
    /// Play on Lichess until told to stop
    #[command(after_help = "Examples:\n  \
        knightwatch run\n  \
        knightwatch run --config /etc/knightwatch/config.toml\n  \
        knightwatch run --set games.concurrency=1 --set daemon.log=debug\n  \
        knightwatch run --moves\n  \
        LICHESS_TOKEN=lip_... KNIGHTWATCH__LICHESS__URL=http://127.0.0.1:9663 knightwatch run\n\n\
        The first SIGTERM or Ctrl-C takes no new games and lets running ones finish, the second leaves at once; \
        games that are left are taken up at the next start. SIGHUP reads the configuration again, as `knightwatch \
        reload` does; where a terminal is closed it means the same as SIGTERM.")]
    Run {
        #[command(flatten)]
        config: ConfigArgs,
        /// Print the moves of all games, with clocks and what the engine thinks, as the demo does
        #[arg(long)]
        moves: bool,
        /// Run as many times faster than the wall, for rehearsals on a simulator that does the same
        #[arg(long, value_name = "FACTOR", hide = true)]
        time_scale: Option<clock::Rate>,
        /// Let every search of the engine fail after so many nodes, to rehearse what happens then
        #[arg(long, value_name = "NODES", hide = true)]
        engine_panics: Option<u64>,
        /// Let the loop of the first account fail once, after so many seconds, to rehearse what happens then
        #[arg(long, value_name = "SECONDS", hide = true)]
        account_panics: Option<u64>,
    },

    /// Watch the bot play against sparring partners on a Lichess in a box, without any network
    #[command(
        after_help = "Examples:\n  knightwatch demo\n  knightwatch demo --games 5\n  \
        knightwatch demo --web 127.0.0.1:9664\n\n\
        It prints the address of a page: there you watch the games and play against the bot yourself."
    )]
    Demo {
        /// End after this many games, with a table of the results
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        games: Option<u32>,
        /// Where the Lichess in a box listens; port 0 takes a free one
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
        listen: SocketAddr,
        /// Where the page is; port 0 takes a free one
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
        web: SocketAddr,
    },

    /// Ask a few questions, then write a configuration and a token file
    #[command(after_help = "Examples:\n  \
        knightwatch init\n  \
        knightwatch init --config ./knightwatch.toml\n  \
        sudo knightwatch init --service\n\n\
        Lichess is asked about the token at once. Nothing is written before the last question is answered, and nothing is \
        replaced without asking. Answers may be piped in, one a line.")]
    Init(InitOptions),

    /// Turn the account into a bot account; this cannot be undone
    #[command(after_help = "Examples:\n  knightwatch upgrade\n  knightwatch upgrade --yes")]
    Upgrade {
        #[command(flatten)]
        config: ConfigArgs,
        /// The account, where the configuration has several
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },

    /// Look for everything that would keep the bot from playing, and say what to do about it
    #[command(
        after_help = "Example: knightwatch check --config /etc/knightwatch/config.toml\n\n\
        Exits with 0 when all is well, 77 when Lichess rejects the token or the account is no bot, \
        78 for the configuration, a missing token too, 1 when Lichess cannot be reached."
    )]
    Check(ConfigArgs),

    /// Say what would be answered to a challenge and why, rule by rule
    #[command(group(ArgGroup::new("asked").args(["challenge", "user"]).required(true)), after_help = "Examples:\n  \
        knightwatch explain LAST\n  \
        knightwatch explain --user Anna --rating 1500 --clock 3+2 --rated\n  \
        knightwatch explain challenge.json\n  \
        tail -1 events.ndjson | knightwatch explain - --config /etc/knightwatch/config.toml\n\n\
        LAST is the latest challenge to us in the records. A file holds one challenge as Lichess sends it: a line of /api/stream/event, or an object of \
        /api/challenge. The games that are on are not looked at; what was accepted today is, where it can be read.")]
    Explain {
        /// The challenge: LAST, a file with it as JSON, or - for JSON from stdin
        #[arg(value_name = "CHALLENGE")]
        challenge: Option<PathBuf>,
        #[command(flatten)]
        asked: AskedArgs,
        /// The age of the challenger's account, for rules that ask for it
        #[arg(long, value_name = "DAYS")]
        age_days: Option<u32>,
        /// Whose policy, where the configuration has several accounts
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        #[command(flatten)]
        config: ConfigArgs,
    },

    /// Print the settings that are in force, and where each was written
    #[command(after_help = "Examples:\n  \
        knightwatch config\n  \
        knightwatch config --config /etc/knightwatch/config.toml --account MyBot\n\n\
        It is printed in the form of a configuration file. Passwords are hidden.")]
    Config {
        #[command(flatten)]
        config: ConfigArgs,
        /// What is in force for this account, where the configuration has several
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
    },

    /// Say how a running bot is doing
    #[command(
        after_help = "Examples:\n  knightwatch status\n  knightwatch status --json | jq .oldest_turn_ms\n  \
        sudo knightwatch status --socket /run/knightwatch/control.sock\n\n\
        Exits with 0 when all is well, 1 when somebody should look or no bot runs here."
    )]
    Status {
        #[command(flatten)]
        socket: SocketArgs,
        /// Everything, as JSON
        #[arg(long)]
        json: bool,
    },

    #[command(flatten)]
    Operator(OperatorCommand),

    /// List the games that were played, and what they came to
    #[command(after_help = "Examples:\n  \
        knightwatch games\n  \
        knightwatch games --opponent Anna --result lost\n  \
        knightwatch games --rated --since 2026-05-01 --by speed\n  \
        knightwatch games --ratings\n  \
        knightwatch games --nemeses\n  \
        knightwatch games --limit 1000 --json | jq .opponent.name\n\n\
        The bot may be running or not. Days and hours are local time; with TZ=UTC they are UTC.")]
    Games {
        #[command(flatten)]
        config: ConfigArgs,
        #[command(flatten)]
        filter: FilterArgs,
        #[command(flatten)]
        view: ViewArgs,
        /// As JSON, one object in each line
        #[arg(long)]
        json: bool,
    },

    /// Write games as PGN
    #[command(after_help = "Examples:\n  \
        knightwatch export -o games.pgn\n  \
        knightwatch export abcdEFGH\n  \
        knightwatch export https://lichess.org/abcdEFGH\n  \
        knightwatch export --opponent Anna --since 2026-05-01 --no-evals\n\n\
        Games without a single move are left out. Where no game is left it fails, and no file is written.")]
    Export {
        /// These games, by id or address [default: all that the other arguments mean]
        #[arg(value_name = "ID", value_parser = game)]
        ids: Vec<String>,
        #[command(flatten)]
        config: ConfigArgs,
        #[command(flatten)]
        filter: FilterArgs,
        /// The file to write [default: stdout]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Leave out the clocks
        #[arg(long)]
        no_clocks: bool,
        /// Leave out what the engine thought of its moves
        #[arg(long)]
        no_evals: bool,
    },

    /// Take the decisions of a game again, out of its trace
    #[command(after_help = "Examples:\n  \
        knightwatch replay abcdEFGH\n  \
        knightwatch replay abcdEFGH.jsonl --search\n\n\
        A trace has all that was met in a game: the lines of its stream, what the engine found, how the server \
        answered. It prints what was decided then, and with a ! in front what would be decided otherwise now. \
        Exits with 1 when anything would be, or when the trace cannot be read to its end.")]
    Replay {
        /// The trace, or the id or address of a game whose trace is kept
        trace: PathBuf,
        /// Repeat each search, on one thread and an empty table, to the depth that it had
        #[arg(long)]
        search: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },

    /// Draw a position, or a game, as an SVG picture
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
        knightwatch sim --user MyBot:bot --spar Echo,kind=engine,nodes=2000,challenges=MyBot,count=10\n  \
        knightwatch sim --user MyBot:bot --spar Pest,human,challenges=MyBot,clock=180+2,chats,begs-draws\n  \
        knightwatch sim --user MyBot:bot --spar Rival,challenges=MyBot --speed 10 --limits --faults F6\n  \
        knightwatch sim --user MyBot:bot --spar Foe,copies=9,arenas --arena Fri,clock=60+0,starts=30s,bots\n\n\
        Point a client at the address with the token that is printed for its user:\n  \
        Knightwatch  LICHESS_TOKEN=lip_mybot knightwatch run --set lichess.url=http://127.0.0.1:9663\n  \
        lichess-bot  in config.yml token: \"lip_mybot\" and url: \"http://127.0.0.1:9663/\", online_moves off\n  \
        BotLi        in config.yml token: \"lip_mybot\" and url: \"http://127.0.0.1:9663\"\n  \
        berserk      Client(TokenSession(\"lip_mybot\"), base_url=\"http://127.0.0.1:9663\")\n\n\
        Known departure from Lichess: standard, chess960 and fromPosition are played; crazyhouse, antichess, \
        atomic, horde, kingOfTheHill, racingKings and threeCheck are refused with 400 and a sentence.\n\n\
        What a sparring user is like, KEY by KEY; clock, color, declines and chats may come again and are used in turn:\n  \
        moves       kind=random|greedy|engine|sleeper, nodes=N, delay=200ms..1s\n  \
        account     rating=N, human (else a bot), copies=N (NAME1, NAME2, ...)\n  \
        challenges  challenges=OPPONENT, clock=SECONDS+SECONDS or 3d or unlimited,\n              \
        color=white|black|random, rated, variant=chess960|fromPosition, fen=FEN, count=N,\n              \
        at-once=N, burst=N (sent in one go), cancels=N (takes back every Nth)\n  \
        declines    declines, or declines=REASON: generic, later, tooFast, tooSlow, timeControl, rated,\n              \
        casual, standard, variant, noBot, onlyBot\n  \
        in a game   aborts, resigns[=PAWNS behind], stalls-when-lost[=PAWNS behind], quits-at=PLY,\n              \
        back-after=30s, begs-draws, accepts-draws, begs-takebacks, accepts-takebacks,\n              \
        chats[=plain|long|links|control], rematches\n  \
        arenas      arenas: takes part in every arena for bots\n\n\
        What a script has, in TOML: about, speed, seed, limits, nginx-limit, [quirks], [[user]], [[sparring]], \
        [[team]], [[arena]], and for everything that goes wrong a [[fault]], as in\n  \
        [[fault]]\n  \
        endpoint = \"move\"    # or game-stream, event-stream, challenge-create, ...; also: user, game, ply\n  \
        nth = 3              # times, probability; at, every, from and until take times as in \"30s\"\n  \
        do = { status = { code = 429, body = \"html\" } }\n\n\
        What it can do:\n  \
        to calls    status (code, body, says, seconds, retry-after, headers), reset, stall, applied-late,\n              \
        answer-lost, answer-late, drip, latency (least, jitter)\n  \
        to streams  eof, stream-reset, silence, garbage, truncated, oversized, duplicate-final, drip,\n              \
        latency; after=N lines\n  \
        to the site restart (down, streams), skew (date, clocks, drift), castling,\n              \
        pair (white, black, clock)")]
    Sim(SimArgs),

    /// Speak UCI on stdin and stdout, for any chess program
    #[command(
        after_help = "Example: printf 'position startpos\\ngo depth 10\\n' | knightwatch uci"
    )]
    Uci,

    /// Search a fixed set of positions and print the node count, which identifies the search
    #[command(after_help = "Example: knightwatch bench\n\nThe last line is: NODES nodes NPS nps")]
    Bench,

    /// Count the positions that are DEPTH plies away
    #[command(after_help = "Examples:\n  \
        knightwatch perft 6\n  \
        knightwatch perft 4 --divide --fen '8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1'\n  \
        knightwatch perft 4 --fen 'startpos e4 c5'\n  \
        knightwatch perft 8 --threads 4 --hash 1024")]
    Perft {
        /// Depth in plies
        #[arg(value_name = "DEPTH", value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_DEPTH)))]
        depth: u32,
        /// The position to start from: a FEN or startpos, perhaps with moves behind it [default: the start position]
        #[arg(long, value_name = "POSITION")]
        fen: Option<String>,
        /// Print the count below each move
        #[arg(long)]
        divide: bool,
        /// Threads that share the work
        #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN, value_parser = threads)]
        threads: NonZeroUsize,
        /// Memory to remember counts in, in MiB; with 0 every position is counted again
        #[arg(long, value_name = "MIB", default_value = "0", value_parser = hash_mib())]
        hash: usize,
    },

    /// Have the engine solve the positions of a test suite in EPD
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
        Ctrl-C ends it at the end of the games that are on; the next run adds to what is there."
    )]
    Datagen(DatagenOptions),

    /// Train a network on stored games
    #[command(
        after_help = "Example: knightwatch train --data games --hidden 128 --buckets 8 --out new.kwnn"
    )]
    Train(TrainOptions),

    /// Let two settings of this engine play a match at a fixed number of nodes
    #[command(after_help = "Examples:\n  \
        knightwatch match new.kwnn none --nodes 5000 --games 400\n  \
        knightwatch match new.kwnn embedded --openings openings.epd --games 20000 --sprt 0 5\n  \
        knightwatch match --set rfp_margin=90 --against rfp_margin=70 --sprt 0 10\n\n\
        Each opening is played twice with colours exchanged. Elo is given with the interval that is right 95 times \
        of 100, pairs are counted by their points from 0 to 2. The numbers of the search can be set in a build with \
        `cargo build --profile dist --features tune`; they are in src/engine/params.rs.")]
    Match(MatchOptions),

    /// Play against another engine, by UCI and with a clock
    #[command(after_help = "Examples:\n  \
        knightwatch gauntlet /usr/games/ethereal-chess --tc 8+0.08 --games 200\n  \
        knightwatch gauntlet /usr/games/stockfish --theirs UCI_LimitStrength=true --theirs UCI_Elo=2800\n  \
        knightwatch gauntlet self --ours Threads=2 --tc 2+0.02 --threads 1\n\n\
        Each opening is played twice with colours exchanged. Who oversteps the clock by 50 ms in all loses; a game is \
        won when both engines see 15 pawns for six plies, and a draw after 400 plies. \
        Ctrl-C ends it at the end of the games that are on, with what they say.")]
    Gauntlet(GauntletOptions),

    /// Measure the levels of `strength` against another engine at its levels
    #[command(
        after_help = "Example: knightwatch ladder /usr/games/stockfish --levels 1200,1400 --anchors 1350@20000,1500@20000\n\n\
        Ctrl-C ends it at the end of the games that are on, with what they say. Nothing depends on time. \
        docs/strength.md says what to do with what comes out."
    )]
    Ladder(LadderOptions),

    /// Tune the numbers of the search by games of the engine against itself
    #[command(
        hide = true,
        after_help = "Example: knightwatch tune --state tune.json --games 20000 --nodes 2500\n\n\
        Needs a build with `cargo build --profile dist --features tune`. Ctrl-C ends it at the end of the games that \
        are on; the same command goes on. What comes out fits into src/engine/params.rs."
    )]
    Tune(TuneOptions),

    /// Fit the weights of the evaluation by hand to stored games
    #[command(
        hide = true,
        after_help = "Example: knightwatch fit --data games --out src/engine/eval/weights.rs"
    )]
    Fit(FitOptions),

    /// Fit to stored games how often positions are won, drawn and lost
    #[command(
        hide = true,
        after_help = "Example: knightwatch chances --data games\n\nWhat comes out fits into src/engine/chances.rs."
    )]
    Chances(ChancesOptions),

    /// Look into Polyglot books and build them
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Example: knightwatch book build lines.txt -o mine.bin"
    )]
    Book(BookCommand),
}

#[derive(Debug, Subcommand)]
pub enum BookCommand {
    /// List a book's moves for a position with their weights
    #[command(after_help = "Examples:\n  \
        knightwatch book probe default\n  \
        knightwatch book probe mine.bin e4 c5\n  \
        knightwatch book probe mine.bin 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1'")]
    Probe {
        /// A Polyglot book, or `default` for the embedded one
        book: PathBuf,
        /// A FEN or startpos, perhaps with moves behind it, or moves alone [default: the start position]
        position: Vec<String>,
    },
    /// Compile lines of moves and PGN games to a Polyglot book
    #[command(
        after_help = "Examples:\n  knightwatch book build white.txt black.txt -o mine.bin\n  \
        knightwatch book build games.pgn --min-games 5 --max-ply 24 -o mine.bin\n\n\
        A move of a game weighs 2 if its side won, 1 if nobody did; a line weighs what it says, or 10."
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

/// Which games go into a book.
#[derive(Args, Clone, Debug)]
pub struct GameArgs {
    /// Leave out moves that fewer games have
    #[arg(long, value_name = "N", default_value_t = GameOptions::default().min_games)]
    min_games: u32,
    /// Leave out the moves after so many plies
    #[arg(long, value_name = "N", default_value_t = GameOptions::default().max_ply)]
    max_ply: u32,
    /// Leave out games of players with a lower rating, or none
    #[arg(long, value_name = "RATING", default_value_t = GameOptions::default().min_rating)]
    min_rating: u32,
    /// Let moves weigh twice as much for each 200 points of the player's rating above 1600
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

/// Which of the games that were played.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Of this account of ours
    #[arg(long, value_name = "NAME", value_parser = user)]
    account: Option<String>,
    /// Against this player
    #[arg(long, value_name = "NAME", value_parser = user)]
    opponent: Option<String>,
    /// Against players with this in their names
    #[arg(long, value_name = "PART")]
    search: Option<String>,
    /// won, drawn, lost, void (aborted) or open (without an end)
    #[arg(long, value_name = "RESULT")]
    result: Option<Outcome>,
    /// Our colour: white or black
    #[arg(long, value_name = "COLOR", value_parser = color)]
    color: Option<Color>,
    /// Of this speed
    #[arg(long, value_parser = ["ultraBullet", "bullet", "blitz", "rapid", "classical", "correspondence"])]
    speed: Option<String>,
    /// Of this variant
    #[arg(long, value_parser = ["standard", "chess960", "fromPosition"])]
    variant: Option<String>,
    /// Only rated games
    #[arg(long, conflicts_with = "casual")]
    rated: bool,
    /// Only casual games
    #[arg(long)]
    casual: bool,
    /// Of this tournament
    #[arg(long, value_name = "ID", value_parser = arena)]
    tournament: Option<String>,
    /// Begun on this day or later, as in 2026-05-24
    #[arg(long, value_name = "DAY", value_parser = local_day)]
    since: Option<i64>,
    /// Begun on this day or earlier
    #[arg(long, value_name = "DAY", value_parser = local_day_after)]
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

/// What to show of them.
#[derive(Args, Clone, Debug)]
pub struct ViewArgs {
    /// The latest so many
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    limit: u32,
    /// Results by opponent, speed, color, opening, tournament or month
    #[arg(long, value_name = "GROUP", group = "view")]
    by: Option<By>,
    /// Who has taken more points from us than the ratings foretell, in 3 games or more
    #[arg(long, group = "view")]
    nemeses: bool,
    /// Our ratings, and what the last 100 rated games were worth
    #[arg(long, group = "view")]
    ratings: bool,
}

impl From<ViewArgs> for View {
    fn from(arguments: ViewArgs) -> View {
        match arguments.by {
            Some(by) => View::By(by),
            None if arguments.nemeses => View::Nemeses(3),
            None if arguments.ratings => View::Ratings,
            None => View::List(arguments.limit),
        }
    }
}

/// Where settings come from besides the defaults and the environment.
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

/// A challenge in words, for `explain`.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub struct AskedArgs {
    /// Who challenges us
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
    /// A game that counts for the rating
    #[arg(long, requires = "user")]
    rated: bool,
    /// standard, chess960, fromPosition or another of Lichess's keys
    #[arg(long, value_name = "KEY", requires = "user", default_value = "standard", value_parser = variant)]
    variant: Variant,
}

impl AskedArgs {
    /// The challenge, where a user is named.
    pub fn asked(self) -> Option<Asked> {
        let from = Player {
            name: self.user?,
            title: self.title.map(|title| title.to_uppercase()),
            rating: self.rating,
            provisional: false,
        };
        Some(Asked::of(&from, self.clock, self.variant, self.rated))
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

/// The id of a game, also out of its address.
fn game(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::Game).to_owned())
}

/// The id of an arena, also out of its address.
fn arena(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::Arena).to_owned())
}

/// The name of a user, also out of an address.
fn user(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::User).to_owned())
}

/// The name of a user who can be there, also out of an address.
fn challenger(text: &str) -> Result<String, Refused> {
    argument::user(text).map(|user| user.to_string())
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let most = perft::MOST_THREADS;
    let number = text
        .parse()
        .ok()
        .filter(|number: &NonZeroUsize| number.get() <= most);
    number.ok_or_else(|| format!("expected a number from 1 to {most}"))
}

fn hash_mib() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(..=perft::MOST_HASH_MIB)
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
