//! JSON views of arenas.

use super::arena_wire::{
    ArenaJson, ArenaListItem, ArenaLists, Battle, BattleFull, Clock, Counts, Duel, Duelist,
    Featured, FeaturedClock, FeaturedSide, Games, Me, Page, PerfRef, PlayedArena, PlayedAs,
    RankedTeam, Rating, ResultLine, SheetJson, Standing, Start, Stats, TeamPlayer, TeamStanding,
    VerdictJson, Verdicts,
};
use crate::arena::{Arena, ArenaStatus, Pairing, Player, Sheet};
use crate::site::{SimTime, SiteState, UserId};
use crate::view::game::{board_and_turn, last_move};
use crate::view::user::light_user;
use crate::wire::{self, Ordered, VariantJson};
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

fn creator(arena: &Arena) -> String {
    arena
        .created_by
        .as_ref()
        .map_or_else(|| SITE_CREATOR.to_owned(), UserId::to_string)
}

fn clock(arena: &Arena) -> Clock {
    Clock {
        limit: arena.config.limit,
        increment: arena.config.increment,
    }
}

fn perf_ref(arena: &Arena, listed: bool) -> PerfRef {
    let perf = arena.perf();
    let (position, icon) = match perf.key {
        "bullet" => (0, Some("T")),
        "blitz" => (1, Some(")")),
        "rapid" => (2, Some("#")),
        "classical" => (3, Some("+")),
        "ultraBullet" => (4, Some("{")),
        _ => (5, None),
    };
    PerfRef {
        key: perf.key,
        name: perf.name,
        position: listed.then_some(position),
        icon,
    }
}

fn start(arena: &Arena) -> Option<Start> {
    arena.config.start.as_ref().map(|start| Start {
        name: "Custom position",
        fen: start.fen(),
    })
}

fn sheet(arena: &Arena, sheet: &Sheet, fire: bool) -> SheetJson {
    SheetJson {
        scores: Some(sheet.digits()),
        fire: fire && arena.config.streakable && sheet.is_on_fire(),
    }
}

fn winner(arena: &Arena) -> Option<&Player> {
    arena
        .ranking()
        .into_iter()
        .next()
        .filter(|_| arena.status == ArenaStatus::Finished)
}

fn stats(arena: &Arena) -> Stats {
    let totals = &arena.totals;
    let sum: i32 = arena.players.values().map(|player| player.rating).sum();
    Stats {
        games: totals.games,
        moves: totals.moves,
        white_wins: totals.wins[0],
        black_wins: totals.wins[1],
        draws: totals.draws,
        berserks: totals.berserks,
        average_rating: sum / i32::try_from(arena.players.len().max(1)).unwrap_or(i32::MAX),
    }
}

pub(crate) fn listed(state: &SiteState, arena: &Arena, now: SimTime) -> ArenaListItem {
    let config = &arena.config;
    let conditions = &config.conditions;
    let created = arena.status == ArenaStatus::Created;
    ArenaListItem {
        id: arena.id.to_string(),
        created_by: creator(arena),
        system: "arena",
        minutes: config.minutes,
        clock: clock(arena),
        rated: config.rated,
        full_name: full_name(arena),
        nb_players: arena.players.len(),
        variant: VariantJson::full(config.variant),
        starts_at: arena.starts_at.0,
        finishes_at: arena.finishes_at().0,
        status: arena.status.id(),
        perf: perf_ref(arena, true),
        seconds_to_start: Some(arena.seconds_to_start(now)).filter(|left| created && *left > 0),
        has_max_rating: conditions.max_rating.is_some(),
        max_rating: conditions.max_rating.map(|rating| Rating { rating }),
        min_rating: conditions.min_rating.map(|rating| Rating { rating }),
        min_rated_games: conditions.min_rated_games.map(|nb| Games { nb }),
        team_member: conditions.team.as_ref().map(ToString::to_string),
        private: config.password.is_some(),
        position: start(arena),
        team_battle: (!config.team_battle.is_empty()).then(|| Battle {
            teams: config.team_battle.iter().map(ToString::to_string).collect(),
            nb_leaders: TEAM_LEADERS,
        }),
        winner: winner(arena).map(|player| light_user(state, &player.user)),
    }
}

/// All arenas by status: created and started ones by start time, finished ones latest first.
pub(crate) fn arena_lists(state: &SiteState, now: SimTime) -> ArenaLists {
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
        arenas
            .into_iter()
            .map(|arena| listed(state, arena, now))
            .collect()
    };
    let mut finished = with_status(ArenaStatus::Finished);
    finished.reverse();
    ArenaLists {
        created: list(with_status(ArenaStatus::Created)),
        started: list(with_status(ArenaStatus::Started)),
        finished: list(finished),
    }
}

/// The details of an arena, for this user or anonymous.
pub(crate) fn arena_json(
    state: &SiteState,
    arena: &Arena,
    page: Option<usize>,
    me: Option<&UserId>,
    now: SimTime,
) -> ArenaJson {
    let config = &arena.config;
    let conditions = &config.conditions;
    let ranking = arena.ranking();
    let my_rank = me.and_then(|me| arena.rank(me));
    let page = page
        .unwrap_or_else(|| my_rank.unwrap_or(0) / PAGE_SIZE + 1)
        .max(1);
    let finished = arena.status == ArenaStatus::Finished;
    let ended = now.0 / 1_000 - arena.finishes_at().0 / 1_000;
    let is_team_battle = !config.team_battle.is_empty();
    ArenaJson {
        nb_players: arena.players.len(),
        duels: duels(state, arena, &ranking),
        seconds_to_finish: (arena.status == ArenaStatus::Started)
            .then(|| arena.seconds_to_finish(now)),
        seconds_to_start: (arena.status == ArenaStatus::Created)
            .then(|| arena.seconds_to_start(now)),
        is_started: arena.status == ArenaStatus::Started,
        is_finished: finished,
        is_recently_finished: finished && ended < RECENTLY_FINISHED_SECONDS,
        featured: featured(state, arena, &ranking, now),
        podium: finished.then(|| podium(state, &ranking)),
        pairings_closed: arena.pairings_closed(now),
        stats: finished.then(|| stats(arena)),
        team_standing: is_team_battle.then(|| ranked_teams(state, arena)),
        standing: Page {
            page,
            players: ranking
                .iter()
                .enumerate()
                .skip((page - 1).saturating_mul(PAGE_SIZE))
                .take(PAGE_SIZE)
                .map(|(rank, player)| Standing {
                    sheet: Some(sheet(arena, &player.sheet, true)),
                    ..standing(state, rank, player)
                })
                .collect(),
        },
        me: me.and_then(|me| my_standing(state, arena, me, now)),
        id: arena.id.to_string(),
        created_by: creator(arena),
        starts_at: arena.starts_at.iso_seconds(),
        system: "arena",
        full_name: full_name(arena),
        minutes: config.minutes,
        perf: perf_ref(arena, false),
        clock: clock(arena),
        variant: config.variant.key(),
        rated: config.rated,
        berserkable: config.berserkable,
        no_streak: !config.streakable,
        position: start(arena),
        verdicts: verdicts_json(state, arena, me),
        private: config.password.is_some(),
        team_battle: is_team_battle.then(|| battle_json(state, arena, me)),
        description: config.description.clone(),
        my_username: me.map(|me| state.users.get(me).name.clone()),
        min_rating: conditions.min_rating.map(|rating| Rating { rating }),
        max_rating: conditions.max_rating.map(|rating| Rating { rating }),
        min_rated_games: conditions.min_rated_games.map(|nb| Games { nb }),
        bots_allowed: conditions.bots,
        team_member: conditions.team.as_ref().map(ToString::to_string),
        allow_list: (!conditions.allow.is_empty()).then(|| conditions.allow.clone()),
    }
}

fn standing(state: &SiteState, rank: usize, player: &Player) -> Standing {
    let user = light_user(state, &player.user);
    Standing {
        name: user.name,
        title: user.title,
        rank: rank + 1,
        rating: player.rating,
        score: player.sheet.total(),
        sheet: None,
        provisional: player.provisional,
        withdraw: player.withdrawn,
        team: player.team.as_ref().map(ToString::to_string),
        nb: None,
        performance: None,
    }
}

fn podium(state: &SiteState, ranking: &[&Player]) -> Vec<Standing> {
    let first = ranking.iter().take(3).enumerate();
    first
        .map(|(rank, player)| Standing {
            nb: Some(Counts {
                game: player.sheet.games(),
                berserk: player.sheet.berserks(),
                win: player.sheet.wins(),
            }),
            performance: player.performance,
            ..standing(state, rank, player)
        })
        .collect()
}

fn my_standing(state: &SiteState, arena: &Arena, me: &UserId, now: SimTime) -> Option<Me> {
    let rank = arena.rank(me)?;
    let game = arena.game_of(me).and_then(|id| state.rounds.get(id));
    Some(Me {
        rank: rank + 1,
        withdraw: arena.player(me)?.withdrawn,
        game_id: game.map(|round| round.id.to_string()),
        full_id: game.and_then(|round| Some(round.secrets.full_id(round.id, round.color_of(me)?))),
        pause_delay: state.arenas.pause_left(arena, me, now),
    })
}

fn verdicts_json(state: &SiteState, arena: &Arena, me: Option<&UserId>) -> Verdicts {
    // Current participants were accepted before.
    let me = me.filter(|me| arena.player(me).is_none_or(|player| player.withdrawn));
    let verdicts = arena.verdicts(me.map(|me| state.users.get(me)), &state.teams);
    Verdicts {
        accepted: verdicts.iter().all(|verdict| verdict.rejection.is_none()),
        list: verdicts
            .into_iter()
            .map(|verdict| VerdictJson {
                condition: verdict.condition,
                verdict: verdict.rejection.unwrap_or_else(|| "ok".to_owned()),
            })
            .collect(),
    }
}

/// The running games with the highest rated players.
fn duels(state: &SiteState, arena: &Arena, ranking: &[&Player]) -> Vec<Duel> {
    let mut duels: Vec<(i32, Duel)> = arena
        .running
        .iter()
        .map(|(id, pairing)| {
            let p = pairing.users.each_ref().map(|user| {
                let rank = ranking.iter().position(|player| player.user == *user);
                let light = light_user(state, user);
                Duelist {
                    n: light.name,
                    r: arena.player(user).map_or(0, |player| player.rating),
                    k: rank.unwrap_or(0) + 1,
                    t: light.title,
                }
            });
            let strength = p.iter().map(|player| player.r).sum();
            (
                strength,
                Duel {
                    id: id.to_string(),
                    p,
                },
            )
        })
        .collect();
    duels.sort_by_key(|(strength, _)| std::cmp::Reverse(*strength));
    duels
        .into_iter()
        .take(MAX_DUELS)
        .map(|(_, duel)| duel)
        .collect()
}

/// The running game of the highest ranked player.
fn featured(
    state: &SiteState,
    arena: &Arena,
    ranking: &[&Player],
    now: SimTime,
) -> Option<Featured> {
    let (round, pairing) = ranking.iter().find_map(|player| {
        let id = arena.game_of(&player.user)?;
        Some((state.rounds.get(id)?, arena.running.get(&id)?))
    })?;
    let side = |at: usize| featured_side(state, arena, ranking, pairing, at);
    let color = Color::White.key();
    let seconds = |color| round.referee.seconds_left(color, now).unwrap_or(0);
    Some(Featured {
        id: round.id.to_string(),
        fen: board_and_turn(round.referee.game().position()),
        orientation: color,
        color,
        last_move: last_move(round),
        white: side(0),
        black: side(1),
        c: FeaturedClock {
            white: seconds(Color::White),
            black: seconds(Color::Black),
        },
    })
}

fn battle_json(state: &SiteState, arena: &Arena, me: Option<&UserId>) -> BattleFull {
    let teams = &arena.config.team_battle;
    let named = teams.iter().map(|id| {
        let name = state
            .teams
            .get(id)
            .map_or_else(String::new, |team| team.name.clone());
        (id.to_string(), vec![name])
    });
    BattleFull {
        teams: Ordered(named.collect()),
        nb_leaders: TEAM_LEADERS,
        join_with: me.map(|me| {
            let own_teams = teams.iter().filter(|team| state.teams.is_member(team, me));
            own_teams.map(ToString::to_string).collect()
        }),
    }
}

/// The teams of a battle, ranked by the sum of their best players' scores.
fn ranked_teams(state: &SiteState, arena: &Arena) -> Vec<RankedTeam> {
    let ranking = arena.ranking();
    let mut teams: Vec<RankedTeam> = arena
        .config
        .team_battle
        .iter()
        .map(|id| {
            let players: Vec<TeamPlayer> = ranking
                .iter()
                .filter(|player| player.team.as_ref() == Some(id))
                .take(TEAM_LEADERS)
                .map(|player| TeamPlayer {
                    user: light_user(state, &player.user),
                    score: player.sheet.total(),
                })
                .collect();
            RankedTeam {
                rank: 0,
                id: id.to_string(),
                score: players.iter().map(|player| player.score).sum(),
                players,
            }
        })
        .collect();
    teams.sort_by_key(|team| std::cmp::Reverse(team.score));
    for (rank, team) in teams.iter_mut().enumerate() {
        team.rank = rank + 1;
    }
    teams
}

/// The team standing; `None` if this is no team battle.
pub(crate) fn team_standing(state: &SiteState, arena: &Arena) -> Option<TeamStanding> {
    (!arena.config.team_battle.is_empty()).then(|| TeamStanding {
        id: arena.id.to_string(),
        teams: ranked_teams(state, arena),
    })
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
        let user = light_user(state, &player.user);
        wire::json(&ResultLine {
            rank: rank + 1,
            score: player.sheet.total(),
            rating: player.rating,
            username: user.name,
            title: user.title,
            performance: player.performance,
            withdraw: player.withdrawn,
            team: player.team.as_ref().map(ToString::to_string),
            sheet: with_sheet.then(|| sheet(arena, &player.sheet, false)),
        })
    })
    .collect()
}

/// Finished arenas in which a user has played, latest first.
pub(crate) fn arenas_played(state: &SiteState, user: &UserId, now: SimTime) -> Vec<PlayedArena> {
    let finished = state
        .arenas
        .iter()
        .rev()
        .filter(|arena| arena.status == ArenaStatus::Finished);
    finished
        .filter_map(|arena| {
            let player = arena
                .player(user)
                .filter(|player| player.sheet.games() > 0)?;
            Some(PlayedArena {
                tournament: listed(state, arena, now),
                player: PlayedAs {
                    games: player.sheet.games(),
                    score: player.sheet.total(),
                    rank: arena.rank(user)? + 1,
                    performance: player.performance,
                },
            })
        })
        .collect()
}

fn featured_side(
    state: &SiteState,
    arena: &Arena,
    ranking: &[&Player],
    pairing: &Pairing,
    at: usize,
) -> FeaturedSide {
    let user = &pairing.users[at];
    let rank = ranking.iter().position(|player| player.user == *user);
    FeaturedSide {
        user: light_user(state, user),
        rank: rank.unwrap_or(0) + 1,
        rating: arena.player(user).map_or(0, |player| player.rating),
        berserk: pairing.berserk[at],
    }
}
