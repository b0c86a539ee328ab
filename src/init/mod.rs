//! `knightwatch init`: asks questions, then writes the configuration, the token file and the systemd unit.
//!
//! Nothing is written before the last question is answered. Then all files are written together.

mod converted;
mod engines;
mod files;
mod hidden_input;
mod next_steps;
mod prompt;
mod questions;
mod service;
mod service_command;
mod token;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Args;

use crate::check::{self, Owner};
use crate::config::{SERVICE_CONFIG, SERVICE_TOKEN, Settings, Sources, TokenSource};
use crate::credentials::is_unresolved;
use files::{NewFile, write_together};
use prompt::{Prompt, is_end_of_input};
use service::{Service, shell_quoted};
pub use service_command::ServiceCommand;
use token::{can_become_a_bot, identify};

/// Options of `init`.
#[derive(Args, Clone, Debug, Default)]
pub struct InitOptions {
    /// The configuration file to write [default: ~/.config/knightwatch/config.toml]
    #[arg(short, long, value_name = "FILE", conflicts_with = "service")]
    config: Option<PathBuf>,
    /// Take the settings and the token from this config.yml of lichess-bot or BotLi, and ask for none of them
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Set up the system service: /etc/knightwatch/config.toml, /etc/knightwatch/token and the unit for systemd
    #[arg(long)]
    service: bool,
    /// Set it up in the system below this directory, such as a mounted image
    #[arg(long, value_name = "DIR", requires = "service")]
    root: Option<PathBuf>,
}

/// Asks the questions, tests the token, writes the files, and offers `upgrade` and `check`.
///
/// If an existing configuration is kept and checked, the exit code is that of `check`.
///
/// # Errors
/// When the input ends too early, a file cannot be written, an existing configuration is invalid, or the service cannot be
/// set up.
pub fn run(options: InitOptions) -> anyhow::Result<ExitCode> {
    let sources = Sources::from_process(None, Vec::new());
    let init = Init {
        prompt: Prompt::new(),
        from: options.from.clone(),
        place: Place::new(options, &sources)?,
        sources,
    };
    init.place.test_write()?;
    let plan = init.plan().map_err(|error| match error.downcast_ref() {
        Some(end) if is_end_of_input(end) => {
            anyhow!("the answers ended before the last question: nothing was written")
        }
        _ => error,
    })?;
    init.write(&plan)?;
    let mut outcome = Outcome::default();
    match init.follow_up(&plan, &mut outcome) {
        Err(error) if error.downcast_ref().is_some_and(is_end_of_input) => init.prompt.print("")?,
        outcome => outcome?,
    }
    init.print_next_steps(&plan, &outcome)?;
    Ok(ExitCode::from(outcome.exit_code))
}

/// The files to set up.
struct Place {
    config: PathBuf,
    token: PathBuf,
    service: Option<Service>,
}

impl Place {
    fn new(options: InitOptions, sources: &Sources) -> anyhow::Result<Self> {
        if !options.service {
            let config = options.config.or_else(|| sources.user_file());
            let config = config
                .context("there is no home directory for the configuration: use --config FILE")?;
            let token = config.with_file_name("token");
            return Ok(Self {
                config,
                token,
                service: None,
            });
        }
        if options.root.is_none() && !sources.superuser {
            bail!(
                "the files of the service are below /etc, so this needs root: sudo {} init --service",
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

    /// Tests whether the files can be written, before asking questions.
    fn test_write(&self) -> anyhow::Result<()> {
        let unit = self.service.as_ref().filter(|one| one.has_systemd());
        let unit = unit.map(Service::unit_file);
        for path in [&self.config, &self.token].into_iter().chain(&unit) {
            files::test_write(path).map_err(|error| {
                let elsewhere = match self.service {
                    Some(_) => "",
                    None => ", or use --config FILE",
                };
                anyhow!("{error:#}: correct this{elsewhere}")
            })?;
        }
        Ok(())
    }
}

/// Result of the questions.
#[derive(Default)]
struct Plan {
    files: Vec<NewFile>,
    /// The account, if the token was tested.
    owner: Option<Owner>,
    has_token: bool,
    /// An existing token file that others can read.
    open_token: Option<PathBuf>,
    /// The settings of an existing configuration that is kept.
    kept: Option<Settings>,
    /// The server in the new configuration.
    server: Option<String>,
}

/// Result of the steps after writing the files.
#[derive(Default)]
struct Outcome {
    is_bot: bool,
    was_checked: bool,
    is_started: bool,
    /// Exit code of `check` for an existing configuration that is kept.
    exit_code: u8,
}

struct Init {
    prompt: Prompt,
    /// The configuration of another bot.
    from: Option<PathBuf>,
    place: Place,
    sources: Sources,
}

impl Init {
    /// Asks all questions, before anything is written.
    fn plan(&self) -> anyhow::Result<Plan> {
        let (prompt, config) = (&self.prompt, &self.place.config);
        let has_service = Path::new(SERVICE_CONFIG).exists();
        let is_for_service = has_service || self.sources.environment.contains_key("SUDO_USER");
        if self.place.service.is_none() && self.sources.superuser && is_for_service {
            prompt.print(
                "You are root: this configuration is for the user root. For the service use init --service.",
            )?;
        }
        let mut plan = Plan::default();
        if !config.exists() {
            self.fill(&mut plan, None)?;
        } else if prompt.yes(
            format_args!("{} exists. Replace it?", config.display()),
            false,
        )? {
            let known = self.known()?;
            self.fill(&mut plan, known)?;
        } else {
            prompt.print(format_args!("{} is kept.", config.display()))?;
            let mut settings = self.kept()?;
            let token = settings.token.as_ref();
            let has_token = token.is_some_and(|source| source.read().is_ok());
            // The service reads what systemd passes to it. `check` says whether that works for another file.
            let is_elsewhere =
                self.place.service.is_some() && self.other_token_file(&settings).is_some();
            if has_token || is_elsewhere || !settings.account.is_empty() {
                plan.has_token = true;
                plan.owner = self.identify_owner(&settings)?;
            } else {
                self.ask_missing_token(&mut plan, &mut settings)?;
            }
            plan.kept = Some(settings);
        }
        self.plan_unit(&mut plan)?;
        Ok(plan)
    }

    /// Plans the configuration: converted from another bot, or from answers.
    fn fill(&self, plan: &mut Plan, known: Option<Settings>) -> anyhow::Result<()> {
        match &self.from {
            Some(file) => self.convert(plan, file),
            None => self.ask(plan, known),
        }
    }

    /// The settings of the configuration that will be replaced, without environment and arguments.
    fn known(&self) -> anyhow::Result<Option<Settings>> {
        let config = self.place.config.display();
        let kept = files::backup_path(&self.place.config);
        let kept = kept.display();
        match self.load() {
            Ok(settings) if !settings.account.is_empty() => {
                bail!("{config} has several accounts, which init does not support: edit it by hand")
            }
            Ok(settings) => {
                match &self.from {
                    Some(file) => self.prompt.print(format_args!(
                        "Its settings are replaced by those of {}. It is kept as {kept}.",
                        file.display()
                    ))?,
                    None => self.prompt.print(format_args!(
                        "Its values are the defaults. It is kept as {kept}, with all settings that are not asked here."
                    ))?,
                }
                Ok(Some(settings))
            }
            Err(_) => {
                self.prompt.print(format_args!(
                    "It has errors, so its values are not used as defaults. It is kept as {kept}."
                ))?;
                Ok(None)
            }
        }
    }

    /// The settings of the existing configuration, as used by `check`.
    fn kept(&self) -> anyhow::Result<Settings> {
        if self.place.service.is_none() {
            return Ok(Settings::load(&Sources {
                file: Some(self.place.config.clone()),
                ..self.sources.clone()
            })?);
        }
        let mut settings = self.load()?;
        match self.other_token_file(&settings) {
            Some(named) => self.prompt.print(format_args!(
                "It names the token file {}, so the service does not use {}.",
                named.display(),
                self.place.token.display()
            ))?,
            None => settings.token = Some(TokenSource::File(self.place.token.clone())),
        }
        Ok(settings)
    }

    /// The token file that the settings name, if it is not the one to set up.
    fn other_token_file<'a>(&self, settings: &'a Settings) -> Option<&'a Path> {
        let is_ours = |file: &Path| file == self.place.token || file == Path::new(SERVICE_TOKEN);
        named_token_file(settings).filter(|file| !is_ours(file))
    }

    /// The account of the existing configuration, if it can be determined; `check` reports problems.
    fn identify_owner(&self, settings: &Settings) -> anyhow::Result<Option<Owner>> {
        let token = match &settings.token {
            Some(source) if settings.account.is_empty() => source.read().ok(),
            _ => None,
        };
        let owner = token.and_then(|token| identify(&settings.lichess, token).ok().flatten());
        if let Some(owner) = &owner {
            self.print_owner(owner)?;
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

    fn plan_unit(&self, plan: &mut Plan) -> io::Result<()> {
        let service = self.place.service.as_ref();
        let Some(service) = service.filter(|service| service.has_systemd()) else {
            return Ok(());
        };
        let (path, text) = (service.unit_file(), service.unit());
        if path.symlink_metadata().is_err() && service.packaged_unit().is_some() {
            return Ok(());
        }
        if let Ok(old) = fs::read(&path) {
            let kept = files::backup_path(&path);
            let replace = format_args!(
                "{} exists and differs from this version. Replace it, and keep the old one as {}?",
                path.display(),
                kept.display()
            );
            if old == text.as_bytes() || !self.prompt.yes(replace, false)? {
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

    fn write(&self, plan: &Plan) -> anyhow::Result<()> {
        if plan.files.is_empty() {
            return Ok(());
        }
        let directory = self.place.config.parent();
        if let Some(directory) = directory.filter(|_| self.place.service.is_some())
            && !directory.exists()
        {
            // The user of the service needs access, independent of the umask.
            let made = fs::create_dir_all(directory)
                .and_then(|()| fs::set_permissions(directory, fs::Permissions::from_mode(0o755)));
            made.with_context(|| format!("cannot create {}", directory.display()))?;
        }
        write_together(&plan.files)?;
        self.prompt.print("")?;
        for file in &plan.files {
            self.prompt
                .print(format_args!("Wrote {}", file.path.display()))?;
        }
        if let Some(token) = &plan.open_token {
            let closed = fs::set_permissions(token, fs::Permissions::from_mode(0o600));
            let (path, command) = (token.display(), shell_quoted(token));
            self.prompt.print(match closed {
                Ok(()) => format!("Others could read {path}: changed its mode to 0600"),
                Err(error) => {
                    format!(
                        "Others can read {path} ({error}): run chmod 600 {command} as its owner"
                    )
                }
            })?;
        }
        let service = self.place.service.as_ref();
        if let Some(service) = service.filter(|service| service.can_start())
            && plan
                .files
                .iter()
                .any(|file| file.path == service.unit_file())
            && let Err(error) = service.reload_unit()
        {
            self.prompt
                .print(format_args!("systemd did not reload the unit: {error}"))?;
        }
        Ok(())
    }

    /// Offers `upgrade`, `check` and the start of the service.
    fn follow_up(&self, plan: &Plan, outcome: &mut Outcome) -> anyhow::Result<()> {
        let prompt = &self.prompt;
        outcome.is_bot = plan.owner.as_ref().is_some_and(|owner| owner.user.is_bot());
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
            if plan.kept.is_none() {
                settings.token = Some(TokenSource::File(self.place.token.clone()));
            }
        }
        let runtime = check::runtime()?;
        let upgradable = plan.owner.as_ref().filter(|owner| can_become_a_bot(owner));
        if let Some(owner) = upgradable
            && prompt.yes(
                format_args!("Make {} a bot account now?", owner.user.username),
                false,
            )?
        {
            let ask = |warning: &str| {
                prompt.print(warning)?;
                match prompt.answer("> ") {
                    Err(end) if is_end_of_input(&end) => Ok(Some(String::new())),
                    answer => answer.map(Some),
                }
            };
            match runtime.block_on(check::upgrade(&settings, false, ask)) {
                Ok(what) => {
                    prompt.print(what)?;
                    outcome.is_bot = true;
                }
                Err(error) => prompt.print(error)?,
            }
        }
        if !prompt.yes("Check everything now?", true)? {
            return Ok(());
        }
        let mut report = runtime.block_on(check::check(&settings));
        outcome.was_checked = report.is_ready();
        if let Some((step, _)) = self.steps(plan, outcome).into_iter().next() {
            report.next = step;
        }
        prompt.print(&report)?;
        if plan.kept.is_some() {
            outcome.exit_code = report.exit_code();
        }
        let Some(service) = self.place.service.as_ref() else {
            return Ok(());
        };
        if report.is_ready()
            && service.can_start()
            && !service.is_running()
            && prompt.yes(
                "Start the service now, and whenever the machine starts?",
                true,
            )?
        {
            match service.start() {
                Ok(()) => outcome.is_started = true,
                Err(error) => prompt.print(format_args!("It could not be started: {error}"))?,
            }
        }
        Ok(())
    }
}

/// The token file that the settings name, unless it is a credential that only the service can find.
fn named_token_file(settings: &Settings) -> Option<&Path> {
    let named = settings.lichess.token_file.as_deref();
    named.filter(|file| !is_unresolved(file))
}

/// The command that runs this program in a shell.
fn program_name() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    let path = called.filter(|path| path.components().count() > 1);
    path.map_or("knightwatch".to_owned(), |path| shell_quoted(&path))
}
