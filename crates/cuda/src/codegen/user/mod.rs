//! User kernels as readable CUDA C++, with the Python lines as comments.

mod expr;
mod names;
mod stmt;

use std::fmt::Write as _;

use cuprous_kernel::Options;
use cuprous_kernel::integer_ranges::IntegerRanges;
use cuprous_kernel::ir::{Function, Module};
use cuprous_kernel::linked::THROUGH_POINTER;
use cuprous_kernel::types::{ArrayTy, Order, RecordTy, Ty};

use super::prelude::{Part, Parts};
use super::text::Code;
use super::types::{ctype, short, translation_unit};
use stmt::Declarations;

/// The code of a kernel.
#[derive(Clone, Debug)]
pub struct UserCode {
    /// Name of the `extern "C"` kernel.
    pub name: String,
    /// The prelude's parts that it uses, in order.
    pub prelude: Vec<&'static str>,
    /// The code itself.
    pub code: String,
    /// The user's own CUDA C++ that it calls.
    pub linked: String,
}

impl UserCode {
    /// Returns the translation unit for people to read.
    pub fn source(&self) -> String {
        self.unit(&self.code)
    }

    /// Returns the translation unit without comments, which name files and lines. Compiled code is cached by this text,
    /// so a function that was moved, or that a notebook's next session has in a file of another name, is found again.
    pub fn compiled(&self) -> String {
        let lines = self.code.lines().filter(|line| !line.trim_start().starts_with("//"));
        self.unit(&lines.flat_map(|line| [line, "\n"]).collect::<String>())
    }

    fn unit(&self, code: &str) -> String {
        let own = translation_unit(&self.prelude, code);
        if self.linked.is_empty() {
            return own;
        }
        // The user's code comes first, so that its headers see none of the prelude's names.
        format!("{}\n{THROUGH_POINTER}\n{own}", self.linked)
    }
}

/// Writes one function at a time and gathers what the whole module needs.
struct Writer<'m> {
    module: &'m Module,
    options: &'m Options,
    function: &'m Function,
    /// Names of the functions, and of the variables of the current function.
    function_names: Vec<String>,
    names: Vec<String>,
    sizes: IntegerRanges,
    declarations: Declarations,
    parts: Parts,
    atomics: bool,
    match_all: bool,
    /// Structs of tuples, inner ones first: (name, definition).
    tuples: Vec<(String, String)>,
    last_line: u32,
    /// True if the first function is a device function for other code to call, and not a kernel.
    device: bool,
}

/// Returns the CUDA C++ of a module.
pub fn generate(module: &Module, options: &Options) -> UserCode {
    write(module, options, None).0
}

/// Returns the CUDA C++ of a device function for other code to call, the type of its result, and the types of its
/// parameters. No function in the module gets the name `name`.
pub fn generate_function(module: &Module, options: &Options, name: &str) -> (UserCode, String, Vec<String>) {
    write(module, options, Some(name))
}

fn write(module: &Module, options: &Options, exported: Option<&str>) -> (UserCode, String, Vec<String>) {
    let mut function_names: Vec<String> = Vec::new();
    for function in &module.functions {
        let mut name = names::unreserved(&function.name);
        while function_names.contains(&name) || exported == Some(&name) {
            name.push('_');
        }
        function_names.push(name);
    }
    let kernel = module.kernel();
    let mut writer = Writer {
        module,
        options,
        function: kernel,
        function_names,
        names: Vec::new(),
        sizes: IntegerRanges::of(kernel),
        declarations: Declarations::default(),
        parts: Parts::new(),
        atomics: false,
        match_all: false,
        tuples: Vec::new(),
        last_line: 0,
        device: exported.is_some(),
    };
    writer.parts.add(Part::Kernel);
    let (mut prototypes, mut bodies, mut constants) = (Code::default(), Code::default(), Code::default());
    for k in 0..module.constants.len() {
        writer.constant(k, &mut constants);
    }
    // The kernel comes last.
    for k in (0..module.functions.len()).rev() {
        let function = &module.functions[k];
        writer.function = function;
        writer.names = names::variables(function, &writer.function_names);
        writer.sizes = IntegerRanges::of(function);
        writer.declarations = Declarations::of(function);
        if k > 0 || writer.device {
            let signature = writer.signature(function, k);
            prototypes.line(format!("{signature};"));
            bodies.line(format!("// {}, line {}: {}", function.file, function.first_line, function.name));
        } else {
            bodies.line(format!("// {}, line {}", function.file, function.first_line));
        }
        writer.function(function, k, &mut bodies);
    }
    let mut code = String::new();
    for (name, text) in &writer.tuples {
        if !(writer.match_all && name == "tuple_i32_bool") {
            let _infallible = writeln!(code, "{text}");
        }
    }
    for part in [constants, prototypes, bodies] {
        code.push_str(&part.text);
    }
    if writer.atomics {
        writer.parts.add(Part::UserAtomics);
    }
    if module.reports {
        writer.parts.add(Part::Fault);
    }
    if writer.match_all {
        writer.parts.add(Part::MatchAll);
    }
    let ret = if kernel.ret == Ty::None { "void".into() } else { writer.ctype(&kernel.ret) };
    let params =
        kernel.vars[..kernel.params].iter().filter(|v| v.ty != Ty::None).map(|v| writer.ctype(&v.ty)).collect();
    let name = writer.function_names[0].clone();
    (UserCode { name, prelude: writer.parts.texts(), code, linked: options.linked.clone() }, ret, params)
}

impl Writer<'_> {
    /// Returns the C++ type of a value.
    fn ctype(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Scalar(d) => {
                self.parts.dtype(*d);
                ctype(*d).into()
            }
            Ty::Array(a) => {
                let elem = self.ctype(&a.elem);
                format!("{}<{elem}, {}>", if a.order == Order::C { "array" } else { "strided" }, a.ndim)
            }
            Ty::Tuple(items, _) => {
                let types: Vec<String> = items.iter().map(|t| self.ctype(t)).collect();
                let name = format!("tuple_{}", items.iter().map(mangled).collect::<Vec<_>>().join("_"));
                if !self.tuples.iter().any(|(known, _)| *known == name) {
                    let fields: Vec<String> = types.iter().enumerate().map(|(k, t)| format!("{t} v{k};")).collect();
                    self.tuples.push((name.clone(), format!("struct {name} {{ {} }};", fields.join(" "))));
                }
                name
            }
            Ty::Record(record) => {
                let name = record_name(record);
                if !self.tuples.iter().any(|(known, _)| *known == name) {
                    let (size, align) = (record.size.max(1), ty.item_align());
                    let align = if size.is_multiple_of(align) { align } else { 1 };
                    let text = format!("struct __align__({align}) {name} {{ unsigned char bytes[{size}]; }};");
                    self.tuples.push((name.clone(), text));
                }
                name
            }
            Ty::None | Ty::Unknown => "none".into(),
        }
    }
}

/// Returns a name for records of that layout. Only size and alignment matter to the code.
fn record_name(record: &RecordTy) -> String {
    let align = record.fields.iter().map(|f| f.elem.item_align()).max().unwrap_or(1);
    format!("record_type_{}_{align}", record.size)
}

/// Returns a type as part of a name.
fn mangled(ty: &Ty) -> String {
    match ty {
        Ty::Scalar(d) => short(*d).into(),
        Ty::Array(ArrayTy { elem, ndim, order, .. }) => {
            format!("{}_{ndim}{}", mangled(elem), if *order == Order::C { 'c' } else { 'a' })
        }
        Ty::Tuple(items, _) => format!("of_{}_end", items.iter().map(mangled).collect::<Vec<_>>().join("_")),
        Ty::Record(record) => record_name(record),
        Ty::None | Ty::Unknown => "none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_on_disk_is_found_wherever_its_function_stands() {
        let of = |file: &str, line: u32| {
            let code = format!("// {file}, line {line}\nvoid f() {{\n    // {line}: x = 1\n    x = 1;\n}}\n");
            UserCode { name: "f".into(), prelude: vec!["int x;"], code, linked: String::new() }
        };
        let (here, there) = (of("/tmp/a.py", 3), of("/tmp/b.py", 7));
        assert_ne!(here.source(), there.source());
        assert_eq!(here.compiled(), there.compiled());
        assert_eq!(here.compiled(), "int x;\nvoid f() {\n    x = 1;\n}\n");
    }
}
