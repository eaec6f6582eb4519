use crate::store::HostRecord;

/// What the rules say about a host apart from its next state. The handlers ask; they know no state, probe or
/// classification themselves.
pub trait HostJudge: Send + Sync {
    /// Why a tenant cannot have the host now. `allow_unhealthy` leaves health out of it.
    fn allocation_refusal(&self, host: &HostRecord, allow_unhealthy: bool) -> Option<String>;

    /// Why a tenant cannot give the host back now.
    fn release_refusal(&self, host: &HostRecord) -> Option<String>;

    /// Alert that keeps the host's configuration from counting as applied.
    fn blocking_alert(&self, host: &HostRecord) -> Option<String>;
}
