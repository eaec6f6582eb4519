package gate

import rego.v1

default decision := "go"

decision := "go" if input.instance.deletion_requested
else := "managed_host_config_synced" if network_outdated
else := "other_nics_synced" if not input.host.other_nics_synced
else := "instance_config_synced" if instance_outdated
else := "no_blocking_health" if blocked
else := "primary_p0_ready" if uplink_down
else := "fabrics_synced" if not input.instance.infiniband_synced
else := "fabrics_synced" if not input.instance.nvlink_synced

network_outdated if count(input.dpus) < input.host.associated_dpus

network_outdated if {
	some dpu in input.dpus
	dpu.observed_network_version != dpu.desired_network_version
}

instance_outdated if {
	some dpu in input.dpus
	dpu.instance_observed != dpu.required_by_instance
}

instance_outdated if {
	some dpu in input.dpus
	dpu.instance_observed
	dpu.observed_instance_version != input.instance.network_version
}

blocked if {
	input.health.replace == null
	some dpu in input.dpus
	dpu.health.replace == null
	dpu.health.agent == null
}

blocked if {
	some report in host_reports
	some alert in report.alerts
	"PreventHostStateChanges" in alert.classifications
}

uplink_down if {
	some report in uplink_reports
	some alert in report.alerts
	alert.id == "BgpPeeringTor"
	"PreventAllocations" in alert.classifications
}

host_reports := [input.health.replace] if {
	input.health.replace != null
} else := array.concat(
	[report | some dpu in input.dpus; some report in dpu_reports(dpu)],
	[report | some report in input.health.merges],
)

uplink_reports := [input.health.replace] if {
	input.health.replace != null
} else := [report | some dpu in input.dpus; dpu.primary; some report in dpu_reports(dpu)]

dpu_reports(dpu) := [dpu.health.replace] if {
	dpu.health.replace != null
} else := array.concat([dpu.health.agent], [report | some report in dpu.health.merges])
