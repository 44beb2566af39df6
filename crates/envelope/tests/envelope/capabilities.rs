//! What is advertised.

#[path = "../../examples/write-capabilities/page.rs"]
mod page;

use interlingua_convert::Agent;
use interlingua_envelope::{Capability, capabilities};

#[test]
fn the_page_of_capabilities_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/envelope-capabilities.md");
    assert!(std::fs::read_to_string(path).unwrap_or_default() == page::page(), "{}", page::OUT_OF_DATE);
}

#[test]
fn every_agent_has_the_tools_facet_and_only_what_was_recorded() {
    for agent in Agent::ALL {
        let proven = capabilities(agent);
        assert!(proven.contains_key(&Capability::ToolsStructuredV1), "{agent}");
        assert!(proven.values().all(|recording| recording.starts_with(agent.id())), "{agent}");
    }
    let ids: std::collections::BTreeSet<_> = Capability::ALL.iter().map(|capability| capability.id()).collect();
    assert_eq!(ids.len(), Capability::ALL.len());
}
