//! Checkpoint of a training run: weights and moments after an epoch.
//!
//! The file starts with [`MAGIC`], followed by a line of JSON and the rows of weights, first and second moments as
//! little-endian `f32`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use super::model::{Layout, Model, Row};
use super::options::differences;
use knightwatch_engine::nnue::{LANE, Network, Shape};
use knightwatch_util::atomic_file;

const MAGIC: &[u8] = b"KWTRAIN1\n";

/// The data and options that both parts of an interrupted run must share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunKey {
    pub hidden: usize,
    pub buckets: usize,
    /// Number of training positions.
    pub positions: usize,
    pub batch: usize,
    /// Weight of the result in the target, at the start and at the end.
    pub wdl: [f32; 2],
    /// Centipawns per unit of output.
    pub scale: f32,
    /// Weight of later positions in the scores; missing in older checkpoints.
    #[serde(default)]
    pub lambda: f64,
    pub seed: u64,
}

impl RunKey {
    fn fields(&self) -> [(&'static str, String); 9] {
        [
            ("hidden", self.hidden.to_string()),
            ("buckets", self.buckets.to_string()),
            ("training positions", self.positions.to_string()),
            ("batch", self.batch.to_string()),
            ("wdl", self.wdl[0].to_string()),
            ("final-wdl", self.wdl[1].to_string()),
            ("scale", self.scale.to_string()),
            ("lambda", self.lambda.to_string()),
            ("seed", self.seed.to_string()),
        ]
    }

    fn shape(&self) -> Shape {
        Shape {
            hidden: self.hidden,
            buckets: self.buckets,
        }
    }
}

/// State of a run after an epoch. The rows are not part of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub key: RunKey,
    /// Finished epochs.
    pub epochs: usize,
    /// Finished steps.
    pub step: u32,
    /// Training time.
    pub elapsed: Duration,
    /// Lowest validation loss; that of the network that was written last.
    pub best_loss: f64,
    #[serde(skip)]
    pub weights: Vec<Row>,
    /// Moments of AdamW.
    #[serde(skip)]
    pub first: Vec<Row>,
    #[serde(skip)]
    pub second: Vec<Row>,
}

impl Checkpoint {
    /// The start of a run with the weights of `model`.
    pub(crate) fn start(key: RunKey, model: &Model) -> Checkpoint {
        let zeros = vec![Row::ZERO; model.rows.len()];
        Checkpoint {
            key,
            epochs: 0,
            step: 0,
            elapsed: Duration::ZERO,
            best_loss: f64::INFINITY,
            weights: model.rows.clone(),
            first: zeros.clone(),
            second: zeros,
        }
    }

    pub(crate) fn model(&self) -> Model {
        Model {
            layout: Layout::new(self.key.shape()),
            rows: self.weights.clone(),
        }
    }

    /// Checks that a run with this key can continue from here.
    ///
    /// # Errors
    /// When the run has other positions or options.
    pub(crate) fn check(&self, key: &RunKey) -> anyhow::Result<()> {
        ensure!(
            self.key == *key,
            "cannot resume: the run had other positions or options: {}",
            differences(&self.key.fields(), &key.fields())
        );
        Ok(())
    }

    /// The checkpoint of the run that writes the network `out`.
    pub(crate) fn path(out: &Path) -> PathBuf {
        out.with_extension("checkpoint")
    }

    /// The unfinished run that writes the network `out`, with its network so far; `None` if a run is to start.
    ///
    /// # Errors
    /// When there is such a run and it is not to be resumed, or the other way round, or it cannot be read.
    pub(crate) fn open(out: &Path, resume: bool) -> anyhow::Result<Option<(Checkpoint, Network)>> {
        let path = Checkpoint::path(out);
        let shown = path.display();
        ensure!(
            path != out,
            "the checkpoint would overwrite {shown}: --out must not end in .checkpoint"
        );
        match Checkpoint::read(&path)? {
            Some(_) if !resume => bail!(
                "{shown} is the checkpoint of an unfinished run; continue it with --resume, or remove it"
            ),
            None if resume => bail!("there is no unfinished run to resume: {shown} does not exist"),
            None => Ok(None),
            Some(checkpoint) => {
                let network = Network::open(out).with_context(|| {
                    format!(
                        "cannot resume without the network of the run, {}",
                        out.display()
                    )
                })?;
                Ok(Some((checkpoint, network)))
            }
        }
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut bytes = MAGIC.to_vec();
        serde_json::to_writer(&mut bytes, self)?;
        bytes.push(b'\n');
        for row in [&self.weights, &self.first, &self.second]
            .into_iter()
            .flatten()
        {
            bytes.extend(row.0.iter().flat_map(|value| value.to_le_bytes()));
        }
        atomic_file::write(path, &bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads a checkpoint; `None` if there is no such file.
    ///
    /// # Errors
    /// When the file cannot be read or is not a checkpoint.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Option<Checkpoint>> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let checkpoint = Checkpoint::parse(&bytes);
        let wrong = || format!("{} is not a checkpoint; remove it", path.display());
        Ok(Some(checkpoint.with_context(wrong)?))
    }

    fn parse(bytes: &[u8]) -> Option<Checkpoint> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let state: Checkpoint = serde_json::from_slice(&rest[..end]).ok()?;
        let (values, []) = rest[end + 1..].as_chunks::<4>() else {
            return None;
        };
        let (rows, []) = values.as_chunks::<LANE>() else {
            return None;
        };
        let shape = state.key.shape();
        shape.check().ok()?;
        let count = Layout::new(shape).rows();
        if rows.len() != 3 * count {
            return None;
        }
        let row = |values: &[[u8; 4]; LANE]| Row(values.map(f32::from_le_bytes));
        let mut parts = rows
            .chunks(count)
            .map(|part| part.iter().map(row).collect());
        Some(Checkpoint {
            weights: parts.next()?,
            first: parts.next()?,
            second: parts.next()?,
            ..state
        })
    }
}
