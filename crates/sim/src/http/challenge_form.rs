//! Forms of new challenges and of games against the AI.

use std::time::Duration;

use knightwatch_chess::Position;

use crate::challenge::ChallengeConfig;
use crate::http::form::Form;
use crate::http::params::Params;
use crate::site::error::{INVALID, REQUIRED};
use crate::site::{ApiError, SimTime, Speed, Variant};
use crate::time_control::{DAYS_PER_TURN, MAX_INCREMENT_SECONDS, TimeControl, is_initial_time};
use knightwatch_util::seconds::DAY;

const RULES: [&str; 5] = [
    "noAbort",
    "noRematch",
    "noGiveTime",
    "noClaimWin",
    "noEarlyDraw",
];

/// Maximum length of the name of an open challenge, in UTF-16 code units (`SetupForm` of lila).
const MAX_NAME_UNITS: usize = 200;

/// Default and maximum lifetime of an open challenge.
const DEFAULT_OPEN_LIFETIME: Duration = Duration::from_secs(DAY);
const MAX_OPEN_LIFETIME: Duration = Duration::from_secs(14 * 86_400);

/// Parses the form of a challenge.
///
/// # Errors
/// Lists all invalid fields.
pub(crate) fn challenge_config(params: &Params) -> Result<ChallengeConfig, ApiError> {
    let mut form = Form::new(params);
    let variant = variant(&mut form);
    let time_control = time_control(&mut form);
    let rated = form.flag("rated");
    let keep_alive = form.flag("keepAliveStream");
    let only_if_followed = form.flag("onlyIfOpponentFollowsMe");
    let color = form.color();
    let rules = rules(&mut form);
    form.check()?;
    let (variant, start) = start(variant, params.get("fen"))
        .map_err(|text| ApiError::invalid_form(vec![("global", text.to_owned())]))?;
    let has_clock = matches!(time_control, TimeControl::Clock { .. });
    if rated && (variant == Variant::FromPosition || !(has_clock || variant == Variant::Standard)) {
        return Err(ApiError::invalid_form(vec![(
            "global",
            "can't be rated".to_owned(),
        )]));
    }
    Ok(ChallengeConfig {
        rated: rated && may_be_rated(variant, time_control),
        variant,
        start,
        time_control,
        color,
        rules,
        keep_alive,
        only_if_followed,
    })
}

/// Returns whether the game can be rated. Otherwise the challenge becomes casual without an error.
pub(crate) fn may_be_rated(variant: Variant, time_control: TimeControl) -> bool {
    match (variant, time_control) {
        (Variant::Standard, _) => true,
        (Variant::Chess960 | Variant::Other(_), TimeControl::Clock { limit, increment }) => {
            Speed::of(time_control) >= Speed::Bullet && (limit > 0 || increment > 1)
        }
        _ => false,
    }
}

/// Returns the variant with its starting position. A custom position turns a standard game into one from a position.
/// Chess960 accepts only its own starting positions and otherwise gets a random one. Other variants have one position.
fn start(variant: Variant, fen: Option<&str>) -> Result<(Variant, Option<Position>), &'static str> {
    const INVALID_FEN: &str = "invalidFen";
    match (variant, fen) {
        (Variant::Standard | Variant::Chess960, None) => Ok((variant, None)),
        (Variant::Other(_), _) => Ok((variant, variant.special_start())),
        (Variant::FromPosition, None) => Err(INVALID_FEN),
        (Variant::Chess960, Some(fen)) => {
            let requested = Position::from_fen(fen).map_err(|_| INVALID_FEN)?;
            let start = (0..960)
                .filter_map(Position::chess960_start)
                .find(|start| *start == requested);
            Ok((variant, start))
        }
        (Variant::Standard | Variant::FromPosition, Some(fen)) => {
            // Lichess drops rights that do not fit the board.
            let start = Position::from_fen_lenient(fen).map_err(|_| INVALID_FEN)?;
            if start == Position::startpos() {
                return Ok((Variant::Standard, None));
            }
            if !start.has_legal_move() || start.insufficient_material() {
                return Err(INVALID_FEN);
            }
            Ok((Variant::FromPosition, Some(start)))
        }
    }
}

fn variant(form: &mut Form<'_>) -> Variant {
    let key = form.params.get("variant").unwrap_or("standard");
    Variant::from_key(key).unwrap_or_else(|why| {
        form.error("variant", &why);
        Variant::Standard
    })
}

fn time_control(form: &mut Form<'_>) -> TimeControl {
    let days = form.number("days");
    if ["clock.limit", "clock.increment"]
        .iter()
        .all(|field| form.params.get(field).is_none())
    {
        return match days {
            None => TimeControl::Unlimited,
            Some(days) => {
                if !DAYS_PER_TURN.contains(&days) {
                    form.error("days", INVALID);
                }
                TimeControl::Days(days)
            }
        };
    }
    let limit = form.required("clock.limit").unwrap_or(0);
    let increment = form.required("clock.increment").unwrap_or(0);
    if !is_initial_time(limit) {
        form.error("clock.limit", INVALID);
    }
    if increment > MAX_INCREMENT_SECONDS {
        form.error("clock.increment", "Must be less or equal to 60");
    }
    if limit == 0 && increment == 0 && form.errors.is_empty() {
        form.error("clock", "Invalid clock");
    }
    TimeControl::Clock { limit, increment }
}

/// Restrictions and expiry of an open challenge.
pub(crate) struct OpenChallengeConfig {
    pub players: Option<[String; 2]>,
    pub expires_at: SimTime,
}

pub(crate) fn open_config(params: &Params, now: SimTime) -> Result<OpenChallengeConfig, ApiError> {
    let mut form = Form::new(params);
    check_open_name(&mut form);
    let users = params.get("users").map(|users| {
        let names: Vec<String> = users
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect();
        <[String; 2]>::try_from(names)
    });
    let players = match users {
        Some(Ok(players)) if !players[0].eq_ignore_ascii_case(&players[1]) => Some(players),
        Some(_) => {
            form.error("users", INVALID);
            None
        }
        None => None,
    };
    let expires_at = match params.get("expiresAt").map(str::parse) {
        None => now + DEFAULT_OPEN_LIFETIME,
        Some(Ok(at)) if SimTime(at) > now && SimTime(at) <= now + MAX_OPEN_LIFETIME => SimTime(at),
        Some(_) => {
            form.error("expiresAt", INVALID);
            now
        }
    };
    form.check()?;
    Ok(OpenChallengeConfig {
        players,
        expires_at,
    })
}

/// Checks the name of an open challenge. Only the page of the challenge shows it, not the API.
fn check_open_name(form: &mut Form<'_>) {
    let Some(name) = form.params.get("name").map(str::trim) else {
        return;
    };
    if name.is_empty() {
        form.error("name", REQUIRED);
    } else if name.encode_utf16().count() > MAX_NAME_UNITS {
        form.error("name", &format!("Maximum length is {MAX_NAME_UNITS}"));
    }
}

/// Parses the level of the AI, 1 to 8.
pub(crate) fn level(params: &Params) -> Result<u8, ApiError> {
    let mut form = Form::new(params);
    let level: u32 = form.required("level").unwrap_or(0);
    if form.errors.is_empty() && !(1..=8).contains(&level) {
        form.error("level", INVALID);
    }
    form.check().map(|()| level as u8)
}

fn rules(form: &mut Form<'_>) -> Vec<&'static str> {
    let mut rules = Vec::new();
    for name in form.params.get("rules").unwrap_or_default().split(',') {
        match RULES.into_iter().find(|rule| *rule == name.trim()) {
            Some(rule) => rules.push(rule),
            None if name.is_empty() => {}
            None => {
                form.error("rules", INVALID);
                break;
            }
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ChallengeConfig, String> {
        challenge_config(&Params::read(query, "", b"").unwrap())
            .map_err(|failure| crate::http::error::body(failure.status, &failure.body).1)
    }

    #[test]
    fn form_parses_time_controls() {
        for (query, expected) in [
            (
                "clock.limit=180&clock.increment=2",
                TimeControl::clock(180, 2),
            ),
            (
                "clock.limit=15&clock.increment=0",
                TimeControl::clock(15, 0),
            ),
            ("clock.limit=0&clock.increment=1", TimeControl::clock(0, 1)),
            ("days=3", TimeControl::Days(3)),
            ("", TimeControl::Unlimited),
        ] {
            assert_eq!(read(query).unwrap().time_control, expected, "{query}");
        }
        for (query, field) in [
            ("clock.limit=61&clock.increment=0", "clock.limit"),
            ("clock.limit=60&clock.increment=61", "clock.increment"),
            ("clock.limit=60", "clock.increment"),
            ("clock.limit=x&clock.increment=1", "clock.limit"),
            ("clock.limit=0&clock.increment=0", "clock"),
            ("days=4", "days"),
        ] {
            let error = read(query).unwrap_err();
            let value: serde_json::Value = serde_json::from_str(&error).unwrap();
            assert!(value[field][0].is_string(), "{query}: {error}");
            assert_eq!(value[field], value["error"][field], "{query}: {error}");
        }
    }

    #[test]
    fn form_variant_from_position() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1".replace(' ', "+");
        let other = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1".replace(' ', "+");
        let variant = |query: String| read(&query).map(|config| config.variant);
        assert_eq!(variant(format!("fen={start}")), Ok(Variant::Standard));
        assert_eq!(
            variant(format!("variant=fromPosition&fen={start}")),
            Ok(Variant::Standard)
        );
        assert_eq!(variant(format!("fen={other}")), Ok(Variant::FromPosition));
        let casual = read(&format!("variant=chess960&fen={other}")).unwrap();
        assert!(casual.start.is_none());
        assert!(
            variant("variant=fromPosition".to_owned())
                .unwrap_err()
                .contains("invalidFen")
        );
        assert!(
            variant(format!("fen={other}&rated=true"))
                .unwrap_err()
                .contains("can't be rated")
        );
        assert!(
            variant("variant=bughouse".to_owned())
                .unwrap_err()
                .contains("Invalid variant")
        );
        // Other variants start from their own position, whatever the form says.
        for (key, special) in [("atomic", false), ("horde", true), ("racingKings", true)] {
            let config = read(&format!("variant={key}&fen={other}")).unwrap();
            assert_eq!(config.variant.key(), key);
            assert_eq!(config.start, config.variant.special_start());
            assert_eq!(config.start.is_some(), special, "{key}");
        }
    }

    #[test]
    fn form_unratable_game_becomes_casual() {
        let rated = |query| read(query).unwrap().rated;
        assert!(rated("rated=true"));
        assert!(rated(
            "rated=true&variant=chess960&clock.limit=60&clock.increment=0"
        ));
        assert!(!rated(
            "rated=true&variant=chess960&clock.limit=0&clock.increment=1"
        ));
        assert!(!rated(
            "rated=true&variant=chess960&clock.limit=15&clock.increment=0"
        ));
        assert!(rated(
            "rated=true&variant=crazyhouse&clock.limit=60&clock.increment=0"
        ));
        assert!(read("rated=true&variant=chess960").is_err());
        assert!(read("rated=true&variant=antichess").is_err());
    }
}
