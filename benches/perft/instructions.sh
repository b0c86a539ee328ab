#!/usr/bin/env bash
# Prints the instructions per position of each library in this benchmark, counted by valgrind.
# With BMI2 in RUSTFLAGS, such as RUSTFLAGS="-C target-cpu=x86-64-v3", cozy-chess uses PEXT for slider attacks.
set -euo pipefail
cd "$(dirname "$0")"

features=()
case "${RUSTFLAGS:-}" in
    *x86-64-v3* | *bmi2*) features=(--features pext) ;;
esac
cargo build --release "${features[@]}"
for library in knightwatch cozy-chess chess shakmaty; do
    counted=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/knightwatch-perft "$library" 2 2>&1)
    nodes=$(sed -n 's/ nodes$//p' <<<"$counted")
    instructions=$(sed -n 's/.*Collected : //p' <<<"$counted")
    awk -v name="$library" -v n="$nodes" -v i="$instructions" 'BEGIN { printf "%-12s %6.1f\n", name, i / n }'
done
