-- Version 2, from version 1: what each of several accounts has done can be read by itself.

CREATE INDEX game_by_account ON game (account, started, rated, account_rating, speed, variant);
