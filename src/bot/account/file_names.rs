//! Names of an account's state files: one file for each kind of state, with the names of the account and of the
//! server.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tracing::{info, warn};

use super::quota::Quota;
use crate::bot::BotParts;
use crate::bot::account::overrides::OperatorOverrides;
use crate::bot::account::persist::JsonState;
use crate::bot::account::{accepted_log, persist};
use crate::bot::matches::Matches;
use crate::bot::matchmaking::OpponentHistory;
use crate::config::Settings;
use crate::lichess::model::Username;

const FILE_SUFFIXES: [&str; 5] = [
    accepted_log::FILE_SUFFIX,
    Quota::FILE_SUFFIX,
    OpponentHistory::FILE_SUFFIX,
    OperatorOverrides::FILE_SUFFIX,
    Matches::FILE_SUFFIX,
];

/// Suffixes of earlier versions, and those of today.
const RENAMED_SUFFIXES: [(&str, &str); 2] = [
    ("answers.json", OpponentHistory::FILE_SUFFIX),
    ("orders.json", OperatorOverrides::FILE_SUFFIX),
];

/// Renames the state files next to this one that have names of an earlier version.
pub(super) fn rename_old(accepted_log: &Path) {
    for (old, new) in RENAMED_SUFFIXES {
        let [old, new] = [old, new].map(|suffix| accepted_log::sibling(accepted_log, suffix));
        if new.exists() || !old.exists() {
            continue;
        }
        let (shown, to) = (old.display(), new.display());
        match fs::rename(&old, &new) {
            Ok(()) => info!("{shown} was renamed to {to}"),
            Err(error) => warn!("cannot rename {shown} to {to}, so it is not read: {error}"),
        }
    }
}

impl BotParts {
    /// Puts the name of the account into the names of its files if the configuration does not name it: two processes
    /// of one user may play two accounts on the same server. Files without the name, written by earlier versions, are
    /// copied and not moved: several accounts may have used them.
    pub(in crate::bot) fn name_files(&mut self, me: &Username) {
        let Some(shared) = self
            .accepted_log
            .clone()
            .filter(|_| self.settings.name.is_none())
        else {
            return;
        };
        let name = self.settings.state_name_of(me.as_str());
        rename_old(&shared.with_file_name(format!("{name}.{}", accepted_log::FILE_SUFFIX)));
        let own = |suffix: &str| shared.with_file_name(format!("{name}.{suffix}"));
        // If any file exists, a missing one was set aside or deleted: the shared one is out of date.
        let is_first = FILE_SUFFIXES.iter().all(|suffix| !own(suffix).exists());
        let mut copied = Vec::new();
        for suffix in FILE_SUFFIXES.into_iter().filter(|_| is_first) {
            let (old, new) = (accepted_log::sibling(&shared, suffix), own(suffix));
            match copy(&old, &new) {
                Ok(true) => {
                    let (old, shown) = (old.display(), new.display());
                    info!("{shown} is used from now on, a copy of {old}");
                    copied.push(new);
                }
                Ok(false) => {}
                Err(error) => {
                    let (old, new) = (old.display(), new.display());
                    warn!(
                        "cannot copy {old} to {new}, so {old} is used until the next start: {error}"
                    );
                    // The next start copies all of them again.
                    for file in copied {
                        if let Err(error) = fs::remove_file(&file) {
                            warn!("cannot remove {}: {error}", file.display());
                        }
                    }
                    return;
                }
            }
        }
        self.accepted_log = Some(own(accepted_log::FILE_SUFFIX));
        self.overrides = self
            .overrides
            .take()
            .map(|_| own(OperatorOverrides::FILE_SUFFIX));
    }
}

/// Copies a file if it exists. Whether it does.
fn copy(old: &Path, new: &Path) -> io::Result<bool> {
    let Some(bytes) = persist::read(old)? else {
        return Ok(false);
    };
    persist::save(new, &bytes)?;
    // Nobody writes to it any more, and it may contain passwords of arenas.
    if let Err(error) = fs::set_permissions(old, fs::Permissions::from_mode(0o600)) {
        warn!("others may read {}: {error}", old.display());
    }
    Ok(true)
}

/// Path of the accepted log for a reader that does not know the account: that of the settings, else that of the
/// account whose files were written last, else the shared one of an earlier version. The other files are its
/// [siblings](accepted_log::sibling), so that all belong to one account.
pub(in crate::bot) fn find(settings: &Settings) -> Option<PathBuf> {
    let shared = accepted_log::file(settings)?;
    if settings.name.is_some() {
        return Some(shared);
    }
    let server = settings.state_name_of("");
    let written = |file: fs::DirEntry| -> Option<(SystemTime, String)> {
        let name = file.file_name().into_string().ok()?;
        let mut owners = FILE_SUFFIXES
            .iter()
            .filter_map(|suffix| name.strip_suffix(suffix)?.strip_suffix('.'));
        let owner = owners.find(|owner| owner.ends_with(&server))?.to_owned();
        Some((file.metadata().ok()?.modified().ok()?, owner))
    };
    let files = fs::read_dir(shared.parent()?)
        .into_iter()
        .flatten()
        .flatten();
    let last = files.filter_map(written).max();
    Some(match last {
        Some((_, owner)) => shared.with_file_name(format!("{owner}.{}", accepted_log::FILE_SUFFIX)),
        None => shared,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn file_names_find_newest_account_or_shared() {
        let home = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.records.directory = Some(home.path().to_owned());
        let found = |settings: &Settings, suffix: &str| {
            let file = accepted_log::sibling(&find(settings).unwrap(), suffix);
            file.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(
            found(&settings, Quota::FILE_SUFFIX),
            "lichess.org.quota.json"
        );
        let now = SystemTime::now();
        let write = |name: &str, ago: u64| {
            let path = home.path().join(name);
            fs::write(&path, "{}").unwrap();
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(now - Duration::from_secs(ago)).unwrap();
        };
        for (name, ago) in [
            ("anna@lichess.org.quota.json", 10),
            ("anna@lichess.org.accepted.jsonl", 30),
            // Another server, and an unknown suffix.
            ("bert@lichess.dev.quota.json", 0),
            ("cleo@lichess.org.damaged", 0),
            // Newer than the older file of anna.
            ("dora@lichess.org.accepted.jsonl", 20),
            ("dora@lichess.org.overrides.json", 20),
        ] {
            write(name, ago);
        }
        for suffix in FILE_SUFFIXES {
            let name = format!("anna@lichess.org.{suffix}");
            assert_eq!(found(&settings, suffix), name);
        }
        settings.name = Some("Cleo".to_owned());
        let name = "cleo@lichess.org.quota.json";
        assert_eq!(found(&settings, Quota::FILE_SUFFIX), name);
    }

    #[test]
    fn file_names_shared_file_is_copied() {
        let home = tempfile::tempdir().unwrap();
        let [old, new] = [
            "lichess.org.overrides.json",
            "anna@lichess.org.overrides.json",
        ]
        .map(|name| home.path().join(name));
        assert!(!copy(&old, &new).unwrap() && !new.exists());
        fs::write(&old, "before").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(copy(&old, &new).unwrap());
        for file in [&old, &new] {
            assert_eq!(fs::read_to_string(file).unwrap(), "before");
            assert_eq!(
                fs::metadata(file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }

    #[test]
    fn file_names_old_suffix_is_renamed() {
        let home = tempfile::tempdir().unwrap();
        let file = |name: &str| home.path().join(format!("anna@lichess.org.{name}"));
        for name in ["answers.json", "orders.json"] {
            fs::write(file(name), name).unwrap();
        }
        fs::write(file("opponents.json"), "new").unwrap();
        rename_old(&file(accepted_log::FILE_SUFFIX));
        let text = |name| fs::read_to_string(file(name)).unwrap();
        assert_eq!(text("overrides.json"), "orders.json");
        assert_eq!(text("opponents.json"), "new");
        assert!(!file("orders.json").exists());
    }
}
