#!/usr/bin/env bash
# Runs this benchmark with all libraries built for this processor; cozy-chess uses PEXT for slider attacks.
# Arguments are passed on: `benches/perft/native.sh 5` runs five rounds.
set -euo pipefail
cd "$(dirname "$0")"

if ! grep -qw bmi2 /proc/cpuinfo; then
    echo "this processor lacks BMI2, which PEXT needs" >&2
    exit 1
fi
# A separate target directory, so that ordinary builds stay incremental.
RUSTFLAGS="-C target-cpu=native" CARGO_TARGET_DIR=target/native cargo run --release --features pext -- "$@"
