//! How guards and numbers of a pack are asked, native ones and those that the interpreter evaluates.

use crate::{
    eval::{env::Env, interpret},
    ir::{
        guard::{Body, Guard, Number},
        predicate::{Answer, GuardError},
    },
};

impl Guard {
    pub(crate) fn holds(&self, env: &Env<'_>) -> Answer<bool> {
        match &self.body {
            Body::Native(expr) => expr.eval(env),
            Body::Script(_) => interpret::ask(&self.closure, env, self.of_dpu),
        }
    }

    /// Why the guard has no answer, in words.
    pub(crate) fn error(&self, env: &Env<'_>, error: GuardError) -> String {
        let own = match &self.body {
            Body::Script(_) => interpret::error(&self.closure, env, self.of_dpu),
            Body::Native(_) if error == GuardError::Script => env.reports.script_error(&self.reads.reports, env),
            Body::Native(_) => None,
        };
        own.unwrap_or_else(|| error.to_string())
    }
}

impl Number {
    pub(crate) fn value(&self, env: &Env<'_>) -> Answer<i64> {
        match (&self.body, &self.closure) {
            (Body::Native(expr), _) => expr.eval(env),
            (Body::Script(_), Some(closure)) => interpret::number(closure, env),
            (Body::Script(_), None) => Ok(0),
        }
    }
}
