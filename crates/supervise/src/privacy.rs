//! Keeps what this process knows from other processes of the same user.

/// Closes the environment, memory and descriptors of this process to other processes of its user (Linux: the process is
/// no longer dumpable, so `/proc/PID/environ` and tracing are refused, and a crash leaves no core with keys in it).
///
/// Children are not affected: they are as open as ever once they have become another program. Root, and whoever may
/// trace everything, still sees all.
pub fn hide_from_others() {
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::debug!(%error, "the environment of the harness stays readable");
    }
}
