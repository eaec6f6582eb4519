//! What tests and the demo expect of a site that runs, and how long they wait for it.

use anyhow::{Context as _, Result};
use proto::{forge::Instance, site::DpuStatus};

use super::{DpuPlan, HostPlan, Site};
use crate::{HostSide, Revisions, Tree};

/// Seconds that a site on a busy machine may take for anything.
pub const SECS: f64 = 40.0;

impl HostPlan {
    /// The DPU that the host boots over.
    ///
    /// # Errors
    /// If the plan gave it none.
    pub fn primary(&self) -> Result<&DpuPlan> {
        self.dpus.first().with_context(|| format!("{} has no DPU", self.name))
    }
}

impl Site {
    /// The first host, once it is free and its DPUs run what they should.
    ///
    /// # Errors
    /// If it does not come so far: where it is and why.
    pub async fn ready_host(&self) -> Result<HostPlan> {
        let host = self.host(0)?;
        self.reaches(&host, "Ready", SECS).await?;
        self.dpus_ready(&host, SECS).await?;
        Ok(host)
    }

    /// An instance on a host, in a VPC of its own, that is asked for and no more.
    ///
    /// # Errors
    /// What the controller says.
    pub async fn rent(&self, host: &HostPlan) -> Result<Instance> {
        let vpc = self.create_vpc("blue", &["10.20.0.0/24"]).await?;
        let prefix = vpc.prefixes.first().context("a VPC without prefix")?;
        self.create_instance(host, "web", &[&prefix.id]).await
    }

    /// What NVUE runs on a DPU.
    ///
    /// # Errors
    /// If the DPU's files cannot be read.
    pub fn runs(&self, dpu: &DpuPlan) -> Result<Tree> {
        Revisions::open(&self.dpu(dpu)?)?.running()
    }

    /// What the host behind a DPU sees of the network.
    ///
    /// # Errors
    /// If the DPU's files cannot be read.
    pub fn host_side(&self, dpu: &DpuPlan) -> Result<HostSide> {
        Ok(HostSide::of(&self.runs(dpu)?))
    }
}

/// Whether a DPU runs what it should, by its own report, and is healthy.
#[must_use]
pub fn is_current(dpu: &DpuStatus) -> bool {
    dpu.healthy
        && is_acknowledged(dpu)
        && dpu.applied_instance_network_config_version == dpu.desired_instance_network_config_version
}

/// Whether a DPU has acknowledged its host's network.
#[must_use]
pub fn is_acknowledged(dpu: &DpuStatus) -> bool {
    dpu.applied_network_config_version == dpu.desired_network_config_version
        && !dpu.applied_network_config_version.is_empty()
}
