//! Inference of the address spaces of unqualified pointers, by unification.
//!
//! Every unqualified pointer has a variable; every assignment between pointers makes two variables equal or binds one.
//! The variables of a function's signature stay open (a helper may be called with different spaces); each call has
//! variables of its own for them, which `solve_call` relates once the callee's body is known.

use rustc_hash::FxHashMap as HashMap;

use crate::types::Space;

/// The union-find table.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    parent: Vec<u32>,
    /// How many variables are in the class of a representative. The smaller class joins the larger one, which keeps the
    /// way to the representative logarithmic.
    size: Vec<u32>,
    bound: Vec<Option<Space>>,
    /// Classes that hold a structure's member: they are the same for every call.
    shared: Vec<bool>,
}

/// Two different spaces for one pointer.
pub(crate) struct Conflict(pub(crate) Space, pub(crate) Space);

impl Spaces {
    /// A new variable.
    pub(crate) fn fresh(&mut self) -> Space {
        let id = self.parent.len() as u32;
        self.parent.push(id);
        self.size.push(1);
        self.bound.push(None);
        self.shared.push(false);
        Space::Var(id)
    }

    /// The representative of a variable's class.
    pub(crate) fn find(&self, mut var: u32) -> u32 {
        while self.parent[var as usize] != var {
            var = self.parent[var as usize];
        }
        var
    }

    /// The bound space, or the representative variable.
    pub(crate) fn resolve(&self, space: Space) -> Space {
        match space {
            Space::Var(v) => {
                let root = self.find(v);
                self.bound[root as usize].unwrap_or(Space::Var(root))
            }
            other => other,
        }
    }

    /// Marks the variable as one that all calls share.
    pub(crate) fn share(&mut self, space: Space) {
        if let Space::Var(v) = space {
            let root = self.find(v);
            self.shared[root as usize] = true;
        }
    }

    /// Makes two spaces equal.
    pub(crate) fn unify(&mut self, a: Space, b: Space) -> Result<(), Conflict> {
        match (self.resolve(a), self.resolve(b)) {
            (a, b) if a == b => Ok(()),
            (Space::Unset, _) | (_, Space::Unset) => Ok(()),
            (Space::Var(a), Space::Var(b)) => {
                let (root, other) = if self.size[a as usize] < self.size[b as usize] { (b, a) } else { (a, b) };
                self.parent[other as usize] = root;
                self.size[root as usize] += self.size[other as usize];
                self.shared[root as usize] |= self.shared[other as usize];
                Ok(())
            }
            (Space::Var(v), space) | (space, Space::Var(v)) => {
                self.bound[v as usize] = Some(space);
                Ok(())
            }
            (a, b) => Err(Conflict(a, b)),
        }
    }

    /// Carries what the callee's body made of its signature over to the variables of one call.
    pub(crate) fn solve_call(&mut self, pairs: &[(u32, u32)]) -> Result<(), Conflict> {
        let mut classes: HashMap<u32, u32> = HashMap::default();
        for &(formal, actual) in pairs {
            let root = self.find(formal);
            if self.bound[root as usize].is_some() || self.shared[root as usize] {
                self.unify(Space::Var(actual), Space::Var(root))?;
            } else {
                let first = *classes.entry(root).or_insert(actual);
                self.unify(Space::Var(actual), Space::Var(first))?;
            }
        }
        Ok(())
    }
}
