//! UNION, INTERSECT, EXCEPT.
//!
//! Operands are cast to the merged types of their columns. UNION concatenates (and removes duplicates unless ALL); INTERSECT and EXCEPT
//! without ALL are a semi and an anti join by `<=>` on all columns of the operands without duplicates.

use expr::{Expr, Op, result_type::merge_types};
use parser::ast;
use types::FieldType;

use super::{Binder, BoundQuery, Frame, ResultColumn};
use crate::{
    error::{Error, Result},
    logical::{Col, Join, Plan, Project, Union},
    physical::JoinKind,
};

impl<'a> Binder<'a> {
    pub(super) fn bind_set_operation(&mut self, operation: &'a ast::SetOpr, query: &'a ast::Query) -> Result<BoundQuery> {
        let bound = self.bind_operation(operation)?;
        self.order_and_limit(bound, query)
    }

    pub(super) fn bind_operation(&mut self, operation: &'a ast::SetOpr) -> Result<BoundQuery> {
        let left = self.bind_operand(&operation.left)?;
        let right = self.bind_operand(&operation.right)?;
        if left.output.len() != right.output.len() {
            return Err(Error::DifferentColumnCounts);
        }
        let names: Vec<String> = left.output.iter().map(|column| column.name.clone()).collect();
        let types: Vec<FieldType> = left
            .output
            .iter()
            .zip(&right.output)
            .map(|(l, r)| merge_types([&self.columns.meta(l.col).ty, &self.columns.meta(r.col).ty]))
            .collect();
        let left = self.cast_columns(left, &types)?;
        let right = self.cast_columns(right, &types)?;
        match operation.op {
            ast::SetOperator::Union => Ok(self.union(left, right, names, types, operation.all)),
            _ if operation.all => Err(Error::unsupported("INTERSECT ALL and EXCEPT ALL")),
            ast::SetOperator::Intersect => self.by_join(JoinKind::Semi, left, right, names),
            ast::SetOperator::Except => self.by_join(JoinKind::AntiSemi, left, right, names),
        }
    }

    /// An operand, in a frame of its own.
    fn bind_operand(&mut self, body: &'a ast::QueryBody) -> Result<BoundQuery> {
        match body {
            ast::QueryBody::SetOpr(operation) => self.bind_operation(operation),
            ast::QueryBody::Query(query) => self.bind_block(query).map(|(bound, _)| bound),
            _ => {
                let depth = self.frames.len();
                self.frames.push(Frame::default());
                let bound = self.bind_body(body);
                self.frames.truncate(depth);
                bound
            }
        }
    }

    fn cast_columns(&mut self, bound: BoundQuery, types: &[FieldType]) -> Result<(Plan, Vec<Col>)> {
        let mut exprs = vec![];
        let mut columns = vec![];
        for (column, ty) in bound.output.iter().zip(types) {
            let own = self.columns.expr(column.col);
            let same = own.field_type().tp == ty.tp
                && own.field_type().unsigned == ty.unsigned
                && own.field_type().decimal == ty.decimal
                && own.field_type().collation == ty.collation;
            let (col, expr) = if same {
                (column.col, own)
            } else {
                let cast = self.cast(own, ty.clone())?;
                (self.columns.add_computed(ty.clone()), cast)
            };
            columns.push(col);
            if !exprs.iter().any(|(other, _)| *other == col) {
                exprs.push((col, expr));
            }
        }
        Ok((Plan::Project(Project { child: Box::new(bound.plan), exprs }), columns))
    }

    fn union(
        &mut self,
        (left, left_columns): (Plan, Vec<Col>),
        (right, right_columns): (Plan, Vec<Col>),
        names: Vec<String>,
        types: Vec<FieldType>,
        all: bool,
    ) -> BoundQuery {
        let columns: Vec<Col> = types.into_iter().map(|ty| self.columns.add_computed(ty)).collect();
        let output: Vec<ResultColumn> =
            columns.iter().zip(names).map(|(col, name)| ResultColumn { col: *col, name, source: None }).collect();
        let mut plan = Plan::Union(Union { columns, children: vec![left, right], inputs: vec![left_columns, right_columns] });
        if !all {
            plan = self.distinct(plan, &output);
        }
        BoundQuery { plan, output }
    }

    fn by_join(
        &mut self,
        kind: JoinKind,
        (left, left_columns): (Plan, Vec<Col>),
        (right, right_columns): (Plan, Vec<Col>),
        names: Vec<String>,
    ) -> Result<BoundQuery> {
        let output: Vec<ResultColumn> =
            left_columns.iter().zip(names).map(|(col, name)| ResultColumn { col: *col, name, source: None }).collect();
        let mut conditions = vec![];
        for (l, r) in left_columns.iter().zip(&right_columns) {
            conditions.push(self.op(Op::NullEq, vec![self.columns.expr(*l), self.columns.expr(*r)])?);
        }
        let left = self.distinct(left, &output);
        let plan = Plan::Join(Box::new(Join {
            kind,
            left,
            right,
            conditions,
            in_conditions: vec![],
            mark: None,
            apply: false,
            bindings: vec![],
            straight: false,
        }));
        Ok(BoundQuery { plan, output })
    }

    /// Casts the rows of a VALUES list to the merged types of their columns.
    pub(super) fn common_types(&mut self, rows: &mut [Vec<Expr>]) -> Result<Vec<FieldType>> {
        let width = rows.first().map_or(0, Vec::len);
        let mut types = vec![];
        for i in 0..width {
            let ty = merge_types(rows.iter().map(|row| row[i].field_type()));
            for row in rows.iter_mut() {
                if row[i].field_type().tp != ty.tp || row[i].field_type().decimal != ty.decimal {
                    let value = std::mem::replace(&mut row[i], Expr::constant(types::Datum::Null, FieldType::null()));
                    row[i] = self.cast(value, ty.clone())?;
                }
            }
            types.push(ty);
        }
        Ok(types)
    }
}
