//! Subscripts and attributes.

use cuprous_core::DType;
use cuprous_core::Fun;
use cuprous_core::scalar::Number;

use super::context::{LoweringContext, Operand, describe, tuple};
use crate::ast::{Expr as Ast, ExprKind, Value};
use crate::diagnostic::Result;
use crate::ir::{Expr, Index, Kind, StmtKind};
use crate::rules::Rule;
use crate::types::{ArrayTy, INT, Order, Ty};

impl LoweringContext<'_, '_> {
    /// Reads `value[index]`.
    pub(super) fn subscript(&mut self, value: &Ast, index: &Ast) -> Result<Operand> {
        let pos = self.pos;
        let base = self.eval(value)?;
        // An array type: `float32[:]`.
        if let Operand::Value(Value::Type(ty)) = &base {
            return Err(self.unsupported(format!("the array type {ty}[…] cannot be used inside a kernel")));
        }
        let base = self.value(base)?;
        match &base.ty {
            Ty::Unknown => {
                // Evaluated for the types of its variables.
                self.indices(index)?;
                Ok(Operand::Expr(Expr::unknown()))
            }
            Ty::Tuple(types, _) => {
                let types = types.clone();
                let at = self.eval_value(index)?;
                self.pos = pos;
                self.tuple_item(base, &types, at)
            }
            Ty::Array(a) => {
                if a.record().is_some()
                    && let Some(name) = self.field_name(index)?
                {
                    return self.field(base, &name).map(Operand::Expr);
                }
                // A field of a record, by number.
                if let (Some(record), 0) = (a.record().cloned(), a.ndim) {
                    let at = self.eval_value(index)?;
                    let n = record.fields.len() as i64;
                    let known = self.constant_int(&at).map(|k| if k < 0 { k + n } else { k });
                    return match known.and_then(|k| record.fields.get(usize::try_from(k).ok()?)) {
                        Some(field) => self.field(base, &field.name).map(Operand::Expr),
                        None => Err(self.typing(format!(
                            "the index of a record must be a constant that selects one of its {n} fields"
                        ))),
                    };
                }
                let (base, index) = self.base_then_index(base, index)?;
                self.pos = pos;
                let Some(index) = index else { return Ok(Operand::Expr(Expr::unknown())) };
                Ok(Operand::Expr(self.read_at(base, index)?))
            }
            ty => Err(self.typing(format!("{ty} cannot be indexed"))),
        }
    }

    /// Evaluates the array before the index.
    pub(super) fn base_then_index(&mut self, base: Expr, index: &Ast) -> Result<(Expr, Option<Vec<Index>>)> {
        let (found, block) = self.block(|cx| cx.indices(index))?;
        let base = if block.is_empty() { base } else { self.stabilize("a", base) };
        self.append(block);
        Ok((base, found))
    }

    pub(super) fn tuple_item(&mut self, base: Expr, types: &[Ty], at: Expr) -> Result<Operand> {
        if at.ty == Ty::Unknown {
            return Ok(Operand::Expr(Expr::unknown()));
        }
        let n = types.len() as i64;
        if let Some(k) = self.constant_int(&at) {
            let position = if k < 0 { k + n } else { k };
            if !(0..n).contains(&position) {
                return Err(self.typing(format!("index {k} is out of bounds for a tuple of {n}")));
            }
            let items = self.items(base);
            return match items.into_iter().nth(position as usize) {
                Some(item) => Ok(Operand::Expr(item)),
                None => Err(self.typing("the tuple has no such item")),
            };
        }
        let Some(ty) = types.first().filter(|first| types.iter().all(|t| t == *first)).cloned() else {
            return Err(self
                .typing("the index of a tuple with items of different types must be known when the kernel is compiled")
                .hint("use an integer literal"));
        };
        // Items of one type: a run-time selection.
        let at = self.cast(at, &INT)?;
        let at = self.duplicable("k", at);
        self.check_item(&at, n)?;
        // Negative indices count from the end.
        let at = if at.dtype().is_some_and(|d| d.kind() == cuprous_core::Kind::Int) {
            let zero = vec![at.clone(), Expr::int(0)];
            let test = Expr::new(crate::types::BOOL, Kind::Fun(Fun::Less, DType::I64, zero));
            let back = Expr::new(INT, Kind::Fun(Fun::Add, DType::I64, vec![at.clone(), Expr::int(n)]));
            let at = Expr::new(INT, Kind::Select(Box::new(test), Box::new(back), Box::new(at)));
            self.materialize("k", at)
        } else {
            at
        };
        let items = self.items(base);
        let mut result: Option<Expr> = None;
        for (k, item) in items.into_iter().enumerate().rev() {
            result = Some(match result {
                None => item,
                Some(rest) => {
                    let same = vec![at.clone(), Expr::int(k as i64)];
                    let test = Expr::new(crate::types::BOOL, Kind::Fun(Fun::Equal, DType::I64, same));
                    Expr::new(ty.clone(), Kind::Select(Box::new(test), Box::new(item), Box::new(rest)))
                }
            });
        }
        Ok(Operand::Expr(result.unwrap_or_else(Expr::unknown)))
    }

    /// Evaluates the entries of a subscript; `None` if a type is not known yet.
    fn indices(&mut self, index: &Ast) -> Result<Option<Vec<Index>>> {
        let list: &[Ast] = match &index.kind {
            ExprKind::Tuple(items) => items,
            _ => std::slice::from_ref(index),
        };
        let mut entries: Vec<Option<Entry<'_>>> = Vec::new();
        for item in list {
            match &item.kind {
                ExprKind::Slice { start, stop, step } => {
                    entries.push(Some(Entry::Slice));
                    for bound in [start, stop, step] {
                        entries.push(bound.as_deref().map(Entry::Ast));
                    }
                }
                ExprKind::Value(Value::None) => entries.push(Some(Entry::New)),
                ExprKind::Value(Value::Ellipsis) => entries.push(Some(Entry::Ellipsis)),
                _ => entries.push(Some(Entry::Ast(item))),
            }
        }
        let exprs: Vec<&Ast> = entries
            .iter()
            .filter_map(|entry| match entry {
                Some(Entry::Ast(e)) => Some(*e),
                _ => None,
            })
            .collect();
        let mut values = self.eval_all(exprs)?.into_iter();
        let mut result = Vec::new();
        let mut known = true;
        let mut entries = entries.into_iter();
        while let Some(entry) = entries.next() {
            match entry {
                Some(Entry::Ast(_)) => {
                    let Some(value) = values.next() else { break };
                    match value.ty.clone() {
                        Ty::Unknown => known = false,
                        // A tuple of indices: `cuda.grid(2)`.
                        Ty::Tuple(..) => {
                            for item in self.items(value) {
                                result.push(Index::At(self.index_value(item)?));
                            }
                        }
                        _ => result.push(Index::At(self.index_value(value)?)),
                    }
                }
                Some(Entry::Slice) => {
                    let mut bounds = [None, None, None];
                    for bound in &mut bounds {
                        if let Some(Some(Entry::Ast(_))) = entries.next() {
                            let Some(value) = values.next() else { break };
                            if value.ty == Ty::Unknown {
                                known = false;
                            } else if value.ty != Ty::None {
                                *bound = Some(self.index_value(value)?);
                            }
                        }
                    }
                    let [start, stop, step] = bounds;
                    if step.as_ref().and_then(|step| self.constant_int(step)) == Some(0) {
                        return Err(self.typing("slice step cannot be zero"));
                    }
                    result.push(Index::Slice(start, stop, step));
                }
                Some(Entry::New) => result.push(Index::New),
                // `...` is marked by a step without a type.
                Some(Entry::Ellipsis) => result.push(Index::Slice(None, None, Some(Expr::unknown()))),
                None => {}
            }
        }
        Ok(known.then_some(result))
    }

    fn index_value(&mut self, value: Expr) -> Result<Expr> {
        match value.dtype() {
            Some(d) if d.is_int() || d == DType::Bool => {
                // A uint64 index that does not fit an int64 is out of bounds anyway.
                self.cast(value, &INT)
            }
            _ => {
                let error = self.typing(format!("an index must be an integer, not {}", value.ty));
                Err(match value.dtype() {
                    Some(d) if d.is_float() => error.hint("convert it with int(…), or divide with // instead of /"),
                    _ => error,
                })
            }
        }
    }

    /// Replaces `...` by full slices.
    pub(super) fn expand_ellipsis(&mut self, index: Vec<Index>, ndim: usize) -> Result<Vec<Index>> {
        let is_ellipsis = |i: &Index| matches!(i, Index::Slice(None, None, Some(step)) if step.ty == Ty::Unknown);
        let used = index.iter().filter(|i| !is_ellipsis(i) && !matches!(i, Index::New)).count();
        if used > ndim {
            return Err(self.typing(format!("{used} indices for an array of {ndim} axes")));
        }
        let mut result = Vec::new();
        let mut has_ellipsis = false;
        for entry in index {
            if !is_ellipsis(&entry) {
                result.push(entry);
            } else if has_ellipsis {
                return Err(self.typing("a subscript can only have one ..."));
            } else {
                has_ellipsis = true;
                result.extend((used..ndim).map(|_| Index::Slice(None, None, None)));
            }
        }
        Ok(result)
    }

    fn read_at(&mut self, base: Expr, index: Vec<Index>) -> Result<Expr> {
        let Ty::Array(array) = &base.ty else { return Ok(Expr::unknown()) };
        let array = array.clone();
        let index = self.expand_ellipsis(index, array.ndim as usize)?;
        if index.len() == array.ndim as usize && index.iter().all(|i| matches!(i, Index::At(_))) {
            let at = index.into_iter().filter_map(|i| if let Index::At(e) = i { Some(e) } else { None });
            let (base, at) = self.check_bounds(base, at.collect())?;
            return self.load(base, at);
        }
        self.view(base, &array, index)
    }

    /// Loads an element.
    pub(super) fn load(&mut self, array: Expr, indices: Vec<Expr>) -> Result<Expr> {
        let Ty::Array(ty) = &array.ty else { return Ok(Expr::unknown()) };
        let elem = (*ty.elem).clone();
        if let Ty::Record(_) = elem {
            let ty = ty.clone();
            return self.view(array, &ty, indices.into_iter().map(Index::At).collect());
        }
        Ok(Expr::new(elem, Kind::Load(Box::new(array), indices)))
    }

    /// Returns `array[at]`: an element, or an array with one axis less.
    pub(super) fn element(&mut self, array: Expr, at: Expr) -> Result<Expr> {
        self.read_at(array, vec![Index::At(at)])
    }

    pub(super) fn view(&mut self, base: Expr, array: &ArrayTy, mut index: Vec<Index>) -> Result<Expr> {
        let used = index.iter().filter(|i| !matches!(i, Index::New)).count();
        index.extend((used..array.ndim as usize).map(|_| Index::Slice(None, None, None)));
        let ndim = index.iter().filter(|i| !matches!(i, Index::At(_))).count();
        // A view stays contiguous if it has positions first, then at most one slice without a step, then full slices.
        let mut rest = index.iter().skip_while(|i| matches!(i, Index::At(_))).peekable();
        if let Some(Index::Slice(_, _, None)) = rest.peek() {
            rest.next();
        }
        let contiguous = array.order == Order::C && rest.all(|i| matches!(i, Index::Slice(None, None, None)));
        let order = if contiguous { Order::C } else { Order::A };
        let ty = ArrayTy { ndim: ndim as u8, order, ..array.clone() };
        if ndim == 0 && array.record().is_none() {
            return Err(self.typing("a view without axes is not supported in kernels"));
        }
        if !self.compiler.checks.bounds {
            return Ok(Expr::new(Ty::Array(ty), Kind::View(Box::new(base), index)));
        }
        let axis_of = |k: usize| index[..k].iter().filter(|i| !matches!(i, Index::New)).count();
        let positions = index.iter().enumerate();
        let positions =
            positions.filter_map(|(k, i)| if let Index::At(e) = i { Some((axis_of(k), e.clone())) } else { None });
        let (axes, at): (Vec<usize>, Vec<Expr>) = positions.unzip();
        let (base, at) = self.check_bounds_of_axes(base, at, &axes)?;
        let mut at = at.into_iter();
        for entry in &mut index {
            if let Index::At(e) = entry
                && let Some(checked) = at.next()
            {
                *e = checked;
            }
        }
        Ok(Expr::new(Ty::Array(ty), Kind::View(Box::new(base), index)))
    }

    /// Evaluates the array and the indices of an assignment to an element; `None` if a type is not known yet.
    pub(super) fn store_target(&mut self, array: &Ast, index: &Ast) -> Result<(Option<Expr>, Option<Vec<Expr>>)> {
        let pos = self.pos;
        let base = self.eval_value(array)?;
        match &base.ty {
            Ty::Unknown => {
                self.indices(index)?;
                return Ok((None, None));
            }
            Ty::Array(_) => {}
            Ty::Tuple(..) => return Err(self.typing("a tuple's items cannot be assigned to")),
            ty => return Err(self.typing(format!("{ty} cannot be indexed"))),
        }
        let (base, found) = self.base_then_index(base, index)?;
        self.pos = pos;
        let Some(found) = found else { return Ok((None, None)) };
        let Ty::Array(ty) = &base.ty else { return Ok((None, None)) };
        let ndim = ty.ndim as usize;
        let found = self.expand_ellipsis(found, ndim)?;
        let count = found.len();
        let at: Vec<Expr> =
            found.into_iter().filter_map(|i| if let Index::At(e) = i { Some(e) } else { None }).collect();
        if at.len() != ndim || at.len() != count {
            return Err(self
                .unsupported(format!(
                    "an assignment needs one index for each axis: {} indices for an array of {ndim} axes",
                    at.len()
                ))
                .hint("assign to elements in a loop: for i in range(n): a[i] = …"));
        }
        let (base, at) = self.check_bounds(base, at)?;
        Ok((Some(base), Some(at)))
    }

    /// `array[index] = value`.
    pub(super) fn store(&mut self, array: &Ast, index: &Ast, value: Operand) -> Result<()> {
        if let Operand::Value(Value::Str(text)) = &value {
            let to = match self.view_target(array, index)? {
                Some(view) => view,
                None => match self.store_target(array, index)? {
                    (Some(array), Some(indices)) => self.load(array, indices)?,
                    _ => return Ok(()),
                },
            };
            return self.write_text(to, text);
        }
        let value = self.value(value)?;
        if let Some(view) = self.view_target(array, index)? {
            return self.fill(view, value);
        }
        let ((array, indices), block) = self.block(|cx| cx.store_target(array, index))?;
        let value = if block.is_empty() { value } else { self.stabilize("t", value) };
        self.append(block);
        let Some((array, indices)) = array.zip(indices) else { return Ok(()) };
        self.store_element(array, indices, value)
    }

    pub(super) fn store_element(&mut self, array: Expr, indices: Vec<Expr>, value: Expr) -> Result<()> {
        let Ty::Array(ty) = &array.ty else { return Ok(()) };
        if !ty.mutable {
            return Err(self.typing("this array is a constant and cannot be written to"));
        }
        let elem = (*ty.elem).clone();
        if let Ty::Record(_) = elem {
            let to = self.load(array, indices)?;
            return self.fill(to, value);
        }
        if value.ty != Ty::Unknown && !value.ty.converts_to(&elem) {
            let error = self.typing(format!("{} cannot be stored in an {}", value.ty, array.ty));
            return Err(match value.ty {
                Ty::Scalar(d) if d.is_complex() => error.hint("take its .real or .imag"),
                _ => error,
            });
        }
        let value = self.cast(value, &elem)?;
        self.emit(StmtKind::Store { array, indices, value });
        Ok(())
    }

    // --- attributes

    pub(super) fn attribute(&mut self, base: Operand, name: &str) -> Result<Operand> {
        let base = match base {
            Operand::Value(Value::Builtin(outer)) => return self.resolve(Value::Builtin(format!("{outer}.{name}"))),
            Operand::Value(Value::Other(what)) => {
                return Err(self.typing(format!("{what} has no attribute {name:?} that a kernel can use")));
            }
            // NumPy's `array.dtype.type`.
            Operand::Value(Value::Type(ty)) if name == "type" => return Ok(Operand::Value(Value::Type(ty))),
            other => self.value(other)?,
        };
        let extent = |k: usize| Expr::new(INT, Kind::Extent(Box::new(base.clone()), k));
        Ok(Operand::Expr(match (&base.ty, name) {
            (Ty::Unknown, _) => Expr::unknown(),
            (Ty::Array(a), _) => {
                let ndim = a.ndim as usize;
                let item = a.item_size() as i64;
                if a.record().is_some_and(|r| r.fields.iter().any(|f| f.name == name)) {
                    return self.field(base, name).map(Operand::Expr);
                }
                let size = |cx: &mut Self| {
                    let mut all = (0..ndim).map(extent);
                    let first = all.next().unwrap_or_else(|| Expr::int(1));
                    all.try_fold(first, |n, e| cx.function("*", Fun::Multiply, Rule::Arith, vec![n, e]))
                };
                match name {
                    "shape" => tuple((0..ndim).map(extent).collect(), None),
                    "strides" => {
                        let stride = |k| Expr::new(INT, Kind::Stride(Box::new(base.clone()), k));
                        tuple((0..ndim).map(stride).collect(), None)
                    }
                    "real" | "imag" if a.dtype().is_some_and(DType::is_complex) => {
                        let k = usize::from(name == "imag");
                        let elem = a.field(k).map_or(Ty::Unknown, |field| field.elem);
                        let ty = ArrayTy { elem: Box::new(elem), order: Order::A, ..a.clone() };
                        Expr::new(Ty::Array(ty), Kind::Field(Box::new(base.clone()), k))
                    }
                    "real" if a.dtype().is_some() => base.clone(),
                    "ctypes" => {
                        return Err(self
                            .unsupported("kernels cannot use an array's address (.ctypes)")
                            .hint("index the array, or take part of it: a[i:]"));
                    }
                    "ndim" => Expr::int(ndim as i64),
                    "size" => size(self)?,
                    "itemsize" => Expr::int(item),
                    "nbytes" => {
                        let n = size(self)?;
                        self.function("*", Fun::Multiply, Rule::Arith, vec![n, Expr::int(item)])?
                    }
                    "dtype" => return Ok(Operand::Value(Value::Type((*a.elem).clone()))),
                    "T" if ndim < 2 => base,
                    "T" => {
                        let order = match a.order {
                            Order::C => Order::F,
                            Order::F => Order::C,
                            Order::A => Order::A,
                        };
                        let ty = Ty::Array(ArrayTy { order, ..a.clone() });
                        Expr::new(ty, Kind::Transpose(Box::new(base.clone())))
                    }
                    _ => return Ok(Operand::Method(Box::new(base), name.into())),
                }
            }
            (Ty::Tuple(_, Some(names)), _) if names.iter().any(|n| n == name) => {
                let k = names.iter().position(|n| n == name).unwrap_or(0);
                match self.items(base).into_iter().nth(k) {
                    Some(item) => item,
                    None => return Err(self.typing("the tuple has no such item")),
                }
            }
            (Ty::Scalar(d), "real") if !d.is_complex() => base,
            (Ty::Scalar(d), "imag") if !d.is_complex() => {
                Expr::number(super::context::convert(Number::Int(0), DType::I64, *d), *d)
            }
            (Ty::Scalar(_), "real") => self.function("real", Fun::Real, Rule::Complex, vec![base])?,
            (Ty::Scalar(_), "imag") => self.function("imag", Fun::Imag, Rule::Complex, vec![base])?,
            (Ty::Scalar(_), _) => return Ok(Operand::Method(Box::new(base), name.into())),
            (ty, _) => return Err(self.typing(format!("{ty} has no attribute {name:?}"))),
        }))
    }

    /// Describes an operand for a message.
    pub(super) fn describe_operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Value(v) => describe(v),
            Operand::Expr(e) => e.ty.to_string(),
            _ => "this".into(),
        }
    }
}

/// An entry of a subscript before its expressions are evaluated.
enum Entry<'a> {
    /// An index, or a bound of a slice.
    Ast(&'a Ast),
    /// A slice. Its three bounds follow.
    Slice,
    /// `None`.
    New,
    /// `...`.
    Ellipsis,
}
