//! Parser of Lichess's form for a new arena.

use std::time::Duration;

use crate::arena::options::ArenaOptions;
use crate::http::form::Form;
use crate::http::params::{Params, is_yes};
use crate::site::error::INVALID;
use crate::site::{ApiError, SimTime, Speed, Variant};
use crate::time_control::TimeControl;
use knightwatch_chess::Position;

/// Allowed `clockTime` values, in minutes.
const CLOCK_TIMES: [f64; 23] = [
    0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 15.0, 20.0, 25.0,
    30.0, 35.0, 40.0, 45.0, 50.0, 60.0,
];
/// Allowed increments, in seconds.
const INCREMENTS: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 10, 15, 20, 25, 30, 40, 50, 60];
/// Allowed durations, in minutes.
const MINUTES: [u32; 28] = [
    20, 25, 30, 35, 40, 45, 50, 55, 60, 70, 80, 90, 100, 110, 120, 150, 180, 210, 240, 270, 300,
    330, 360, 420, 480, 540, 600, 720,
];
const MAX_START_DELAY: Duration = Duration::from_secs(365 * 86_400);
/// Allowed `waitMinutes` values.
const WAIT_MINUTES: [u32; 10] = [1, 2, 3, 5, 10, 15, 20, 30, 45, 60];
const DEFAULT_WAIT_MINUTES: u32 = 5;

/// Parses the form; `leads` tells whether the creator leads a team.
///
/// # Errors
/// All invalid fields.
pub(crate) fn arena_form(
    params: &Params,
    creator: &str,
    leads: impl Fn(&str) -> bool,
    now: SimTime,
) -> Result<ArenaOptions, ApiError> {
    let mut form = Form::new(params);
    let defaults = ArenaOptions::default();
    let name = form.name(creator);
    let clock = form.clock();
    let (minutes, starts_in) = (form.minutes(), form.starts_in(now));
    let variant = form.variant();
    let options = ArenaOptions {
        name,
        clock,
        minutes,
        starts_in,
        variant,
        position: form.position(),
        rated: form.flag_or("rated", true),
        berserkable: form.flag_or("berserkable", defaults.berserkable),
        streakable: form.flag_or("streakable", defaults.streakable),
        password: form.text("password"),
        team: form.team("conditions.teamMember.teamId", &leads),
        teams: form.team("teamBattleByTeam", &leads).into_iter().collect(),
        bots: form.flag_or("conditions.bots", false),
        min_rating: form.number("conditions.minRating.rating"),
        max_rating: form.number("conditions.maxRating.rating"),
        min_rated_games: form.number("conditions.nbRatedGame.nb"),
        allow: form
            .text("conditions.allowList")
            .map(|text| {
                text.split([',', '\n'])
                    .map(|name| name.trim().to_owned())
                    .collect()
            })
            .unwrap_or_default(),
        description: form.text("description"),
        created_by: Some(creator.to_owned()),
        ..defaults
    };
    form.check_combinations(&options);
    if form.errors.is_empty() {
        Ok(options)
    } else {
        Err(ApiError::invalid_fields(form.errors))
    }
}

impl Form<'_> {
    fn text(&self, field: &str) -> Option<String> {
        let text = self.params.get(field)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn flag_or(&self, field: &str, default: bool) -> bool {
        self.params.get(field).map_or(default, is_yes)
    }

    fn name(&mut self, creator: &str) -> String {
        let name = self.text("name").unwrap_or_else(|| creator.to_owned());
        if !(2..=30).contains(&name.chars().count()) {
            self.error("name", "Must contain 2 to 30 characters");
        }
        name
    }

    fn clock(&mut self) -> TimeControl {
        let time: Option<f64> = self.required("clockTime");
        if time.is_some_and(|time| !CLOCK_TIMES.contains(&time)) {
            self.error("clockTime", INVALID);
        }
        let increment: Option<u32> = self.required("clockIncrement");
        if increment.is_some_and(|increment| !INCREMENTS.contains(&increment)) {
            self.error("clockIncrement", INVALID);
        }
        let limit = (time.unwrap_or_default() * 60.0) as u32;
        TimeControl::clock(limit, increment.unwrap_or_default())
    }

    fn minutes(&mut self) -> u32 {
        let minutes = self.required("minutes");
        if minutes.is_some_and(|minutes| !MINUTES.contains(&minutes)) {
            self.error("minutes", INVALID);
        }
        minutes.unwrap_or_default()
    }

    /// Time until the start: from a date in Unix milliseconds, or a number of minutes.
    fn starts_in(&mut self, now: SimTime) -> Duration {
        let date: Option<i64> = self.number("startDate");
        let wait: Option<u32> = self.number("waitMinutes");
        if wait.is_some_and(|wait| !WAIT_MINUTES.contains(&wait)) {
            self.error("waitMinutes", INVALID);
        }
        match date {
            Some(date) if date <= now.0 => {
                self.error("startDate", "Must be in the future");
                Duration::ZERO
            }
            Some(date) if SimTime(date) > now + MAX_START_DELAY => {
                self.error("startDate", INVALID);
                Duration::ZERO
            }
            Some(date) => SimTime(date).since(now),
            None => Duration::from_secs(u64::from(wait.unwrap_or(DEFAULT_WAIT_MINUTES)) * 60),
        }
    }

    fn variant(&mut self) -> String {
        let key = self
            .text("variant")
            .unwrap_or_else(|| "standard".to_owned());
        match Variant::from_key(&key) {
            Ok(Variant::Standard | Variant::Chess960 | Variant::Other(_)) => {}
            Ok(Variant::FromPosition) => self.error("variant", INVALID),
            Err(why) => self.error("variant", &why),
        }
        key
    }

    fn position(&mut self) -> Option<String> {
        let fen = self.text("position")?;
        let is_standard = matches!(self.params.get("variant"), None | Some("standard"));
        if Position::from_fen(&fen).is_err() {
            self.error("position", "Invalid position");
        }
        is_standard.then_some(fen)
    }

    fn team(&mut self, field: &'static str, leads: &impl Fn(&str) -> bool) -> Option<String> {
        let team = self.text(field)?;
        if !leads(&team) {
            self.error(field, INVALID);
        }
        Some(team)
    }

    /// Checks combinations of fields that are valid individually.
    fn check_combinations(&mut self, options: &ArenaOptions) {
        let TimeControl::Clock { limit, increment } = options.clock else {
            return;
        };
        if !self.errors.is_empty() {
            return;
        }
        if limit + increment == 0 {
            return self.error("", "Invalid clock");
        }
        if options.bots && Speed::of(options.clock) == Speed::UltraBullet {
            return self.error("", "Invalid clock for bot games");
        }
        let too_fast =
            Speed::of(options.clock) == Speed::UltraBullet || (limit == 0 && increment < 2);
        if options.rated && options.variant != "standard" && too_fast {
            return self.error("", "15s and 0+1 variant games cannot be rated");
        }
        // Both players use 80 % of their time, then wait 15 seconds for the next pairing.
        let game = f64::from(limit + 30 * increment) * 1.6 + 15.0;
        let games = f64::from(options.minutes * 60) / game;
        if games < 3.0 {
            self.error("", "Increase tournament duration, or decrease game clock");
        } else if games > 150.0 {
            self.error("", "Reduce tournament duration, or increase game clock");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::error::{NOT_A_NUMBER, REQUIRED};

    fn read(query: &str) -> Result<ArenaOptions, String> {
        let params = Params::read(query, "", b"").unwrap();
        let now = SimTime(1_700_000_000_000);
        arena_form(&params, "Anna", |team| team == "mine", now)
            .map_err(|failure| crate::http::error::body(failure.status, &failure.body).1)
    }

    #[test]
    fn arena_form_parses_fields() {
        let options = read(
            "name=Friday&clockTime=1.5&clockIncrement=1&minutes=20&startDate=1700000060000&rated=false&\
             conditions.bots=true&password=x&conditions.teamMember.teamId=mine&conditions.minRating.rating=1400",
        )
        .unwrap();
        assert_eq!(options.clock, TimeControl::clock(90, 1));
        assert_eq!(
            (options.minutes, options.starts_in),
            (20, Duration::from_secs(60))
        );
        assert!(options.bots && !options.rated && options.streakable);
        assert_eq!(options.team.as_deref(), Some("mine"));
        assert_eq!(options.min_rating, Some(1400));
        assert!(options.validate().is_ok());
        let plain = read("clockTime=3&clockIncrement=0&minutes=45").unwrap();
        assert_eq!(
            (plain.name.as_str(), plain.starts_in.as_secs()),
            ("Anna", 300)
        );
        assert!(plain.rated && !plain.bots);
    }

    #[test]
    fn arena_form_reports_invalid_fields() {
        for (query, field, text) in [
            ("", "clockTime", REQUIRED),
            (
                "clockTime=x&clockIncrement=0&minutes=45",
                "clockTime",
                NOT_A_NUMBER,
            ),
            (
                "clockTime=2.5&clockIncrement=0&minutes=45",
                "clockTime",
                INVALID,
            ),
            (
                "clockTime=3&clockIncrement=8&minutes=45",
                "clockIncrement",
                INVALID,
            ),
            (
                "clockTime=3&clockIncrement=0&minutes=44",
                "minutes",
                INVALID,
            ),
            (
                "clockTime=3&clockIncrement=0&minutes=45&waitMinutes=4",
                "waitMinutes",
                INVALID,
            ),
            (
                "clockTime=3&clockIncrement=0&minutes=45&startDate=1",
                "startDate",
                "Must be in the future",
            ),
            (
                "clockTime=3&clockIncrement=0&minutes=45&startDate=9223372036854775807",
                "startDate",
                INVALID,
            ),
            (
                "clockTime=3&clockIncrement=0&minutes=45&name=X",
                "name",
                "Must contain 2 to 30 characters",
            ),
            (
                "clockTime=3&clockIncrement=0&minutes=45&position=x",
                "position",
                "Invalid position",
            ),
            (
                "clockTime=0&clockIncrement=0&minutes=45",
                "",
                "Invalid clock",
            ),
            (
                "clockTime=60&clockIncrement=0&minutes=45",
                "",
                "Increase tournament duration, or decrease game clock",
            ),
            (
                "clockTime=0.25&clockIncrement=0&minutes=20&conditions.bots=true",
                "",
                "Invalid clock for bot games",
            ),
            (
                "clockTime=3&clockIncrement=0&minutes=45&conditions.teamMember.teamId=theirs",
                "conditions.teamMember.teamId",
                INVALID,
            ),
        ] {
            let error = read(query).unwrap_err();
            let value: serde_json::Value = serde_json::from_str(&error).unwrap();
            assert_eq!(value["error"][field][0], text, "{query}: {error}");
            assert!(value.get("clockTime").is_none());
        }
    }
}
