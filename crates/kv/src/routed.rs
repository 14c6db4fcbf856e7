//! Which region a request is for, and where an answer says that it was not served.
//!
//! A request's keys are user keys; regions lie between encoded ones. Scans may reach over the region's end: they end there, and the client goes on
//! in the next region. Whatever writes or deletes must lie inside.

use bytes::Bytes;
use codec::bytes::encode_bytes;
use proto::{coprocessor, errorpb, kvrpcpb::*, metapb::Region};
use raftstore::{Error, Result, region};

/// A request to a region.
pub(crate) trait Routed {
    /// The region, its epoch, the replica.
    fn context(&self) -> Option<&Context>;

    /// Whether the request's keys lie in the region.
    fn check(&self, region: &Region) -> Result<()>;

    /// Whether the answer is looked at again after it was found: a write that was applied proves by itself who led.
    const READS: bool;
}

/// An answer that can say why there is none.
pub(crate) trait Answer: Default {
    fn refuse_region(&mut self, error: Box<errorpb::Error>);
    fn refuse_request(&mut self, message: String);
}

fn encoded(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_bytes(&mut out, key);
    out
}

fn check_key(region: &Region, key: &[u8]) -> Result<()> {
    region::check_key(region, &encoded(key))
}

fn check_keys<'a>(region: &Region, mut keys: impl Iterator<Item = &'a Bytes>) -> Result<()> {
    keys.try_for_each(|key| check_key(region, key))
}

/// The first key of a scan must be inside; one in reverse begins behind its upper bound.
fn check_scan(region: &Region, from: &[u8], reverse: bool) -> Result<()> {
    match (reverse, from.is_empty()) {
        (false, _) => check_key(region, from),
        (true, true) => check_end(region, from),
        (true, false) => {
            let from = encoded(from);
            inside_end(region, &from)
        }
    }
}

fn check_end(region: &Region, end: &[u8]) -> Result<()> {
    if end.is_empty() { inside_end(region, b"") } else { inside_end(region, &encoded(end)) }
}

fn inside_end(region: &Region, end: &[u8]) -> Result<()> {
    match region::contains_end(region, end) {
        true => Ok(()),
        false => Err(Error::KeyNotInRegion { key: Bytes::copy_from_slice(end), region: Box::new(region.clone()) }),
    }
}

macro_rules! routed {
    ($($request:ty, $reads:literal, |$this:ident, $region:ident| $check:expr;)*) => {
        $(impl Routed for $request {
            fn context(&self) -> Option<&Context> {
                self.context.as_deref()
            }

            fn check(&self, $region: &Region) -> Result<()> {
                let $this = self;
                $check
            }

            const READS: bool = $reads;
        })*
    };
}

routed! {
    GetRequest, true, |r, region| check_key(region, &r.key);
    BatchGetRequest, true, |r, region| check_keys(region, r.keys.iter());
    ScanRequest, true, |r, region| check_scan(region, &r.start_key, r.reverse);
    PrewriteRequest, false, |r, region| check_keys(region, r.mutations.iter().map(|mutation| &mutation.key));
    PessimisticLockRequest, true, |r, region| check_keys(region, r.mutations.iter().map(|mutation| &mutation.key));
    PessimisticRollbackRequest, false, |r, region| check_keys(region, r.keys.iter());
    CommitRequest, false, |r, region| check_keys(region, r.keys.iter());
    BatchRollbackRequest, false, |r, region| check_keys(region, r.keys.iter());
    CleanupRequest, true, |r, region| check_key(region, &r.key);
    TxnHeartBeatRequest, true, |r, region| check_key(region, &r.primary_lock);
    CheckTxnStatusRequest, true, |r, region| check_key(region, &r.primary_key);
    CheckSecondaryLocksRequest, true, |r, region| check_keys(region, r.keys.iter());
    ScanLockRequest, true, |r, region| if r.start_key.is_empty() { Ok(()) } else { check_key(region, &r.start_key) };
    ResolveLockRequest, false, |r, region| check_keys(region, r.keys.iter());
    DeleteRangeRequest, false, |r, region| check_key(region, &r.start_key).and_then(|()| check_end(region, &r.end_key));
    GcRequest, true, |_r, _region| Ok(());
    ReadIndexRequest, true, |_r, _region| Ok(());
    SplitRegionRequest, true, |_r, _region| Ok(());
    RawGetRequest, true, |r, region| region::check_key(region, &r.key);
    RawBatchGetRequest, true, |r, region| r.keys.iter().try_for_each(|key| region::check_key(region, key));
    RawScanRequest, true, |r, region| match r.reverse {
        false => region::check_key(region, &r.start_key),
        true => inside_end(region, &r.start_key),
    };
    RawBatchScanRequest, true, |r, region| r.ranges.iter().try_for_each(|range| match r.reverse {
        false => region::check_key(region, &range.start_key),
        true => inside_end(region, &range.start_key),
    });
    RawGetKeyTtlRequest, true, |r, region| region::check_key(region, &r.key);
    RawPutRequest, false, |r, region| region::check_key(region, &r.key);
    RawBatchPutRequest, false, |r, region| r.pairs.iter().try_for_each(|pair| region::check_key(region, &pair.key));
    RawDeleteRequest, false, |r, region| region::check_key(region, &r.key);
    RawBatchDeleteRequest, false, |r, region| r.keys.iter().try_for_each(|key| region::check_key(region, key));
    RawDeleteRangeRequest, false, |r, region| region::check_key(region, &r.start_key).and_then(|()| inside_end(region, &r.end_key));
    RawCasRequest, true, |r, region| region::check_key(region, &r.key);
    RawChecksumRequest, true, |r, region| r.ranges.iter().try_for_each(|range| region::check_key(region, &range.start_key));
    coprocessor::Request, true, |r, region| r.ranges.iter().try_for_each(|range| {
        // Unlike a page of a scan, an answer does not say that it ends at the region's border.
        check_key(region, &range.start).and_then(|()| check_end(region, &range.end))
    });
}

macro_rules! answers {
    ($($response:ty, |$this:ident, $message:ident| $refuse:expr;)*) => {
        $(impl Answer for $response {
            fn refuse_region(&mut self, error: Box<errorpb::Error>) {
                self.region_error = Some(error);
            }

            fn refuse_request(&mut self, $message: String) {
                let $this = self;
                $refuse;
            }
        })*
    };
}

fn abort(message: String) -> KeyError {
    KeyError { abort: message, ..Default::default() }
}

answers! {
    GetResponse, |a, m| a.error = Some(Box::new(abort(m)));
    BatchGetResponse, |a, m| a.error = Some(Box::new(abort(m)));
    ScanResponse, |a, m| a.error = Some(Box::new(abort(m)));
    PrewriteResponse, |a, m| a.errors.push(abort(m));
    PessimisticLockResponse, |a, m| a.errors.push(abort(m));
    PessimisticRollbackResponse, |a, m| a.errors.push(abort(m));
    CommitResponse, |a, m| a.error = Some(Box::new(abort(m)));
    BatchRollbackResponse, |a, m| a.error = Some(Box::new(abort(m)));
    CleanupResponse, |a, m| a.error = Some(Box::new(abort(m)));
    TxnHeartBeatResponse, |a, m| a.error = Some(Box::new(abort(m)));
    CheckTxnStatusResponse, |a, m| a.error = Some(Box::new(abort(m)));
    CheckSecondaryLocksResponse, |a, m| a.error = Some(Box::new(abort(m)));
    ScanLockResponse, |a, m| a.error = Some(Box::new(abort(m)));
    ResolveLockResponse, |a, m| a.error = Some(Box::new(abort(m)));
    GcResponse, |a, m| a.error = Some(Box::new(abort(m)));
    DeleteRangeResponse, |a, m| a.error = m;
    RawGetResponse, |a, m| a.error = m;
    RawPutResponse, |a, m| a.error = m;
    RawBatchPutResponse, |a, m| a.error = m;
    RawDeleteResponse, |a, m| a.error = m;
    RawBatchDeleteResponse, |a, m| a.error = m;
    RawDeleteRangeResponse, |a, m| a.error = m;
    RawGetKeyTtlResponse, |a, m| a.error = m;
    RawCasResponse, |a, m| a.error = m;
    RawChecksumResponse, |a, m| a.error = m;
    coprocessor::Response, |a, m| a.other_error = m;
    // These have no place for anything but a region error; its text says what is wrong.
    ReadIndexResponse, |a, m| a.region_error = Some(Box::new(errorpb::Error { message: m, ..Default::default() }));
    SplitRegionResponse, |a, m| a.region_error = Some(Box::new(errorpb::Error { message: m, ..Default::default() }));
    RawBatchGetResponse, |a, m| a.region_error = Some(Box::new(errorpb::Error { message: m, ..Default::default() }));
    RawScanResponse, |a, m| a.region_error = Some(Box::new(errorpb::Error { message: m, ..Default::default() }));
    RawBatchScanResponse, |a, m| a.region_error = Some(Box::new(errorpb::Error { message: m, ..Default::default() }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_with_borders_in_their_encoded_form() {
        let region = Region { start_key: encoded(b"b").into(), end_key: encoded(b"d").into(), ..Default::default() };
        let get = |key: &'static str| GetRequest { key: key.into(), ..Default::default() };
        assert!(get("b").check(&region).is_ok() && get("czz").check(&region).is_ok());
        assert!(get("a").check(&region).is_err() && get("d").check(&region).is_err());
        let scan = |start_key: &'static str, reverse| ScanRequest { start_key: start_key.into(), reverse, ..Default::default() };
        assert!(scan("d", true).check(&region).is_ok() && scan("d", false).check(&region).is_err());
        assert!(scan("", true).check(&region).is_err());
        let delete = DeleteRangeRequest { start_key: "b".into(), end_key: "e".into(), ..Default::default() };
        assert!(delete.check(&region).is_err(), "what deletes must not reach over the border");
        let pushed = |start: &'static str, end: &'static str| coprocessor::Request {
            ranges: vec![coprocessor::KeyRange { start: start.into(), end: end.into() }],
            ..Default::default()
        };
        assert!(pushed("b", "d").check(&region).is_ok());
        assert!(
            pushed("b", "e").check(&region).is_err() && pushed("b", "").check(&region).is_err() && pushed("a", "c").check(&region).is_err()
        );
    }
}
