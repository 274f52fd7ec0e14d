//! The one thread of this process that hears what shims say, for all trials.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;

use super::call_listener::CallListener;

/// Events that are taken at once.
const EVENTS: usize = 64;

static HUB: OnceLock<Result<Hub, Errno>> = OnceLock::new();

struct Hub {
    epoll: OwnedFd,
    desks: Mutex<Desks>,
}

#[derive(Default)]
struct Desks {
    last: u32,
    all: BTreeMap<u32, Arc<Mutex<CallListener>>>,
}

/// Who waits at a desk: 0 is its socket, all others are visitors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) desk: u32,
    pub(super) visitor: u32,
}

impl Key {
    fn bits(self) -> u64 {
        u64::from(self.desk) << 32 | u64::from(self.visitor)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "both halves were put together by `bits`"
    )]
    fn of(bits: u64) -> Self {
        Self {
            desk: (bits >> 32) as u32,
            visitor: bits as u32,
        }
    }
}

/// Lets a desk be heard from now on, until [`remove`].
pub(super) fn add(desk: CallListener) -> io::Result<(u32, Arc<Mutex<CallListener>>)> {
    let hub = hub()?;
    let desk = Arc::new(Mutex::new(desk));
    let number = {
        let mut desks = lock(&hub.desks);
        desks.last = desks.last.wrapping_add(1);
        let number = desks.last;
        desks.all.insert(number, Arc::clone(&desk));
        number
    };
    let opened = lock(&desk).opens(number);
    opened.inspect_err(|_| remove(number))?;
    Ok((number, desk))
}

/// Hears a desk no more.
pub(super) fn remove(desk: u32) {
    if let Ok(hub) = hub() {
        lock(&hub.desks).all.remove(&desk);
    }
}

/// Waits for something to be read; it ends when the descriptor is closed.
pub(super) fn watch(what: impl AsFd, key: Key) -> io::Result<()> {
    let data = epoll::EventData::new_u64(key.bits());
    Ok(epoll::add(
        &hub()?.epoll,
        what,
        data,
        epoll::EventFlags::IN,
    )?)
}

/// Waits for it no more.
pub(super) fn unwatch(what: impl AsFd) {
    if let Ok(hub) = hub() {
        epoll::delete(&hub.epoll, what).ok();
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hub, with its thread from the first call on.
fn hub() -> io::Result<&'static Hub> {
    let hub = HUB.get_or_init(|| {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        thread::Builder::new()
            .name("shims".to_owned())
            .spawn(hear)
            .map_err(|_| Errno::AGAIN)?;
        Ok(Hub {
            epoll,
            desks: Mutex::default(),
        })
    });
    hub.as_ref().map_err(|error| (*error).into())
}

fn hear() {
    // The thread may be there before the hub is.
    let hub = loop {
        match HUB.get() {
            Some(Ok(hub)) => break hub,
            Some(Err(_)) => return,
            None => thread::yield_now(),
        }
    };
    let mut events = Vec::with_capacity(EVENTS);
    loop {
        events.clear();
        match epoll::wait(&hub.epoll, spare_capacity(&mut events), None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return tracing::error!("calls of shims are heard no more: {error}"),
        }
        for event in &events {
            let key = Key::of(event.data.u64());
            let desk = lock(&hub.desks).all.get(&key.desk).cloned();
            if let Some(desk) = desk {
                lock(&desk).attend(key.visitor);
            }
        }
    }
}
