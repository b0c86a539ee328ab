//! Calls that read what everybody may know.

use std::collections::HashSet;

use super::{Answer, Asked, NDJSON, Reply, stubs};
use crate::sim::Sim;
use crate::sim::http::error::Failure;
use crate::sim::http::limits::{WATCHED_GAMES, WATCHED_LISTS};
use crate::sim::http::params::Params;
use crate::sim::http::route::public::Lookup;
use crate::sim::http::stream::{Feed, Topic};
use crate::sim::round::Round;
use crate::sim::round::chat::Room;
use crate::sim::round::export;
use crate::sim::round::filter::Selection;
use crate::sim::round::spectators::Interest;
use crate::sim::site::id::{GameId, UserId};
use crate::sim::wire;

/// Longest lists in a request.
const MOST_IDS: usize = 300;

pub(super) fn look_up(sim: &Sim, asked: &Asked<'_>, call: Lookup<'_>) -> Answer {
    let now = sim.time().now();
    let mut world = sim.world();
    match call {
        Lookup::Users => {
            let users = asked.ids(MOST_IDS);
            let users = users.iter().filter_map(|id| world.user_by_name(id));
            Ok(Reply::json(
                &users.map(|user| user.json()).collect::<Vec<_>>(),
            ))
        }
        Lookup::Crosstable(one, other) => {
            let users = [world.find_user(one)?, world.find_user(other)?];
            let meet = users[0]
                .playing
                .iter()
                .any(|id| users[1].playing.contains(id));
            let with_match = meet && asked.params.is_true("matchup");
            let users = users.map(|user| user.id.clone());
            Ok(Reply::json(&world.pairs.table(&users, with_match, now)))
        }
        Lookup::CurrentGame(name) => {
            let user = world.find_user(name)?.id.clone();
            let round = world.latest_round(&user).ok_or_else(Failure::not_found)?;
            Ok(one_game(round, asked, &world.base))
        }
        Lookup::GamesOf(name) => {
            let user = world.find_user(name)?.id.clone();
            let selection = Selection::read(&asked.params, user);
            Ok(many_games(&selection.of(&world), asked, &world.base))
        }
        Lookup::GamesByIds => {
            let ids = asked.ids(MOST_IDS);
            let rounds: Vec<&Round> = ids
                .iter()
                .filter_map(|id| world.rounds.get(&GameId::parse_any(id)?))
                .collect();
            Ok(many_games(&rounds, asked, &world.base))
        }
        Lookup::SpectatorChat(id) => {
            let id = GameId::parse_any(id).filter(|id| world.rounds.contains_key(id));
            let id = id.ok_or_else(Failure::not_found)?;
            Ok(Reply::json(&world.chat_log(id, Room::Spectator)))
        }
        Lookup::CloudEval => Err(Failure::new(
            404,
            "No cloud evaluation available for that position",
        )),
        Lookup::Explorer(kind) => Ok(stubs::explorer(kind)),
        Lookup::Tablebase => stubs::tablebase(&asked.params),
        Lookup::StreamGame(id) => {
            let pass = world.limits.enter(WATCHED_GAMES, &asked.address)?;
            Ok(audience(world.watch(GameId::parse_any(id), pass)?))
        }
        Lookup::StreamUsers => {
            let pass = world.limits.enter(WATCHED_LISTS, &asked.address)?;
            let users = asked
                .ids(MOST_IDS)
                .iter()
                .map(|id| UserId::of(id))
                .collect();
            let with_current = asked.params.is_true("withCurrentGames");
            Ok(audience(world.listen(
                Interest::Users(users),
                None,
                with_current,
                pass,
            )))
        }
        Lookup::StreamIds(name) => {
            let pass = world.limits.enter(WATCHED_LISTS, &asked.address)?;
            let games = Interest::Games(game_ids(asked));
            Ok(audience(world.listen(
                games,
                Some(name.to_owned()),
                true,
                pass,
            )))
        }
        Lookup::AddIds(name) if world.listen_also(name, game_ids(asked)) => Ok(Reply::ok()),
        Lookup::AddIds(_) => Err(Failure::not_found()),
    }
}

fn audience(feed: Feed) -> Reply {
    Reply::Stream {
        topic: Topic::Audience,
        feed,
    }
}

fn game_ids(asked: &Asked<'_>) -> HashSet<GameId> {
    let ids = asked.ids(MOST_IDS);
    ids.iter().filter_map(|id| GameId::parse_any(id)).collect()
}

/// A game in JSON for who asks for it, in PGN for everybody else.
pub(super) fn one_game(round: &Round, asked: &Asked<'_>, base: &str) -> Reply {
    if asked.accepts("application/json") {
        return Reply::json(&export::game_json(round, &asked.params, base));
    }
    pgn_reply(export::pgn(round, &asked.params, base))
}

fn many_games(rounds: &[&Round], asked: &Asked<'_>, base: &str) -> Reply {
    let params: &Params = &asked.params;
    if asked.accepts(NDJSON) {
        let games = rounds
            .iter()
            .map(|round| export::game_json(round, params, base));
        return Reply::Text {
            kind: NDJSON,
            text: games.map(|game| wire::json(&game) + "\n").collect(),
        };
    }
    let games = rounds.iter().map(|round| export::pgn(round, params, base));
    pgn_reply(games.map(|pgn| pgn + "\n").collect())
}

fn pgn_reply(text: String) -> Reply {
    Reply::Text {
        kind: "application/x-chess-pgn",
        text,
    }
}
