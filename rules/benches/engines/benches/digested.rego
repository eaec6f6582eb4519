package gate

import rego.v1

default decision := "go"

decision := "go" if input.deletion_requested
else := "managed_host_config_synced" if input.network_outdated
else := "other_nics_synced" if not input.other_nics_synced
else := "instance_config_synced" if input.instance_outdated
else := "no_blocking_health" if input.blocked
else := "primary_p0_ready" if input.uplink_down
else := "fabrics_synced" if not input.fabrics_synced
