//! Those who crowd the door, and those who talk too much: everybody else is served as before.

use std::{
    io::Read as _,
    net::TcpStream,
    time::{Duration, Instant},
};

use proto::{
    forge::{self, forge_client::ForgeClient},
    health,
    site::{self, site_client::SiteClient},
};
use tonic::Code;

use crate::support::{Guarded, Signer, config, dpu, eventually, healthy, refused, start, write_tls};

/// Longest time that anybody waits who does nothing wrong.
const SOON: Duration = Duration::from_secs(1);

impl Guarded {
    /// Another DPU's poll and an operator's list, each with a connection of its own.
    async fn is_served(&self, case: &str) {
        let began = Instant::now();
        self.config(Some(&self.ca.machine(&dpu(1, 1))), &dpu(1, 1)).await.unwrap();
        assert!(began.elapsed() < SOON, "{case}: a poll took {:?}", began.elapsed());
        let began = Instant::now();
        let operator = self.channel(Some(&self.ca.unit("operators")));
        SiteClient::new(operator).list_hosts(site::ListHostsRequest::default()).await.unwrap();
        assert!(began.elapsed() < SOON, "{case}: a list took {:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_keep_nobody_out() {
    let site = Guarded::start().await;
    site.is_served("alone").await;
    let mut crowd = Vec::new();
    for _ in 0..1_200 {
        // The listener's queue is short; who is not let in yet tries again.
        let stream = loop {
            match TcpStream::connect(&site.daemon.address) {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        };
        crowd.push(stream);
    }
    site.is_served("in a crowd").await;
    // The first ones are long gone, to make room.
    let first = &mut crowd[0];
    first.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    match first.read(&mut [0; 1]) {
        Ok(length) => assert_eq!(length, 0),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
    let began = Instant::now();
    let last = crowd.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    assert_eq!(last.read(&mut [0; 1]).unwrap(), 0, "and the last ones after their time");
    assert!(began.elapsed() > Duration::from_secs(5));
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_dpu_that_reports_without_end_takes_its_own_share_only() {
    let site = Guarded::start().await;
    let own = dpu(1, 0);
    let alert = health::HealthProbeAlert { id: "BgpStats".into(), message: "x".repeat(100_000), ..Default::default() };
    let mut status = healthy(&own);
    status.dpu_health.as_mut().unwrap().alerts.push(alert);
    let pair = site.ca.machine(&own);
    let channels: Vec<_> = (0..4).map(|_| site.channel(Some(&pair))).collect();
    let calls: Vec<_> = (0..500_usize)
        .map(|number| {
            let (channel, status) = (channels[number % channels.len()].clone(), status.clone());
            tokio::spawn(async move { ForgeClient::new(channel).record_dpu_network_status(status).await.map(drop) })
        })
        .collect();
    for _ in 0..5 {
        site.is_served("while one reports").await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (mut taken, mut refused) = (0, 0);
    for call in calls {
        match call.await.unwrap() {
            Ok(()) => taken += 1,
            Err(status) if status.code() == Code::ResourceExhausted => {
                assert!(status.message().contains("has 8 calls in flight"), "{}", status.message());
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(taken > 0 && refused > 0, "{taken} taken, {refused} refused");
    let operator = site.channel(Some(&site.ca.unit("operators")));
    let dpus = SiteClient::new(operator).list_dpus(site::ListDpusRequest::default()).await.unwrap().into_inner().dpus;
    let kept = &dpus.iter().find(|dpu| !dpu.alerts.is_empty()).unwrap().alerts[0].message;
    assert!(kept.len() <= 4_096 && kept.ends_with("… (cut)"), "{} bytes", kept.len());
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_are_told_which_field_is_too_large() {
    let site = Guarded::start().await;
    let observer = site.ca.unit("observers");
    let insert = async |source: String, alert: health::HealthProbeAlert| {
        let report = health::HealthReport { source, alerts: vec![alert], ..Default::default() };
        let entry = forge::HealthReportEntry { report: Some(report), mode: 0 };
        let request = forge::InsertMachineHealthReportRequest {
            machine_id: Some((&dpu(1, 0)).into()),
            health_report_entry: Some(entry),
        };
        ForgeClient::new(site.channel(Some(&observer))).insert_machine_health_report(request).await.map(drop)
    };
    let good = health::HealthProbeAlert { id: "BgpStats".into(), ..Default::default() };
    for (alert, fault) in [
        (
            health::HealthProbeAlert { message: "x".repeat(4_097), ..good.clone() },
            "alerts[0].message: is longer than 4096",
        ),
        (
            health::HealthProbeAlert { tenant_message: Some("x".repeat(1_025)), ..good.clone() },
            "alerts[0].tenant_message: is longer than 1024",
        ),
        (
            health::HealthProbeAlert { target: Some("x".repeat(257)), ..good.clone() },
            "alerts[0].target: is longer than 256",
        ),
        (
            health::HealthProbeAlert { classifications: vec!["PreventAllocations".into(); 33], ..good.clone() },
            "alerts[0].classifications: are more than 32",
        ),
    ] {
        let status = insert("watcher".into(), alert).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(fault), "{}", status.message());
    }
    for number in 0..64 {
        insert(format!("watcher-{number}"), good.clone()).await.unwrap();
    }
    let status = insert("one-more".into(), good.clone()).await.unwrap_err();
    assert!(status.message().contains("reports of 64 sources already"), "{}", status.message());
    insert("watcher-1".into(), good).await.unwrap();
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_files_are_read_again_and_broken_ones_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Signer::new("site-ca");
    let tls = write_tls(dir.path(), &ca);
    let daemon = start(dir.path(), config(dir.path(), tls)).await;
    let path = dir.path().to_owned();
    let mut site = Guarded { ca, daemon, _dir: dir };
    let served = async |site: &Guarded| {
        let operator = site.channel(Some(&site.ca.unit("operators")));
        SiteClient::new(operator).list_hosts(site::ListHostsRequest::default()).await.is_ok()
    };
    assert!(served(&site).await);
    std::fs::write(path.join("server.pem"), "no certificate").unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(served(&site).await, "the former ones stay");
    let former = std::mem::replace(&mut site.ca, Signer::new("other-ca"));
    write_tls(&path, &site.ca);
    eventually("the new ones to be taken", async || served(&site).await).await;
    site.ca = former;
    assert!(!served(&site).await, "whom the former authority signed is let in no more");
    site.daemon.stop().await;
    let dir = tempfile::tempdir().unwrap();
    let tls = write_tls(dir.path(), &Signer::new("site-ca"));
    for (file, fault) in [("server.key", "[tls]: cannot use "), ("ca.pem", "[tls]: cannot use ")] {
        let kept = std::fs::read(dir.path().join(file)).unwrap();
        std::fs::write(dir.path().join(file), "nothing").unwrap();
        let told = refused(config(dir.path(), tls)).await;
        assert!(told.starts_with(fault) && told.contains(file), "{told}");
        std::fs::write(dir.path().join(file), kept).unwrap();
    }
}
