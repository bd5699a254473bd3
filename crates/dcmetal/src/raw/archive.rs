//! Binary archives.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use super::{Device, Failure, Function, c_string, check, handle};
use crate::sys;

handle!(
    /// `MTLBinaryArchive`.
    DCMetalArchive,
    DCMetalArchive_Release
);

pub(crate) type Archive = DCMetalArchive;

impl DCMetalArchive {
    pub(crate) fn new(device: &Device) -> Result<Archive, Failure> {
        let (mut archive, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalArchive_Create(device.0, &mut archive, &mut error) };
        check(status, error)?;
        Ok(DCMetalArchive(archive))
    }

    /// What `write` wrote. The file's code may be run.
    pub(crate) fn read(device: &Device, path: &Path) -> Result<Archive, Failure> {
        let path = c_path(path)?;
        let (mut archive, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle and a terminated string; the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalArchive_CreateFromFile(device.0, path.as_ptr(), &mut archive, &mut error) };
        check(status, error)?;
        Ok(DCMetalArchive(archive))
    }

    /// Compiles a pipeline with default options into it.
    pub(crate) fn add(&mut self, function: &Function) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        // SAFETY: live handles; no options; the out-parameter is valid for the call. `&mut` keeps other threads away.
        let status = unsafe { sys::DCMetalArchive_AddPipeline(self.0, function.0, ptr::null(), &mut error) };
        check(status, error)
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let path = c_path(path)?;
        let mut error = ptr::null_mut();
        // SAFETY: a live handle and a terminated string; the out-parameter is valid for the call.
        let status = unsafe { sys::DCMetalArchive_Serialize(self.0, path.as_ptr(), &mut error) };
        check(status, error)
    }
}

fn c_path(path: &Path) -> Result<std::ffi::CString, Failure> {
    // The ABI takes UTF-8; other names are refused there.
    match std::str::from_utf8(path.as_os_str().as_bytes()) {
        Ok(path) => c_string(path),
        Err(_) => c_string("\0"),
    }
}
