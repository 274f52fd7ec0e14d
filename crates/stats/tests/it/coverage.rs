//! The quick form of the simulations: fails when a limit is broken beyond simulation error.

#[path = "../../benches/simulation/mod.rs"]
mod simulation;

use simulation::{Extent, Finding, SIMULATIONS};

#[test]
fn intervals_tests_and_plans_hold_in_simulated_runs() {
    let all: Vec<Finding> = SIMULATIONS
        .iter()
        .flat_map(|simulation| simulation(Extent::Quick))
        .collect();
    let broken: Vec<String> = all
        .iter()
        .filter(|finding| !finding.holds())
        .map(|it| format!("{}: {}, {}: {}", it.table, it.row, it.column, it.share))
        .collect();
    assert!(all.len() > 20, "only {} findings", all.len());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
