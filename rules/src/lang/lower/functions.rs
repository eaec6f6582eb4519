//! Lowers function calls: durations, limits, operators with a name, and functions of the pack, which are inlined.

use rhai::Position;

use crate::{
    ir::{
        expr::Expr,
        members::UNITS,
        operators::{Kind, OPERATORS, Op},
    },
    lang::lower::{
        Lowerer,
        lowered::Lowered,
        operators::{error_or_unknown, is_function},
    },
};

impl Lowerer<'_> {
    /// `name(arguments)`
    pub(super) fn function(
        &mut self,
        name: &str,
        mut arguments: Vec<(Lowered, Position)>,
        position: Position,
    ) -> Lowered {
        let own = self.known.functions.find(name, arguments.len());
        if own.is_none()
            && let Some(known) = error_or_unknown(arguments.iter().map(|(argument, _)| argument))
        {
            return known;
        }
        let unit = UNITS.iter().find(|(unit, _)| *unit == name);
        match (unit, arguments.len(), own) {
            (Some((_, seconds)), 1, _) => {
                let (number, at) = arguments.remove(0);
                Lowered::of(
                    match self.value(number, Kind::Int, at) {
                        Expr::Int(number) => Expr::Int(number.saturating_mul(*seconds)),
                        number => Expr::apply(Op::Multiply, [number, Expr::Int(*seconds)]),
                    },
                    Kind::Int,
                )
            }
            (None, 1, _) if matches!(name, "timeout" | "limit") => {
                let (of, at) = arguments.remove(0);
                self.setting(name, of, at)
            }
            (_, 2, _) if name == "contains" => {
                let item = arguments.remove(1);
                self.contains(arguments.remove(0).0, item.0, position)
            }
            (_, count, _) if is_function(name, count) => self.operator(name, arguments, position),
            (_, _, Some(function)) => {
                if arguments.iter().any(|(argument, _)| matches!(argument, Lowered::Error)) {
                    return Lowered::Error;
                }
                let values: Vec<Lowered> = arguments.into_iter().map(|(value, _)| value).collect();
                let scope = function.params.iter().cloned().zip(values.iter().cloned()).collect();
                let answer = self.inline(function, &scope, position);
                self.sequence(values, answer)
            }
            _ if self.known.builtins.contains(name) => {
                let message = format!("`{name}` is not supported in a guard");
                self.unsupported(position, message, "the README of the rules lists what guards can use")
            }
            _ => {
                let place = self.place(position);
                let operators =
                    OPERATORS.iter().map(|operator| operator.name).filter(|name| name.starts_with(char::is_alphabetic));
                let units = UNITS.iter().map(|(name, _)| *name);
                let known = self.known.functions.named().chain(["timeout", "limit"]).chain(units).chain(operators);
                self.diagnostics.unknown("unknown-verb", &place, "function", name, known);
                Lowered::Error
            }
        }
    }

    /// `timeout("name")` or `limit("name")`, which a site can set.
    fn setting(&mut self, what: &str, of: Lowered, position: Position) -> Lowered {
        self.settings = true;
        let Some(of) = self.literal(of, what, position) else { return Lowered::Error };
        let names = self.known.names;
        let (table, check) = match what {
            "timeout" => (&names.timeouts, "unknown-timeout"),
            _ => (&names.limits, "unknown-limit"),
        };
        match table.get(&of) {
            Some(value) => Lowered::of(Expr::Int(*value), Kind::Int),
            None => {
                let place = self.place(position);
                self.diagnostics.unknown(check, &place, what, &of, table.keys().map(|name| &**name));
                Lowered::Error
            }
        }
    }
}
