//! Asking the LLVM pass about a kernel: what it does (analysis.rs), and code that counts what it does (counts.rs).

use super::analysis::{self, Reader};
use super::archive::Archives;
use super::counts::Counters;
use super::discover::Kernel;
use super::engine;
use super::flags::{SHARED, STACKS};
use super::invoke::{HEAD, Request, compile};
use super::kernels::{Mode, wrapper};
use super::rewrite::{Edits, emit, unrestrict};
use super::source::{Inner, With, with_foot};
use super::{CompileFailure, Failure};

/// Code that counts; or why the kernel cannot, if it shall.
type Counted = Result<(Vec<u8>, Counters), Option<String>>;

impl Inner {
    pub(super) fn analysis(&self, number: usize, values: &[Option<String>]) -> Result<String, CompileFailure> {
        engine::usable(&self.toolchain).map_err(|log| CompileFailure { kind: Failure::Unsupported, log })?;
        let kernel = &self.kernels[number];
        let edits = self.specialised(values);
        match self.told(kernel, &self.reached(kernel, &edits)) {
            Err(failure) if failure.kind == Failure::Source => self.told(kernel, &edits),
            other => other,
        }
    }

    /// The code of a kernel that counts what it does, if it shall; why it cannot, if that is so.
    pub(super) fn counted(
        &self,
        number: usize,
        values: &[Option<String>],
        with: &With,
    ) -> Result<Counted, CompileFailure> {
        if !with.counts {
            return Ok(Err(None));
        }
        if !with.linked.is_none() {
            return Ok(Err(Some("it is linked with other code".to_owned())));
        }
        if let Err(why) = engine::usable(&self.toolchain) {
            return Ok(Err(Some(why)));
        }
        let kernel = &self.kernels[number];
        let mut edits = self.specialised(values);
        if !kernel.group {
            self.reconverge(&mut edits, false)?;
        }
        unrestrict(&self.stream, &mut edits);
        let own = self.reached(kernel, &edits);
        match self.counting(kernel, &own, with) {
            Err(failure) if failure.kind == Failure::Source => self.counting(kernel, &edits, with),
            other => other,
        }
    }

    fn counting(&self, kernel: &Kernel, edits: &Edits, with: &With) -> Result<Counted, CompileFailure> {
        let scope = &self.program.scopes[kernel.scope];
        let (signature, instance) = (&kernel.signature, &kernel.instance);
        let entry = wrapper(&self.stream, signature, instance, scope, Some(&Mode::Counts), with.stage_input, 0);
        let tail = with_foot(&self.stream, &[(kernel.token, format!("{}{entry}", self.members(kernel)))]);
        let (text, map) = emit(&self.stream, edits, HEAD, &tail);
        let mut flags = SHARED.to_vec();
        flags.extend(STACKS);
        flags.extend(analysis::FLAGS);
        let request = Request { math: self.options.arithmetic(), text: &text, flags: &flags, pass: true, object: true };
        let record = match compile(&self.toolchain, &request, str::to_owned, &Archives::default()) {
            Err(failure) if engine::fails(&failure) => return Ok(Err(Some(failure.log))),
            other => other?,
        };
        if !record.success {
            return Err(self.refused(&record.output, &map));
        }
        if let Some(why) = record.output.lines().find_map(|line| line.strip_prefix(engine::REFUSAL)) {
            return Ok(Err(Some(why.to_owned())));
        }
        let reader = Reader { stream: &self.stream, source: &self.source, map: &map, signature };
        Ok(Ok((record.file, reader.counters(&record.output)?)))
    }

    /// What the pass tells of a kernel.
    fn told(&self, kernel: &Kernel, edits: &Edits) -> Result<String, CompileFailure> {
        let (scope, mode) = (&self.program.scopes[kernel.scope], Some(&Mode::Analysis));
        let entry = wrapper(&self.stream, &kernel.signature, &kernel.instance, scope, mode, None, 0);
        let (text, map) = emit(&self.stream, edits, HEAD, &with_foot(&self.stream, &[(kernel.token, entry)]));
        let mut flags = SHARED.to_vec();
        flags.extend(analysis::FLAGS);
        let math = self.options.arithmetic();
        let request = Request { math, text: &text, flags: &flags, pass: true, object: true };
        let record = compile(&self.toolchain, &request, str::to_owned, &Archives::default())?;
        if !record.success {
            return Err(self.refused(&record.output, &map));
        }
        if let Some(why) = record.output.lines().find_map(|line| line.strip_prefix(engine::REFUSAL)) {
            return Err(CompileFailure {
                kind: Failure::Unsupported,
                log: format!("the pass refuses the kernel: {why}"),
            });
        }
        let reader = Reader { stream: &self.stream, source: &self.source, map: &map, signature: &kernel.signature };
        reader.read(&record.output)
    }
}
