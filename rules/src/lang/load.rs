//! Loads the scripts of a pack: compiles and runs each once, then resolves and checks what they declared.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

use rhai::{AST, Engine, EvalAltResult, ParseError, ParseErrorType, Scope, Token};
use sha2::{Digest, Sha256};

use crate::{
    ir::{
        diagnostic::{Diagnostics, LoadError, Place, did_you_mean},
        limits,
        pack::Pack,
    },
    lang::{
        declare::{Collector, place},
        lower::names::Functions,
        resolve,
        sandbox::{StepBudget, sandbox},
    },
};

/// What a site sets differently from the pack, and what it can do.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Named times in seconds that replace the pack's.
    pub timeouts: BTreeMap<String, i64>,
    /// Named limits that replace the pack's.
    pub limits: BTreeMap<String, i64>,
    /// The actions that the controller can carry out; none to skip that check.
    pub known_actions: Option<Vec<String>>,
}

/// Runs the scripts once, and resolves and checks what they declared.
pub(crate) fn load_sources(sources: BTreeMap<Arc<str>, Arc<str>>, options: &LoadOptions) -> Result<Pack, LoadError> {
    let collector = Collector::default();
    let mut engine = sandbox(limits::OPERATIONS);
    let tokens = Tokens::default();
    hook_tokens(&mut engine, &tokens);
    let builtins = builtins(&engine);
    collector.register(&mut engine);
    let verbs = names(&engine.gen_fn_signatures(false));

    let mut diagnostics = Diagnostics::default();
    let mut functions = Functions::default();
    let asts = match too_large(&sources, &mut diagnostics) {
        true => Vec::new(),
        false => compile(&engine, &sources, &tokens, &mut functions, &mut diagnostics),
    };
    let mut library = AST::empty();
    for (file, ast) in &asts {
        for name in functions.add(file, ast) {
            let whole = Place { file: file.clone(), line: 0, column: 0 };
            let message = format!("another file has a function `{name}` as well");
            diagnostics.error("duplicate", &whole, message, "functions are known in all files: keep one of them");
        }
        library = library.merge(&ast.clone_functions_only());
    }
    for (file, ast) in &asts {
        let mut runnable = library.merge(ast);
        runnable.set_source(file.as_ref());
        let _meter = StepBudget::new(limits::OPERATIONS);
        if let Err(error) = engine.run_ast_with_scope(&mut Scope::new(), &runnable) {
            runtime_error(file, &error, &engine, &mut diagnostics);
        }
    }
    let mut declarations = collector.take();
    diagnostics.0.append(&mut declarations.diagnostics.0);
    if sources.is_empty() {
        let whole = Place { file: "".into(), line: 0, column: 0 };
        diagnostics.error("empty", &whole, "the pack has no files", "a pack is a directory with `*.rhai` files");
    }

    let input = resolve::Input {
        declarations,
        functions,
        builtins,
        verbs,
        sources: sources.clone(),
        hash: hash(&sources),
        incomplete: !diagnostics.0.is_empty(),
    };
    let rules = resolve::resolve(input, options, &mut diagnostics);
    match rules {
        Some(rules) if diagnostics.0.is_empty() => Ok(rules),
        _ => {
            diagnostics.0.sort();
            diagnostics.0.dedup();
            Err(LoadError { diagnostics: diagnostics.0, sources })
        }
    }
}

/// Checks number and size of the pack's files.
fn too_large(sources: &BTreeMap<Arc<str>, Arc<str>>, diagnostics: &mut Diagnostics) -> bool {
    for (file, text) in sources {
        let whole = Place { file: file.clone(), line: 0, column: 0 };
        if u64::try_from(text.len()).is_ok_and(|bytes| bytes > limits::FILE_BYTES) {
            let message = format!("the file has more than {} bytes", limits::FILE_BYTES);
            diagnostics.error("limit", &whole, message, "split it");
        }
    }
    if sources.len() > limits::FILES {
        let whole = Place { file: "".into(), line: 0, column: 0 };
        diagnostics.error("limit", &whole, format!("it has more than {} files", limits::FILES), "join some of them");
    }
    !diagnostics.0.is_empty()
}

/// The tokens that the parser has read; none if nobody needs them.
type Tokens = Arc<Mutex<Option<Vec<Token>>>>;

/// Unreserves `go` and `with`, which are reserved words of rhai without a meaning, and keeps the tokens.
fn hook_tokens(engine: &mut Engine, tokens: &Tokens) {
    let tokens = tokens.clone();
    #[allow(deprecated, reason = "the callback is marked as not yet stable; the version is pinned by the lock file")]
    engine.on_parse_token(move |token, _, _| {
        let token = match token {
            Token::Reserved(word) if matches!(word.as_str(), "go" | "with") => Token::Identifier(word),
            token => token,
        };
        if let Some(tokens) = &mut *tokens.lock().unwrap_or_else(PoisonError::into_inner) {
            tokens.push(token.clone());
        }
        token
    });
}

/// Functions that rhai itself offers.
fn builtins(engine: &Engine) -> HashSet<String> {
    names(&engine.gen_fn_signatures(true))
}

/// The names in signatures of functions.
pub(crate) fn names(signatures: &[String]) -> HashSet<String> {
    signatures.iter().filter_map(|signature| signature.split('(').next()).map(str::to_owned).collect()
}

fn compile(
    engine: &Engine,
    sources: &BTreeMap<Arc<str>, Arc<str>>,
    tokens: &Tokens,
    functions: &mut Functions,
    diagnostics: &mut Diagnostics,
) -> Vec<(Arc<str>, AST)> {
    let mut asts = Vec::new();
    for (file, text) in sources {
        *tokens.lock().unwrap_or_else(PoisonError::into_inner) = text.contains("switch").then(Vec::new);
        let compiled = engine.compile(text.as_ref());
        let read = tokens.lock().unwrap_or_else(PoisonError::into_inner).take();
        functions.cases.add(engine, &read.unwrap_or_default());
        match compiled {
            Ok(mut ast) => {
                ast.set_source(file.as_ref());
                asts.push((file.clone(), ast));
            }
            Err(ParseError(kind, position)) => {
                let message = kind.to_string();
                let hint = match kind.as_ref() {
                    _ if message.contains("reserved keyword") => "rules have no use for this keyword",
                    ParseErrorType::VariableUndefined(_) => "a guard sees only its parameters",
                    _ => "look for a bracket, comma, semicolon or quote that is missing here or before",
                };
                diagnostics.error("syntax", &place(file, position), message, hint);
            }
        }
    }
    asts
}

/// Reports why a script stopped: an unknown verb, a limit, or another error of rhai.
fn runtime_error(file: &Arc<str>, error: &EvalAltResult, engine: &Engine, diagnostics: &mut Diagnostics) {
    let inner = error.unwrap_inner();
    let at = place(file, inner.position());
    match inner {
        EvalAltResult::ErrorFunctionNotFound(signature, _) => {
            let name = signature.split([' ', '(']).next().unwrap_or(signature);
            let signatures = engine.gen_fn_signatures(false);
            let known = signatures.iter().filter_map(|known| known.split('(').next()).collect::<HashSet<_>>();
            if known.contains(name) {
                let message = format!("`{name}` does not take these arguments here: {signature}");
                diagnostics.error("unknown-verb", &at, message, "the verbs are listed in the README of the rules");
            } else {
                let hint = did_you_mean(name, known, || "the verbs are listed in the README of the rules".to_owned());
                diagnostics.error("unknown-verb", &at, format!("unknown verb `{name}`"), hint);
            }
        }
        EvalAltResult::ErrorTooManyOperations(_) | EvalAltResult::ErrorTerminated(..) => {
            let message = format!("the file takes more than {} steps to run", limits::OPERATIONS);
            diagnostics.error("limit", &at, message, "rules declare: they need no loops");
        }
        inner => {
            diagnostics.error("script", &at, inner.to_string(), "a file of rules only declares: remove other code");
        }
    }
}

fn hash(sources: &BTreeMap<Arc<str>, Arc<str>>) -> String {
    let mut hasher = Sha256::new();
    for (name, text) in sources {
        for part in [name, text] {
            hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hasher.update(part.as_bytes());
        }
    }
    hasher.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
