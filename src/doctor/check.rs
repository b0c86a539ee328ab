//! Looks at everything that the bot needs. One thing that is bad does not keep the others from being looked at.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::report::{Fault, Finding, Report};
use super::{connect, machine, page, token_page};
use crate::book::Book;
use crate::bot;
use crate::chess::{Game, Position};
use crate::config::{Settings, Takebacks, TokenSource};
use crate::control;
use crate::engine::{Engine, EngineOptions, Limits};
use crate::lichess::model::{TokenInfo, User, Username};
use crate::lichess::{Client, Error, readable_by_others};
use crate::plural;
use crate::store::{self, Filter, Reader};

/// How long the engine is tried for.
const TRIAL: Duration = Duration::from_millis(300);

/// A move that takes this long to be told is told too late in fast games.
const FAR_AWAY: Duration = Duration::from_millis(300);

/// The speed of the engine, in positions per second, below which the machine is said to be busy.
const SLOW_ENGINE: u64 = 200_000;

/// A token that ends sooner than this is spoken of.
const SOON: Duration = Duration::from_secs(14 * 24 * 3600);

/// Looks at configuration, token, Lichess, account, book, the machine and the engine. Needs a tokio runtime.
pub async fn check(settings: &Settings) -> Report {
    let mut findings = vec![configuration(settings)];
    let warning = |text: &String| Finding::warning("configuration", text);
    findings.extend(settings.warnings.iter().map(warning));
    for account in settings.accounts() {
        let before = findings.len();
        findings.extend(open_token_file(&account));
        match connect(&account) {
            Ok(client) => online(&account, &client, &mut findings).await,
            Err(finding) => findings.push(finding),
        }
        for finding in &mut findings[before..] {
            finding.of(account.name.as_deref());
        }
    }
    findings.extend(books(settings));
    let directory = machine::directory(settings);
    let kept = directory.and_then(|directory| machine::try_to_keep(settings, &directory));
    findings.push(records(settings, kept.as_ref().is_some_and(Result::is_err)));
    findings.push(web_page(settings));
    findings.extend(kept.as_ref().map(machine::disk));
    findings.extend(machine::files(settings));
    findings.push(engine(settings).await);
    let next = match settings.is_of_service() {
        true => "sudo systemctl start knightwatch",
        false => "knightwatch run",
    };
    Report {
        findings,
        next: next.to_owned(),
    }
}

/// Settings that could be read have been checked: what is wrong with them is told where they are read.
fn configuration(settings: &Settings) -> Finding {
    let text = match &settings.file {
        Some(file) => file.display().to_string(),
        None => "no file; every setting has its default or comes from the environment".to_owned(),
    };
    Finding::good("configuration", text)
}

fn open_token_file(settings: &Settings) -> Option<Finding> {
    let Some(TokenSource::File(path)) = &settings.token else {
        return None;
    };
    let mode = readable_by_others(path)?;
    let (text, path) = (
        format!("others can read {} (mode {mode:04o})", path.display()),
        path.display(),
    );
    Some(Finding::warning("token", text).advice(format!("chmod 600 {path}")))
}

/// What Lichess says to the token.
async fn online(settings: &Settings, client: &Client, findings: &mut Vec<Finding>) {
    match latency(client).await {
        Ok(finding) => findings.push(finding),
        Err(error) => {
            findings.push(out_of_reach(settings, &error).await);
            return;
        }
    }
    findings.extend(machine::clock(client.clock_ahead().await.ok().flatten()));
    match client.token_test().await {
        Ok(Some(info)) => {
            let user = client.named(&info.user).account().await;
            // As Lichess writes it, where it says so.
            let name = user.as_ref().map_or(&info.user, |user| &user.username);
            findings.extend(scopes(settings, &info, name));
            findings.extend(takebacks(settings, client, &info).await);
            match user {
                Ok(user) if !settings.is_called(user.username.as_str()) => {
                    let text = format!("the token is one of {}", user.username);
                    findings.push(
                        Finding::bad("token", Fault::Configuration, text)
                            .advice("an account is called as Lichess calls it"),
                    );
                }
                Ok(user) => {
                    findings.extend(account(settings, &user));
                    findings.extend(running(settings, user.username).await);
                }
                Err(error) => findings.push(no_answer("account", &error)),
            }
        }
        Ok(None) => {
            let advice = format!(
                "it was revoked or has ended; make one at {}",
                token_page(&settings.lichess)
            );
            findings.push(
                Finding::bad("token", Fault::Token, "Lichess does not know it").advice(advice),
            );
        }
        Err(error) => findings.push(no_answer("token", &error)),
    }
}

/// Lichess cannot be reached: why, as far as it can be told from here.
async fn out_of_reach(settings: &Settings, error: &Error) -> Finding {
    let (url, address) = (&settings.lichess.url, settings.lichess.address());
    let bad = |text: String| Finding::bad("lichess", Fault::Failure, text);
    let (host, port) = (
        url.host_str().unwrap_or_default(),
        url.port_or_known_default(),
    );
    let found = tokio::net::lookup_host((host, port.unwrap_or(443))).await;
    match found {
        Err(unknown) => bad(format!("{host} cannot be found: {unknown}")).advice(
            "look at lichess.url, at the network and at the name service (/etc/resolv.conf)",
        ),
        Ok(_) => bad(format!("{address} cannot be reached: {error}")).advice(
            "look at the network, the proxy and lichess.url; lichess.org itself may be restarting",
        ),
    }
}

fn no_answer(topic: &'static str, error: &Error) -> Finding {
    let fault = if error.is_unauthorized() {
        Fault::Token
    } else {
        Fault::Failure
    };
    Finding::bad(topic, fault, error.to_string()).advice("try again in a minute")
}

/// The middle one of five round trips, after one that makes the connection.
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
    Ok(if trips[2] < FAR_AWAY {
        Finding::good("lichess", text)
    } else {
        let advice = "Lichess gives bots no time back for their network; leave out the fastest games (challenge.speeds)";
        Finding::warning("lichess", text).advice(advice)
    })
}

/// The most that is asked for is what the account's preferences allow: until somebody changes them, no bot is asked.
async fn takebacks(settings: &Settings, client: &Client, info: &TokenInfo) -> Option<Finding> {
    let wanted = settings.games.takebacks;
    if wanted == Takebacks::Never || settings.games.most_takebacks == 0 {
        return None;
    }
    let mut page = settings.lichess.url.clone();
    if let Ok(mut path) = page.path_segments_mut() {
        path.pop_if_empty()
            .extend(["account", "preferences", "game-behavior"]);
    }
    let unknown = || {
        let text = "on, if the account lets opponents ask for them: a new bot account does not";
        Finding::good("takebacks", text).advice(format!("see Takebacks at {page}"))
    };
    if !info.has("preference:read") {
        return Some(unknown());
    }
    let preferences = client.named(&info.user).preferences().await.ok();
    Some(match (preferences.and_then(|it| it.takeback), wanted) {
        (None, _) => unknown(),
        (Some(1), _) => {
            let text = "on, but the account lets nobody ask for them";
            Finding::warning("takebacks", text).advice(format!(
                "allow Takebacks at {page}, or set games.takebacks = \"never\""
            ))
        }
        (Some(2), Takebacks::Humans | Takebacks::Always) => {
            let text = "on, but the account lets opponents ask for them in casual games only";
            Finding::warning("takebacks", text).advice(format!("allow Takebacks at {page}"))
        }
        (Some(_), _) => Finding::good("takebacks", "on, and opponents can ask for them"),
    })
}

/// The process of this machine that plays the account already, where there is one.
async fn running(settings: &Settings, user: Username) -> Option<Finding> {
    let socket = settings.daemon.socket.clone();
    let server = settings.lichess.url.to_string();
    let asked = tokio::task::spawn_blocking(move || {
        let mut all = control::running_statuses(socket.as_deref()).into_iter();
        all.find(|status| status.has_account(user.as_str(), &server))
    });
    let status = asked.await.ok().flatten()?;
    let text = format!(
        "the bot runs already (pid {}); knightwatch status says how it is doing",
        status.pid
    );
    Some(Finding::good("account", text))
}

fn scopes(settings: &Settings, info: &TokenInfo, name: &Username) -> Vec<Finding> {
    let mut findings = Vec::new();
    let page = token_page(&settings.lichess);
    if info.has("bot:play") {
        findings.push(Finding::good(
            "token",
            format!("of {name}, with {}", info.scopes.join(", ")),
        ));
    } else {
        let text = format!("of {name}, lacks the scope bot:play");
        findings.push(
            Finding::bad("token", Fault::Token, text).advice(format!("make another at {page}")),
        );
    }
    if !info.has("challenge:read") {
        let text = "lacks the scope challenge:read: challenges that wait while the bot is away may be missed";
        findings.push(Finding::warning("token", text).advice(format!("make another at {page}")));
    }
    if settings.tournaments.join_teams && !info.has("team:write") {
        let text =
            "lacks the scope team:write, and teams are to be joined (tournaments.join_teams)";
        let advice = format!("make another at {page}, and tick that scope too");
        findings.push(Finding::warning("token", text).advice(advice));
    }
    if let Some(left) = info.expires.and_then(time_until)
        && left < SOON
    {
        let days = left.as_secs() / (24 * 3600);
        let text = format!("ends in {}", plural::count(days, "day", "days"));
        findings.push(Finding::warning("token", text).advice(format!("make another at {page}")));
    }
    findings
}

/// How far off a moment is, in milliseconds since 1970. Nothing when it is past.
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
            Finding::bad("account", Fault::Token, text).advice("use the token of another account"),
        );
    } else if user.is_bot() {
        findings.push(Finding::good("account", format!("{name} is a bot account")));
    } else {
        let played = user.count.map_or(0, |count| count.all);
        let text = format!("{name} is no bot account");
        let advice = bot::way_to_a_bot(played);
        findings.push(Finding::bad("account", Fault::Token, text).advice(advice));
    }
    if user.tos_violation {
        let text = format!("{name} is marked for breaking the terms of service");
        findings.push(
            Finding::warning("account", text).advice("many will not play it; lichess.org/appeal"),
        );
    }
    if !user.has_bio() {
        let page = page(&settings.lichess, &["account", "profile"]);
        let text = format!("{name} has no biography, so it is not among the bots that are online");
        findings.push(
            Finding::warning("account", text)
                .advice(format!("say at {page} who runs the bot and what it plays")),
        );
    }
    findings
}

fn books(settings: &Settings) -> Vec<Finding> {
    if !settings.has_books() {
        return vec![Finding::good("book", "off")];
    }
    let settings = &settings.book;
    let mut findings: Vec<Finding> = settings
        .files
        .iter()
        .map(|file| match Book::open(file) {
            Ok(book) => Finding::good(
                "book",
                format!(
                    "{}: {}",
                    file.display(),
                    plural::count(book.records().len(), "entry", "entries")
                ),
            ),
            Err(error) => Finding::bad("book", Fault::Configuration, error.to_string())
                .advice("put it right, or take it out of book.files"),
        })
        .collect();
    if settings.default {
        let entries = Book::embedded().records().len();
        findings.push(Finding::good("book", format!("our own: {entries} entries")));
    } else if settings.files.is_empty() {
        let advice = "set book.default = true, or book.enabled = false";
        findings.push(Finding::warning("book", "on, but without a single book").advice(advice));
    }
    findings
}

/// Only looks: a file that is made here may belong to the wrong user. `lost` says that nothing can be written there.
fn records(settings: &Settings, lost: bool) -> Finding {
    let (records, server) = (&settings.records, settings.lichess.server_name());
    if !records.enabled {
        return Finding::good("records", "off");
    }
    if records.directory.is_none() && settings.data_directory().is_none() {
        let advice = "name a directory in records.directory, or set records.enabled = false";
        return Finding::warning("records", "there is no home directory to keep them in")
            .advice(advice);
    }
    let file = store::find(&settings.data_directories(), &server);
    let path = file.display();
    match Reader::open(&file).and_then(|reader| reader.count(&Filter::default())) {
        Ok(games) => {
            let games = plural::count(games, "game", "games");
            Finding::good("records", format!("{path}: {games}"))
        }
        Err(store::Error::Missing(_)) if lost => {
            let text = format!("none can be kept: {path} cannot be created");
            Finding::warning("records", text).advice("the line disk says why")
        }
        Err(store::Error::Missing(_)) => {
            Finding::good("records", format!("none yet; they will be in {path}"))
        }
        Err(error) => {
            let advice = "the bot plays all the same; move the file away if nothing else helps";
            Finding::warning("records", format!("cannot read {path}: {error}")).advice(advice)
        }
    }
}

/// Where the page will be. That its address can be used is seen where the settings are read.
fn web_page(settings: &Settings) -> Finding {
    match settings.daemon.address() {
        Ok(Some(address)) => {
            let text = format!(
                "http://{address}/; while the bot runs, knightwatch page prints it with its key"
            );
            Finding::good("page", text)
        }
        Ok(None) => Finding::good("page", "off"),
        Err(why) => Finding::bad(
            "page",
            Fault::Configuration,
            format!("daemon.listen: {why}"),
        )
        .advice("the default is 127.0.0.1:9664; \"\" serves no page"),
    }
}

/// A short search with the hash and the threads of the configuration. One before it gets the table's memory from the
/// system, which may take as long.
async fn engine(settings: &Settings) -> Finding {
    let options = EngineOptions {
        hash_mib: settings.engine.hash_mib,
        threads: settings.engine.thread_count(),
    };
    let hash = options.hash_mib;
    let threads = plural::count(options.threads, "thread", "threads");
    let search = move || {
        let limits = Limits {
            movetime: Some(TRIAL),
            ..Limits::default()
        };
        let (engine, game) = (Engine::new(options), Game::new(Position::startpos()));
        engine.think(&game, limits.clone());
        engine.think(&game, limits)
    };
    match tokio::task::spawn_blocking(search).await {
        Ok(thought) if thought.mv.is_some() => {
            let (speed, depth) = (thought.nps(), thought.depth);
            let text = format!(
                "{threads}, {hash} MiB: {}, depth {depth}",
                positions_per_second(speed)
            );
            let finding = Finding::good("engine", text);
            match speed < SLOW_ENGINE {
                true => finding.advice(
                    "that is slow: other programs keep this machine busy, or its processor is weak",
                ),
                false => finding,
            }
        }
        Ok(_) | Err(_) => {
            let text = format!("finds no move with {threads} and {hash} MiB");
            Finding::bad("engine", Fault::Failure, text)
                .advice("try a smaller engine.hash_mib and fewer engine.threads")
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
    fn a_slow_engine_has_a_speed_too() {
        for (speed, said) in [
            (0, "0"),
            (9_999, "9999"),
            (40_123, "40 thousand"),
            (999_999, "999 thousand"),
            (1_249_000, "1.2 million"),
        ] {
            let said = format!("{said} positions per second");
            assert_eq!(positions_per_second(speed), said);
        }
    }
}
