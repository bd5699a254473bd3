//! Binary archives: compiled pipelines in files.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use dcmetal_sys::*;

use crate::support::*;

const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;

const SOURCE: &str = "kernel void twice(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }\n\
    kernel void thrice(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 3; }";

/// A folder of this case's own, gone at its end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("dcmetal-abi-{}-{name}", std::process::id()));
        fs::create_dir(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is there");
    }
}

fn c_path(path: &Path) -> std::ffi::CString {
    std::ffi::CString::new(path.as_os_str().as_bytes()).expect("no NUL inside")
}

fn empty(gpu: &Gpu) -> Owned<DCMetalArchive> {
    create(|out, error| dc!(DCMetalArchive_Create(gpu.device.0, out, error))).expect("an archive")
}

fn read(gpu: &Gpu, path: &Path) -> Result<Owned<DCMetalArchive>, Failure> {
    let path = c_path(path);
    create(|out, error| dc!(DCMetalArchive_CreateFromFile(gpu.device.0, path.as_ptr(), out, error)))
}

fn write(archive: &Owned<DCMetalArchive>, path: &Path) -> Result<(), Failure> {
    let path = c_path(path);
    attempt(|error| dc!(DCMetalArchive_Serialize(archive.0, path.as_ptr(), error)))
}

fn add(archive: &Owned<DCMetalArchive>, function: &Owned<DCMetalFunction>) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalArchive_AddPipeline(archive.0, function.0, ptr::null(), error)))
}

/// The pipeline, compiled or not.
fn pipeline(
    gpu: &Gpu,
    function: &Owned<DCMetalFunction>,
    archives: &[DCMetalArchive],
    only: bool,
) -> Result<Owned<DCMetalPipeline>, Failure> {
    let (list, count) = (archives.as_ptr(), archives.len());
    let device = gpu.device.0;
    create(|out, error| {
        dc!(DCMetalPipeline_CreateWithArchives(device, function.0, ptr::null(), list, count, only, out, error))
    })
}

fn runs(gpu: &Gpu, pipeline: &Owned<DCMetalPipeline>, wanted: [u32; 4]) {
    let x = gpu.buffer_of(&[1u32, 2, 3, 4]);
    gpu.compute(|encoder| {
        set_pipeline(encoder, pipeline);
        set_buffer(encoder, &x, 0, 0);
        dispatch_threads(encoder, size(4, 1, 1), size(4, 1, 1)).expect("a dispatch");
    })
    .expect("it completes");
    assert_eq!(contents::<u32>(&x), wanted);
}

pub(crate) fn archive_gives_pipelines_without_compiling() {
    let gpu = Gpu::new();
    let folder = Folder::new("gives");
    let library = gpu.library(SOURCE).expect("it compiles");
    let named = |name| function(&library, name, ptr::null_mut()).expect("the function");
    let (twice, thrice) = (named("twice"), named("thrice"));
    let archive = empty(&gpu);
    assert!(pipeline(&gpu, &twice, &[archive.0], true).is_err(), "it is empty");
    add(&archive, &twice).expect("it compiles");
    add(&archive, &twice).expect("a second time is fine");
    let path = folder.0.join("kernels.archive");
    write(&archive, &path).expect("it is written");
    drop(archive);
    let archive = read(&gpu, &path).expect("it is read");
    runs(&gpu, &pipeline(&gpu, &twice, &[archive.0], true).expect("it is there"), [2, 4, 6, 8]);
    let missed = pipeline(&gpu, &thrice, &[archive.0], true).err().expect("it is not there");
    assert_eq!(missed.status, DC_METAL_FAILED, "{missed:?}");
    runs(&gpu, &pipeline(&gpu, &thrice, &[archive.0], false).expect("it is compiled"), [3, 6, 9, 12]);
    // From the second of two, when the first lacks it; the pipeline keeps what it needs.
    let other = empty(&gpu);
    let found = pipeline(&gpu, &twice, &[other.0, archive.0], true).expect("it is in the second");
    drop((archive, other));
    fs::remove_file(&path).expect("it is there");
    runs(&gpu, &found, [2, 4, 6, 8]);
}

pub(crate) fn archive_of_a_wrong_file_is_refused() {
    let gpu = Gpu::new();
    let folder = Folder::new("wrong");
    let path = folder.0.join("kernels.archive");
    assert_eq!(read(&gpu, &path).err().expect("there is none").status, DC_METAL_FAILED);
    let library = gpu.library(SOURCE).expect("it compiles");
    let archive = empty(&gpu);
    add(&archive, &function(&library, "twice", ptr::null_mut()).expect("the function")).expect("it compiles");
    write(&archive, &path).expect("it is written");
    let good = fs::read(&path).expect("it is there");
    let mut damaged = good.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for bytes in [&good[..good.len() - 1], &damaged, b"", b"something else"] {
        fs::write(&path, bytes).expect("it is written");
        let failure = read(&gpu, &path).err().expect("it is damaged");
        assert_eq!(
            (failure.status, failure.domain.as_str()),
            (DC_METAL_FAILED, "MTLBinaryArchiveDomain"),
            "{failure:?}"
        );
    }
    assert_eq!(write(&archive, &folder.0.join("absent/file")).expect_err("no folder").status, DC_METAL_FAILED);
}

pub(crate) fn archive_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let device = gpu.device.0;
    let library = gpu.library(SOURCE).expect("it compiles");
    let function = function(&library, "twice", ptr::null_mut()).expect("the function");
    let (archive, path) = (empty(&gpu), c("/nowhere/at/all"));
    let (none, text) = (ptr::null_mut(), path.as_ptr());
    refused(INVALID, create(|out, error| dc!(DCMetalArchive_Create(ptr::null_mut(), out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalArchive_Create(device, ptr::null_mut(), error))));
    refused(INVALID, create(|out, error| dc!(DCMetalArchive_CreateFromFile(ptr::null_mut(), text, out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalArchive_CreateFromFile(device, text, ptr::null_mut(), error))));
    let (empty, bad) = (c(""), [0xffu8, 0]);
    for path in [ptr::null(), empty.as_ptr(), bad.as_ptr().cast()] {
        refused(INVALID, create(|out, error| dc!(DCMetalArchive_CreateFromFile(device, path, out, error))));
        refused(INVALID, attempt(|error| dc!(DCMetalArchive_Serialize(archive.0, path, error))));
    }
    refused(INVALID, attempt(|error| dc!(DCMetalArchive_Serialize(DCMetalArchive::NULL, text, error))));
    let add = |archive, function| attempt(|e| dc!(DCMetalArchive_AddPipeline(archive, function, ptr::null(), e)));
    refused(INVALID, add(DCMetalArchive::NULL, function.0));
    refused(INVALID, add(archive.0, DCMetalFunction::NULL));
    let make = |device, function, list, count| {
        create(|out, error| {
            dc!(DCMetalPipeline_CreateWithArchives(device, function, ptr::null(), list, count, true, out, error))
        })
    };
    let (one, null) = ([archive.0], [DCMetalArchive::NULL]);
    refused(INVALID, make(ptr::null_mut(), function.0, one.as_ptr(), 1));
    refused(INVALID, make(device, DCMetalFunction::NULL, one.as_ptr(), 1));
    refused(INVALID, make(device, function.0, ptr::null(), 1));
    refused(INVALID, make(device, function.0, null.as_ptr(), 1));
    let only = true;
    refused(
        INVALID,
        attempt(|error| {
            let (list, options) = (one.as_ptr(), ptr::null());
            dc!(DCMetalPipeline_CreateWithArchives(device, function.0, options, list, 1, only, none, error))
        }),
    );
    dc!(DCMetalArchive_Release(DCMetalArchive::NULL));
}
