//! `xcrun simctl`: devices and the apps on them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::apple::{Trouble, Xcode};
use crate::supervise::Cancel;

/// How soon a launched app that crashes is seen to be gone.
const SETTLED: Duration = Duration::from_millis(500);

/// A simulated device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its id.
    pub udid: String,
    /// Its name; several may have the same.
    pub name: String,
    /// The runtime's version as destinations spell it (`26.1`); empty where the identifier tells none.
    pub os: String,
    /// Whether it is booted.
    pub booted: bool,
}

#[derive(Deserialize)]
struct Listed {
    devices: BTreeMap<String, Vec<ListedDevice>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedDevice {
    udid: String,
    name: String,
    state: String,
    #[serde(default = "yes")]
    is_available: bool,
}

const fn yes() -> bool {
    true
}

/// The devices that `simctl list devices -j` tells of and that can be used, in its order.
///
/// # Errors
/// The text is not what `simctl` says.
pub fn devices_told(text: &str) -> Result<Vec<Device>, Trouble> {
    let listed: Listed = serde_json::from_str(text)
        .map_err(|error| Trouble::Odd(format!("simctl list cannot be read: {error}")))?;
    let of_runtime = |(runtime, devices): (String, Vec<ListedDevice>)| {
        let os = version_of(&runtime);
        let usable = devices.into_iter().filter(|device| device.is_available);
        let device = move |device: ListedDevice| Device {
            udid: device.udid,
            name: device.name,
            os: os.clone(),
            booted: device.state == "Booted",
        };
        usable.map(device).collect::<Vec<_>>()
    };
    Ok(listed.devices.into_iter().flat_map(of_runtime).collect())
}

/// `26.1` of `com.apple.CoreSimulator.SimRuntime.iOS-26-1`.
fn version_of(runtime: &str) -> String {
    let last = runtime.rsplit('.').next().unwrap_or_default();
    let version = last.split_once('-').map_or("", |(_, version)| version);
    version.replace('-', ".")
}

/// `simctl` of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Simctl<'a> {
    /// The tools.
    pub xcode: &'a Xcode,
    /// A person's wish to stop.
    pub cancel: &'a Cancel,
}

impl Simctl<'_> {
    async fn ask(&self, words: &[&str]) -> Result<String, Trouble> {
        let words: Vec<&str> = std::iter::once("simctl")
            .chain(words.iter().copied())
            .collect();
        self.xcode.xcrun(&words, self.cancel).await
    }

    /// All devices that can be used.
    ///
    /// # Errors
    /// The tool fails.
    pub async fn devices(&self) -> Result<Vec<Device>, Trouble> {
        devices_told(&self.ask(&["list", "devices", "-j"]).await?)
    }

    /// The runtimes that can be used, by name.
    ///
    /// # Errors
    /// The tool fails.
    pub async fn runtimes(&self) -> Result<Vec<String>, Trouble> {
        #[derive(Deserialize)]
        struct All {
            runtimes: Vec<One>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct One {
            name: String,
            #[serde(default = "yes")]
            is_available: bool,
        }
        let told = self.ask(&["list", "runtimes", "-j"]).await?;
        let all: All = serde_json::from_str(&told)
            .map_err(|error| Trouble::Odd(format!("simctl list runtimes: {error}")))?;
        let usable = all.runtimes.into_iter().filter(|one| one.is_available);
        Ok(usable.map(|one| one.name).collect())
    }

    async fn is_booted(&self, udid: &str) -> Result<bool, Trouble> {
        let devices = self.devices().await?;
        let found = devices.iter().find(|device| device.udid == udid);
        let lost = || Trouble::Odd(format!("there is no simulator {udid} any more"));
        found.map(|device| device.booted).ok_or_else(lost)
    }

    /// Boots a device and waits until it is up; where that fails, once more after it was shut down, with all that is on it.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn boot(&self, udid: &str) -> Result<(), Trouble> {
        match self.boot_once(udid).await {
            Ok(()) => Ok(()),
            Err(Trouble::Cancelled) => Err(Trouble::Cancelled),
            Err(why) => {
                tracing::debug!(udid, %why, "a simulator does not boot; it is shut down");
                self.shutdown(udid).await?;
                self.boot_once(udid).await
            }
        }
    }

    /// The same for a device on which nothing is needed: it is erased in between.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn boot_or_erase(&self, udid: &str) -> Result<(), Trouble> {
        match self.boot_once(udid).await {
            Ok(()) => Ok(()),
            Err(Trouble::Cancelled) => Err(Trouble::Cancelled),
            Err(why) => {
                tracing::debug!(udid, %why, "a simulator does not boot; it is erased");
                self.erase(udid).await?;
                self.boot_once(udid).await
            }
        }
    }

    async fn boot_once(&self, udid: &str) -> Result<(), Trouble> {
        self.ask(&["bootstatus", udid, "-b"]).await?;
        if self.is_booted(udid).await? {
            return Ok(());
        }
        Err(Trouble::Odd(format!(
            "simulator {udid} is not booted though simctl says so"
        )))
    }

    /// Whether the tool answers and the device is up, without any recovery.
    pub async fn answers(&self, udid: &str) -> bool {
        let words = ["simctl", "list", "devices", "-j"];
        let told = self.xcode.once(&words, self.cancel).await;
        let devices = told.and_then(|told| devices_told(&told));
        devices.is_ok_and(|devices| {
            devices
                .iter()
                .any(|device| device.udid == udid && device.booted)
        })
    }

    /// Shuts a device down, if it is up.
    ///
    /// # Errors
    /// It stays up.
    pub async fn shutdown(&self, udid: &str) -> Result<(), Trouble> {
        match self.ask(&["shutdown", udid]).await {
            // Also said of a device that is down already.
            Err(Trouble::Failed { .. }) if !self.is_booted(udid).await? => Ok(()),
            other => other.map(drop),
        }
    }

    /// Takes everything from a device.
    ///
    /// # Errors
    /// It cannot be shut down or erased.
    pub async fn erase(&self, udid: &str) -> Result<(), Trouble> {
        self.shutdown(udid).await?;
        self.ask(&["erase", udid]).await.map(drop)
    }

    /// Copies a device, which is shut down for it; the copy's id.
    ///
    /// # Errors
    /// The copy cannot be made.
    pub async fn clone_as(&self, udid: &str, name: &str) -> Result<String, Trouble> {
        self.shutdown(udid).await?;
        let told = self.ask(&["clone", udid, name]).await?;
        let made = told.trim();
        if made.is_empty() {
            return Err(Trouble::Odd("simctl clone names no device".to_owned()));
        }
        Ok(made.to_owned())
    }

    /// Shuts a device down and deletes it.
    ///
    /// # Errors
    /// It stays.
    pub async fn delete(&self, udid: &str) -> Result<(), Trouble> {
        self.shutdown(udid).await?;
        self.ask(&["delete", udid]).await.map(drop)
    }

    /// Whether an app is installed: the tool names its folder, and there is one.
    ///
    /// # Errors
    /// The tool does not answer.
    pub async fn is_installed(&self, udid: &str, bundle: &str) -> Result<bool, Trouble> {
        /// What the tool ends with where the device has no such app: the system's "no such file".
        const ABSENT: i32 = 2;
        match self.ask(&["get_app_container", udid, bundle, "app"]).await {
            Ok(told) => Ok(Path::new(told.trim()).is_dir()),
            Err(trouble) if trouble.code() == Some(ABSENT) => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }

    /// Launches an app anew; whether it runs, and still does a moment later.
    ///
    /// # Errors
    /// The tool does not answer.
    pub async fn launch(&self, udid: &str, bundle: &str) -> Result<bool, Trouble> {
        let words = ["launch", "--terminate-running-process", udid, bundle];
        match self.ask(&words).await {
            Ok(_) => {}
            Err(trouble) if trouble.is_of_device() => return Err(trouble),
            Err(Trouble::Failed { .. }) => return Ok(false),
            Err(trouble) => return Err(trouble),
        }
        tokio::time::sleep(SETTLED).await;
        match self.ask(&["spawn", udid, "launchctl", "list"]).await {
            Ok(jobs) => Ok(jobs.contains(&format!("UIKitApplication:{bundle}["))),
            // A runtime without that list: the launch itself has to do.
            Err(Trouble::Failed { .. }) => Ok(true),
            Err(trouble) => Err(trouble),
        }
    }

    /// Ends an app and takes it from a device that is up; where it stays, the device is erased.
    ///
    /// # Errors
    /// The app is still there.
    pub async fn remove_app(&self, udid: &str, bundle: &str) -> Result<(), Trouble> {
        self.boot_or_erase(udid).await?;
        for word in ["terminate", "uninstall"] {
            // An app that does not run or is not there is no trouble; whether it is gone is looked at.
            match self.ask(&[word, udid, bundle]).await {
                Ok(_) | Err(Trouble::Failed { .. }) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        if !self.is_installed(udid, bundle).await? {
            return Ok(());
        }
        self.erase(udid).await?;
        self.boot(udid).await?;
        if self.is_installed(udid, bundle).await? {
            return Err(Trouble::Odd(format!(
                "{bundle} cannot be removed from simulator {udid}"
            )));
        }
        Ok(())
    }

    /// Installs an app from its folder.
    ///
    /// # Errors
    /// It cannot be installed.
    pub async fn install(&self, udid: &str, app: &Path) -> Result<(), Trouble> {
        let app = app.to_string_lossy();
        self.ask(&["install", udid, &app]).await.map(drop)
    }
}
