//! The files that an account keeps its state in: one for each kind of state, with the names of the account and of its server.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tracing::{info, warn};

use super::orders::Orders;
use super::quota::Quota;
use super::{BotParts, keeper, ledger};
use crate::config::Settings;
use crate::lichess::model::Username;

/// How the names of the files end.
const ENDINGS: [&str; 4] = [
    ledger::ENDING,
    Quota::ENDING,
    "answers.json",
    Orders::ENDING,
];

impl BotParts {
    /// Puts the name of the account into the names of its files, where the configuration does not have it: two programs of
    /// one user may play two accounts on the same server. Files without it, as earlier versions wrote them, are copied and
    /// not moved: there may be several accounts that have used them.
    pub(super) fn name_files(&mut self, me: &Username) {
        let Some(shared) = self.ledger.clone().filter(|_| self.settings.name.is_none()) else {
            return;
        };
        let name = self.settings.state_name_of(me.as_str());
        let own = |ending: &str| shared.with_file_name(format!("{name}.{ending}"));
        // Once there is any, one that is missing was set aside or deleted: the old one is out of date.
        let is_first = ENDINGS.iter().all(|ending| !own(ending).exists());
        let mut copied = Vec::new();
        for ending in ENDINGS.into_iter().filter(|_| is_first) {
            let (old, new) = (ledger::beside(&shared, ending), own(ending));
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
        self.ledger = Some(own(ledger::ENDING));
        self.orders = self.orders.take().map(|_| own(Orders::ENDING));
    }
}

/// Copies a file if it is there and the other is not. Whether it has.
fn copy(old: &Path, new: &Path) -> io::Result<bool> {
    if new.try_exists()? {
        return Ok(false);
    }
    let Some(bytes) = keeper::read(old)? else {
        return Ok(false);
    };
    keeper::save(new, &bytes)?;
    // Nobody writes to it any more, and there may be the passwords of arenas in it.
    if let Err(error) = fs::set_permissions(old, fs::Permissions::from_mode(0o600)) {
        warn!("others may read {}: {error}", old.display());
    }
    Ok(true)
}

/// Such a file for a reader that does not know the account: that of the settings, or else the one that was written last, or
/// else the one of an earlier version.
pub(super) fn find(settings: &Settings, ending: &str) -> Option<PathBuf> {
    let shared = ledger::beside(&ledger::file(settings)?, ending);
    if settings.name.is_some() {
        return Some(shared);
    }
    let end = format!("{}.{ending}", settings.state_name_of(""));
    let written = |file: fs::DirEntry| -> Option<(SystemTime, PathBuf)> {
        let is_meant = file.file_name().to_string_lossy().ends_with(&end);
        let at = is_meant.then(|| file.metadata().and_then(|about| about.modified()).ok())??;
        Some((at, file.path()))
    };
    let files = fs::read_dir(shared.parent()?)
        .into_iter()
        .flatten()
        .flatten();
    let last = files.filter_map(written).max();
    Some(last.map_or(shared, |(_, path)| path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_account_is_found_or_else_the_shared_one() {
        let home = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.records.directory = Some(home.path().to_owned());
        let at = |name: &str| Some(home.path().join(name));
        assert_eq!(find(&settings, Quota::ENDING), at("lichess.org.quota.json"));
        for name in [
            "anna@lichess.org.quota.json",
            "bert@lichess.dev.quota.json",
            "anna@lichess.org.orders.json",
        ] {
            fs::write(home.path().join(name), "{}").unwrap();
        }
        assert_eq!(
            find(&settings, Quota::ENDING),
            at("anna@lichess.org.quota.json")
        );
        settings.name = Some("Cleo".to_owned());
        assert_eq!(
            find(&settings, Quota::ENDING),
            at("cleo@lichess.org.quota.json")
        );
    }

    #[test]
    fn a_shared_file_is_copied_once_and_for_us_alone() {
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
        fs::write(&new, "after").unwrap();
        assert!(!copy(&old, &new).unwrap());
        assert_eq!(fs::read_to_string(&new).unwrap(), "after");
    }
}
