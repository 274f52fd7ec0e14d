//! Whose fault it is that a call ended with an exit code: all that is known of what Apple's tools say then stands here.
//!
//! | tool | what it says | whose |
//! |---|---|---|
//! | any | a phrase of [`SERVICE`] | the service |
//! | `simctl` | first domain `NSMachErrorDomain`, `NSCocoaErrorDomain` of a lost connection, `NSPOSIXErrorDomain` of one ([`LOST`]) | the service |
//! | `simctl` | first domain below `com.apple.CoreSimulator.`, a launch that is refused because the device is busy, exit codes 148, 149, 164, 405 | the device |
//! | `simctl` | first domain of the launcher or installer of apps ([`OF_APPS`]), or of a program that cannot be run ([`NO_PROGRAM`]) | the work |
//! | `xcodebuild` | exit codes 69 (license, first launch), 71 to 73, 75, 77, above 128 (a signal) | the device, for want of a better cure |
//! | `xcodebuild` | exit code 70, unless the device is named as too old for the project | the device |
//! | `xcodebuild` | exit code 74 with a phrase of [`NETWORK`], or without packages | the device, likewise |
//! | `xcodebuild` | any other code with a phrase of [`DEVICE`], nothing that did not compile and no test that began | the device |
//! | `xcodebuild` | the same with a phrase of [`NEVER_BEGAN`] | nobody knows |
//! | `xcodebuild` | all else | the work |
//! | `simctl` | all else | nobody knows |
//!
//! The first domain alone counts, since names of files and bundles stand behind it, which are the work's to choose.

/// Whose fault a failed call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// That of the service behind all simulators, or of Xcode itself.
    Service,
    /// That of one device: it is not there, or in no state to be used.
    Device,
    /// That of what the tool was given.
    Work,
    /// Nobody can say.
    Unclear,
}

/// The service is gone or does not know its devices.
const SERVICE: [&str; 8] = [
    "CoreSimulatorService connection became invalid",
    "CoreSimulatorService connection interrupted",
    "Simulator services will no longer be available",
    "Failed to initialize simulator device set",
    "Unable to locate device set",
    "Failed to start launchd_sim",
    "launchd_sim may have crashed or quit responding",
    "CoreSimulator is out of date",
];

/// A device that cannot be used for a build or its tests.
const DEVICE: [&str; 11] = [
    "Unable to boot",
    "Failed to boot",
    "Failed to prepare device",
    "Failed to prepare the simulator",
    "Unable to find a destination",
    "Unable to find a device",
    "domain=com.apple.CoreSimulator.",
    "Domain=com.apple.CoreSimulator.",
    "Unable to lookup in current state",
    "Lost connection to testmanagerd",
    "Timed out while preparing device",
];

/// Tests that never began, for want of a device or because the app hangs.
const NEVER_BEGAN: [&str; 4] = [
    "The test runner hung before establishing connection",
    "Test runner never began executing tests",
    "The test runner timed out while preparing to run tests",
    "The test runner failed to initialize",
];

/// A network that keeps packages away.
const NETWORK: [&str; 7] = [
    "Could not resolve host",
    "Could not connect",
    "Connection refused",
    "Connection reset",
    "Network is unreachable",
    "network connection was lost",
    "timed out",
];

/// What did not compile or was not built.
const NOT_BUILT: [&str; 4] = [
    "The following build commands failed",
    "Testing cancelled because the build failed",
    "** BUILD FAILED **",
    "** TEST BUILD FAILED **",
];

/// Domains of those who launch and install apps.
const OF_APPS: [&str; 7] = [
    "FBSOpenApplication",
    "RBSRequestErrorDomain",
    "IXErrorDomain",
    "IXUserPresentableErrorDomain",
    "MIInstallerErrorDomain",
    "MobileInstallationErrorDomain",
    "LaunchServicesErrorDomain",
];

/// Codes of the system for a lost connection: EPIPE, ECONNABORTED, ECONNRESET, ENOTCONN, ETIMEDOUT, ECONNREFUSED of macOS.
const LOST: [i64; 6] = [32, 53, 54, 57, 60, 61];

/// Codes of macOS for a file that cannot be run: EACCES, EBADEXEC, EBADARCH, EBADMACHO, and 111 of its launcher.
const NO_PROGRAM: [i64; 5] = [13, 85, 86, 88, 111];

/// Codes of Cocoa for a connection that was interrupted, is invalid, or answers nothing.
const NO_CONNECTION: [i64; 3] = [4097, 4099, 4101];

/// Whose fault it is that `simctl`, or another tool behind `xcrun`, ended with this code.
pub(super) fn of_tool(code: i32, said: &str) -> Fault {
    let Some((domain, number)) = first_domain(said) else {
        return match code {
            _ if holds(said, &SERVICE) => Fault::Service,
            // No such device; not in this state (Xcode 12 and later).
            148 | 149 | 164 | 405 => Fault::Device,
            _ => Fault::Unclear,
        };
    };
    match domain {
        _ if OF_APPS.iter().any(|known| domain.starts_with(known)) => {
            if said.contains("for reason: Busy") {
                Fault::Device
            } else {
                Fault::Work
            }
        }
        _ if domain.starts_with("com.apple.CoreSimulator.") => Fault::Device,
        "NSMachErrorDomain" => Fault::Service,
        "NSCocoaErrorDomain" if NO_CONNECTION.contains(&number) => Fault::Service,
        "NSPOSIXErrorDomain" if LOST.contains(&number) => Fault::Service,
        "NSPOSIXErrorDomain" if NO_PROGRAM.contains(&number) => Fault::Work,
        _ => Fault::Unclear,
    }
}

/// The same of `xcodebuild`, for the device with this id.
#[must_use]
pub fn of_build(code: i32, said: &str, udid: Option<&str>) -> Fault {
    /// What `xcodebuild` ends with where its destination cannot be used.
    const NO_DESTINATION: i32 = 70;
    /// Where it cannot read or write, packages from the network included.
    const NO_FILES: i32 = 74;
    match code {
        69 | 71..=73 | 75 | 77 | 129.. => Fault::Device,
        NO_DESTINATION if is_too_old(said, udid) => Fault::Work,
        NO_DESTINATION => Fault::Device,
        NO_FILES if holds(said, &NETWORK) || !said.contains("package") => Fault::Device,
        NO_FILES => Fault::Work,
        _ if holds(said, &NOT_BUILT) || tests_began(said) => Fault::Work,
        _ if holds(said, &SERVICE) => Fault::Service,
        _ if holds(said, &DEVICE) => Fault::Device,
        _ if holds(said, &NEVER_BEGAN) => Fault::Unclear,
        _ => Fault::Work,
    }
}

/// Whether a test has begun, as `XCTest` and Swift Testing tell it.
#[must_use]
pub fn tests_began(said: &str) -> bool {
    said.lines().map(str::trim_start).any(|line| {
        let is_case = line.starts_with("Test Case '") || line.starts_with("Test case '");
        (is_case
            && (line.ends_with("started.")
                || line.contains("' passed")
                || line.contains("' failed")))
            || (line.starts_with("\u{25c7} Test ") && line.ends_with("started."))
    })
}

/// Whether this device is among those that are listed as too old for the project.
fn is_too_old(said: &str, udid: Option<&str>) -> bool {
    let Some((udid, (_, refused))) = udid.zip(said.split_once("Ineligible destinations")) else {
        return false;
    };
    let mut lines = refused.lines();
    lines.any(|line| line.contains(udid) && line.contains("deployment target"))
}

fn holds(said: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| said.contains(phrase))
}

/// Domain and code of the first error: `(domain=NSPOSIXErrorDomain, code=60)`.
fn first_domain(said: &str) -> Option<(&str, i64)> {
    let (_, rest) = said.split_once("(domain=")?;
    let (inner, _) = rest.split_once(')')?;
    let (domain, code) = inner.split_once(", code=")?;
    Some((domain, code.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESSING: &str = "An error was encountered processing the command";

    #[test]
    fn what_simctl_says_is_the_services_the_devices_or_the_works() {
        let domain = |domain: &str, code: i64| {
            format!("{PROCESSING} (domain={domain}, code={code}):\nsomething")
        };
        let cases = [
            (60, domain("NSPOSIXErrorDomain", 60), Fault::Service),
            (61, domain("NSPOSIXErrorDomain", 61), Fault::Service),
            (2, domain("NSPOSIXErrorDomain", 2), Fault::Unclear),
            (111, domain("NSPOSIXErrorDomain", 111), Fault::Work),
            (1, domain("NSMachErrorDomain", -308), Fault::Service),
            (3, domain("NSCocoaErrorDomain", 4099), Fault::Service),
            (3, domain("NSCocoaErrorDomain", 260), Fault::Unclear),
            (149, domain("com.apple.CoreSimulator.SimError", 405), Fault::Device),
            (4, domain("FBSOpenApplicationServiceErrorDomain", 4), Fault::Work),
            (
                1,
                domain("FBSOpenApplicationServiceErrorDomain", 1)
                    + " was denied for reason: Busy (\"it is installing\")",
                Fault::Device,
            ),
            (13, domain("IXUserPresentableErrorDomain", 1), Fault::Work),
            // A bundle cannot name itself after a fault of others.
            (
                13,
                domain("IXErrorDomain", 13)
                    + " CoreSimulatorService connection became invalid (domain=NSMachErrorDomain, code=-308).app",
                Fault::Work,
            ),
            (148, "Invalid device: X".to_owned(), Fault::Device),
            (
                1,
                "CoreSimulatorService connection became invalid.  Simulator services will no longer be available.".to_owned(),
                Fault::Service,
            ),
            (1, "whatever".to_owned(), Fault::Unclear),
        ];
        for (code, said, expected) in cases {
            assert_eq!(of_tool(code, &said), expected, "{code} {said}");
        }
    }

    #[test]
    fn what_xcodebuild_says_is_the_machines_only_where_no_code_was_refused_and_no_test_began() {
        let boot = "Testing failed:\n\tUnable to boot the Simulator.\n** TEST FAILED **";
        let began = "Test Case '-[A.B c]' started.\nUnable to boot the Simulator.";
        let built = "Unable to boot the Simulator.\nThe following build commands failed:\n\tPhaseScriptExecution";
        let old = "xcodebuild: error: Unable to find a destination\n\tIneligible destinations for the \"T\" scheme:\n\t\t{ platform:iOS Simulator, id:UD, error:doesn't match the deployment target }";
        let host = "xcodebuild: error: Could not resolve package dependencies:\n  Could not resolve host: example.org";
        let manifest =
            "xcodebuild: error: Could not resolve package dependencies:\n  invalid manifest";
        let cases = [
            (65, boot, Fault::Device),
            (65, began, Fault::Work),
            (65, built, Fault::Work),
            (65, "a.swift:1:1: error: x", Fault::Work),
            (65, "", Fault::Work),
            (
                65,
                "The test runner hung before establishing connection.",
                Fault::Unclear,
            ),
            (
                65,
                "CoreSimulatorService connection became invalid.",
                Fault::Service,
            ),
            (
                69,
                "You have not agreed to the Xcode license",
                Fault::Device,
            ),
            (70, "Unable to find a device matching", Fault::Device),
            (70, old, Fault::Work),
            (72, "xcrun: error: unable to find utility", Fault::Device),
            (74, "xcodebuild: error: input/output", Fault::Device),
            (74, host, Fault::Device),
            (74, manifest, Fault::Work),
            (134, "", Fault::Device),
        ];
        for (code, said, expected) in cases {
            assert_eq!(of_build(code, said, Some("UD")), expected, "{code} {said}");
        }
        assert_eq!(of_build(70, old, Some("OTHER")), Fault::Device);
    }

    #[test]
    fn the_first_test_is_seen_in_both_ways_of_writing_tests() {
        for said in [
            "Test Case '-[A.B c]' started.",
            "  Test case 'B.c()' passed on 'iPhone 17 - A (1)' (0.01 seconds)",
            "\u{25c7} Test addition() started.",
        ] {
            assert!(tests_began(said), "{said}");
        }
        for said in [
            "",
            "Test Suite 'All tests' started at 2026",
            "Testing started",
        ] {
            assert!(!tests_began(said), "{said}");
        }
    }
}
