//! Choosing a move: the only legal one, a book move, or a search.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::error_span;

use crate::book;
use crate::bot::AccountContext;
use crate::chess::{Game, Move, Position};
use crate::clock;
use crate::config::{self, Books};
use crate::engine::{self, Clock, Limits, SearchHandle, Strength, Task, think_time};
use crate::events::{Event, SearchInfo, Source};
use crate::external::{ExternalEngine, ExternalHandle, FallbackReason, GameSetup, Outcome};
use crate::lichess::model::{GameId, Variant};

/// Time between two search events.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// A chosen move with its search result.
#[derive(Clone, Debug)]
pub struct ChosenMove {
    /// The move.
    pub mv: Move,
    /// Origin of the move.
    pub source: Source,
    /// Search result, unless the move is from a book or the only one.
    pub search: Option<engine::SearchInfo>,
    /// Lines to and from an external engine.
    pub transcript: Vec<String>,
    /// The external engine in whose place the embedded one has searched, and why.
    pub fallback: Option<String>,
}

/// Opening books by variant.
#[derive(Clone)]
pub struct BookSet {
    variants: Arc<[(Variant, VariantBookSet)]>,
}

/// Opening books of a variant, in order of priority.
#[derive(Clone)]
pub(crate) struct VariantBookSet {
    books: Vec<Arc<book::Book>>,
    choice: book::PickOptions,
    max_ply: usize,
    allow_repetitions: bool,
}

impl BookSet {
    /// Creates sets of books under the conditions of `[book]`.
    pub fn new(
        books: impl IntoIterator<Item = (Variant, Vec<Arc<book::Book>>)>,
        settings: &config::Book,
    ) -> Self {
        let with_conditions = |(variant, books)| (variant, VariantBookSet::new(books, settings));
        Self {
            variants: books.into_iter().map(with_conditions).collect(),
        }
    }

    /// Creates a set without books.
    pub fn empty() -> Self {
        Self::new([], &config::Book::default())
    }

    /// Returns whether the set has no books.
    pub fn is_empty(&self) -> bool {
        let mut all = self.variants.iter();
        all.all(|(_, set)| set.books.is_empty())
    }

    /// The books of this variant.
    pub(crate) fn of(&self, variant: Variant) -> Option<&VariantBookSet> {
        let mut all = self.variants.iter();
        all.find_map(|(of, set)| (*of == variant).then_some(set))
    }
}

impl VariantBookSet {
    fn new(books: Vec<Arc<book::Book>>, settings: &config::Book) -> Self {
        Self {
            books,
            choice: book::PickOptions {
                selection: match settings.selection {
                    config::Selection::Best => book::Selection::Best,
                    config::Selection::Weighted => book::Selection::Weighted,
                    config::Selection::Uniform => book::Selection::Uniform,
                },
                min_weight: settings.min_weight,
            },
            max_ply: settings.max_ply as usize,
            allow_repetitions: settings.allow_repetitions,
        }
    }

    fn pick(
        &self,
        selection: &Books,
        game: &Game,
        rejected: &[Move],
        rng: &mut fastrand::Rng,
    ) -> Option<Move> {
        if game.moves().len() >= self.max_ply {
            return None;
        }
        // A book ignores the history: in a repeated position its move has led nowhere.
        if !self.allow_repetitions && game.repetitions() > 1 {
            return None;
        }
        let allowed = |mv: Move| {
            !rejected.contains(&mv) && (self.allow_repetitions || !leads_to_repetition(game, mv))
        };
        let mut pick =
            |book: &Arc<book::Book>| book.pick_if(game.position(), &self.choice, rng, allowed);
        match selection {
            Books::None => None,
            Books::All => self.books.iter().find_map(pick),
            Books::Named(names) => names.iter().find_map(|name| {
                let has_name =
                    |book: &&Arc<book::Book>| Books::is_named(book.name().as_ref(), name);
                self.books.iter().filter(has_name).find_map(&mut pick)
            }),
        }
    }
}

/// Returns whether a move repeats a position of the game, or lets the opponent repeat one.
fn leads_to_repetition(game: &Game, mv: Move) -> bool {
    let repeats = |game: &Game, mv: Move| {
        let mut next = game.clone();
        next.play(mv);
        (next.repetitions() > 1, next)
    };
    let (is_repeated, next) = repeats(game, mv);
    let replies = next.position().legal_moves();
    is_repeated || replies.iter().any(|&reply| repeats(&next, reply).0)
}

/// A move that needs no search, if there is one: the only legal move, or a move from the selected books that is not in
/// `rejected`.
pub(crate) fn instant_move(
    books: Option<(&VariantBookSet, &Books)>,
    game: &Game,
    rejected: &[Move],
    rng: &mut fastrand::Rng,
) -> Option<ChosenMove> {
    let chosen = |mv, source| ChosenMove {
        mv,
        source,
        search: None,
        transcript: Vec::new(),
        fallback: None,
    };
    let legal = game.position().legal_moves();
    if let [only] = legal[..] {
        return Some(chosen(only, Source::Only));
    }
    let (set, selection) = books?;
    let book = set
        .pick(selection, game, rejected, rng)
        .filter(|mv| legal.contains(mv))?;
    Some(chosen(book, Source::Book))
}

/// Converts limits to wall clock time, which the engine uses.
fn to_wall_clock(limits: Limits) -> Limits {
    let wall = clock::to_wall_clock;
    Limits {
        movetime: limits.movetime.map(wall),
        max_time: limits.max_time.map(wall),
        clock: limits.clock.map(|clock| Clock {
            remaining: wall(clock.remaining),
            increment: wall(clock.increment),
            overhead: wall(clock.overhead),
            lag: wall(clock.lag),
            ..clock
        }),
        ..limits
    }
}

/// Hash of a game id: game id and random seed for the engine.
pub(crate) fn game_id_hash(id: &GameId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// A search of our engine or of an external one. Dropping it stops it.
enum Handle {
    Embedded(SearchHandle),
    /// With the name of the engine.
    External(ExternalHandle, String),
}

/// A running search. Dropping it stops it.
pub(crate) struct Search {
    handle: Handle,
    /// Whether search events are sent.
    reporting: Arc<AtomicBool>,
    done: oneshot::Receiver<engine::SearchInfo>,
    game: Game,
    rejected: Vec<Move>,
    /// Delay of a strength-limited engine.
    human_delay: Option<HumanDelay>,
    /// Search result, while it is delayed.
    result: Option<Option<engine::SearchInfo>>,
}

/// Human-like delay of a move.
struct HumanDelay {
    strength: Strength,
    limits: Limits,
    since: Instant,
}

impl HumanDelay {
    /// Time at which to play the move.
    fn play_at(&self, game: &Game, mv: Move) -> Instant {
        self.since + think_time(&self.limits, game, mv, self.strength)
    }
}

impl Search {
    /// Starts a search on the threads of the embedded engine, or on this external one.
    pub(crate) fn start(
        ctx: &AccountContext,
        engine: Option<(&ExternalEngine, Arc<GameSetup>)>,
        id: &GameId,
        game: &Game,
        rejected: &[Move],
        limits: Limits,
    ) -> Self {
        let (task, search) = Self::prepare(true, ctx, id, game, rejected, limits);
        search(match engine {
            None => Handle::Embedded(ctx.engine.start(task)),
            Some((engine, setup)) => {
                // Its warnings come from threads that do not know the game.
                let handle = error_span!("game", game = %id).in_scope(|| engine.start(task, setup));
                Handle::External(handle, engine.name().to_owned())
            }
        })
    }

    /// Starts a silent search on the opponent's time; `None` if the engine is busy.
    pub(crate) fn start_pondering(
        ctx: &AccountContext,
        engine: Option<(&ExternalEngine, Arc<GameSetup>)>,
        id: &GameId,
        game: &Game,
        limits: Limits,
    ) -> Option<Self> {
        let limits = Limits {
            ponder: true,
            ..limits
        };
        let (task, search) = Self::prepare(false, ctx, id, game, &[], limits);
        let handle = match engine {
            None => ctx.engine.start_ponder(task).map(Handle::Embedded),
            Some((engine, setup)) => engine
                .start_ponder(task, setup)
                .map(|handle| Handle::External(handle, engine.name().to_owned())),
        };
        handle.map(search)
    }

    /// The opponent played the expected move: continues under these limits, which start now. `None` if the engine has stopped
    /// the search.
    pub(crate) fn ponder_hit(self, limits: Limits) -> Option<Self> {
        self.reporting.store(true, Ordering::Relaxed);
        let is_hit = match &self.handle {
            Handle::Embedded(handle) => handle.ponderhit_with(&to_wall_clock(limits)),
            Handle::External(handle, _) => handle.ponderhit_with(&to_wall_clock(limits)),
        };
        is_hit.then_some(self)
    }

    /// Returns whether the search is about the current position of `game`.
    pub(crate) fn is_for(&self, game: &Game) -> bool {
        self.game.moves() == game.moves()
    }

    /// Prepares a task for the engine, and a constructor that takes its handle. `reporting`: send search events.
    fn prepare(
        reporting: bool,
        ctx: &AccountContext,
        id: &GameId,
        game: &Game,
        rejected: &[Move],
        limits: Limits,
    ) -> (Task, impl FnOnce(Handle) -> Self + use<>) {
        let reporting = Arc::new(AtomicBool::new(reporting));
        let fallback: Arc<OnceLock<(FallbackReason, String)>> = Arc::default();
        let (sender, done) = oneshot::channel();
        let mut search_moves = Vec::new();
        if !rejected.is_empty() {
            let legal = game.position().legal_moves();
            search_moves.extend(legal.iter().filter(|mv| !rejected.contains(mv)));
        }
        let human_delay = limits.strength.map(|strength| HumanDelay {
            strength,
            limits: limits.clone(),
            since: clock::now(),
        });
        let task = Task {
            game_id: game_id_hash(id),
            game: game.clone(),
            limits: Limits {
                search_moves,
                ..to_wall_clock(limits)
            },
            on_info: info_reporter(ctx, id, game, reporting.clone(), Arc::clone(&fallback)),
            // The receiver is gone if the search was dropped.
            on_done: Box::new(move |result| drop(sender.send(result))),
        };
        let (game, rejected) = (game.clone(), rejected.to_vec());
        let search = move |handle| {
            if let Handle::External(handle, name) = &handle {
                let _ = fallback.set((handle.fallback_reason(), name.clone()));
            }
            Self {
                handle,
                reporting,
                done,
                game,
                rejected,
                human_delay,
                result: None,
            }
        };
        (task, search)
    }

    /// Stops the search; its best move so far becomes the result.
    pub(crate) fn move_now(&mut self) {
        self.human_delay = None;
        match &self.handle {
            Handle::Embedded(handle) => handle.stop(),
            Handle::External(handle, _) => handle.stop(),
        }
    }

    /// Waits for the move: any legal one if the engine has failed, `None` if there is no legal move. Cancel safe.
    pub(crate) async fn result(&mut self) -> Option<ChosenMove> {
        if self.result.is_none() {
            self.result = Some((&mut self.done).await.ok());
        }
        let mv = self.result.iter().flatten().find_map(|result| result.mv);
        if let (Some(human_delay), Some(mv)) = (&self.human_delay, mv) {
            clock::sleep_until(human_delay.play_at(&self.game, mv)).await;
        }
        let search = self.result.take().flatten();
        let found = search.as_ref().and_then(|search| search.mv);
        let legal = self.game.position().legal_moves();
        let any = || {
            let allowed = legal.iter().find(|mv| !self.rejected.contains(mv));
            allowed.or(legal.first()).copied()
        };
        let mv = found.filter(|mv| legal.contains(mv)).or_else(any)?;
        let (outcome, name) = match &self.handle {
            Handle::Embedded(_) => (Outcome::default(), ""),
            Handle::External(handle, name) => (handle.outcome(), name.as_str()),
        };
        let mut transcript = outcome.transcript;
        let fallback = outcome.fallback;
        transcript.extend(
            fallback
                .as_ref()
                .map(|why| format!("the embedded engine plays instead: {why}")),
        );
        Some(ChosenMove {
            mv,
            source: match &fallback {
                None => Source::Search,
                Some(_) => Source::Fallback,
            },
            search,
            transcript,
            fallback: fallback.map(|why| format!("{name}: {why}")),
        })
    }
}

/// Callback that sends search events.
fn info_reporter(
    ctx: &AccountContext,
    id: &GameId,
    game: &Game,
    reporting: Arc<AtomicBool>,
    fallback: Arc<OnceLock<(FallbackReason, String)>>,
) -> Box<dyn FnMut(&engine::SearchInfo) + Send> {
    let (bus, id, position) = (ctx.events.clone(), id.to_string(), game.position().clone());
    let ply = game.moves().len() as u32;
    let mut last = clock::now();
    Box::new(move |info| {
        let reporting = reporting.load(Ordering::Relaxed);
        if !reporting || info.multipv > 1 || clock::since(last) < REPORT_INTERVAL {
            return;
        }
        last = clock::now();
        let fallback = fallback.get().and_then(|(reason, name)| {
            let why = reason.get()?;
            Some(format!("{name}: {why}"))
        });
        let source = match fallback {
            None => Source::Search,
            Some(_) => Source::Fallback,
        };
        let info = SearchInfo {
            fallback,
            ..search_info(&position, source, Some(info))
        };
        bus.send(Event::SearchInfo {
            game: id.clone(),
            ply,
            info,
        });
    })
}

/// Converts a search result for [`events`].
pub(crate) fn search_info(
    position: &Position,
    source: Source,
    search: Option<&engine::SearchInfo>,
) -> SearchInfo {
    let Some(search) = search else {
        return SearchInfo {
            source,
            score: None,
            wdl: None,
            fallback: None,
            depth: 0,
            seldepth: 0,
            nodes: 0,
            hashfull: 0,
            ordering: None,
            elapsed: Duration::ZERO,
            pv: Vec::new(),
        };
    };
    SearchInfo {
        source,
        score: Some(search.score),
        wdl: search.wdl,
        fallback: None,
        depth: search.depth,
        seldepth: search.seldepth,
        nodes: search.nodes,
        hashfull: search.hashfull,
        ordering: search.ordering,
        elapsed: clock::from_wall_clock(search.elapsed),
        pv: san_line(position, &search.pv),
    }
}

/// Converts moves to SAN, up to the first illegal one.
fn san_line(position: &Position, moves: &[Move]) -> Vec<String> {
    let mut position = position.clone();
    let mut sans = Vec::with_capacity(moves.len());
    for &mv in moves {
        if !position.is_legal(mv) {
            break;
        }
        sans.push(position.san(mv));
        position.play(mv);
    }
    sans
}
