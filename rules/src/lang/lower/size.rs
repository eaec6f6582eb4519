//! How much guards may come to. Functions stand in the place of their calls, and arguments in the place of parameters, so
//! a short text can come to more than any memory holds.

use crate::ir::{
    fault::{Faults, Place},
    limits,
};

/// Parts that the arms and guards of a pack may still come to; none when they came to more.
#[derive(Debug)]
pub(crate) struct SizeBudget {
    left: Option<usize>,
}

impl Default for SizeBudget {
    fn default() -> Self {
        Self { left: Some(limits::PACK_PARTS) }
    }
}

impl SizeBudget {
    /// Takes some, or says once that there are not enough left.
    pub(crate) fn take(&mut self, parts: usize, faults: &mut Faults) -> bool {
        let Some(left) = self.left else { return false };
        self.left = left.checked_sub(parts);
        if self.left.is_none() {
            let whole = Place { file: "".into(), line: 0, column: 0 };
            let message = format!("its arms and guards come to more than {} parts together", limits::PACK_PARTS);
            let hint = "arms count in every state that takes over their steps, or that their rule for any state is for";
            faults.hint("limit", &whole, message, hint);
        }
        self.left.is_some()
    }

    /// They came to more.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.is_none()
    }
}
