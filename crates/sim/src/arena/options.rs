//! Options of an arena, from the command line, a script or Lichess's form.

use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::site::time::parse_duration;
use crate::site::{Speed, TeamId, Variant};
use crate::spec::{names, parse_spec};
use crate::time_control::{TimeControl, clock_estimate};
use knightwatch_chess::Position;

/// Options of a new arena.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ArenaOptions {
    /// Eight letters and digits; random if `None`.
    pub id: Option<String>,
    /// Shown with " Arena" appended.
    pub name: String,
    /// In seconds: `180+2`.
    #[serde(deserialize_with = "clock_text")]
    pub clock: TimeControl,
    /// Duration.
    pub minutes: u32,
    /// Time until the start: `30s`, `5m`, `1h`.
    #[serde(deserialize_with = "span_text")]
    pub starts_in: Duration,
    /// Key of the variant.
    pub variant: String,
    /// FEN of the start position of all games; such games are casual.
    pub position: Option<String>,
    /// Games are rated.
    pub rated: bool,
    /// Whether humans may go berserk.
    pub berserkable: bool,
    /// Whether winning streaks double the points.
    pub streakable: bool,
    /// Entry code.
    pub password: Option<String>,
    /// Only members of this team may join.
    pub team: Option<String>,
    /// The teams of a team battle.
    #[serde(deserialize_with = "names")]
    pub teams: Vec<String>,
    /// Whether bots may join.
    pub bots: bool,
    /// Lowest rating of those who may join.
    pub min_rating: Option<u32>,
    /// Highest rating of those who may join.
    pub max_rating: Option<u32>,
    /// Rated games needed to join; titled players are exempt.
    pub min_rated_games: Option<u32>,
    /// The only users who may join; all if empty.
    #[serde(deserialize_with = "names")]
    pub allow: Vec<String>,
    /// Users who may not join.
    #[serde(deserialize_with = "names")]
    pub banned: Vec<String>,
    /// Text on the page of the arena.
    pub description: Option<String>,
    /// The creator; Lichess itself if `None`.
    pub created_by: Option<String>,
}

impl Default for ArenaOptions {
    fn default() -> Self {
        Self {
            id: None,
            name: "Rehearsal".to_owned(),
            clock: TimeControl::clock(180, 2),
            minutes: 45,
            starts_in: Duration::from_secs(60),
            variant: "standard".to_owned(),
            position: None,
            rated: false,
            berserkable: true,
            streakable: true,
            password: None,
            team: None,
            teams: Vec::new(),
            bots: false,
            min_rating: None,
            max_rating: None,
            min_rated_games: None,
            allow: Vec::new(),
            banned: Vec::new(),
            description: None,
            created_by: None,
        }
    }
}

impl ArenaOptions {
    /// An arena for bots.
    pub fn for_bots(name: impl Into<String>, clock: TimeControl, minutes: u32) -> Self {
        Self {
            name: name.into(),
            clock,
            minutes,
            bots: true,
            ..Self::default()
        }
    }
}

/// Validated arena options.
#[derive(Clone, Debug)]
pub(crate) struct ArenaConfig {
    pub name: String,
    /// Seconds.
    pub limit: u32,
    pub increment: u32,
    pub minutes: u32,
    pub variant: Variant,
    pub start: Option<Position>,
    pub rated: bool,
    pub berserkable: bool,
    pub streakable: bool,
    pub password: Option<String>,
    pub team_battle: Vec<TeamId>,
    pub conditions: Conditions,
    pub description: Option<String>,
}

/// Entry conditions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    pub bots: bool,
    pub team: Option<TeamId>,
    pub min_rating: Option<u32>,
    pub max_rating: Option<u32>,
    pub min_rated_games: Option<u32>,
    pub allow: Vec<String>,
    pub banned: Vec<String>,
}

impl ArenaConfig {
    pub(crate) fn time_control(&self) -> TimeControl {
        TimeControl::clock(self.limit, self.increment)
    }

    /// Estimated seconds per player and game.
    pub(crate) fn estimate(&self) -> u32 {
        clock_estimate(self.limit, self.increment)
    }

    pub(crate) fn speed(&self) -> Speed {
        Speed::of(self.time_control())
    }

    pub(crate) fn game_variant(&self) -> Variant {
        match self.start {
            Some(_) => Variant::FromPosition,
            None => self.variant,
        }
    }
}

impl ArenaOptions {
    /// Validates the options.
    ///
    /// # Errors
    /// A sentence about the first invalid option.
    pub(crate) fn validate(&self) -> Result<ArenaConfig, String> {
        let TimeControl::Clock { limit, increment } = self.clock else {
            return Err("an arena needs a clock".to_owned());
        };
        if !matches!(limit, 0 | 15 | 30 | 45 | 90) && limit % 60 != 0 {
            return Err(format!(
                "{limit}+{increment} is not an arena clock: write it in seconds, as in 180+2"
            ));
        }
        if limit + increment == 0 {
            return Err("Invalid clock".to_owned());
        }
        if self.bots && Speed::of(self.clock) == Speed::UltraBullet {
            return Err("Invalid clock for bot games".to_owned());
        }
        if self.minutes == 0 {
            return Err("an arena lasts at least a minute".to_owned());
        }
        let name = self.name.trim();
        if !(2..=30).contains(&name.chars().count()) {
            return Err(format!(
                "`{name}` is not a valid name: expected 2 to 30 characters"
            ));
        }
        let variant = Variant::from_key(&self.variant)?;
        let start = match &self.position {
            None if variant == Variant::FromPosition => {
                return Err("an arena from a position needs `position`".to_owned());
            }
            None => None,
            Some(_) if !matches!(variant, Variant::Standard | Variant::FromPosition) => {
                return Err("only standard chess starts from a position".to_owned());
            }
            Some(fen) => Some(Position::from_fen(fen).map_err(|why| format!("{fen}: {why}"))?),
        };
        let start = start.filter(|start| *start != Position::startpos());
        Ok(ArenaConfig {
            name: name.to_owned(),
            limit,
            increment,
            minutes: self.minutes,
            variant: match variant {
                Variant::FromPosition => Variant::Standard,
                other => other,
            },
            rated: self.rated && start.is_none(),
            start,
            // Lichess does not offer berserk with large increments.
            berserkable: self.berserkable && increment * 60 <= limit * 2,
            streakable: self.streakable,
            password: self.password.clone(),
            team_battle: self.teams.iter().map(|name| TeamId::of(name)).collect(),
            conditions: Conditions {
                bots: self.bots,
                team: self.team.as_deref().map(TeamId::of),
                min_rating: self.min_rating,
                max_rating: self.max_rating,
                min_rated_games: self.min_rated_games,
                allow: self.allow.iter().map(|name| name.to_lowercase()).collect(),
                banned: self.banned.iter().map(|name| name.to_lowercase()).collect(),
            },
            description: self.description.clone(),
        })
    }
}

/// `NAME,clock=60+0,minutes=10,starts-in=30s,bots,rated,...`, as on the command line.
impl FromStr for ArenaOptions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let options: Self = parse_spec(text)?;
        options.validate()?;
        Ok(options)
    }
}

fn clock_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TimeControl, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

fn span_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arena_options_parse_from_spec() {
        let options: ArenaOptions =
            "Friday Bots,clock=30+1,minutes=10,starts-in=5m,bots,rated,password=x,teams=a,teams=b,min-rating=1200"
                .parse()
                .unwrap();
        let expected = ArenaOptions {
            starts_in: Duration::from_secs(300),
            rated: true,
            password: Some("x".to_owned()),
            teams: vec!["a".to_owned(), "b".to_owned()],
            min_rating: Some(1200),
            ..ArenaOptions::for_bots("Friday Bots", TimeControl::clock(30, 1), 10)
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn arena_options_parse_from_toml() {
        let text = "name = \"Friday Bots\"\nclock = \"30+1\"\nminutes = 10\nstarts-in = \"5m\"\nbots = true\nallow = [\"A\"]";
        let options: ArenaOptions = toml::from_str(text).unwrap();
        let line = "Friday Bots,clock=30+1,minutes=10,starts-in=5m,bots,allow=A";
        assert_eq!(options, line.parse().unwrap());
        assert!(toml::from_str::<ArenaOptions>("nmae = \"x\"").is_err());
        assert!(toml::from_str::<ArenaOptions>("clock = \"fast\"").is_err());
    }

    #[test]
    fn arena_options_errors_name_problem() {
        for (text, part) in [
            ("X", "not a valid name"),
            ("Bots,clock=soon", "not a time control"),
            ("Bots,clock=3+2", "in seconds"),
            ("Bots,clock=3d", "needs a clock"),
            ("Bots,minutes=ten", "`minutes`"),
            ("Bots,minutes=0", "at least a minute"),
            ("Bots,starts-in=soon", "not a duration"),
            ("Bots,bots=perhaps", "`bots`"),
            ("Bots,speed=9", "`speed`"),
            ("Bots,clock", "`clock`"),
            ("Bots,clock=15+0,bots", "Invalid clock for bot games"),
            ("Bots,variant=bughouse", "Invalid variant"),
            ("Bots,variant=fromPosition", "needs `position`"),
            ("Bots,position=nonsense", "nonsense"),
        ] {
            let error = text.parse::<ArenaOptions>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn arena_config_limits_rated_and_berserk() {
        let config = |text: &str| text.parse::<ArenaOptions>().unwrap().validate().unwrap();
        let from = config("Bots,rated,position=4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");
        assert!(!from.rated);
        assert_eq!(from.game_variant(), Variant::FromPosition);
        assert!(config("Bots,clock=180+2").berserkable);
        assert!(config("Bots,clock=60+2").berserkable);
        assert!(!config("Bots,clock=60+3").berserkable);
    }
}
