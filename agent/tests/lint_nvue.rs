//! What the lint lets pass and what it finds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use agent::lint;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn faults(text: &str) -> Vec<String> {
    match lint::check(text) {
        Ok(()) => Vec::new(),
        Err(error) => error.faults.iter().map(ToString::to_string).collect(),
    }
}

/// One configuration below `set`, in YAML's flow style.
fn set(settings: &str) -> String {
    format!("- header: {{model: VX}}\n- set: {settings}\n")
}

#[test]
fn configurations_of_operators_pass() {
    let mut seen = 0;
    for entry in fs::read_dir(repository().join("tests/fixtures/nvue_hbn")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            assert_eq!(faults(&fs::read_to_string(&path).unwrap()), Vec::<String>::new(), "{}", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 5);
}

#[test]
fn files_that_do_not_load_or_repeat_a_key_are_faults() {
    for (text, fault) in [
        ("- set: {a", "does not load: "),
        ("- set:\n    evpn: {enable: 'on'}\n    evpn: {enable: 'off'}\n", "does not load: "),
        ("", "has no `set`"),
        ("- header: {}\n", "has no `set`"),
        ("- set: {}\n- set: {}\n", "has more than one `set`"),
        ("- unset: {}\n- set: {}\n", "has `unset` where only `header` and `set` can be"),
        ("[1]", "is not a list of maps with `header` and `set`"),
        (
            &set("{acl: {a: {rule: {'10': {action: {permit: {}}}, 10: {action: {deny: {}}}}}}}"),
            "/acl/a/rule/10: is there twice",
        ),
        (&set("{evpn: {enable: }}"), "/evpn/enable: is null: NVUE takes a value, or `{}` for a name alone"),
        (&set("{interface: {lo: ~}}"), "/interface/lo: is null: NVUE takes a value, or `{}` for a name alone"),
        (&set("{interface: {lo: [1]}}"), "/interface/lo: is a list, which NVUE has nowhere"),
    ] {
        let found = faults(text);
        assert!(found.first().is_some_and(|found| found.starts_with(fault)), "{text}: {found:?}");
    }
    let nothing = fs::read_to_string(repository().join("tests/fixtures/cases/replace-null-value.yaml")).unwrap();
    assert!(faults(&nothing)[0].contains("/route-import/from-vrf/list: is null"), "{:?}", faults(&nothing));
}

#[test]
fn keys_and_values_that_nvue_does_not_know_are_faults() {
    for (settings, fault) in [
        ("{evpn: {enabled: 'on'}}", "/evpn/enabled: no release of NVUE knows this key"),
        ("{evpn: {enable: 'yes'}}", "/evpn/enable: `yes` is not of type enum(on|off)"),
        (
            "{router: {bgp: {autonomous-system: 0}}}",
            "/router/bgp/autonomous-system: `0` is not of type integer[ge=1,le=4294967295]|enum(none)|enum(leaf|spine)",
        ),
        ("{interface: {lo: {ip: 10.0.0.1}}}", "/interface/lo/ip: `10.0.0.1` is not of type object"),
        ("{evpn: {enable: {}}}", "/evpn/enable: has names below it where a value of type enum(on|off) is"),
        (
            "{acl: {a: {type: ipv4, rule: {'1': {action: permit}}}}}",
            "/acl/a/rule/1/action: `permit` is not of type object",
        ),
        (
            "{acl: {a: {type: ipv4, rule: {'1': {match: {ip: {protocol: icmp6}}}}}}}",
            "/acl/a/rule/1/match/ip/protocol: `icmp6` is not of type integer[ge=0,le=255]|enum(tcp|udp|ospf|pim|icmp|icmpv6|igmp|vrrp)",
        ),
        (
            "{evpn: {state: enabled}}",
            "/evpn/state: only releases from 5.15 on know this key, and HBN is built on older ones",
        ),
        (
            "{acl: {a: {rule: {'1': {match: {ip: {dest-port: {'1': {}}, tcp: {dest-port: {'1': {}}}}}}}}}}",
            "/acl/a/rule/1/match/ip/tcp/dest-port: no release of NVUE knows this key together with those before it",
        ),
    ] {
        assert!(faults(&set(settings)).contains(&fault.to_owned()), "{settings}: {:?}", faults(&set(settings)));
    }
}

#[test]
fn what_only_hbn_has_passes() {
    let settings = "{system: {reflexive-acl: {enable: 'on'}}, acl: {a: {type: ipv4, rule: {'1': {hw-offload: 'off', \
                    match: {conntrack: {new: {}, established: {}}}, action: {permit: {}}}}}}}";
    assert_eq!(faults(&set(settings)), Vec::<String>::new());
    let settings = "{system: {reflexive-acl: {enable: maybe}}}";
    assert_eq!(faults(&set(settings)), ["/system/reflexive-acl/enable: `maybe` is not of type enum(on|off)"]);
}

#[test]
fn names_that_nobody_defines_are_faults() {
    for (settings, fault) in [
        ("{interface: {swp1: {ip: {vrf: RED}}}}", "/interface/swp1/ip/vrf: no VRF `RED` is defined"),
        ("{interface: {swp1: {acl: {a: {inbound: {}}}}}}", "/interface/swp1/acl/a: no access list `a` is defined"),
        (
            "{vrf: {default: {router: {bgp: {neighbor: {p0_if: {peer-group: hbn}}}}}}}",
            "/vrf/default/router/bgp/neighbor/p0_if/peer-group: no peer group `hbn` is defined",
        ),
        (
            "{vrf: {RED: {router: {bgp: {address-family: {ipv4-unicast: {route-import: {from-vrf: {list: {BLUE: {}}}}}}}}}}}",
            "/vrf/RED/router/bgp/address-family/ipv4-unicast/route-import/from-vrf/list/BLUE: no VRF `BLUE` is defined",
        ),
        (
            "{router: {policy: {route-map: {m: {rule: {'1': {match: {ip-prefix-list: l}}}}}}}}",
            "/router/policy/route-map/m/rule/1/match/ip-prefix-list: no prefix list `l` is defined",
        ),
        ("{evpn: {vni: {'10': {}}}}", "/evpn/vni/10: no VNI of a bridge `10` is defined"),
        (
            "{bridge: {domain: {br_default: {vlan: {'1': {vni: {'10': {}}}, '2': {vni: {'10': {}}}}}}}}",
            "/bridge/domain/br_default/vlan/2/vni/10: another VLAN has this VNI too",
        ),
        (
            "{bridge: {domain: {br_default: {vlan: {'1': {vni: {'10': {}, '11': {}}}}}}}}",
            "/bridge/domain/br_default/vlan/1/vni: a VLAN can have one VNI only",
        ),
        (
            "{bridge: {domain: {br_default: {vlan: {'1': {vni: {'10': {}}}}}}}, vrf: {RED: {evpn: {vni: {'10': {}}}}}}",
            "/vrf/RED/evpn/vni/10: a VLAN of a bridge has this VNI too",
        ),
    ] {
        assert_eq!(faults(&set(settings)), [fault], "{settings}");
    }
}

#[test]
fn the_compact_schema_is_that_of_the_published_keys() {
    let matrix = fs::read_to_string(repository().join("tests/fixtures/nvue_schema/nvue_keys_matrix.tsv")).unwrap();
    let compact = compact(&matrix);
    let place = repository().join("agent/src/lint/schema.txt");
    if fs::read_to_string(&place).unwrap_or_default() != compact {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema.txt");
        fs::write(&new, compact).unwrap();
        panic!("{} is not made of nvue_keys_matrix.tsv; copy {} there", place.display(), new.display());
    }
}

#[derive(Default)]
struct Key {
    /// First and last release.
    releases: Option<(u32, u32)>,
    kind: String,
    children: BTreeMap<String, Key>,
}

/// The matrix in the form that the lint reads, see `lint/schema.rs`.
fn compact(matrix: &str) -> String {
    let mut root = Key { kind: "object".into(), ..Key::default() };
    for row in matrix.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = row.split('\t').collect();
        let minor = |text: &str| text.split('.').nth(1).unwrap().parse::<u32>().unwrap();
        let key = columns[0].split('/').skip(1).fold(&mut root, |key, name| {
            // What users choose has many names in the matrix, which say nothing.
            let name = if name.starts_with('{') { "{}" } else { name };
            key.children.entry(name.into()).or_default()
        });
        let (first, last) = (minor(columns[1]), minor(columns[2]));
        let (earlier_first, earlier_last) = key.releases.unwrap_or((first, last));
        key.releases = Some((first.min(earlier_first), last.max(earlier_last)));
        let kind = without_patterns(columns[4]);
        if key.kind.is_empty() {
            key.kind = kind;
        } else if key.kind != kind {
            key.kind = format!("{}|{kind}", key.kind);
        }
    }
    let mut lines = BTreeMap::new();
    let mut text = String::new();
    write_key(&root, &mut lines, &mut text);
    text
}

/// Writes what is below a key, then the key, unless an equal one is there; gives its line, from 0.
fn write_key(key: &Key, lines: &mut BTreeMap<String, usize>, text: &mut String) -> usize {
    let mut line = key.kind.clone();
    for (name, child) in &key.children {
        let number = write_key(child, lines, text);
        write!(line, "\t{name}:{number}").unwrap();
        match child.releases {
            Some((0, 18)) | None => {}
            Some((first, last)) => write!(line, ":{first}-{last}").unwrap(),
        }
    }
    if let Some(number) = lines.get(&line) {
        return *number;
    }
    writeln!(text, "{line}").unwrap();
    lines.insert(line, lines.len());
    lines.len() - 1
}

/// Patterns are not checked, and their brackets would be in the way: of such a string only the least length is kept.
fn without_patterns(kind: &str) -> String {
    let Some(start) = kind.find("string[").filter(|_| kind.contains("pattern=")) else { return kind.into() };
    let string = if kind.contains("min_length=1") { "string[min_length=1]" } else { "string" };
    let others = kind.rfind("]|").map_or("", |end| &kind[end + 1..]);
    let others = if others.contains("pattern=") { "" } else { others };
    format!("{}{string}{others}", &kind[..start])
}
