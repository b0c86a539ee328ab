//! Views of users.

use serde::Serialize;

use crate::site::crosstable::Score;
use crate::site::{GameId, SimTime, SiteState, User, UserId};
use crate::wire::{
    Count, Extended, LightUser, Ordered, PlayTime, PlayingJson, Profile, RatingJson, Relation,
    UserJson, UserStatus,
};

pub(crate) fn light_user(state: &SiteState, id: &UserId) -> LightUser {
    let user = state.users.get(id);
    LightUser {
        id: user.id.to_string(),
        name: user.name.clone(),
        title: user.title(),
    }
}

pub(crate) fn user_json(user: &User) -> UserJson {
    let perfs = user.ratings.iter().map(|(key, rating)| {
        let shown = RatingJson {
            games: rating.games,
            rating: rating.value(),
            rd: rating.deviation(),
            prog: rating.progress,
            prov: rating.is_provisional(),
        };
        ((*key).to_owned(), shown)
    });
    UserJson {
        id: user.id.to_string(),
        username: user.name.clone(),
        perfs: Ordered(perfs.collect()),
        title: user.title(),
        created_at: user.created_at.0,
        profile: user.bio.clone().map(|bio| Profile { bio }),
        seen_at: user.seen_at.0,
        play_time: PlayTime {
            total: user.play_time.as_secs(),
            tv: 0,
        },
        extended: None,
    }
}

/// Profile of a user, with links and counts.
pub(crate) fn profile(state: &SiteState, user: &User, relation: Option<Relation>) -> UserJson {
    let base = &state.base_url;
    let playing = user.playing.last().and_then(|id| state.rounds.get(*id));
    let playing = playing.and_then(|round| {
        let color = round.color_of(&user.id)?.key();
        Some(format!("{base}/{}/{color}", round.id))
    });
    UserJson {
        extended: Some(Extended {
            url: format!("{base}/@/{}", user.name),
            playing,
            count: Count {
                all: user.game_counts.all,
                rated: user.game_counts.rated,
                draw: user.game_counts.draw,
                loss: user.game_counts.loss,
                win: user.game_counts.win,
                bookmark: 0,
                playing: u32::try_from(user.playing.len()).unwrap_or(u32::MAX),
                import: 0,
                me: 0,
            },
            relation,
        }),
        ..user_json(user)
    }
}

/// Status of a user; `playing` describes the current game.
pub(crate) fn status(
    user: &User,
    now: SimTime,
    (with_signal, with_game_ids): (bool, bool),
    playing: Option<PlayingJson>,
) -> UserStatus {
    let online = user.is_online(now);
    let game = user.playing.last();
    UserStatus {
        id: user.id.to_string(),
        name: user.name.clone(),
        title: user.title(),
        online,
        playing,
        signal: (with_signal && online).then_some(4),
        playing_id: game.filter(|_| with_game_ids).map(GameId::to_string),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Crosstable {
    users: Ordered<serde_json::Number>,
    nb_games: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    matchup: Option<Box<Crosstable>>,
}

/// Crosstable of two users, with their current match if it is given.
pub(crate) fn crosstable(users: &[UserId; 2], all: Score, current: Option<Score>) -> Crosstable {
    let points = users.iter().zip(all.halves);
    Crosstable {
        users: Ordered(
            points
                .map(|(id, halves)| (id.to_string(), points_of(halves)))
                .collect(),
        ),
        nb_games: all.games,
        matchup: current.map(|score| Box::new(crosstable(users, score, None))),
    }
}

/// Formats half points as `2` or `2.5`.
fn points_of(halves: u32) -> serde_json::Number {
    if halves.is_multiple_of(2) {
        (halves / 2).into()
    } else {
        serde_json::Number::from_f64(f64::from(halves) / 2.0).unwrap_or_else(|| 0.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn crosstable_shows_half_points_and_match() {
        let users = [UserId::of("zoe"), UserId::of("abe")];
        let score = |halves, games| Score { halves, games };
        let table = crosstable(&users, score([5, 1], 3), Some(score([0, 2], 1)));
        assert_eq!(
            wire::json(&table),
            r#"{"users":{"zoe":2.5,"abe":0.5},"nbGames":3,"matchup":{"users":{"zoe":0,"abe":1},"nbGames":1}}"#
        );
    }
}
