//! `screenshot_exists` and `screenshot_compare`.

use std::fs;
use std::path::{Path, PathBuf};

use super::context::{GradeContext, aside};
use super::opinion::{Opinion, PASS, error, fail};
use super::{inside, pixels};
use proctor_record::write_file;

/// No screenshot is larger.
const MAX_BYTES: u64 = 64 << 20;

/// Whether a PNG is there.
pub(super) async fn exists(path: &Path, ctx: &GradeContext<'_>) -> Opinion {
    let wanted = Wanted::new(path, ctx);
    let looked = aside(move || whole(&wanted.read()?));
    match looked.await {
        Some(Ok(())) => PASS,
        Some(Err(opinion)) => opinion,
        None => error("grader_panicked"),
    }
}

/// Whether a screenshot looks like the reference. Where it does not, both are laid beside each other in a picture next to the
/// grader's log: the reference on the left.
pub(super) async fn compare(
    path: &Path,
    reference: &Path,
    threshold: u32,
    ctx: &GradeContext<'_>,
    log: &Path,
) -> Opinion {
    let wanted = Wanted::new(path, ctx);
    let reference = reference.to_owned();
    let picture = log.with_extension("png");
    let looked = aside(move || {
        let unreadable = |why: String| {
            error(format!(
                "screenshot_reference_unreadable:{}: {why}",
                reference.display()
            ))
        };
        // The operator's own file: it may be reached through links.
        let real = fs::canonicalize(&reference).map_err(|why| unreadable(why.to_string()))?;
        let reference =
            inside::read_regular(&real, MAX_BYTES).map_err(|why| unreadable(why.to_string()))?;
        let known = pixels::Look::of(&reference).map_err(unreadable)?;
        let bytes = wanted.read()?;
        whole(&bytes)?;
        let seen = pixels::Look::of(&bytes).map_err(|_| invalid())?;
        let distance = known.distance(&seen);
        if distance > threshold
            && let Some(both) = pixels::side_by_side(&reference, &bytes)
        {
            // A picture that cannot be written is no reason to lose a verdict.
            write_file(&picture, &both).ok();
        }
        Ok::<_, Opinion>(distance)
    });
    match looked.await {
        Some(Ok(distance)) if distance <= threshold => PASS,
        Some(Ok(distance)) => fail(format!(
            "screenshot_mismatch:distance={distance},threshold={threshold}"
        )),
        Some(Err(opinion)) => opinion,
        None => error("grader_panicked"),
    }
}

fn whole(bytes: &[u8]) -> Result<(), Opinion> {
    if pixels::is_whole_png(bytes) {
        Ok(())
    } else {
        Err(invalid())
    }
}

fn invalid() -> Opinion {
    fail("screenshot_invalid_png")
}

/// A screenshot that the agent should have made.
struct Wanted {
    path: PathBuf,
    root: PathBuf,
    project_dir: PathBuf,
}

impl Wanted {
    fn new(path: &Path, ctx: &GradeContext<'_>) -> Self {
        Self {
            path: path.to_owned(),
            root: ctx.root.to_owned(),
            project_dir: ctx.project_dir.to_owned(),
        }
    }

    fn read(&self) -> Result<Vec<u8>, Opinion> {
        inside::resolve_in(&self.root, &self.project_dir, &self.path)
            .and_then(|real| inside::read_regular(&real, MAX_BYTES).ok())
            .ok_or_else(|| fail(format!("screenshot_not_found:{}", self.path.display())))
    }
}
