//! Loops, switches and jumps out of statements.

use crate::expr::{Generator, Kind, Returns, Variable};
use crate::types::{Scalar, Type};

impl Generator<'_> {
    pub(crate) fn a_loop(&mut self) {
        let (count, bound) = (self.some(), 1 + self.choices.below(5));
        let name = self.name("i");
        self.loops += 1;
        let counter =
            Variable { place: name.clone(), kind: Kind::Plain(Type::scalar(Scalar::Int)), writable: false, space: "" };
        let body = |g: &mut Self| {
            g.variables.push(counter);
            g.statements(count, true);
        };
        let condition = if self.choices.once_in(3) { format!(" && {}", self.condition(1)) } else { String::new() };
        match self.choices.below(4) {
            0 | 1 => {
                let step = self.choices.of(&["++", " += 2"]);
                let head = format!("for (int {name} = 0; {name} < {bound}{condition}; {name}{step}) ");
                self.block(&head, body);
            }
            2 => self.block("", |g| {
                line!(g, "int {name} = {bound};");
                g.block(&format!("while ({name}-- > 0{condition}) "), body);
            }),
            _ => self.block("", |g| {
                line!(g, "int {name} = 0;");
                g.line("do {");
                let scope = g.variables.len();
                g.depth += 1;
                body(g);
                g.depth -= 1;
                g.variables.truncate(scope);
                line!(g, "}} while (++{name} < {bound}{condition});");
            }),
        }
        self.loops -= 1;
    }

    pub(crate) fn switch(&mut self, in_loop: bool) {
        let (value, _) = self.any_integer(2);
        let cases = 2 + self.choices.below(4);
        let default = self.choices.below(cases + 2);
        self.block(&format!("switch ({value} & 7) "), |g| {
            for case in 0..cases {
                if case == default {
                    g.line("default:");
                }
                match g.choices.below(6) {
                    0 => line!(g, "case {case}u:"),
                    1 => line!(g, "case (char){case}:"),
                    2 => line!(g, "case {} - 3:", case + 3),
                    _ => line!(g, "case {case}:"),
                }
                if g.choices.once_in(4) {
                    // On to the next.
                    continue;
                }
                let count = g.some();
                // In a loop there are `break`, which is the switch's, and `continue`, which is the loop's.
                g.block("", |g| g.statements(count, in_loop));
                if !g.choices.once_in(3) {
                    g.line("break;");
                }
            }
            g.line(if default >= cases { "default: ;" } else { ";" });
        });
    }

    /// A label behind statements that may jump to it, out of whatever they are in.
    pub(crate) fn forward(&mut self, in_loop: bool) {
        let label = self.name("L");
        let count = 1 + self.some();
        self.labels.push(label.clone());
        self.block("", |g| {
            g.jump();
            g.statements(count, in_loop);
        });
        self.labels.pop();
        line!(self, "{label}: ;");
    }

    /// To one of the labels further on.
    pub(crate) fn jump(&mut self) {
        if self.labels.is_empty() {
            return self.declaration();
        }
        let label = self.labels[self.choices.below(self.labels.len())].clone();
        let condition = self.condition(2);
        line!(self, "if ({condition}) goto {label};");
    }

    /// Out of the function, from wherever this is.
    pub(crate) fn leave(&mut self) {
        let Some(returns) = self.returns else { return self.assignment() };
        let condition = self.condition(2);
        match returns {
            Returns::Nothing => line!(self, "if ({condition}) return;"),
            Returns::Plain(ty) => {
                let value = self.expr(ty, 2);
                line!(self, "if ({condition}) return {value};");
            }
            Returns::Record(record) => {
                let value = self.record_value(record);
                line!(self, "if ({condition}) return ({}){value};", self.records[record].name);
            }
        }
    }
}
