//! Numbers of the rules of one list.

use crate::render::RenderError;

/// Numbers of the rules of one list: they rise, so rules keep their order and never collide.
///
/// A rule may ask for a least number, since people are used to certain rules at certain numbers. If rules before it have
/// taken that number, it gets the next free one.
pub(super) struct Numbers<'a> {
    list: &'a str,
    next: u32,
    last: u32,
}

impl<'a> Numbers<'a> {
    /// Numbers of `list`, from `first` to `last` at most.
    pub(super) fn new(list: &'a str, first: u32, last: u32) -> Self {
        Self { list, next: first, last }
    }

    /// Skips to `number`, if it is not reached yet.
    pub(super) fn from(&mut self, number: u32) -> &mut Self {
        self.next = self.next.max(number);
        self
    }

    /// The next number.
    pub(super) fn take(&mut self) -> Result<u32, RenderError> {
        if self.next > self.last {
            return Err(RenderError::TooManyRules { list: self.list.into(), last: self.last });
        }
        self.next += 1;
        Ok(self.next - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_whatever_is_asked_for() {
        let mut numbers = Numbers::new("list", 1, 22);
        let mut taken = Vec::new();
        for from in [10, 10, 20, 15, 1] {
            taken.push(numbers.from(from).take().unwrap());
        }
        assert_eq!(taken, [10, 11, 20, 21, 22]);
        let error = numbers.take().unwrap_err().to_string();
        assert_eq!(error, "`list` has more rules than fit up to number 22");
    }
}
