//! `dpu-agent render`: what people and scripts see.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use agent::render::Templates;

fn fixture(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/nvue").join(name);
    path.to_string_lossy().into_owned()
}

fn render(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dpu-agent")).arg("render").args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = render(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = render(arguments);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn only_nvue_is_the_file_alone() {
    let text = printed(&[&fixture("docs_example_etv.input.json"), "--only", "nvue"]);
    assert!(text.starts_with("- header:\n    model: VX\n"), "{text}");
    let document: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let set = &document[1]["set"];
    assert_eq!(set["interface"]["pf0hpf_if"]["bridge"]["domain"]["br_default"]["access"], 16);
    assert!(set["interface"]["pf0dpu1_if"]["ip"]["address"]["169.254.169.253/30"].is_mapping());
}

#[test]
fn uplinks_and_metadata_interface_are_those_asked_for() {
    let name = fixture("docs_example_etv.input.json");
    let text = printed(&[&name, "--only", "nvue", "--uplink", "p7_if", "--metadata-interface", "none"]);
    let document: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let interfaces = document[1]["set"]["interface"].as_mapping().unwrap();
    let names: Vec<_> = interfaces.keys().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names, ["lo", "p7_if", "pf0hpf_if", "vlan16"]);
}

#[test]
fn all_files_are_printed_with_names_or_written_out() {
    let dir = tempfile::tempdir().unwrap();
    let name = fixture("docs_example_etv.input.json");
    let text = printed(&[&name]);
    printed(&[&name, "--out", dir.path().to_str().unwrap()]);
    let nvue = std::fs::metadata(dir.path().join("nvue_startup.yaml")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&nvue.permissions());
    assert_eq!(mode & 0o777, 0o600, "it may hold a password");
    let written = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let expected = format!(
        "# ==> nvue_startup.yaml\n{}# ==> kea-dhcp4.conf\n{}",
        written("nvue_startup.yaml"),
        written("kea-dhcp4.conf")
    );
    assert_eq!(text, expected);
    assert_eq!(written("kea-dhcp4.conf"), printed(&[&name, "--only", "dhcp"]));
}

#[test]
fn an_isolated_dpu_keeps_its_underlay_and_nothing_of_the_host() {
    let text = printed(&["--isolated", &fixture("nvue_startup_fnn_with_leaks.input.json"), "--only", "nvue"]);
    let document: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let set = &document[1]["set"];
    let port = &set["interface"]["pf0hpf_if"];
    assert!(port["link"]["state"]["down"].is_mapping());
    assert!(port.get("bridge").is_none() && port.get("ip").is_none());
    let vrfs: Vec<_> = set["vrf"].as_mapping().unwrap().keys().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(vrfs, ["default"]);
    let bgp = &set["vrf"]["default"]["router"]["bgp"];
    let underlay = &bgp["peer-group"]["underlay"]["address-family"]["ipv4-unicast"];
    assert_eq!(underlay["policy"]["outbound"]["prefix-list"], "OWN_LOOPBACK");
    assert!(underlay.get("redistribute").is_none());
    let peers: Vec<_> = bgp["neighbor"].as_mapping().unwrap().keys().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(peers, ["p0_if", "p1_if"]);
    assert!(set.get("bridge").is_none() && set.get("evpn").is_none() && set.get("nve").is_none());
    // A DPU that never had a configuration has no underlay to keep.
    let blank = printed(&["--isolated", "--only", "nvue"]);
    assert!(!blank.contains("bgp") && blank.contains("pf0hpf_if"), "{blank}");
}

#[test]
fn faults_name_the_field() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("response.json");
    let text = fs::read_to_string(fixture("docs_example_etv.input.json")).unwrap();
    for (from, to, fault) in [
        (
            "\"192.168.98.1/26\"",
            "\"192.168.98.1/99\"",
            "tenant_interfaces[0].gateway is \"192.168.98.1/99\", not an IPv4 prefix",
        ),
        ("\"192.168.96.36\"", "\"\"", "managed_host_config.loopback_ip is missing: it must be an IPv4 address"),
        ("\"vlan_id\": 16", "\"vlan_id\": 4095", "tenant_interfaces[0].vlan_id is 4095, not a VLAN, 1 to 4094"),
        (
            "\"vpc_isolation_behavior\": 2",
            "\"vpc_isolation_behavior\": 0",
            "vpc_isolation_behavior is 0, neither OPEN (1) nor MUTUAL (2)",
        ),
        (
            "\"network_virtualization_type\": 2",
            "\"network_virtualization_type\": 6",
            "network_virtualization_type is FLAT, which no DPU is configured for",
        ),
        (
            "\"network_virtualization_type\": 2",
            "\"network_virtualization_type\": 1",
            "network_virtualization_type is 1, which this agent does not know",
        ),
        (
            "\"V3-T1733950583707475\"",
            "\"3\"",
            "managed_host_config_version is \"3\", not a config version, V<number>-T<microseconds>",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replace(from, to)).unwrap();
        let error = refused(&[path.to_str().unwrap()]);
        assert!(error.contains(fault), "{error}");
    }
}

/// The templates as shipped, in a directory, with one changed.
fn changed(name: &str, from: &str, to: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    printed(&["--save-templates", dir.path().to_str().unwrap()]);
    let path = dir.path().join(name);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{name} has no {from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
    dir
}

#[test]
fn templates_of_a_directory_are_used_and_their_faults_are_located() {
    let response = fixture("docs_example_etv.input.json");
    let dir = changed("nvue/base.nv.j2", "source address = {{ loopback }}", "source address = 10.99.99.99");
    let text = printed(&[&response, "--only", "nvue", "--templates", dir.path().to_str().unwrap()]);
    assert!(text.contains("address: 10.99.99.99\n"), "{text}");

    for (name, from, to, fault) in [
        (
            "nvue/base.nv.j2",
            "autonomous-system = {{ asn }}",
            "autonomous-system = {{ asnn }}",
            "template nvue/base.nv.j2, line 28: undefined value: `asnn` is undefined",
        ),
        (
            "nvue/etv.nv.j2",
            "{{ port.svi }}]",
            "{{ port.swi }}]",
            "template nvue/etv.nv.j2, line 14: undefined value: `port.swi` is undefined",
        ),
        (
            "nvue/etv.nv.j2",
            "{% if port.vni %}",
            "{% if port.vni",
            "template nvue/etv.nv.j2, line 9: syntax error: unexpected identifier, expected end of block",
        ),
        (
            "nvue/base.nv.j2",
            "evpn enable = on",
            "evpn enable = on\nevpn enable = off",
            "template nvue/base.nv.j2, line 3: `evpn enable = off`: an earlier line says `on` here",
        ),
        (
            "nvue/base.nv.j2",
            "evpn enable = on",
            "evpn enabled = on",
            "template nvue/base.nv.j2, line 2: /evpn/enabled: no release of NVUE knows this key",
        ),
        (
            "dhcp/kea-dhcp4.json.j2",
            "\"authoritative\": true,",
            "\"authoritative\": true",
            "template dhcp/kea-dhcp4.json.j2, line +1: does not render to JSON: expected `,` or `}`\n",
        ),
        (
            "nvue/base.nv.j2",
            "evpn enable = on",
            "{% for a in range(20000) %}{% for b in range(20000) %}\nevpn enable = on\n{% endfor %}{% endfor %}",
            "template nvue/etv.nv.j2: renders to more than 32 MiB",
        ),
        (
            "nvue/macros.nv.j2",
            "timers hold = 9",
            "timers hold = nine",
            "template nvue/macros.nv.j2, line +0: /vrf/default/router/bgp/peer-group/tenant/timers/hold: `nine` is not of type",
        ),
        (
            "nvue/base.nv.j2",
            "peer-group = underlay",
            "peer-group = overlay",
            "line 58: /vrf/default/router/bgp/neighbor/p0_if/peer-group: no peer group `overlay` is defined; template nvue/base",
        ),
        (
            "dhcp/kea-dhcp4.json.j2",
            "\"authoritative\": true,\n",
            "\"authoritative\": true,\n{%- if networks %}\n, \"x\": nil\n{%- endif %}\n",
            "template dhcp/kea-dhcp4.json.j2, line +2: does not render to JSON: key must be a string\n",
        ),
    ] {
        let dir = changed(name, from, to);
        let error = refused(&[&response, "--templates", dir.path().to_str().unwrap()]);
        // `line +1` is the line behind that of `from`.
        let (_, shipped) = Templates::shipped().find(|(shipped, _)| *shipped == name).unwrap();
        let from = shipped[..shipped.find(from).unwrap()].matches('\n').count() + 1;
        let fault = (0..3).fold(fault.to_owned(), |fault, more| {
            fault.replace(&format!("line +{more}:"), &format!("line {}:", from + more))
        });
        assert!(error.contains(&fault), "{fault}\n{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("nvue")).unwrap();
    fs::write(dir.path().join("nvue/evt.nv.j2"), "").unwrap();
    let error = refused(&[&response, "--templates", dir.path().to_str().unwrap()]);
    assert!(error.contains("template nvue/evt.nv.j2: no template has this name; known are nvue/etv.nv.j2"), "{error}");
}

/// Places in a template that a password must not come out of, whatever the fault is.
#[test]
fn no_fault_tells_a_password() {
    let response = fixture("nvue_startup_fnn_with_leaks.input.json");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("response.json");
    let place = "password = {{ password }}";
    for secret in ["hunter22", "hunter22 #=[", "hunter22\\\"\u{e9}", &format!("hunter22{}", "x".repeat(300))] {
        let mut value: serde_json::Value = serde_json::from_str(&fs::read_to_string(&response).unwrap()).unwrap();
        value["bgp_leaf_session_password"] = secret.into();
        fs::write(&path, value.to_string()).unwrap();
        for (odd, fault) in [
            (
                "password = {{ password }}\npassword = {{ asn }}",
                "`password …`: an earlier line sets another value here",
            ),
            ("remote-as = {{ password }}", "`remote-as = ********`: an earlier line says `external` here"),
            ("{{ password }} = {{ password }}", "/********: no release of NVUE knows this key"),
            (
                "[vrf {{ password }} router bgp]\nenabled = on",
                "/vrf/********/router/bgp/enabled: no release of NVUE knows",
            ),
            ("local-as asn = {{ password }}", "`********` is not of type"),
            ("{{ password }} {{ password }} ]", "`******** ******** ]`: `[` and `]` belong around a header only"),
            ("{{ password|upper }} = {{ password|reverse }} x", "`******** = ******** x`: more stands behind the end"),
            ("{{ password|int }}", "line 72: invalid operation: "),
            ("{{ password }}{{ password.more }}", "undefined value: `password.more` is undefined"),
            ("{{ password|safe }} #", "no release of NVUE knows this key"),
            ("{{ password|safe }} = a b", "more stands behind the end of the statement"),
            (
                "{% if password != \"********\" %}{{ password }} = {{ password }} x{% endif %}",
                "this bgp_leaf_session_password does not fit",
            ),
            ("{% include password %}", "template not found"),
        ] {
            let dir = changed("nvue/base.nv.j2", place, odd);
            let error =
                refused(&[path.to_str().unwrap(), "--only", "nvue", "--templates", dir.path().to_str().unwrap()]);
            assert!(error.contains(fault), "{odd}\n{error}");
            for form in ["hunter22", "HUNTER22", "22retnuh", "unter"] {
                assert!(!error.contains(form), "{odd}\n{error}");
            }
        }
        let dir =
            changed("nvue/isolated.nv.j2", "password = {{ underlay.password }}", "remote-as = {{ underlay.password }}");
        let error = refused(&["--isolated", path.to_str().unwrap(), "--templates", dir.path().to_str().unwrap()]);
        assert!(error.contains("`remote-as = ********`") && !error.contains("hunter22"), "{error}");
    }
}

#[test]
fn unknown_template_names_are_shown_for_every_template() {
    let response = fixture("docs_example_etv.input.json");
    for (name, from, to, note) in [
        ("nvue/etv.nv.j2", "{% for port", "{% for port", ""),
        (
            "nvue/macros.nv.j2",
            "{% macro host_neighbor(vrf, address, group) %}",
            "{% macro unused(vrf) %}\nvrf {{ vrf }} {{ colour }}\n{% endmacro %}{% macro host_neighbor(vrf, address, group) %}",
            "note: template nvue/macros.nv.j2 names `colour`, which templates are not given; only one that includes it can define it\n",
        ),
        (
            "dhcp/dhcpd.conf.j2",
            "{% for",
            "{% if hosts and colours %}{% endif %}{% for",
            "note: template dhcp/dhcpd.conf.j2 names `colours`, which templates are not given; only one that includes it can define it\n",
        ),
    ] {
        let dir = changed(name, from, to);
        let output = render(&[&response, "--templates", dir.path().to_str().unwrap()]);
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stderr).unwrap(), note);
    }
}

#[test]
fn a_configuration_says_what_no_option_says() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    fs::write(
        &file,
        "controller = \"http://127.0.0.1:1\"\n\
         machine_id = \"fm100ds0123456789abcdefghijklmnopqrstuv0123456789abcdefghij\"\n\
         [hbn]\nuplinks = [\"p8_if\"]\nmetadata_interface = \"none\"\n\
         [dhcp]\nserver = \"dhcpd\"\nnameservers = [\"192.0.2.53\"]\n",
    )
    .unwrap();
    let name = fixture("docs_example_etv.input.json");
    let of_the_file = ["--config", file.to_str().unwrap(), &name];
    let text = printed(&of_the_file);
    assert!(text.contains("# ==> dhcpd.conf") && text.contains("domain-name-servers 192.0.2.53;"), "{text}");
    assert!(text.contains("p8_if:") && !text.contains("pf0dpu1_if"), "{text}");
    let text = printed(&[&of_the_file[..], &["--uplink", "p9_if", "--nameserver", "192.0.2.54"]].concat());
    assert!(text.contains("p9_if:") && !text.contains("p8_if"), "{text}");
    assert!(text.contains("domain-name-servers 192.0.2.54;"), "{text}");
}
