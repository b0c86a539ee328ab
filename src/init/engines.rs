//! Engines in PATH that may play instead of the embedded one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Init;
use super::service::Service;
use crate::config::{EMBEDDED_ENGINE, Protocol};

/// Programs of engines with their protocols.
const PROGRAMS: [(&str, Protocol); 23] = [
    ("stockfish", Protocol::Uci),
    ("lc0", Protocol::Uci),
    ("arasanx", Protocol::Uci),
    ("berserk", Protocol::Uci),
    ("caissa", Protocol::Uci),
    ("ethereal", Protocol::Uci),
    ("ethereal-chess", Protocol::Uci),
    ("fairy-stockfish", Protocol::Uci),
    ("fruit", Protocol::Uci),
    ("glaurung", Protocol::Uci),
    ("igel", Protocol::Uci),
    ("koivisto", Protocol::Uci),
    ("minic", Protocol::Uci),
    ("obsidian", Protocol::Uci),
    ("plentychess", Protocol::Uci),
    ("rubichess", Protocol::Uci),
    ("texel", Protocol::Uci),
    ("toga2", Protocol::Uci),
    ("viridithas", Protocol::Uci),
    ("crafty", Protocol::Xboard),
    ("fairymax", Protocol::Xboard),
    ("phalanx", Protocol::Xboard),
    ("sjeng", Protocol::Xboard),
];

/// An engine in PATH.
pub(super) struct Program {
    pub name: &'static str,
    pub file: PathBuf,
    pub protocol: Protocol,
}

impl Init {
    /// Asks which engine plays, if there are others than the embedded one. Returns the settings of another one. `known` plays
    /// now. The programs of this machine are none of those below a root directory.
    pub(super) fn ask_engine(&self, known: &str) -> anyhow::Result<Option<Program>> {
        let service = self.place.service.as_ref();
        let found = match service.and_then(Service::root) {
            Some(_) => Vec::new(),
            None => found_in(
                self.sources
                    .environment
                    .get("PATH")
                    .map_or("", String::as_str),
            ),
        };
        let names = found.iter().map(|program| program.name);
        let names: Vec<&str> = [EMBEDDED_ENGINE].into_iter().chain(names).collect();
        let is_found = names.contains(&known);
        if !is_found {
            self.prompt.print(format_args!(
                "The engine {known} is not in PATH. To keep it, copy its [[engine.external]] from the replaced file."
            ))?;
        }
        if found.is_empty() {
            return Ok(None);
        }
        let question = format!("Which engine plays: {}?", names.join(", "));
        let default = if is_found { known } else { EMBEDDED_ENGINE }.to_owned();
        let name = self.prompt.value(&question, (&default, &default), |name| {
            let is_known = names.contains(&name.as_str());
            is_known
                .then_some(())
                .ok_or_else(|| format!("one of {}", names.join(", ")))
        })?;
        let mut found = found.into_iter();
        Ok(found.find(|program| program.name == name))
    }
}

/// Engines in the directories of a search path, each once.
fn found_in(path: &str) -> Vec<Program> {
    let directories: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .collect();
    let found = PROGRAMS.iter().filter_map(|&(name, protocol)| {
        let files = directories.iter().map(|directory| directory.join(name));
        let mut programs = files.filter(|file| is_program(file));
        programs.next().map(|file| Program {
            name,
            file,
            protocol,
        })
    });
    found.collect()
}

fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
