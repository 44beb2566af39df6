//! Snapshots of imported streams, in `expected/history/`.

use interlingua_convert::ConversionStats;
use interlingua_snapshots::{ConvertedRecording, render};

use super::{committed, import, pairs_in};
use crate::snapshots_in;

#[test]
fn every_imported_stream_matches_its_snapshot() {
    for pair in pairs_in(&committed()) {
        let imported = import(&pair.history);
        let mut stats = ConversionStats::default();
        stats.payloads = imported.report.records;
        stats.dropped = imported.report.dropped;
        stats.unparsed = imported.report.unparsed;
        let stream = render(&ConvertedRecording { events: imported.events, stats });
        snapshots_in("history").bind(|| insta::assert_snapshot!(pair.name.replace('/', "-"), stream));
    }
}
