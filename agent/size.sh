#!/usr/bin/env bash
# Builds the agent as it is shipped and prints what it costs a DPU: size, memory, processor time, writes.
# Ends with 1 if a limit is passed. Usage: agent/size.sh
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
cargo build --quiet --package agent --bin dpu-agent --profile agent
# What measures need not be fast itself: built like the tests, it takes its libraries from them.
DPU_AGENT="$target/agent/dpu-agent" cargo bench --quiet --workspace --profile dev --bench footprint
