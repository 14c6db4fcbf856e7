//! Wakes from other threads, gathered: a loop is woken once for all connections that were told something while it slept.
//!
//! ```text
//!   commit thread ─ done, done, done ─▶ inbox of the loop ─ first one ─▶ one write to the loop's event descriptor
//!                                            └─▶ the pump, on the loop: wakes each connection's task, which takes no system call
//! ```
//!
//! Without it every commit of a group costs a system call of its own, although most of them are meant for a thread that is awake by then.
//!
//! Invariant: a wake that finds the inbox empty wakes the pump, and the pump takes everything that is in the inbox when it runs.

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, Wake, Waker},
};

use parking_lot::Mutex;

thread_local! {
    /// The inbox of the loop that runs on this thread; zero on other threads.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

/// Tasks of one loop that are to be woken.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<Vec<Waker>>,
    pump: OnceLock<Waker>,
}

impl Inbox {
    /// Says that the calling thread runs the loop, and serves it as long as it is polled.
    pub(crate) fn pump(self: Arc<Self>) -> impl Future<Output = ()> {
        std::future::poll_fn(move |context| {
            HERE.set(self.address());
            // The pump is never moved to another task.
            self.pump.get_or_init(|| context.waker().clone());
            // Woken outside the lock: a waker may run code that wakes others.
            let waiting = std::mem::take(&mut *self.waiting.lock());
            waiting.into_iter().for_each(Waker::wake);
            Poll::Pending
        })
    }

    fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    fn wake(self: &Arc<Self>, task: &Waker) {
        let pump = match self.pump.get() {
            Some(pump) if HERE.get() != self.address() => pump,
            _ => return task.wake_by_ref(),
        };
        let mut waiting = self.waiting.lock();
        waiting.push(task.clone());
        let is_first = waiting.len() == 1;
        drop(waiting);
        if is_first {
            pump.wake_by_ref();
        }
    }
}

/// A task of a loop whose wakes go through the loop's inbox.
pub(crate) struct Gathered<F> {
    future: Pin<Box<F>>,
    inbox: Arc<Inbox>,
    /// For the waker of the task as it was when last polled: the task keeps one for its life.
    waker: Option<(Waker, Waker)>,
}

struct TaskWaker {
    task: Waker,
    inbox: Arc<Inbox>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.inbox.wake(&self.task);
    }
}

impl<F: Future> Gathered<F> {
    pub(crate) fn new(future: F, inbox: Arc<Inbox>) -> Self {
        Self { future: Box::pin(future), inbox, waker: None }
    }
}

impl<F: Future> Future for Gathered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, inbox, waker } = &mut *self;
        let task = context.waker();
        let (_, ours) = match waker.take_if(|(known, _)| known.will_wake(task)) {
            Some(kept) => waker.insert(kept),
            None => waker.insert((task.clone(), Arc::new(TaskWaker { task: task.clone(), inbox: inbox.clone() }).into())),
        };
        future.as_mut().poll(&mut Context::from_waker(ours))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn wakes_of_others_are_gathered_and_none_is_lost() {
        let inbox = Arc::new(Inbox::default());
        let (pump_wakes, task_wakes) = (Arc::new(Counter::default()), Arc::new(Counter::default()));
        let pump_waker = Waker::from(pump_wakes.clone());
        let mut pump = Box::pin(inbox.clone().pump());
        assert!(pump.as_mut().poll(&mut Context::from_waker(&pump_waker)).is_pending());
        let wake = |times: usize| {
            let (inbox, task) = (inbox.clone(), Waker::from(task_wakes.clone()));
            let woken = std::thread::spawn(move || (0..times).for_each(|_| inbox.wake(&task)));
            woken.join().expect("the thread ends");
        };
        for round in 1..=3 {
            wake(5);
            assert_eq!(pump_wakes.0.load(Ordering::SeqCst), round);
            assert_eq!(task_wakes.0.load(Ordering::SeqCst), (round - 1) * 5);
            assert!(pump.as_mut().poll(&mut Context::from_waker(&pump_waker)).is_pending());
            assert_eq!(task_wakes.0.load(Ordering::SeqCst), round * 5);
        }
        // On the loop itself there is nothing to be saved.
        inbox.wake(&Waker::from(task_wakes.clone()));
        assert_eq!((pump_wakes.0.load(Ordering::SeqCst), task_wakes.0.load(Ordering::SeqCst)), (3, 16));
    }

    #[test]
    fn tasks_are_woken_from_other_threads() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let inbox = Arc::new(Inbox::default());
        runtime.spawn(inbox.clone().pump());
        let tasks: Vec<_> = (0..8u64)
            .map(|number| {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                std::thread::spawn(move || sender.send(number));
                runtime.spawn(Gathered::new(receiver, inbox.clone()))
            })
            .collect();
        let sum = runtime.block_on(async {
            let mut sum = 0;
            for task in tasks {
                sum += task.await.expect("no panic").expect("was sent");
            }
            sum
        });
        assert_eq!(sum, 28);
    }
}
