//! The steps of Percolator transactions, one file each: `(reader, what is asked) → (what to write, what to answer)`.
//!
//! The caller holds a latch on the key from before the step reads until its batch is applied. A step that answers an error has written
//! nothing for its key.

mod check_secondary_locks;
mod check_txn_status;
mod cleanup;
mod commit;
mod one_pc;
mod pessimistic_lock;
mod pessimistic_rollback;
mod prewrite;
mod resolve_lock;
mod rollback;
mod txn_heart_beat;

pub use check_secondary_locks::{SecondaryLock, check_secondary_lock};
pub use check_txn_status::{CheckTxnStatus, CheckedTxnStatus, check_txn_status};
pub use cleanup::cleanup;
pub use commit::{CommitOutcome, commit};
pub use one_pc::{OnePcOutcome, one_pc};
pub use pessimistic_lock::{LockedKey, PessimisticLockProps, pessimistic_lock};
pub use pessimistic_rollback::pessimistic_rollback;
pub use prewrite::{
    Assertion, AssertionLevel, CommitMode, Mutation, Op, PessimisticCheck, PrewriteProps, Prewritten, Publish, TxnMode, prewrite,
};
pub use resolve_lock::resolve_lock;
pub use rollback::rollback;
pub use txn_heart_beat::txn_heart_beat;
