//! A bot in 40 lines: accepts every challenge and plays random legal moves.
//!
//! `cargo run -p knightwatch-sim -- --user MyBot:bot --player Echo,challenges=MyBot`, and in another terminal
//! `LICHESS_TOKEN=lip_mybot cargo run -p knightwatch-lichess --example bot -- http://127.0.0.1:9663`.

use std::time::Duration;

use futures::StreamExt as _;
use knightwatch_chess::{CastlingNotation, Color, Game, Position};
use knightwatch_lichess::model::{Event, GameEvent, GameId};
use knightwatch_lichess::{Client, Endpoint};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "https://lichess.org".to_owned());
    let client = Client::new(
        &Endpoint::parse(&url)?,
        std::env::var("LICHESS_TOKEN")?.parse()?,
        None,
    )?;
    let mut events = client.events(Duration::from_secs(15)).await?;
    while let Some(event) = events.next().await {
        match event? {
            Event::Challenge(challenge, _) => client.accept(&challenge.id).await?,
            Event::GameStart(game) => {
                tokio::spawn(play(client.clone(), game.id.clone(), game.color));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Plays a game to its end.
async fn play(client: Client, id: GameId, color: Color) -> Result<()> {
    let mut stream = client.game(&id, Duration::from_secs(15)).await?;
    while let Some(event) = stream.next().await {
        let state = match event? {
            GameEvent::Full(full) => full.state,
            GameEvent::State(state) => state,
            _ => continue,
        };
        let game = Game::from_moves(Position::startpos(), state.moves())?;
        let position = game.position();
        if state.status.is_over() || position.turn() != color {
            continue;
        }
        if let Some(mv) = fastrand::choice(position.legal_moves().iter()) {
            let uci = mv.uci(CastlingNotation::Standard).to_string();
            client.play(&id, &uci, false).await?;
        }
    }
    Ok(())
}
