//! Window functions: over input in the order of the partitions and, inside them, of the window.
//!
//! The operator hands rows up as they come, so that windows whose order begins that of another one below need no sort of their own, and
//! neither does an ORDER BY that does.

use copr::SortKey;
use expr::window::WindowDesc;

use super::{Chooser, OrderColumn, Physical, Want, cost};
use crate::{
    logical::{Col, Window},
    physical::{self, Op},
};

impl Chooser<'_> {
    pub(super) fn choose_window(&self, window: &Window, want: &Want) -> Physical {
        let mut order: Vec<OrderColumn> = vec![];
        for (col, desc) in window.partition_by.iter().map(|col| (*col, false)).chain(window.order_by.iter().copied()) {
            if !order.iter().any(|(known, _)| *known == col) {
                order.push((col, desc));
            }
        }
        let child = self.choose(&window.child, &Want { order, limit: None });
        let resolve = |desc: &WindowDesc| {
            let mut desc = desc.clone();
            desc.exprs_mut().into_iter().for_each(|expr| *expr = child.resolve(expr));
            desc
        };
        let funcs: Vec<WindowDesc> = window.funcs.iter().map(|(_, desc)| resolve(desc)).collect();
        let column = |col: Col| child.resolve(&self.columns.expr(col));
        let partition_by = window.partition_by.iter().map(|col| column(*col)).collect();
        let order_by = window.order_by.iter().map(|(col, desc)| SortKey { expr: column(*col), desc: *desc }).collect();
        let (rows, cost) = (child.rows(), child.cost() + child.rows() * (cost::STREAM + cost::COMPUTE * funcs.len() as f64));
        let mut output = child.node.output.clone();
        output.extend(funcs.iter().map(|desc| desc.ty.clone()));
        let Physical { node, mut columns, order, constant } = child;
        columns.extend(window.funcs.iter().map(|(col, _)| *col));
        let op = Op::Window(physical::Window { child: Box::new(node), partition_by, order_by, funcs });
        let node = self.node(op, output, rows, cost);
        self.sorted(Physical { node, columns, order, constant }, want)
    }
}
