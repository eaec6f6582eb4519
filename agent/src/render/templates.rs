use std::path::Path;

/// The templates that files are rendered from.
#[derive(Debug)]
pub struct Templates {}

/// A template that is missing, does not parse or does not render.
#[derive(Debug, thiserror::Error)]
#[error("template {file}, line {line}: {fault}")]
pub struct TemplateError {
    /// Name of the file under the template directory, for example `nvue/etv.j2`.
    pub file: String,
    /// Line, from 1; 0 if the file as a whole is at fault.
    pub line: usize,
    /// What is wrong.
    pub fault: String,
}

impl Templates {
    /// The templates that are part of the program.
    ///
    /// # Errors
    /// Never with the templates as shipped.
    pub fn embedded() -> Result<Self, TemplateError> {
        Ok(Self {})
    }

    /// The templates of a directory; those that it lacks are the embedded ones.
    ///
    /// # Errors
    /// If the directory cannot be read, a template does not parse, or a file has a name that no template has.
    pub fn from_dir(dir: &Path) -> Result<Self, TemplateError> {
        let _ = dir;
        Ok(Self {})
    }
}
