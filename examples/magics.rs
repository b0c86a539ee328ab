//! Writes the tables of the rooks' and bishops' attacks, `src/chess/magic/entries.in` and
//! `src/chess/magic/attacks.bin`. Run it in the root of the repository:
//! `cargo run --release --example magics`.

#[allow(dead_code)]
#[path = "../src/chess/magic/generator.rs"]
mod generator;

fn main() -> std::io::Result<()> {
    let tables = generator::generate();
    std::fs::write(
        "src/chess/magic/entries.in",
        generator::entries_text(&tables),
    )?;
    std::fs::write(
        "src/chess/magic/attacks.bin",
        generator::attack_bytes(&tables),
    )?;
    println!(
        "{} squares, {} attack sets",
        tables.entries.len(),
        tables.attacks.len()
    );
    Ok(())
}
