//! `sitectl instance`.

mod network;
mod view;

use std::time::Duration;

use proto::{common, forge, forge::TenantState, site};

use crate::{connect::Controller, failure::Failure, output::Format};
use network::NetworkArgs;
use view::View;

#[derive(clap::Subcommand)]
pub(crate) enum InstanceCommand {
    /// Gives a host to a tenant
    Create(Create),
    /// Changes the network of an instance while it runs
    Update {
        /// Id or name of the instance, or the name of its host
        instance: String,
        #[command(flatten)]
        network: NetworkArgs,
        /// Security group of its own, or `none`; stays as it is if left out
        #[arg(long)]
        security_group: Option<String>,
    },
    /// Takes the host back; its addresses are free once every DPU has let go of them
    Delete {
        /// Id or name of the instance, or the name of its host
        instance: String,
        /// Returns when the instance is gone
        #[arg(long)]
        wait: bool,
        /// Gives up waiting after this many seconds
        #[arg(long, default_value_t = 600)]
        timeout: u64,
    },
    /// One instance and its network
    Show {
        /// Id or name of the instance, or the name of its host
        instance: String,
        /// Returns when the instance is in this state
        #[arg(long, value_parser = state)]
        wait_for: Option<TenantState>,
        /// Gives up waiting after this many seconds
        #[arg(long, default_value_t = 600)]
        timeout: u64,
    },
    /// Every instance
    List,
}

#[derive(clap::Args)]
pub(crate) struct Create {
    /// Machine id or name of the host, or `any` for a host that is Ready
    #[arg(long)]
    host: String,
    #[command(flatten)]
    network: NetworkArgs,
    /// Security group of its own, in place of those of its VPCs
    #[arg(long)]
    security_group: Option<String>,
    /// Organization that gets the host; the VPC's if left out
    #[arg(long)]
    tenant: Option<String>,
    /// Host name the tenant sees
    #[arg(long)]
    hostname: Option<String>,
    /// Name of the instance
    #[arg(long, default_value = "")]
    name: String,
    /// Takes a host although an alert says that it should not be allocated
    #[arg(long)]
    allow_unhealthy: bool,
}

pub(crate) async fn run(
    command: InstanceCommand,
    mut controller: Controller,
    format: Format,
) -> Result<String, Failure> {
    match command {
        InstanceCommand::Create(create) => {
            let instance = create.run(&mut controller).await?;
            format.answer(&view(&mut controller, instance).await?, View::text)
        }
        InstanceCommand::Update { instance, network, security_group } => {
            let instance = find(&mut controller, &instance).await?;
            let failure = controller.failure();
            let (network, _) = network.resolve(&mut controller).await?;
            let mut config = instance.config.clone().unwrap_or_default();
            config.network = Some(network);
            if let Some(group) = security_group {
                config.network_security_group_id = Some(group).filter(|group| group != "none");
            }
            let request = forge::InstanceConfigUpdateRequest {
                instance_id: instance.id.clone(),
                if_version_match: Some(instance.config_version.clone()),
                config: Some(config),
                metadata: instance.metadata.clone(),
            };
            let updated = controller.forge.update_instance_config(request).await.map_err(failure)?.into_inner();
            format.answer(&view(&mut controller, updated).await?, View::text)
        }
        InstanceCommand::Delete { instance, wait, timeout } => {
            let found = find(&mut controller, &instance).await?;
            let failure = controller.failure();
            let request = forge::InstanceReleaseRequest { id: found.id.clone(), ..Default::default() };
            controller.forge.release_instance(request).await.map_err(failure)?;
            let id = found.id.unwrap_or_default();
            if wait {
                until(timeout, &format!("instance {} is still there", id.value), &mut controller, async |controller| {
                    Ok(by_id(controller, &id).await?.is_none().then_some(()))
                })
                .await?;
            }
            let said = if wait { "is deleted" } else { "is being deleted" };
            format.answer(&serde_json::json!({"id": id.value}), |_| format!("instance {} {said}", id.value))
        }
        InstanceCommand::Show { instance, wait_for, timeout } => {
            let found = find(&mut controller, &instance).await?;
            let Some(wanted) = wait_for else {
                return format.answer(&view(&mut controller, found).await?, View::text);
            };
            let id = found.id.unwrap_or_default();
            let missed = format!("instance {} is not {}", id.value, view::state_name(wanted));
            let reached = until(timeout, &missed, &mut controller, async |controller| {
                let Some(now) = by_id(controller, &id).await? else {
                    return Err(Failure::NotFound(format!("instance {} is gone", id.value)));
                };
                Ok((view::state_of(&now) == wanted).then_some(now))
            })
            .await?;
            format.answer(&view(&mut controller, reached).await?, View::text)
        }
        InstanceCommand::List => {
            let instances = all(&mut controller).await?;
            let hosts = hosts(&mut controller).await?;
            let views: Vec<View> = instances.into_iter().map(|instance| View::new(instance, &hosts)).collect();
            format.answer(&views, |views| view::list(views))
        }
    }
}

impl Create {
    async fn run(self, controller: &mut Controller) -> Result<forge::Instance, Failure> {
        let (network, owner) = self.network.resolve(controller).await?;
        let tenant = self.tenant.clone().unwrap_or(owner);
        let config = forge::InstanceConfig {
            tenant: Some(forge::TenantConfig {
                tenant_organization_id: tenant,
                hostname: self.hostname.clone(),
                ..Default::default()
            }),
            network: Some(network),
            network_security_group_id: self.security_group.clone(),
            ..Default::default()
        };
        let request = |machine_id: String| forge::InstanceAllocationRequest {
            machine_id: Some(common::MachineId { id: machine_id }),
            config: Some(config.clone()),
            metadata: Some(forge::Metadata { name: self.name.clone(), ..Default::default() }),
            allow_unhealthy_machine: self.allow_unhealthy,
            ..Default::default()
        };
        let failure = controller.failure();
        if self.host != "any" {
            let machine = controller.machine(&self.host).await?;
            let answer = controller.forge.allocate_instance(request(machine.to_string())).await;
            return Ok(answer.map_err(failure)?.into_inner());
        }
        // The controller has the last word on each host, so a race for one ends with the next.
        let mut refusals = Vec::new();
        for host in hosts(controller).await? {
            if host.state != "Ready" || !host.instance_id.is_empty() {
                continue;
            }
            match controller.forge.allocate_instance(request(host.machine_id)).await {
                Ok(answer) => return Ok(answer.into_inner()),
                Err(status) if status.code() == tonic::Code::FailedPrecondition => {
                    refusals.push(format!("{}: {}", host.name, status.message()));
                }
                Err(status) => return Err(failure(status)),
            }
        }
        Err(Failure::Refused(match refusals.as_slice() {
            [] => "no host is Ready and free".into(),
            some => format!("no Ready host is available: {}", some.join("; ")),
        }))
    }
}

/// Asks `step` until it has an answer or the time is up.
async fn until<T>(
    timeout: u64,
    missed: &str,
    controller: &mut Controller,
    step: impl AsyncFn(&mut Controller) -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    const PAUSE: Duration = Duration::from_millis(500);
    let polling = async {
        loop {
            if let Some(answer) = step(controller).await? {
                return Ok(answer);
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    match tokio::time::timeout(Duration::from_secs(timeout), polling).await {
        Ok(answer) => answer,
        Err(_) => Err(Failure::Refused(format!("{missed} after {timeout} s"))),
    }
}

async fn hosts(controller: &mut Controller) -> Result<Vec<site::HostSummary>, Failure> {
    let failure = controller.failure();
    let answer = controller.site.list_hosts(site::ListHostsRequest::default()).await.map_err(failure)?;
    Ok(answer.into_inner().hosts)
}

async fn view(controller: &mut Controller, instance: forge::Instance) -> Result<View, Failure> {
    Ok(View::new(instance, &hosts(controller).await?))
}

async fn by_ids(
    controller: &mut Controller,
    instance_ids: Vec<common::InstanceId>,
) -> Result<Vec<forge::Instance>, Failure> {
    let failure = controller.failure();
    let request = forge::InstancesByIdsRequest { instance_ids };
    Ok(controller.forge.find_instances_by_ids(request).await.map_err(failure)?.into_inner().instances)
}

async fn by_id(controller: &mut Controller, id: &common::InstanceId) -> Result<Option<forge::Instance>, Failure> {
    match by_ids(controller, vec![id.clone()]).await {
        Ok(instances) => Ok(instances.into_iter().next()),
        Err(Failure::NotFound(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn all(controller: &mut Controller) -> Result<Vec<forge::Instance>, Failure> {
    let failure = controller.failure();
    let filter = forge::InstanceSearchFilter::default();
    let ids = controller.forge.find_instance_ids(filter).await.map_err(failure)?.into_inner().instance_ids;
    // Asked for in portions, so that no answer grows with the site.
    let mut instances = Vec::with_capacity(ids.len());
    for portion in ids.chunks(100) {
        instances.extend(by_ids(controller, portion.to_vec()).await?);
    }
    Ok(instances)
}

/// An instance by its id, its name, or the name of its host.
async fn find(controller: &mut Controller, name: &str) -> Result<forge::Instance, Failure> {
    let missing =
        || Failure::NotFound(format!("no instance has the id or name `{name}`, and no host of that name has one"));
    if uuid::Uuid::try_parse(name).is_ok() {
        return by_id(controller, &common::InstanceId { value: name.to_owned() }).await?.ok_or_else(missing);
    }
    if let Some(host) =
        hosts(controller).await?.into_iter().find(|host| host.name == name && !host.instance_id.is_empty())
    {
        return by_id(controller, &common::InstanceId { value: host.instance_id }).await?.ok_or_else(missing);
    }
    let named = |instance: &forge::Instance| instance.metadata.as_ref().is_some_and(|metadata| metadata.name == name);
    let mut found: Vec<_> = all(controller).await?.into_iter().filter(named).collect();
    match (found.pop(), found.len()) {
        (Some(instance), 0) => Ok(instance),
        (Some(_), _) => Err(Failure::Refused(format!("several instances are named `{name}`; use an id"))),
        (None, _) => Err(missing()),
    }
}

fn state(text: &str) -> Result<TenantState, String> {
    TenantState::from_str_name(&text.to_uppercase()).ok_or_else(|| {
        "expected provisioning, ready, configuring, updating, terminating, repairing, failed or invalid".into()
    })
}
