//! `knightwatch init`: a few questions, then a configuration and a token file, and for a service the unit of systemd.
//!
//! Nothing is written before the last of these questions is answered. Then all files are written together.

mod files;
mod hidden;
mod next;
mod questions;
mod service;
mod talk;
mod token;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Args;

use crate::config::{SERVICE_CONFIG, SERVICE_TOKEN, Settings, Sources, TokenSource};
use crate::doctor::{self, Owner};
use files::{NewFile, write_together};
use service::{Service, quoted};
use talk::{Talk, is_end};
use token::{can_become_a_bot, identify};

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
}

/// The name by which a shell finds this program again: as it was called.
fn program_name() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    let path = called.filter(|path| path.components().count() > 1);
    path.map_or("knightwatch".to_owned(), |path| quoted(&path))
}
