//! Advertised capabilities.

use interlingua_convert::Agent;
use interlingua_envelope::{Capability, capabilities};

#[test]
fn every_agent_has_the_tools_facet_and_only_capabilities_that_a_recording_proves() {
    for agent in Agent::ALL {
        let proven = capabilities(agent);
        assert!(proven.contains_key(&Capability::ToolsStructuredV1), "{agent}");
        assert!(proven.values().all(|recording| recording.starts_with(agent.id())), "{agent}");
    }
    let ids: std::collections::BTreeSet<_> = Capability::ALL.iter().map(|capability| capability.id()).collect();
    assert_eq!(ids.len(), Capability::ALL.len());
}
