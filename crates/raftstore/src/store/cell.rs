//! A region on this store: its mailboxes, its replica and applier, and what others may see of it.

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use engine::Engine;
use parking_lot::{Mutex, RwLock};
use proto::{
    metapb::{Region, RegionEpoch},
    raft_cmdpb::AdminRequest,
    raft_serverpb::RaftMessage,
};
use raft::eraftpb::Snapshot;

use super::{Inner, size::SizeEstimate};
use crate::{AdminDone, Applied, Applier, ApplyTask, CatchUp, Done, Error, Peer, ReadDone, RegionView, SplitFrom, WriteProposal};

/// What a replica is told.
pub(super) enum PeerMessage {
    Tick,
    Raft(Box<RaftMessage>),
    Write(WriteProposal),
    Admin {
        epoch: RegionEpoch,
        request: Box<AdminRequest>,
        done: AdminDone,
    },
    Read(ReadDone),
    RenewLease,
    /// Somebody asked a follower that rests.
    Wake,
    Campaign,
    Report,
    Applied(Applied),
    SnapshotMade(Option<Box<Snapshot>>),
    SnapshotSent {
        to_peer: u64,
        arrived: bool,
    },
    Installed {
        index: u64,
    },
    /// Another region waits for this one's end.
    CatchUp(CatchUp),
    /// Perhaps the region is not there any more, and nobody has told.
    AskWhetherStale,
    /// Its data are gone.
    Destroyed,
}

pub(super) struct Cell {
    pub(super) region_id: u64,
    pub(super) peer_id: u64,
    pub(super) peer: Mutex<Peer>,
    mail: Mutex<Vec<PeerMessage>>,
    /// Waits for a poller or is with one.
    polled: AtomicBool,
    pub(super) applier: Mutex<Applier>,
    tasks: Mutex<VecDeque<ApplyTask>>,
    /// Waits for an applier or is with one.
    applied: AtomicBool,
    view: RwLock<Arc<RegionView>>,
    /// Of a region that was split off one that was led from here.
    split_from: OnceLock<SplitFrom>,
    pub(super) tick_waits: AtomicBool,
    /// Version of the region as applied; the view follows with the replica's next round.
    version: Arc<AtomicU64>,
    pub(super) size: Mutex<SizeEstimate>,
    pub(super) resting: AtomicBool,
    /// Its applier waits for a replica of another region here.
    pub(super) stalled: AtomicBool,
    /// Others say that the region is a part of this one now, as it was right after that.
    pub(super) merged_into: Mutex<Option<Region>>,
    /// It has been removed from the store: mail is refused.
    gone: AtomicBool,
}

impl Cell {
    pub(super) fn new(peer: Peer, applier: Applier) -> Self {
        Self {
            region_id: peer.region_id(),
            peer_id: peer.peer().id,
            view: RwLock::new(Arc::new(peer.view())),
            split_from: OnceLock::new(),
            version: applier.version(),
            peer: Mutex::new(peer),
            mail: Mutex::default(),
            polled: AtomicBool::new(false),
            applier: Mutex::new(applier),
            tasks: Mutex::default(),
            applied: AtomicBool::new(false),
            tick_waits: AtomicBool::new(false),
            size: Mutex::default(),
            resting: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            merged_into: Mutex::default(),
            gone: AtomicBool::new(false),
        }
    }

    /// A region is split off once, before anything is asked of it.
    pub(super) fn set_split_from(&self, split_from: SplitFrom) {
        let _ = self.split_from.set(split_from);
    }

    pub(super) fn split_from(&self) -> Option<SplitFrom> {
        self.split_from.get().copied()
    }

    pub(super) fn view(&self) -> Arc<RegionView> {
        self.view.read().clone()
    }

    /// Whether the view's borders are still those of the region. Between the application of a split and the view of it another store may
    /// already lead a part of it.
    pub(super) fn check_borders(&self, view: &RegionView) -> crate::Result<()> {
        match self.version.load(Ordering::SeqCst) == crate::region::epoch(&view.region).version {
            true => Ok(()),
            false => Err(Error::StaleCommand),
        }
    }

    pub(super) fn publish(&self, peer: &Peer) {
        let new = peer.view();
        self.resting.store(peer.is_resting(), Ordering::Release);
        let mut view = self.view.write();
        *view = Arc::new(new);
    }

    pub(super) fn take_mail(&self) -> Vec<PeerMessage> {
        std::mem::take(&mut *self.mail.lock())
    }

    /// Entries that have not been applied are not going to be.
    pub(super) fn leave_out_entries(&self, applier: &mut Applier) {
        // They are committed: whoever proposed one is not to believe that it has failed.
        let error = Error::StaleCommand;
        applier.forget_stalled(&error);
        self.stalled.store(false, Ordering::Release);
        let mut tasks = self.tasks.lock();
        for task in std::mem::take(&mut *tasks) {
            match task {
                ApplyTask::Entries { proposals, .. } => proposals.into_iter().for_each(|proposal| proposal.done.fail(&error)),
                ApplyTask::Resume => {}
                task => tasks.push_back(task),
            }
        }
    }

    pub(super) fn take_tasks(&self) -> VecDeque<ApplyTask> {
        std::mem::take(&mut *self.tasks.lock())
    }
}

impl PeerMessage {
    /// Answers whoever waits for an answer.
    pub(super) fn refuse(self, error: &Error) {
        match self {
            Self::Write(write) => Done::Writes(vec![write.done]).fail(error),
            Self::Admin { done, .. } => done(Err(error.clone())),
            Self::Read(done) => done(Err(error.clone())),
            _ => {}
        }
    }
}

impl<E: Engine> Inner<E> {
    /// Tells a replica something.
    pub(super) fn post(&self, cell: &Arc<Cell>, message: PeerMessage) {
        cell.mail.lock().push(message);
        if cell.gone.load(Ordering::Acquire) {
            self.refuse_mail(cell);
        } else if !cell.polled.swap(true, Ordering::AcqRel) {
            self.polls.push(cell.clone());
        }
    }

    /// A poller is done with a replica.
    pub(super) fn polled(&self, cell: &Arc<Cell>) {
        cell.polled.store(false, Ordering::Release);
        // Mail that came after it was taken has seen the flag set.
        if !cell.mail.lock().is_empty() && !cell.polled.swap(true, Ordering::AcqRel) {
            self.polls.push(cell.clone());
        }
    }

    pub(super) fn post_tasks(&self, cell: &Arc<Cell>, tasks: Vec<ApplyTask>) {
        if tasks.is_empty() {
            return;
        }
        cell.tasks.lock().extend(tasks);
        if !cell.applied.swap(true, Ordering::AcqRel) {
            self.applies.push(cell.clone());
        }
    }

    pub(super) fn applied(&self, cell: &Arc<Cell>) {
        cell.applied.store(false, Ordering::Release);
        if !cell.tasks.lock().is_empty() && !cell.applied.swap(true, Ordering::AcqRel) {
            self.applies.push(cell.clone());
        }
    }

    /// A replica has left the store: everybody who waits for it is told. Not to be called by who holds its lock.
    pub(super) fn retire(&self, cell: &Arc<Cell>, error: &Error) {
        cell.gone.store(true, Ordering::Release);
        let mut effects = crate::Effects::default();
        {
            let mut peer = cell.peer.lock();
            peer.fail_all(error, &mut effects);
            let mut view = (*cell.view()).clone();
            view.is_leader = false;
            view.caught_up = false;
            view.lease_until = None;
            *cell.view.write() = Arc::new(view);
        }
        for (done, error) in effects.failed {
            done.fail(&error);
        }
        for (done, error) in effects.failed_reads {
            done(Err(error));
        }
        for task in cell.take_tasks() {
            if let ApplyTask::Entries { proposals, .. } = task {
                proposals.into_iter().for_each(|proposal| proposal.done.fail(error));
            }
        }
        cell.applier.lock().forget_stalled(error);
        self.refuse_mail(cell);
    }

    /// Whether the replica is not here any more; its mail is answered then.
    pub(super) fn refuses_mail(&self, cell: &Arc<Cell>) -> bool {
        let gone = cell.gone.load(Ordering::Acquire);
        if gone {
            self.refuse_mail(cell);
        }
        gone
    }

    fn refuse_mail(&self, cell: &Arc<Cell>) {
        let error = Error::RegionNotFound(cell.region_id);
        cell.take_mail().into_iter().for_each(|message| message.refuse(&error));
    }
}
