use interlingua::audit::audit;
use interlingua_snapshots::recordings;
use std::collections::BTreeMap;
#[test]
fn probe() {
    let mut m: BTreeMap<String, (String, u32)> = BTreeMap::new();
    for r in recordings().unwrap() {
        let report = audit(&r.name(), std::io::BufReader::new(std::fs::File::open(&r.path).unwrap()), None).unwrap();
        for t in report.types {
            if t.unknown_tag > 0 || t.malformed > 0 || !t.misfits.is_empty() {
                println!("BAD {} {:?}", r.name(), t);
            }
            for (f, e) in t.unknown_fields {
                m.entry(format!("{}/{} {} {}", r.agent, r.version, t.name, f)).or_insert((e, 0)).1 += 1;
            }
        }
    }
    for (k, (e, n)) in m {
        println!("{n} {k} = {e}");
    }
}
