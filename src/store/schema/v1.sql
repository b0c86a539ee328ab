-- Version 1. Never changed again: what comes later is a step of its own, from this.
--
-- Times are milliseconds since 1970 where nothing else is said.

CREATE TABLE about (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE game (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    started INTEGER NOT NULL,
    -- NULL while it is on, or when nobody was there to see its end.
    finished INTEGER,
    color TEXT NOT NULL CHECK (color IN ('white', 'black')),
    account TEXT NOT NULL COLLATE NOCASE,
    account_title TEXT,
    account_rating INTEGER,
    account_provisional INTEGER NOT NULL,
    opponent TEXT NOT NULL COLLATE NOCASE,
    opponent_title TEXT,
    opponent_rating INTEGER,
    opponent_provisional INTEGER NOT NULL,
    speed TEXT NOT NULL,
    -- A clock has these two, correspondence has the days for a move, and a game without limits has none of them.
    base_s INTEGER,
    increment_s INTEGER,
    days INTEGER,
    variant TEXT NOT NULL,
    rated INTEGER NOT NULL,
    initial_fen TEXT,
    tournament TEXT,
    status TEXT,
    result TEXT,
    -- Ours, in halves; NULL for what does not count.
    points INTEGER CHECK (points IN (0, 1, 2)),
    -- Ours as the ratings foretell them, 0 to 1.
    expected REAL,
    plies INTEGER NOT NULL DEFAULT 0,
    -- The first four moves of an ordinary game, in UCI.
    opening TEXT,
    -- Our clock at the end, and the mean time from the start of a POST of ours to its answer.
    left_ms INTEGER,
    round_trip_us INTEGER,
    -- 1 while its PGN is still to be written to a file.
    unfiled INTEGER NOT NULL DEFAULT 0
) STRICT;

-- All that lists are filtered by and statistics are made of, so that neither has to read the games themselves.
CREATE INDEX game_by_time ON game (
    started, opponent, color, speed, rated, points, status, variant, tournament, expected, opening, account_rating
);

CREATE INDEX game_by_opponent ON game (
    opponent, started, color, speed, rated, points, status, variant, tournament, expected, opening, account_rating
);

CREATE INDEX game_by_tournament ON game (tournament, started) WHERE tournament IS NOT NULL;

CREATE INDEX game_unfiled ON game (seq) WHERE unfiled = 1;

CREATE TABLE move (
    game INTEGER NOT NULL REFERENCES game (seq) ON DELETE CASCADE,
    ply INTEGER NOT NULL CHECK (ply > 0),
    uci TEXT NOT NULL,
    -- When we saw it; NULL when we only saw later that it had been made.
    at INTEGER,
    -- The mover's clock after it.
    clock_ms INTEGER,
    -- The rest is said of our own moves: 'book', 'search' or 'only', and what the search thought, from our view.
    source TEXT,
    cp INTEGER,
    mate INTEGER,
    depth INTEGER,
    seldepth INTEGER,
    nodes INTEGER,
    thought_us INTEGER,
    line TEXT,
    -- From the line that made it our turn to the start of the POST, and from there to its answer.
    to_post_us INTEGER,
    round_trip_us INTEGER,
    PRIMARY KEY (game, ply)
) STRICT, WITHOUT ROWID;

-- What became of challenges, and why.
CREATE TABLE decision (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    challenge TEXT NOT NULL,
    challenger TEXT NOT NULL COLLATE NOCASE,
    title TEXT,
    rating INTEGER,
    provisional INTEGER NOT NULL,
    dest TEXT,
    base_s INTEGER,
    increment_s INTEGER,
    days INTEGER,
    variant TEXT NOT NULL,
    rated INTEGER NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('accepted', 'queued', 'declined', 'dropped')),
    reason TEXT NOT NULL
) STRICT;

CREATE INDEX decision_by_time ON decision (at);

CREATE INDEX decision_by_challenger ON decision (challenger, at);

-- Other events, in a game or outside of games: offers, takebacks, absences, chat, warnings, errors.
CREATE TABLE note (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    game INTEGER REFERENCES game (seq) ON DELETE CASCADE,
    ply INTEGER,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE INDEX note_by_game ON note (game, at);
