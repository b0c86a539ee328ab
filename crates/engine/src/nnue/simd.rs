//! Kernels of the network for the CPU: scalar, AVX2 and AVX-512, chosen at run time, with identical results.
//!
//! The scalar functions are the reference. The update has one source for all three (the compiler vectorizes it for
//! each); only the output sum, for which the compiler's code is twice as slow, uses intrinsics. All `unsafe` of the
//! network is in this file: calls of functions compiled for other CPU features than the build's, and aligned loads.

use std::sync::LazyLock;

use super::{Change, Lane, QA};

type Refresh = unsafe fn(&mut [Lane], &[Lane], &[Lane], &[u16]);
type Update = unsafe fn(&mut [Lane], &[Lane], &[Lane], usize, &[Change]);
type Forward = unsafe fn(&[Lane], &[Lane]) -> i32;

/// The three operations of inference. A value of this type exists only if the CPU supports it.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    name: &'static str,
    refresh: Refresh,
    update: Update,
    forward: Forward,
}

impl Kernels {
    /// The fastest kernels that this CPU supports.
    #[must_use]
    pub fn best() -> &'static Kernels {
        Kernels::all()
            .last()
            .expect("the plain kernels are always there")
    }

    /// All kernels that this CPU supports, scalar first, fastest last.
    #[must_use]
    pub fn all() -> &'static [Kernels] {
        static ALL: LazyLock<Vec<Kernels>> = LazyLock::new(detect);
        &ALL
    }

    /// `scalar`, `avx2` or `avx512`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// `into` = `biases` + the rows of `features`; `weights` has a row of `into.len()` lanes per input.
    pub fn refresh(&self, into: &mut [Lane], biases: &[Lane], weights: &[Lane], features: &[u16]) {
        // SAFETY: `detect` returns kernels only after checking for the CPU features that they are compiled for.
        unsafe { (self.refresh)(into, biases, weights, features) }
    }

    /// `into` = `from` with a change for each of the perspectives, which follow one another. `weights` has a row of
    /// `stride` lanes per input.
    pub(super) fn update(
        &self,
        into: &mut [Lane],
        from: &[Lane],
        weights: &[Lane],
        stride: usize,
        changes: &[Change],
    ) {
        // SAFETY: as in `refresh`.
        unsafe { (self.update)(into, from, weights, stride, changes) }
    }

    /// The sum of clamp(value, 0, 255)^2 * weight over one perspective.
    #[must_use]
    pub fn forward(&self, values: &[Lane], weights: &[Lane]) -> i32 {
        // SAFETY: as in `refresh`.
        unsafe { (self.forward)(values, weights) }
    }
}

fn detect() -> Vec<Kernels> {
    let mut kernels = vec![Kernels {
        name: "scalar",
        refresh: plain::refresh,
        update: plain::update,
        forward: plain::forward,
    }];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            kernels.push(Kernels {
                name: "avx2",
                refresh: avx2::refresh,
                update: avx2::update,
                forward: avx2::forward,
            });
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            kernels.push(Kernels {
                name: "avx512",
                refresh: avx512::refresh,
                update: avx512::update,
                forward: avx512::forward,
            });
        }
    }
    kernels
}

mod plain {
    use super::{Change, Lane, QA};

    #[inline(always)]
    fn row(weights: &[Lane], feature: u16, stride: usize) -> &[Lane] {
        &weights[usize::from(feature) * stride..][..stride]
    }

    #[inline(always)]
    fn add(to: &mut Lane, lane: &Lane) {
        for (to, value) in to.0.iter_mut().zip(lane.0) {
            *to = to.wrapping_add(value);
        }
    }

    #[inline(always)]
    fn subtract(from: &mut Lane, lane: &Lane) {
        for (from, value) in from.0.iter_mut().zip(lane.0) {
            *from = from.wrapping_sub(value);
        }
    }

    /// One lane at a time, so that the sum stays in registers.
    #[inline(always)]
    pub(super) fn refresh(into: &mut [Lane], biases: &[Lane], weights: &[Lane], features: &[u16]) {
        match into.len() {
            16 => refresh_rows(into, biases, weights, features, 16),
            24 => refresh_rows(into, biases, weights, features, 24),
            stride => refresh_rows(into, biases, weights, features, stride),
        }
    }

    #[inline(always)]
    fn refresh_rows(
        into: &mut [Lane],
        biases: &[Lane],
        weights: &[Lane],
        features: &[u16],
        stride: usize,
    ) {
        let (into, biases) = (&mut into[..stride], &biases[..stride]);
        for (at, (into, bias)) in into.iter_mut().zip(biases).enumerate() {
            let mut sum = *bias;
            for feature in features {
                add(&mut sum, &row(weights, *feature, stride)[at]);
            }
            *into = sum;
        }
    }

    #[inline(always)]
    fn fused<const ADDED: usize, const REMOVED: usize>(
        into: &mut [Lane],
        from: &[Lane],
        added: [&[Lane]; ADDED],
        removed: [&[Lane]; REMOVED],
    ) {
        for (at, (into, from)) in into.iter_mut().zip(from).enumerate() {
            let mut sum = *from;
            for row in added {
                add(&mut sum, &row[at]);
            }
            for row in removed {
                subtract(&mut sum, &row[at]);
            }
            *into = sum;
        }
    }

    /// The common lengths of a row are constants, for which the compiler unrolls the loops and leaves out bounds checks.
    #[inline(always)]
    pub(super) fn update(
        into: &mut [Lane],
        from: &[Lane],
        weights: &[Lane],
        stride: usize,
        changes: &[Change],
    ) {
        match stride {
            16 => update_rows(into, from, weights, 16, changes),
            24 => update_rows(into, from, weights, 24, changes),
            _ => update_rows(into, from, weights, stride, changes),
        }
    }

    #[inline(always)]
    fn update_rows(
        into: &mut [Lane],
        from: &[Lane],
        weights: &[Lane],
        stride: usize,
        changes: &[Change],
    ) {
        let row = |feature: u16| row(weights, feature, stride);
        let perspectives = into.chunks_exact_mut(stride).zip(from.chunks_exact(stride));
        for ((into, from), change) in perspectives.zip(changes) {
            match *change {
                Change::Quiet { added, removed } => fused(into, from, [row(added)], [row(removed)]),
                Change::Capture { added, removed } => {
                    fused(into, from, [row(added)], removed.map(row));
                }
                Change::Castle { added, removed } => {
                    fused(into, from, added.map(row), removed.map(row));
                }
            }
        }
    }

    pub(super) fn forward(values: &[Lane], weights: &[Lane]) -> i32 {
        let mut sum = 0;
        for (values, weights) in values.iter().zip(weights) {
            for (value, weight) in values.0.iter().zip(weights.0) {
                let clipped = i32::from(*value).clamp(0, QA);
                sum += clipped * clipped * i32::from(weight);
            }
        }
        sum
    }
}

/// In both vector kernels, clipped value times weight fits 16 bits (255 * 128), as `Network` checks on load.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_add_epi32,
        _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_load_si256, _mm256_madd_epi16,
        _mm256_max_epi16, _mm256_min_epi16, _mm256_mullo_epi16, _mm256_set1_epi16,
        _mm256_setzero_si256,
    };

    use super::{Change, Lane, QA, plain};

    #[target_feature(enable = "avx2")]
    pub(super) fn refresh(into: &mut [Lane], biases: &[Lane], weights: &[Lane], features: &[u16]) {
        plain::refresh(into, biases, weights, features);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn update(
        into: &mut [Lane],
        from: &[Lane],
        weights: &[Lane],
        stride: usize,
        changes: &[Change],
    ) {
        plain::update(into, from, weights, stride, changes);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn forward(values: &[Lane], weights: &[Lane]) -> i32 {
        let zero = _mm256_setzero_si256();
        let one = _mm256_set1_epi16(QA as i16);
        let mut sums = [zero; 2];
        for (values, weights) in values.iter().zip(weights) {
            for (half, sum) in sums.iter_mut().enumerate() {
                // SAFETY: a lane is 64 bytes on a 64-byte boundary; `half` picks its lower or upper 32 bytes.
                let (value, weight) = unsafe {
                    let value = _mm256_load_si256(values.0.as_ptr().cast::<__m256i>().add(half));
                    (
                        value,
                        _mm256_load_si256(weights.0.as_ptr().cast::<__m256i>().add(half)),
                    )
                };
                let clipped = _mm256_min_epi16(_mm256_max_epi16(value, zero), one);
                *sum = _mm256_add_epi32(
                    *sum,
                    _mm256_madd_epi16(clipped, _mm256_mullo_epi16(clipped, weight)),
                );
            }
        }
        let sum = _mm256_add_epi32(sums[0], sums[1]);
        let sum = _mm_add_epi32(
            _mm256_castsi256_si128(sum),
            _mm256_extracti128_si256::<1>(sum),
        );
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
        _mm_cvtsi128_si32(sum)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_load_si512, _mm512_madd_epi16, _mm512_max_epi16, _mm512_min_epi16,
        _mm512_mullo_epi16, _mm512_reduce_add_epi32, _mm512_set1_epi16, _mm512_setzero_si512,
    };

    use super::{Change, Lane, QA, plain};

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn refresh(into: &mut [Lane], biases: &[Lane], weights: &[Lane], features: &[u16]) {
        plain::refresh(into, biases, weights, features);
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn update(
        into: &mut [Lane],
        from: &[Lane],
        weights: &[Lane],
        stride: usize,
        changes: &[Change],
    ) {
        plain::update(into, from, weights, stride, changes);
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn forward(values: &[Lane], weights: &[Lane]) -> i32 {
        let zero = _mm512_setzero_si512();
        let one = _mm512_set1_epi16(QA as i16);
        let mut sum = zero;
        for (values, weights) in values.iter().zip(weights) {
            // SAFETY: a lane is 64 bytes on a 64-byte boundary.
            let (value, weight) = unsafe {
                (
                    _mm512_load_si512(values.0.as_ptr().cast()),
                    _mm512_load_si512(weights.0.as_ptr().cast()),
                )
            };
            let clipped = _mm512_min_epi16(_mm512_max_epi16(value, zero), one);
            sum = _mm512_add_epi32(
                sum,
                _mm512_madd_epi16(clipped, _mm512_mullo_epi16(clipped, weight)),
            );
        }
        _mm512_reduce_add_epi32(sum)
    }
}
