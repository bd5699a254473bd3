//! Jumps into statements: `goto`, and labels of a `switch` further in. A kernel with barriers has none, nor loops made of
//! `goto`: PoCL 3.1 once let its work-items jump by the condition of another (seed 800151 at d61e614).
//!
//! What is jumped past is in blocks of its own, so that no declaration is.
//!
//! A loop with two entries makes PoCL 3.1 run some work-items twice (seed 1001083 at 94b069b: `x = f(x)` before such a loop
//! came out as `f(f(x))`). Where `PEER` is defined the same is therefore done with a flag, in macros, since helpers may be
//! macros themselves.

use crate::expr::{Generator, Kind, Variable};
use crate::types::{Scalar, Type};

/// Loops with two entries, and with one.
const ENTRIES: &str = "\
#ifdef PEER
#define ENTER_SWITCH(flag, value) int flag = (value) & 3;
#define ENTER_DO(flag) do
#define ENTER_FIRST(flag) if (flag <= 0)
#define ENTER_CASE(flag, n) if (flag <= n)
#define ENTERED(flag) (flag = 0, 1)
#define ENTER_JUMP(flag, label, condition) int flag = !!(condition);
#define ENTER_OR(flag) flag ||
#define ENTER_PAST(flag) if (!flag)
#define ENTER_LABEL(flag, label) flag = 0;
#else
#define ENTER_SWITCH(flag, value) switch ((value) & 3)
#define ENTER_DO(flag) case 0: do
#define ENTER_FIRST(flag)
#define ENTER_CASE(flag, n) case n:
#define ENTERED(flag) 1
#define ENTER_JUMP(flag, label, condition) if (condition) goto label;
#define ENTER_OR(flag)
#define ENTER_PAST(flag)
#define ENTER_LABEL(flag, label) label: ;
#endif";

impl Generator<'_> {
    /// What the loops with two entries are written with.
    pub(crate) fn entries(&mut self) {
        ENTRIES.lines().for_each(|text| self.line(text));
    }

    /// A label in a nested statement, from before it, and from behind it too.
    pub(crate) fn inward(&mut self) {
        let (label, counter, flag) = (self.name("L"), self.name("i"), self.name("j"));
        let (times, again) = (1 + self.choices.below(3), self.choices.once_in(3));
        self.loops += 1;
        self.block("", |g| {
            line!(g, "int {counter} = 0;");
            g.variables.push(Variable {
                place: counter.clone(),
                kind: Kind::Plain(Type::scalar(Scalar::Int)),
                writable: false,
                space: "",
            });
            let (jump, condition, kind) = (g.condition(2), g.condition(1), g.choices.below(5));
            let in_loop = kind < 3;
            if in_loop {
                line!(g, "ENTER_JUMP({flag}, {label}, {jump})");
            } else {
                line!(g, "if ({jump}) goto {label};");
            }
            let head = match kind {
                0 => format!("while (ENTER_OR({flag}) ({counter}++ < {times} && {condition})) "),
                1 => format!("for (; ENTER_OR({flag}) ({counter} < {times}); {counter}++) "),
                2 => "do ".to_owned(),
                3 => String::new(),
                _ => format!("if ({condition}) "),
            };
            let end = if kind == 2 { format!(" while (++{counter} < {times});") } else { String::new() };
            line!(g, "{head}{{");
            g.depth += 1;
            if in_loop {
                line!(g, "ENTER_PAST({flag})");
            }
            g.part(in_loop);
            let place = if in_loop { format!("ENTER_LABEL({flag}, {label})") } else { format!("{label}: ;") };
            g.line(place);
            g.part(in_loop);
            g.depth -= 1;
            line!(g, "}}{end}");
            if head.starts_with("if") {
                g.line("else {");
                g.depth += 1;
                g.part(false);
                g.depth -= 1;
                g.line("}");
            }
            if again && !in_loop {
                let condition = g.condition(1);
                line!(g, "if ({counter}++ < {} && {condition}) goto {label};", times + 1);
            }
        });
        self.loops -= 1;
    }

    /// A loop that a switch enters in the middle (Duff's device), or branches with labels in them.
    pub(crate) fn entered(&mut self) {
        let (value, counter, flag) = (self.any_integer(2).0, self.name("i"), self.name("j"));
        let times = 1 + self.choices.below(3);
        if self.choices.once_in(2) {
            let condition = self.condition(1);
            line!(self, "switch ({value} & 3) {{");
            self.depth += 1;
            self.line("case 3:");
            self.part(false);
            line!(self, "if ({condition}) {{");
            self.part(false);
            self.line("case 0:");
            self.part(false);
            self.line("} else {");
            self.part(false);
            self.line("default:");
            self.part(false);
            self.line("}");
            self.depth -= 1;
            return self.line("}");
        }
        self.loops += 1;
        self.block("", |g| {
            line!(g, "int {counter} = 0;");
            line!(g, "ENTER_SWITCH({flag}, {value}) {{");
            g.depth += 1;
            line!(g, "ENTER_DO({flag}) {{");
            line!(g, "ENTER_FIRST({flag})");
            g.part(true);
            for case in 1..4 {
                line!(g, "ENTER_CASE({flag}, {case})");
                g.part(true);
            }
            line!(g, "}} while (ENTERED({flag}) && ++{counter} < {times});");
            g.depth -= 1;
            g.line("}");
        });
        self.loops -= 1;
    }

    /// Some statements in a block.
    fn part(&mut self, in_loop: bool) {
        let count = 1 + self.choices.below(2);
        self.block("", |g| g.statements(count, in_loop));
    }

    /// A loop made of a jump.
    pub(crate) fn backward(&mut self, in_loop: bool) {
        let (label, counter, count) = (self.name("L"), self.name("i"), self.some());
        let times = 1 + self.choices.below(3);
        self.loops += 1;
        self.block("", |g| {
            line!(g, "int {counter} = 0;");
            line!(g, "{label}: ;");
            g.block("", |g| g.statements(count, in_loop));
            let condition = g.condition(1);
            line!(g, "if ({counter}++ < {times} && {condition}) goto {label};");
        });
        self.loops -= 1;
    }
}
