//! The C interface: argument buffers, their layout and the types in them.

use super::{HMArguments, HMError, HMFunction, HMPipeline, borrow, elements, give, put, release, share};
use crate::arguments::{Arguments, Wanted};
use crate::encode::Misuse;
use crate::pipeline::BUFFER;
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

/// HMArgument: what an argument is asked to be (MTLArgumentDescriptor).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMArgument {
    /// MTLDataType.
    pub data_type: u32,
    /// Among the arguments.
    pub index: u32,
    /// 0 for no array.
    pub array_length: u32,
    /// MTLBindingAccess.
    pub access: u32,
    /// MTLTextureType of a texture.
    pub texture_type: u32,
    /// At least; 0 for what the type asks for.
    pub alignment: u64,
}

/// HMType: a type in a buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMType {
    /// A member's name, "" for other types; valid while the arguments live.
    pub name: *const c_char,
    /// MTLDataType.
    pub data_type: u32,
    /// Index of a member's first argument.
    pub argument_index: u32,
    /// Arguments that it takes.
    pub argument_count: u32,
    /// MTLBindingAccess of a texture, or of what a pointer points to.
    pub access: u32,
    /// MTLTextureType of a texture.
    pub texture_type: u32,
    /// MTLDataType of a texture's components.
    pub texture_data_type: u32,
    /// Elements of an array; of a texture: 1 when it is a depth texture.
    pub count: u32,
    /// Types below this one, which follow it.
    pub descendants: u32,
    /// Whether textures, samplers, pointers and the like are in it.
    pub resources: bool,
    /// Of a member, in its structure.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
    /// In bytes.
    pub alignment: u64,
}

/// # Safety
/// `misuse` is valid for writes.
unsafe fn made(result: Result<Arguments, Misuse>, misuse: *mut *const c_char) -> HMArguments {
    let (handle, text) = match result {
        Ok(arguments) => (give(Arc::new(arguments)), ptr::null()),
        Err(text) => (HMArguments::NULL, text.as_ptr()),
    };
    // SAFETY: as the caller promises.
    unsafe { put(misuse, text) };
    handle
}

/// What the buffer argument at an index of a function points to; NULL with *error set when the function does not compile,
/// NULL without when it has no such argument.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_arguments(function: HMFunction, index: u32, error: *mut HMError) -> HMArguments {
    // SAFETY: as the module above says.
    let (handle, value) = match unsafe { borrow(function) }.bindings() {
        Ok(bindings) => {
            let mut buffers = bindings.iter().filter(|binding| binding.kind == BUFFER);
            let found = buffers.find(|binding| binding.index == index);
            let handle = found.map_or(HMArguments::NULL, |binding| give(Arc::new(Arguments::new(&binding.types))));
            (handle, HMError::NONE)
        }
        Err(failure) => (HMArguments::NULL, HMError::from(failure)),
    };
    // SAFETY: as the module above says.
    unsafe { put(error, value) };
    handle
}

/// What the buffer argument at a position among a pipeline's bindings points to; NULL for another argument.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_pipeline_arguments(pipeline: HMPipeline, position: usize) -> HMArguments {
    // SAFETY: as the module above says.
    let found = unsafe { borrow(pipeline) }.bindings.get(position);
    found
        .filter(|binding| binding.kind == BUFFER)
        .map_or(HMArguments::NULL, |binding| give(Arc::new(Arguments::new(&binding.types))))
}

/// What stands for a pipeline in memory.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_pipeline_handle(pipeline: HMPipeline) -> u64 {
    // SAFETY: as the module above says.
    unsafe { share(pipeline) }.map_or(0, |pipeline| pipeline.handle())
}

/// A structure with these arguments in the order of their indices.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_arguments_create(
    arguments: *const HMArgument,
    count: usize,
    misuse: *mut *const c_char,
) -> HMArguments {
    // SAFETY: as the module above says.
    let given = unsafe { elements(arguments, count) };
    let wanted: Vec<Wanted> = given
        .iter()
        .map(|&HMArgument { data_type, index, array_length, access, texture_type, alignment }| Wanted {
            data_type,
            index,
            count: array_length,
            access,
            texture_type,
            alignment,
        })
        .collect();
    // SAFETY: as the module above says.
    unsafe { made(Arguments::of_list(&wanted), misuse) }
}

/// What the pointer with an index points to.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_arguments_pointee(
    arguments: HMArguments,
    index: u32,
    misuse: *mut *const c_char,
) -> HMArguments {
    // SAFETY: as the module above says.
    let pointee = unsafe { borrow(arguments) }.pointee(index);
    // SAFETY: as the module above says.
    unsafe { made(pointee, misuse) }
}

/// Bytes of the structure.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_arguments_length(arguments: HMArguments) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(arguments) }.extent().0
}

/// What the structure's address is a multiple of.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_arguments_alignment(arguments: HMArguments) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(arguments) }.extent().1
}

/// Where the argument with an index lies; it must be of the MTLDataType, 0 for a value of any type.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_arguments_find(
    arguments: HMArguments,
    index: u32,
    data_type: u32,
    offset: *mut u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    match unsafe { borrow(arguments) }.find(index, data_type) {
        Ok(found) => {
            // SAFETY: as the module above says.
            unsafe { put(offset, found) };
            ptr::null()
        }
        Err(text) => text.as_ptr(),
    }
}

/// A type of the tree, in preorder; false when out of range.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_arguments_type(arguments: HMArguments, position: usize, into: *mut HMType) -> bool {
    // SAFETY: as the module above says.
    let Some(node) = unsafe { borrow(arguments) }.nodes.get(position) else { return false };
    let kind = &node.kind;
    let value = HMType {
        name: node.name.as_ptr(),
        data_type: kind.data_type.0,
        argument_index: node.index,
        argument_count: node.span,
        access: kind.access,
        texture_type: kind.texture_type,
        texture_data_type: kind.element.0,
        count: kind.count,
        descendants: kind.descendants,
        resources: node.resources,
        offset: kind.offset,
        size: kind.size,
        alignment: kind.alignment,
    };
    // SAFETY: as the module above says.
    unsafe { put(into, value) };
    true
}

/// Another reference to the same.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_arguments_retain(arguments: HMArguments) -> HMArguments {
    // SAFETY: as the module above says.
    unsafe { share(arguments) }.map_or(HMArguments::NULL, give)
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_arguments_release(arguments: HMArguments) {
    // SAFETY: as the module above says.
    unsafe { release(arguments) };
}
