//! A file size limit (`ulimit -f`) fails a write instead of ending this process.
#![expect(unsafe_code, reason = "neither std nor rustix says what a signal does")]

/// From now on a write beyond the limit is an error like any other (EFBIG). Programs that are started have the default again.
pub fn size_limit_is_an_error() {
    extern "C" fn go_on(_signal: libc::c_int) {}
    // SAFETY: the handler does nothing, so it may run at any time; a program that is started loses it.
    unsafe { libc::signal(libc::SIGXFSZ, go_on as *const () as libc::sighandler_t) };
}
