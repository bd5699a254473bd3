//! The conformance tests. A family of functions is a module: a table of functions with their references, and a test that
//! runs the table in every type and width. `batch` runs, `ulp` measures, `samples` chooses numbers.

mod batch;
mod exact;
mod exact_convert;
mod exact_integer;
mod exact_relational;
mod math;
mod math_table;
mod samples;
mod ulp;
