//! The system service: the unit, and the program that it starts.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::bail;

use crate::config::SERVICE_STATE;

/// The unit as it is in the repository.
const UNIT: &str = include_str!("../../systemd/knightwatch.service");

/// The place of the program in that unit.
const USUAL_PROGRAM: &str = "/usr/local/bin/knightwatch";

/// The place of the unit.
const UNIT_FILE: &str = "/etc/systemd/system/knightwatch.service";

/// It is there where systemd runs.
const RUNNING: &str = "/run/systemd/system";

/// What the unit hides from the service: ProtectHome= and PrivateTmp=.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/// The service on this machine, or in the system below a directory.
pub struct Service {
    root: Option<PathBuf>,
    /// The program as the unit names it.
    program: PathBuf,
}

impl Service {
    /// # Errors
    /// When there is no such directory, or this program lies where the service cannot start it; the message says what to do.
    pub fn new(root: Option<PathBuf>) -> anyhow::Result<Self> {
        if let Some(root) = root.as_deref().filter(|root| !root.is_dir()) {
            bail!(
                "--root {} is not a directory: mount the image there first",
                quoted(root)
            );
        }
        let this = this_program();
        let program = match &root {
            Some(root) => {
                let root = root.canonicalize().unwrap_or_else(|_| root.clone());
                let within = this
                    .as_deref()
                    .and_then(|this| this.strip_prefix(root).ok());
                within.map_or(USUAL_PROGRAM.into(), |path| Path::new("/").join(path))
            }
            None => match this {
                Some(this) if can_be_started(&this) => this,
                Some(this) => bail!(
                    "the service cannot start {0}: it sees no home directories and no /tmp, and takes a path without blanks and \
                     special characters. Install the program first: \
                     sudo install -m 755 {0} {USUAL_PROGRAM} && sudo {USUAL_PROGRAM} init --service",
                    quoted(&this)
                ),
                None => USUAL_PROGRAM.into(),
            },
        };
        Ok(Self { root, program })
    }

    /// This path of the system that is set up.
    pub fn place(&self, path: &str) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.trim_start_matches('/')),
            None => path.into(),
        }
    }

    pub fn unit_file(&self) -> PathBuf {
        self.place(UNIT_FILE)
    }

    pub fn state_directory(&self) -> PathBuf {
        self.place(SERVICE_STATE)
    }

    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Where the program has to be and is not.
    pub fn missing_program(&self) -> Option<&Path> {
        let place = self.place(&self.program.to_string_lossy());
        (!place.exists()).then_some(&self.program)
    }

    /// The unit, with this program.
    pub fn unit(&self) -> String {
        unit(&self.program)
    }

    /// Whether it can be installed: below a directory always, else where systemd runs.
    pub fn has_systemd(&self) -> bool {
        self.root.is_some() || is_systemd_running()
    }

    /// Whether it can be started from here.
    pub fn can_start(&self) -> bool {
        self.root.is_none() && is_systemd_running()
    }

    /// Whether it runs already.
    pub fn is_running(&self) -> bool {
        self.can_start() && systemctl(&["is-active", "--quiet", "knightwatch"]).is_ok()
    }

    /// Starts it now and whenever the machine starts.
    ///
    /// # Errors
    /// When systemd does not; it has then printed why.
    pub fn start(&self) -> io::Result<()> {
        systemctl(&["enable", "--now", "knightwatch"])
    }

    /// Has systemd read the unit again.
    ///
    /// # Errors
    /// When systemd does not; it has then printed why.
    pub fn reread_unit(&self) -> io::Result<()> {
        systemctl(&["daemon-reload"])
    }
}

fn is_systemd_running() -> bool {
    Path::new(RUNNING).is_dir()
}

fn systemctl(arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new("systemctl");
    let status = command.args(arguments).stdin(Stdio::null()).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "systemctl {} has failed",
            arguments.join(" ")
        ))),
    }
}

/// The unit for whoever installs it by hand. The second is a remark, where the program has to be moved for it.
pub fn printed_unit() -> (String, Option<String>) {
    match this_program().filter(|this| can_be_started(this)) {
        Some(this) => (unit(&this), None),
        None => {
            let remark = format!("the unit starts {USUAL_PROGRAM}: install the program there");
            (unit(Path::new(USUAL_PROGRAM)), Some(remark))
        }
    }
}

fn unit(program: &Path) -> String {
    UNIT.replace(USUAL_PROGRAM, &program.to_string_lossy())
}

/// The file of this program, unless it has been replaced since it was started.
fn this_program() -> Option<PathBuf> {
    std::env::current_exe().ok()?.canonicalize().ok()
}

/// Whether the unit can name it: the service sees it, and it has no characters that mean something to systemd.
fn can_be_started(program: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    let is_hidden = HIDDEN.iter().any(|hidden| program.starts_with(hidden));
    !is_hidden && program.to_str().is_some_and(|path| path.chars().all(plain))
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
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
    fn the_unit_starts_and_reloads_the_program_where_it_is() {
        let unit = unit(Path::new("/opt/chess/knightwatch"));
        for line in [
            "ExecStart=/opt/chess/knightwatch run --config /etc/knightwatch/config.toml",
            "ExecReload=/opt/chess/knightwatch reload",
        ] {
            assert!(unit.lines().any(|found| found == line), "{unit}");
        }
        assert!(!unit.contains(USUAL_PROGRAM), "{unit}");
    }

    #[test]
    fn a_program_that_the_service_cannot_see_is_refused() {
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
    fn paths_are_quoted_for_the_shell() {
        for (path, shown) in [
            (
                "/etc/knightwatch/config.toml",
                "/etc/knightwatch/config.toml",
            ),
            ("/home/it's me/x", r"'/home/it'\''s me/x'"),
        ] {
            assert_eq!(quoted(Path::new(path)), shown);
        }
    }
}
