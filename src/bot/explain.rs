//! `knightwatch explain`: the answer to a challenge, and the reasons.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::Value;

use crate::bot::account::accepted_log::{self, AcceptedLog};
use crate::bot::account::file_names;
use crate::bot::account::overrides::OperatorOverrides;
use crate::bot::account::persist::JsonState;
use crate::bot::account::quota::{Limit, Quota};
use crate::bot::block_lists::BlockLists;
use crate::bot::policy::{
    Assessment, ChallengeAnswer, ChallengeContext, LimitUsage, Load, MatchInput, PlaySettings,
    evaluate, rank,
};
use crate::chess::{Color, Position};
use crate::config::Settings;
use crate::events::Player;
use crate::file_error::FileError;
use crate::input;
use crate::lichess::model::{
    Challenge, ChallengeId, ChallengeStatus, ChallengeUser, ColorChoice, Compat, Speed,
    TimeControl, Username, Variant,
};

/// Upper limit of a challenge file in bytes: about 50 times a typical one.
const MAX_INPUT_BYTES: u64 = 64 * 1024;

/// Reason why a challenge cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file does not contain a challenge.
    #[error(
        "{} holds no challenge as Lichess sends it, in its event stream or in its list of challenges: {error}; --user NAME needs no file",
        path.display()
    )]
    NoChallenge {
        path: PathBuf,
        /// The missing or wrong field.
        error: serde_json::Error,
    },
    /// The answer cannot be written.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

/// Challenge to be explained.
#[derive(Clone, Debug)]
pub struct ChallengeQuery {
    challenge: Challenge,
    compat: Option<Compat>,
}

impl ChallengeQuery {
    /// Reads a challenge from a file, or from stdin for `-`: the object alone, or a line of an event stream.
    ///
    /// # Errors
    /// If it cannot be read or parsed.
    pub fn read(file: &Path) -> Result<Self, ExplainError> {
        let text = read(file).map_err(FileError::reading(file))?;
        let (challenge, compat) = parse(&text).map_err(|error| ExplainError::NoChallenge {
            path: file.to_owned(),
            error,
        })?;
        Ok(Self { challenge, compat })
    }

    /// Builds a challenge of a user to any position and to a random color, from what is known of them.
    pub fn of(from: &Player, time: TimeControl, variant: Variant, rated: bool) -> Self {
        let speed = match time {
            TimeControl::Clock { limit, increment } => Speed::of_clock(limit, increment),
            _ => Speed::Correspondence,
        };
        let challenger = ChallengeUser {
            name: Username::new(&from.name),
            title: from.title.clone(),
            rating: from.rating.and_then(|rating| i32::try_from(rating).ok()),
            provisional: from.provisional,
            online: true,
        };
        let challenge = Challenge {
            id: ChallengeId::unknown(),
            status: ChallengeStatus::Created,
            challenger: Some(challenger),
            dest_user: None,
            variant,
            rated,
            speed,
            time_control: time,
            color: ColorChoice::Random,
            final_color: None,
            direction: None,
            rematch_of: None,
            // Any position will do.
            initial_fen: (variant == Variant::FromPosition).then(|| Position::startpos().fen()),
            decline_reason: None,
            decline_reason_key: None,
            rules: Vec::new(),
        };
        Self {
            challenge,
            compat: None,
        }
    }

    /// Sets the initial position and our color; `None` leaves them as they are.
    #[must_use]
    pub fn with(mut self, fen: Option<String>, our_color: Option<Color>) -> Self {
        self.challenge.initial_fen = fen.or(self.challenge.initial_fen);
        if let Some(color) = our_color {
            self.challenge.color = (!color).into();
        }
        self
    }
}

/// The part of the challenger's profile that rules ask for.
#[derive(Clone, Debug, Default)]
pub struct ProfileQuery {
    /// Age of the account.
    pub age_days: Option<u32>,
    /// Biography and links.
    pub text: Option<String>,
}

/// Writes to `out` how a challenge would be answered. Reads block lists that the bot has not read yet. Rules with `hours` see the moment `at`.
///
/// # Errors
/// If `out` fails.
pub async fn explain_command(
    settings: &Settings,
    asked: &ChallengeQuery,
    profile: ProfileQuery,
    at: SystemTime,
    out: &mut impl Write,
) -> Result<(), ExplainError> {
    let ChallengeQuery { challenge, compat } = asked;
    // State files that cannot be read count as empty: they may belong to the service's user.
    let accepted = file_names::find(settings);
    let sibling = |suffix| Some(accepted_log::sibling(accepted.as_deref()?, suffix));
    let quota = sibling(Quota::FILE_SUFFIX).and_then(|file| Quota::load(&file).ok());
    let overrides = sibling(OperatorOverrides::FILE_SUFFIX)
        .and_then(|file| OperatorOverrides::load(&file).ok());
    let accepted_log = accepted
        .as_deref()
        .and_then(|file| AcceptedLog::load(file).ok());
    let overrides = overrides.unwrap_or_default();
    let settings = &*overrides.apply_to(&Arc::new(settings.clone()));
    let now = SystemTime::now();
    // The slots are not known here.
    let load = Load {
        paused: overrides.paused,
        no_bots_until: quota.and_then(|quota| quota.full_until(Limit::BotGames, now)),
        ..Load::default()
    };
    let mut input = MatchInput::of_challenge(challenge, profile.age_days);
    input.facts.profile = profile.text;
    input.at = at;
    let lists = sibling(BlockLists::FILE_SUFFIX).and_then(|file| BlockLists::load(&file).ok());
    let mut lists = lists.unwrap_or_default();
    let unread = lists.complete(settings).await;
    input.facts.listed = input
        .name
        .as_ref()
        .and_then(|user| lists.list_of(user, settings));
    let case = ChallengeContext {
        challenge,
        compat: *compat,
        input: &input,
    };
    let accepted_log = accepted_log.unwrap_or_default();
    // The running games are not known here.
    let usage = LimitUsage {
        accepted: &|limit, user, window| accepted_log.usage(limit, user, window, now),
        running: &|_| None,
    };
    let assessment = evaluate(case, settings, &usage, load);
    let mut text = report(&input, &assessment, rank(settings, &input).priority());
    if let ChallengeAnswer::Accept | ChallengeAnswer::Wait = assessment.answer {
        let play = PlaySettings::of(settings, &input);
        text += &match &settings.book.names(challenge.variant, &play.book)[..] {
            [] => "Books: none\n".to_owned(),
            names => format!("Books: {}\n", names.join(", ")),
        };
        if let Some(description) = play.strength.description {
            text += &format!("Played {description}\n");
        }
    }
    for problem in unread {
        text += &format!("\nWarning: {problem}\n");
    }
    out.write_all(text.as_bytes())?;
    Ok(())
}

fn read(file: &Path) -> io::Result<String> {
    if file.as_os_str() != "-" {
        return input::read_text(file, MAX_INPUT_BYTES);
    }
    let mut text = String::new();
    let stdin = io::stdin().lock();
    let length = stdin.take(MAX_INPUT_BYTES + 1).read_to_string(&mut text)?;
    match length as u64 > MAX_INPUT_BYTES {
        true => Err(io::Error::other(format!(
            "it has more than {MAX_INPUT_BYTES} bytes"
        ))),
        false => Ok(text),
    }
}

/// Parses a challenge alone, or in an event, which says whether bots may play it.
fn parse(text: &str) -> serde_json::Result<(Challenge, Option<Compat>)> {
    let mut value: Value = serde_json::from_str(text.trim())?;
    let compat = value.get("compat").filter(|compat| !compat.is_null());
    let compat = compat.map(Compat::deserialize).transpose()?;
    if let Some(inner) = value.get_mut("challenge") {
        value = inner.take();
    }
    Ok((Challenge::deserialize(value)?, compat))
}

fn report(input: &MatchInput, assessment: &Assessment, priority: i32) -> String {
    let who = match (&input.title, input.rating) {
        (Some(title), Some(rating)) => format!("{title} {} ({rating})", input.display_name()),
        (None, Some(rating)) => format!("{} ({rating})", input.display_name()),
        (Some(title), None) => format!("{title} {}", input.display_name()),
        (None, None) => input.display_name().to_owned(),
    };
    let rated = if input.rated { "rated" } else { "casual" };
    let mut text = format!(
        "{who} asks for {} {}, {rated}, {}\n\n",
        input.time, input.speed, input.variant
    );
    let width = assessment
        .checks
        .iter()
        .map(|check| check.name.chars().count());
    let width = width.max().unwrap_or(0);
    for check in &assessment.checks {
        text += &format!("  {:width$}  {}\n", check.name, check.result);
    }
    let why = &assessment.reason;
    text += &match assessment.answer {
        ChallengeAnswer::Decline(reason) => format!("\nDeclined, {reason}: {why}\n"),
        ChallengeAnswer::Accept | ChallengeAnswer::Wait => {
            let first = match priority {
                0 => String::new(),
                priority => format!(" with priority {priority}"),
            };
            format!("\nAccepted, {why}; queued while no slot is free{first}\n")
        }
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explain_parses_challenge_and_event() {
        let alone = r#"{"id":"abcdefgh","variant":{"key":"standard"},"speed":"blitz",
            "timeControl":{"type":"clock","limit":180,"increment":2}}"#;
        let (challenge, compat) = parse(alone).unwrap();
        assert_eq!((challenge.id.as_str(), compat), ("abcdefgh", None));
        let event = format!(
            r#"{{"type":"challenge","challenge":{alone},"compat":{{"bot":false,"board":true}}}}"#
        );
        let (challenge, compat) = parse(&event).unwrap();
        assert_eq!(challenge.id.as_str(), "abcdefgh");
        assert!(!compat.unwrap().bot);
        for nonsense in ["", "7", "{}", "{\"type\":\"gameStart\",\"game\":{}}"] {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
    }
}
