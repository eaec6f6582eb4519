#!/usr/bin/env bash
# Builds the agent for a DPU's ARM cores, static (musl), and runs it under emulation, from Debian, PyPI and crates.io alone:
# the standard library is built from Debian's rust-src, zig links, qemu runs. Nothing outside $WORK changes.
# Ends with 1 if the program is larger than 5 MiB. Usage: agent/aarch64-build.sh   (WORK: where tools are kept)
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '== aarch64-build: %s\n' "$*" >&2; }
root=$PWD
WORK=${WORK:-$root/target/aarch64-tools}
limit=$((5 * 1024 * 1024))
triple=aarch64-unknown-linux-musl
mkdir -p "$WORK"/apt/{lists/partial,cache/archives/partial} "$WORK"/{src,qemu}

version=$(rustc --version | awk '{print $2}') # rust-src must be of the same release
if [ ! -x "$WORK/toolchain/bin/rustc" ] || [ ! -x "$WORK/venv/bin/cargo-zigbuild" ]; then
    say "fetching rust-src $version, qemu and zig"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    mirror=$(awk '/^URIs:/ && $2 ~ /\/debian$/ {print $2; exit}' /etc/apt/sources.list.d/*.sources)
    cat > "$WORK/apt/sources.list" <<EOF
deb [signed-by=$keyring] $mirror trixie-backports main
deb [signed-by=$keyring] $mirror bookworm-backports main
EOF
    apt=(-o "Dir::Etc::sourcelist=$WORK/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$WORK/apt/lists"
        -o "Dir::Cache=$WORK/apt/cache" -o APT::Sandbox::User=root)
    cd "$WORK/apt"
    apt-get "${apt[@]}" -qq update
    source=$(apt-cache "${apt[@]}" madison rust-src | awk -F'|' -v v="$version" '$2 ~ v {gsub(/ /, "", $2); print $2; exit}')
    [ -n "$source" ] || { say "Debian has no rust-src $version"; exit 1; }
    apt-get "${apt[@]}" -qq download "rust-src=$source" qemu-user/bookworm-backports
    dpkg-deb --fsys-tarfile rust-src_*.deb | tar -x -C "$WORK/src" --wildcards './usr/src/rustc-*/library/*'
    dpkg -x qemu-user_*.deb "$WORK/qemu"
    # A copy of the toolchain by hard links, so that the one in use stays as it is.
    sysroot=$(rustc --print sysroot)
    rm -rf "$WORK/toolchain"
    mkdir -p "$WORK/toolchain/lib"
    copy() { cp -al "$@" 2>/dev/null || cp -a "$@"; }
    copy "$sysroot/bin" "$WORK/toolchain/"
    copy "$sysroot"/lib/* "$WORK/toolchain/lib/"
    rm -rf "$WORK/toolchain/lib/rustlib/src"
    mkdir -p "$WORK/toolchain/lib/rustlib/src/rust"
    cp -a "$WORK"/src/usr/src/rustc-*/library "$WORK/toolchain/lib/rustlib/src/rust/"
    python3 -m venv "$WORK/venv"
    "$WORK/venv/bin/pip" -q install ziglang==0.17.1 cargo-zigbuild==0.24.1
    cd "$root"
fi

say "building"
export PATH="$WORK/toolchain/bin:$WORK/venv/bin:$PATH" RUSTC_BOOTSTRAP=1 CARGO_ZIGBUILD_ZIG_PATH="$WORK/venv/bin/python-zig"
# zig brings the start files and musl itself.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-Clink-self-contained=no"
unset RUSTUP_TOOLCHAIN
cargo zigbuild --package agent --bin dpu-agent --profile agent --target "$triple" -Zbuild-std=std,panic_abort

program=${CARGO_TARGET_DIR:-target}/$triple/agent/dpu-agent
size=$(stat -c %s "$program")
emulated=("$WORK/qemu/usr/bin/qemu-aarch64" "$program")
file "$program" 2>/dev/null | sed 's/^[^:]*: //' || true
"${emulated[@]}" --version
"${emulated[@]}" parse bgp-text tests/fixtures/frr_live/frr-10.3/006_up_bgp_summary.txt | grep -c '"state": "Established"'
"${emulated[@]}" render tests/fixtures/nvue/docs_example_etv.input.json --only nvue | head -5
awk -v size="$size" -v limit="$limit" 'BEGIN { printf "size %.2f MiB, limit %.0f MiB\n", size / 1048576, limit / 1048576 }'
[ "$size" -le "$limit" ] || { say "too large"; exit 1; }
