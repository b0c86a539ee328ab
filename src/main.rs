//! Command-line entry point: parses arguments, runs a command, maps errors to exit codes.

use std::io::{self, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use knightwatch::bot::{ChallengeQuery, InjectedPanics, ProfileQuery};
use knightwatch::cli::{
    BookCommand, Cli, Command, ConfigArgs, ExplainArgs, ExportArgs, GamesArgs, ImportArgs,
    ReplayArgs,
};
use knightwatch::config::{self, LogLevel, Settings, Sources};
use knightwatch::control::SocketArgs;
use knightwatch::lichess::model::Variant;
use knightwatch::{
    book, bot, check, clock, control, convert, daemon, demo, draw, engine::bench, import, init,
    lab, logging, sim, store, uci,
};
use tokio::runtime::Runtime;
use tracing::Level;

fn main() -> ExitCode {
    if let Some(missing) = missing_cpu_feature() {
        eprintln!("error: this processor lacks {missing}, which this build of knightwatch needs");
        eprintln!("hint: build it on this machine, with RUSTFLAGS=\"-C target-cpu=native\"");
        return ExitCode::FAILURE;
    }
    install_panic_hook();
    ignore_file_size_signal();
    let code = match uci_lines() {
        Some(lines) => run_uci(&lines),
        None => run(Cli::from_process().command),
    };
    let code = code.unwrap_or_else(|error| report_error(&error));
    logging::flush();
    code
}

/// The lines of UCI that the arguments are; none without arguments, if stdin is not a terminal. `None` if the arguments
/// are for clap. GUIs start engines without arguments, and OpenBench passes lines as arguments.
fn uci_lines() -> Option<Vec<String>> {
    let arguments = std::env::args_os().skip(1);
    let lines: Vec<String> = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let is_gui = lines.is_empty() && !io::stdin().is_terminal();
    (is_gui || Cli::are_uci_lines(&lines)).then_some(lines)
}

/// Serves a GUI on stdin, or executes the lines if there are any.
fn run_uci(lines: &[String]) -> anyhow::Result<ExitCode> {
    if lines.is_empty() {
        uci::run(BufReader::new(io::stdin()), io::stdout())?;
        return Ok(ExitCode::SUCCESS);
    }
    match uci::run_lines(lines.iter().map(String::as_str), io::stdout())? {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Init(options) => {
            logging::start(LogLevel::Warn);
            return init::run(options);
        }
        Command::Convert(options) => {
            convert::convert_command(&options, &mut io::stdout().lock(), &mut Diagnostics)?;
        }
        Command::Service(command) => command.run(&mut io::stdout().lock())?,
        Command::Completions { shell } => Cli::write_completions(shell, &mut io::stdout().lock())?,
        Command::Man { directory } => {
            let named = directory.as_deref();
            Cli::write_manual(named, &mut io::stdout().lock()).with_context(|| match named {
                Some(directory) => format!("cannot write to {}", directory.display()),
                None => "cannot write to stdout".to_owned(),
            })?;
        }
        Command::Perft {
            depth,
            variant,
            fen,
            divide,
            threads,
            hash,
        } => lab::perft::run(&lab::perft::Options {
            depth,
            variant,
            fen,
            by_move: divide,
            threads,
            hash_mib: hash,
        })?,
        Command::Run {
            config,
            moves,
            time_scale,
            engine_panics,
            account_panics,
            request_panics,
        } => {
            let faults = daemon::FaultInjection {
                time_scale,
                engine_panics,
                account_panics: InjectedPanics {
                    account: account_panics,
                    request: request_panics,
                },
            };
            let sources = Sources::from_process(config.config, config.set);
            let settings = Settings::load(&sources)?;
            logging::start_daemon(&settings.daemon);
            daemon::run(settings, sources, faults, moves)?;
        }
        Command::Book(command) => {
            logging::start(LogLevel::Warn);
            book_command(command)?;
        }
        Command::Check(arguments) => return check::check_command(&settings(arguments)?),
        Command::Upgrade {
            config,
            account,
            yes,
        } => {
            let settings = settings(config)?.for_account(account.as_deref())?;
            return check::upgrade_command(&settings, yes);
        }
        Command::Demo { games, listen, web } => {
            logging::start(LogLevel::Warn);
            runtime()?.block_on(demo::run(demo::Options { games, listen, web }))?;
        }
        Command::Explain(arguments) => explain(arguments)?,
        Command::Config { config, account } => {
            let sources = Sources::from_process(config.config, config.set);
            let text = config::effective_text(&sources, account.as_deref())?;
            io::stdout().lock().write_all(text.as_bytes())?;
        }
        Command::Status { socket, json } => {
            return control::status_command(
                &resolve_socket(socket)?,
                json,
                &mut io::stdout().lock(),
            );
        }
        Command::Operator(command) => return command.run(resolve_socket, &mut io::stdout().lock()),
        Command::Games(arguments) => games(arguments)?,
        Command::Export(arguments) => export(arguments)?,
        Command::Import(arguments) => import_games(arguments)?,
        Command::Replay(arguments) => replay(arguments)?,
        Command::Render(options) => {
            let mut out = io::stdout().lock();
            let terminal = out.is_terminal();
            draw::render_command(&options, &mut out, terminal)?;
        }
        Command::Uci => return run_uci(&[]),
        Command::Bench => bench::run(&mut io::stdout().lock())?,
        Command::Epd(options) => lab::epd::run(&options, &mut io::stdout().lock())?,
        Command::Datagen(options) => lab::datagen::run(&options)?,
        Command::Match(options) => lab::contest::run(&options)?,
        Command::Gauntlet(options) => lab::gauntlet::run(&options)?,
        Command::Calibrate(options) => lab::calibration::run(&options)?,
        Command::FitVariant(options) => lab::fit_variant::run(&options, &mut io::stdout().lock())?,
        Command::FitWdl(options) => lab::fit_wdl::run(&options)?,
        Command::Tune(options) => lab::tune::run(&options)?,
        Command::Train(options) => lab::trainer::run(&options)?,
        Command::ExportPositions(options) => lab::export::run(&options)?,
        Command::Sim(args) => {
            logging::start(LogLevel::Info);
            runtime()?.block_on(async { sim::run_command(args, sim::shutdown_signal()).await })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(arguments: ExplainArgs) -> anyhow::Result<()> {
    let settings = settings(arguments.config)?.for_account(arguments.account.as_deref())?;
    let mut out = io::stdout().lock();
    let query = match (arguments.query.query(), arguments.challenge) {
        (Some(query), _) => query,
        (None, Some(file)) if file.as_os_str() == "LAST" && !file.exists() => {
            last_challenge(&settings, &mut out)?
        }
        (None, Some(file)) => ChallengeQuery::read(&file)?,
        (None, None) => unreachable!("clap requires a challenge or a user"),
    };
    let profile = ProfileQuery {
        age_days: arguments.age_days,
        text: arguments.bio,
    };
    let at = arguments.at.unwrap_or_else(clock::date);
    let explained = bot::explain_command(&settings, &query, profile, at, &mut out);
    check::runtime()?.block_on(explained)?;
    Ok(())
}

fn games(arguments: GamesArgs) -> anyhow::Result<()> {
    let settings = settings(arguments.config)?;
    let options = store::GamesOptions {
        file: records(&settings),
        accounts: settings.account_names(),
        filter: arguments.filter.into(),
        view: arguments.view.into(),
        json: arguments.json,
        terminal: io::stdout().is_terminal(),
    };
    store::games_command(&options, &mut io::stdout().lock())?;
    Ok(())
}

fn export(arguments: ExportArgs) -> anyhow::Result<()> {
    let settings = settings(arguments.config)?;
    let options = store::ExportOptions {
        file: records(&settings),
        accounts: settings.account_names(),
        ids: arguments.ids,
        filter: arguments.filter.into(),
        details: store::Details {
            clocks: !arguments.no_clocks,
            evals: !arguments.no_evals,
        },
        output: arguments.output,
    };
    store::export_command(&options, &mut io::stdout().lock())?;
    Ok(())
}

fn import_games(arguments: ImportArgs) -> anyhow::Result<()> {
    let settings = settings(arguments.config)?;
    let source = match arguments.from_lichess {
        true => import::Source::Server(import::Server {
            clients: daemon::clients(&settings)?,
            runtime: runtime()?,
        }),
        false => import::Source::Files(arguments.files),
    };
    let options = import::Options {
        source,
        since: arguments.since.map(midnight).transpose()?,
        records: records(&settings),
        server: settings.lichess.address().to_owned(),
        accounts: match arguments.account.is_empty() {
            true => settings.account_names(),
            false => arguments.account,
        },
    };
    import::import_command(&options, &mut io::stdout().lock(), &mut Diagnostics)?;
    Ok(())
}

fn replay(arguments: ReplayArgs) -> anyhow::Result<()> {
    // A trace file needs no configuration.
    let directories = match arguments.trace.is_file() {
        true => Vec::new(),
        false => bot::trace::directories(&settings(arguments.config)?),
    };
    let options = bot::replay::Options {
        trace: arguments.trace,
        directories,
        search: arguments.search,
    };
    bot::replay::replay_command(&options, &mut io::stdout().lock())?;
    Ok(())
}

fn book_command(command: BookCommand) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match command {
        BookCommand::Probe {
            book,
            variant,
            position,
        } => book::probe_command(&book, variant.variant, &position.join(" "), &mut out)?,
        BookCommand::Build {
            files,
            output,
            variant,
            games,
        } => {
            let options = book::BuildOptions {
                files,
                output,
                games: games.of(variant),
                progress: io::stderr().is_terminal(),
            };
            book::build_command(&options, &mut out, &mut Diagnostics)?;
        }
        BookCommand::Grow(options) => lab::grow::run(&options, &mut out)?,
    }
    Ok(())
}

/// Runtime of asynchronous commands.
fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
}

/// Loads the settings of a command and starts logging at their level.
fn settings(arguments: ConfigArgs) -> anyhow::Result<Settings> {
    let settings = Settings::load(&Sources::from_process(arguments.config, arguments.set))?;
    logging::start_as(settings.daemon.log_level, settings.daemon.log_format);
    Ok(settings.with_service_defaults())
}

/// The beginning of a day in UTC, in milliseconds since 1970.
fn midnight(day: jiff::civil::Date) -> anyhow::Result<i64> {
    let midnight = day.to_zoned(jiff::tz::TimeZone::UTC)?;
    Ok(midnight.timestamp().as_millisecond())
}

/// Sets the control socket: the given one, or that of the configuration.
fn resolve_socket(mut arguments: SocketArgs) -> anyhow::Result<SocketArgs> {
    if arguments.socket.is_none() {
        let named = arguments.config.is_some();
        let sources = Sources::from_process(arguments.config.take(), Vec::new());
        let (socket, error) = Settings::control_socket(&sources);
        // A running bot does not need a valid configuration, and one that was not named may be unrelated.
        if let Some(error) = error {
            let consequence = match &socket {
                None if named => {
                    let hint = "hint: --socket names the control socket of a running bot";
                    return Err(anyhow::Error::from(error).context(hint));
                }
                None => {
                    "the configuration is not used; trying the default control sockets".to_owned()
                }
                Some(path) => format!("the control socket {} is used", path.display()),
            };
            logging::print(Level::WARN, &error.to_string());
            logging::print(Level::WARN, &format!("warning: {consequence}"));
        }
        arguments.socket = socket;
    }
    Ok(arguments)
}

/// The latest incoming challenge in the records; prints its id and decision to `out`.
fn last_challenge(settings: &Settings, out: &mut impl Write) -> anyhow::Result<ChallengeQuery> {
    let last = store::last_challenge(&records(settings), settings.name.as_deref())?;
    let at =
        std::time::UNIX_EPOCH + std::time::Duration::from_millis(last.at.max(0).unsigned_abs());
    let (id, decision, reason) = (&last.challenge, &last.decision, &last.reason);
    let at = clock::format_date(at);
    writeln!(
        out,
        "Challenge {id} was {decision} at {at}: {reason}. Now:\n"
    )?;
    let variant = Variant::from_key(&last.variant);
    Ok(ChallengeQuery::of(
        &last.from,
        last.time_control,
        variant,
        last.rated,
    ))
}

/// The file of the records.
fn records(settings: &Settings) -> PathBuf {
    store::find(
        &settings.data_directories(),
        &settings.lichess.server_name(),
    )
}

/// Stderr for messages without which a command goes on: if it cannot be written to, nobody reads them.
struct Diagnostics;

impl Write for Diagnostics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = io::stderr().flush();
        Ok(())
    }
}

/// Prints the error and returns its exit code.
fn report_error(error: &anyhow::Error) -> ExitCode {
    let cause = |kind| {
        error.chain().any(|cause| {
            cause
                .downcast_ref::<io::Error>()
                .is_some_and(|e| e.kind() == kind)
        })
    };
    if cause(io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    if let Some(problems) = error.downcast_ref::<config::Error>() {
        logging::print(Level::ERROR, &problems.to_string());
        // A context is a hint.
        if error.chain().count() > 1 {
            logging::print(Level::ERROR, &error.to_string());
        }
        return ExitCode::from(78);
    }
    let color = io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let heading = if color {
        "\x1b[1;31merror:\x1b[0m"
    } else {
        "error:"
    };
    logging::print(Level::ERROR, &format!("{heading} {error:#}"));
    let error = error.downcast_ref::<daemon::Error>();
    let code = error.map_or(1, daemon::Error::exit_code);
    let hint = match (code, error) {
        (77, _) | (_, Some(daemon::Error::NoToken)) => {
            "hint: knightwatch check lists what is missing, knightwatch init asks for a token"
        }
        (78, _) => "hint: knightwatch check lists all problems",
        _ => return ExitCode::from(code),
    };
    logging::print(Level::ERROR, hint);
    ExitCode::from(code)
}

/// Sends panics to the log, if it has been started. A closed stdout, as in `knightwatch perft 6 | head -1`, exits silently.
fn install_panic_hook() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        if let Some(why) = message.strip_prefix("failed printing to stdout: ") {
            if why.starts_with("Broken pipe") {
                std::process::exit(0);
            }
            let _ = writeln!(io::stderr(), "error: cannot write to stdout: {why}");
            std::process::exit(1);
        }
        // Unwinding would wait forever for the threads of a runtime that could not be started.
        if let Some(why) = message.strip_prefix("OS can't spawn worker thread: ")
            && std::thread::current().name() == Some("main")
        {
            logging::print(
                Level::ERROR,
                &format!("error: cannot start: the system allows no more threads: {why}"),
            );
            logging::print(
                Level::ERROR,
                "hint: raise the limit on processes and threads: ulimit -u, TasksMax in the unit, pids.max of the container",
            );
            logging::flush();
            std::process::exit(1);
        }
        if !logging::log_panic(panic) {
            default_hook(panic);
        }
    }));
}

/// Ignores SIGXFSZ, so that exceeding `ulimit -f` is an I/O error like a full disk and does not kill the process.
fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN installs no handler; this is the only thread.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The first CPU feature that this build needs and this processor lacks.
///
/// `is_x86_feature_detected!` cannot be used: it assumes the features that the build enables.
#[cfg(target_arch = "x86_64")]
fn missing_cpu_feature() -> Option<&'static str> {
    use std::arch::x86_64::__cpuid;
    let [basic, extended] = [__cpuid(1).ecx, __cpuid(7).ebx];
    let needed = [
        ("SSSE3", cfg!(target_feature = "ssse3"), basic, 9),
        ("SSE4.1", cfg!(target_feature = "sse4.1"), basic, 19),
        ("SSE4.2", cfg!(target_feature = "sse4.2"), basic, 20),
        ("POPCNT", cfg!(target_feature = "popcnt"), basic, 23),
        ("AVX", cfg!(target_feature = "avx"), basic, 28),
        ("AVX2", cfg!(target_feature = "avx2"), extended, 5),
        ("BMI2", cfg!(target_feature = "bmi2"), extended, 8),
    ];
    let missing = needed
        .into_iter()
        .find(|(_, used, register, bit)| *used && register & (1 << bit) == 0);
    missing.map(|(name, ..)| name)
}

#[cfg(not(target_arch = "x86_64"))]
fn missing_cpu_feature() -> Option<&'static str> {
    None
}
