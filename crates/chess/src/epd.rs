//! Extended Position Description (EPD): positions with operations, as in test suites and opening lists.

use std::fmt;

use super::quote::Quoted;
use super::{FenError, Position};

/// A position and its operations: opcodes with operands.
///
/// ```
/// use knightwatch_chess::Epd;
///
/// let epd = Epd::parse("6k1/5ppp/8/8/8/8/8/R6K w - - bm Ra8#; id \"back rank\";")?;
/// assert_eq!(epd.operands("bm"), Some(&["Ra8#".to_owned()][..]));
/// assert_eq!(epd.operands("id").unwrap()[0], "back rank");
/// assert_eq!(epd.operands("am"), None);
/// # Ok::<(), knightwatch_chess::EpdError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Epd {
    /// Halfmove clock and move number come from the operations `hmvc` and `fmvn`, or from the fields of a FEN.
    pub position: Position,
    operations: Vec<(String, Vec<String>)>,
}

/// Error of reading an EPD. Its display is meant for users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EpdError {
    /// The position is invalid.
    Position(FenError),
    /// A quotation mark is not closed.
    Quote,
    /// An opcode does not start with a letter.
    Opcode(String),
}

impl fmt::Display for EpdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EpdError::Position(error) => error.fmt(f),
            EpdError::Quote => write!(f, "a quotation mark is not closed"),
            EpdError::Opcode(word) => write!(
                f,
                "expected an operation like `bm e4;` after the position, not {}",
                Quoted(word)
            ),
        }
    }
}

impl std::error::Error for EpdError {}

impl From<FenError> for EpdError {
    fn from(error: FenError) -> EpdError {
        EpdError::Position(error)
    }
}

/// Defaults of missing fields.
const FIELDS: [&str; 4] = ["", "w", "-", "-"];

impl Epd {
    /// Parses a line. A FEN with or without operations is accepted as well.
    ///
    /// # Errors
    ///
    /// If the line is not an EPD.
    pub fn parse(line: &str) -> Result<Epd, EpdError> {
        let (mut fen, mut rest) = (String::new(), line.trim());
        if rest.is_empty() {
            return Err(EpdError::Position(FenError::Empty));
        }
        for missing in FIELDS {
            let word = take_word(&mut rest);
            fen += if word.is_empty() { missing } else { word };
            fen.push(' ');
        }
        // Halfmove clock and move number of a FEN.
        let mut counters = [None, None];
        for counter in &mut counters {
            if rest.starts_with(|c: char| c.is_ascii_digit()) {
                *counter = Some(take_word(&mut rest).trim_end_matches(';').to_owned());
            }
        }
        let operations = operations(rest)?;
        for (counter, opcode) in counters.iter_mut().zip(["hmvc", "fmvn"]) {
            let found = operations.iter().find(|(code, _)| code == opcode);
            if let Some(operand) = found.and_then(|(_, operands)| operands.first()) {
                *counter = Some(operand.clone());
            }
        }
        let [halfmoves, fullmoves] = counters;
        fen += &halfmoves.unwrap_or_else(|| "0".to_owned());
        fen.push(' ');
        fen += &fullmoves.unwrap_or_else(|| "1".to_owned());
        Ok(Epd {
            position: Position::from_fen_lenient(&fen)?,
            operations,
        })
    }

    /// The operands of the first operation with this opcode.
    pub fn operands(&self, opcode: &str) -> Option<&[String]> {
        let operation = self.operations.iter().find(|(code, _)| code == opcode)?;
        Some(&operation.1)
    }
}

fn take_word<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest
        .find(|c: char| c.is_ascii_whitespace())
        .unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after.trim_start();
    word
}

/// Parses `opcode operand "quoted operand"; ...`; the last semicolon is optional.
fn operations(text: &str) -> Result<Vec<(String, Vec<String>)>, EpdError> {
    let mut operations = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        match first {
            ';' => {
                rest = &rest[1..];
                close(&mut words, &mut operations)?;
            }
            '"' => {
                let (quoted, after) = rest[1..].split_once('"').ok_or(EpdError::Quote)?;
                words.push(quoted.to_owned());
                rest = after;
            }
            _ => {
                let end = rest
                    .find(|c: char| c.is_ascii_whitespace() || c == ';')
                    .unwrap_or(rest.len());
                words.push(rest[..end].to_owned());
                rest = &rest[end..];
            }
        }
        rest = rest.trim_start();
    }
    close(&mut words, &mut operations)?;
    Ok(operations)
}

/// Turns the words before a semicolon into an operation.
fn close(
    words: &mut Vec<String>,
    operations: &mut Vec<(String, Vec<String>)>,
) -> Result<(), EpdError> {
    let mut words = std::mem::take(words).into_iter();
    let Some(opcode) = words.next() else {
        return Ok(());
    };
    if !opcode.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(EpdError::Opcode(opcode));
    }
    operations.push((opcode, words.collect()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_reads_counters_from_operations_or_fen() {
        for line in [
            "8/8/8/4k3/8/8/4P3/4K3 b - - hmvc 5; fmvn 60;",
            "8/8/8/4k3/8/8/4P3/4K3 b - - 5 60",
            "  8/8/8/4k3/8/8/4P3/4K3  b  -  -  5  60 ; bm Kd4 ",
        ] {
            let epd = Epd::parse(line).expect("an EPD");
            assert_eq!(epd.position.fen(), "8/8/8/4k3/8/8/4P3/4K3 b - - 5 60");
        }
        let epd = Epd::parse("8/8/8/4k3/8/8/4P3/4K3 w - -").expect("an EPD");
        assert_eq!(epd.position.fen(), "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1");
    }

    #[test]
    fn parse_reads_multiple_and_quoted_operands() {
        let text = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4 Kd2;c0 \"e4=10, Kd2=7; or\"; noop; id \"\";";
        let epd = Epd::parse(text).expect("an EPD");
        assert_eq!(epd.operands("bm").unwrap(), ["e4", "Kd2"]);
        assert_eq!(epd.operands("c0").unwrap(), ["e4=10, Kd2=7; or"]);
        assert_eq!(epd.operands("noop").unwrap(), [""; 0]);
        assert_eq!(epd.operands("id").unwrap(), [""]);
    }

    #[test]
    fn parse_of_bad_epd_explains_why() {
        let position = "4k3/8/8/8/8/8/4P3/4K3 w - -";
        for (line, word) in [
            (String::new(), "empty"),
            ("8/8 w - - bm e4;".to_owned(), "8 ranks"),
            (format!("{position} id \"open;"), "quotation"),
            (format!("{position} = 3;"), "operation"),
            (format!("{position} hmvc many;"), "counter"),
        ] {
            let error = Epd::parse(&line).unwrap_err().to_string();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
