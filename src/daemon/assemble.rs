//! Parts of the bot from the settings: tokens, clients, engines and books.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sd_notify::NotifyState;
use tracing::warn;

use super::other_instance::find_other_process;
use super::systemd::notify;
use super::{ENGINES_TIMEOUT, Error};
use crate::book::Book;
use crate::bot::{self, BookSet, BotParts, ReadToken, ReloadError, ReloadSettings};
use crate::config::{self, Settings, Sources, TokenSource};
use crate::credentials;
use crate::engine::{self, Engine, EngineOptions};
use crate::events::Bus;
use crate::external::{
    EngineError, EngineProcess, ExternalEngine, ExternalSettings, FixedLimits, Launch, Protocol,
};
use crate::lichess::model::Variant;
use crate::lichess::{Client, Token};
use crate::sync;

/// Reads the token of an account.
fn token(settings: &Settings) -> Result<Token, Error> {
    let source = settings.token.as_ref().ok_or(Error::NoToken)?;
    let token = source.read().map_err(|error| match &settings.name {
        Some(account) => Error::AccountToken {
            account: account.clone(),
            error,
        },
        None => error.into(),
    })?;
    if let TokenSource::File(path) = source
        && let Some(mode) = credentials::readable_by_others(path)
    {
        let path = path.display();
        warn!("others can read the token in {path} (mode {mode:04o}): chmod 600 {path}");
    }
    Ok(token)
}

/// Clients of all accounts, over shared connections.
///
/// # Errors
/// When the token of an account cannot be read, or TLS cannot be set up.
pub fn clients(settings: &Settings) -> Result<Vec<Client>, Error> {
    let mut clients: Vec<Client> = Vec::new();
    for account in settings.accounts() {
        let token = token(&account)?;
        clients.push(match clients.first() {
            None => client(settings, token)?,
            Some(first) => first.with_token(token),
        });
    }
    Ok(clients)
}

fn client(settings: &Settings, token: Token) -> Result<Client, Error> {
    let endpoint = settings.lichess.endpoint()?;
    Client::new(&endpoint, token, None).map_err(Error::Client)
}

/// Builds the parts of all accounts, which share the engine, the books and the connections to Lichess.
pub(super) fn assemble_all(
    settings: &Arc<Settings>,
    sources: &Sources,
    events: &Bus,
) -> Result<Vec<BotParts>, Error> {
    let mut all: Vec<BotParts> = Vec::new();
    for account in settings.accounts() {
        let token = token(&account)?;
        let account = Arc::new(account);
        let mut parts = match all.first() {
            None => assemble(settings, token, events.clone())?,
            Some(first) => first.for_account(first.client.with_token(token), &account),
        };
        parts.accepted_log = bot::accepted_log_file(&account);
        parts.overrides = bot::overrides_file(&account);
        let mut sources = sources.clone();
        // Reload the same file: without it the defaults would apply.
        sources.file = settings.file.clone();
        let externals = Arc::clone(&parts.externals);
        parts.reload = Some(settings_reloader(sources, Arc::clone(&account), externals));
        parts.token = account.token.clone().map(token_reader);
        parts.find_other_process = Some(find_other_process(settings));
        if let Some(name) = &account.name {
            parts.events = events.for_account(name);
        }
        parts.settings = account;
        all.push(parts);
    }
    Ok(all)
}

/// The settings do not depend on the engine, so they have its limit a second time.
const _: () = assert!(config::MAX_THREADS == engine::MAX_THREADS);

/// Builds the parts of a bot from the settings.
pub fn assemble(settings: &Arc<Settings>, token: Token, events: Bus) -> Result<BotParts, Error> {
    let client = client(settings, token)?;
    let engine = Engine::new(EngineOptions {
        hash_mib: settings.engine.hash_mib,
        threads: settings.engine.thread_count(),
    });
    let books = book_set(settings)?;
    let externals = externals(settings, &engine);
    Ok(BotParts {
        externals,
        ..BotParts::new(client, engine, books, settings, events)
    })
}

/// Starts the external engines.
fn externals(settings: &Settings, embedded: &Engine) -> Arc<[ExternalEngine]> {
    let start = |external: &config::External| {
        ExternalEngine::new(external_settings(external), embedded.clone())
    };
    settings.engine.external.iter().map(start).collect()
}

/// The settings of an external engine.
pub(crate) fn external_settings(settings: &config::External) -> ExternalSettings {
    let start_timeout = Duration::from_secs(settings.start_timeout_s);
    ExternalSettings {
        name: settings.name.clone(),
        launch: Launch {
            protocol: match settings.protocol {
                config::Protocol::Uci => Protocol::Uci,
                config::Protocol::Xboard => Protocol::Xboard,
                config::Protocol::Lines => Protocol::Lines,
            },
            directory: settings.directory.clone(),
            environment: settings.environment.clone(),
            timeout: start_timeout,
            ready_timeout: start_timeout,
            ..Launch::new(&settings.command)
        },
        options: config::option_texts(&settings.options),
        processes: settings.processes,
        threads: settings.threads,
        hash_mib: settings.hash_mib,
        limits: FixedLimits {
            nodes: settings.nodes,
            depth: settings.depth,
            movetime: settings.movetime_ms.map(Duration::from_millis),
        },
        own_time_management: settings.time == config::TimeManager::Ours,
        ponder: settings.ponder,
    }
}

/// Returns a function that reloads the settings of an account, which are now `old`, and notifies systemd. If no file was loaded
/// before, it searches for one and uses that from then on.
fn settings_reloader(
    sources: Sources,
    old: Arc<Settings>,
    externals: Arc<[ExternalEngine]>,
) -> ReloadSettings {
    let sources = Mutex::new(sources);
    Arc::new(move || {
        let mut sources = sync::lock(&sources);
        let mut states = vec![NotifyState::Reloading];
        // Needed by systemd 253 and later.
        states.extend(NotifyState::monotonic_usec_now().ok());
        notify(&states);
        let read = reload(&mut sources, &old, &externals);
        notify(&[NotifyState::Ready]);
        read
    })
}

/// Loads settings with which the program would start.
fn reload(
    sources: &mut Sources,
    old: &Settings,
    externals: &[ExternalEngine],
) -> Result<Option<Settings>, ReloadError> {
    let mut read = Settings::load(sources)?;
    sources.file.clone_from(&read.file);
    // Of all accounts, so that none of them adopts settings with a mistake for another one.
    let warnings = check_resources(&read, old, externals);
    let warnings = warnings.map_err(|error| ReloadError::Resource(error.to_string()))?;
    read.warnings.extend(warnings);
    Ok(read.reloaded_for(old.name.as_deref()))
}

/// Checks what the program needs at its start and does not have yet: books, and engines with other settings. Returns
/// warnings about what it can do without.
fn check_resources(
    new: &Settings,
    old: &Settings,
    externals: &[ExternalEngine],
) -> Result<Vec<String>, Error> {
    if new.book != old.book {
        book_set(new)?;
    }
    let running = |external: &config::External| {
        let wanted = external_settings(external);
        externals.iter().any(|engine| *engine.settings() == wanted)
    };
    let mut warnings = Vec::new();
    for external in new.engine.external.iter().filter(|it| !running(it)) {
        warnings.extend(try_engine(external, new)?);
    }
    check_game_options(new, externals)?;
    Ok(warnings)
}

/// Starts an engine, and sets its options and those of games. An engine that does not start does not make the settings
/// invalid: returns a warning about it.
fn try_engine(external: &config::External, settings: &Settings) -> Result<Option<String>, Error> {
    let mut with_timeout = external_settings(external);
    with_timeout.launch.timeout = ENGINES_TIMEOUT;
    let tried = EngineProcess::start(&with_timeout.launch).and_then(|mut engine| {
        with_timeout.configure(&mut engine)?;
        let mut of_games = settings.game_options(&external.name).into_iter();
        of_games.try_for_each(|options| engine.set_options(texts(&options)))
    });
    let name = &external.name;
    match tried {
        Err(error) if error.is_mistake() => Err(Error::EngineOptions {
            name: name.clone(),
            why: error.to_string(),
        }),
        Err(error @ EngineError::Silent { .. }) => Ok(Some(format!(
            "engine `{name}`: {error}, so its options are tested when it is started; if it needs longer than \
             start_timeout_s = {}, the embedded engine plays instead",
            external.start_timeout_s
        ))),
        Err(error) => {
            let condition = match error.key() {
                Some(key) => format!("correct `{key}` of [[engine.external]], or"),
                None => "unless that changes,".to_owned(),
            };
            Ok(Some(format!(
                "engine `{name}`: {error}; {condition} the embedded engine plays instead after a restart"
            )))
        }
        Ok(()) => Ok(None),
    }
}

fn texts(options: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    options.iter().map(|(name, value)| (&**name, &**value))
}

/// Refuses options of games that a running engine does not have, as far as it has started.
pub(super) fn check_game_options(
    settings: &Settings,
    externals: &[ExternalEngine],
) -> Result<(), Error> {
    let wrong = externals.iter().find_map(|engine| {
        let mut of_games = settings.game_options(engine.name()).into_iter();
        let why = of_games.find_map(|options| engine.option_problem(&options))?;
        let name = engine.name().to_owned();
        Some(Error::EngineOptions { name, why })
    });
    wrong.map_or(Ok(()), Err)
}

/// Returns a function that reads the token again.
fn token_reader(source: TokenSource) -> ReadToken {
    Arc::new(move || source.read().map_err(|error| error.to_string()))
}

/// Opens the configured books.
fn book_set(settings: &Settings) -> Result<BookSet, Error> {
    let wanted = &settings.book;
    if !settings.has_books() {
        return Ok(BookSet::empty());
    }
    let mut opened: BTreeMap<&Path, Arc<Book>> = BTreeMap::new();
    let mut all = Vec::new();
    for variant in Variant::ALL {
        let mut books = Vec::new();
        for path in wanted.files_for(*variant) {
            if !opened.contains_key(path) {
                opened.insert(path, Arc::new(Book::open(path)?));
            }
            books.push(Arc::clone(&opened[path]));
        }
        if let Some(rules) = variant.rules().filter(|_| wanted.embedded) {
            books.push(Arc::new(Book::embedded_for(rules)));
        }
        all.push((*variant, books));
    }
    Ok(BookSet::new(all, wanted))
}
