//! systemd service: unit file and program.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use anyhow::{Context, bail};

use crate::check::is_hidden;
use crate::config::SERVICE_STATE;

/// The unit file of the repository.
const UNIT: &str = include_str!("../../systemd/knightwatch.service");

/// The unit file for the systemd of a user.
const USER_UNIT: &str = include_str!("../../systemd/user/knightwatch.service");

/// The path of the program in the unit files.
const INSTALL_PATH: &str = "/usr/local/bin/knightwatch";

/// The installed unit file.
const UNIT_FILE: &str = "/etc/systemd/system/knightwatch.service";

/// Directories of the units of packages, below which are those of the system and of users.
const PACKAGE_UNIT_DIRECTORIES: [&str; 2] = ["/usr/lib/systemd", "/lib/systemd"];

/// Exists while systemd is running.
const SYSTEMD_RUNTIME_DIRECTORY: &str = "/run/systemd/system";

/// Upper limit of the symbolic links of a path, that of Linux.
const MAX_LINKS: usize = 40;

/// The service on this machine, or in the system below a directory.
pub(super) struct Service {
    root: Option<PathBuf>,
    /// The path of the program in the unit.
    program: PathBuf,
}

fn check_root(root: Option<&Path>) -> anyhow::Result<()> {
    match root.filter(|root| !root.is_dir()) {
        Some(root) => bail!(
            "--root {} is not a directory: mount the image there first",
            shell_quoted(root)
        ),
        None => Ok(()),
    }
}

impl Service {
    /// # Errors
    /// When the root directory does not exist, or the service cannot start this program from its path.
    pub(super) fn new(root: Option<PathBuf>) -> anyhow::Result<Self> {
        check_root(root.as_deref())?;
        let this = this_program();
        let program = match &root {
            Some(root) => {
                let root = root.canonicalize().unwrap_or_else(|_| root.clone());
                let within = this
                    .as_deref()
                    .and_then(|this| this.strip_prefix(root).ok());
                within.map_or(INSTALL_PATH.into(), |path| Path::new("/").join(path))
            }
            None => match this {
                Some(this) if can_be_started(&this) => this,
                Some(this) => bail!(
                    "the service cannot start {0}: it has no access to home directories and /tmp, and the path must not contain spaces \
                     or special characters. Install the program first: \
                     sudo install -m 755 {0} {INSTALL_PATH} && sudo {INSTALL_PATH} init --service",
                    shell_quoted(&this)
                ),
                None => INSTALL_PATH.into(),
            },
        };
        Ok(Self { root, program })
    }

    /// The service that is installed, wherever this program is.
    ///
    /// # Errors
    /// When the root directory does not exist.
    pub(super) fn installed(root: Option<PathBuf>) -> anyhow::Result<Self> {
        check_root(root.as_deref())?;
        let program = INSTALL_PATH.into();
        Ok(Self { root, program })
    }

    /// A path in the system that is set up, without symbolic links that leave it.
    pub(super) fn place(&self, path: &str) -> PathBuf {
        match &self.root {
            Some(root) => resolve_below(root, Path::new(path)),
            None => path.into(),
        }
    }

    pub(super) fn unit_file(&self) -> PathBuf {
        self.place(UNIT_FILE)
    }

    pub(super) fn state_directory(&self) -> PathBuf {
        self.place(SERVICE_STATE)
    }

    pub(super) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The path of the program, if it is not installed there.
    pub(super) fn missing_program(&self) -> Option<&Path> {
        let place = self.place(&self.program.to_string_lossy());
        (!place.exists()).then_some(&self.program)
    }

    /// The unit file with the path of this program.
    pub(super) fn unit(&self) -> String {
        unit(&self.program)
    }

    /// The unit of a package that is the same, so that none needs to be installed.
    pub(super) fn packaged_unit(&self) -> Option<PathBuf> {
        packaged_unit("system", &self.unit(), |path| self.place(path))
    }

    /// Returns whether the unit can be installed: into another root, or if systemd is running.
    pub(super) fn has_systemd(&self) -> bool {
        self.root.is_some() || is_systemd_running()
    }

    /// Returns whether the service can be started now.
    pub(super) fn can_start(&self) -> bool {
        self.root.is_none() && is_systemd_running()
    }

    /// Returns whether the service is running.
    pub(super) fn is_running(&self) -> bool {
        self.can_start() && systemctl(&["is-active", "--quiet", "knightwatch"]).is_ok()
    }

    /// Starts and enables the service.
    ///
    /// # Errors
    /// When `systemctl` fails; it has printed the reason.
    pub(super) fn start(&self) -> io::Result<()> {
        systemctl(&["enable", "--now", "knightwatch"])
    }

    /// Makes systemd reload the unit.
    ///
    /// # Errors
    /// When `systemctl` fails; it has printed the reason.
    pub(super) fn reload_unit(&self) -> io::Result<()> {
        systemctl(&["daemon-reload"])
    }
}

/// Resolves the symbolic links of a path as the system below `root` does: absolute ones begin there, and none leads out of
/// it. Of an endless path this is an existing part.
fn resolve_below(root: &Path, path: &Path) -> PathBuf {
    let reversed = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut open = reversed(path);
    let mut below = PathBuf::new();
    let mut links = 0;
    while let Some(part) = open.pop() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                below.pop();
            }
            Some(Component::RootDir) => below.clear(),
            Some(Component::Normal(part)) => match fs::read_link(root.join(&below).join(part)) {
                Ok(_) if links == MAX_LINKS => break,
                Ok(target) => {
                    links += 1;
                    open.extend(reversed(&target));
                }
                Err(_) => below.push(part),
            },
            _ => {}
        }
    }
    root.join(below)
}

pub(super) fn is_systemd_running() -> bool {
    Path::new(SYSTEMD_RUNTIME_DIRECTORY).is_dir()
}

pub(super) fn systemctl(arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new("systemctl");
    let status = command.args(arguments).stdin(Stdio::null()).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "systemctl {} failed",
            arguments.join(" ")
        ))),
    }
}

/// The unit for manual installation, and a remark if the program must be moved.
pub(super) fn printed_unit() -> (String, Option<String>) {
    match this_program().filter(|this| can_be_started(this)) {
        Some(this) => (unit(&this), None),
        None => {
            let remark = format!("the unit starts {INSTALL_PATH}: install the program there");
            (unit(Path::new(INSTALL_PATH)), Some(remark))
        }
    }
}

fn unit(program: &Path) -> String {
    UNIT.replace(INSTALL_PATH, &program.to_string_lossy())
}

/// The unit of a package for the systemd of a user, if it is the same.
pub(super) fn packaged_user_unit(unit: &str) -> Option<PathBuf> {
    packaged_unit("user", unit, |path| path.into())
}

/// The unit of a package in the directory of this name, if it has this text.
fn packaged_unit(directory: &str, unit: &str, place: impl Fn(&str) -> PathBuf) -> Option<PathBuf> {
    let places = PACKAGE_UNIT_DIRECTORIES
        .map(|parent| place(&format!("{parent}/{directory}/knightwatch.service")));
    let is_same = |place: &PathBuf| fs::read(place).is_ok_and(|text| text == unit.as_bytes());
    places.into_iter().find(is_same)
}

/// The unit of this version with the program that an installed unit starts.
pub(super) fn unit_like(installed: &str, for_user: bool) -> Option<String> {
    let unit = if for_user { USER_UNIT } else { UNIT };
    let start = installed
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="))?;
    Some(unit.replace(INSTALL_PATH, start.split_whitespace().next()?))
}

/// The unit for the systemd of a user, with the path of this program.
///
/// # Errors
/// When the path cannot be written in a unit.
pub(super) fn user_unit() -> anyhow::Result<String> {
    let this = this_program().context("the path of this program is unknown: start it again")?;
    if !is_plain(&this) {
        bail!(
            "a unit cannot start {}: the path must not contain spaces or special characters. Move the program first",
            shell_quoted(&this)
        );
    }
    Ok(USER_UNIT.replace(INSTALL_PATH, &this.to_string_lossy()))
}

/// The path of this program, unless it was replaced since its start.
fn this_program() -> Option<PathBuf> {
    std::env::current_exe().ok()?.canonicalize().ok()
}

/// Returns whether the service can access the path, and it has no characters that are special in a unit.
fn can_be_started(program: &Path) -> bool {
    !is_hidden(program) && is_plain(program)
}

/// Returns whether the path has no characters that are special in a unit.
fn is_plain(path: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    path.to_str().is_some_and(|path| path.chars().all(plain))
}

/// A path quoted for a shell.
pub(super) fn shell_quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-@%:,=".contains(c);
    match !path.is_empty() && path.chars().all(plain) {
        true => path.into_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_runs_program_at_its_path() {
        let unit = unit(Path::new("/opt/chess/knightwatch"));
        for line in [
            "ExecStart=/opt/chess/knightwatch run --config /etc/knightwatch/config.toml",
            "ExecReload=/opt/chess/knightwatch reload",
        ] {
            assert!(unit.lines().any(|found| found == line), "{unit}");
        }
        assert!(!unit.contains(INSTALL_PATH), "{unit}");
    }

    #[test]
    fn user_unit_has_settings_of_system_unit() {
        let own = ["ExecStart=", "WantedBy="];
        let lines = USER_UNIT.lines().filter(|line| !line.starts_with('#'));
        for line in lines.filter(|line| !own.iter().any(|own| line.starts_with(own))) {
            assert!(UNIT.lines().any(|found| found == line), "{line}");
        }
    }

    #[test]
    fn program_in_hidden_directory_is_rejected() {
        for (program, can) in [
            ("/usr/local/bin/knightwatch", true),
            ("/opt/knightwatch-0.1/bin/knightwatch", true),
            ("/home/anna/target/release/knightwatch", false),
            ("/root/knightwatch", false),
            ("/tmp/knightwatch", false),
            ("/opt/my chess/knightwatch", false),
            ("/opt/%h/knightwatch", false),
        ] {
            assert_eq!(can_be_started(Path::new(program)), can, "{program}");
        }
    }

    #[test]
    fn path_is_quoted_for_shell() {
        for (path, saved) in [
            (
                "/etc/knightwatch/config.toml",
                "/etc/knightwatch/config.toml",
            ),
            ("/home/it's me/x", r"'/home/it'\''s me/x'"),
        ] {
            assert_eq!(shell_quoted(Path::new(path)), saved);
        }
    }
}
