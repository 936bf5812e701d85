//! The code that reports accesses and barriers of a checked kernel.

use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types};
use cuprous_core::Result;
use cuprous_kernel::ir::{Expr, Kind, Space};
use cuprous_kernel::types::Ty;

use super::{Access, Site};
use crate::kernel::function::FunctionCompiler;

impl FunctionCompiler<'_, '_, '_> {
    /// Reports an access to an element of an array, before it happens. `values` are those that are written.
    pub(in super::super) fn check_access(
        &mut self,
        access: Access,
        array: &Expr,
        indices: &[Expr],
        (address, far): (Value, i32),
        values: &[Value],
    ) -> Result<()> {
        let Ty::Array(ty) = &array.ty else { return Ok(()) };
        let Some(site) = self.site(access, &self.array_name(array), ty.item_size() as u32) else { return Ok(()) };
        let address = self.b.ins().iadd_imm_s(address, i64::from(far));
        // The indices were evaluated, and reported, with the address.
        let sites = self.shared.sites.take();
        let indices = indices.iter().map(|index| self.value_of(index)).collect::<Result<Vec<Value>>>();
        self.shared.sites = sites;
        let indices = indices?.into_iter().map(|index| self.resize(index, types::I64, true)).collect::<Vec<Value>>();
        let count = self.b.ins().iconst(types::I64, indices.len() as i64);
        let indices = self.in_memory(&indices);
        let bytes: u32 = values.iter().map(|&v| self.b.func.dfg.value_type(v).bytes()).sum();
        let bytes = self.b.ins().iconst(types::I64, i64::from(bytes));
        let values = self.in_memory(values);
        self.call_library("check_access", &[self.env, site, address, indices, count, values, bytes], None)?;
        Ok(())
    }

    /// Reports the copy of a record.
    pub(in super::super) fn check_copy(&mut self, to: &Expr, from: &Expr, [target, source]: [Value; 2]) -> Result<()> {
        self.check_access(Access::Read, from, &[], (source, 0), &[])?;
        self.check_access(Access::Write, to, &[], (target, 0), &[])
    }

    /// Reports that the thread is going to wait at a barrier of the block.
    pub(in super::super) fn check_barrier(&mut self, name: &str) -> Result<()> {
        let Some(site) = self.site(Access::Barrier, &format!("{name}()"), 0) else { return Ok(()) };
        self.call_library("check_barrier", &[self.env, site], None)?;
        Ok(())
    }

    /// Reports a memory fence.
    pub(in super::super) fn check_fence(&mut self, name: &str) -> Result<()> {
        if self.shared.sites.is_some() {
            let device = self.b.ins().iconst(types::I8, i64::from(!name.ends_with("block")));
            self.call_library("check_fence", &[self.env, device], None)?;
        }
        Ok(())
    }

    /// Reports the declaration of a local array.
    pub(in super::super) fn check_local_array(&mut self, address: Value, bytes: u32) -> Result<()> {
        if self.shared.sites.is_some() {
            let bytes = self.b.ins().iconst(types::I64, i64::from(bytes));
            self.call_library("check_local_array", &[self.env, address, bytes], None)?;
        }
        Ok(())
    }

    /// Returns the number of a new site at the current line; `None` if the kernel is not checked.
    fn site(&mut self, access: Access, what: &str, bytes: u32) -> Option<Value> {
        let (function, line) = (self.function, self.line);
        let sites = self.shared.sites.as_mut()?;
        let text = line.checked_sub(function.first_line).and_then(|k| function.lines.get(k as usize));
        sites.push(Site {
            access,
            what: what.into(),
            bytes,
            function: function.name.clone(),
            file: function.file.clone(),
            line,
            text: text.cloned().unwrap_or_default(),
        });
        let number = sites.len() as i64 - 1;
        Some(self.b.ins().iconst(types::I32, number))
    }

    /// Stores values one after the other on the stack and returns their address.
    fn in_memory(&mut self, values: &[Value]) -> Value {
        let sizes: Vec<u32> = values.iter().map(|&v| self.b.func.dfg.value_type(v).bytes()).collect();
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, sizes.iter().sum::<u32>().max(8), 3);
        let slot = self.b.create_sized_stack_slot(slot);
        let mut at = 0;
        for (&value, size) in values.iter().zip(sizes) {
            self.b.ins().stack_store(types::I64, value, slot, at);
            at += size as i32;
        }
        self.b.ins().stack_addr(types::I64, slot, 0)
    }

    /// Returns the name of an array in a report.
    fn array_name(&self, array: &Expr) -> String {
        match &array.kind {
            Kind::Var(v) => format!("array '{}'", self.function.vars[*v].name),
            Kind::Declared(k) => match self.function.arrays[*k].space {
                Space::Shared | Space::Dynamic => "a shared array".into(),
                Space::Local => "a local array".into(),
            },
            Kind::Constant(_) => "a constant array".into(),
            Kind::Cast(from) => self.array_name(from),
            Kind::Field(from, _) => format!("a field of {}", self.array_name(from)),
            Kind::View(from, _) | Kind::Transpose(from) | Kind::Reshape(from, _) => {
                format!("a view of {}", self.array_name(from))
            }
            _ => "an array".into(),
        }
    }
}
