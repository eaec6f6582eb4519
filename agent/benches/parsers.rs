//! How fast outputs are read, in bytes a second.

use std::{fs, path::PathBuf};

use agent::parse::Kind;
use divan::{Bencher, counter::BytesCount};

fn main() {
    divan::main();
}

/// Kind and file of an output each.
const OUTPUTS: &[(&str, &str)] = &[
    ("bgp-text", "frr_live/frr-10.3/110_scale_200.txt"),
    ("bgp-json", "frr_live/frr-10.3/111_scale_200.json"),
    ("bgp-json", "bgp/012_sonic_ipv4_bgp_summary.json"),
    ("nv-show", "cases/nv-show-interface-nested.txt"),
    ("nv-bgp", "cases/nv-bgp-uptime-with-days.txt"),
    ("supervisorctl", "commands/supervisorctl_status.txt"),
    ("bridge-fdb", "bgp/hbn_bridge_fdb.json"),
    ("df", "commands/df_HP.txt"),
];

fn text(file: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../tests/fixtures", file].iter().collect();
    fs::read_to_string(&path).unwrap_or_default()
}

/// As the agent reads it.
#[divan::bench(args = ["frr_live/frr-10.3/110_scale_200.txt", "frr_live/frr-8.4.4/006_up_bgp_summary.txt"])]
fn bgp_text(bencher: Bencher<'_, '_>, file: &str) {
    let text = text(file);
    bencher.counter(BytesCount::of_str(&text)).bench(|| agent::parse::bgp_text(divan::black_box(&text)));
}

/// As the agent reads it.
#[divan::bench(args = ["frr_live/frr-10.3/111_scale_200.json", "frr_live/frr-8.4.4/007_up_bgp_summary_json.json"])]
fn bgp_json(bencher: Bencher<'_, '_>, file: &str) {
    let text = text(file);
    bencher.counter(BytesCount::of_str(&text)).bench(|| agent::parse::bgp_json(divan::black_box(&text)));
}

/// As `dpu-agent parse` reads it, which makes JSON of it again.
#[divan::bench(args = OUTPUTS)]
fn by_kind(bencher: Bencher<'_, '_>, (kind, file): &(&str, &str)) {
    let text = text(file);
    let kind = Kind::named(kind);
    bencher.counter(BytesCount::of_str(&text)).bench(|| kind.map(|kind| kind.read(divan::black_box(&text))));
}
