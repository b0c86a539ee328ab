//! Accounts: tokens, profiles, ratings and presence.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use knightwatch_chess::Color;

use crate::options::NewUser;
use crate::site::glicko::Glicko;
use crate::site::relations::Relations;
use crate::site::variant::PERF_KEYS;
use crate::site::{ApiError, GameId, SimTime, UserId};

/// Time for which a user counts as online after their last stream was closed.
const ONLINE_GRACE: Duration = Duration::from_secs(10);
/// Ratings with a deviation above this are provisional.
const PROVISIONAL_DEVIATION: f64 = 110.0;

/// Rating of one account in one perf.
#[derive(Clone, Debug)]
pub(crate) struct Rating {
    pub games: u32,
    /// Change by the last game.
    pub progress: i32,
    glicko: Glicko,
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

    pub(crate) fn deviation(&self) -> u32 {
        self.glicko.deviation.round() as u32
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
    pub ratings: BTreeMap<&'static str, Rating>,
    pub created_at: SimTime,
    pub seen_at: SimTime,
    streams: usize,
}

impl User {
    fn new(user: NewUser, now: SimTime) -> Self {
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

    pub(crate) fn title(&self) -> Option<&'static str> {
        if self.bot { Some("BOT") } else { self.title }
    }

    pub(crate) fn rating(&self, perf: &'static str) -> &Rating {
        self.ratings
            .get(perf)
            .expect("every account has all ratings")
    }

    pub(crate) fn follows(&self, other: &UserId) -> bool {
        self.relations.follows(other)
    }

    pub(crate) fn is_online(&self, now: SimTime) -> bool {
        self.always_online || self.streams > 0 || now.since(self.seen_at) < ONLINE_GRACE
    }

    /// Returns whether the user appears in the list of online bots.
    pub(crate) fn is_listed(&self, now: SimTime) -> bool {
        self.bot && self.bio.is_some() && self.is_online(now)
    }
}

/// User and scopes of a token.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub user: UserId,
    pub scopes: Vec<String>,
}

/// Result of a game, with the players and their values in the order White, Black.
#[derive(Clone, Debug)]
pub(crate) struct GameResult {
    pub users: [UserId; 2],
    pub perf: &'static str,
    pub rated: bool,
    pub winner: Option<Color>,
    /// Duration of the game.
    pub lasted: Duration,
}

impl GameResult {
    /// Half points of both sides.
    pub(crate) fn halves(&self) -> [u32; 2] {
        match self.winner {
            None => [1, 1],
            Some(Color::White) => [2, 0],
            Some(Color::Black) => [0, 2],
        }
    }
}

/// All accounts and their tokens.
#[derive(Default)]
pub(crate) struct Users {
    all: BTreeMap<UserId, User>,
    tokens: HashMap<String, Grant>,
}

impl Users {
    /// Creates an account with its personal token, unless the name is taken.
    pub(crate) fn add(&mut self, user: NewUser, now: SimTime) {
        let id = UserId::of(&user.name);
        if !self.all.contains_key(&id) {
            self.add_token(id.personal_token(), id.clone(), user.scopes.clone());
            self.all.insert(id, User::new(user, now));
        }
    }

    /// Adds the user behind the AI at this level, who is always online and cannot be found by name.
    pub(crate) fn add_ai(&mut self, level: u8, now: SimTime) -> UserId {
        let name = format!("@ai{level}");
        let id = UserId::of(&name);
        self.all.entry(id.clone()).or_insert_with(|| User {
            account_kind: AccountKind::Ai(level),
            always_online: true,
            ..User::new(NewUser::human(name), now)
        });
        id
    }

    pub(crate) fn add_token(&mut self, token: String, user: UserId, scopes: Vec<String>) {
        self.tokens.insert(token, Grant { user, scopes });
    }

    /// Invalidates a token.
    pub(crate) fn revoke(&mut self, token: &str) {
        self.tokens.remove(token);
    }

    pub(crate) fn grant(&self, token: &str) -> Option<&Grant> {
        self.tokens.get(token)
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&User> {
        self.all
            .get(&UserId::of(name))
            .filter(|user| user.account_kind == AccountKind::User)
    }

    /// Finds the user named in a request.
    pub(crate) fn find(&self, name: &str) -> Result<&User, ApiError> {
        self.by_name(name).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn get(&self, id: &UserId) -> &User {
        self.known(id).expect("accounts are never deleted")
    }

    /// Returns the user if the account exists.
    pub(crate) fn known(&self, id: &UserId) -> Option<&User> {
        self.all.get(id)
    }

    fn get_mut(&mut self, id: &UserId) -> &mut User {
        self.all.get_mut(id).expect("accounts are never deleted")
    }

    /// All users by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &User> {
        self.all.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn on_stream_opened(&mut self, id: &UserId, now: SimTime) {
        let user = self.get_mut(id);
        user.streams += 1;
        user.seen_at = now;
    }

    pub(crate) fn on_stream_closed(&mut self, id: &UserId, now: SimTime) {
        let user = self.get_mut(id);
        user.streams = user.streams.saturating_sub(1);
        user.seen_at = now;
    }

    /// Makes the account that of a built-in player, who is always online.
    pub(crate) fn set_builtin(&mut self, id: &UserId, takebacks: bool) {
        let user = self.get_mut(id);
        user.always_online = true;
        user.takebacks |= takebacks;
    }

    /// Turns the account into a bot account, which refuses takebacks from then on.
    pub(crate) fn upgrade_to_bot(&mut self, id: &UserId) -> Result<(), ApiError> {
        let user = self.get_mut(id);
        if user.game_counts.all > 0 || !user.playing.is_empty() {
            return Err(ApiError::bad_request(
                "You already have games played. Make a new account.",
            ));
        }
        user.bot = true;
        user.takebacks = false;
        Ok(())
    }

    pub(crate) fn set_kid(&mut self, id: &UserId, kid: bool) {
        self.get_mut(id).kid = kid;
    }

    pub(crate) fn relations_mut(&mut self, id: &UserId) -> &mut Relations {
        &mut self.get_mut(id).relations
    }

    /// Adds a game to the running games of a user.
    pub(crate) fn start_game(&mut self, id: &UserId, game: GameId) {
        self.get_mut(id).playing.push(game);
    }

    pub(crate) fn end_game(&mut self, id: &UserId, game: GameId) {
        self.get_mut(id).playing.retain(|other| *other != game);
    }

    /// Counts a finished game for both players. If it is rated, returns their rating changes.
    pub(crate) fn record(&mut self, game: &GameResult, now: SimTime) -> Option<[i32; 2]> {
        let before = game
            .users
            .each_ref()
            .map(|id| self.get(id).rating(game.perf).clone());
        let halves = game.halves();
        let changes = [0, 1].map(|side: usize| {
            let user = self.get_mut(&game.users[side]);
            let counts = &mut user.game_counts;
            user.play_time += game.lasted;
            counts.all += 1;
            match halves[side] {
                0 => counts.loss += 1,
                1 => counts.draw += 1,
                _ => counts.win += 1,
            }
            if !game.rated {
                return 0;
            }
            counts.rated += 1;
            let score = f64::from(halves[side]) / 2.0;
            let after = before[side].after(&before[1 - side], score, now);
            let change = after.value() - before[side].value();
            user.ratings.insert(game.perf, after);
            change
        });
        game.rated.then_some(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SimTime = SimTime(1_000_000_000);

    fn users() -> Users {
        let mut users = Users::default();
        users.add(NewUser::bot("Anna"), NOW);
        users.add(NewUser::human("Bob"), NOW);
        users
    }

    #[test]
    fn tokens_grant_until_revoked() {
        let mut users = users();
        assert_eq!(users.grant("lip_anna").unwrap().user, UserId::of("Anna"));
        users.add(NewUser::human("ANNA"), NOW);
        assert!(users.by_name("anna").unwrap().bot, "the name is taken");
        users.revoke("lip_anna");
        assert!(users.grant("lip_anna").is_none());
        let ai = users.add_ai(3, NOW);
        assert!(users.find(ai.as_str()).is_err(), "the AI cannot be found");
        assert_eq!(users.get(&ai).account_kind, AccountKind::Ai(3));
    }

    #[test]
    fn record_counts_and_rates() {
        let mut users = users();
        let mut game = GameResult {
            users: [UserId::of("Anna"), UserId::of("Bob")],
            perf: "blitz",
            rated: false,
            winner: Some(Color::Black),
            lasted: Duration::from_secs(60),
        };
        assert_eq!(users.record(&game, NOW), None);
        let bob = UserId::of("Bob");
        assert_eq!(users.get(&bob).rating("blitz").games, 0);
        game.rated = true;
        let [white, black] = users.record(&game, NOW).unwrap();
        assert!(white < 0 && black > -white, "the new account changes more");
        let user = users.get(&bob);
        assert_eq!(user.rating("blitz").value(), 1500 + black);
        assert_eq!((user.game_counts.all, user.game_counts.win), (2, 2));
        assert_eq!(user.game_counts.rated, 1);
        assert_eq!(user.play_time, Duration::from_secs(120));
    }

    #[test]
    fn upgrade_needs_account_without_games() {
        let mut users = users();
        let bob = UserId::of("Bob");
        let game = GameId::parse("abcdefgh").unwrap();
        users.start_game(&bob, game);
        assert!(users.upgrade_to_bot(&bob).is_err());
        users.end_game(&bob, game);
        assert!(users.upgrade_to_bot(&bob).is_ok());
        assert!(users.get(&bob).bot && !users.get(&bob).takebacks);
    }

    #[test]
    fn presence_ends_after_last_stream() {
        let mut users = users();
        let anna = UserId::of("Anna");
        assert!(!users.get(&anna).is_online(NOW));
        users.on_stream_opened(&anna, NOW);
        let later = NOW + Duration::from_secs(3_600);
        assert!(users.get(&anna).is_online(later));
        users.on_stream_closed(&anna, later);
        assert!(users.get(&anna).is_online(later + Duration::from_secs(9)));
        assert!(!users.get(&anna).is_online(later + Duration::from_secs(10)));
    }
}
