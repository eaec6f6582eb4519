//! Lowers operators: overload resolution in the operator table, by name and by the kinds of the arguments.

use rhai::Position;

use crate::{
    ir::{
        expr::Expr,
        operators::{Kind, LiteralRule, OPERATORS, Op, Operator},
    },
    lang::lower::{
        Lowerer,
        expressions::literals,
        lowered::{Lowered, TextDomain, TypedExpr},
        members::member_hint,
    },
};

type Placed = (Lowered, Position);

impl Lowerer<'_> {
    /// The value as an argument of this kind, if it converts.
    pub(super) fn accepted(&self, kind: Kind, lowered: &Lowered) -> Option<TypedExpr> {
        match (kind, lowered) {
            (Kind::Shown, Lowered::Value(value)) => {
                matches!(value.kind, Kind::Bool | Kind::Int | Kind::Text).then(|| value.clone())
            }
            (_, Lowered::Value(value)) => (value.kind == kind).then(|| value.clone()),
            (Kind::TextList | Kind::IntList, Lowered::List(items)) => {
                let (expr, found) = literals(items)?;
                (found == kind).then_some(TypedExpr { expr, kind, domain: TextDomain::Any })
            }
            _ => None,
        }
    }

    /// Applies an operator by its name. Each argument that does not fit is an error.
    pub(super) fn operator(&mut self, name: &str, arguments: Vec<Placed>, position: Position) -> Lowered {
        if let Some(known) = error_or_unknown(arguments.iter().map(|(argument, _)| argument)) {
            return known;
        }
        let candidates: Vec<(&Operator, &[Kind], Kind)> = signatures(name, arguments.len()).collect();
        let fits = |takes: &[Kind]| -> Option<Vec<TypedExpr>> {
            takes.iter().zip(&arguments).map(|(kind, (argument, _))| self.accepted(*kind, argument)).collect()
        };
        let fitting = candidates.iter().find_map(|(operator, takes, gives)| Some((*operator, fits(takes)?, *gives)));
        if let Some((operator, values, gives)) = fitting {
            return self.applied(operator, values, gives, position);
        }
        let nearest = candidates
            .iter()
            .find(|(_, takes, _)| self.accepted(takes[0], &arguments[0].0).is_some())
            .or_else(|| candidates.first());
        match nearest {
            Some((_, takes, _)) => {
                for (kind, (argument, at)) in takes.iter().zip(&arguments) {
                    if self.accepted(*kind, argument).is_none() {
                        self.wrong_type(*at, kind.describe(), argument);
                    }
                }
                Lowered::Error
            }
            None => self.unsupported(
                position,
                format!("`{name}` is no operator of guards"),
                "there are `&& || !`, comparisons and `+ - * / %`",
            ),
        }
    }

    fn applied(&mut self, operator: &Operator, values: Vec<TypedExpr>, gives: Kind, position: Position) -> Lowered {
        let domain = values.first().map_or(TextDomain::Any, |value| value.domain.clone());
        if let Some(TypedExpr { expr, .. }) = values.get(1) {
            match operator.literal {
                LiteralRule::Any => {}
                LiteralRule::Prefix => self.check_prefix(expr, &domain, position),
                LiteralRule::StatePath => {
                    let Some(prefix) = self.written(expr, "a state path", position) else { return Lowered::Error };
                    self.check_state_prefix(&prefix, &domain, position);
                }
            }
        }
        let kept = matches!(operator.op, Op::OrElse | Op::Min | Op::Max);
        let expr = self.operation(operator.op, values.into_iter().map(|value| value.expr).collect());
        Lowered::Value(TypedExpr { expr, kind: gives, domain: if kept { domain } else { TextDomain::Any } })
    }

    /// `receiver.name(arguments)` or `receiver.name`, if an operator of this name takes such a receiver.
    pub(super) fn method_operator(
        &mut self,
        receiver: Lowered,
        name: &str,
        arguments: Vec<Lowered>,
        position: Position,
    ) -> Lowered {
        let for_receiver =
            signatures(name, arguments.len() + 1).any(|(_, takes, _)| self.accepted(takes[0], &receiver).is_some());
        if !for_receiver {
            return self.no_member(&receiver, name, position);
        }
        let all = std::iter::once(receiver).chain(arguments);
        self.operator(name, all.map(|argument| (argument, position)).collect(), position)
    }

    /// Reports that the receiver has no member of this name.
    pub(super) fn no_member(&mut self, receiver: &Lowered, name: &str, position: Position) -> Lowered {
        if let Lowered::Value(value) = receiver
            && name == "known"
            && matches!(value.kind, Kind::Bool | Kind::Int | Kind::Text)
        {
            return self.error("type", position, "this fact is always known", "remove `.known`");
        }
        let known = self.members_of(receiver);
        let hint = member_hint(name, &known);
        if self.known.builtins.contains(name) && !known.contains(&name) {
            let message = format!("`{name}` is not supported in a guard");
            return self.unsupported(position, message, hint);
        }
        self.error(
            "unknown-verb",
            position,
            format!("{} has no `{name}(…)` with these arguments", receiver.describe()),
            hint,
        )
    }

    /// The members of a value, for hints.
    fn members_of(&self, receiver: &Lowered) -> Vec<&'static str> {
        let own: &[&'static str] = match receiver {
            Lowered::Host | Lowered::Dpu(_) => &["counter", "note", "done", "failed", "running", "tries", "action_age"],
            Lowered::Dpus => &["any", "all", "count", "is_empty", "len"],
            Lowered::Report(_) => &["has_alert", "has_class", "has_probe", "missing", "alerts"],
            Lowered::List(_) => &["any", "all", "count"],
            Lowered::Value(value) if value.kind == Kind::Texts => &["any", "all", "count"],
            _ => &[],
        };
        let takes = |operator: &&Operator| {
            let first = operator.takes.iter().filter_map(|(takes, _)| takes.first());
            operator.name.starts_with(char::is_alphabetic)
                && first.into_iter().any(|kind| self.accepted(*kind, receiver).is_some())
        };
        own.iter().copied().chain(OPERATORS.iter().filter(takes).map(|operator| operator.name)).collect()
    }

    pub(super) fn equal(&mut self, left: Placed, right: Placed, position: Position) -> Lowered {
        if let Some(known) = error_or_unknown([&left.0, &right.0].into_iter()) {
            return known;
        }
        match (left, right) {
            ((Lowered::Value(left), left_at), (Lowered::Value(right), right_at))
                if comparable(left.kind, right.kind) =>
            {
                self.check_word(&right.expr, &left.domain, right_at);
                self.check_word(&left.expr, &right.domain, left_at);
                Lowered::bool(self.operation(Op::Equal, vec![left.expr, right.expr]))
            }
            ((left, _), (right, _)) => {
                let message = format!("{} is never equal to {}", left.describe(), right.describe());
                self.error("type", position, message, "compare values of one type")
            }
        }
    }

    /// `list.contains(item)`, also written `item in list`.
    pub(super) fn contains(&mut self, list: Lowered, item: Lowered, position: Position) -> Lowered {
        if let Some(known) = error_or_unknown([&list, &item].into_iter()) {
            return known;
        }
        match (&list, &item) {
            (Lowered::List(items), Lowered::Value(value)) if matches!(value.kind, Kind::Text | Kind::Int) => {
                let expected =
                    if value.kind == Kind::Text { "a list of literal texts" } else { "a list of literal numbers" };
                for item in items {
                    match item {
                        Lowered::Value(item) if item.kind == value.kind && item.expr.constant().is_some() => {
                            self.check_word(&item.expr, &value.domain, position);
                        }
                        other
                            if value.kind == Kind::Text
                                && !matches!(other, Lowered::Value(item) if item.kind == Kind::Text) =>
                        {
                            return self.wrong_type(position, "a text", other);
                        }
                        other => return self.wrong_type(position, expected, other),
                    }
                }
                if items.is_empty() {
                    return Lowered::bool(Expr::Bool(false));
                }
                self.operator("contains", vec![(list, position), (item, position)], position)
            }
            (Lowered::List(_), other) => self.wrong_type(position, "a text or a number", other),
            (Lowered::Value(value), _)
                if matches!(value.kind, Kind::Texts | Kind::Text | Kind::TextList | Kind::IntList) =>
            {
                self.operator("contains", vec![(list, position), (item, position)], position)
            }
            (other, _) => self.wrong_type(position, "a list", other),
        }
    }
}

/// The signatures of all operators of a name with this number of arguments.
fn signatures(name: &str, arguments: usize) -> impl Iterator<Item = (&'static Operator, &'static [Kind], Kind)> {
    let named = OPERATORS.iter().filter(move |operator| operator.name == name);
    let all = named.flat_map(|operator| operator.takes.iter().map(move |(takes, gives)| (operator, *takes, *gives)));
    all.filter(move |(_, takes, _)| takes.len() == arguments)
}

/// Whether an operator of this name can be called like a function.
pub(super) fn is_function(name: &str, arguments: usize) -> bool {
    name.starts_with(char::is_alphabetic) && signatures(name, arguments).next().is_some()
}

/// Errors and unknown values propagate to the whole expression.
pub(super) fn error_or_unknown<'a>(parts: impl Iterator<Item = &'a Lowered> + Clone) -> Option<Lowered> {
    if parts.clone().any(|part| matches!(part, Lowered::Error)) {
        return Some(Lowered::Error);
    }
    parts.clone().any(|part| matches!(part, Lowered::Unknown)).then_some(Lowered::Unknown)
}

fn comparable(one: Kind, other: Kind) -> bool {
    let class = |kind| match kind {
        Kind::Bool => 0,
        Kind::Int | Kind::MaybeInt => 1,
        Kind::Text | Kind::MaybeText => 2,
        Kind::Version => 3,
        Kind::Texts | Kind::TextList | Kind::IntList | Kind::Shown => 4,
    };
    class(one) == class(other) && class(one) < 4
}
