//! `proctor selftest` on this machine: what it promises holds, and nothing of it is left.

use crate::cli_run::{json, solving};

#[test]
fn every_fault_that_can_be_tried_here_holds() {
    let sandbox = solving();
    let ran = sandbox.proctor(&["selftest", "--json"]);
    let told = json(&ran);
    let faults = told["faults"].as_array().expect("faults");
    let broken: Vec<_> = faults
        .iter()
        .filter(|fault| fault["result"] == "not held")
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(told["held"].as_u64() >= Some(23), "{told:#}");
    assert_eq!(faults.len(), 36, "{told:#}");
    for fault in faults.iter().filter(|fault| fault["result"] != "held") {
        assert!(fault["why"].is_string(), "{fault}");
    }
    sandbox.assert_scratch_is_empty();
}
