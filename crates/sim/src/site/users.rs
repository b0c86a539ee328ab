//! Accounts: profile, ratings and presence.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::options::NewUser;
use crate::site::glicko::Glicko;
use crate::site::id::{GameId, UserId};
use crate::site::relations::Relations;
use crate::site::time::SimTime;
use crate::site::variant::PERF_KEYS;
use crate::wire::{
    Count, Extended, Ordered, PlayTime, PlayingJson, Profile, RatingJson, Relation, UserJson,
    UserStatus,
};

/// Time for which a user counts as online after their last stream was closed.
const ONLINE_GRACE: Duration = Duration::from_secs(10);
/// Ratings with a deviation above this are provisional.
const PROVISIONAL_DEVIATION: f64 = 110.0;

/// Rating of one account in one perf.
#[derive(Clone, Debug)]
pub(crate) struct Rating {
    pub games: u32,
    glicko: Glicko,
    progress: i32,
    played_at: Option<SimTime>,
}

impl Rating {
    fn new(rating: u32, games: u32) -> Self {
        let initial = Glicko::initial(f64::from(rating));
        let established = Glicko {
            deviation: 60.0,
            volatility: 0.06,
            ..initial
        };
        Self {
            games,
            glicko: if games == 0 { initial } else { established },
            progress: 0,
            played_at: None,
        }
    }

    pub(crate) fn value(&self) -> i32 {
        self.glicko.rating.round() as i32
    }

    pub(crate) fn is_provisional(&self) -> bool {
        self.glicko.deviation > PROVISIONAL_DEVIATION
    }

    /// Returns the rating after a game against this opponent with a score of 0, 0.5 or 1.
    pub(crate) fn after(&self, opponent: &Self, score: f64, now: SimTime) -> Self {
        let idle = self
            .played_at
            .map_or(Duration::ZERO, |last| now.since(last));
        let days = idle.as_secs_f64() / 86_400.0;
        let after = Self {
            games: self.games + 1,
            glicko: self.glicko.after_game(opponent.glicko, score, days),
            progress: 0,
            played_at: Some(now),
        };
        Self {
            progress: after.value() - self.value(),
            ..after
        }
    }
}

/// Kind of player behind a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountKind {
    /// A registered user.
    User,
    /// The AI of the site at this level, 1 to 8.
    Ai(u8),
    /// A player without an account.
    Anonymous,
}

/// Numbers of games by result.
#[derive(Clone, Debug, Default)]
pub(crate) struct GameCounts {
    pub all: u32,
    pub rated: u32,
    pub win: u32,
    pub loss: u32,
    pub draw: u32,
}

/// An account.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub id: UserId,
    pub name: String,
    pub account_kind: AccountKind,
    pub bot: bool,
    /// Title of a human.
    title: Option<&'static str>,
    pub bio: Option<String>,
    pub takebacks: bool,
    pub game_counts: GameCounts,
    pub playing: Vec<GameId>,
    pub play_time: Duration,
    /// Runs in this process or was declared always present.
    pub always_online: bool,
    /// Plays on the web site rather than through a board.
    pub browser: bool,
    pub relations: Relations,
    /// Kid mode: sends and receives no chat.
    pub kid: bool,
    ratings: BTreeMap<&'static str, Rating>,
    created_at: SimTime,
    seen_at: SimTime,
    streams: usize,
}

impl User {
    pub(crate) fn new(user: NewUser, now: SimTime) -> Self {
        let ratings = PERF_KEYS.map(|key| (key, Rating::new(user.rating, user.games)));
        Self {
            id: UserId::of(&user.name),
            name: user.name,
            account_kind: if user.guest {
                AccountKind::Anonymous
            } else {
                AccountKind::User
            },
            bot: user.bot,
            title: user.title,
            bio: user.bio,
            takebacks: user.takebacks,
            game_counts: GameCounts {
                all: user.games,
                rated: user.games,
                draw: user.games,
                ..GameCounts::default()
            },
            playing: Vec::new(),
            play_time: Duration::ZERO,
            always_online: user.present,
            browser: user.browser,
            relations: Relations::following(&user.follows),
            kid: false,
            ratings: ratings.into(),
            created_at: now - Duration::from_secs(30 * 86_400),
            seen_at: now - Duration::from_secs(3_600),
            streams: 0,
        }
    }

    /// Creates the user behind an AI or anonymous player, who is always online.
    pub(crate) fn unlisted(account_kind: AccountKind, name: String, now: SimTime) -> Self {
        Self {
            account_kind,
            always_online: true,
            ..Self::new(NewUser::human(name), now)
        }
    }

    pub(crate) fn title(&self) -> Option<&'static str> {
        if self.bot { Some("BOT") } else { self.title }
    }

    pub(crate) fn rating(&self, perf: &'static str) -> &Rating {
        self.ratings
            .get(perf)
            .expect("every account has all ratings")
    }

    pub(crate) fn rating_mut(&mut self, perf: &'static str) -> &mut Rating {
        self.ratings
            .get_mut(perf)
            .expect("every account has all ratings")
    }

    pub(crate) fn follows(&self, other: &UserId) -> bool {
        self.relations.follows(other)
    }

    pub(crate) fn on_stream_opened(&mut self, now: SimTime) {
        self.streams += 1;
        self.seen_at = now;
    }

    pub(crate) fn on_stream_closed(&mut self, now: SimTime) {
        self.streams = self.streams.saturating_sub(1);
        self.seen_at = now;
    }

    pub(crate) fn is_online(&self, now: SimTime) -> bool {
        self.always_online || self.streams > 0 || now.since(self.seen_at) < ONLINE_GRACE
    }

    /// Returns whether the user appears in the list of online bots.
    pub(crate) fn is_listed(&self, now: SimTime) -> bool {
        self.bot && self.bio.is_some() && self.is_online(now)
    }

    /// Turns the account into a bot account, which refuses takebacks from then on.
    pub(crate) fn upgrade_to_bot(&mut self) {
        self.bot = true;
        self.takebacks = false;
    }

    pub(crate) fn json(&self) -> UserJson {
        let perfs = self.ratings.iter().map(|(key, rating)| {
            let shown = RatingJson {
                games: rating.games,
                rating: rating.value(),
                rd: rating.glicko.deviation.round() as u32,
                prog: rating.progress,
                prov: rating.is_provisional(),
            };
            ((*key).to_owned(), shown)
        });
        UserJson {
            id: self.id.to_string(),
            username: self.name.clone(),
            perfs: Ordered(perfs.collect()),
            title: self.title(),
            created_at: self.created_at.0,
            profile: self.bio.clone().map(|bio| Profile { bio }),
            seen_at: self.seen_at.0,
            play_time: PlayTime {
                total: self.play_time.as_secs(),
                tv: 0,
            },
            extended: None,
        }
    }

    /// Adds links and counts of a profile; `playing` is the URL of the current game.
    pub(crate) fn extended_json(
        &self,
        base: &str,
        playing: Option<String>,
        relation: Option<Relation>,
    ) -> UserJson {
        UserJson {
            extended: Some(Extended {
                url: format!("{base}/@/{}", self.name),
                playing,
                count: Count {
                    all: self.game_counts.all,
                    rated: self.game_counts.rated,
                    draw: self.game_counts.draw,
                    loss: self.game_counts.loss,
                    win: self.game_counts.win,
                    bookmark: 0,
                    playing: u32::try_from(self.playing.len()).unwrap_or(u32::MAX),
                    import: 0,
                    me: 0,
                },
                relation,
            }),
            ..self.json()
        }
    }

    /// `playing` describes the current game.
    pub(crate) fn status(
        &self,
        now: SimTime,
        with_signal: bool,
        with_game_ids: bool,
        playing: Option<PlayingJson>,
    ) -> UserStatus {
        let online = self.is_online(now);
        let game = self.playing.last();
        UserStatus {
            id: self.id.to_string(),
            name: self.name.clone(),
            title: self.title(),
            online,
            playing,
            signal: (with_signal && online).then_some(4),
            playing_id: game.filter(|_| with_game_ids).map(GameId::to_string),
        }
    }
}
