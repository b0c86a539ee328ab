-- Version 5, from version 4: where an imported game was played.

-- The PGN tag Site; NULL for the page of the game on the server.
ALTER TABLE game ADD COLUMN site TEXT;
