//! Operator overrides: pause, blocks and arenas set by commands, kept over restarts.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bot::account::accepted_log;
use crate::bot::account::persist::JsonState;
use crate::config::{ArenaEntry, Pattern, Settings};
use crate::lichess::model::ArenaId;

/// Overrides of the configuration, set by the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperatorOverrides {
    /// New games are not accepted.
    pub paused: bool,
    /// Whether games are sought by matchmaking, if not as the configuration says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seek: Option<bool>,
    /// Users to block, in addition to those in the configuration.
    pub blocked: Vec<Pattern>,
    /// Arenas to join, in addition to those in the configuration.
    pub arenas: Vec<ArenaEntry>,
    /// Arenas to stay out of, even if the configuration names them or discovery finds them; the latest last.
    #[serde(with = "ids", alias = "left")]
    pub left_arenas: Vec<ArenaId>,
}

/// Ids as text; texts that are not valid ids are skipped.
mod ids {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::ArenaId;

    pub(super) fn serialize<S: Serializer>(ids: &[ArenaId], to: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<&str> = ids.iter().map(ArenaId::as_str).collect();
        texts.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<ArenaId>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        Ok(texts.iter().filter_map(|text| text.parse().ok()).collect())
    }
}

/// Number of [`left_arenas`](OperatorOverrides::left_arenas). Arenas last a day at most, so older ones are over.
const MAX_LEFT_ARENAS: usize = 100;

impl JsonState for OperatorOverrides {
    const FILE_SUFFIX: &str = "overrides.json";

    fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("plain data with string keys");
        text + "\n"
    }
}

impl OperatorOverrides {
    /// Stays out of an arena from now on.
    pub fn add_left(&mut self, arena: &ArenaId) {
        self.left_arenas.retain(|other| other != arena);
        if self.left_arenas.len() == MAX_LEFT_ARENAS {
            self.left_arenas.remove(0);
        }
        self.left_arenas.push(arena.clone());
    }

    /// Returns the settings with the overrides applied.
    pub fn apply_to(&self, settings: &Arc<Settings>) -> Arc<Settings> {
        let mut effective = Arc::clone(settings);
        if !self.blocked.is_empty() {
            let block = &mut Arc::make_mut(&mut effective).challenge.block;
            block.extend(self.blocked.iter().cloned());
        }
        if let Some(seek) = self.seek {
            Arc::make_mut(&mut effective).matchmaking.enabled = seek;
        }
        effective
    }
}

/// Path of the file for these settings. `None` if there is no data directory.
pub fn file(settings: &Settings) -> Option<PathBuf> {
    Some(accepted_log::sibling(
        &accepted_log::file(settings)?,
        OperatorOverrides::FILE_SUFFIX,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::account::persist;

    #[test]
    fn overrides_survive_in_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("overrides.json");
        assert_eq!(
            OperatorOverrides::load(&path).unwrap(),
            OperatorOverrides::default()
        );
        let overrides = OperatorOverrides {
            paused: true,
            seek: Some(false),
            blocked: vec!["Rival".to_owned().try_into().unwrap()],
            arenas: vec!["may24bot:secret".parse().unwrap()],
            left_arenas: vec!["june1bot".parse().unwrap()],
        };
        persist::save(&path, overrides.to_json()).unwrap();
        assert_eq!(OperatorOverrides::load(&path).unwrap(), overrides);
        for (text, why) in [
            ("{\"paused\": tru", "line 1 column 14"),
            ("", "it is empty"),
            (" \n", "it is empty"),
            ("[]", "not an object"),
            ("null", "not an object"),
        ] {
            persist::save(&path, text).unwrap();
            let error = OperatorOverrides::load(&path).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        // Written by an older or a newer version.
        persist::save(&path, "{\"paused\": true, \"sleeping\": 7}").unwrap();
        assert!(OperatorOverrides::load(&path).unwrap().paused);
    }

    #[test]
    fn overrides_add_blocks_to_settings() {
        let mut settings = Settings::default();
        settings.challenge.block = vec!["one".to_owned().try_into().unwrap()];
        let settings = Arc::new(settings);
        assert!(Arc::ptr_eq(
            &OperatorOverrides::default().apply_to(&settings),
            &settings
        ));
        let overrides = OperatorOverrides {
            blocked: vec!["two".to_owned().try_into().unwrap()],
            ..OperatorOverrides::default()
        };
        let names: Vec<String> = overrides
            .apply_to(&settings)
            .challenge
            .block
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(settings.challenge.block.len(), 1);
    }
}
