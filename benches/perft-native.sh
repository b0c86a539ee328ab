#!/usr/bin/env bash
# The table of `cargo bench --bench perft` for the processor that it runs on: all libraries are built for it, and
# cozy-chess finds its attacks by PEXT. Arguments go to the bench: `benches/perft-native.sh 5` takes five rounds.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! grep -qw bmi2 /proc/cpuinfo; then
    echo "this processor has no BMI2, without which cozy-chess has no PEXT" >&2
    exit 1
fi
# A folder of its own, so that the next ordinary build need not begin anew.
RUSTFLAGS="-C target-cpu=native" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/native" \
    cargo bench --bench perft --features cozy-chess/pext -- "$@"
