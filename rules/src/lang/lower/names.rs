//! Symbol tables: declared names and functions of the pack. Filled by `resolve` and `load`, read by lowering.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use rhai::{AST, ASTNode, Module, ScriptFuncDef, Stmt};

use crate::lang::lower::switch::CaseLiterals;

/// Declared names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) states: BTreeMap<Arc<str>, usize>,
    pub(crate) gates: BTreeMap<Arc<str>, usize>,
    pub(crate) probes: BTreeMap<Arc<str>, usize>,
    pub(crate) classifications: BTreeMap<Arc<str>, usize>,
    /// Sources of health reports; a trailing `*` stands for any ending.
    pub(crate) sources: BTreeMap<Arc<str>, usize>,
    pub(crate) causes: BTreeMap<Arc<str>, usize>,
    pub(crate) actions: BTreeMap<Arc<str>, usize>,
    pub(crate) counters: BTreeMap<Arc<str>, usize>,
    /// Notes with the values they can have.
    pub(crate) notes: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// Named times in seconds.
    pub(crate) timeouts: BTreeMap<Arc<str>, i64>,
    pub(crate) limits: BTreeMap<Arc<str>, i64>,
    /// Reports: their number, and whether they are of a DPU.
    pub(crate) reports: BTreeMap<Arc<str>, (usize, bool)>,
}

/// The script functions of a pack: closures by their generated name, and named functions.
#[derive(Default)]
pub(crate) struct Functions {
    pub(crate) cases: CaseLiterals,
    by_name: HashMap<(String, usize), Function>,
}

/// One function: its parameters and the statements of its body.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) params: Arc<[String]>,
    pub(crate) body: Arc<[Stmt]>,
    pub(crate) file: Arc<str>,
}

impl Functions {
    /// Adds a file's functions; returns names that another file declares as well.
    pub(crate) fn add(&mut self, file: &Arc<str>, ast: &AST) -> Vec<String> {
        let mut twice = Vec::new();
        for definition in ast.iter_fn_def() {
            let key = (definition.name.to_string(), definition.params.len());
            let own = !definition.name.starts_with("anon$");
            let function = Function {
                params: definition.params.iter().map(ToString::to_string).collect(),
                body: body(definition),
                file: file.clone(),
            };
            if self.by_name.insert(key, function).is_some() && own {
                twice.push(definition.name.to_string());
            }
        }
        twice
    }

    pub(crate) fn find(&self, name: &str, parameters: usize) -> Option<&Function> {
        self.by_name.get(&(name.to_owned(), parameters))
    }

    /// The closure behind a function pointer, whatever its number of parameters.
    pub(crate) fn closure(&self, name: &str) -> Option<&Function> {
        (0..=8).find_map(|parameters| self.find(name, parameters))
    }

    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        self.of_pack().map(|(name, _)| name)
    }

    /// Named functions.
    pub(crate) fn of_pack(&self) -> impl Iterator<Item = (&str, &Function)> {
        self.all().filter(|(name, _)| !name.starts_with("anon$"))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Function)> {
        self.by_name.iter().map(|((name, _), function)| (name.as_str(), function))
    }
}

/// The statements of a function. The type of a body is private in rhai, so this walks a tree with only this function.
fn body(definition: &Arc<ScriptFuncDef>) -> Arc<[Stmt]> {
    let mut alone = Module::new();
    alone.set_script_fn(definition.clone());
    let mut statements = Vec::new();
    AST::new_from_module(alone).walk(&mut |path| {
        if let [ASTNode::Stmt(statement)] = path {
            statements.push((*statement).clone());
        }
        true
    });
    statements.into()
}
