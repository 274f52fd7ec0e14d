//! `ios_install_check` and `ios_launch_check`: the app on the simulator, as the agent left it there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::build::Built;
use super::test_pass::{NO_DESTINATION, NO_XCODE, of_machine};
use super::{Work, trouble};
use crate::apple::{TestCall, Trouble};
use crate::config::IosTestOptions;
use crate::graders::grade::{Opinion, PASS, error, fail};
use crate::model::Grade;

/// What both graders need.
struct App<'a> {
    udid: &'a str,
    bundle: &'a str,
}

/// Whether the app is installed.
pub(super) async fn is_installed(work: &Work<'_>, from_tree: bool) -> Opinion {
    let asked = async |app: App<'_>| {
        let simctl = work.desk.simctl(work.ctx);
        simctl.is_installed(app.udid, app.bundle).await
    };
    asked_of_the_app((work, from_tree), asked, "app_not_installed").await
}

/// Whether the app can be launched, and is still there a moment later.
pub(super) async fn launches(work: &Work<'_>, from_tree: bool) -> Opinion {
    let asked = async |app: App<'_>| {
        let simctl = work.desk.simctl(work.ctx);
        simctl.launch(app.udid, app.bundle).await
    };
    asked_of_the_app((work, from_tree), asked, "app_launch_failed").await
}

async fn asked_of_the_app<'a>(
    (work, from_tree): (&'a Work<'_>, bool),
    asked: impl AsyncFnOnce(App<'a>) -> Result<bool, Trouble>,
    if_not: &'static str,
) -> Opinion {
    let app = match ready(work, from_tree).await {
        Ok(app) => app,
        Err(opinion) => return opinion,
    };
    match asked(app).await {
        Ok(true) => PASS,
        Ok(false) => fail(if_not),
        Err(why) => trouble(&why),
    }
}

/// Boots the simulator with all that is on it. Where no agent was there (a reference patch, a regrading), the app is built from
/// the tree that is graded, and installed; so it is `from_tree`, where it must have been there before.
async fn ready<'a>(work: &'a Work<'_>, from_tree: bool) -> Result<App<'a>, Opinion> {
    let bundle = work.desk.params.bundle_id.as_deref();
    let bundle = bundle.ok_or_else(|| error("needs:project.build_params.bundle_id"))?;
    let udid = work
        .udid
        .ok_or_else(|| error("needs:project.simulator_name"))?;
    let simctl = work.desk.simctl(work.ctx);
    simctl.boot(udid).await.map_err(|why| trouble(&why))?;
    if work.desk.is_as_left && from_tree {
        let is_there = simctl.is_installed(udid, bundle).await;
        if !is_there.map_err(|why| trouble(&why))? {
            return Err(fail("app_not_installed"));
        }
    }
    if !work.desk.is_as_left || from_tree {
        simctl
            .remove_app(udid, bundle)
            .await
            .map_err(|why| trouble(&why))?;
        let app = build(work).await?;
        simctl.install(udid, &app).await.map_err(|why| match why {
            Trouble::Failed { .. } if !why.is_of_device() => fail("app_not_installed"),
            why => trouble(&why),
        })?;
    }
    Ok(App { udid, bundle })
}

/// Builds the app; its folder. Where the machine keeps it from that, it gets a second go after a recovery.
async fn build(work: &Work<'_>) -> Result<PathBuf, Opinion> {
    match build_once(work, 1).await {
        Err((opinion, true)) => match work.recover().await {
            Err(why) => Err(trouble(&why)),
            Ok(false) => Err(opinion),
            Ok(true) => build_once(work, 2).await.map_err(|(opinion, _)| opinion),
        },
        done => done.map_err(|(opinion, _)| opinion),
    }
}

/// One go; where it fails, whether it was the machine.
async fn build_once(work: &Work<'_>, number: u32) -> Result<PathBuf, (Opinion, bool)> {
    let judged = |opinion| Err((opinion, false));
    let packages = match work.packages() {
        Ok(packages) => packages,
        Err(why) => return judged(error(format!("spm_cache:{why}"))),
    };
    let derived = work.derived();
    let call = TestCall {
        options: &IosTestOptions::default(),
        params: work.desk.params,
        udid: work.udid,
        derived: &derived,
        bundle: &work.out.join(format!("build-{number}.xcresult")),
        packages: packages.as_deref(),
    };
    let words = match call.words() {
        Ok(words) => words,
        Err(key) => return judged(error(format!("needs:project.build_params.{key}"))),
    };
    let action = std::iter::once(OsString::from("build"));
    let words = action.chain(words.into_iter().skip(1)).collect();
    match work.xcodebuild(words, work.ctx.default_timeout).await {
        Built::Code(0, _) => product(&derived).ok_or_else(|| (fail("app_not_installed"), false)),
        Built::Cancelled => judged(error("cancelled")),
        Built::TooLarge => judged(error("over_limit:derived_data_mib")),
        Built::NotStarted(why) => judged(error(format!("build_not_started:{why}"))),
        // A build that does not end is the work's; a simulator that does not answer is not.
        Built::TooLong if work.is_simulator_well().await => {
            judged((Grade::Timeout, Some("build_timeout".to_owned())))
        }
        Built::TooLong => Err((error("simulator:xcodebuild build does not answer"), true)),
        Built::Died => Err((error("simulator:xcodebuild build died"), true)),
        Built::Code(code @ (NO_DESTINATION | NO_XCODE), said) => {
            Err((of_machine(code, &said), true))
        }
        Built::Code(..) => judged(fail("app_not_installed")),
    }
}

/// The app that a build made for simulators.
fn product(derived: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(derived.join("Build/Products")).ok()?;
    let folders = folders.flatten().map(|entry| entry.path());
    let simulators =
        folders.filter(|folder| folder.to_string_lossy().ends_with("-iphonesimulator"));
    let mut products =
        simulators.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let app = products.find(|entry| entry.path().extension().is_some_and(|kind| kind == "app"));
    app.map(|entry| entry.path())
}
