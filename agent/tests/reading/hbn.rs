//! What tells of the HBN container: `crictl`, `supervisorctl`, `uptime`.

use agent::parse::{containers, df, fdb, image_tags, images, links, privilege_level, running, supervisorctl};

use super::{case, fixture};

#[test]
fn services_are_read_and_a_silent_supervisor_is_a_fault() {
    let programs = supervisorctl(&case("supervisorctl-status.txt")).unwrap();
    let state = |name: &str| programs.iter().find(|it| it.name == name).map(|it| it.state.as_str());
    for (name, wanted) in [
        ("frr", Some("BACKOFF")),
        ("nl2doca", Some("STARTING")),
        ("nvued", Some("FATAL")),
        ("frr-reload", Some("STOPPED")),
        ("ifreload", Some("EXITED")),
        ("rsyslog", Some("RUNNING")),
        ("nobody", None),
    ] {
        assert_eq!(state(name), wanted, "{name}");
    }
    let fault = supervisorctl(&case("supervisorctl-refused.txt")).unwrap_err();
    assert_eq!(fault.found, "unix:///var/run/supervisor.sock refused connection");
    assert!(supervisorctl("").is_err());
    assert_eq!(supervisorctl(&fixture("commands/supervisorctl_status.txt")).unwrap().len(), 13);
}

#[test]
fn the_container_of_hbn_is_the_running_attempt() {
    for (name, wanted) in [
        ("cases/crictl-restarting.json", None),
        ("cases/crictl-two-attempts.json", Some("3333")),
        ("cases/crictl-none.json", None),
        ("commands/crictl_ps_doca_hbn.json", Some("f11d")),
        ("commands/crictl_ps_all.json", Some("2612")),
    ] {
        let all = containers(&fixture(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let id = running(&all, "doca-hbn").and_then(|container| container.id.get(..4));
        assert_eq!(id, wanted, "{name}");
    }
}

#[test]
fn the_tag_of_an_image_is_found_by_id_or_in_its_name() {
    let images = images(&fixture("commands/crictl_images.json")).unwrap();
    assert_eq!(images.len(), 3);
    let mut container = containers(&fixture("commands/crictl_ps_all.json")).unwrap().remove(0);
    for (image, wanted) in [
        (container.image.clone(), &["2.3.0-doca2.8.0"][..]),
        ("nvcr.io:5000/nvidia/doca/doca_hbn:3.2.0".to_owned(), &["3.2.0"]),
        ("nvcr.io:5000/nvidia/doca/doca_hbn".to_owned(), &[]),
        (String::new(), &[]),
    ] {
        container.image = image;
        assert_eq!(image_tags(&container, &images).collect::<Vec<_>>(), wanted);
    }
    assert!(agent::parse::images("time=\"now\" level=fatal msg=\"connect: no such file\"").is_err());
}

#[test]
fn disks_are_read_with_their_whole_mount_point() {
    let systems = df(&fixture("commands/df_HP.txt")).unwrap();
    let root = systems.iter().find(|system| system.mount == "/").unwrap();
    assert_eq!((root.device.as_str(), root.used_percent), ("/dev/mmcblk0p2", Some(31)));
    let odd = df("Filesystem Size Used Avail Use% Mounted on\nnone 0 0 0 - /my disk\n").unwrap();
    assert_eq!((odd[0].used_percent, odd[0].mount.as_str()), (None, "/my disk"));
    let share = "Filesystem Size Used Avail Use% Mounted on\n\
        //srv/my share 2024 41G  12G   27G  31% /mnt/my disk\n/dev/a 41G 12G -27G 31% /\n";
    let read = df(share).unwrap();
    let columns = |at: usize| (read[at].device.as_str(), read[at].used_percent, read[at].mount.as_str());
    assert_eq!(columns(0), ("//srv/my share 2024", Some(31), "/mnt/my disk"));
    assert_eq!(columns(1), ("/dev/a", Some(31), "/"));
    for text in ["", "df: /: I/O error", "Filesystem Size\n/dev/x 1 2\n"] {
        assert!(df(text).is_err(), "{text}");
    }
}

#[test]
fn links_and_macs_are_read() {
    let p0 = links(&fixture("commands/ip_json_link_list_p0.json")).unwrap().remove(0);
    assert_eq!((p0.name.as_str(), p0.state.as_deref(), p0.mtu), ("p0", Some("UP"), Some(9216)));
    assert!(p0.flags.contains(&"LOWER_UP".to_owned()));
    let own = links(&fixture("commands/ip_j_address_show_pf0vf0_if_r.json")).unwrap().remove(0);
    assert_eq!(own.address.as_deref(), Some("4e:1f:bd:97:23:3e"));
    let entries = fdb(&fixture("bgp/hbn_bridge_fdb.json")).unwrap();
    assert_eq!(entries.len(), 138);
    let learned: Vec<_> = entries.iter().filter(|it| it.vlan == Some(21) && it.is_learned()).collect();
    assert_eq!(learned.len(), 2);
    assert!(learned.iter().any(|it| it.mac == "7e:f6:b2:b2:f0:97"));
}

#[test]
fn the_privilege_of_the_host_is_read() {
    assert_eq!(privilege_level(&fixture("commands/mlxprivhost_query.txt")).unwrap(), "RESTRICTED");
    assert!(privilege_level("nothing").is_err());
}
