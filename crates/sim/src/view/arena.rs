//! JSON views of arenas.

use crate::arena::{Arena, ArenaStatus, Pairing, Player, Sheet};
use crate::site::{SimTime, SiteState, UserId};
use crate::view::game::{board_and_turn, last_move};
use crate::view::user::light_user;
use crate::wire::{self, Object, object};
use knightwatch_chess::Color;

/// Players per page of the standing.
const PAGE_SIZE: usize = 10;
const MAX_DUELS: usize = 6;
/// Time after the end during which `isRecentlyFinished` is set.
const RECENTLY_FINISHED_SECONDS: i64 = 30 * 60;

/// Creator of arenas without a user.
const SITE_CREATOR: &str = "lichess";
/// Players per team that count in a team battle.
const TEAM_LEADERS: usize = 5;

pub(crate) fn full_name(arena: &Arena) -> String {
    if arena.config.team_battle.is_empty() {
        format!("{} Arena", arena.config.name)
    } else {
        format!("{} Team Battle", arena.config.name)
    }
}

/// Id of the creator.
pub(crate) fn creator(arena: &Arena) -> String {
    arena
        .created_by
        .as_ref()
        .map_or_else(|| SITE_CREATOR.to_owned(), UserId::to_string)
}

fn clock(arena: &Arena) -> Object {
    object("limit", arena.config.limit).set("increment", arena.config.increment)
}

fn perf(arena: &Arena, listed: bool) -> Object {
    let perf = arena.perf();
    let (position, icon) = match perf.key {
        "bullet" => (0, Some("T")),
        "blitz" => (1, Some(")")),
        "rapid" => (2, Some("#")),
        "classical" => (3, Some("+")),
        "ultraBullet" => (4, Some("{")),
        _ => (5, None),
    };
    object("key", perf.key)
        .set("name", perf.name)
        .maybe("position", listed.then_some(position))
        .maybe("icon", icon)
}

fn start(arena: &Arena) -> Option<Object> {
    let start = arena.config.start.as_ref();
    start.map(|start| object("name", "Custom position").set("fen", start.fen()))
}

fn sheet(arena: &Arena, sheet: &Sheet, fire: bool) -> Object {
    let is_on_fire = fire && arena.config.streakable && sheet.is_on_fire();
    object("scores", sheet.digits()).flag("fire", is_on_fire)
}

fn winner(arena: &Arena) -> Option<&Player> {
    arena
        .ranking()
        .into_iter()
        .next()
        .filter(|_| arena.status == ArenaStatus::Finished)
}

fn stats(arena: &Arena) -> Object {
    let totals = &arena.totals;
    let sum: i32 = arena.players.values().map(|player| player.rating).sum();
    let count = i32::try_from(arena.players.len().max(1)).unwrap_or(i32::MAX);
    object("games", totals.games)
        .set("moves", totals.moves)
        .set("whiteWins", totals.wins[0])
        .set("blackWins", totals.wins[1])
        .set("draws", totals.draws)
        .set("berserks", totals.berserks)
        .set("averageRating", sum / count)
}

fn rating(rating: u32) -> Object {
    object("rating", rating)
}

fn games(count: u32) -> Object {
    object("nb", count)
}

/// An entry of an arena list.
pub(crate) fn listed(state: &SiteState, arena: &Arena, now: SimTime) -> Object {
    let config = &arena.config;
    let conditions = &config.conditions;
    let created = arena.status == ArenaStatus::Created;
    let seconds_to_start = Some(arena.seconds_to_start(now)).filter(|left| created && *left > 0);
    let battle = (!config.team_battle.is_empty()).then(|| {
        let teams = config.team_battle.iter().map(ToString::to_string);
        object("teams", teams.collect::<Vec<_>>()).set("nbLeaders", TEAM_LEADERS)
    });
    object("id", arena.id.to_string())
        .set("createdBy", creator(arena))
        .set("system", "arena")
        .set("minutes", config.minutes)
        .set("clock", clock(arena))
        .set("rated", config.rated)
        .set("fullName", full_name(arena))
        .set("nbPlayers", arena.players.len())
        .set("variant", wire::full_variant(config.variant))
        .set("startsAt", arena.starts_at.0)
        .set("finishesAt", arena.finishes_at().0)
        .set("status", arena.status.id())
        .set("perf", perf(arena, true))
        .maybe("secondsToStart", seconds_to_start)
        .flag("hasMaxRating", conditions.max_rating.is_some())
        .maybe("maxRating", conditions.max_rating.map(rating))
        .maybe("minRating", conditions.min_rating.map(rating))
        .maybe("minRatedGames", conditions.min_rated_games.map(games))
        .maybe(
            "teamMember",
            conditions.team.as_ref().map(ToString::to_string),
        )
        .flag("private", config.password.is_some())
        .maybe("position", start(arena))
        .maybe("teamBattle", battle)
        .maybe(
            "winner",
            winner(arena).map(|player| light_user(state, &player.user)),
        )
}

/// All arenas by status: created and started ones by start time, finished ones latest first.
pub(crate) fn arena_lists(state: &SiteState, now: SimTime) -> Object {
    let with_status = |status| {
        let mut arenas: Vec<&Arena> = state
            .arenas
            .iter()
            .filter(|arena| arena.status == status)
            .collect();
        arenas.sort_by_key(|arena| arena.starts_at);
        arenas
    };
    let list = |arenas: Vec<&Arena>| {
        let shown = arenas.into_iter().map(|arena| listed(state, arena, now));
        shown.collect::<Vec<_>>()
    };
    let mut finished = with_status(ArenaStatus::Finished);
    finished.reverse();
    object("created", list(with_status(ArenaStatus::Created)))
        .set("started", list(with_status(ArenaStatus::Started)))
        .set("finished", list(finished))
}

/// The details of an arena, for this user or anonymous.
pub(crate) fn arena_json(
    state: &SiteState,
    arena: &Arena,
    page: Option<usize>,
    me: Option<&UserId>,
    now: SimTime,
) -> Object {
    let config = &arena.config;
    let conditions = &config.conditions;
    let ranking = arena.ranking();
    let my_rank = me.and_then(|me| arena.rank(me));
    let page = page
        .unwrap_or_else(|| my_rank.unwrap_or(0) / PAGE_SIZE + 1)
        .max(1);
    let has_status = |status| arena.status == status;
    let finished = has_status(ArenaStatus::Finished);
    let ended = now.0 / 1_000 - arena.finishes_at().0 / 1_000;
    let is_team_battle = !config.team_battle.is_empty();
    let first = (page - 1).saturating_mul(PAGE_SIZE);
    let on_page = ranking.iter().enumerate().skip(first).take(PAGE_SIZE);
    let players = on_page.map(|(rank, player)| {
        let sheet = sheet(arena, &player.sheet, true);
        standing(state, rank, player, Some(sheet))
    });
    let standing = object("page", page).set("players", players.collect::<Vec<_>>());
    let to_finish = has_status(ArenaStatus::Started).then(|| arena.seconds_to_finish(now));
    let to_start = has_status(ArenaStatus::Created).then(|| arena.seconds_to_start(now));
    let allow_list = Some(&conditions.allow).filter(|allow| !allow.is_empty());
    object("nbPlayers", arena.players.len())
        .set("duels", duels(state, arena, &ranking))
        .maybe("secondsToFinish", to_finish)
        .maybe("secondsToStart", to_start)
        .flag("isStarted", has_status(ArenaStatus::Started))
        .flag("isFinished", finished)
        .flag(
            "isRecentlyFinished",
            finished && ended < RECENTLY_FINISHED_SECONDS,
        )
        .maybe("featured", featured(state, arena, &ranking, now))
        .maybe("podium", finished.then(|| podium(state, &ranking)))
        .flag("pairingsClosed", arena.pairings_closed(now))
        .maybe("stats", finished.then(|| stats(arena)))
        .maybe(
            "teamStanding",
            is_team_battle.then(|| ranked_teams(state, arena)),
        )
        .set("standing", standing)
        .maybe("me", me.and_then(|me| my_standing(state, arena, me, now)))
        .set("id", arena.id.to_string())
        .set("createdBy", creator(arena))
        .set("startsAt", arena.starts_at.iso_seconds())
        .set("system", "arena")
        .set("fullName", full_name(arena))
        .set("minutes", config.minutes)
        .set("perf", perf(arena, false))
        .set("clock", clock(arena))
        .set("variant", config.variant.key())
        .set("rated", config.rated)
        .flag("berserkable", config.berserkable)
        .flag("noStreak", !config.streakable)
        .maybe("position", start(arena))
        .set("verdicts", verdicts_json(state, arena, me))
        .flag("private", config.password.is_some())
        .maybe(
            "teamBattle",
            is_team_battle.then(|| battle_json(state, arena, me)),
        )
        .maybe("description", config.description.as_ref())
        .maybe("myUsername", me.map(|me| &state.users.get(me).name))
        .maybe("minRating", conditions.min_rating.map(rating))
        .maybe("maxRating", conditions.max_rating.map(rating))
        .maybe("minRatedGames", conditions.min_rated_games.map(games))
        .flag("botsAllowed", conditions.bots)
        .maybe(
            "teamMember",
            conditions.team.as_ref().map(ToString::to_string),
        )
        .maybe("allowList", allow_list)
}

/// A player in the standing or on the podium.
fn standing(state: &SiteState, rank: usize, player: &Player, sheet: Option<Object>) -> Object {
    let user = state.users.get(&player.user);
    object("name", &user.name)
        .maybe("title", user.title())
        .set("rank", rank + 1)
        .set("rating", player.rating)
        .set("score", player.sheet.total())
        .maybe("sheet", sheet)
        .flag("provisional", player.provisional)
        .flag("withdraw", player.withdrawn)
        .maybe("team", player.team.as_ref().map(ToString::to_string))
}

fn podium(state: &SiteState, ranking: &[&Player]) -> Vec<Object> {
    let first = ranking.iter().take(3).enumerate();
    let shown = first.map(|(rank, player)| {
        let counts = object("game", player.sheet.games())
            .set("berserk", player.sheet.berserks())
            .set("win", player.sheet.wins());
        standing(state, rank, player, None)
            .set("nb", counts)
            .maybe("performance", player.performance)
    });
    shown.collect()
}

fn my_standing(state: &SiteState, arena: &Arena, me: &UserId, now: SimTime) -> Option<Object> {
    let rank = arena.rank(me)?;
    let game = arena.game_of(me).and_then(|id| state.rounds.get(id));
    let full_id = game.and_then(|round| Some(round.secrets.full_id(round.id, round.color_of(me)?)));
    let shown = object("rank", rank + 1)
        .flag("withdraw", arena.player(me)?.withdrawn)
        .maybe("gameId", game.map(|round| round.id.to_string()))
        .maybe("fullId", full_id)
        .maybe("pauseDelay", state.arenas.pause_left(arena, me, now));
    Some(shown)
}

fn verdicts_json(state: &SiteState, arena: &Arena, me: Option<&UserId>) -> Object {
    // Current participants were accepted before.
    let me = me.filter(|me| arena.player(me).is_none_or(|player| player.withdrawn));
    let verdicts = arena.verdicts(me.map(|me| state.users.get(me)), &state.teams);
    let accepted = verdicts.iter().all(|verdict| verdict.rejection.is_none());
    let list = verdicts.into_iter().map(|verdict| {
        let text = verdict.rejection.unwrap_or_else(|| "ok".to_owned());
        object("condition", verdict.condition).set("verdict", text)
    });
    object("list", list.collect::<Vec<_>>()).set("accepted", accepted)
}

/// The running games with the highest rated players.
fn duels(state: &SiteState, arena: &Arena, ranking: &[&Player]) -> Vec<Object> {
    let rating = |user: &UserId| arena.player(user).map_or(0, |player| player.rating);
    let mut running: Vec<(i32, _)> = arena
        .running
        .iter()
        .map(|(id, pairing)| (pairing.users.iter().map(rating).sum(), (id, pairing)))
        .collect();
    running.sort_by_key(|(strength, _)| std::cmp::Reverse(*strength));
    let duels = running.into_iter().take(MAX_DUELS);
    duels
        .map(|(_, (id, pairing))| {
            let players = pairing.users.each_ref().map(|id| {
                let user = state.users.get(id);
                object("n", &user.name)
                    .set("r", rating(id))
                    .set("k", rank(ranking, id))
                    .maybe("t", user.title())
            });
            object("id", id.to_string()).set("p", players)
        })
        .collect()
}

/// The rank of a user, from 1.
fn rank(ranking: &[&Player], user: &UserId) -> usize {
    let rank = ranking.iter().position(|player| player.user == *user);
    rank.unwrap_or(0) + 1
}

/// The running game of the highest ranked player.
fn featured(state: &SiteState, arena: &Arena, ranking: &[&Player], now: SimTime) -> Option<Object> {
    let (round, pairing) = ranking.iter().find_map(|player| {
        let id = arena.game_of(&player.user)?;
        Some((state.rounds.get(id)?, arena.running.get(&id)?))
    })?;
    let side = |at: usize| featured_side(state, arena, ranking, pairing, at);
    let color = Color::White.key();
    let seconds = |color| round.referee.seconds_left(color, now).unwrap_or(0);
    let clocks = object("white", seconds(Color::White)).set("black", seconds(Color::Black));
    let shown = object("id", round.id.to_string())
        .set("fen", board_and_turn(round.referee.game().position()))
        .set("orientation", color)
        .set("color", color)
        .set("lastMove", last_move(round))
        .set("white", side(0))
        .set("black", side(1))
        .set("c", clocks);
    Some(shown)
}

fn battle_json(state: &SiteState, arena: &Arena, me: Option<&UserId>) -> Object {
    let teams = &arena.config.team_battle;
    let named = teams.iter().map(|id| {
        let name = state.teams.get(id).map(|team| team.name.as_str());
        (id.to_string(), [name.unwrap_or_default()])
    });
    let join_with = me.map(|me| {
        let own_teams = teams.iter().filter(|team| state.teams.is_member(team, me));
        own_teams.map(ToString::to_string).collect::<Vec<_>>()
    });
    object("teams", named.collect::<Object>())
        .set("nbLeaders", TEAM_LEADERS)
        .maybe("joinWith", join_with)
}

/// The teams of a battle, ranked by the sum of their best players' scores.
fn ranked_teams(state: &SiteState, arena: &Arena) -> Vec<Object> {
    let ranking = arena.ranking();
    let teams = arena.config.team_battle.iter().map(|id| {
        let members = ranking.iter().filter(|it| it.team.as_ref() == Some(id));
        let leaders: Vec<&&Player> = members.take(TEAM_LEADERS).collect();
        let score: u32 = leaders.iter().map(|player| player.sheet.total()).sum();
        (score, id, leaders)
    });
    let mut teams: Vec<_> = teams.collect();
    teams.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
    let ranked = (1..).zip(teams).map(|(rank, (score, id, leaders))| {
        let players = leaders.iter().map(|player| {
            object("user", light_user(state, &player.user)).set("score", player.sheet.total())
        });
        object("rank", rank)
            .set("id", id.to_string())
            .set("score", score)
            .set("players", players.collect::<Vec<_>>())
    });
    ranked.collect()
}

/// The team standing; `None` if this is no team battle.
pub(crate) fn team_standing(state: &SiteState, arena: &Arena) -> Option<Object> {
    let is_team_battle = !arena.config.team_battle.is_empty();
    is_team_battle
        .then(|| object("id", arena.id.to_string()).set("teams", ranked_teams(state, arena)))
}

/// NDJSON lines of the ranked players, best first.
pub(crate) fn arena_results(
    state: &SiteState,
    arena: &Arena,
    max: usize,
    with_sheet: bool,
) -> Vec<String> {
    let best = arena.ranking().into_iter().take(max).enumerate();
    best.map(|(rank, player)| {
        let user = state.users.get(&player.user);
        let sheet = with_sheet.then(|| sheet(arena, &player.sheet, false));
        wire::json(
            &object("rank", rank + 1)
                .set("score", player.sheet.total())
                .set("rating", player.rating)
                .set("username", &user.name)
                .maybe("title", user.title())
                .maybe("performance", player.performance)
                .flag("withdraw", player.withdrawn)
                .maybe("team", player.team.as_ref().map(ToString::to_string))
                .maybe("sheet", sheet),
        )
    })
    .collect()
}

/// Finished arenas in which a user has played, latest first.
pub(crate) fn arenas_played(state: &SiteState, user: &UserId, now: SimTime) -> Vec<Object> {
    let arenas = state.arenas.iter().rev();
    let finished = arenas.filter(|arena| arena.status == ArenaStatus::Finished);
    let played = finished.filter_map(|arena| {
        let player = arena.player(user)?;
        let sheet = &player.sheet;
        let rank = arena.rank(user).filter(|_| sheet.games() > 0)?;
        let played_as = object("games", sheet.games())
            .set("score", sheet.total())
            .set("rank", rank + 1)
            .maybe("performance", player.performance);
        Some(object("tournament", listed(state, arena, now)).set("player", played_as))
    });
    played.collect()
}

fn featured_side(
    state: &SiteState,
    arena: &Arena,
    ranking: &[&Player],
    pairing: &Pairing,
    at: usize,
) -> Object {
    let user = &pairing.users[at];
    light_user(state, user)
        .set("rank", rank(ranking, user))
        .set(
            "rating",
            arena.player(user).map_or(0, |player| player.rating),
        )
        .flag("berserk", pairing.berserk[at])
}
