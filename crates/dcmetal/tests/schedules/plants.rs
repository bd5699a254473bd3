//! Mistakes that Miri must report, of programs that keep a pointer for longer than dcmetal's guards let them: so that the models' silence says something.
//! `--plant` names one (`scripts/miri`).

use std::hint::black_box;

use crate::{buffer, fill, gpu, schedule};

const PLANTS: &[(&str, fn())] =
    &[("race", race), ("aliasing", aliasing), ("use-after-free", use_after_free), ("leak", leak)];

/// # Panics
/// For a name of none.
pub(crate) fn run(name: &str) {
    let (_, plant) = PLANTS.iter().find(|(plant, _)| *plant == name).expect("the name of a planted mistake");
    schedule::check(*plant);
}

/// The host reads while the device may write.
fn race() {
    let gpu = gpu();
    let mut x = buffer(&gpu);
    let start = x.read().unwrap().as_ptr();
    let submission = fill(&gpu, &mut x, 1).unwrap();
    // SAFETY: none, which is the mistake: the guard has gone.
    black_box(unsafe { *start });
    submission.wait().unwrap();
}

/// The host writes by a pointer of before the device's write.
fn aliasing() {
    let gpu = gpu();
    let mut x = buffer(&gpu);
    let start = x.write().unwrap().as_mut_ptr();
    fill(&gpu, &mut x, 1).unwrap().wait().unwrap();
    // SAFETY: none, which is the mistake: the guard has gone.
    unsafe { *start = 2 };
}

fn use_after_free() {
    let gpu = gpu();
    let x = buffer(&gpu);
    let start = x.read().unwrap().as_ptr();
    drop(x);
    // SAFETY: none, which is the mistake: the memory has gone.
    black_box(unsafe { *start });
}

fn leak() {
    std::mem::forget(buffer(&gpu()));
}
