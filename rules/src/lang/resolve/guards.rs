//! Lowers closures of declarations to guards and time limits.

use std::sync::Arc;

use crate::{
    ir::{
        diagnostic::Place,
        expr::Expr,
        guard::{Guard, TimeLimit},
        operators::Kind,
        read_set::ReadSet,
    },
    lang::{
        declare::GuardDecl,
        lower::{Lowerer, Symbols, names::Function},
        resolve::Resolver,
    },
};

impl Resolver<'_> {
    /// A guard with one parameter, the host.
    pub(super) fn host_guard(&mut self, decl: &GuardDecl) -> Option<Guard> {
        let guard = self.guard(decl)?;
        if guard.of_dpu {
            self.diagnostics.error("type", &decl.place, "this guard takes the host alone", "write `|h| …`");
            return None;
        }
        Some(guard)
    }

    /// A guard with one parameter, the host, or two, the host and a DPU.
    pub(super) fn guard(&mut self, decl: &GuardDecl) -> Option<Guard> {
        let (function, parameters) = self.closure(decl)?;
        if !(1..=2).contains(&parameters) {
            let message = "a guard takes the host, or the host and a DPU";
            self.diagnostics.error("type", &decl.place, message, "write `|h| …` or `|h, d| …`");
            return None;
        }
        let (expr, lintable) = self.lowerer(&function).answer(&function, decl.closure.curry(), Kind::Bool);
        Some(Guard {
            place: decl.place.clone(),
            text: self.source_text(&decl.place),
            of_dpu: parameters == 2,
            lintable,
            reads: ReadSet::of(&expr),
            expr: Arc::new(expr),
        })
    }

    /// Takes the place of a guard with errors.
    pub(super) fn placeholder(&self, decl: &GuardDecl) -> Guard {
        Guard {
            place: decl.place.clone(),
            text: "".into(),
            of_dpu: false,
            expr: Arc::new(Expr::Bool(false)),
            reads: ReadSet::default(),
            lintable: false,
        }
    }

    /// The time limit of a state.
    pub(super) fn time_limit(&mut self, decl: &GuardDecl) -> Option<TimeLimit> {
        let (function, own) = self.closure(decl)?;
        if own != 1 {
            self.diagnostics.error("type", &decl.place, "a time limit takes the host alone", "write `|h| …`");
            return None;
        }
        let (expr, _) = self.lowerer(&function).answer(&function, decl.closure.curry(), Kind::Int);
        Some(TimeLimit { reads: ReadSet::of(&expr), expr })
    }

    fn closure(&mut self, decl: &GuardDecl) -> Option<(Function, usize)> {
        let Some(function) = self.functions.closure(decl.closure.fn_name()).cloned() else {
            self.diagnostics.error("type", &decl.place, "expected a closure literal", "write `|h| …`");
            return None;
        };
        let own = function.params.len().checked_sub(decl.closure.curry().len())?;
        Some((function, own))
    }

    pub(super) fn lowerer(&mut self, function: &Function) -> Lowerer<'_> {
        let reports = self.reports.as_deref();
        let known = Symbols { names: &self.names, functions: self.functions, builtins: self.builtins, reports };
        Lowerer::new(known, self.diagnostics, &mut self.budget, function)
    }

    /// The source of the guard in the parentheses after `place`, with normalised white space.
    fn source_text(&self, place: &Place) -> Arc<str> {
        let Some(source) = self.sources.get(&place.file) else { return "".into() };
        let from = source.lines().take(place.line.saturating_sub(1)).map(|line| line.len() + 1).sum::<usize>();
        let Some(rest) = source.get(from..) else { return "".into() };
        let skipped = rest.char_indices().nth(place.column.saturating_sub(1)).map_or(0, |(at, _)| at);
        closure(&parenthesised(&rest[skipped..])).into()
    }
}

/// The closure among the arguments: the name of a gate can precede it.
fn closure(text: &str) -> &str {
    let named = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    named.map_or(text, |(_, rest)| rest.trim_start_matches([',', ' ']))
}

/// The content of the first parentheses of a rhai text, without comments, white space reduced to single spaces.
fn parenthesised(text: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if quoted {
            out.push(c);
            match c {
                '\\' => out.extend(chars.next()),
                '"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|c| *c != '\n').is_some() {},
            '(' => {
                depth += 1;
                if depth > 1 {
                    out.push(c);
                }
            }
            ')' if depth <= 1 => break,
            ')' => {
                depth -= 1;
                out.push(c);
            }
            _ if depth == 0 => {}
            '"' => {
                quoted = true;
                out.push(c);
            }
            c if c.is_whitespace() => {
                if !out.ends_with(' ') && !out.is_empty() {
                    out.push(' ');
                }
            }
            c => out.push(c),
        }
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_guard_is_what_stands_in_its_parentheses() {
        let source = ".when(|h| h.dpus.all(|d| d.primary) // all\n      && h.state.path != \"a)\\\"b\")\n   .go(\"X\")";
        assert_eq!(closure("\"gate\", |h| h.note(\"a\") == \"b\""), "|h| h.note(\"a\") == \"b\"");
        assert_eq!(parenthesised(source), "|h| h.dpus.all(|d| d.primary) && h.state.path != \"a)\\\"b\"");
    }
}
