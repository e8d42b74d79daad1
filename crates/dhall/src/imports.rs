//! Files and what they import.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use dhall::error::Error;
use dhall::operations::{BinOp, OpKind};
use dhall::syntax::{
    Expr, ExprKind, FilePrefix, Hash, Import, ImportMode, ImportTarget, Label, Span, parse_expr,
};
use dhall::{Ctxt, Parsed};
use fctlab_core::SpecError;
use fctlab_core::units::grouped;

use crate::PRELUDE;
use crate::explain::{Types, position};

/// The longest text that is read as Dhall: the library recurses as deep as text is long.
const MOST_CODE_BYTES: usize = 1 << 16;
/// The environment variable that names folders beside the specification's own whose files may be imported.
const MORE_FOLDERS: &str = "FCTLAB_IMPORTS";
/// The longest text that is imported as text.
const MOST_TEXT_BYTES: u64 = 1 << 20;

/// The files of one specification.
pub(crate) struct Files {
    /// What every file has in scope, in normal form.
    names: Vec<(Label, Expr)>,
    types: Types,
    main: PathBuf,
    /// Folders whose files may be imported, by canonical name: a specification may be a stranger's.
    within: Vec<PathBuf>,
    /// Files that have been read, by canonical name.
    read: HashMap<PathBuf, Expr>,
    /// Files that are being read, the outermost first.
    open: Vec<PathBuf>,
}

/// The normal form of an expression without imports.
fn normal_form(expr: Expr) -> Result<Expr, Box<Error>> {
    Ctxt::with_new(|cx| {
        let resolved = Parsed::from_expr_without_imports(expr).skip_resolve(cx)?;
        let typed = resolved.typecheck(cx).map_err(Error::from)?;
        Ok(typed.normalize(cx).to_expr(cx))
    })
}

/// The hash of an expression in normal form, as `sha256:` names it.
fn hash_of(expr: &Expr) -> Option<Box<[u8]>> {
    Ctxt::with_new(|cx| {
        let expr = Parsed::from_expr_without_imports(expr.clone());
        let typed = expr.skip_resolve(cx).ok()?.typecheck(cx).ok()?;
        let normal = typed.normalize(cx).to_expr_alpha(cx);
        normal.sha256_hash().ok()
    })
}

impl Files {
    /// The files that start from `main`.
    pub(crate) fn new(main: &Path) -> Result<Self, SpecError> {
        let prelude = parse_expr(PRELUDE)
            .map_err(|e| Box::new(Error::from(e)))
            .and_then(normal_form);
        let prelude = prelude.unwrap_or_else(|e| unreachable!("prelude.dhall is tested: {e}"));
        let ExprKind::RecordLit(names) = prelude.kind() else {
            unreachable!("prelude.dhall is a record");
        };
        let names: Vec<_> = names.iter().map(|(l, e)| (l.clone(), e.clone())).collect();
        let more = std::env::var_os(MORE_FOLDERS).unwrap_or_default();
        let own = main.parent().map(Path::to_owned);
        let within = own.into_iter().chain(std::env::split_paths(&more));
        Ok(Files {
            within: within.filter_map(|f| f.canonicalize().ok()).collect(),
            types: Types::new(&names),
            names,
            main: main.to_owned(),
            read: HashMap::new(),
            open: main.canonicalize().into_iter().collect(),
        })
    }

    /// The normal form of the main file's `text`.
    pub(crate) fn main(&mut self, text: &str) -> Result<Expr, SpecError> {
        let main = self.main.clone();
        self.code(text, &main)
    }

    /// The normal form of `text`, which is in `file`.
    fn code(&mut self, text: &str, file: &Path) -> Result<Expr, SpecError> {
        let shown = self.shown(file);
        if text.len() > MOST_CODE_BYTES {
            let most = grouped(MOST_CODE_BYTES as u64);
            let message = format!("has more than the {most} bytes of Dhall that are read");
            return Err(SpecError::new(shown, message));
        }
        let parsed = parse_expr(text)
            .map_err(|e| SpecError::new(&shown, self.types.explain(&e.into(), text)))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut expr = self.resolved(&parsed, folder, &shown)?;
        for (name, value) in &self.names {
            expr = expr.add_let_binding(name.clone(), value.clone());
        }
        normal_form(expr).map_err(|e| SpecError::new(shown, self.types.explain(&e, text)))
    }

    /// How an error names `file`: the main one not at all, others from its folder.
    fn shown(&self, file: &Path) -> String {
        if file == self.main {
            return String::new();
        }
        let folder = self.main.parent().unwrap_or(Path::new(""));
        let short = file.strip_prefix(folder).unwrap_or(file);
        short.display().to_string()
    }

    /// `expr` with what its imports stand for; it is in a file of `folder`.
    fn resolved(&mut self, expr: &Expr, folder: &Path, shown: &str) -> Result<Expr, SpecError> {
        match expr.kind() {
            ExprKind::Import(import) => {
                let at = |message: String| SpecError::new(shown, position(&expr.span()) + &message);
                let file = local(import, folder).map_err(at)?;
                let found = self.import(import.mode, &file, &at)?;
                if let Some(Hash::SHA256(wanted)) = &import.hash
                    && hash_of(&found).as_ref() != Some(wanted)
                {
                    let name = self.shown(&file);
                    return Err(at(format!("{name} does not have the sha256 given here")));
                }
                Ok(found)
            }
            ExprKind::Op(OpKind::BinOp(BinOp::ImportAlt, first, second)) => self
                .resolved(first, folder, shown)
                .or_else(|_| self.resolved(second, folder, shown)),
            kind => {
                let kind = kind.traverse_ref(|e| self.resolved(e, folder, shown))?;
                Ok(Expr::new(kind, expr.span()))
            }
        }
    }

    /// What `file` holds; `at` places an error at the import.
    fn import(
        &mut self,
        mode: ImportMode,
        file: &Path,
        at: &impl Fn(String) -> SpecError,
    ) -> Result<Expr, SpecError> {
        let name = self.shown(file);
        let wrong = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => at(format!("{name}: no such file")),
            std::io::ErrorKind::InvalidData => at(format!("{name}: is not UTF-8 text")),
            _ => at(format!("{name}: cannot be read: {e}")),
        };
        if mode == ImportMode::Location {
            return Err(at("`as Location` is not supported".into()));
        }
        let canonical = file.canonicalize().map_err(wrong)?;
        if !self.within.iter().any(|f| canonical.starts_with(f)) {
            return Err(at(format!(
                "{name} is outside the specification's folder; {MORE_FOLDERS} may name more folders"
            )));
        }
        if mode == ImportMode::Code {
            if let Some(done) = self.read.get(&canonical) {
                return Ok(done.clone());
            }
            if let Some(first) = self.open.iter().position(|f| *f == canonical) {
                let name = |f: &PathBuf| f.file_name().map(|n| n.to_string_lossy().into_owned());
                let mut cycle: Vec<_> = self.open[first..].iter().filter_map(name).collect();
                cycle.extend(name(&canonical));
                return Err(at(format!("import cycle: {}", cycle.join(" -> "))));
            }
        }
        let mut text = String::new();
        File::open(file)
            .and_then(|f| f.take(MOST_TEXT_BYTES + 1).read_to_string(&mut text))
            .map_err(wrong)?;
        if text.len() as u64 > MOST_TEXT_BYTES {
            return Err(at(format!(
                "{name}: has more than {} bytes",
                grouped(MOST_TEXT_BYTES)
            )));
        }
        if mode == ImportMode::RawText {
            let text = ExprKind::TextLit(text.into());
            return Ok(Expr::new(text, Span::Artificial));
        }
        self.open.push(canonical.clone());
        let expr = self.code(&text, file);
        self.open.pop();
        let expr = expr?;
        self.read.insert(canonical, expr.clone());
        Ok(expr)
    }
}

/// The file that an import names.
fn local(import: &Import<Expr>, folder: &Path) -> Result<PathBuf, String> {
    const ONLY: &str = "imports are files on the local disk, such as ./foo.dhall";
    let (prefix, path) = match &import.location {
        ImportTarget::Local(prefix, path) => (prefix, path),
        ImportTarget::Remote(url) => {
            return Err(format!("{} is not read: {ONLY}", url.authority));
        }
        ImportTarget::Env(name) => return Err(format!("env:{name} is not read: {ONLY}")),
        ImportTarget::Missing => return Err(format!("`missing` names no file: {ONLY}")),
    };
    let root = match prefix {
        FilePrefix::Here => folder.to_owned(),
        FilePrefix::Parent => folder.join(".."),
        FilePrefix::Absolute => PathBuf::from("/"),
        FilePrefix::Home => {
            std::env::home_dir().ok_or("~ is not known: there is no home folder")?
        }
    };
    Ok(root.join(path.file_path.iter().collect::<PathBuf>()))
}
