//! `ios_test_pass`: `xcodebuild test`, judged by its exit code and by the tests in a result bundle that it has just made.

use std::path::Path;

use super::build::Built;
use super::{Work, trouble};
use crate::apple::{Counts, TestCall, Trouble, bundle_counts};
use crate::config::IosTestOptions;
use crate::graders::grade::{Opinion, PASS, error, fail};
use crate::model::Grade;

/// What `xcodebuild` ends with where its destination is not there.
pub(super) const NO_DESTINATION: i32 = 70;

/// What it ends with where Xcode itself cannot be used: its license, its first launch.
pub(super) const NO_XCODE: i32 = 69;

/// One go at the tests.
enum Go {
    /// This is the verdict.
    Judged(Opinion),
    /// The simulator kept them from running.
    Hindered(Opinion),
}

/// Runs the tests. Where the simulator keeps them from it, they get a second go after its recovery.
pub(super) async fn judge(options: &IosTestOptions, work: &Work<'_>) -> Opinion {
    match go(options, work, 1).await {
        Go::Judged(opinion) => opinion,
        Go::Hindered(opinion) => match work.recover().await {
            Err(why) => trouble(&why),
            Ok(false) => opinion,
            Ok(true) => match go(options, work, 2).await {
                Go::Judged(opinion) | Go::Hindered(opinion) => opinion,
            },
        },
    }
}

impl Work<'_> {
    /// Brings the simulator up again; whether there is one.
    pub(super) async fn recover(&self) -> Result<bool, Trouble> {
        let Some(udid) = self.udid else {
            return Ok(false);
        };
        let simctl = self.desk.simctl(self.ctx);
        simctl.shutdown(udid).await?;
        simctl.boot(udid).await?;
        Ok(true)
    }

    /// Whether the simulator answers by itself.
    pub(super) async fn is_simulator_well(&self) -> bool {
        match self.udid {
            None => true,
            Some(udid) => self.desk.simctl(self.ctx).answers(udid).await,
        }
    }
}

async fn go(options: &IosTestOptions, work: &Work<'_>, number: u32) -> Go {
    let packages = match work.packages() {
        Ok(packages) => packages,
        Err(why) => return Go::Judged(error(format!("spm_cache:{why}"))),
    };
    let bundle = work.out.join(format!("result-{number}.xcresult"));
    let call = TestCall {
        options,
        params: work.desk.params,
        udid: work.udid,
        derived: &work.derived(),
        bundle: &bundle,
        packages: packages.as_deref(),
    };
    let words = match call.words() {
        Ok(words) => words,
        Err(key) => return Go::Judged(error(format!("needs:project.build_params.{key}"))),
    };
    let limit = options.timeout.unwrap_or(work.ctx.default_timeout);
    match work.xcodebuild(words, limit).await {
        Built::Cancelled => Go::Judged(error("cancelled")),
        Built::NotStarted(why) => Go::Judged(error(format!("tests_not_started:{why}"))),
        Built::TooLarge => Go::Judged(error("over_limit:derived_data_mib")),
        // Code that does not end is the agent's; a simulator that does not answer is not.
        Built::TooLong if work.is_simulator_well().await => {
            Go::Judged((Grade::Timeout, Some("tests_timeout".to_owned())))
        }
        Built::TooLong => Go::Hindered(error("simulator:xcodebuild test does not answer")),
        Built::Died => Go::Hindered(error("simulator:xcodebuild test died")),
        Built::Code(code @ (NO_DESTINATION | NO_XCODE), said) => {
            Go::Hindered(of_machine(code, &said))
        }
        Built::Code(code, said) => Go::Judged(judged((code, &said), &bundle, work).await),
    }
}

/// What Xcode says of a machine on which nothing can be built, as an error.
pub(super) fn of_machine(code: i32, said: &str) -> Opinion {
    let told = said.lines().find(|line| line.contains("error:"));
    let told = told.map_or_else(|| format!("xcodebuild ended with {code}"), str::to_owned);
    error(format!("simulator:{}", told.trim()))
}

/// What an exit code and a result bundle amount to. The bundle cannot be an old one: its folder was made by this grader.
async fn judged((code, said): (i32, &str), bundle: &Path, work: &Work<'_>) -> Opinion {
    let counts = if bundle.exists() {
        match bundle_counts(work.desk.xcode, bundle, work.ctx.cancel).await {
            Ok(counts) => Ok(counts),
            Err(why @ (Trouble::Silent(_) | Trouble::Cancelled)) => return trouble(&why),
            Err(_) => Err("tests_result_parse_failed"),
        }
    } else {
        Err("tests_no_result_bundle")
    };
    verdict((code, said), counts)
}

fn verdict((code, said): (i32, &str), counts: Result<Counts, &str>) -> Opinion {
    match (code, counts) {
        (0, Err(reason)) => error(reason),
        (0, Ok(Counts { failed: 1.., .. })) => fail("tests_failed"),
        (0, Ok(Counts { executed: 0, .. })) => fail("tests_not_executed"),
        (0, Ok(_)) => PASS,
        // Nothing was wrong with the code, and still nothing ran.
        (_, Ok(Counts { executed: 0, .. })) if !said.contains("error:") => {
            fail("tests_not_executed")
        }
        _ => fail("tests_failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_ran_and_did_not_fail_pass() {
        let ran = |executed, failed| Ok(Counts { executed, failed });
        let cases = [
            (0, "", ran(3, 0), None),
            (0, "", ran(3, 1), Some("tests_failed")),
            (0, "", ran(0, 0), Some("tests_not_executed")),
            (
                0,
                "",
                Err("tests_no_result_bundle"),
                Some("tests_no_result_bundle"),
            ),
            (65, "", ran(3, 1), Some("tests_failed")),
            (65, "", ran(3, 0), Some("tests_failed")),
            (65, "", ran(0, 0), Some("tests_not_executed")),
            (65, "a.swift:1:1: error: x", ran(0, 0), Some("tests_failed")),
            (65, "", Err("tests_no_result_bundle"), Some("tests_failed")),
        ];
        for (code, said, counts, reason) in cases {
            let (grade, told) = verdict((code, said), counts);
            assert_eq!(told.as_deref(), reason, "{code} {said}");
            assert_eq!(grade == Grade::Pass, reason.is_none());
        }
    }
}
