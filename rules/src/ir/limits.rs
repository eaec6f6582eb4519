//! How much a pack, its tests and one decision may come to. The same in every build.

/// Steps that loading one file may take.
pub(crate) const OPERATIONS: u64 = 100_000;
/// Parts that one guard may come to when its functions stand in the place of their calls.
pub(crate) const GUARD_PARTS: usize = 10_000;
/// How deep the parts of a guard may stand in each other: they are asked level by level on the stack.
pub(crate) const GUARD_DEPTH: usize = 256;
/// Parts that all arms and guards of a pack may come to, in all the states that they are read in.
pub(crate) const PACK_PARTS: usize = 200_000;
/// Depth of calls, and of inlined functions.
pub(crate) const CALL_DEPTH: usize = 8;
/// Depth of an expression. A state's chain of arms is one expression, each verb a level.
pub(crate) const EXPRESSION_DEPTH: usize = 1024;
pub(crate) const FUNCTION_EXPRESSION_DEPTH: usize = 32;
/// Stack for loading a pack, in bytes: expressions are read and evaluated level by level on the stack.
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
