//! Jumps into statements: `goto`, and labels of a `switch` further in. A kernel with barriers has none, nor loops made of
//! `goto`: PoCL 3.1 once let its work-items jump by the condition of another (seed 800151 at d61e614).
//!
//! What is jumped past is in blocks of its own, so that no declaration is.

use crate::expr::{Generator, Kind, Variable};
use crate::types::{Scalar, Type};

impl Generator<'_> {
    /// A label in a nested statement, from before it, and from behind it too.
    pub(crate) fn inward(&mut self) {
        let (label, counter) = (self.name("L"), self.name("i"));
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
            let condition = g.condition(2);
            line!(g, "if ({condition}) goto {label};");
            let condition = g.condition(1);
            let head = match g.choices.below(5) {
                0 => format!("while ({counter}++ < {times} && {condition}) "),
                1 => format!("for (; {counter} < {times}; {counter}++) "),
                2 => "do ".to_owned(),
                3 => String::new(),
                _ => format!("if ({condition}) "),
            };
            let in_loop = head.starts_with("do") || head.starts_with("for") || head.starts_with("while");
            let end = if head.starts_with("do") { format!(" while (++{counter} < {times});") } else { String::new() };
            line!(g, "{head}{{");
            g.depth += 1;
            g.part(in_loop);
            line!(g, "{label}: ;");
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
            if again {
                let condition = g.condition(1);
                line!(g, "if ({counter}++ < {} && {condition}) goto {label};", times + 1);
            }
        });
        self.loops -= 1;
    }

    /// A loop that a switch enters in the middle (Duff's device), or branches with labels in them.
    pub(crate) fn entered(&mut self) {
        let (value, counter) = (self.any_integer(2).0, self.name("i"));
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
            line!(g, "switch ({value} & 3) {{");
            g.depth += 1;
            g.line("case 0: do {");
            for case in 1..4 {
                g.part(true);
                line!(g, "case {case}:");
            }
            g.part(true);
            line!(g, "}} while (++{counter} < {times});");
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
