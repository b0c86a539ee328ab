//! Network file format and weights.
//!
//! A file is a 64-byte header followed by the weights, all little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | `KWNN` |
//! | 4..6 | version, 1 |
//! | 6..8 | inputs, 768 |
//! | 8..10 | hidden units `H`, a multiple of 32 |
//! | 10..12 | output rows `B` |
//! | 12..14, 14..16 | `QA` = 255, `QB` = 64 |
//! | 16..20 | scale: centipawns per unit of output |
//! | 20..24 | zero |
//! | 24..32 | FNV-1a (64 bits) of everything except these eight bytes |
//! | 32..64 | name, UTF-8, padded with zeros |
//! | then | `i16` weights `[768][H]`, `i16` biases `[H]`, `i16` output weights `[B][2][H]`, `i32` output biases `[B]` |

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::features::{self, INPUTS};
use super::{Kernels, LANE, QA, QB};
use knightwatch_util::input;

const MAGIC: [u8; 4] = *b"KWNN";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 64;
const NAME_BYTES: usize = 32;
/// Most hidden units; bounds the size of hostile files.
const MAX_HIDDEN: usize = 2048;

/// The largest network file that is read: twenty times the largest shape.
const MAX_FILE_BYTES: u64 = 64 << 20;
const MAX_BUCKETS: usize = 32;

/// The network embedded in this binary; empty if there is none.
static EMBEDDED: &[u8] = include_bytes!(env!("KNIGHTWATCH_NETWORK"));

/// Thirty-two 16-bit values on one cache line: the unit in which all layers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Lane(pub [i16; LANE]);

impl Lane {
    /// All zero.
    pub const ZERO: Lane = Lane([0; LANE]);
}

/// Error of decoding a network file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The file does not begin with the magic number.
    #[error("not a Knightwatch network (does not start with KWNN)")]
    NotANetwork,
    /// A version of the format that is not supported.
    #[error("unsupported network format version {0} (supported: {VERSION})")]
    Version(u16),
    /// Layers of other sizes than those of this program.
    #[error("unsupported network shape: {0}")]
    Shape(String),
    /// The length of the file does not fit its header.
    #[error("network has {got} bytes, its header requires {expected}")]
    Length {
        /// Bytes that the header asks for.
        expected: usize,
        /// Bytes of the file.
        got: usize,
    },
    /// The checksum is wrong.
    #[error("network is damaged (wrong checksum)")]
    Checksum,
    /// A weight is out of the range that the arithmetic allows.
    #[error("network weights out of range: {0}")]
    Range(&'static str),
}

/// Error of opening a network file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct OpenError {
    path: PathBuf,
    why: OpenErrorKind,
}

#[derive(Debug, thiserror::Error)]
enum OpenErrorKind {
    #[error(transparent)]
    Read(std::io::Error),
    #[error(transparent)]
    Bad(NetworkError),
}

/// Sizes of the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Hidden units per perspective, a multiple of 32.
    pub hidden: usize,
    /// Output rows.
    pub buckets: usize,
}

impl Shape {
    /// Checks that the engine supports this shape.
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

    /// File size of this shape, in bytes.
    fn bytes(self) -> usize {
        HEADER_BYTES + 2 * self.hidden * (INPUTS + 1 + 2 * self.buckets) + 4 * self.buckets
    }
}

/// A validated network, ready for inference.
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
    /// The embedded network, if there is one.
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

    /// Creates a network from quantized weights in file order (`[768][H]`, `[H]`, `[B][2][H]`, `[B]`).
    ///
    /// # Errors
    /// If the slices do not fit the shape, or a weight could overflow the integer arithmetic.
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
        let mut end = name.len().min(NAME_BYTES);
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

    /// Decodes a network file.
    ///
    /// # Errors
    /// If the bytes are not a network, have another shape or version, are damaged, or have weights that could
    /// overflow.
    pub fn from_bytes(bytes: &[u8]) -> Result<Network, NetworkError> {
        if bytes.len() < HEADER_BYTES || bytes[..4] != MAGIC {
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
                "{} inputs, quantized by {} and {}",
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
        let name = String::from_utf8_lossy(&bytes[32..HEADER_BYTES])
            .trim_end_matches('\0')
            .to_owned();
        let scale = i32::from_le_bytes(bytes[16..20].try_into().expect("four bytes"));
        let values = |from: usize, count: usize| -> Vec<i16> {
            bytes[from..from + 2 * count]
                .chunks_exact(2)
                .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
                .collect()
        };
        let biases_at = HEADER_BYTES + 2 * INPUTS * shape.hidden;
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
            &values(HEADER_BYTES, INPUTS * shape.hidden),
            &values(biases_at, shape.hidden),
            &values(outputs_at, 2 * shape.buckets * shape.hidden),
            &output_biases,
        )
    }

    /// Reads a network file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid network; the error contains the path.
    pub fn open(path: &Path) -> Result<Network, OpenError> {
        let bytes = input::read(path, MAX_FILE_BYTES).map_err(|error| OpenError {
            path: path.to_owned(),
            why: OpenErrorKind::Read(error),
        })?;
        Network::from_bytes(&bytes).map_err(|error| OpenError {
            path: path.to_owned(),
            why: OpenErrorKind::Bad(error),
        })
    }

    /// Encodes the network as a file.
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
        bytes.resize(HEADER_BYTES, 0);
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

    /// The name stored in the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The sizes of the layers.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Centipawns per unit of output.
    #[must_use]
    pub fn scale(&self) -> i32 {
        self.scale
    }

    /// Lanes per perspective.
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

    /// The quantized weights in file order, for further training: weights, biases, output weights, output biases.
    #[must_use]
    pub fn quantized(&self) -> (&[Lane], &[Lane], &[Lane], &[i32]) {
        (
            &self.weights,
            &self.biases,
            &self.output_weights,
            &self.output_biases,
        )
    }

    /// The value in centipawns for the side to move, from both halves of an accumulator and the number of pieces
    /// (2..=32).
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

    /// The value in centipawns for the side to move, from the active inputs of both perspectives (2..=32 each).
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

    /// Checks that no sum can overflow: 32 rows and a bias in 16 bits, products in 16 bits, their sum in 32 bits.
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

/// FNV-1a of the file without the eight bytes of the checksum.
fn checksum(bytes: &[u8]) -> u64 {
    let covered = bytes[..24].iter().chain(&bytes[32..]);
    covered.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nnue::tests::random_network;

    #[test]
    fn to_bytes_then_from_bytes_is_identity() {
        let network = random_network(7, 64, 8);
        let bytes = network.to_bytes();
        assert_eq!(Network::from_bytes(&bytes).unwrap(), network);
        assert_eq!(bytes.len(), network.shape().bytes());
    }

    #[test]
    fn from_bytes_of_bad_files_fails() {
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
    fn from_weights_that_overflow_fails() {
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
    fn embedded_network_is_valid() {
        if !EMBEDDED.is_empty() {
            Network::from_bytes(EMBEDDED).unwrap();
        }
    }
}
