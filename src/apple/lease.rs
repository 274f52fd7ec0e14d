//! Who may use which simulator: a lock file per device in a folder of the user, so that one trial has a device at any time,
//! also where several proctors run.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::apple::{Device, Simctl, Trouble, Wanted};
use crate::supervise::Cancel;

/// How the names of devices begin that are made for one trial.
const PREFIX: &str = "proctor-";
/// Between two looks at devices that are all in use.
const PAUSE: Duration = Duration::from_millis(100);

/// The locks of this user's simulators.
#[derive(Debug, Clone)]
pub struct Leases {
    folder: PathBuf,
}

/// A device that is one trial's; it is anybody's again when this is dropped.
#[derive(Debug)]
pub struct Lease {
    /// The device.
    pub device: Device,
    /// How long it was waited for.
    pub waited: Duration,
    /// Whether it was made for this trial, and goes with it.
    pub is_copy: bool,
    lock_path: PathBuf,
    _lock: File,
}

impl Leases {
    /// The locks below the home of a user.
    #[must_use]
    pub fn of_home(home: &Path) -> Self {
        let state = if cfg!(target_os = "macos") {
            "Library/Application Support"
        } else {
            ".local/state"
        };
        Self {
            folder: home.join(state).join("proctor/simulators"),
        }
    }

    /// Waits for a device as it is wanted, `name` being what a copy made for it is called after; nothing where none is wanted.
    ///
    /// # Errors
    /// There is no such device, it cannot be copied, or a person asked to stop.
    pub async fn take(
        &self,
        simctl: Simctl<'_>,
        (wanted, name): (&Wanted, &str),
    ) -> Result<Option<Lease>, Trouble> {
        match wanted {
            Wanted::None => Ok(None),
            Wanted::OneOf(choices) => {
                let devices = simctl.devices().await?;
                let mut found: Vec<&Device> = Vec::new();
                for choice in choices {
                    let device = choice.find(&devices);
                    let device = device.ok_or_else(|| missing(&choice.told()))?;
                    if !found.contains(&device) {
                        found.push(device);
                    }
                }
                self.first_free(&found, simctl.cancel).await.map(Some)
            }
            Wanted::CopyOf(choice) => {
                let devices = simctl.devices().await?;
                let source = choice.find(&devices);
                let source = source.ok_or_else(|| missing(&choice.told()))?;
                self.copy(simctl, source, name).await.map(Some)
            }
        }
    }

    async fn first_free(&self, devices: &[&Device], cancel: &Cancel) -> Result<Lease, Trouble> {
        let asked = Instant::now();
        loop {
            for device in devices {
                let path = self.path(&device.udid);
                if let Some(lock) = self.try_lock(&path)? {
                    return Ok(Lease {
                        device: (*device).clone(),
                        waited: asked.elapsed(),
                        is_copy: false,
                        lock_path: path,
                        _lock: lock,
                    });
                }
            }
            if cancel.level() > 0 {
                return Err(Trouble::Cancelled);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Makes a device of one's own. Its lock is taken before it is there, so that nobody takes it for a dead run's.
    async fn copy(
        &self,
        simctl: Simctl<'_>,
        source: &Device,
        name: &str,
    ) -> Result<Lease, Trouble> {
        let name = format!("{PREFIX}{name}");
        let path = self.path(&name);
        let lock = self.try_lock(&path)?;
        let lock = lock.ok_or_else(|| Trouble::Odd(format!("simulator {name} is in use")))?;
        // A device cannot be copied while it is up, so nobody may work on it meanwhile.
        let held = self.first_free(&[source], simctl.cancel).await?;
        let udid = simctl.clone_as(&source.udid, &name).await?;
        Ok(Lease {
            device: Device {
                udid,
                name,
                os: source.os.clone(),
                booted: false,
            },
            waited: held.waited,
            is_copy: true,
            lock_path: path,
            _lock: lock,
        })
    }

    /// Gives a device back; one that was made for the trial is deleted.
    ///
    /// # Errors
    /// It cannot be deleted; a later start tries again.
    pub async fn give_back(&self, simctl: Simctl<'_>, lease: Lease) -> Result<(), Trouble> {
        if !lease.is_copy {
            return Ok(());
        }
        simctl.delete(&lease.device.udid).await?;
        fs::remove_file(&lease.lock_path).ok();
        Ok(())
    }

    /// Deletes the copies of runs that are dead; the names of those that went.
    ///
    /// # Errors
    /// The tool fails.
    pub async fn sweep(&self, simctl: Simctl<'_>) -> Result<Vec<String>, Trouble> {
        let mut gone = Vec::new();
        for device in simctl.devices().await? {
            let path = self.path(&device.name);
            // A copy had a lock before it was there; one without is somebody's own, whatever its name.
            if !device.name.starts_with(PREFIX) || !path.exists() {
                continue;
            }
            let Some(_lock) = self.try_lock(&path)? else {
                continue;
            };
            simctl.delete(&device.udid).await?;
            fs::remove_file(&path).ok();
            gone.push(device.name);
        }
        Ok(gone)
    }

    fn path(&self, name: &str) -> PathBuf {
        let plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
        let name: String = name
            .chars()
            .map(|sign| if plain(sign) { sign } else { '_' })
            .collect();
        self.folder.join(format!("{name}.lock"))
    }

    fn try_lock(&self, path: &Path) -> Result<Option<File>, Trouble> {
        let odd = |what: &str, error: &std::io::Error| {
            Trouble::Odd(format!("{what} {}: {error}", path.display()))
        };
        fs::create_dir_all(&self.folder).map_err(|error| odd("make the folder of", &error))?;
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| odd("open", &error))?;
        match file.try_lock() {
            Ok(()) => {
                // For a person who looks; the lock alone counts.
                let written = file
                    .set_len(0)
                    .and_then(|()| writeln!(file, "process {}", std::process::id()));
                written.map_err(|error| odd("write", &error))?;
                Ok(Some(file))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(odd("lock", &error)),
        }
    }
}

fn missing(choice: &str) -> Trouble {
    Trouble::Odd(format!(
        "there is no simulator {choice}; `xcrun simctl list devices` names those that are there"
    ))
}
