//! `ios_install_check` and `ios_launch_check`: the app as the agent left it on the simulator, or as the graded tree builds it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::build::Built;
use super::test_pass::{is_bundle, of_machine};
use super::{Failed, Work, trouble};
use crate::opinion::{Opinion, PASS, error, fail, kept_by_simulator};
use proctor_apple::{Fault, Trouble, of_build};
use proctor_config::IosTestOptions;
use proctor_model::Grade;
use proctor_record::AppLeft;

/// Whether the app is installed.
pub(super) async fn is_installed(work: &Work<'_>, from_tree: bool) -> Opinion {
    match app_state(work, from_tree) {
        AppState::Judged(opinion) => opinion,
        AppState::Absent => fail("app_not_installed"),
        AppState::Left { .. } => PASS,
        AppState::ToBuild { udid, bundle } => {
            if let Err(opinion) = put(work, udid, bundle).await {
                return opinion;
            }
            let simctl = work.desk.simctl(work.ctx);
            let told = simctl.is_installed(udid, bundle).await;
            judged(told, "app_not_installed")
        }
    }
}

/// Whether the app can be launched, and is still there a moment later.
pub(super) async fn launches(work: &Work<'_>, from_tree: bool) -> Opinion {
    const NOT: &str = "app_launch_failed";
    match app_state(work, from_tree) {
        AppState::Judged(opinion) => opinion,
        AppState::Absent => fail(NOT),
        AppState::Left { launches } => launches.map_or_else(
            || kept_by_simulator("nobody looked whether the app could be launched"),
            |launches| judged(Ok(launches), NOT),
        ),
        AppState::ToBuild { udid, bundle } => {
            if let Err(opinion) = put(work, udid, bundle).await {
                return opinion;
            }
            judged(work.desk.simctl(work.ctx).launch(udid, bundle).await, NOT)
        }
    }
}

fn judged(told: Result<bool, Trouble>, if_not: &'static str) -> Opinion {
    match told {
        Ok(true) => PASS,
        Ok(false) => fail(if_not),
        Err(why) => trouble(&why),
    }
}

/// What is known of the app before anything is built.
enum AppState<'a> {
    /// Enough.
    Judged(Opinion),
    /// The agent had not installed it.
    Absent,
    /// The agent had installed it, and that is what is judged.
    Left { launches: Option<bool> },
    /// What the graded tree builds is judged.
    ToBuild { udid: &'a str, bundle: &'a str },
}

/// Where no agent was there (a reference patch, a regrading), the app is built from the tree that is graded; so it is `from_tree`,
/// where it must have been there before.
fn app_state<'a>(work: &'a Work<'_>, from_tree: bool) -> AppState<'a> {
    let Some(bundle) = work.desk.params.bundle_id.as_deref() else {
        return AppState::Judged(error("needs:project.build_params.bundle_id"));
    };
    let Some(udid) = work.udid else {
        return AppState::Judged(error("needs:project.simulator_name"));
    };
    match &work.desk.left {
        Some(AppLeft::Unknown(why)) => AppState::Judged(kept_by_simulator(why)),
        Some(AppLeft::Absent) if from_tree => AppState::Judged(fail("app_not_installed")),
        Some(AppLeft::Absent | AppLeft::Deleted) => AppState::Absent,
        Some(AppLeft::Installed { launches }) if !from_tree => AppState::Left {
            launches: *launches,
        },
        Some(AppLeft::Installed { .. }) | None => AppState::ToBuild { udid, bundle },
    }
}

/// Puts what the graded tree builds in the place of whatever is there.
async fn put(work: &Work<'_>, udid: &str, bundle: &str) -> Result<(), Opinion> {
    let simctl = work.desk.simctl(work.ctx);
    simctl.boot(udid).await.map_err(|why| trouble(&why))?;
    let removed = simctl.remove_app(udid, bundle).await;
    removed.map_err(|why| trouble(&why))?;
    let app = build(work).await?;
    if installed(work, udid, bundle, &app).await? {
        return Ok(());
    }
    // It said that it had installed the app.
    work.recover(Fault::Unclear)
        .await
        .map_err(|why| trouble(&why))?;
    if installed(work, udid, bundle, &app).await? {
        return Ok(());
    }
    Err(kept_by_simulator(
        "simctl install left no app and says it did",
    ))
}

/// Installs an app; whether the device has one of that folder's name then. That may be another than the one that is asked for: a tree
/// can give it another bundle.
async fn installed(work: &Work<'_>, udid: &str, bundle: &str, app: &Path) -> Result<bool, Opinion> {
    let simctl = work.desk.simctl(work.ctx);
    simctl.install(udid, app).await.map_err(|why| match why {
        why if why.fault() == Some(Fault::Work) => fail("app_not_installed"),
        why => trouble(&why),
    })?;
    let is_there = simctl.is_installed(udid, bundle).await;
    if is_there.map_err(|why| trouble(&why))? {
        return Ok(true);
    }
    let name = app.file_name().unwrap_or_default().to_string_lossy();
    let has_other = simctl.has_app_folder(udid, &name).await;
    has_other.map_err(|why| trouble(&why))
}

/// Builds the app; its folder. Where the machine keeps it from that, it gets a second go after a recovery.
async fn build(work: &Work<'_>) -> Result<PathBuf, Opinion> {
    match build_once(work, 1).await {
        Err(failed) => {
            work.cure(failed).await?;
            build_once(work, 2).await.map_err(Failed::opinion)
        }
        Ok(app) => Ok(app),
    }
}

/// One go.
async fn build_once(work: &Work<'_>, number: u32) -> Result<PathBuf, Failed> {
    let judged = |opinion| Err(Failed::Judged(opinion));
    let hindered = |opinion| Err(Failed::Hindered(opinion, Fault::Unclear));
    let derived = work.derived();
    let bundle = work.out.join(format!("build-{number}.xcresult"));
    let words = work.words(&IosTestOptions::default(), &bundle)?;
    let action = std::iter::once(OsString::from("build"));
    let words = action.chain(words.into_iter().skip(1)).collect();
    match work.xcodebuild(words, work.ctx.default_timeout).await {
        Built::Code(0, _) => product(&derived).ok_or_else(|| {
            // Every build leaves its results, also one of a scheme without an app.
            Failed::Judged(if is_bundle(&bundle) {
                fail("app_not_installed")
            } else {
                error("build_no_result_bundle")
            })
        }),
        Built::Cancelled => judged(error("cancelled")),
        Built::TooLarge => judged(error("over_limit:derived_data_mib")),
        Built::NotStarted(why) => judged(error(format!("build_not_started:{why}"))),
        // Code can keep a build from its end, and so can Xcode: it is never a failure.
        Built::TooLong(_) if work.is_simulator_well().await => {
            hindered(Opinion::new(Grade::Timeout, "build_timeout"))
        }
        Built::TooLong(_) => hindered(kept_by_simulator("xcodebuild build does not answer")),
        Built::Died => hindered(kept_by_simulator("xcodebuild build died")),
        Built::Code(code, said) => match of_build(code, &said, work.udid) {
            Fault::Work => judged(fail("app_not_installed")),
            fault => Err(Failed::Hindered(of_machine(code, &said), fault)),
        },
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
