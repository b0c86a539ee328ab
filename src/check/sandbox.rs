//! Files that the sandbox of the service hides from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::report::Finding;
use crate::bot::block_lists;
use crate::config::{BlockList, SERVICE_STATE, Settings};
use crate::lichess::model::Variant;

/// Directories hidden from the service by ProtectHome= and PrivateTmp= of its unit.
const HIDDEN_DIRECTORIES: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/// Returns whether the service cannot see this path.
pub(crate) fn is_hidden(path: &Path) -> bool {
    let target = path.canonicalize();
    let target = target.as_deref().unwrap_or(path);
    HIDDEN_DIRECTORIES
        .iter()
        .any(|hidden| path.starts_with(hidden) || target.starts_with(hidden))
}

/// Warns of each file in the configuration of the service that it cannot see.
pub(super) fn hidden_files(settings: &Settings) -> Vec<Finding> {
    if !settings.is_of_service() {
        return Vec::new();
    }
    let mut files = BTreeMap::new();
    for account in settings.accounts() {
        files.extend(named_files(&account));
    }
    files.retain(|path, _| path.is_absolute() && is_hidden(path));
    let warn = |(path, key): (PathBuf, &'static str)| {
        let text = format!(
            "{key}: {} is hidden from the service by ProtectHome= and PrivateTmp= of its unit",
            path.display()
        );
        Finding::warning("sandbox", text).hint(
            "move it to a directory that the user of the service can use, such as /etc/knightwatch or /opt, secrets \
             readable by that user only; or change the unit with `sudo systemctl edit knightwatch`",
        )
    };
    files.into_iter().map(warn).collect()
}

/// The files and directories that the settings name, each with its key.
fn named_files(settings: &Settings) -> Vec<(PathBuf, &'static str)> {
    let mut files = Vec::new();
    let mut add = |key, path: Option<&Path>| {
        files.extend(path.map(|path| (path.to_owned(), key)));
    };
    if settings.book.enabled {
        for variant in Variant::ALL {
            for book in settings.book.files_for(*variant) {
                add("book.files", Some(book));
            }
        }
    }
    for external in &settings.engine.external {
        add(
            "engine.external.command",
            external.command.first().map(Path::new),
        );
        add("engine.external.directory", external.directory.as_deref());
    }
    let lists = block_lists::configured(settings);
    for list in &lists {
        if let BlockList::File(path) = list {
            add("block_lists", Some(path));
        }
    }
    for alert in &settings.daemon.alert {
        add("alert.url_file", alert.url_file.as_deref());
    }
    add("daemon.log_file", settings.daemon.log_file.as_deref());
    add("lichess.ca_file", settings.lichess.ca_file.as_deref());
    add("lichess.token_file", settings.lichess.token_file.as_deref());
    // The one of the service may be that of an image, which is mounted anywhere.
    let of_service = Path::new(SERVICE_STATE.trim_start_matches('/'));
    let records = settings.records.directory.as_deref();
    let records = records.filter(|directory| !directory.ends_with(of_service));
    add("records.directory", records);
    let web = &settings.web;
    for key in [&web.key_file, &web.watch_key_file, &web.metrics_key_file] {
        add("web.key_file", key.as_deref());
    }
    files
}
