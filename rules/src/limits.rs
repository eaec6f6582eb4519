//! The sandbox: an engine that reaches nothing but what it is given, with every limit set.
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

/// Steps that loading one file, or one guard, may take.
pub(crate) const OPERATIONS: u64 = 100_000;
/// Steps that one interpreted guard may take.
pub(crate) const GUARD_OPERATIONS: u64 = 20_000;
/// Steps that all interpreted guards of one decision may take together.
pub(crate) const DECISION_OPERATIONS: u64 = 100_000;
/// Parts that one guard may come to when its functions stand in the place of their calls.
pub(crate) const GUARD_PARTS: usize = 10_000;
/// Parts that all arms and guards of a pack may come to, in all the states that they are read in.
pub(crate) const PACK_PARTS: usize = 200_000;
/// Depth of calls, and of inlined functions.
pub(crate) const CALL_DEPTH: usize = 8;
/// Depth of an expression. A state's chain of arms is one expression, each verb a level.
const EXPRESSION_DEPTH: usize = 1024;
const FUNCTION_EXPRESSION_DEPTH: usize = 32;
/// Stack for loading a pack, in bytes: expressions are read and evaluated level by level on the stack.
pub(crate) const LOADING_STACK: usize = 64 * 1024 * 1024;
const STRING: usize = 16 * 1024;
const ARRAY: usize = 4096;
const MAP: usize = 1024;
const VARIABLES: usize = 256;
const FUNCTIONS: usize = 4096;
/// States, rules, arms, gates and names that a pack may declare.
pub(crate) const DECLARATIONS: usize = 20_000;
/// Bytes of one file of a pack.
pub(crate) const FILE_BYTES: u64 = 512 * 1024;
/// Files of a pack.
pub(crate) const FILES: usize = 200;
/// Values of one file of tests, those that its aliases stand for included.
pub(crate) const TEST_VALUES: usize = 200_000;
/// Depth of brackets in a file of tests.
pub(crate) const BRACKETS: usize = 64;
/// Items of one list in a file of tests.
pub(crate) const LIST: usize = 5_000;
/// Cases of a pack's tests.
pub(crate) const TEST_CASES: usize = 5_000;
/// DPUs of one case, and values that all its facts come to.
pub(crate) const DPUS: usize = 64;
pub(crate) const CASE_VALUES: usize = 20_000;

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
        // Folding of constants would hide what is compared: `() < 3` would become `false`.
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
    /// Steps that scripts on this thread may still take. rhai counts those of a closure that a function calls, such as
    /// `h.dpus.any`, anew each time.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

fn step() -> Option<Dynamic> {
    let left = LEFT.get().checked_sub(1);
    left.map_or(Some(Dynamic::UNIT), |left| {
        LEFT.set(left);
        None
    })
}

/// Counts the steps that scripts take on this thread while it lives, and stops them when they are too many. What one
/// takes inside another one's counts for both.
pub(crate) struct Meter {
    outer: u64,
    given: u64,
}

impl Meter {
    pub(crate) fn new(most: u64) -> Self {
        let outer = LEFT.get();
        let given = most.min(outer);
        LEFT.set(given);
        Self { outer, given }
    }

    /// Steps that were taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.given.saturating_sub(LEFT.get())
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        LEFT.set(self.outer.saturating_sub(self.taken()));
    }
}
