//! Feature detection: what a recording proves, and what it does not.

use interlingua_convert::Agent;
use interlingua_convert::coverage::{Feature, proof};
use interlingua_snapshots::coverage::{detect_features, unsupported_reason};

use crate::corpus;

fn has_feature(name: &str, feature: Feature) -> bool {
    detect_features(&corpus().find(name).unwrap().converted.events).contains(&feature)
}

#[test]
fn no_feature_is_both_proven_and_unsupported() {
    for agent in Agent::ALL {
        for &feature in Feature::ALL {
            let (proof, reason) = (proof(agent, feature), unsupported_reason(agent, feature));
            assert!(
                proof.is_none() || reason.is_none(),
                "{agent} {feature:?} is proven by {proof:?}, but declared unsupported: {reason:?}"
            );
        }
    }
}

#[test]
fn a_command_that_was_refused_does_not_prove_that_commands_run() {
    assert!(!has_feature("amp/0.0.1790142911-g7618fb/permission-ask-rule", Feature::CommandExecution));
    assert!(has_feature("amp/0.0.1790142911-g7618fb/shell-command", Feature::CommandExecution));
}

#[test]
fn synthetic_events_prove_nothing_about_the_agent() {
    // For whole messages, the deltas and starts are synthetic.
    assert!(!has_feature("claude/2.1.325/text", Feature::StreamingDeltas));
    assert!(!has_feature("claude/2.1.325/text", Feature::ItemStarted));
    assert!(has_feature("claude/2.1.325/partial-tools", Feature::StreamingDeltas));
    // For a killed agent, the tool result and the error are synthetic.
    assert!(!has_feature("claude/2.1.325/killed-sigkill", Feature::ErrorEvents));
    assert!(!has_feature("amp/0.0.1790142911-g7618fb/server-approval-queue", Feature::ToolResults));
}

#[test]
fn a_call_that_starts_a_sub_agent_does_not_prove_that_its_actions_are_reported() {
    assert!(!has_feature("amp/0.0.1790142911-g7618fb/subagent-child-messages", Feature::SubAgents));
    assert!(has_feature("claude/2.1.325/subagent", Feature::SubAgents));
}
