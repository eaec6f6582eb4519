//! Limits of a pack and its tests, the same in every build.

/// Steps of running one file.
pub(crate) const OPERATIONS: u64 = 100_000;
/// Parts of one guard with its functions inlined.
pub(crate) const GUARD_PARTS: usize = 10_000;
/// Nesting depth of a guard: evaluation recurses on the stack.
pub(crate) const GUARD_DEPTH: usize = 256;
/// Parts of all arms and guards of a pack, counted in every state that uses them.
pub(crate) const PACK_PARTS: usize = 200_000;
/// Depth of calls, and of inlined functions.
pub(crate) const CALL_DEPTH: usize = 8;
/// Depth of an expression. A state's chain of arms is one expression, each verb a level.
pub(crate) const EXPRESSION_DEPTH: usize = 1024;
pub(crate) const FUNCTION_EXPRESSION_DEPTH: usize = 32;
/// Stack for loading a pack, in bytes: parsing and running scripts recurse on the stack.
pub(crate) const LOADING_STACK: usize = 64 * 1024 * 1024;
pub(crate) const STRING: usize = 16 * 1024;
pub(crate) const ARRAY: usize = 4096;
pub(crate) const MAP: usize = 1024;
pub(crate) const VARIABLES: usize = 256;
pub(crate) const FUNCTIONS: usize = 4096;
/// States, rules, arms, gates and names that a pack may declare.
pub(crate) const DECLARATIONS: usize = 20_000;
/// Bytes of one file of a pack.
pub(crate) const FILE_BYTES: u64 = 512 * 1024;
/// Files of a pack.
pub(crate) const FILES: usize = 200;
/// Values of one file of tests with its aliases expanded.
pub(crate) const TEST_VALUES: usize = 200_000;
/// Depth of brackets in a file of tests.
pub(crate) const BRACKETS: usize = 64;
/// Items of one list in a file of tests.
pub(crate) const LIST: usize = 5_000;
/// Cases of a pack's tests.
pub(crate) const TEST_CASES: usize = 5_000;
/// DPUs of one case, and values of all its facts.
pub(crate) const DPUS: usize = 64;
pub(crate) const CASE_VALUES: usize = 20_000;
