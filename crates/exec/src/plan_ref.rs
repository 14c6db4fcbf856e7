//! References into a plan that keep the plan alive.
//!
//! Operators live as long as the result stream, which outlives every stack frame, and need their part of the plan (expressions, ranges)
//! without cloning it for each execution. A [`PlanRef`] is an `Arc<PhysicalPlan>` and a pointer to something inside of it.
//!
//! Safety argument: the pointee is reached from a shared borrow of the plan through safe code only ([`PlanRef::map`] takes
//! `for<'a> fn(&'a T) -> &'a U`), the plan is immutable and has no interior mutability, and it is not dropped or moved while an `Arc` to it is
//! held. So the pointer is valid for as long as the `PlanRef` lives.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use planner::physical::PhysicalPlan;

/// A reference to a part of a plan, with a share in the plan's ownership.
pub(crate) struct PlanRef<T: ?Sized> {
    plan: Arc<PhysicalPlan>,
    part: NonNull<T>,
}

// SAFETY: a `PlanRef` only ever gives out `&T` (see the module's argument), so it may go wherever `&T` and the `Arc` may go.
unsafe impl<T: ?Sized + Sync> Send for PlanRef<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for PlanRef<T> {}

impl<T: ?Sized> Clone for PlanRef<T> {
    fn clone(&self) -> Self {
        Self { plan: self.plan.clone(), part: self.part }
    }
}

impl PlanRef<PhysicalPlan> {
    /// A reference to the whole plan.
    pub(crate) fn new(plan: Arc<PhysicalPlan>) -> Self {
        let part = NonNull::from(&*plan);
        Self { plan, part }
    }
}

impl<T: ?Sized> PlanRef<T> {
    /// A reference to a part of this part. The closure captures nothing that could be returned instead: its result borrows from its argument.
    pub(crate) fn map<U: ?Sized>(&self, part: impl for<'a> FnOnce(&'a T) -> &'a U) -> PlanRef<U> {
        PlanRef { plan: self.plan.clone(), part: NonNull::from(part(self)) }
    }

    /// As [`PlanRef::map`], where the part may be missing.
    pub(crate) fn try_map<U: ?Sized>(&self, part: impl for<'a> FnOnce(&'a T) -> Option<&'a U>) -> Option<PlanRef<U>> {
        part(self).map(|found| PlanRef { plan: self.plan.clone(), part: NonNull::from(found) })
    }
}

impl<T: ?Sized> Deref for PlanRef<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: see the module's argument.
        unsafe { self.part.as_ref() }
    }
}
