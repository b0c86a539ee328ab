//! `knightwatch service`: installs, prints and removes the systemd unit, without questions.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use super::files::{NewFile, backup_path, test_write, write_together};
use super::program_name;
use super::service::{self, Service, is_systemd_running, shell_quoted, systemctl};
use crate::config::{SERVICE_CONFIG, Sources};

#[derive(Clone, Debug, Subcommand)]
pub enum ServiceCommand {
    /// Install the unit; then it can be enabled and started
    #[command(after_help = "Examples:\n  \
        sudo knightwatch service install\n  \
        knightwatch service install --user --dry-run\n  \
        sudo knightwatch service install --root /mnt/image\n\n\
        A unit that differs from that of this version is replaced only with --force, and kept as FILE.old. \
        `knightwatch init --service` also writes a configuration and a token.")]
    Install {
        #[command(flatten)]
        place: PlaceArgs,
        /// Replace a unit that differs from that of this version
        #[arg(long)]
        force: bool,
    },
    /// Print the unit
    #[command(after_help = "Example: knightwatch service print --user")]
    Print {
        /// The unit for the systemd of a user
        #[arg(long)]
        user: bool,
    },
    /// Stop the service and remove the unit; configuration, token and records stay
    #[command(after_help = "Examples:\n  \
        sudo knightwatch service uninstall\n  \
        knightwatch service uninstall --user --dry-run\n\n\
        Running games get up to 15 minutes to finish.")]
    Uninstall {
        #[command(flatten)]
        place: PlaceArgs,
        /// Remove a unit that differs from that of this version
        #[arg(long)]
        force: bool,
    },
}

/// The systemd of a unit.
#[derive(Args, Clone, Debug)]
pub struct PlaceArgs {
    /// Use the systemd of this user instead of that of the system
    #[arg(long, conflicts_with = "root")]
    user: bool,
    /// Use the system below this directory, such as a mounted image
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

impl ServiceCommand {
    /// Runs the command; what it does is printed to `out`.
    ///
    /// # Errors
    /// When systemd is not running, rights are missing, or a unit differs from that of this version.
    pub fn run(self, out: &mut impl Write) -> anyhow::Result<()> {
        match self {
            Self::Print { user: true } => write!(out, "{}", service::user_unit()?)?,
            Self::Print { user: false } => {
                let (unit, remark) = service::printed_unit();
                write!(out, "{unit}")?;
                if let Some(remark) = remark {
                    writeln!(io::stderr(), "note: {remark}")?;
                }
            }
            Self::Install { place, force } => {
                Unit::new(place, Service::new)?.install(force, out)?;
            }
            Self::Uninstall { place, force } => {
                Unit::new(place, Service::installed)?.uninstall(force, out)?;
            }
        }
        Ok(())
    }
}

/// A unit and its place.
struct Unit {
    path: PathBuf,
    text: String,
    user: bool,
    /// The directory of an image, whose systemd is not running.
    root: Option<PathBuf>,
    dry_run: bool,
    /// The configuration that the service reads.
    config: PathBuf,
    missing_program: Option<PathBuf>,
    /// The unit of a package that is the same.
    packaged: Option<PathBuf>,
}

impl Unit {
    /// `service_of` gives the service below a root directory.
    fn new(
        place: PlaceArgs,
        service_of: impl FnOnce(Option<PathBuf>) -> anyhow::Result<Service>,
    ) -> anyhow::Result<Self> {
        let PlaceArgs {
            user,
            root,
            dry_run,
        } = place;
        if root.is_none() && !dry_run && !is_systemd_running() {
            bail!(
                "systemd is not running here: knightwatch service print prints the unit, and --root DIR uses the image at DIR"
            );
        }
        let sources = Sources::from_process(None, Vec::new());
        if user {
            let config = sources.user_file();
            let config = config.context("there is no home directory for the unit: set HOME")?;
            let directory = config.parent().and_then(Path::parent);
            let directory = directory.context("there is no directory for the unit: set HOME")?;
            let text = service::user_unit()?;
            return Ok(Self {
                packaged: service::packaged_user_unit(&text),
                path: directory.join("systemd/user/knightwatch.service"),
                text,
                user,
                root,
                dry_run,
                config,
                missing_program: None,
            });
        }
        if root.is_none() && !sources.superuser && !dry_run {
            bail!(
                "a unit of the system needs root: use sudo {}, or --user for a service of yours",
                program_name()
            );
        }
        let service = service_of(root.clone())?;
        Ok(Self {
            path: service.unit_file(),
            text: service.unit(),
            user,
            root,
            dry_run,
            config: service.place(SERVICE_CONFIG),
            missing_program: service.missing_program().map(Into::into),
            packaged: service.packaged_unit(),
        })
    }

    /// The installed unit, if it differs from this version.
    fn different(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(&self.path) {
            Ok(old) => Ok(Some(old).filter(|old| old != self.text.as_bytes())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The installed unit, if it differs from this version and may be changed.
    fn replaceable(&self, force: bool) -> anyhow::Result<Option<Vec<u8>>> {
        let path = shell_quoted(&self.path);
        let different = self
            .different()
            .with_context(|| format!("cannot read {path}"))?;
        if different.is_some() && !force {
            bail!(
                "{path} differs from the unit of this version, so it is left as it is: compare it with knightwatch service print, \
                 and use --force to go on"
            );
        }
        Ok(different)
    }

    fn install(&self, force: bool, out: &mut impl Write) -> anyhow::Result<()> {
        let is_free = self.path.symlink_metadata().is_err();
        if let Some(packaged) = self.packaged.as_ref().filter(|_| is_free) {
            writeln!(out, "{} is installed already", shell_quoted(packaged))?;
            return self.print_next_steps(out);
        }
        let mut files = Vec::new();
        if let Some(text) = self.replaceable(force)? {
            let path = backup_path(&self.path);
            files.push(NewFile {
                path,
                text,
                mode: 0o644,
            });
        }
        files.push(NewFile {
            path: self.path.clone(),
            text: self.text.clone().into(),
            mode: 0o644,
        });
        let verb = if self.dry_run { "Would write" } else { "Wrote" };
        if !self.dry_run {
            test_write(&self.path)?;
            write_together(&files)?;
        }
        for file in &files {
            writeln!(out, "{verb} {}", file.path.display())?;
        }
        self.systemctl(&["daemon-reload"], out)?;
        self.print_next_steps(out)
    }

    fn print_next_steps(&self, out: &mut impl Write) -> anyhow::Result<()> {
        match &self.root {
            Some(root) => writeln!(
                out,
                "\nNext steps, in the system below {}:",
                shell_quoted(root)
            )?,
            None => writeln!(out, "\nNext steps:")?,
        }
        if let Some(program) = &self.missing_program {
            writeln!(out, "  install the program as {}", shell_quoted(program))?;
        }
        let (sudo, user) = match self.user {
            true => ("", " --user"),
            false => ("sudo ", ""),
        };
        if !self.config.exists() {
            let service = if self.user { "" } else { " --service" };
            // In that system, as the heading says.
            let root = self.root.as_deref().unwrap_or(Path::new("/"));
            let there = self.config.strip_prefix(root).unwrap_or(&self.config);
            writeln!(
                out,
                "  {sudo}knightwatch init{service}   writes {}",
                shell_quoted(&Path::new("/").join(there))
            )?;
        }
        writeln!(out, "  {sudo}systemctl{user} enable --now knightwatch")?;
        if self.user {
            writeln!(
                out,
                "  sudo loginctl enable-linger \"$USER\"   lets it run while you are logged out"
            )?;
        }
        Ok(())
    }

    fn uninstall(&self, force: bool, out: &mut impl Write) -> anyhow::Result<()> {
        let path = shell_quoted(&self.path);
        if !self.path.exists() {
            bail!("there is no unit {path}: nothing to remove");
        }
        let installed = fs::read_to_string(&self.path).unwrap_or_default();
        // This program may be elsewhere than the one that the unit starts.
        if service::unit_like(&installed, self.user).is_none_or(|unit| unit != installed) {
            self.replaceable(force)?;
        }
        if !self.dry_run {
            test_write(&self.path)?;
        }
        self.systemctl(&["disable", "--now", "knightwatch"], out)?;
        if self.dry_run {
            writeln!(out, "Would remove {path}")?;
        } else {
            fs::remove_file(&self.path).with_context(|| format!("cannot remove {path}"))?;
            writeln!(out, "Removed {path}")?;
        }
        self.systemctl(&["daemon-reload"], out)?;
        writeln!(
            out,
            "Configuration, token and records are kept; {} is the configuration.",
            shell_quoted(&self.config)
        )?;
        Ok(())
    }

    /// Runs `systemctl`, or prints the command for a dry run.
    fn systemctl(&self, arguments: &[&str], out: &mut impl Write) -> anyhow::Result<()> {
        if self.root.is_some() {
            return Ok(());
        }
        let user: &[&str] = if self.user { &["--user"] } else { &[] };
        let arguments = [user, arguments].concat();
        if self.dry_run {
            writeln!(out, "Would run systemctl {}", arguments.join(" "))?;
            return Ok(());
        }
        systemctl(&arguments).context("systemd was not changed: run the command again")
    }
}
