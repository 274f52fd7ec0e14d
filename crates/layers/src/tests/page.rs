//! The worked examples of docs/layers.md.

use super::*;

fn page() -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/layers.md");
    std::fs::read_to_string(path).expect("the page")
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches(['|', ' ']).split(" | ").collect()
}

#[test]
fn the_worked_paths_of_the_page_are_right() {
    let page = page();
    let rows = page.lines().map(cells);
    let rows = rows.filter(|cells| cells.len() == 5 && cells[4].parse::<usize>().is_ok());
    let mut checked = 0;
    for row in rows {
        let words = |cell: usize| row[cell].split(' ').collect::<Vec<_>>();
        let (used, reference) = (words(0), words(1));
        assert_eq!(format!("{:.6}", sequence_lcs(&used, &reference)), row[2]);
        assert_eq!(format!("{:.6}", sequence_edit(&used, &reference)), row[3]);
        assert_eq!(loop_count(&used).to_string(), row[4]);
        checked += 1;
    }
    assert_eq!(checked, 4);
}

#[test]
fn the_thresholds_of_the_page_are_right() {
    let page = page();
    let row = |name: &str| {
        let row = page.lines().find(|line| line.starts_with(name));
        let mut cells = cells(row.expect("a row")).into_iter();
        cells.next();
        cells
            .map(|cell| cell.parse::<f64>().expect("a number"))
            .collect::<Vec<_>>()
    };
    let (thresholds, scores) = (row("| threshold |"), row("| least score |"));
    assert_eq!(thresholds.len(), 8);
    for (threshold, score) in thresholds.into_iter().zip(scores) {
        let found = f64::from(threshold_score(threshold));
        assert!((found - score).abs() < 1e-12, "{threshold}: {found}");
    }
}

#[test]
fn the_rules_of_the_match_modes_are_those_of_the_page() {
    let page = page();
    for (word, mode) in [
        ("subset", MatchMode::Subset),
        ("superset", MatchMode::Superset),
    ] {
        assert!(
            page.contains(&format!("| `{word}` | {} |", mode.rule())),
            "{word}"
        );
    }
}
