//! How busy the machine is: what may make two trials differ although the agents did the same.

use std::fs;

use crate::model::HostLoad;

/// The load and the free memory of this moment; absent where the system does not tell (anywhere but on Linux).
#[must_use]
pub fn host_load() -> HostLoad {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    HostLoad {
        load_1m: load.split(' ').next().and_then(|load| load.parse().ok()),
        free_memory_kib: memory.lines().find_map(|line| {
            let figure = line.strip_prefix("MemAvailable:")?;
            figure.trim().trim_end_matches(" kB").parse().ok()
        }),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_load_of_this_machine_can_be_told() {
        let load = host_load();
        assert!(load.load_1m.is_some_and(|load| load >= 0.0), "{load:?}");
        assert!(load.free_memory_kib.is_some_and(|free| free > 1024));
    }
}
