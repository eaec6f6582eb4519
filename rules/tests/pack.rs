//! The shipped pack loads without a fault, and all its guards are native.

use std::path::Path;

#[test]
fn the_shipped_pack_loads() {
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("managed_host");
    if let Err(faults) = rules::load_pack(&pack) {
        panic!("{faults}");
    }
}
