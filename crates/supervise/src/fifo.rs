//! Named pipes, for the tests of every crate.
#![expect(unsafe_code, reason = "rustix makes named pipes on Linux only")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Makes a named pipe that its owner may read and write.
///
/// # Panics
/// If the system makes none.
pub fn make_fifo(at: &Path) {
    let path = CString::new(at.as_os_str().as_bytes()).expect("a path without NUL");
    // SAFETY: the text ends in NUL and lives until the call is over.
    let made = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
}
