//! Functions of a row's place alone: ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE.

use types::{Column, Datum};

use super::build;
use super::eval::{Evaluator, Input, Place, Reach};
use crate::context::EvalCtx;
use crate::error::{Error, Result};
use crate::expr::Expr;

/// The row's number in its partition, from 1.
pub(super) struct RowNumber;

impl Evaluator for RowNumber {
    fn reach(&self) -> Reach {
        Reach::Row
    }

    fn row(&mut self, _: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        out.push(&Datum::UInt(place.number + 1));
        Ok(0)
    }
}

/// The number of the first of the row's peers.
#[derive(Default)]
pub(super) struct Rank {
    rank: u64,
}

impl Evaluator for Rank {
    fn reach(&self) -> Reach {
        Reach::Row
    }

    fn row(&mut self, _: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        if place.first_peer {
            self.rank = place.number + 1;
        }
        out.push(&Datum::UInt(self.rank));
        Ok(0)
    }
}

/// The number of the row's group of peers, from 1.
#[derive(Default)]
pub(super) struct DenseRank {
    rank: u64,
}

impl Evaluator for DenseRank {
    fn reach(&self) -> Reach {
        Reach::Row
    }

    fn start_partition(&mut self) {
        self.rank = 0;
    }

    fn row(&mut self, _: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        self.rank += u64::from(place.first_peer);
        out.push(&Datum::UInt(self.rank));
        Ok(0)
    }
}

/// The share of the partition's other rows that come before the row's peers.
pub(super) struct PercentRank;

impl Evaluator for PercentRank {
    fn reach(&self) -> Reach {
        Reach::Partition
    }

    fn row(&mut self, _: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        let before = place.peers.start - place.partition.start;
        let others = place.partition.len() - 1;
        out.push(&Datum::Double(if others == 0 { 0.0 } else { before as f64 / others as f64 }));
        Ok(0)
    }
}

/// The share of the partition's rows that come before the row or are its peers.
pub(super) struct CumeDist;

impl Evaluator for CumeDist {
    fn reach(&self) -> Reach {
        Reach::Partition
    }

    fn row(&mut self, _: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        let up_to_peers = place.peers.end - place.partition.start;
        out.push(&Datum::Double(up_to_peers as f64 / place.partition.len() as f64));
        Ok(0)
    }
}

/// The number of the row's bucket; the first buckets have the rows that are left over.
pub(super) struct Ntile {
    buckets: u64,
}

impl Ntile {
    pub(super) fn new(buckets: &Expr, ctx: &EvalCtx) -> Result<Self> {
        let wrong = || Error::WrongArguments { name: "ntile".to_owned() };
        Ok(Self { buckets: build::count(&buckets.eval_const(ctx)?, 1).ok_or_else(wrong)? })
    }
}

impl Evaluator for Ntile {
    fn reach(&self) -> Reach {
        Reach::Partition
    }

    fn row(&mut self, _: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        let rows = place.partition.len() as u64;
        let (size, larger) = (rows / self.buckets, rows % self.buckets);
        let in_larger = larger * (size + 1);
        let bucket = match place.number.checked_sub(in_larger) {
            None => place.number / (size + 1),
            Some(behind) => larger + behind / size.max(1),
        };
        out.push(&Datum::UInt(bucket + 1));
        Ok(0)
    }
}
