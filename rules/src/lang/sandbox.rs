//! The sandbox: a rhai engine without access to anything outside, with every limit set.
//!
//! The limits differ between debug and release builds unless they are set by hand, and some are off by default.

use std::cell::Cell;

use rhai::{
    Dynamic, Engine, OptimizationLevel,
    packages::{
        ArithmeticPackage, BasicArrayPackage, BasicFnPackage, BasicIteratorPackage, BasicMapPackage,
        BasicStringPackage, LogicPackage, MoreStringPackage, Package,
    },
};

use crate::ir::limits::{
    ARRAY, CALL_DEPTH, EXPRESSION_DEPTH, FUNCTION_EXPRESSION_DEPTH, FUNCTIONS, MAP, STRING, VARIABLES,
};

/// An engine without file, network, clock or random access.
pub(crate) fn sandbox(operations: u64) -> Engine {
    let mut engine = Engine::new_raw();
    engine
        .set_max_operations(operations)
        .set_max_call_levels(CALL_DEPTH)
        .set_max_expr_depths(EXPRESSION_DEPTH, FUNCTION_EXPRESSION_DEPTH)
        .set_max_string_size(STRING)
        .set_max_array_size(ARRAY)
        .set_max_map_size(MAP)
        .set_max_variables(VARIABLES)
        .set_max_functions(FUNCTIONS)
        .set_max_modules(0)
        .set_max_strings_interned(1024)
        .set_fail_on_invalid_map_property(true)
        .set_strict_variables(true)
        .set_allow_shadowing(false)
        // Constant folding by rhai would hide type errors: `() < 3` would become `false`.
        .set_optimization_level(OptimizationLevel::None)
        .on_progress(|_| step());
    for symbol in ["eval", "import", "export", "print", "debug", "Fn", "is_shared"] {
        engine.disable_symbol(symbol);
    }
    ArithmeticPackage::new().register_into_engine(&mut engine);
    LogicPackage::new().register_into_engine(&mut engine);
    BasicArrayPackage::new().register_into_engine(&mut engine);
    BasicMapPackage::new().register_into_engine(&mut engine);
    BasicIteratorPackage::new().register_into_engine(&mut engine);
    BasicStringPackage::new().register_into_engine(&mut engine);
    MoreStringPackage::new().register_into_engine(&mut engine);
    BasicFnPackage::new().register_into_engine(&mut engine);
    engine
}

thread_local! {
    /// Steps that scripts on this thread may still take. rhai starts its own count again for each closure that a native
    /// function calls.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

fn step() -> Option<Dynamic> {
    let left = LEFT.get().checked_sub(1);
    left.map_or(Some(Dynamic::UNIT), |left| {
        LEFT.set(left);
        None
    })
}

/// Limits the steps of scripts on this thread while it lives. Steps within a nested budget count for the outer one as
/// well.
pub(crate) struct StepBudget {
    outer: u64,
    given: u64,
}

impl StepBudget {
    pub(crate) fn new(most: u64) -> Self {
        let outer = LEFT.get();
        let given = most.min(outer);
        LEFT.set(given);
        Self { outer, given }
    }
}

impl Drop for StepBudget {
    fn drop(&mut self) {
        LEFT.set(self.outer.saturating_sub(self.given.saturating_sub(LEFT.get())));
    }
}
