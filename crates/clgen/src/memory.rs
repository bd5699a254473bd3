//! Memory seen as scalars: `vload` and `vstore` of every width, halves, copies by a whole work-group.

use crate::expr::{Generator, Kind, Variable};
use crate::types::{Scalar, Type};

/// Scalars one behind the other.
struct Scalars {
    /// A pointer to the first.
    place: String,
    scalar: Scalar,
    len: usize,
    /// Scalars of one element: they are aligned together.
    lanes: usize,
    writable: bool,
    space: &'static str,
}

impl Generator<'_> {
    /// The scalars of an array. Those of vectors of three have gaps.
    fn scalars(&mut self, fits: impl Fn(Type) -> bool) -> Option<Scalars> {
        let held = |v: &&Variable| matches!(v.kind, Kind::Array(ty, _) if ty.lanes != 3 && fits(ty));
        let arrays: Vec<Variable> = self.variables.iter().filter(held).cloned().collect();
        if arrays.is_empty() {
            return None;
        }
        let Variable { place, kind, writable, space } = arrays[self.choices.below(arrays.len())].clone();
        let Kind::Array(Type { scalar, lanes }, len) = kind else { unreachable!("only arrays were kept") };
        let place = if lanes == 1 { place } else { pointer(space, writable, scalar.name(), &place) };
        Some(Scalars { place, scalar, len: len * lanes, lanes, writable, space })
    }

    /// `vload` and `vstore`.
    pub(crate) fn load_and_store(&mut self) {
        let Some(Scalars { mut place, scalar, mut len, writable, .. }) = self.scalars(|_| true) else {
            return self.declaration();
        };
        if len > 2 && self.choices.once_in(3) {
            // The alignment of an element is enough.
            let skipped = 1 + self.choices.below(len - 2);
            place = format!("{place} + {skipped}");
            len -= skipped;
        }
        let lanes: Vec<usize> = [2, 3, 4, 8, 16].into_iter().filter(|lanes| *lanes <= len).collect();
        if lanes.is_empty() {
            return self.declaration();
        }
        let ty = Type { scalar, lanes: lanes[self.choices.below(lanes.len())] };
        let (count, lanes) = (len / ty.lanes, ty.lanes);
        // The greatest power of two among the numbers of places.
        let index = self.index(count.next_power_of_two() / if count.is_power_of_two() { 1 } else { 2 }, 1);
        if writable && self.choices.once_in(2) {
            let value = self.expr(ty, 2);
            return line!(self, "vstore{lanes}({value}, {index}, {place});");
        }
        let name = self.name("v");
        line!(self, "{} {name} = vload{lanes}({index}, {place});", ty.name());
        self.declare(name, Kind::Plain(ty));
    }

    /// Halves, of which OpenCL C before its extension knows only how to load and store them.
    pub(crate) fn halves(&mut self) {
        let words = |ty: Type| matches!(ty.scalar, Scalar::Short | Scalar::UShort);
        let Some(Scalars { place, len, lanes: together, writable, space, .. }) = self.scalars(words) else {
            let (ty, name) = (Type { scalar: Scalar::UShort, lanes: self.choices.of(&[1, 2, 4, 8]) }, self.name("a"));
            let list: Vec<String> = (0..4).map(|_| self.expr(ty, 1)).collect();
            line!(self, "{} {name}[4] = {{ {} }};", ty.name(), list.join(", "));
            return self.declare(name, Kind::Array(ty, 4));
        };
        let place = pointer(space, writable, "half", &place);
        // Aligned, of which three take the place of four, or as they come.
        let aligned = together > 1 && self.choices.once_in(2);
        let most = if aligned { together } else { len };
        let lanes: Vec<usize> =
            [1, 2, 3, 4, 8, 16].into_iter().filter(|lanes| *lanes <= most && (!aligned || *lanes > 1)).collect();
        let lanes = lanes[self.choices.below(lanes.len())];
        let lanes = if aligned && lanes == 3 && most < 4 { 2 } else { lanes };
        let number = if lanes == 1 { String::new() } else { lanes.to_string() };
        let index = self.choices.below(len / if aligned { lanes.next_power_of_two() } else { lanes });
        let a = if aligned { "a" } else { "" };
        if writable && self.choices.once_in(2) {
            // What lies behind aligned three is open: PoCL writes it.
            let (lanes, number) = if aligned && lanes == 3 { (4, "4".to_owned()) } else { (lanes, number) };
            // No NaN, of whose bits some are open.
            let scalar = self.any_float();
            let value = self.finite(Type { scalar, lanes }, 1);
            let mode = self.choices.of(&["", "_rte", "_rtz", "_rtp", "_rtn"]);
            return line!(self, "vstore{a}_half{number}{mode}({value}, {index}, {place});");
        }
        let (name, ty) = (self.name("v"), Type { scalar: Scalar::Float, lanes });
        line!(self, "{} {name} = vload{a}_half{number}({index}, {place});", ty.name());
        self.declare(name, Kind::Plain(ty));
    }

    /// The work-group copies its part of a buffer to local memory, in the kernel's outermost scope.
    pub(crate) fn copied(&mut self, group: usize, own: usize) {
        let global =
            |v: &&Variable| v.space == "__global" && v.place.starts_with('(') && matches!(v.kind, Kind::Array(..));
        let buffers: Vec<Variable> = self.variables.iter().filter(global).cloned().collect();
        if buffers.is_empty() {
            return;
        }
        let Variable { place, kind: Kind::Array(ty, _), writable, .. } =
            buffers[self.choices.below(buffers.len())].clone()
        else {
            unreachable!("only arrays were kept")
        };
        let buffer = place[1..].split(' ').next().expect("the name comes first").to_owned();
        let (copy, event, name, len) = (self.name("g"), self.name("e"), self.name("v"), group * own);
        let part = format!("{buffer} + {} * {len}", self.group);
        let stride = if self.choices.once_in(3) { 2 } else { 1 };
        // What the work-items wrote before is there when the copy begins.
        self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
        let copies = if stride == 1 {
            format!("async_work_group_copy({copy}, {part}, {len}, 0)")
        } else {
            format!("async_work_group_strided_copy({copy}, {part}, {}, {stride}, 0)", len / stride)
        };
        line!(self, "__local {} {copy}[{len}]; event_t {event} = {copies}; wait_group_events(1, &{event});", ty.name());
        let shift = self.choices.below(len);
        let element = format!("{copy}[({} * {own} + {shift}) % {}]", self.lane, len / stride);
        line!(self, "{} {name} = {element};", ty.name());
        self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
        self.declare(name, Kind::Plain(ty));
        if writable && stride == 1 && self.choices.once_in(2) {
            let value = self.expr(ty, 2);
            line!(self, "{copy}[{} * {own} + {}] = {value};", self.lane, self.choices.below(own));
            self.line("barrier(CLK_LOCAL_MEM_FENCE);");
            line!(self, "{event} = async_work_group_copy({part}, {copy}, {len}, 0); wait_group_events(1, &{event});");
            self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
        }
    }
}

/// The place as a pointer to other elements.
fn pointer(space: &str, writable: bool, element: &str, place: &str) -> String {
    let constant = if writable { "" } else { "const " };
    let space = if space.is_empty() { String::new() } else { format!("{space} ") };
    format!("(({space}{constant}{element}*)({place}))")
}
