//! When the host last asked for its address, from the files of the DHCP server. The report carries it.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use proto::{
    common::MachineInterfaceId,
    forge::{LastDhcpRequest, ManagedHostNetworkConfigResponse},
};

use crate::{
    config::DhcpSection,
    parse::{dhcp_timestamps, kea_leases},
    render::DhcpServer,
};

/// Most that is read of one file, from its end.
const MAX_TAIL: u64 = 1024 * 1024;

/// What to report; empty where nothing is recorded, or where the site does not say which interface it is about.
pub(crate) fn last_dhcp_requests(
    settings: &DhcpSection,
    desired: Option<&ManagedHostNetworkConfigResponse>,
) -> Vec<LastDhcpRequest> {
    let (Some(file), Some(desired)) = (&settings.requests_file, desired) else { return Vec::new() };
    let Some(id) = desired.host_interface_id.as_deref().filter(|id| !id.is_empty()) else { return Vec::new() };
    // The server of a secondary DPU is stopped while the host is not in use.
    if desired.use_admin_network && !desired.is_primary_dpu {
        return Vec::new();
    }
    let asked_at = match settings.server {
        DhcpServer::Kea => of_kea(file, desired),
        DhcpServer::Nico => of_nico(file, id),
        DhcpServer::Dhcpd | DhcpServer::None => None,
    };
    let request = |seconds| LastDhcpRequest {
        host_interface_id: Some(MachineInterfaceId { value: id.to_owned() }),
        timestamp: prost_types::Timestamp { seconds, nanos: 0 }.to_string(),
    };
    asked_at.into_iter().map(request).collect()
}

/// The newest request for an address of one of the host's ports. Former addresses are those of other hosts' instances.
fn of_kea(file: &Path, desired: &ManagedHostNetworkConfigResponse) -> Option<i64> {
    let ports = match desired.use_admin_network {
        true => desired.admin_interface.as_slice(),
        false => &desired.tenant_interfaces,
    };
    let addresses: Vec<_> = ports.iter().filter_map(|port| port.ip.parse().ok()).collect();
    // While Kea cleans up its lease file, earlier leases are in files with these endings.
    let texts = ["", ".1", ".2", ".completed"].into_iter().filter_map(|ending| {
        let mut path = file.to_owned().into_os_string();
        path.push(ending);
        end_of(&PathBuf::from(path))
    });
    let newest = |text: String| {
        let leases = kea_leases(&text).into_iter().filter(|lease| addresses.contains(&lease.address));
        leases.map(|lease| lease.asked_at).max()
    };
    texts.filter_map(newest).max().and_then(|asked_at| i64::try_from(asked_at).ok())
}

fn of_nico(file: &Path, id: &str) -> Option<i64> {
    let text = end_of(file)?;
    match dhcp_timestamps(&text) {
        Ok(times) => times.get(id).copied(),
        Err(fault) => {
            tracing::debug!("when the host last asked is not known: {fault}");
            None
        }
    }
}

/// The last whole lines of a file, up to a limit; none if there is no such file.
fn end_of(path: &Path) -> Option<String> {
    match read_end(path) {
        Ok(text) => Some(text),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::debug!("{} cannot be read: {error}", path.display());
            }
            None
        }
    }
}

fn read_end(path: &Path) -> io::Result<String> {
    // Reading anything but a regular file could block the agent.
    let length = std::fs::metadata(path).and_then(|it| match it.is_file() {
        true => Ok(it.len()),
        false => Err(io::Error::other("it is not a regular file")),
    })?;
    let mut file = File::open(path)?;
    let skipped = length.saturating_sub(MAX_TAIL);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = if skipped == 0 { &text } else { text.split_once('\n').map_or("", |(_, whole)| whole) };
    Ok(whole.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_file_the_last_whole_lines_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("leases");
        let line = "0123456789abcde\n";
        let lines = usize::try_from(MAX_TAIL).unwrap() / line.len();
        std::fs::write(&path, line.repeat(lines)).unwrap();
        assert_eq!(read_end(&path).unwrap().lines().count(), lines);
        std::fs::write(&path, format!("first\n{}last", line.repeat(lines))).unwrap();
        let end = read_end(&path).unwrap();
        assert!(end.ends_with("\nlast") && end.lines().rev().skip(1).all(|it| it == line.trim_end()), "whole lines");
        assert!(read_end(directory.path()).is_err() && end_of(&directory.path().join("none")).is_none());
    }
}
