-- Version 4, from version 3: the engine that played for us.

-- Name of the external engine; NULL for the embedded one.
ALTER TABLE game ADD COLUMN engine TEXT;
