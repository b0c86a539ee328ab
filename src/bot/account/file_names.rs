//! The files that an account keeps its state in: one for each kind of state, with the names of the account and of its server.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tracing::{info, warn};

use super::quota::Quota;
use crate::bot::BotParts;
use crate::bot::account::overrides::OperatorOverrides;
use crate::bot::account::{accepted_log, persist};
use crate::bot::matchmaking::Memory;
use crate::config::Settings;
use crate::lichess::model::Username;

/// How the names of the files end.
const ENDINGS: [&str; 4] = [
    accepted_log::ENDING,
    Quota::ENDING,
    Memory::ENDING,
    OperatorOverrides::ENDING,
];

impl BotParts {
    /// Puts the name of the account into the names of its files, where the configuration does not have it: two programs of
    /// one user may play two accounts on the same server. Files without it, as earlier versions wrote them, are copied and
    /// not moved: there may be several accounts that have used them.
    pub(in crate::bot) fn name_files(&mut self, me: &Username) {
        let Some(shared) = self.ledger.clone().filter(|_| self.settings.name.is_none()) else {
            return;
        };
        let name = self.settings.state_name_of(me.as_str());
        let own = |ending: &str| shared.with_file_name(format!("{name}.{ending}"));
        // Once there is any, one that is missing was set aside or deleted: the old one is out of date.
        let is_first = ENDINGS.iter().all(|ending| !own(ending).exists());
        let mut copied = Vec::new();
        for ending in ENDINGS.into_iter().filter(|_| is_first) {
            let (old, new) = (accepted_log::beside(&shared, ending), own(ending));
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
                    // The next start copies all of them again, as they are then.
                    for file in copied {
                        if let Err(error) = fs::remove_file(&file) {
                            warn!("cannot remove {}: {error}", file.display());
                        }
                    }
                    return;
                }
            }
        }
        self.ledger = Some(own(accepted_log::ENDING));
        self.orders = self.orders.take().map(|_| own(OperatorOverrides::ENDING));
    }
}

/// Copies a file if it is there. Whether it is.
fn copy(old: &Path, new: &Path) -> io::Result<bool> {
    let Some(bytes) = persist::read(old)? else {
        return Ok(false);
    };
    persist::save(new, &bytes)?;
    // Nobody writes to it any more, and there may be the passwords of arenas in it.
    if let Err(error) = fs::set_permissions(old, fs::Permissions::from_mode(0o600)) {
        warn!("others may read {}: {error}", old.display());
    }
    Ok(true)
}

/// The file of the ledger for a reader that does not know the account: that of the settings, or else that of the account of
/// which any file was written last, or else the one of an earlier version. The others are found [beside](ledger::beside) it,
/// so that all are of one account.
pub(in crate::bot) fn find(settings: &Settings) -> Option<PathBuf> {
    let shared = accepted_log::file(settings)?;
    if settings.name.is_some() {
        return Some(shared);
    }
    let server = settings.state_name_of("");
    let written = |file: fs::DirEntry| -> Option<(SystemTime, String)> {
        let name = file.file_name().into_string().ok()?;
        let mut owners = ENDINGS
            .iter()
            .filter_map(|ending| name.strip_suffix(ending)?.strip_suffix('.'));
        let owner = owners.find(|owner| owner.ends_with(&server))?.to_owned();
        Some((file.metadata().ok()?.modified().ok()?, owner))
    };
    let files = fs::read_dir(shared.parent()?)
        .into_iter()
        .flatten()
        .flatten();
    let last = files.filter_map(written).max();
    Some(match last {
        Some((_, owner)) => shared.with_file_name(format!("{owner}.{}", accepted_log::ENDING)),
        None => shared,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_files_of_one_account_are_found_or_else_the_shared_ones() {
        let home = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.records.directory = Some(home.path().to_owned());
        let found = |settings: &Settings, ending: &str| {
            let file = accepted_log::beside(&find(settings).unwrap(), ending);
            file.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(found(&settings, Quota::ENDING), "lichess.org.quota.json");
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
            // Of another server, and of none of our kinds.
            ("bert@lichess.dev.quota.json", 0),
            ("cleo@lichess.org.damaged", 0),
            // Each is newer than that of anna, but one.
            ("dora@lichess.org.accepted.jsonl", 20),
            ("dora@lichess.org.orders.json", 20),
        ] {
            write(name, ago);
        }
        for ending in ENDINGS {
            let name = format!("anna@lichess.org.{ending}");
            assert_eq!(found(&settings, ending), name);
        }
        settings.name = Some("Cleo".to_owned());
        let name = "cleo@lichess.org.quota.json";
        assert_eq!(found(&settings, Quota::ENDING), name);
    }

    #[test]
    fn a_shared_file_is_copied_for_us_alone() {
        let home = tempfile::tempdir().unwrap();
        let [old, new] = ["lichess.org.orders.json", "anna@lichess.org.orders.json"]
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
}
