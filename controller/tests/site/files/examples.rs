//! The example files that operators start from are right.

use std::path::Path;

use controller::{Config, SiteFile, check_hosts};

#[test]
fn the_example_site_file_is_taken() {
    let file = SiteFile::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("site.example.yaml")).unwrap();
    assert_eq!(file.network.unwrap().admin.vlan, 16);
    let hosts = check_hosts(&file.hosts, &"Created".into()).unwrap();
    assert_eq!((hosts.len(), hosts[0].dpus.len(), hosts[0].state.as_str()), (1, 1, "Created"));
}

#[test]
fn the_example_config_is_taken() {
    let config = Config::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("site-controller.example.toml")).unwrap();
    assert_eq!(config.listen.port(), 1079);
    assert!(config.site_file.unwrap().is_absolute());
}
