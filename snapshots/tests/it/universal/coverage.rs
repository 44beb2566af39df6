//! What is advertised of an agent is what its recordings show.

use interlingua_convert::Agent;
use interlingua_convert::coverage::{Feature, proof};
use interlingua_snapshots::coverage::{cannot, shown};

use crate::corpus;

fn shows(name: &str, feature: Feature) -> bool {
    shown(&corpus().find(name).unwrap().converted.events).contains(&feature)
}

#[test]
fn nothing_is_both_proven_and_impossible() {
    for agent in Agent::ALL {
        for &feature in Feature::ALL {
            let (proof, cannot) = (proof(agent, feature), cannot(agent, feature));
            assert!(proof.is_none() || cannot.is_none(), "{agent} {feature:?}: {proof:?}, yet {cannot:?}");
        }
    }
}

#[test]
fn a_command_that_was_refused_does_not_prove_that_commands_run() {
    assert!(!shows("amp/0.0.1790142911-g7618fb/permission-ask-rule", Feature::CommandExecution));
    assert!(shows("amp/0.0.1790142911-g7618fb/shell-command", Feature::CommandExecution));
}

#[test]
fn what_we_make_up_proves_nothing_of_the_agent() {
    // The deltas and beginnings of whole messages are synthetic.
    assert!(!shows("claude/2.1.325/text", Feature::StreamingDeltas));
    assert!(!shows("claude/2.1.325/text", Feature::ItemStarted));
    assert!(shows("claude/2.1.325/partial-tools", Feature::StreamingDeltas));
    // So are the result and the error of an agent that was killed.
    assert!(!shows("claude/2.1.325/killed-sigkill", Feature::ErrorEvents));
    assert!(!shows("amp/0.0.1790142911-g7618fb/server-approval-queue", Feature::ToolResults));
}

#[test]
fn a_call_of_a_sub_agent_does_not_prove_that_its_doings_are_seen() {
    assert!(!shows("amp/0.0.1790142911-g7618fb/subagent-child-messages", Feature::SubAgents));
    assert!(shows("claude/2.1.325/subagent", Feature::SubAgents));
}
