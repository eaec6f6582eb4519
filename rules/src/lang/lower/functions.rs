//! Functions of the rule language: times, limits, and those of the pack.

use rhai::Position;

use crate::{
    ir::{
        fallible::CanFail,
        predicate::{BoolExpr, IntExpr, TextExpr},
    },
    lang::lower::{Lowerer, Lowering, lowered::Lowered, members::unknown},
};

impl Lowerer<'_> {
    fn can_fail(&self, argument: &Lowered) -> bool {
        match argument {
            Lowered::Bool(value) => value.can_fail(self.reports),
            Lowered::Int(value) => value.can_fail(self.reports),
            Lowered::Text(value, _) => value.can_fail(self.reports),
            _ => false,
        }
    }

    /// `name(arguments)`
    pub(crate) fn function(
        &mut self,
        name: &str,
        mut arguments: Vec<(Lowered, Position)>,
        position: Position,
    ) -> Lowering<Lowered> {
        if arguments.iter().any(|(argument, _)| matches!(argument, Lowered::Faulty)) {
            return Ok(Lowered::Faulty);
        }
        let unit = match name {
            "seconds" => Some(1),
            "minutes" => Some(60),
            "hours" => Some(3600),
            "days" => Some(86_400),
            _ => None,
        };
        if let (Some(unit), [_]) = (unit, arguments.as_slice())
            && let Some((number, at)) = arguments.pop()
        {
            let number = self.int(number, at);
            return Ok(Lowered::Int(match number {
                IntExpr::Const(number) => IntExpr::Const(number.saturating_mul(unit)),
                number => IntExpr::Multiply(Box::new([number, IntExpr::Const(unit)])),
            }));
        }
        match (name, arguments.len()) {
            ("timeout" | "limit", 1) => {
                let Some((of, at)) = arguments.pop() else { return Ok(Lowered::Faulty) };
                let Some(of) = self.literal(of, name, at) else { return Ok(Lowered::Faulty) };
                let table = if name == "timeout" { &self.names.timeouts } else { &self.names.limits };
                match table.get(&of) {
                    Some(value) => Ok(Lowered::Int(IntExpr::Const(*value))),
                    None => {
                        let place = self.place(at);
                        let known = table.keys().map(|name| &**name).collect::<Vec<_>>();
                        self.faults.unknown(unknown(name), &place, name, &of, known);
                        Ok(Lowered::Faulty)
                    }
                }
            }
            ("version_at_least", 2) => {
                let mut texts = Vec::new();
                for (argument, at) in arguments {
                    texts.extend(self.text(argument, at).map(|(text, _)| text));
                }
                Ok(match <[TextExpr; 2]>::try_from(texts) {
                    Ok(texts) => Lowered::Bool(BoolExpr::VersionAtLeast(Box::new(texts))),
                    Err(_) => Lowered::Faulty,
                })
            }
            ("contains", 2) => {
                let (Some((item, _)), Some((list, _))) = (arguments.pop(), arguments.pop()) else {
                    return Ok(Lowered::Faulty);
                };
                Ok(self.contains(list, item, position))
            }
            _ => match self.functions.find(name, arguments.len()).cloned() {
                Some(_) if arguments.iter().any(|(argument, _)| self.can_fail(argument)) => {
                    self.not_native(position, "an argument that can fail")
                }
                Some(function) => {
                    let values = arguments.into_iter().map(|(value, _)| value);
                    let scope = function.params.iter().cloned().zip(values).collect();
                    self.descend(&function, &scope, position)
                }
                None if self.is_builtin(name) => self.not_native(position, "a function of rhai"),
                None => {
                    let place = self.place(position);
                    let own = ["timeout", "limit", "seconds", "minutes", "hours", "days", "version_at_least"];
                    let known = self.functions.named().chain(own).collect::<Vec<_>>();
                    self.faults.unknown("unknown-verb", &place, "function", name, known);
                    Ok(Lowered::Faulty)
                }
            },
        }
    }
}
