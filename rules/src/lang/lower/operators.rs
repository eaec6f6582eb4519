//! Operators of the rule language, and the types they want.

use rhai::{Position, Token};

use crate::{
    ir::predicate::{BoolExpr, Compare, IntExpr, TextExpr},
    lang::lower::{
        Lowerer, Lowering,
        lowered::{Lowered, Words, maybe},
    },
};

impl Lowerer<'_> {
    pub(crate) fn wrong_type(&mut self, position: Position, wanted: &str, found: &Lowered) -> Lowered {
        let place = self.place(position);
        let message = format!("expected {wanted}, found {}", found.describe());
        let hint = match found {
            Lowered::Maybe(fact) => format!("say what absence means: `{}.or(…)` or `.known`", fact.fact.name),
            Lowered::ActionAge(..) => "say what absence means: `.or(…)` or `.known`".to_owned(),
            Lowered::Text(..) => "texts are compared with `==`, `!=` and `in`".to_owned(),
            Lowered::Version(_) => "versions are compared with `==` and `!=`".to_owned(),
            Lowered::Host | Lowered::Area(_) | Lowered::Dpu(_) => "name one of its facts".to_owned(),
            Lowered::Dpus => "ask `.all(|d| …)`, `.any(|d| …)`, `.count(|d| …)` or `.len()`".to_owned(),
            Lowered::Report(_) => "ask `.has_class(…)`, `.has_probe(…)`, `.has_alert(…)` or `.alerts`".to_owned(),
            Lowered::Int(_) => "compare it: `== 0`, `> 0`".to_owned(),
            _ => format!("write {wanted} here"),
        };
        self.faults.hint("type", &place, message, hint);
        Lowered::Faulty
    }

    pub(crate) fn choose(
        &mut self,
        condition: BoolExpr,
        then: Lowered,
        otherwise: Lowered,
        position: Position,
    ) -> Lowered {
        match (then, otherwise) {
            (Lowered::Int(then), otherwise) => {
                let otherwise = self.int(otherwise, position);
                Lowered::Int(IntExpr::If(Box::new(condition), Box::new([then, otherwise])))
            }
            (Lowered::Text(then, words), otherwise) => match self.text(otherwise, position) {
                Some((otherwise, _)) => {
                    Lowered::Text(TextExpr::If(Box::new(condition), Box::new([then, otherwise])), words)
                }
                None => Lowered::Faulty,
            },
            (then, otherwise) => {
                let (then, otherwise) = (self.bool(then, position), self.bool(otherwise, position));
                Lowered::Bool(BoolExpr::If(Box::new([condition, then, otherwise])))
            }
        }
    }

    pub(crate) fn binary(
        &mut self,
        token: &Token,
        mut sides: Vec<(Lowered, Position)>,
        position: Position,
    ) -> Lowering<Lowered> {
        let Some((right, right_at)) = sides.pop() else { return Ok(Lowered::Faulty) };
        let Some((left, left_at)) = sides.pop() else { return Ok(Lowered::Faulty) };
        let compare = match token {
            Token::EqualsTo => return Ok(self.equal(left, right, position, left_at, right_at)),
            Token::NotEqualsTo => {
                return Ok(match self.equal(left, right, position, left_at, right_at) {
                    Lowered::Bool(equal) => Lowered::Bool(equal.not()),
                    other => other,
                });
            }
            // `x in list` is parsed as `contains(list, x)`.
            Token::In => return Ok(self.contains(left, right, position)),
            Token::NotIn => {
                return Ok(match self.contains(left, right, position) {
                    Lowered::Bool(contains) => Lowered::Bool(contains.not()),
                    other => other,
                });
            }
            Token::LessThan => Compare::Less,
            Token::LessThanEqualsTo => Compare::LessEqual,
            Token::GreaterThan => Compare::Greater,
            Token::GreaterThanEqualsTo => Compare::GreaterEqual,
            _ => return self.arithmetic(token, (left, left_at), (right, right_at), position),
        };
        let (left, right) = (self.int(left, left_at), self.int(right, right_at));
        Ok(Lowered::Bool(BoolExpr::compare(compare, left, right)))
    }

    fn arithmetic(
        &mut self,
        token: &Token,
        left: (Lowered, Position),
        right: (Lowered, Position),
        position: Position,
    ) -> Lowering<Lowered> {
        let make = match token {
            Token::Plus => IntExpr::Add,
            Token::Minus => IntExpr::Subtract,
            Token::Multiply => IntExpr::Multiply,
            Token::Divide => IntExpr::Divide,
            Token::Modulo => IntExpr::Remainder,
            _ => return self.not_native(position, "an operator of this kind"),
        };
        if matches!((&left.0, token), (Lowered::Text(..), Token::Plus)) {
            return self.not_native(position, "joining of texts");
        }
        let sides = [self.int(left.0, left.1), self.int(right.0, right.1)];
        let whole = make(Box::new(sides));
        Ok(Lowered::Int(whole.constant().map_or(whole, IntExpr::Const)))
    }

    fn equal(
        &mut self,
        left: Lowered,
        right: Lowered,
        position: Position,
        left_at: Position,
        right_at: Position,
    ) -> Lowered {
        match (left, right) {
            (Lowered::Faulty, _) | (_, Lowered::Faulty) => Lowered::Faulty,
            (Lowered::Bool(left), Lowered::Bool(right)) => Lowered::Bool(BoolExpr::Same(Box::new([left, right]))),
            (Lowered::Int(left), Lowered::Int(right)) => Lowered::Bool(BoolExpr::compare(Compare::Equal, left, right)),
            (Lowered::Text(left, words), Lowered::Text(right, other)) => {
                self.check_word(&right, &words, right_at);
                self.check_word(&left, &other, left_at);
                Lowered::Bool(BoolExpr::TextEqual(Box::new([left, right])))
            }
            (left, right) => match (maybe(&left), maybe(&right)) {
                (Some((kind, left_side)), Some((other, right_side))) if kind == other => {
                    Lowered::Bool(BoolExpr::MaybeEqual(Box::new([left_side, right_side])))
                }
                _ => {
                    let place = self.place(position);
                    let message = format!("{} is never equal to {}", left.describe(), right.describe());
                    self.faults.hint("type", &place, message, "compare values of one type");
                    Lowered::Faulty
                }
            },
        }
    }

    /// A word that can never be the value is a misspelt one.
    pub(crate) fn check_word(&mut self, text: &TextExpr, words: &Words, position: Position) {
        let TextExpr::Const(word) = text else { return };
        let place = self.place(position);
        match words {
            Words::Any => {}
            Words::OneOf(known) => {
                if !known.iter().any(|k| k == word) {
                    self.faults.unknown("unknown-word", &place, "value", word, known.iter().map(|k| &**k));
                }
            }
            Words::State => {
                if !self.names.states.contains_key(word) {
                    self.faults.unknown("unknown-state", &place, "state", word, self.names.states.keys().map(|k| &**k));
                }
            }
        }
    }

    /// `list.contains(item)`, also written `item in list`.
    pub(crate) fn contains(&mut self, list: Lowered, item: Lowered, position: Position) -> Lowered {
        match (list, item) {
            (Lowered::Faulty, _) | (_, Lowered::Faulty) => Lowered::Faulty,
            (Lowered::Texts(list), item) => match self.text(item, position) {
                Some((item, _)) => Lowered::Bool(BoolExpr::Contains(list, Box::new(item))),
                None => Lowered::Faulty,
            },
            (Lowered::List(items), Lowered::Text(text, words)) => {
                let mut known = Vec::new();
                for item in items {
                    let Some((item, _)) = self.text(item, position) else { return Lowered::Faulty };
                    self.check_word(&item, &words, position);
                    match item {
                        TextExpr::Const(word) => known.push(word),
                        _ => {
                            return self.wrong_type(
                                position,
                                "a list of literal texts",
                                &Lowered::Text(item, Words::Any),
                            );
                        }
                    }
                }
                Lowered::Bool(BoolExpr::OneOf(Box::new(text), known.into()))
            }
            (Lowered::List(items), Lowered::Int(number)) => {
                let mut known = Vec::new();
                for item in items {
                    match item {
                        Lowered::Int(IntExpr::Const(item)) => known.push(item),
                        other => return self.wrong_type(position, "a list of literal numbers", &other),
                    }
                }
                Lowered::Bool(BoolExpr::OneOfInts(Box::new(number), known.into()))
            }
            (Lowered::List(_), other) => self.wrong_type(position, "a text or a number", &other),
            (other, _) => self.wrong_type(position, "a list", &other),
        }
    }

    pub(crate) fn bool(&mut self, lowered: Lowered, position: Position) -> BoolExpr {
        match lowered {
            Lowered::Bool(value) => value,
            Lowered::Faulty => BoolExpr::Const(false),
            other => {
                self.wrong_type(position, "true or false", &other);
                BoolExpr::Const(false)
            }
        }
    }

    pub(crate) fn int(&mut self, lowered: Lowered, position: Position) -> IntExpr {
        match lowered {
            Lowered::Int(value) => value,
            Lowered::Faulty => IntExpr::Const(0),
            other => {
                self.wrong_type(position, "a number", &other);
                IntExpr::Const(0)
            }
        }
    }

    pub(crate) fn text(&mut self, lowered: Lowered, position: Position) -> Option<(TextExpr, Words)> {
        match lowered {
            Lowered::Text(text, words) => Some((text, words)),
            Lowered::Faulty => None,
            other => {
                self.wrong_type(position, "a text", &other);
                None
            }
        }
    }
}
