//! `sitectl address`.

use std::time::SystemTime;

use proto::site::{Address, ListAddressesRequest, ReleaseAddressRequest};

use crate::{
    connect::Controller,
    failure::Failure,
    output::{Format, ago, table},
};

#[derive(clap::Subcommand)]
pub(crate) enum AddressCommand {
    /// Every address, its pool and its owner; `forgotten` stands with those that `release` is for
    List,
    /// Frees an address whose owner the site has forgotten; be sure that nothing uses it any more
    Release {
        /// The address
        address: String,
    },
}

pub(crate) async fn run(
    command: AddressCommand,
    mut controller: Controller,
    format: Format,
) -> Result<String, Failure> {
    let failure = controller.failure();
    if let AddressCommand::Release { address } = command {
        let text = format!("{address} is free");
        controller.site.release_address(ReleaseAddressRequest { address }).await.map_err(failure)?;
        return format.answer(&serde_json::json!({}), |_| text);
    }
    let answer = controller.site.list_addresses(ListAddressesRequest {}).await.map_err(failure)?.into_inner();
    let now = SystemTime::now();
    let owner = |given: &Address| match given.forgotten_at.as_str() {
        "" => given.owner.clone(),
        at => format!("{}, forgotten {}", given.owner, ago(at, now)),
    };
    let row = |given: &Address| [given.address.clone(), given.pool.clone(), owner(given), ago(&given.since, now)];
    format.answer(&answer, |answer| {
        table(["ADDRESS", "POOL", "OWNER", "SINCE"], answer.addresses.iter().map(row).collect(), "no addresses")
    })
}
