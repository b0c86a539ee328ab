//! `knightwatch init`: a few questions, then a configuration and a token file, and for a service the unit of systemd.
//!
//! Nothing is written before the last of these questions is answered. Then all files are written together.

mod files;
mod hidden;
mod service;
mod talk;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Args;

use crate::config::{
    Lichess, SERVICE_CONFIG, SERVICE_TOKEN, Settings, Sources, TOKEN_VARIABLE, TokenSource,
};
use crate::doctor::{self, Owner, SCOPES};
use crate::lichess::{Client, Endpoint, Token, is_credential, readable_by_others};
use files::{NewFile, write_together};
use service::{Service, quoted};
use talk::{Talk, is_end};

/// What to set up.
#[derive(Args, Clone, Debug, Default)]
pub struct InitOptions {
    /// The configuration file to write [default: ~/.config/knightwatch/config.toml]
    #[arg(short, long, value_name = "FILE", conflicts_with = "service")]
    config: Option<PathBuf>,
    /// Set up the system service: /etc/knightwatch/config.toml, /etc/knightwatch/token and the unit for systemd
    #[arg(long)]
    service: bool,
    /// Set it up in the system below this directory, such as a mounted image
    #[arg(long, value_name = "DIR", requires = "service")]
    root: Option<PathBuf>,
    /// Print the unit for systemd, and do nothing else
    #[arg(long, conflicts_with_all = ["config", "service"])]
    print_unit: bool,
}

/// The variable of the environment that sets the server for every command.
const SERVER_VARIABLE: &str = "KNIGHTWATCH__LICHESS__URL";

/// Asks on the terminal, tries the token, and writes the files. Goes on to `upgrade` and `check` where that is wanted. Where
/// the configuration is kept and checked, the exit code is that of `check`.
///
/// # Errors
/// When the answers end too soon, a file cannot be written, a configuration that is kept cannot be used, or a service cannot
/// be set up here.
pub fn run(options: InitOptions) -> anyhow::Result<ExitCode> {
    if options.print_unit {
        let (unit, remark) = service::printed_unit();
        write!(io::stdout(), "{unit}")?;
        if let Some(remark) = remark {
            writeln!(io::stderr(), "note: {remark}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let sources = Sources::of_process(None, Vec::new());
    let init = Init {
        talk: Talk::new(),
        place: Place::new(options, &sources)?,
        sources,
    };
    init.place.try_to_write()?;
    let plan = init.plan().map_err(|error| match error.downcast_ref() {
        Some(end) if is_end(end) => {
            anyhow!("the answers ended before the last question: nothing was written")
        }
        _ => error,
    })?;
    init.write(&plan)?;
    let mut done = Done::default();
    match init.go_on(&plan, &mut done) {
        Err(error) if error.downcast_ref().is_some_and(is_end) => init.talk.say("")?,
        outcome => outcome?,
    }
    init.say_what_is_next(&plan, &done)?;
    Ok(ExitCode::from(done.exit_code))
}

/// The files that are set up.
struct Place {
    config: PathBuf,
    token: PathBuf,
    service: Option<Service>,
}

impl Place {
    fn new(options: InitOptions, sources: &Sources) -> anyhow::Result<Self> {
        if !options.service {
            let config = options.config.or_else(|| sources.user_file());
            let config = config.context(
                "there is no home directory to put the configuration in: name a file with --config",
            )?;
            let token = config.with_file_name("token");
            return Ok(Self {
                config,
                token,
                service: None,
            });
        }
        if options.root.is_none() && !sources.superuser {
            bail!(
                "the files of the service are below /etc, so this takes root: sudo {} init --service",
                program_name()
            );
        }
        let service = Service::new(options.root)?;
        Ok(Self {
            config: service.place(SERVICE_CONFIG),
            token: service.place(SERVICE_TOKEN),
            service: Some(service),
        })
    }

    /// Whether the files can be written, which is found out before anything is asked.
    fn try_to_write(&self) -> anyhow::Result<()> {
        let unit = self.service.as_ref().filter(|one| one.has_systemd());
        let unit = unit.map(Service::unit_file);
        for path in [&self.config, &self.token].into_iter().chain(&unit) {
            files::try_to_write(path).map_err(|error| {
                let elsewhere = match self.service {
                    Some(_) => "",
                    None => ", or name another place with --config FILE",
                };
                anyhow!("{error:#}: nothing was asked; put that right{elsewhere}")
            })?;
        }
        Ok(())
    }
}

/// What the answers come to.
#[derive(Default)]
struct Plan {
    files: Vec<NewFile>,
    /// The account, if Lichess was asked.
    owner: Option<Owner>,
    has_token: bool,
    /// A token file that stays, though others can read it.
    open_token: Option<PathBuf>,
    /// The settings of a configuration that was there and stays.
    kept: Option<Settings>,
    /// The server in the configuration that is written.
    server: Option<String>,
}

/// What was done after the files were written.
#[derive(Default)]
struct Done {
    is_bot: bool,
    was_checked: bool,
    is_started: bool,
    /// What `check` has found of a configuration that was kept.
    exit_code: u8,
}

/// The token that was chosen.
enum Choice {
    Later,
    /// That of the file.
    Kept(Option<Owner>),
    New(String, Option<Owner>),
}

/// What came of trying a token.
enum Trial {
    Taken(Option<Owner>),
    Refused,
}

struct Init {
    talk: Talk,
    place: Place,
    sources: Sources,
}

impl Init {
    /// Asks all that has to be known before anything is written.
    fn plan(&self) -> anyhow::Result<Plan> {
        let (talk, config) = (&self.talk, &self.place.config);
        let has_service = Path::new(SERVICE_CONFIG).exists();
        let is_for_service = has_service || self.sources.environment.contains_key("SUDO_USER");
        if self.place.service.is_none() && self.sources.superuser && is_for_service {
            talk.say(
                "You are root: this is a configuration of root's own. That of the service is written by init --service.",
            )?;
        }
        let mut plan = Plan::default();
        if !config.exists() {
            self.ask(&mut plan, None)?;
        } else if talk.yes(
            format_args!("{} exists. Replace it?", config.display()),
            false,
        )? {
            let known = self.known()?;
            self.ask(&mut plan, known)?;
        } else {
            talk.say(format_args!("{} stays as it is.", config.display()))?;
            let settings = self.kept()?;
            plan.has_token = settings.token.is_some() || !settings.account.is_empty();
            plan.owner = self.owner_of(&settings)?;
            plan.kept = Some(settings);
        }
        self.plan_unit(&mut plan)?;
        Ok(plan)
    }

    /// The settings of the configuration that is replaced. Only the file counts, and neither variables nor arguments.
    fn known(&self) -> anyhow::Result<Option<Settings>> {
        let config = self.place.config.display();
        let kept = files::kept_as(&self.place.config);
        let kept = kept.display();
        match self.load() {
            Ok(settings) if !settings.account.is_empty() => bail!(
                "{config} has several accounts, which init does not ask about: change it in an editor"
            ),
            Ok(settings) => {
                self.talk.say(format_args!(
                    "Its answers are the defaults. It stays as {kept}, with everything that is not asked here."
                ))?;
                Ok(Some(settings))
            }
            Err(_) => {
                self.talk.say(format_args!(
                    "It has mistakes, so its answers are not the defaults. It stays as {kept}."
                ))?;
                Ok(None)
            }
        }
    }

    /// The settings of the configuration that is kept, as `check` has them.
    fn kept(&self) -> anyhow::Result<Settings> {
        if self.place.service.is_none() {
            return Ok(Settings::load(&Sources {
                file: Some(self.place.config.clone()),
                ..self.sources.clone()
            })?);
        }
        let mut settings = self.load()?;
        if self.place.token.exists() {
            settings.token = Some(TokenSource::File(self.place.token.clone()));
        }
        Ok(settings)
    }

    /// The account of a configuration that is kept, as far as it can be told: what keeps it from that is found by `check`.
    fn owner_of(&self, settings: &Settings) -> anyhow::Result<Option<Owner>> {
        let token = match &settings.token {
            Some(source) if settings.account.is_empty() => source.read().ok(),
            _ => None,
        };
        let owner = token.and_then(|token| identify(&settings.lichess, token).ok().flatten());
        if let Some(owner) = &owner {
            self.introduce(owner)?;
        }
        Ok(owner)
    }

    fn load(&self) -> Result<Settings, crate::config::Error> {
        let mut environment = self.sources.environment.clone();
        environment.retain(|name, _| name == "HOME");
        Settings::load(&Sources {
            file: Some(self.place.config.clone()),
            environment,
            ..Sources::default()
        })
    }

    /// The questions of a configuration.
    fn ask(&self, plan: &mut Plan, known: Option<Settings>) -> anyhow::Result<()> {
        let talk = &self.talk;
        let known = known.unwrap_or_default();
        let mut server = known.lichess.clone();
        let address = match self.server_of_environment() {
            Some(address) => address,
            None => known.lichess.address().to_owned(),
        };
        let address = talk.value("Which server?", (&address, &address), |address: &String| {
            let endpoint = Endpoint::parse(address);
            endpoint.map(drop).map_err(|error| error.to_string())
        })?;
        server.url = address.parse()?;
        let token_file = match known.lichess.token_file {
            Some(file) if self.place.service.is_none() && !is_credential(&file) => file,
            _ => self.place.token.clone(),
        };
        files::try_to_write(&token_file)?;
        talk.say(format_args!(
            "A token is made here, by the account that is to be the bot; its scopes are ticked already:\n  {}",
            doctor::token_page(&server)
        ))?;
        let choice = self.ask_token(&server, &token_file)?;
        let games = known.games.concurrency;
        let games = talk.value("How many games at once?", (&games, games), |n| {
            (*n > 0).then_some(()).ok_or("at least 1".to_owned())
        })?;
        let hash = known.engine.hash_mib;
        let hash = talk.value(
            "How much memory for the engine's hash table, in MiB?",
            (&hash, hash),
            |n| {
                let fits = (1..=65_536).contains(n);
                fits.then_some(()).ok_or("from 1 to 65536".to_owned())
            },
        )?;
        let bots = talk.yes("Play against other bots?", known.challenge.bots)?;
        let rated = talk.yes("Play rated games?", known.challenge.rated)?;
        let seeks = bots
            && talk.yes(
                "Look for games against other bots when idle?",
                known.matchmaking.enabled,
            )?;

        plan.has_token = !matches!(choice, Choice::Later);
        plan.server = Some(server.address().to_owned());
        if matches!(choice, Choice::Kept(_)) && readable_by_others(&token_file).is_some() {
            plan.open_token = Some(token_file.clone());
        }
        if let Choice::New(token, _) = &choice {
            plan.files.push(NewFile {
                path: token_file.clone(),
                text: format!("{token}\n").into(),
                mode: 0o600,
            });
        }
        let mut text = "# Written by knightwatch init. config.example.toml lists everything that can be set.\n\n\
                        [lichess]\n"
            .to_owned();
        let quote = |value: &str| toml::Value::from(value).to_string();
        writeln!(text, "url = {}", quote(server.address()))?;
        if let Some(file) = &server.ca_file {
            writeln!(text, "ca_file = {}", quote(&file.to_string_lossy()))?;
        }
        let name = match token_file.parent() == self.place.config.parent() {
            true => token_file.file_name().map(Path::new).unwrap_or(&token_file),
            false => &token_file,
        };
        let name = quote(&name.to_string_lossy());
        match (&self.place.service, plan.has_token) {
            (Some(_), _) => writeln!(
                text,
                "# The token is in {SERVICE_TOKEN}. The unit passes it on as a credential, which needs no setting."
            )?,
            (None, true) => writeln!(text, "token_file = {name}")?,
            (None, false) => writeln!(text, "# token_file = {name}")?,
        }
        write!(
            text,
            "\n[engine]\nhash_mib = {hash}\n\n[games]\nconcurrency = {games}\n\n\
             [challenge]\nbots = {bots}\nrated = {rated}\n\n[matchmaking]\nenabled = {seeks}\n"
        )?;
        if seeks {
            write!(
                text,
                "\n# Blitz against bots of about the same rating, one game with each colour.\n\
                 [[matchmaking.profile]]\nclock = [\"3+2\", \"5+3\"]\nrating_diff = \"-300..300\"\nrated = {rated}\n"
            )?;
        }
        self.plan_configuration(plan, text)?;
        plan.owner = match choice {
            Choice::Kept(owner) | Choice::New(_, owner) => owner,
            Choice::Later => None,
        };
        Ok(())
    }

    /// The server that a variable sets for all commands, where it can be used.
    fn server_of_environment(&self) -> Option<String> {
        let address = self.sources.environment.get(SERVER_VARIABLE)?;
        let address = address.trim().trim_end_matches('/');
        Endpoint::parse(address).ok().map(|_| address.to_owned())
    }

    /// The configuration, and the one before it under another name.
    fn plan_configuration(&self, plan: &mut Plan, text: String) -> anyhow::Result<()> {
        let config = &self.place.config;
        let mut mode = 0o644;
        if config.exists() {
            let unreadable = || format!("cannot read {}", config.display());
            let old = fs::read(config).with_context(unreadable)?;
            let about = fs::metadata(config).with_context(unreadable)?;
            let old_mode = about.permissions().mode() & 0o777;
            // The service has a user of its own, who has to read it.
            mode = match self.place.service {
                Some(_) => mode | old_mode,
                None => old_mode,
            };
            if old != text.as_bytes() {
                plan.files.push(NewFile {
                    path: files::kept_as(config),
                    text: old,
                    mode: old_mode,
                });
            }
        }
        plan.files.push(NewFile {
            path: config.clone(),
            text: text.into(),
            mode,
        });
        Ok(())
    }

    fn plan_unit(&self, plan: &mut Plan) -> io::Result<()> {
        let service = self.place.service.as_ref();
        let Some(service) = service.filter(|service| service.has_systemd()) else {
            return Ok(());
        };
        let (path, text) = (service.unit_file(), service.unit());
        if let Ok(old) = fs::read(&path) {
            let kept = files::kept_as(&path);
            let replace = format_args!(
                "{} exists and is not that of this version. Replace it, and keep it as {}?",
                path.display(),
                kept.display()
            );
            if old == text.as_bytes() || !self.talk.yes(replace, false)? {
                return Ok(());
            }
            let about = fs::metadata(&path)?;
            plan.files.push(NewFile {
                path: kept,
                text: old,
                mode: about.permissions().mode() & 0o777,
            });
        }
        plan.files.push(NewFile {
            path,
            text: text.into(),
            mode: 0o644,
        });
        Ok(())
    }

    /// A token that Lichess knows, or that is wanted although it cannot be asked.
    fn ask_token(&self, server: &Lichess, file: &Path) -> anyhow::Result<Choice> {
        let talk = &self.talk;
        let mut question = "The token (Enter to do it later): ";
        if file.exists() {
            let replace = format!("{} exists. Replace the token in it?", file.display());
            if !talk.yes(replace, false)? {
                question = "Another token, which replaces it (Enter to keep it): ";
                match Token::from_file(file) {
                    Ok(token) => {
                        if let Trial::Taken(owner) = self.try_token(server, token)? {
                            return Ok(Choice::Kept(owner));
                        }
                    }
                    Err(error) => talk.say(format_args!("  {error}"))?,
                }
            }
        }
        loop {
            let text = talk.secret(question)?;
            if text.is_empty() {
                return Ok(match file.exists() {
                    true => Choice::Kept(None),
                    false => Choice::Later,
                });
            }
            match text.parse::<Token>() {
                Ok(token) => {
                    let length = text.len();
                    talk.say(format_args!("  token received ({length} characters)"))?;
                    if let Trial::Taken(owner) = self.try_token(server, token)? {
                        return Ok(Choice::New(text, owner));
                    }
                }
                Err(why) => talk.say(format_args!("  what was received {why}"))?,
            }
        }
    }

    /// Asks Lichess about a token and says what it answers.
    fn try_token(&self, server: &Lichess, token: Token) -> anyhow::Result<Trial> {
        let talk = &self.talk;
        let owner = match identify(server, token) {
            Ok(Some(owner)) => owner,
            Ok(None) => {
                talk.say("  Lichess does not know this token: it was revoked, has ended, or is not complete")?;
                return Ok(Trial::Refused);
            }
            Err(error) => {
                talk.say(format_args!("  It cannot be tried: {error}"))?;
                return Ok(match talk.yes("Go on without that?", false)? {
                    true => Trial::Taken(None),
                    false => Trial::Refused,
                });
            }
        };
        self.introduce(&owner)?;
        let concerns = concerns(&owner);
        for concern in &concerns {
            talk.say(format_args!("  problem: {concern}"))?;
        }
        let is_taken = concerns.is_empty() || talk.yes("Use this token all the same?", false)?;
        Ok(match is_taken {
            true => Trial::Taken(Some(owner)),
            false => Trial::Refused,
        })
    }

    fn introduce(&self, owner: &Owner) -> io::Result<()> {
        let kind = match owner.user.is_bot() {
            true => "a bot account",
            false => "not a bot account yet",
        };
        let (name, played) = (&owner.user.username, games(owner.games()));
        self.talk
            .say(format_args!("  This is {name}: {kind}, {played} played"))
    }

    fn write(&self, plan: &Plan) -> anyhow::Result<()> {
        if plan.files.is_empty() {
            return Ok(());
        }
        let directory = self.place.config.parent();
        if let Some(directory) = directory.filter(|_| self.place.service.is_some())
            && !directory.exists()
        {
            // The service's user has to get in, whatever the umask is.
            let made = fs::create_dir_all(directory)
                .and_then(|()| fs::set_permissions(directory, fs::Permissions::from_mode(0o755)));
            made.with_context(|| format!("cannot make {}", directory.display()))?;
        }
        write_together(&plan.files)?;
        self.talk.say("")?;
        for file in &plan.files {
            self.talk
                .say(format_args!("Wrote {}", file.path.display()))?;
        }
        if let Some(token) = &plan.open_token {
            let closed = fs::set_permissions(token, fs::Permissions::from_mode(0o600));
            let (path, command) = (token.display(), quoted(token));
            self.talk.say(match closed {
                Ok(()) => format!("Others could read {path}: its mode is 0600 now"),
                Err(error) => {
                    format!("Others can read {path} ({error}): do chmod 600 {command} as its owner")
                }
            })?;
        }
        let service = self.place.service.as_ref();
        if let Some(service) = service.filter(|service| service.can_start())
            && plan
                .files
                .iter()
                .any(|file| file.path == service.unit_file())
            && let Err(error) = service.reread_unit()
        {
            self.talk
                .say(format_args!("systemd has not read the unit: {error}"))?;
        }
        Ok(())
    }

    /// What `upgrade`, `check` and `systemctl` would do next, as far as it is wanted.
    fn go_on(&self, plan: &Plan, done: &mut Done) -> anyhow::Result<()> {
        let talk = &self.talk;
        done.is_bot = plan.owner.as_ref().is_some_and(|owner| owner.user.is_bot());
        if plan.kept.is_none() && (!plan.has_token || plan.owner.is_none()) {
            return Ok(());
        }
        let mut settings = match &plan.kept {
            Some(settings) => settings.clone(),
            None => self.load()?,
        };
        if let Some(service) = &self.place.service {
            settings.file = Some(SERVICE_CONFIG.into());
            let directory = &mut settings.records.directory;
            directory.get_or_insert_with(|| service.state_directory());
            settings.token = Some(TokenSource::File(self.place.token.clone()));
        }
        let runtime = doctor::runtime()?;
        let upgradable = plan.owner.as_ref().filter(|owner| can_become_a_bot(owner));
        if let Some(owner) = upgradable
            && talk.yes(
                format_args!("Make {} a bot account now?", owner.user.username),
                false,
            )?
        {
            let ask = |warning: &str| {
                talk.say(warning)?;
                match talk.answer("> ") {
                    Err(end) if is_end(&end) => Ok(Some(String::new())),
                    answer => answer.map(Some),
                }
            };
            match runtime.block_on(doctor::upgrade(&settings, false, ask)) {
                Ok(what) => {
                    talk.say(what)?;
                    done.is_bot = true;
                }
                Err(error) => talk.say(error)?,
            }
        }
        if !talk.yes("Check everything now?", true)? {
            return Ok(());
        }
        let mut report = runtime.block_on(doctor::check(&settings));
        done.was_checked = report.is_ready();
        if let Some((step, _)) = self.steps(plan, done).into_iter().next() {
            report.next = step;
        }
        talk.say(&report)?;
        if plan.kept.is_some() {
            done.exit_code = report.exit_code();
        }
        let Some(service) = self.place.service.as_ref() else {
            return Ok(());
        };
        if report.is_ready()
            && service.can_start()
            && !service.is_running()
            && talk.yes(
                "Start the service now, and whenever the machine starts?",
                true,
            )?
        {
            match service.start() {
                Ok(()) => done.is_started = true,
                Err(error) => talk.say(format_args!("It could not be started: {error}"))?,
            }
        }
        Ok(())
    }

    /// What is still to do, each a command or an action, and why.
    fn steps(&self, plan: &Plan, done: &Done) -> Vec<(String, &'static str)> {
        let service = self.place.service.as_ref();
        let root = service.and_then(Service::root);
        let program = match (service, root) {
            (_, Some(_)) => "knightwatch".to_owned(),
            (Some(_), None) => format!("sudo {}", program_name()),
            (None, None) => program_name(),
        };
        let config = match service {
            Some(_) => String::new(),
            None => self.config_argument(),
        };
        let command = |name: &str| format!("{program} {name}{config}");
        let mut steps = Vec::new();
        if let Some(missing) = service.and_then(Service::missing_program) {
            let step = format!("install the program as {}", quoted(missing));
            steps.push((step, ""));
        }
        if !plan.has_token {
            let again = match service {
                Some(_) => format!("{program} init --service"),
                None => command("init"),
            };
            steps.push((
                again,
                "once more, when there is a token; it knows the other answers",
            ));
        } else if service.is_none()
            && plan.kept.is_none()
            && self.sources.environment.contains_key(TOKEN_VARIABLE)
        {
            let step = format!("unset {TOKEN_VARIABLE}");
            steps.push((
                step,
                "for there may be only one token, and it is in the file now",
            ));
        }
        if let (None, Some(set)) = (service, self.server_of_environment())
            && plan.server.as_ref().is_some_and(|server| *server != set)
        {
            let step = format!("unset {SERVER_VARIABLE}");
            steps.push((step, "for it takes the place of the server in the file"));
        }
        // Of a configuration that was kept the account may not be known: check says what it is.
        if !done.is_bot && (plan.owner.is_some() || plan.kept.is_none()) {
            steps.push((
                command("upgrade"),
                "makes the account a bot account, for good",
            ));
        }
        if !done.was_checked {
            steps.push((command("check"), "says what is still missing"));
        }
        match service {
            None => steps.push((command("run"), "plays")),
            Some(service) if done.is_started || service.is_running() => {
                if !done.is_started {
                    let drain = command("drain");
                    steps.push((drain, "restarts the service when its games are over"));
                }
                steps.push((command("status"), "says how it is doing"));
            }
            Some(service) if service.has_systemd() => {
                let sudo = if root.is_none() { "sudo " } else { "" };
                let start = format!("{sudo}systemctl enable --now knightwatch");
                steps.push((start, "plays, also after a restart of the machine"));
                steps.push((command("status"), "says how it is doing"));
            }
            Some(service) => {
                let state = service.state_directory();
                let credentials = self.place.token.parent().unwrap_or(&state);
                let start = format!(
                    "STATE_DIRECTORY={} CREDENTIALS_DIRECTORY={} {} run",
                    quoted(&state),
                    quoted(credentials),
                    program_name()
                );
                steps.push((start, "plays; have your own service manager do that"));
            }
        }
        steps
    }

    fn say_what_is_next(&self, plan: &Plan, done: &Done) -> anyhow::Result<()> {
        let service = self.place.service.as_ref();
        let steps = self.steps(plan, done);
        if service.is_some_and(|service| !service.has_systemd()) {
            self.talk.say(
                "systemd does not run here, so no unit was installed; knightwatch init --print-unit prints it.",
            )?;
        }
        self.talk.say(match service.and_then(Service::root) {
            Some(root) => format!("\nWhat is next, in the system below {}:", root.display()),
            None => "\nWhat is next:".to_owned(),
        })?;
        let lengths = steps.iter().map(|(step, _)| step.len());
        let width = lengths.filter(|length| *length <= 50).max().unwrap_or(0);
        for (number, (step, why)) in steps.iter().enumerate() {
            let line = format!("  {}. {step:<width$}   {why}", number + 1);
            self.talk.say(line.trim_end())?;
        }
        Ok(())
    }

    /// ` --config FILE`, where the file would not be found without.
    fn config_argument(&self) -> String {
        let real = |path: &Path| path.canonicalize().ok();
        let found = self.sources.find_file();
        let is_found = found.is_some_and(|found| real(&found) == real(&self.place.config));
        match is_found {
            true => String::new(),
            false => format!(" --config {}", quoted(&self.place.config)),
        }
    }
}

/// The name by which a shell finds this program again: as it was called.
fn program_name() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    let path = called.filter(|path| path.components().count() > 1);
    path.map_or("knightwatch".to_owned(), |path| quoted(&path))
}

/// Asks Lichess whose this token is; nothing when Lichess does not know it.
fn identify(server: &Lichess, token: Token) -> anyhow::Result<Option<Owner>> {
    let client = Client::new(&server.endpoint()?, token, None)?;
    match doctor::runtime()?.block_on(doctor::owner(&client)) {
        Err(error) if error.is_unauthorized() => Ok(None),
        owner => Ok(owner?),
    }
}

/// What keeps the bot from playing with this token, or in part.
fn concerns(owner: &Owner) -> Vec<String> {
    let name = &owner.user.username;
    let missing: Vec<&str> = SCOPES
        .into_iter()
        .filter(|scope| !owner.token.has(scope))
        .collect();
    let mut concerns = Vec::new();
    if owner.user.disabled {
        concerns.push(format!("{name} is closed"));
    }
    if !owner.user.is_bot() && owner.games() > 0 {
        concerns.push(format!(
            "{name} has played {}, so Lichess will not make it a bot account: make a new account that never plays, and \
             a token for it",
            games(owner.games())
        ));
    }
    match &missing[..] {
        [] => {}
        [one] => concerns.push(format!("the token lacks the scope {one}")),
        more => concerns.push(format!("the token lacks the scopes {}", more.join(", "))),
    }
    concerns
}

fn can_become_a_bot(owner: &Owner) -> bool {
    !owner.user.is_bot()
        && !owner.user.disabled
        && owner.games() == 0
        && owner.token.has("bot:play")
}

fn games(number: u64) -> String {
    match number {
        0 => "no games".to_owned(),
        1 => "one game".to_owned(),
        more => format!("{more} games"),
    }
}
