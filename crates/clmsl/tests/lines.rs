//! The output's `#line` directives and line breaks lead every statement back to its line.
//!
//! Programs of random shape, in which each line holds its own number as a constant: wherever the constant is in the output,
//! a compiler must believe to be on that line.

use clmsl::{Options, translate};

/// xorshift64*: the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// Constants of line N are N more than this.
const BASE: u32 = 100_000;

struct Program {
    text: String,
    random: Random,
    line: u32,
}

impl Program {
    /// Blanks, or the end of the line, and perhaps empty and comment lines.
    fn gap(&mut self) {
        if self.random.below(3) == 0 {
            self.text.push(' ');
            return;
        }
        for _ in 0..=self.random.below(3) * self.random.below(3) {
            self.text.push_str(["\n", " // comment\n"][self.random.below(2) as usize]);
            self.line += 1;
        }
    }

    fn text(&mut self, text: &str) {
        let number = (BASE + self.line).to_string();
        self.text.push_str(&text.replace('#', &number));
        self.gap();
    }

    fn block(&mut self, depth: u32) {
        self.text("{");
        for _ in 0..self.random.below(4) {
            self.statement(depth);
        }
        self.text("}");
    }

    /// What a condition governs: a block or a statement.
    fn body(&mut self, depth: u32) {
        match self.random.below(2) {
            0 => self.block(depth),
            _ => self.statement(depth),
        }
    }

    fn statement(&mut self, depth: u32) {
        let shape = if depth == 0 { self.random.below(3) } else { self.random.below(11) };
        match shape {
            0 | 1 => self.text("a[0] += #;"),
            2 => self.text("a[#] = a[1] / a[2];"),
            3 => {
                self.text("if (a[0] > #)");
                self.body(depth - 1);
            }
            4 | 5 => {
                self.text("if (a[0] > #)");
                self.block(depth - 1);
                self.text("else");
                self.body(depth - 1);
            }
            6 => {
                self.text("if (a[0] > #)");
                self.text("a[3] = #;");
                self.text("else if (a[0] > #)");
                self.text("a[4] = #;");
                self.text("else");
                self.body(depth - 1);
            }
            7 => {
                self.text("for (int i = 0; i < #; i++)");
                self.body(depth - 1);
            }
            8 => {
                self.text("while (a[0] > #)");
                self.body(depth - 1);
            }
            9 => {
                self.text("do");
                self.block(depth - 1);
                self.text("while (a[0] > 0);");
            }
            _ => {
                self.text("switch (a[0])");
                self.text("{");
                for _ in 0..self.random.below(3) {
                    self.text("case #:");
                    // A label twice would be an error.
                    self.text.push('\n');
                    self.line += 1;
                    self.statement(depth - 1);
                    self.text("break;");
                }
                self.text("default:");
                self.statement(depth - 1);
                self.text("}");
            }
        }
    }
}

/// Constants in the output that are not on their line, and how many there are in all.
fn misplaced(msl: &str) -> (Vec<String>, usize) {
    let (mut wrong, mut count, mut line, mut ours) = (Vec::new(), 0, 0u32, false);
    for text in msl.lines() {
        if let Some(rest) = text.strip_prefix("#line ") {
            let (number, file) = rest.split_once(' ').expect("a directive has a file");
            line = number.parse().expect("a directive has a number");
            ours = file == "\"lines.cl\"";
            continue;
        }
        if ours {
            for word in text.split(|c: char| !c.is_ascii_digit()).filter_map(|w| w.parse::<u32>().ok()) {
                if word > BASE {
                    count += 1;
                    if word - BASE != line {
                        wrong.push(format!("line {line}: {text}"));
                    }
                }
            }
        }
        line += 1;
    }
    (wrong, count)
}

#[test]
fn every_statement_is_on_its_line() {
    let mut total = 0;
    for seed in 1..=400u64 {
        let mut program =
            Program { text: String::new(), random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), line: 1 };
        for name in ["first", "second"] {
            program.text(&format!("__kernel void {name}(__global int* a)"));
            program.block(4);
        }
        let translation = translate("lines.cl", &program.text, &Options::default());
        let msl = translation.msl.as_ref().unwrap_or_else(|| panic!("{}\n{}", program.text, translation.rendered()));
        let (wrong, count) = misplaced(msl);
        assert!(wrong.is_empty(), "{}\n{}\nof\n{msl}", program.text, wrong.join("\n"));
        total += count;
    }
    assert!(total > 2000, "only {total} constants were seen");
}
