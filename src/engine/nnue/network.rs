//! The network's file and weights.
//!
//! A file is a 64-byte header and the weights, all little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | `KWNN` |
//! | 4..6 | version, 1 |
//! | 6..8 | inputs, 768 |
//! | 8..10 | hidden units `H`, a multiple of 32 |
//! | 10..12 | output rows `B` |
//! | 12..14, 14..16 | `QA` = 255, `QB` = 64 |
//! | 16..20 | scale: centipawns of one unit of output |
//! | 20..24 | zero |
//! | 24..32 | FNV-1a (64 bits) of everything but these eight bytes |
//! | 32..64 | name, UTF-8, padded with zeros |
//! | then | `i16` weights `[768][H]`, `i16` biases `[H]`, `i16` output weights `[B][2][H]`, `i32` output biases `[B]` |

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::features::{self, INPUTS};
use super::{Kernels, LANE, QA, QB};
use crate::input;

const MAGIC: [u8; 4] = *b"KWNN";
const VERSION: u16 = 1;
const HEADER: usize = 64;
const NAME: usize = 32;
/// Hidden units at most; keeps hostile files small.
const MAX_HIDDEN: usize = 2048;

/// The longest network file that is read, in bytes: twenty times the largest shape.
const LONGEST: u64 = 64 << 20;
const MAX_BUCKETS: usize = 32;

/// The network in this binary; an empty file means that there is none.
static EMBEDDED: &[u8] = include_bytes!("net.bin");

/// Thirty-two 16-bit values on one cache line: the step in which all layers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Lane(pub [i16; LANE]);

impl Lane {
    pub const ZERO: Lane = Lane([0; LANE]);
}

/// Why a file is not a network that this engine can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    #[error("not a Knightwatch network (it does not start with KWNN)")]
    NotANetwork,
    #[error("network format version {0}, this engine reads version {VERSION}")]
    Version(u16),
    #[error("unsupported network shape: {0}")]
    Shape(String),
    #[error("the network has {got} bytes, its header asks for {expected}")]
    Length { expected: usize, got: usize },
    #[error("the network is damaged (its checksum is wrong)")]
    Checksum,
    #[error("a weight of the network is out of range: {0}")]
    Range(&'static str),
}

/// A network file that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct OpenError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error(transparent)]
    Read(std::io::Error),
    #[error(transparent)]
    Bad(NetworkError),
}

/// The sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Units per perspective, a multiple of 32.
    pub hidden: usize,
    /// Output rows.
    pub buckets: usize,
}

impl Shape {
    /// Whether the engine can compute such a network; the error says what is wrong.
    pub fn check(self) -> Result<(), NetworkError> {
        if self.hidden == 0 || !self.hidden.is_multiple_of(LANE) || self.hidden > MAX_HIDDEN {
            return Err(NetworkError::Shape(format!(
                "{} hidden units (a multiple of {LANE} up to {MAX_HIDDEN})",
                self.hidden
            )));
        }
        if self.buckets == 0 || self.buckets > MAX_BUCKETS {
            return Err(NetworkError::Shape(format!(
                "{} output buckets (1 to {MAX_BUCKETS})",
                self.buckets
            )));
        }
        Ok(())
    }

    /// Bytes of a file of this shape.
    fn bytes(self) -> usize {
        HEADER + 2 * self.hidden * (INPUTS + 1 + 2 * self.buckets) + 4 * self.buckets
    }
}

/// A checked network, ready for inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    name: String,
    shape: Shape,
    scale: i32,
    weights: Vec<Lane>,
    biases: Vec<Lane>,
    output_weights: Vec<Lane>,
    output_biases: Vec<i32>,
}

impl Network {
    /// The network built into this binary, if there is one.
    #[must_use]
    pub fn embedded() -> Option<Arc<Network>> {
        static NETWORK: LazyLock<Option<Arc<Network>>> = LazyLock::new(|| {
            (!EMBEDDED.is_empty()).then(|| {
                Arc::new(
                    Network::from_bytes(EMBEDDED).expect("the embedded network is a valid network"),
                )
            })
        });
        NETWORK.clone()
    }

    /// A network from quantised weights in the file's order (`[768][H]`, `[H]`, `[B][2][H]`, `[B]`).
    ///
    /// # Errors
    /// When the slices do not fit the shape, or a weight could overflow the integer arithmetic.
    pub fn from_weights(
        name: &str,
        shape: Shape,
        scale: i32,
        weights: &[i16],
        biases: &[i16],
        output_weights: &[i16],
        output_biases: &[i32],
    ) -> Result<Network, NetworkError> {
        shape.check()?;
        let expected = [
            INPUTS * shape.hidden,
            shape.hidden,
            shape.buckets * 2 * shape.hidden,
            shape.buckets,
        ];
        if [
            weights.len(),
            biases.len(),
            output_weights.len(),
            output_biases.len(),
        ] != expected
        {
            return Err(NetworkError::Shape(
                "the weights do not fit the shape".into(),
            ));
        }
        let mut end = name.len().min(NAME);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        let network = Network {
            name: name[..end].to_owned(),
            shape,
            scale,
            weights: lanes(weights),
            biases: lanes(biases),
            output_weights: lanes(output_weights),
            output_biases: output_biases.to_vec(),
        };
        network.check_range()?;
        Ok(network)
    }

    /// Reads a network file.
    ///
    /// # Errors
    /// When the bytes are no network, one of another shape or version, damaged, or have weights that could overflow.
    pub fn from_bytes(bytes: &[u8]) -> Result<Network, NetworkError> {
        if bytes.len() < HEADER || bytes[..4] != MAGIC {
            return Err(NetworkError::NotANetwork);
        }
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if u16_at(4) != VERSION {
            return Err(NetworkError::Version(u16_at(4)));
        }
        if usize::from(u16_at(6)) != INPUTS
            || i32::from(u16_at(12)) != QA
            || i32::from(u16_at(14)) != QB
        {
            return Err(NetworkError::Shape(format!(
                "{} inputs, quantised by {} and {}",
                u16_at(6),
                u16_at(12),
                u16_at(14)
            )));
        }
        let shape = Shape {
            hidden: u16_at(8).into(),
            buckets: u16_at(10).into(),
        };
        shape.check()?;
        if bytes.len() != shape.bytes() {
            return Err(NetworkError::Length {
                expected: shape.bytes(),
                got: bytes.len(),
            });
        }
        let stored = u64::from_le_bytes(bytes[24..32].try_into().expect("eight bytes"));
        if stored != checksum(bytes) {
            return Err(NetworkError::Checksum);
        }
        let name = String::from_utf8_lossy(&bytes[32..HEADER])
            .trim_end_matches('\0')
            .to_owned();
        let scale = i32::from_le_bytes(bytes[16..20].try_into().expect("four bytes"));
        let values = |from: usize, count: usize| -> Vec<i16> {
            bytes[from..from + 2 * count]
                .chunks_exact(2)
                .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
                .collect()
        };
        let biases_at = HEADER + 2 * INPUTS * shape.hidden;
        let outputs_at = biases_at + 2 * shape.hidden;
        let output_biases_at = outputs_at + 4 * shape.buckets * shape.hidden;
        let output_biases: Vec<i32> = bytes[output_biases_at..]
            .chunks_exact(4)
            .map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        Network::from_weights(
            &name,
            shape,
            scale,
            &values(HEADER, INPUTS * shape.hidden),
            &values(biases_at, shape.hidden),
            &values(outputs_at, 2 * shape.buckets * shape.hidden),
            &output_biases,
        )
    }

    /// Reads a network file from disk; the error names it.
    ///
    /// # Errors
    /// When it cannot be read or is no good network.
    pub fn open(path: &Path) -> Result<Network, OpenError> {
        let bytes = input::read(path, LONGEST).map_err(|error| OpenError {
            path: path.to_owned(),
            why: Why::Read(error),
        })?;
        Network::from_bytes(&bytes).map_err(|error| OpenError {
            path: path.to_owned(),
            why: Why::Bad(error),
        })
    }

    /// The file of this network.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.shape.bytes());
        bytes.extend(MAGIC);
        for value in [
            VERSION,
            INPUTS as u16,
            self.shape.hidden as u16,
            self.shape.buckets as u16,
            QA as u16,
            QB as u16,
        ] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(self.scale.to_le_bytes());
        bytes.resize(32, 0);
        bytes.extend(self.name.as_bytes());
        bytes.resize(HEADER, 0);
        for lane in self
            .weights
            .iter()
            .chain(&self.biases)
            .chain(&self.output_weights)
        {
            bytes.extend(lane.0.iter().flat_map(|value| value.to_le_bytes()));
        }
        bytes.extend(
            self.output_biases
                .iter()
                .flat_map(|value| value.to_le_bytes()),
        );
        let sum = checksum(&bytes);
        bytes[24..32].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What the network is called, as its file says.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Centipawns of one unit of output.
    #[must_use]
    pub fn scale(&self) -> i32 {
        self.scale
    }

    /// Lanes of one perspective.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.shape.hidden / LANE
    }

    pub(super) fn weights(&self) -> &[Lane] {
        &self.weights
    }

    pub(super) fn biases(&self) -> &[Lane] {
        &self.biases
    }

    /// The quantised weights in the file's order, for further training: inputs, biases, outputs, output biases.
    #[must_use]
    pub fn quantised(&self) -> (&[Lane], &[Lane], &[Lane], &[i32]) {
        (
            &self.weights,
            &self.biases,
            &self.output_weights,
            &self.output_biases,
        )
    }

    /// Centipawns for the side to move, from the two halves of an accumulator and the number of pieces (2..=32).
    pub(super) fn output(
        &self,
        kernels: &Kernels,
        us: &[Lane],
        them: &[Lane],
        pieces: usize,
    ) -> i32 {
        let bucket = features::bucket(pieces, self.shape.buckets);
        let row = &self.output_weights[bucket * 2 * self.stride()..][..2 * self.stride()];
        let (ours, theirs) = row.split_at(self.stride());
        let sum = kernels.forward(us, ours) + kernels.forward(them, theirs);
        let output = i64::from(sum / QA) + i64::from(self.output_biases[bucket]);
        (output * i64::from(self.scale) / i64::from(QA * QB)) as i32
    }

    /// Centipawns for the side to move from the inputs that are on, for it and for the other side (as many of each, 2..=32).
    #[must_use]
    pub fn evaluate_inputs(&self, kernels: &Kernels, ours: &[u16], theirs: &[u16]) -> i32 {
        let mut sums = [
            vec![Lane::ZERO; self.stride()],
            vec![Lane::ZERO; self.stride()],
        ];
        for (into, features) in sums.iter_mut().zip([ours, theirs]) {
            kernels.refresh(into, &self.biases, &self.weights, features);
        }
        self.output(kernels, &sums[0], &sums[1], ours.len())
    }

    /// No sum may overflow, whatever the position: 32 rows and a bias in 16 bits, products in 16 bits, their sum in 32 bits.
    fn check_range(&self) -> Result<(), NetworkError> {
        let largest = |lanes: &[Lane]| {
            lanes
                .iter()
                .flat_map(|lane| lane.0)
                .map(|v| i32::from(v).abs())
                .max()
                .unwrap_or(0)
        };
        if largest(&self.weights) * 32 + largest(&self.biases) > i32::from(i16::MAX) {
            return Err(NetworkError::Range("the first layer"));
        }
        if largest(&self.output_weights) > 128 {
            return Err(NetworkError::Range("the output layer"));
        }
        for row in self.output_weights.chunks_exact(2 * self.stride()) {
            let sum: i64 = row
                .iter()
                .flat_map(|lane| lane.0)
                .map(|v| i64::from(v).abs())
                .sum();
            if sum * i64::from(QA * QA) > i64::from(i32::MAX) {
                return Err(NetworkError::Range("the sum of an output row"));
            }
        }
        if self
            .output_biases
            .iter()
            .any(|bias| bias.unsigned_abs() > 1 << 24)
        {
            return Err(NetworkError::Range("an output bias"));
        }
        if !(1..=10_000).contains(&self.scale) {
            return Err(NetworkError::Range("the scale"));
        }
        Ok(())
    }
}

fn lanes(values: &[i16]) -> Vec<Lane> {
    values
        .chunks_exact(LANE)
        .map(|chunk| Lane(chunk.try_into().expect("a chunk is a lane")))
        .collect()
}

/// FNV-1a over the file without the checksum's own eight bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let covered = bytes[..24].iter().chain(&bytes[32..]);
    covered.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::nnue::tests::random_network;

    #[test]
    fn a_file_survives_the_round_trip() {
        let network = random_network(7, 64, 8);
        let bytes = network.to_bytes();
        assert_eq!(Network::from_bytes(&bytes).unwrap(), network);
        assert_eq!(bytes.len(), network.shape().bytes());
    }

    #[test]
    fn every_kind_of_bad_file_is_refused() {
        let good = random_network(8, 32, 2).to_bytes();
        let damaged = |change: fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            Network::from_bytes(&bytes).unwrap_err()
        };
        assert_eq!(damaged(Vec::clear), NetworkError::NotANetwork);
        assert_eq!(damaged(|b| b[0] = b'X'), NetworkError::NotANetwork);
        assert_eq!(damaged(|b| b[4] = 9), NetworkError::Version(9));
        assert!(matches!(damaged(|b| b[8] = 33), NetworkError::Shape(_)));
        assert!(matches!(
            damaged(|b| b[8] = 64),
            NetworkError::Length { .. }
        ));
        assert!(matches!(damaged(|b| b[10] = 0), NetworkError::Shape(_)));
        assert!(matches!(damaged(|b| b[12] = 1), NetworkError::Shape(_)));
        assert!(matches!(
            damaged(|b| b.truncate(1000)),
            NetworkError::Length { .. }
        ));
        assert_eq!(damaged(|b| b[16] ^= 1), NetworkError::Checksum);
        assert_eq!(damaged(|b| b[40] ^= 1), NetworkError::Checksum);
        assert_eq!(
            damaged(|b| *b.last_mut().unwrap() ^= 1),
            NetworkError::Checksum
        );
    }

    #[test]
    fn weights_that_could_overflow_are_refused() {
        let shape = Shape {
            hidden: 32,
            buckets: 1,
        };
        let build = |weight: i16, output: i16| {
            Network::from_weights(
                "",
                shape,
                400,
                &vec![weight; INPUTS * 32],
                &[0; 32],
                &[output; 64],
                &[0],
            )
        };
        assert!(build(505, 127).is_ok());
        assert_eq!(
            build(1100, 1).unwrap_err(),
            NetworkError::Range("the first layer")
        );
        assert_eq!(
            build(1, 129).unwrap_err(),
            NetworkError::Range("the output layer")
        );
    }

    #[test]
    fn the_embedded_network_is_valid() {
        if !EMBEDDED.is_empty() {
            Network::from_bytes(EMBEDDED).unwrap();
        }
    }
}
