//! Random programs as text.

use super::*;

fn spelled(value: Common) -> String {
    match value {
        Common::Given(k) => format!("x.p[{k}]"),
        Common::Published => "*u".to_owned(),
        Common::Group => "x.group".to_owned(),
        Common::Counter(id) => format!("i{id}"),
        Common::Local => "x.c".to_owned(),
    }
}

/// A condition from the bits of a value, mixed so that all bits count.
fn tested(value: Common, bit: u32) -> String {
    format!("(({}) * 0x9e3779b1u >> 13 & {bit}u) != 0", spelled(value))
}

pub(super) fn print(text: &mut String, block: &[Statement], program: usize, counters: &[u32]) {
    const WAIT: &str = "threadgroup_barrier(mem_flags::mem_threadgroup);";
    for statement in block {
        match statement {
            Statement::Mix { id } => write!(text, "x.h = (x.h ^ {id}u) * 0x9e3779b1u + x.t; "),
            Statement::Take { value } => write!(text, "x.h += {} * 5; ", spelled(*value)),
            Statement::Set { value } => write!(text, "x.c = x.c * 3 + {}; ", spelled(*value)),
            Statement::Exchange { distance } => {
                write!(text, "s[x.t] = x.h; {WAIT} x.h += s[(x.t + {distance}) % x.n]; {WAIT} ")
            }
            Statement::Publish { thread } => {
                write!(text, "{WAIT} if (x.t == {thread}u % x.n) *u = x.h; {WAIT} ")
            }
            Statement::Sum => write!(
                text,
                "if (x.t == 0) atomic_store_explicit(x.sum, 0u, memory_order_relaxed); {WAIT} atomic_fetch_add_explicit(x.sum, x.h, memory_order_relaxed); {WAIT} x.h += atomic_load_explicit(x.sum, memory_order_relaxed); {WAIT} "
            ),
            Statement::Array { id } => {
                write!(text, "a[(x.h ^ {id}u) % {ARRAY}] = x.h >> 3; x.h += a[(x.h >> 7) % {ARRAY}]; ")
            }
            Statement::Barrier => write!(text, "threadgroup_barrier(mem_flags::mem_none); "),
            Statement::If { value, bit, yes, no } => {
                write!(text, "if ({}) {{ ", tested(*value, *bit)).expect("a string");
                print(text, yes, program, counters);
                text.push_str(if no.is_empty() { "} " } else { "} else { " });
                print(text, no, program, counters);
                write!(text, "{}", if no.is_empty() { "" } else { "} " })
            }
            Statement::Loop { id, form, value, body } => {
                let bound = format!("({}) % 4", spelled(*value));
                match form {
                    0 => write!(text, "for (uint i{id} = 0, n{id} = {bound}; i{id} < n{id}; i{id}++) {{ "),
                    1 => write!(text, "{{ uint i{id} = ~0u, n{id} = {bound}; while (++i{id} < n{id}) {{ "),
                    2 => write!(text, "for (uint i{id} = 0; i{id} < 3; i{id}++) {{ "),
                    _ => write!(text, "{{ uint i{id} = ~0u, n{id} = {bound}; if (n{id} > 0) do {{ i{id}++; "),
                }
                .expect("a string");
                print(text, body, program, &[counters, &[*id]].concat());
                match form {
                    1 => write!(text, "}} }} "),
                    3 => write!(text, "}} while (i{id} + 1 < n{id}); }} "),
                    _ => write!(text, "}} "),
                }
            }
            Statement::Leave { value, bit, how } => {
                let word = match how {
                    Leave::Break => "break",
                    Leave::Continue => "continue",
                    Leave::Return => "return",
                };
                write!(text, "if ({}) {word}; ", tested(*value, *bit))
            }
            Statement::OwnIf { id, yes, no } => {
                write!(text, "if ((x.h ^ {id}u) * 0x85ebca6bu >> 31 != 0) {{ ").expect("a string");
                print(text, yes, program, counters);
                text.push_str("} else { ");
                print(text, no, program, counters);
                write!(text, "}} ")
            }
            Statement::OwnLoop { id, body } => {
                write!(text, "for (uint k{id} = (x.h ^ {id}u) * 0x9e3779b9u >> 30; k{id} > 0; k{id}--) {{ ")
                    .expect("a string");
                print(text, body, program, counters);
                write!(text, "}} ")
            }
            Statement::Lanes { id, kind } => {
                let (name, arguments, _) = KINDS[*kind as usize];
                let value = format!("(x.h ^ {id}u)");
                write!(text, "x.h = x.h * 3 + {name}({value}{}); ", arguments.replace("VALUE", &value))
            }
            Statement::Typed { id, kind } => write!(text, "{{ {} }} ", TYPED[*kind].0.replace("ID", &format!("{id}u"))),
            Statement::TypedLanes { id, kind } => {
                write!(text, "x.h = x.h * 3 + {}; ", TYPED_LANES[*kind].0.replace("ID", &format!("{id}u")))
            }
            Statement::SimdIf { bit, yes, no } => {
                write!(text, "if ((x.simdgroup & {bit}u) != 0) {{ ").expect("a string");
                print(text, yes, program, counters);
                text.push_str("} else { ");
                print(text, no, program, counters);
                write!(text, "}} ")
            }
            Statement::LanesIf { id, any, yes, no } => {
                match any {
                    true => write!(text, "if (simd_any((x.h ^ {id}u) * 0x85ebca6bu >> 27 == 0)) {{ "),
                    false => write!(text, "if ((simd_sum(x.h ^ {id}u) & 4) != 0) {{ "),
                }
                .expect("a string");
                print(text, yes, program, counters);
                text.push_str("} else { ");
                print(text, no, program, counters);
                write!(text, "}} ")
            }
            Statement::SimdLoop { id, body } => {
                write!(text, "for (uint k{id} = (x.simdgroup + {id}u) % 4; k{id} > 0; k{id}--) {{ ").expect("a string");
                print(text, body, program, counters);
                write!(text, "}} ")
            }
            Statement::Partly { id, kept, variable, body } => {
                let own = format!("(x.t * 0x9e3779b1u ^ {}u) >> 31 != 0", id.wrapping_mul(0x85eb_ca6b));
                let condition = if *kept { format!("b{id}") } else { own.clone() };
                let (declared, set, read) = match variable {
                    Variable::Whole => (format!("uint v{id}"), format!("v{id} = x.h ^ {id}u"), format!("v{id}")),
                    Variable::Common(value) => {
                        (format!("uint v{id}"), format!("v{id} = {} ^ {id}u", spelled(*value)), format!("v{id}"))
                    }
                    Variable::Component => {
                        (format!("uint2 v{id}"), format!("v{id}.y = x.h ^ {id}u"), format!("v{id}.y"))
                    }
                    Variable::Pointer => {
                        (format!("thread uint *v{id}"), format!("v{id} = a + {}", id % ARRAY), format!("*v{id}"))
                    }
                };
                let keep = if *kept { format!("bool b{id} = {own}; ") } else { String::new() };
                write!(text, "{{ {declared}; {keep}if ({condition}) {set}; ").expect("a string");
                print(text, body, program, counters);
                write!(text, "if ({condition}) x.h = x.h * 3 + {read}; }} ")
            }
            Statement::Call { function } => write!(text, "p{program}_{function}(x, a, s, u); "),
        }
        .expect("a string");
    }
}
