-- Version 3, from version 2: plain names.

ALTER TABLE about RENAME TO meta;

ALTER TABLE game RENAME COLUMN left_ms TO final_clock_ms;
ALTER TABLE game RENAME COLUMN unfiled TO pgn_pending;

DROP INDEX game_unfiled;
CREATE INDEX game_pgn_pending ON game (seq) WHERE pgn_pending = 1;

ALTER TABLE move RENAME COLUMN thought_us TO search_us;
ALTER TABLE move RENAME COLUMN line TO pv;

ALTER TABLE decision RENAME COLUMN dest TO dest_user;
