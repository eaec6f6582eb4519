//! The agent's BGP health against FRR: a DPU, two ToR switches and a route server in network namespaces.

use tests::real::{Fabric, Part, missing};

#[test]
fn needs_frr_fabric_comes_up() {
    if missing(&[Part::Namespaces, Part::Frr]) {
        return;
    }
    let mut fabric = Fabric::up();
    println!("{}", fabric.dpu.vtysh(&["show bgp summary"]));
    fabric.lose_tor(0);
    fabric.return_tor(0);
    println!("{}", fabric.dpu.vtysh(&["show bgp summary"]));
}
