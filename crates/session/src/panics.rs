//! A panic inside a statement is an error of that statement.
//!
//! A panic is a bug of ours, and it says nothing about other connections: nothing they share is left half changed, because whatever a statement
//! does to shared state it does under locks whose guards its unwinding drops, or in its own transaction. So the statement answers error
//! 1105, its transaction is rolled back, and its connection ends, because nobody can say what state the session is in.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use crate::Error;

/// A future whose panic is [`Error::Panicked`].
pub(crate) struct Catching<'f, F>(Pin<&'f mut F>);

/// Runs a pinned future so that its panic is an error.
pub(crate) fn catching<F>(future: Pin<&mut F>) -> Catching<'_, F> {
    Catching(future)
}

impl<T, F: Future<Output = Result<T, Error>>> Future for Catching<'_, F> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = &mut self.0;
        // Nothing of the future is looked at again after a panic.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(Err(Error::Panicked { message: message(&*panic) })),
        }
    }
}

/// What the panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "no message".to_owned(),
    }
}
