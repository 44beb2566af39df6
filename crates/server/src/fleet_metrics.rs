//! Metrics of the store, and of the servers that share it, in the Prometheus text format.

use std::fmt::Write as _;

use interlingua_store::Store;

/// Renders the metrics.
pub(crate) fn render(store: &Store) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, sample: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{sample}");
    };
    gauge("interlingua_store_info", "The database of the store.", &format!("{{kind=\"{}\"}} 1", store.kind()));
    let Some(status) = store.fleet().map(|fleet| fleet.status()) else { return text };
    gauge("interlingua_store_leases", "Sessions that this server owns.", &format!(" {}", status.leases));
    for (name, help, value) in [
        (
            "interlingua_store_heartbeat_age_seconds",
            "Time since this server renewed its leases.",
            status.heartbeat_age.as_secs_f64(),
        ),
        (
            "interlingua_store_lease_seconds",
            "How long the leases of this server last after a renewal.",
            status.lease.as_secs_f64(),
        ),
        (
            "interlingua_store_receives_signals",
            "Whether this server learns at once what other servers append.",
            f64::from(u8::from(status.receives_signals)),
        ),
        (
            "interlingua_store_signal_lag_seconds",
            "How long the last signal took from server to server.",
            status.signal_lag.as_secs_f64(),
        ),
    ] {
        gauge(name, help, &format!(" {value}"));
    }
    text
}
