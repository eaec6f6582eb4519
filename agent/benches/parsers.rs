//! How fast outputs are read, in bytes a second.

use std::{fmt, fs, hint::black_box, path::PathBuf};

use agent::parse::{bgp_json, bgp_text, df, fdb, nv_bgp, nv_tables, supervisorctl};
use divan::{Bencher, counter::BytesCount};

fn main() {
    divan::main();
}

/// A parser, and an output that it reads.
struct Reading {
    parser: &'static str,
    file: &'static str,
    read: fn(&str),
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.parser, self.file)
    }
}

macro_rules! reading {
    ($parser:ident, $file:literal) => {
        Reading { parser: stringify!($parser), file: $file, read: |text| drop(black_box($parser(black_box(text)))) }
    };
}

const READINGS: &[Reading] = &[
    reading!(bgp_text, "frr_live/frr-10.3/110_scale_200.txt"),
    reading!(bgp_text, "frr_live/frr-8.4.4/006_up_bgp_summary.txt"),
    reading!(bgp_json, "frr_live/frr-10.3/111_scale_200.json"),
    reading!(bgp_json, "frr_live/frr-8.4.4/007_up_bgp_summary_json.json"),
    reading!(bgp_json, "bgp/012_sonic_ipv4_bgp_summary.json"),
    reading!(nv_tables, "cases/nv-show-interface-nested.txt"),
    reading!(nv_bgp, "cases/nv-bgp-uptime-with-days.txt"),
    reading!(supervisorctl, "commands/supervisorctl_status.txt"),
    reading!(fdb, "bgp/hbn_bridge_fdb.json"),
    reading!(df, "commands/df_HP.txt"),
];

#[divan::bench(args = READINGS)]
fn read(bencher: Bencher<'_, '_>, Reading { file, read, .. }: &Reading) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../tests/fixtures", file].iter().collect();
    let text = fs::read_to_string(&path).unwrap_or_default();
    bencher.counter(BytesCount::of_str(&text)).bench(|| read(&text));
}
