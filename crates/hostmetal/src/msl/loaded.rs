//! A compiled kernel in memory: the shared object, its entry and the tables it carries.
//!
//! The one place of the compiler front that needs `unsafe`: symbols of a shared object have no type. The object is our
//! own compiler's output,
//! built a moment ago in a directory only this user can write to; its tables are checked all the same, because the
//! layouts are
//! stated twice (here and in native/hostmetal/msl/hostmetal_kernel.h).

use super::constants::DataType;
use super::engine::Built;
use super::stage::{AttributeInfo, PLACES};
use crate::executor::{Entry, RuntimeTable, SAMPLERS, SLOTS, Span, TEXTURES, ThreadgroupVariable};
use libloading::os::unix::{self, RTLD_LOCAL, RTLD_NOW};
use std::ffi::CStr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `hostmetal::info_version` of the header.
const INFO_VERSION: u32 = 6;
/// More bindings than the argument tables have places.
const MOST_BINDINGS: u32 = 31 + 31 + 128 + 16 + 1;
/// More threadgroup variables than any kernel can use.
const MOST_VARIABLES: usize = 4096;

/// `hm_used` of the header: bits by index, of buffers, threadgroup memory, textures (two words), samplers, the imageblock.
#[derive(Clone, Copy)]
struct Used([u64; 6]);

impl Used {
    /// Whether the code uses any of some arguments.
    fn any(&self, kind: BindingKind, index: u32, count: u32) -> bool {
        let word = match kind {
            BindingKind::Buffer | BindingKind::VisibleFunctionTable => 0,
            BindingKind::ThreadgroupMemory => 1,
            BindingKind::Texture => 2,
            BindingKind::Sampler => 4,
            BindingKind::Imageblock => 5,
        };
        (index..index + count).any(|at| self.0[word + at as usize / 64] >> (at % 64) & 1 == 1)
    }
}

/// What kind of argument a binding is (`MTLBindingType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingKind {
    Buffer,
    ThreadgroupMemory,
    Texture,
    Sampler,
    Imageblock,
    VisibleFunctionTable,
}

impl BindingKind {
    /// Places of the argument table of this kind.
    fn places(self) -> u32 {
        match self {
            BindingKind::Buffer | BindingKind::ThreadgroupMemory | BindingKind::VisibleFunctionTable => SLOTS as u32,
            BindingKind::Texture => TEXTURES as u32,
            BindingKind::Sampler => SAMPLERS as u32,
            BindingKind::Imageblock => 1,
        }
    }

    /// Tables of functions are bound where buffers are.
    fn table(self) -> BindingKind {
        match self {
            BindingKind::VisibleFunctionTable => BindingKind::Buffer,
            other => other,
        }
    }
}

/// Whether a kernel may write through a binding (`MTLBindingAccess`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    ReadWrite,
    WriteOnly,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The parameter's name; empty for an unnamed one.
    pub name: String,
    pub kind: BindingKind,
    /// In the argument table of its kind; the first one of an array.
    pub index: u32,
    pub access: Access,
    /// Of what the parameter points to, or of a texture's components.
    pub data_type: DataType,
    /// Bytes of what the parameter points to (of one element).
    pub data_size: u64,
    /// In bytes, a power of two.
    pub alignment: u64,
    /// `T *` rather than `T &`.
    pub pointer: bool,
    /// Not switched off by a function constant, and the code needs it.
    pub used: bool,
    /// `MTLTextureType` of a texture.
    pub texture_type: u32,
    /// How many places of the table: more than 1 for an array of textures or samplers.
    pub count: u32,
    /// Of a buffer: what the parameter points to, a tree in preorder.
    pub types: Vec<Type>,
}

/// A type in a buffer: of a member, an array's elements or what a pointer points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// A member's name; "" for other types.
    pub name: String,
    pub data_type: DataType,
    /// `[[id(n)]]` of a member.
    pub id: Option<u32>,
    /// `MTLBindingAccess` of a texture, or of what a pointer points to.
    pub access: u32,
    /// `MTLTextureType` of a texture.
    pub texture_type: u32,
    /// Of a texture's components.
    pub element: DataType,
    /// Elements of an array; of a texture: 1 when it is a depth texture.
    pub count: u32,
    /// Types of the tree below this one, which follow it: members, the element, what is pointed to.
    pub descendants: u32,
    /// Of a member.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
    /// In bytes, a power of two.
    pub alignment: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct InfoHead {
    version: u32,
    count: u32,
    max_threads: u32,
    binding_size: u32,
}

/// What `hostmetal::info` begins with.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelHead {
    head: InfoHead,
    required_threads: [u32; 3],
    /// Before the bindings, which are aligned to 8 bytes.
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct InfoBinding {
    kind: u32,
    index: u32,
    access: u32,
    data_type: u32,
    pointer: u32,
    present: u32,
    texture_type: u32,
    count: u32,
    size: u64,
    alignment: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct InfoType {
    data_type: u32,
    name: u32,
    id: i32,
    access: u32,
    texture_type: u32,
    element: u32,
    count: u32,
    descendants: u32,
    offset: u64,
    size: u64,
    alignment: u64,
}

/// `hm_attributes`.
#[repr(C)]
#[derive(Clone, Copy)]
struct InfoAttributes {
    version: u32,
    count: u32,
    attributes: [[u32; 3]; PLACES],
}

/// `hostmetal::attributes_version` of the header.
const ATTRIBUTES_VERSION: u32 = 1;

/// `hostmetal::types_version` of the header.
const TYPES_VERSION: u32 = 1;
/// More types than any kernel's buffers are made of.
const MOST_TYPES: u32 = 1 << 20;

/// `hostmetal::threadgroup_slot`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Slot {
    size: u64,
    alignment: u64,
}

/// A shared object with one kernel. The code stays mapped as long as this lives.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) entry: Entry,
    pub(crate) span: Span,
    pub(crate) built: Built,
    pub(crate) in_tiles: bool,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) attributes: Vec<AttributeInfo>,
    pub(crate) variables: Vec<ThreadgroupVariable>,
    pub(crate) max_total_threads: Option<u32>,
    pub(crate) required_threads: Option<[u32; 3]>,
    _library: Library,
}

/// A shared object, mapped.
#[derive(Debug)]
struct Library(unix::Library);

/// Objects that were unmapped. What is mapped later may lie where one of them lay; the loader's own lock orders the two, but no thread sanitizer sees
/// that lock.
static UNMAPPED: AtomicUsize = AtomicUsize::new(0);

impl Drop for Library {
    fn drop(&mut self) {
        UNMAPPED.fetch_add(1, Ordering::Release);
    }
}

/// The version of the C library, which shared objects refer to by the versions of its symbols.
pub(crate) fn c_library() -> String {
    // SAFETY: it has no conditions.
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: it gives a text that lives as long as the process.
    unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned()
}

/// A shared object with one visible function. The code stays mapped as long as this lives.
#[derive(Debug)]
pub(crate) struct FunctionObject {
    pub(crate) address: u64,
    _library: Library,
}

/// Maps a visible function's shared object.
pub(crate) fn load_function(path: &Path, table: &'static RuntimeTable) -> Result<FunctionObject, String> {
    let library = open(path)?;
    let variables = variables(symbol(&library, "hm_threadgroup_first")?, symbol(&library, "hm_threadgroup_last")?)?;
    if !variables.is_empty() {
        return Err("it declares threadgroup variables, which only kernels may".to_owned());
    }
    connect(&library, table)?;
    let function: *mut *const u8 = symbol(&library, "hm_visible")?.cast();
    // SAFETY: the symbol is a constant pointer to a function, which the loader has relocated.
    let address = unsafe { function.read() } as u64;
    Ok(FunctionObject { address, _library: library })
}

fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: loading runs the object's initialisers; it is our compiler's output, made from the headers of this crate,
    // and has none that need anything of the process.
    let library = unsafe { unix::Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|e| format!("cannot load the compiled code: {e}"))?;
    UNMAPPED.load(Ordering::Acquire);
    Ok(Library(library))
}

fn symbol(library: &Library, name: &str) -> Result<*mut u8, String> {
    // SAFETY: only the address is taken; each use says what lies there.
    let found = unsafe { library.0.get::<*mut u8>(name.as_bytes()) };
    found.map(|s| s.into_raw().cast::<u8>()).map_err(|_| format!("the compiled code has no '{name}'"))
}

/// Gives an object of which nothing runs yet the functions that it may call.
fn connect(library: &Library, table: &'static RuntimeTable) -> Result<(), String> {
    let runtime: *mut *const RuntimeTable = symbol(library, "hm_runtime")?.cast();
    // SAFETY: `const hm_runtime_table *hm_runtime` is a variable of the object, and nothing of the object runs yet.
    unsafe { runtime.write(table) };
    let log: *mut usize = symbol(library, "hm_log")?.cast();
    // SAFETY: `hm_log_function hm_log` is a variable of the object, a pointer to a function of `log`'s type.
    unsafe { log.write(crate::executor::log as *const () as usize) };
    Ok(())
}

/// What the tables of a kernel do not tell, in their order.
pub(crate) struct Names<'a> {
    /// Of the parameters that have a place in an argument table.
    pub(crate) bindings: &'a [String],
    /// Of the members of its `[[stage_in]]`.
    pub(crate) attributes: &'a [&'a str],
}

/// Maps the shared object at `path` (which may be removed afterwards) and reads its tables. The object says which of the two
/// entries it has.
pub(crate) fn load<'a>(
    path: &Path,
    names: &Names,
    member: impl Fn(u32) -> Option<&'a str>,
    table: &'static RuntimeTable,
) -> Result<Object, String> {
    let library = open(path)?;
    let symbol = |name: &str| symbol(&library, name);
    let Arguments { max_total_threads, required_threads, mut bindings } =
        arguments(symbol("hm_kernel_info")?, symbol("hm_used")?, names.bindings)?;
    let attributes = attributes(symbol("hm_kernel_stage")?, names.attributes)?;
    let mut types = types(symbol("hm_kernel_types")?, member)?.into_iter();
    for binding in bindings.iter_mut().filter(|binding| binding.kind == BindingKind::Buffer) {
        let root = types.next();
        let below = root.as_ref().map_or(0, |root| root.descendants as usize);
        binding.types = root.into_iter().chain(types.by_ref().take(below)).collect();
        if binding.types.len() != below + 1 {
            return Err("the compiled kernel's table of types does not fit its arguments".to_owned());
        }
    }
    let variables = variables(symbol("hm_threadgroup_first")?, symbol("hm_threadgroup_last")?)?;
    connect(&library, table)?;
    // SAFETY: the symbol is an array of characters that ends with 0.
    let engine = unsafe { CStr::from_ptr(symbol("hm_engine")?.cast()) };
    let (built, in_tiles) = Built::read(&engine.to_string_lossy())?;
    let entry = if matches!(built, Built::Loop | Built::Pass) {
        let address = symbol("hm_kernel_group")?;
        // SAFETY: the pre-pass wrote this symbol as `void hm_kernel_group(const hm_group *)`.
        Entry::Group(unsafe {
            std::mem::transmute::<*mut u8, unsafe extern "C" fn(*const crate::executor::Group)>(address)
        })
    } else {
        let address = symbol("hm_kernel_thread")?;
        // SAFETY: the pre-pass wrote this symbol as `void hm_kernel_thread(const hm_group *, uint, uint, uint)`.
        Entry::Thread(unsafe {
            std::mem::transmute::<*mut u8, unsafe extern "C" fn(*const crate::executor::Group, u32, u32, u32)>(address)
        })
    };
    let span = if built == Built::Loop && !in_tiles { span(symbol("hm_span")?)? } else { Span::Threadgroup };
    Ok(Object {
        entry,
        span,
        built,
        in_tiles,
        bindings,
        attributes,
        variables,
        max_total_threads,
        required_threads,
        _library: library,
    })
}

/// `hostmetal::span` of the header.
fn span(symbol: *const u8) -> Result<Span, String> {
    // SAFETY: the symbol is a `const unsigned`.
    match unsafe { symbol.cast::<u32>().read() } {
        // Possible for its arguments, but nobody has looked at the code.
        0 | 1 => Ok(Span::Threadgroup),
        2 => Ok(Span::Line),
        3 => Ok(Span::Rows),
        other => Err(format!("the compiled kernel has the unknown span {other}")),
    }
}

/// What `hostmetal::info` tells.
struct Arguments {
    max_total_threads: Option<u32>,
    required_threads: Option<[u32; 3]>,
    bindings: Vec<Binding>,
}

fn arguments(info: *const u8, used: *const u8, names: &[String]) -> Result<Arguments, String> {
    // SAFETY: the symbol is a `const unsigned long [6]`.
    let used = Used(unsafe { used.cast::<[u64; 6]>().read() });
    // SAFETY: the symbol is a `const hostmetal::info<n>`, which begins with this head and is aligned for it.
    let KernelHead { head, required_threads, .. } = unsafe { info.cast::<KernelHead>().read() };
    if head.version != INFO_VERSION
        || head.binding_size as usize != size_of::<InfoBinding>()
        || head.count > MOST_BINDINGS
        || head.count as usize != names.len()
    {
        return Err(format!(
            "the compiled kernel's table of arguments is not the expected one (version {}, {} arguments of {} bytes, {} expected)",
            head.version,
            head.count,
            head.binding_size,
            names.len()
        ));
    }
    let mut bindings = Vec::with_capacity(names.len());
    let mut present = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        let at = info.wrapping_add(size_of::<KernelHead>() + i * size_of::<InfoBinding>());
        // SAFETY: the head said that there are `count` bindings of this size, and i < count.
        let raw = unsafe { at.cast::<InfoBinding>().read() };
        let kind = match raw.kind {
            0 => BindingKind::Buffer,
            1 => BindingKind::ThreadgroupMemory,
            2 => BindingKind::Texture,
            3 => BindingKind::Sampler,
            17 => BindingKind::Imageblock,
            24 => BindingKind::VisibleFunctionTable,
            other => return Err(format!("argument '{name}' has the unknown kind {other}")),
        };
        let access = match raw.access {
            0 => Access::ReadOnly,
            1 => Access::ReadWrite,
            2 if kind == BindingKind::Texture => Access::WriteOnly,
            other => return Err(format!("argument '{name}' has the unknown access {other}")),
        };
        if raw.count == 0
            || raw.index.checked_add(raw.count).is_none_or(|end| end > kind.places())
            || raw.pointer > 1
            || raw.present > 1
            || raw.size == 0
            || !raw.alignment.is_power_of_two()
        {
            return Err(format!("the compiled kernel describes argument '{name}' wrongly"));
        }
        present.push(raw.present == 1);
        bindings.push(Binding {
            name: name.clone(),
            kind,
            index: raw.index,
            access,
            data_type: DataType(raw.data_type),
            data_size: raw.size,
            alignment: raw.alignment,
            pointer: raw.pointer == 1,
            used: raw.present == 1 && used.any(kind, raw.index, raw.count),
            texture_type: raw.texture_type,
            count: raw.count,
            types: Vec::new(),
        });
    }
    for (i, one) in bindings.iter().enumerate().filter(|(i, _)| present[*i]) {
        if let Some((_, other)) = bindings[..i].iter().enumerate().find(|(j, b)| {
            present[*j]
                && b.kind.table() == one.kind.table()
                && b.index < one.index + one.count
                && one.index < b.index + b.count
        }) {
            return Err(format!("arguments '{}' and '{}' share index {}", other.name, one.name, one.index));
        }
    }
    Ok(Arguments {
        max_total_threads: (head.max_threads > 0).then_some(head.max_threads),
        required_threads: (required_threads != [0; 3]).then_some(required_threads),
        bindings,
    })
}

fn attributes(table: *const u8, names: &[&str]) -> Result<Vec<AttributeInfo>, String> {
    // SAFETY: the symbol is a `const hm_attributes`.
    let table = unsafe { table.cast::<InfoAttributes>().read() };
    if table.version != ATTRIBUTES_VERSION || table.count as usize != names.len() {
        return Err("the compiled kernel's table of attributes is not the expected one".to_owned());
    }
    let rows = table.attributes.iter().zip(names);
    let attributes = rows.map(|(&[index, data_type, active], name)| AttributeInfo {
        name: (*name).to_owned(),
        index,
        data_type: DataType(data_type),
        active: active == 1,
    });
    let attributes: Vec<AttributeInfo> = attributes.collect();
    match attributes.iter().all(|one| (one.index as usize) < PLACES) {
        true => Ok(attributes),
        false => Err("the compiled kernel describes an attribute wrongly".to_owned()),
    }
}

/// Reads the types of all buffers, one tree behind the other.
fn types<'a>(table: *const u8, member: impl Fn(u32) -> Option<&'a str>) -> Result<Vec<Type>, String> {
    // SAFETY: the symbol is a `const hostmetal::types<n>`, which begins with this head and is aligned for it.
    let head = unsafe { table.cast::<InfoHead>().read() };
    let [version, count, size] = [head.version, head.count, head.max_threads];
    if version != TYPES_VERSION || size as usize != size_of::<InfoType>() || count > MOST_TYPES {
        return Err(format!(
            "the compiled kernel's table of types is not the expected one (version {version}, {count} of {size} bytes)"
        ));
    }
    let mut types = Vec::with_capacity(count as usize);
    for number in 0..count {
        let at = table.wrapping_add(size_of::<InfoHead>() + number as usize * size_of::<InfoType>());
        // SAFETY: the head said that there are `count` types of this size, and number < count.
        let raw = unsafe { at.cast::<InfoType>().read() };
        let name = if raw.name == 0 { Some("") } else { member(raw.name) };
        let (Some(name), true) = (name, raw.alignment.is_power_of_two() && raw.descendants < count - number) else {
            return Err("the compiled kernel describes a type wrongly".to_owned());
        };
        types.push(Type {
            name: name.to_owned(),
            data_type: DataType(raw.data_type),
            id: u32::try_from(raw.id).ok(),
            access: raw.access,
            texture_type: raw.texture_type,
            element: DataType(raw.element),
            count: raw.count,
            descendants: raw.descendants,
            offset: raw.offset,
            size: raw.size,
            alignment: raw.alignment,
        });
    }
    Ok(types)
}

/// Reads the threadgroup variables: the symbols point to the ends of the section that holds their slots, or to null.
fn variables(first: *const u8, last: *const u8) -> Result<Vec<ThreadgroupVariable>, String> {
    // SAFETY: both symbols are variables of pointer type that the object defines.
    let begin = unsafe { first.cast::<*const Slot>().read() };
    // SAFETY: as above.
    let end = unsafe { last.cast::<*const Slot>().read() };
    let bytes = (end as usize).wrapping_sub(begin as usize);
    if begin.is_null() && end.is_null() {
        return Ok(Vec::new());
    }
    if begin.is_null() || !bytes.is_multiple_of(size_of::<Slot>()) || bytes / size_of::<Slot>() > MOST_VARIABLES {
        return Err("the compiled kernel's list of threadgroup variables is broken".to_owned());
    }
    let mut variables = Vec::new();
    for number in 0..bytes / size_of::<Slot>() {
        // SAFETY: the section is data of the object, made of whole slots, and `number` is inside.
        let slot = unsafe { begin.wrapping_add(number).read() };
        if slot.size == 0 || !slot.alignment.is_power_of_two() {
            return Err("the compiled kernel describes a threadgroup variable wrongly".to_owned());
        }
        variables.push(ThreadgroupVariable {
            id: (number * size_of::<Slot>()) as u32,
            size: slot.size,
            alignment: slot.alignment,
        });
    }
    Ok(variables)
}
