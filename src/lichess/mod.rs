//! The wire to Lichess: endpoints, streams, retries; knows nothing about bots.
