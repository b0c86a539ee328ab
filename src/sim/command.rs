//! `knightwatch sim`: the site alone, for any client.

use std::future::Future;
use std::io::{self, Write};
use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::{NewUser, Sim, SimOptions};

/// Serves a site with these users until `stop` is done, and says at the start where it is and who has which token.
///
/// # Errors
/// When the address cannot be bound or nothing can be printed.
pub async fn run_command(
    listen: SocketAddr,
    users: Vec<NewUser>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    let address = listener.local_addr()?;
    let names: Vec<(String, bool)> = users
        .iter()
        .map(|user| (user.name.clone(), user.bot))
        .collect();
    let sim = Sim::new(SimOptions {
        users,
        // No id is ever given twice, not even after a restart.
        seed: fastrand::u64(..),
        ..SimOptions::default()
    });
    let mut out = io::stdout().lock();
    writeln!(out, "Lichess in a box on http://{address}")?;
    for (name, bot) in names {
        let title = if bot { "BOT " } else { "" };
        writeln!(out, "  {title}{name}  token {}", sim.token_of(&name))?;
    }
    out.flush()?;
    drop(out);
    sim.serve(listener, stop).await
}
