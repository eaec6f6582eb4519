//! Templates that would hang, fill or end the agent: what runs stays, and a host is cut off all the same.

use std::{fs, process::Command, time::Duration};

use tonic::Code;

use super::{
    controller::{Controller, admin},
    dpu::Dpu,
    process::program,
};

/// A DPU that runs V1, with one template of the operator's, and what it runs.
async fn with_template(file: &str, write: impl FnOnce(&std::path::Path)) -> (Controller, Dpu, String) {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    dpu.agent().pass().await;
    let path = dpu.path().join("templates").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    write(&path);
    let runs = dpu.read("applied").unwrap();
    (controller, dpu, runs)
}

fn is_cut_off(dpu: &Dpu) -> bool {
    !dpu.read("applied").unwrap().contains("198.51.100") && dpu.read("served").is_none()
}

#[tokio::test(flavor = "current_thread")]
async fn hostile_templates_change_nothing_and_never_keep_a_host_from_being_cut_off() {
    let nested = |tag: &str, times: usize| format!("{}x", tag.repeat(times));
    let cases: [(&str, String, &str); 8] = [
        (
            "loops over ranges",
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}".into(),
            "fuel",
        ),
        (
            "a loop that prints",
            "{% for a in range(9999) %}{% for b in range(9999) %}evpn enable = on\n{% endfor %}{% endfor %}".into(),
            "",
        ),
        ("brackets", format!("{{{{ {}1{} }}}}", "(".repeat(900), ")".repeat(900)), ""),
        ("a long sum", format!("{{{{ 1{} }}}}", "+1".repeat(20_000)), "a tag is longer than 2000 bytes"),
        ("a tag without an end", format!("{{{{ 1{}", "+1".repeat(20_000)), "a tag is longer than 2000 bytes"),
        ("nested blocks", nested("{% if true %}", 20_000), ""),
        ("a recursive macro", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".into(), ""),
        ("a large file", "x".repeat(2 << 20), "more than 1048576 bytes"),
    ];
    for (case, text, words) in cases {
        let (controller, dpu, runs) =
            with_template("nvue/isolated.nv.j2", |path| fs::write(path, &text).unwrap()).await;
        let mut agent = dpu.agent_with(|it| it.templates.dir = Some(dpu.path().join("templates")));
        agent.pass().await;
        assert_eq!(dpu.read("applied").unwrap(), runs, "{case}");
        controller.fails(Code::NotFound);
        agent.pass().await;
        assert!(is_cut_off(&dpu), "{case}");
        let error = agent::StatusFile::read(&dpu.path().join("state")).unwrap().error.unwrap();
        assert!(error.contains("nvue/isolated.nv.j2") && error.contains(words), "{case}: {error}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_fifo_is_no_template() {
    let fifo = |path: &std::path::Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let (controller, dpu, runs) = with_template("nvue/isolated.nv.j2", fifo).await;
    let mut agent = dpu.agent_with(|it| it.templates.dir = Some(dpu.path().join("templates")));
    agent.pass().await;
    assert_eq!(dpu.read("applied").unwrap(), runs);
    controller.fails(Code::NotFound);
    agent.pass().await;
    assert!(is_cut_off(&dpu));
    let error = agent::StatusFile::read(&dpu.path().join("state")).unwrap().error.unwrap();
    assert!(error.contains("isolated.nv.j2: cannot be read: it is no regular file"), "{error}");
}

/// What takes all memory ends the agent, as nothing in it could keep that from happening: once.
#[tokio::test(flavor = "current_thread")]
async fn templates_that_end_the_agent_end_it_once() {
    let doubled = format!("{{% set s0 = 'xxxxxxxx' %}}{}", {
        let double = |n: usize| format!("{{% set s{n} = s{0} ~ s{0} %}}", n - 1);
        (1..50).map(double).collect::<String>()
    });
    let (controller, dpu, _) = with_template("nvue/isolated.nv.j2", |path| fs::write(path, &doubled).unwrap()).await;
    controller.fails(Code::NotFound);
    let config = format!("{}\n[templates]\ndir = \"{}/templates\"\n", dpu.settings_text(), dpu.path().display());
    fs::write(dpu.path().join("config.toml"), config).unwrap();
    let mut ended = 0;
    for _ in 0..4 {
        let mut child = program(&dpu, &["run"]).stderr(std::process::Stdio::null()).spawn().unwrap();
        // As a service manager would start it again.
        match tokio::time::timeout(Duration::from_secs(5), child.wait()).await {
            Ok(status) => {
                assert!(!status.unwrap().success());
                ended += 1;
            }
            Err(_) => break,
        }
    }
    assert_eq!(ended, 1, "the second agent does without those templates");
    assert!(is_cut_off(&dpu));
    let error = agent::StatusFile::read(&dpu.path().join("state")).unwrap().error.unwrap();
    assert!(error.contains("the agent ended while it rendered these"), "{error}");
}
