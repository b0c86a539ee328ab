//! The commands with their options.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};
use clap_complete::Shell;

use super::arguments::{
    BookVariantArgs, ConfigArgs, ExplainArgs, ExportArgs, GameArgs, GamesArgs, ImportArgs,
    ReplayArgs, hash_mib, listen_address, threads,
};
use crate::chess;
use crate::chess::perft::MAX_DEPTH;
use crate::clock;
use crate::control::{OperatorCommand, SocketArgs};
use crate::convert::ConvertOptions;
use crate::draw::RenderOptions;
use crate::init::{InitOptions, ServiceCommand};
use crate::lab::epd::EpdOptions;
use crate::lab::{
    CalibrateOptions, DatagenOptions, ExportOptions, FitVariantOptions, FitWdlOptions,
    GauntletOptions, GrowOptions, MatchOptions, TrainOptions, TuneOptions,
};
use crate::sim::SimArgs;

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
        /// Test hook: panic once in a background request of the first account after this many seconds
        #[arg(long, value_name = "SECONDS", hide = true)]
        request_panics: Option<u64>,
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
    Explain(ExplainArgs),

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
    Games(GamesArgs),

    /// Write games as PGN
    #[command(after_help = "Examples:\n  \
        knightwatch export -o games.pgn\n  \
        knightwatch export abcdEFGH\n  \
        knightwatch export https://lichess.org/abcdEFGH\n  \
        knightwatch export --opponent Anna --since 2026-05-01 --no-evals\n\n\
        Games without moves are left out. If no game is left, the command fails and writes no file.")]
    Export(ExportArgs),

    /// Add games from PGN files and from Lichess's export to the records
    #[command(after_help = "Examples:\n  \
        knightwatch import old-games.pgn\n  \
        knightwatch import --account MyBot lichess_MyBot.ndjson archive/*.pgn\n  \
        knightwatch import --from-lichess --since 2026-01-01\n\n\
        Lichess sends 20 to 60 games a second. Games that are known already change nothing. Those in which none of our accounts plays are skipped, and those \
        that are not valid too; the rest is imported. The bot may be running.")]
    Import(ImportArgs),

    /// Repeat the decisions of a game from its trace
    #[command(after_help = "Examples:\n  \
        knightwatch replay abcdEFGH\n  \
        knightwatch replay abcdEFGH.jsonl --search\n\n\
        A trace contains all inputs of a game: stream lines, search results and responses of the server. The decisions \
        are printed; those that would now be different are marked with !. \
        Exits with 1 if any decision differs, or if the trace is incomplete.")]
    Replay(ReplayArgs),

    /// Draw a position or a game as an SVG image
    #[command(after_help = "Examples:\n  \
        knightwatch render 'r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/8/PPPP1PPP/RNBQK1NR w KQkq -' -o board.svg\n  \
        knightwatch render startpos e4 c5 Nf3 -o sicilian.svg\n  \
        knightwatch render --variant horde startpos a5 -o horde.svg\n  \
        knightwatch render game.pgn --ply 12 --black -o board.svg\n  \
        knightwatch render game.pgn --animated -o game.svg\n  \
        knightwatch export abcdEFGH | knightwatch render - --animated -o game.svg")]
    Render(RenderOptions),

    /// Serve a simulated Lichess on localhost, for any client
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
        concurrency=N, burst=N (sent at once, up to 1000), cancels-every=N (cancels every Nth)\n  \
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
        #[arg(
            long,
            value_name = "VARIANT",
            default_value = "standard",
            hide_default_value = true
        )]
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

    /// Write the training positions of stored games to files, for the trainer on a GPU
    #[command(
        hide = true,
        after_help = "Example: knightwatch export-positions --data games --lambda 0.8 --out positions\n\n\
        docs/engine/networks.md says how a network is trained on them."
    )]
    ExportPositions(ExportOptions),

    /// Let two settings of this engine play a match at a fixed number of nodes
    #[command(after_help = "Examples:\n  \
        knightwatch match new.kwnn none --nodes 5000 --balanced --games 400\n  \
        knightwatch match new.kwnn embedded --openings openings.epd --games 20000 --sprt 0 5\n  \
        knightwatch match --set rfp_margin=90 --against rfp_margin=70 --sprt 0 10\n\n\
        Each opening is played twice with colors exchanged. Elo is given with its 95 % \
        confidence interval, and as nElo in standard deviations of a game, times 347; pairs are counted by their points from 0 to 2. \
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
        Each opening is played twice with colors exchanged. A player who exceeds the clock by more than 50 ms in total loses; a game is \
        won when both engines see 15 pawns for six plies, and a draw after 400 plies. Games of variants are played to the \
        end; their openings have four or five random plies. \
        Ctrl-C stops it after the running games and prints the result so far.")]
    Gauntlet(GauntletOptions),

    /// Measure the levels of `strength` against another engine at its levels
    #[command(
        after_help = "Example: knightwatch calibrate /usr/games/stockfish --levels 1200,1400 --anchors 1350@20000\n\n\
        A game is won when both engines see 15 pawns for six plies, and drawn when both see no more than 0.1 for 20 plies \
        from ply 70 on, or after 400 plies. Ctrl-C stops it after the running games and prints the result so far; with \
        --state, the same command continues. Nothing depends on time. docs/engine/strength.md says what to do with the result."
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

    /// Fit the evaluation of a variant to stored games
    #[command(
        hide = true,
        after_help = "Example: knightwatch fit-variant --variant horde --data games\n\n\
        The result fits into crates/engine/src/eval/weights.rs; docs/engine/variants.md says how to make the games."
    )]
    FitVariant(FitVariantOptions),

    /// Fit to stored games how often positions are won, drawn and lost
    #[command(
        hide = true,
        after_help = "Example: knightwatch fit-wdl --data games\n\nThe result fits into crates/engine/src/wdl.rs."
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
        knightwatch book probe default --variant atomic Nf3\n  \
        knightwatch book probe mine.bin 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1'")]
    Probe {
        /// A Polyglot book, or `default` for the embedded one of the variant
        book: PathBuf,
        #[command(flatten)]
        variant: BookVariantArgs,
        /// A FEN or startpos, optionally followed by moves, or moves alone [default: the start position]
        position: Vec<String>,
    },
    /// Compile lines of moves and PGN games to a Polyglot book
    #[command(
        after_help = "Examples:\n  knightwatch book build white.txt black.txt -o mine.bin\n  \
        knightwatch book build games.pgn --min-games 5 --max-ply 24 -o mine.bin\n  \
        knightwatch book build atomic.pgn --variant atomic -o atomic.bin\n\n\
        A move of a game has weight 2 if its side won and 1 for a draw; a line has the weight given in it, or 10. \
        The options that omit moves and games apply to PGN files; lines are taken up to --max-ply."
    )]
    Build {
        /// Text files with lines of moves, and PGN files, whose names end in `.pgn`
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The book to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        variant: BookVariantArgs,
        #[command(flatten)]
        games: GameArgs,
    },
    /// Make a Polyglot book of this engine's own searches
    #[command(
        after_help = "Example: knightwatch book grow --variant atomic --plies 8 --nodes 200000 -o atomic.bin\n\n\
        Both sides keep the moves that are nearly as good as the best, and answer the likely ones of their opponents; \
        the likeliest positions come first. In crazyhouse a line ends where a drop is best. The same options give the \
        same book."
    )]
    Grow(GrowOptions),
}
