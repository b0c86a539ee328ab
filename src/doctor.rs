//! `knightwatch check` and `knightwatch upgrade`: is everything ready to play on Lichess?
