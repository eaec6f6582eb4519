//! The sandbox: an engine that reaches nothing but what it is given, with every limit set.
//!
//! The limits differ between debug and release builds unless they are set by hand, and some are off by default.

use rhai::{
    Engine, OptimizationLevel,
    packages::{
        ArithmeticPackage, BasicArrayPackage, BasicFnPackage, BasicIteratorPackage, BasicMapPackage,
        BasicStringPackage, LogicPackage, MoreStringPackage, Package,
    },
};

/// Steps that loading one file, or one guard, may take.
pub(crate) const OPERATIONS: u64 = 100_000;
/// Steps that one interpreted guard may take.
pub(crate) const GUARD_OPERATIONS: u64 = 20_000;
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
        .set_optimization_level(OptimizationLevel::None);
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
