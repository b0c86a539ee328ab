//! The checks of `knightwatch check`. A failed check does not stop the others.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::task::spawn_blocking;

use super::report::{Cause, Finding, Report};
use super::{connect, machine, page, sandbox, token_page};
use crate::alert;
use crate::book::Book;
use crate::bot;
use crate::bot::block_lists::{self, Fetched};
use crate::chess::{CastlingNotation, Game, Variant};
use crate::config::{BlockList, Settings, Takebacks, TokenSource};
use crate::control;
use crate::credentials::readable_by_others;
use crate::daemon;
use crate::engine::{Engine, EngineOptions, Limits};
use crate::external::{Deadlines, EngineError, EngineProcess, ExternalSettings, Go};
use crate::lichess::model::{self, TokenInfo, User, Username};
use crate::lichess::{Client, Error};
use crate::logging;
use crate::plural;
use crate::store::{self, Filter, Reader};
use crate::web::Page;

/// Duration of the test search.
const ENGINE_TEST_TIME: Duration = Duration::from_millis(300);

/// Time limit for a move of an external engine.
const EXTERNAL_TIMEOUT: Duration = Duration::from_secs(30);

/// A round trip from this duration on is too slow for fast games.
const HIGH_LATENCY: Duration = Duration::from_millis(300);

/// A lower search speed, in positions per second, is reported.
const MIN_NODES_PER_SECOND: u64 = 200_000;

/// A token that expires sooner than this is reported.
const EXPIRY_WARNING: Duration = Duration::from_secs(14 * 24 * 3600);

/// Checks configuration, token, Lichess, account, books, the machine and the engine. Needs a tokio runtime.
pub async fn check(settings: &Settings) -> Report {
    let next = match settings.is_of_service() {
        true => "sudo systemctl start knightwatch",
        false => "knightwatch run",
    };
    let mut report = Report {
        findings: vec![configuration(settings)],
        next: next.to_owned(),
    };
    let findings = &mut report.findings;
    let warning = |text: &String| Finding::warning("configuration", text);
    findings.extend(settings.warnings.iter().map(warning));
    findings.extend(insecure(settings));
    for account in settings.accounts() {
        let before = report.findings.len();
        report.findings.extend(token_file_mode(&account));
        match connect(&account) {
            Ok(client) => check_account(&account, &client, &mut report).await,
            Err(finding) => report.findings.push(finding),
        }
        for finding in &mut report.findings[before..] {
            finding.prefix_account(account.name.as_deref());
        }
    }
    let findings = &mut report.findings;
    findings.extend(block_lists(settings).await);
    findings.extend(books(settings));
    let directory = settings.records_directory();
    if let Some(obstacle) = directory.as_deref().and_then(store::obstacle) {
        let text = format!("{} is a file", obstacle.display());
        findings.push(
            Finding::problem("records", Cause::Configuration, text)
                .hint("set records.directory to a directory"),
        );
    }
    let write_test = directory.and_then(|directory| machine::test_write(settings, &directory));
    findings.push(records(
        settings,
        write_test.as_ref().is_some_and(Result::is_err),
    ));
    findings.push(web_page(settings));
    findings.extend(
        settings
            .daemon
            .alert
            .iter()
            .zip(1..)
            .filter_map(|(target, number)| {
                let text = format!("[[alert]] {number}: {}", alert::problem(target)?);
                Some(
                    Finding::problem("alerts", Cause::Configuration, text)
                        .hint("it would not be sent"),
                )
            }),
    );
    findings.extend(write_test.as_ref().map(machine::disk));
    findings.extend(log_file(settings));
    findings.extend(sandbox::hidden_files(settings));
    findings.extend(machine::files(settings));
    findings.extend(machine::memory(settings));
    findings.push(engine(settings).await);
    for external in &settings.engine.external {
        let external_settings = daemon::external_settings(external);
        let of_games = settings.game_options(&external.name);
        let rules = external.rules();
        let finding =
            spawn_blocking(move || external_engine(&external_settings, &of_games, &rules)).await;
        findings.extend(finding);
    }
    report
}

/// The source of the settings. Invalid settings are reported when they are loaded.
fn configuration(settings: &Settings) -> Finding {
    let text = match &settings.file {
        Some(file) => file.display().to_string(),
        None => "no file; every setting has its default or comes from the environment".to_owned(),
    };
    Finding::ok("configuration", text)
}

/// A warning that the token is sent unencrypted.
fn insecure(settings: &Settings) -> Option<Finding> {
    let endpoint = settings.lichess.endpoint().ok()?;
    (endpoint.is_plain() && !endpoint.is_local()).then(|| {
        let text = format!("UNENCRYPTED: anyone on the way to {endpoint} can read the token");
        Finding::warning("server", text).hint(
            "use a token of a simulator or a server of your own; unset lichess.insecure otherwise",
        )
    })
}

fn token_file_mode(settings: &Settings) -> Option<Finding> {
    let Some(TokenSource::File(path)) = &settings.token else {
        return None;
    };
    let mode = readable_by_others(path)?;
    let (text, path) = (
        format!("others can read {} (mode {mode:04o})", path.display()),
        path.display(),
    );
    Some(Finding::warning("token", text).hint(format!("chmod 600 {path}")))
}

/// Checks the connection, the token and the account.
async fn check_account(settings: &Settings, client: &Client, report: &mut Report) {
    let findings = &mut report.findings;
    match latency(client).await {
        Ok(finding) => findings.push(finding),
        Err(error) => {
            findings.push(unreachable(settings, &error).await);
            return;
        }
    }
    let ahead = client.clock_ahead().await.ok().flatten();
    let is_local = settings.lichess.endpoint().is_ok_and(|it| it.is_local());
    findings.extend(machine::clock(ahead, is_local));
    match client.token_test().await {
        Ok(Some(info)) => {
            let user = client.named(&info.user).account().await;
            // The spelling of Lichess, if available.
            let name = user.as_ref().map_or(&info.user, |user| &user.username);
            findings.extend(scopes(settings, &info, name));
            findings.extend(takebacks(settings, client, &info).await);
            match user {
                Ok(user) if !settings.is_account_name(user.username.as_str()) => {
                    let text = format!("the token belongs to {}", user.username);
                    findings.push(
                        Finding::problem("token", Cause::Configuration, text)
                            .hint("set `name` to the Lichess user name of the account"),
                    );
                }
                Ok(user) => {
                    findings.extend(account(settings, &user));
                    if let Some(finding) = running_instance(settings, user.username).await {
                        findings.push(finding);
                        report.next =
                            "it is running; knightwatch reload applies changes".to_owned();
                    }
                }
                Err(error) => findings.push(request_failed("account", &error)),
            }
        }
        Ok(None) => {
            let hint = format!(
                "it was revoked or has expired; create one at {}",
                token_page(&settings.lichess)
            );
            findings.push(
                Finding::problem("token", Cause::Token, "Lichess does not know it").hint(hint),
            );
        }
        Err(error) => findings.push(request_failed("token", &error)),
    }
}

/// Explains why Lichess cannot be reached.
async fn unreachable(settings: &Settings, error: &Error) -> Finding {
    let (url, address) = (&settings.lichess.url, settings.lichess.address());
    let bad = |text: String| Finding::problem("lichess", Cause::Failure, text);
    let (host, port) = (
        url.host_str().unwrap_or_default(),
        url.port_or_known_default(),
    );
    let found = tokio::net::lookup_host((host, port.unwrap_or(443))).await;
    match found {
        Err(unknown) => bad(format!("{host} cannot be found: {unknown}"))
            .hint("check lichess.url, the network and the name service (/etc/resolv.conf)"),
        Ok(_) => bad(format!("{address} cannot be reached: {error}")).hint(
            "check the network, the proxy and lichess.url; lichess.org itself may be restarting",
        ),
    }
}

/// A warning that the log file cannot be written.
fn log_file(settings: &Settings) -> Option<Finding> {
    let path = settings.daemon.log_file.as_ref()?.display();
    let finding = match logging::test_file(&settings.daemon) {
        Ok(true) => Finding::ok("log file", path.to_string()),
        Ok(false) => {
            let text = format!("{path} is in a directory that is not writable");
            Finding::warning("log file", text)
                .hint("a full file cannot be renamed: it begins again, and its older lines are lost")
        }
        Err(error) => Finding::warning("log file", format!("cannot write to {path}: {error}")).hint(
            "the bot logs to stderr only: set another daemon.log_file; if the bot runs as another user, run check as \
             that user",
        ),
    };
    Some(finding)
}

/// Reads the block lists of all accounts, each once.
async fn block_lists(settings: &Settings) -> Vec<Finding> {
    let mut lists: Vec<BlockList> = Vec::new();
    for list in settings.accounts().iter().flat_map(block_lists::configured) {
        if !lists.contains(&list) {
            lists.push(list);
        }
    }
    let mut findings = Vec::new();
    for list in lists {
        findings.push(match block_lists::fetch(&list, None).await {
            Ok(Fetched::Names { parsed, .. }) => {
                let names = plural::count(parsed.names.len(), "name", "names");
                let list = format!("{list} with {names}");
                match parsed.skipped_lines() {
                    None => Finding::ok("block list", list),
                    Some(lines) => Finding::warning("block list", format!("{list}: {lines}"))
                        .hint("one user name on each line; comments begin with #"),
                }
            }
            Ok(Fetched::Unchanged) => Finding::ok("block list", format!("{list} is unchanged")),
            Err(why) => Finding::warning("block list", format!("cannot read {list}: {why}"))
                .hint("the bot plays with the last copy, if there is one, and tries again"),
        });
    }
    findings
}

fn request_failed(topic: &'static str, error: &Error) -> Finding {
    let fault = if error.is_unauthorized() {
        Cause::Token
    } else {
        Cause::Failure
    };
    Finding::problem(topic, fault, error.to_string()).hint("try again in a minute")
}

/// Measures the median of five round trips, after one that opens the connection.
async fn latency(client: &Client) -> Result<Finding, Error> {
    client.ping().await?;
    let mut trips = [Duration::ZERO; 5];
    for trip in &mut trips {
        *trip = client.ping().await?;
    }
    trips.sort_unstable();
    let millis = |trip: Duration| format!("{:.0} ms", trip.as_secs_f64() * 1e3);
    let text = format!(
        "answers in {} ({} to {})",
        millis(trips[2]),
        millis(trips[0]),
        millis(trips[4])
    );
    Ok(if trips[2] < HIGH_LATENCY {
        Finding::ok("lichess", text)
    } else {
        let hint = "Lichess does not compensate bots for network lag; leave out the fastest games (challenge.speeds)";
        Finding::warning("lichess", text).hint(hint)
    })
}

/// Checks that the preferences of the account allow takebacks. By default those of bots do not.
async fn takebacks(settings: &Settings, client: &Client, info: &TokenInfo) -> Option<Finding> {
    let wanted = settings.games.takebacks;
    if wanted == Takebacks::Never || settings.games.max_takebacks == 0 {
        return None;
    }
    let mut page = settings.lichess.url.clone();
    if let Ok(mut path) = page.path_segments_mut() {
        path.pop_if_empty()
            .extend(["account", "preferences", "game-behavior"]);
    }
    let unknown = || {
        let text =
            "on, if the account allows opponents to ask for them: a new bot account does not";
        Finding::ok("takebacks", text).hint(format!("see Takebacks at {page}"))
    };
    if !info.has("preference:read") {
        return Some(unknown());
    }
    let preferences = client.named(&info.user).preferences().await.ok();
    Some(match (preferences.and_then(|it| it.takeback), wanted) {
        (None, _) => unknown(),
        (Some(1), _) => {
            let text = "accepted, but nobody may propose them to this account";
            Finding::warning("takebacks", text).hint(format!(
                "allow Takebacks at {page}, or set games.takebacks = \"never\""
            ))
        }
        (Some(2), Takebacks::Humans | Takebacks::Always) => {
            let text = "on, but the account allows opponents to ask for them in casual games only";
            Finding::warning("takebacks", text).hint(format!("allow Takebacks at {page}"))
        }
        (Some(_), _) => Finding::ok("takebacks", "on, and opponents can ask for them"),
    })
}

/// The process on this machine that already plays the account, if there is one.
async fn running_instance(settings: &Settings, user: Username) -> Option<Finding> {
    let socket = settings.daemon.socket.clone();
    let server = settings.lichess.url.to_string();
    let search = tokio::task::spawn_blocking(move || {
        let mut all = control::running_statuses(socket.as_deref()).into_iter();
        all.find(|status| status.has_account(user.as_str(), &server))
    });
    let status = search.await.ok().flatten()?;
    let text = format!(
        "the bot is already running (pid {}); see knightwatch status",
        status.pid
    );
    Some(Finding::ok("account", text))
}

fn scopes(settings: &Settings, info: &TokenInfo, name: &Username) -> Vec<Finding> {
    let mut findings = Vec::new();
    let page = token_page(&settings.lichess);
    if info.has("bot:play") {
        findings.push(Finding::ok(
            "token",
            format!("of {name}, with {}", info.scopes.join(", ")),
        ));
    } else {
        let text = format!("of {name}, lacks the scope bot:play");
        findings.push(
            Finding::problem("token", Cause::Token, text).hint(format!("create another at {page}")),
        );
    }
    if !info.has("challenge:read") {
        let text = "lacks the scope challenge:read: challenges that arrive while the bot is offline may be missed";
        findings.push(Finding::warning("token", text).hint(format!("create another at {page}")));
    }
    if settings.tournaments.join_teams && !info.has("team:write") {
        let text =
            "lacks the scope team:write, and teams are to be joined (tournaments.join_teams)";
        let hint = format!("create another at {page}, and tick that scope too");
        findings.push(Finding::warning("token", text).hint(hint));
    }
    if settings.engine.offers_analysis() && !(info.has("engine:read") && info.has("engine:write")) {
        let text = "lacks engine:read or engine:write, and an engine is to be on the analysis board (provider)";
        let hint = format!("create another at {page}, and tick these scopes too");
        findings.push(Finding::warning("token", text).hint(hint));
    }
    if let Some(left) = info.expires.and_then(time_until)
        && left < EXPIRY_WARNING
    {
        let days = left.as_secs() / (24 * 3600);
        let text = format!("expires in {}", plural::count(days, "day", "days"));
        findings.push(Finding::warning("token", text).hint(format!("create another at {page}")));
    }
    findings
}

/// Time until `millis` since 1970; `None` if it is past.
fn time_until(millis: i64) -> Option<Duration> {
    let then = UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).ok()?);
    then.duration_since(SystemTime::now()).ok()
}

fn account(settings: &Settings, user: &User) -> Vec<Finding> {
    let name = &user.username;
    let mut findings = Vec::new();
    if user.disabled {
        let text = format!("{name} is closed");
        findings.push(
            Finding::problem("account", Cause::Token, text)
                .hint("use the token of another account"),
        );
    } else if user.is_bot() {
        findings.push(Finding::ok("account", format!("{name} is a bot account")));
    } else {
        let played = user.count.map_or(0, |count| count.all);
        let text = format!("{name} is not a bot account");
        let hint = bot::upgrade_hint(played);
        findings.push(Finding::problem("account", Cause::Token, text).hint(hint));
    }
    if user.tos_violation {
        let text = format!("{name} is marked for breaking the terms of service");
        findings.push(
            Finding::warning("account", text)
                .hint("many users decline its challenges; appeal at https://lichess.org/appeal"),
        );
    }
    if !user.has_bio() {
        let page = page(&settings.lichess, &["account", "profile"]);
        let text = format!("{name} has no biography, so it is not listed among the online bots");
        findings.push(Finding::warning("account", text).hint(format!(
            "describe at {page} who runs the bot and what it plays"
        )));
    }
    findings
}

fn books(settings: &Settings) -> Vec<Finding> {
    if !settings.has_books() {
        return vec![Finding::ok("book", "off")];
    }
    let settings = &settings.book;
    let mut findings = Vec::new();
    let mut variants_of: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    for variant in model::Variant::ALL {
        for file in settings.files_for(*variant) {
            variants_of.entry(file).or_default().push(variant.key());
        }
    }
    for (file, variants) in variants_of {
        findings.push(match Book::open(file) {
            Ok(book) => Finding::ok(
                "book",
                format!(
                    "{}: {}, for {}",
                    file.display(),
                    plural::count(book.records().len(), "entry", "entries"),
                    variants.join(", ")
                ),
            ),
            Err(error) => Finding::problem("book", Cause::Configuration, error.to_string())
                .hint("correct it, or remove it from book.files and book.variants"),
        });
    }
    if settings.embedded {
        let entries = Variant::ALL.map(|variant| {
            let entries = Book::embedded_for(variant).records().len();
            format!("{entries} for {}", variant.key())
        });
        let text = format!("embedded, with entries: {}", entries.join(", "));
        findings.push(Finding::ok("book", text));
    } else if findings.is_empty() {
        let hint = "set book.embedded = true, or book.enabled = false";
        findings.push(Finding::warning("book", "on, but there is no book").hint(hint));
    }
    findings
}

/// Reads the records without creating them, because the file might belong to the wrong user. With `lost`, they cannot be
/// created.
fn records(settings: &Settings, lost: bool) -> Finding {
    let (records, server) = (&settings.records, settings.lichess.server_name());
    if !records.enabled {
        return Finding::ok("records", "off");
    }
    if settings.records_directory().is_none() {
        let hint = "name a directory in records.directory, or set records.enabled = false";
        return Finding::warning("records", "there is no home directory to store them in")
            .hint(hint);
    }
    let file = store::find(&settings.data_directories(), &server);
    let path = file.display();
    match Reader::open(&file).and_then(|reader| reader.count(&Filter::default())) {
        Ok(games) => {
            let games = plural::count(games, "game", "games");
            Finding::ok("records", format!("{path}: {games}"))
        }
        Err(store::Error::Missing(_)) if lost => {
            let text = format!("cannot create {path}");
            Finding::warning("records", text).hint("see the line `disk`")
        }
        Err(store::Error::Missing(_)) => Finding::ok(
            "records",
            format!("none yet; they will be stored in {path}"),
        ),
        Err(error) => {
            let hint = "the bot plays without records; move the file away if nothing else helps";
            Finding::warning("records", format!("cannot read {path}: {error}")).hint(hint)
        }
    }
}

/// The address of the page.
fn web_page(settings: &Settings) -> Finding {
    match settings.web.address() {
        Ok(Some(address))
            if let Err(error) = Page::check(address, &daemon::page_keys(settings)) =>
        {
            Finding::problem(
                "page",
                Cause::Configuration,
                format!("on {address}: {error}"),
            )
            .hint("the page is not opened without its keys; see [web] in config.example.toml")
        }
        Ok(Some(address)) => {
            let text = format!(
                "http://{address}/; while the bot is running, knightwatch page prints it with the key"
            );
            Finding::ok("page", text)
        }
        Ok(None) => Finding::ok("page", "off"),
        Err(why) => Finding::problem("page", Cause::Configuration, format!("web.listen: {why}"))
            .hint("the default is 127.0.0.1:9664; \"\" serves no page"),
    }
}

/// Starts an external engine, sets its options and those of games, and plays two moves of each variant.
fn external_engine(
    settings: &ExternalSettings,
    game_options: &[Vec<(String, String)>],
    rules: &[Variant],
) -> Finding {
    let name = &settings.name;
    let problem = |error: EngineError| {
        let text = format!("{name}: {error}");
        let place = match error.key() {
            Some(key) => format!("correct `{key}` of [[engine.external]]"),
            None => "see [[engine.external]]".to_owned(),
        };
        Finding::problem("engine", Cause::Configuration, text)
            .hint(format!(
                "{place}; with a mistake in the options the bot does not start, else the embedded engine plays instead"
            ))
    };
    let play = || {
        let mut engine = EngineProcess::start(&settings.launch)?;
        settings.configure(&mut engine)?;
        for options in game_options {
            engine.set_options(options.iter().map(|(name, value)| (&**name, &**value)))?;
        }
        let mut played = Vec::new();
        let mut nodes = 0;
        for &variant in rules {
            let mut game = Game::new(variant.start());
            engine.new_game(game.initial(), Instant::now() + EXTERNAL_TIMEOUT)?;
            for _ in 0..2 {
                let hard = Instant::now() + EXTERNAL_TIMEOUT;
                let deadlines = Deadlines {
                    soft: Some(Instant::now() + ENGINE_TEST_TIME),
                    hard,
                    stop_timeout: EXTERNAL_TIMEOUT,
                };
                let go = Go {
                    movetime: Some(ENGINE_TEST_TIME),
                    ..Go::default()
                };
                let answer = engine.search(&game, &go, deadlines, |_| ())?;
                nodes = nodes.max(answer.info.nodes);
                game.play(answer.mv);
            }
            let moves = game.moves().iter();
            let moves = moves.map(|mv| mv.uci(CastlingNotation::Standard).to_string());
            let moves: Vec<String> = moves.collect();
            let of_variant = match variant {
                Variant::Standard => String::new(),
                other => format!(" in {other}"),
            };
            played.push(format!("plays {}{of_variant}", moves.join(" ")));
        }
        // Not every engine counts its positions.
        if nodes > 0 {
            let per_second = nodes as f64 / ENGINE_TEST_TIME.as_secs_f64();
            played.push(positions_per_second(per_second as u64));
        }
        Ok(Finding::ok(
            "engine",
            format!(
                "{name}: {}, {}; {}",
                engine.name(),
                played.join(", "),
                plural::count(settings.processes as u64, "process", "processes"),
            ),
        ))
    };
    play().unwrap_or_else(problem)
}

/// Runs a short search with the configured hash and threads, after a first one that allocates the table.
async fn engine(settings: &Settings) -> Finding {
    let options = EngineOptions {
        hash_mib: settings.engine.hash_mib,
        threads: settings.engine.thread_count(),
    };
    let hash = options.hash_mib;
    let threads = plural::count(options.threads, "thread", "threads");
    let search = move || {
        let limits = Limits {
            movetime: Some(ENGINE_TEST_TIME),
            ..Limits::default()
        };
        let (engine, game) = (Engine::new(options), Game::new(Variant::Standard.start()));
        engine.search(&game, limits.clone());
        engine.search(&game, limits)
    };
    match tokio::task::spawn_blocking(search).await {
        Ok(result) if result.mv.is_some() => {
            let (speed, depth) = (result.nps(), result.depth);
            let text = format!(
                "{threads}, {hash} MiB: {}, depth {depth}",
                positions_per_second(speed)
            );
            let finding = Finding::ok("engine", text);
            match speed < MIN_NODES_PER_SECOND {
                true => finding.hint("that is slow: the machine is busy, or its processor is weak"),
                false => finding,
            }
        }
        Ok(_) | Err(_) => {
            let text = format!("finds no move with {threads} and {hash} MiB");
            Finding::problem("engine", Cause::Failure, text)
                .hint("try a smaller engine.hash_mib and fewer engine.threads")
        }
    }
}

/// `1.2 million positions per second`, `40 thousand positions per second`.
fn positions_per_second(speed: u64) -> String {
    let number = match speed {
        1_000_000.. => format!("{:.1} million", speed as f64 / 1e6),
        10_000.. => format!("{} thousand", speed / 1_000),
        _ => speed.to_string(),
    };
    format!("{number} positions per second")
}

#[cfg(test)]
mod tests {
    use super::positions_per_second;

    #[test]
    fn search_speed_is_shown_with_unit() {
        for (speed, expected) in [
            (0, "0"),
            (9_999, "9999"),
            (40_123, "40 thousand"),
            (999_999, "999 thousand"),
            (1_249_000, "1.2 million"),
        ] {
            let expected = format!("{expected} positions per second");
            assert_eq!(positions_per_second(speed), expected);
        }
    }
}
