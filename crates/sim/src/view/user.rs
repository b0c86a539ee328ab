//! Views of users.

use crate::site::crosstable::Score;
use crate::site::{GameId, SimTime, SiteState, User, UserId, Variant};
use crate::wire::{Object, object};

pub(crate) fn light_user(state: &SiteState, id: &UserId) -> Object {
    let user = state.users.get(id);
    object("id", user.id.to_string())
        .set("name", &user.name)
        .maybe("title", user.title())
}

pub(crate) fn user_json(user: &User) -> Object {
    let perfs = user.ratings.iter().map(|(key, rating)| {
        let shown = object("games", rating.games)
            .set("rating", rating.value())
            .set("rd", rating.deviation())
            .set("prog", rating.progress)
            .flag("prov", rating.is_provisional());
        (key, shown)
    });
    let play_time = object("total", user.play_time.as_secs()).set("tv", 0);
    object("id", user.id.to_string())
        .set("username", &user.name)
        .set("perfs", perfs.collect::<Object>())
        .maybe("title", user.title())
        .set("createdAt", user.created_at.0)
        .maybe("profile", user.bio.as_ref().map(|bio| object("bio", bio)))
        .set("seenAt", user.seen_at.0)
        .set("playTime", play_time)
}

/// Profile of a user, with links, counts and the caller's relation to this user.
pub(crate) fn profile(state: &SiteState, user: &User, relation: Option<Object>) -> Object {
    let base = &state.base_url;
    let playing = user.playing.last().and_then(|id| state.rounds.get(*id));
    let playing = playing.and_then(|round| {
        let color = round.color_of(&user.id)?.key();
        Some(format!("{base}/{}/{color}", round.id))
    });
    let count = object("all", user.game_counts.all)
        .set("rated", user.game_counts.rated)
        .set("draw", user.game_counts.draw)
        .set("loss", user.game_counts.loss)
        .set("win", user.game_counts.win)
        .set("bookmark", 0)
        .set("playing", user.playing.len())
        .set("import", 0)
        .set("me", 0);
    user_json(user)
        .set("url", format!("{base}/@/{}", user.name))
        .maybe("playing", playing)
        .set("count", count)
        .and(&relation.unwrap_or_default())
}

/// Relation to a user.
pub(crate) fn relation(following: bool, blocking: bool) -> Object {
    object("followable", true)
        .set("following", following)
        .set("blocking", blocking)
}

/// Status of a user, with the signal, the id and the details of the current game if they are asked for.
pub(crate) fn status(
    state: &SiteState,
    user: &User,
    [with_signal, with_game_id, with_details]: [bool; 3],
    now: SimTime,
) -> Object {
    let online = user.is_online(now);
    let shown = object("id", user.id.to_string())
        .set("name", &user.name)
        .maybe("title", user.title())
        .flag("online", online);
    let id = user.playing.last();
    let shown = match id.and_then(|id| state.rounds.get(*id)) {
        Some(round) if with_details => {
            let variant = Some(round.variant).filter(|variant| *variant != Variant::Standard);
            let game = object("id", round.id.to_string())
                .maybe("clock", round.time_control.show())
                .maybe("variant", variant.map(Variant::key));
            shown.set("playing", game)
        }
        game => shown.flag("playing", game.is_some()),
    };
    shown
        .maybe("signal", (with_signal && online).then_some(4))
        .maybe(
            "playingId",
            id.filter(|_| with_game_id).map(GameId::to_string),
        )
}

/// Crosstable of two users, with their current match if it is given.
pub(crate) fn crosstable(users: &[UserId; 2], all: Score, current: Option<Score>) -> Object {
    let points = users.iter().zip(all.halves);
    let points = points.map(|(id, halves)| (id.as_str(), points_of(halves)));
    object("users", points.collect::<Object>())
        .set("nbGames", all.games)
        .maybe(
            "matchup",
            current.map(|score| crosstable(users, score, None)),
        )
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
