// The stores, driven by the client that the ecosystem's Go programs use: the raw and the transactional API.
package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/config"
	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/rawkv"
	"github.com/tikv/client-go/v2/txnkv"
	"github.com/tikv/client-go/v2/txnkv/transaction"
)

// Starts a store that finds its cluster at the addresses.
func startStore(t *testing.T, directory string, endpoints []string, n int) {
	t.Helper()
	command := exec.Command(os.Getenv("TRINE_BIN"), "kv", "--pd", strings.Join(endpoints, ","), "--addr", "127.0.0.1:0",
		"--status-addr", "127.0.0.1:0", "--data-dir", filepath.Join(directory, fmt.Sprintf("kv%d", n)), "--log-level", "warn")
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "stores and clients:") {
			go func() {
				for lines.Scan() {
				}
			}()
			return
		}
	}
	t.Fatalf("store %d did not say that it listens", n)
}

// Three placement drivers and three stores; answers where the placement driver is.
func startStores(t *testing.T) []string {
	members, directory, _ := startCluster(t)
	var endpoints []string
	for _, m := range members {
		endpoints = append(endpoints, m.client)
	}
	for n := 0; n < 3; n++ {
		startStore(t, directory, endpoints, n)
	}
	return endpoints
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, what string, found, expected []byte) {
	t.Helper()
	if !bytes.Equal(found, expected) {
		t.Fatalf("%s: %q instead of %q", what, found, expected)
	}
}

func key(n int) []byte { return []byte(fmt.Sprintf("k%03d", n)) }

func TestRawKeysArePutScannedSwappedAndDeleted(t *testing.T) {
	ctx := context.Background()
	client, err := rawkv.NewClient(ctx, startStores(t), config.Security{})
	must(t, err)
	defer client.Close()
	must(t, client.Put(ctx, key(0), []byte("zero")))
	var keys, values [][]byte
	for n := 1; n < 20; n++ {
		keys, values = append(keys, key(n)), append(values, []byte(fmt.Sprint(n)))
	}
	must(t, client.BatchPut(ctx, keys, values))
	found, err := client.BatchGet(ctx, [][]byte{key(0), key(7), []byte("missing")})
	must(t, err)
	expect(t, "a batch", bytes.Join(found, []byte(",")), []byte("zero,7,"))
	_, page, err := client.Scan(ctx, key(3), key(6), 10)
	must(t, err)
	expect(t, "a scan", bytes.Join(page, []byte(",")), []byte("3,4,5"))
	_, page, err = client.ReverseScan(ctx, key(6), key(3), 2)
	must(t, err)
	expect(t, "a scan backwards", bytes.Join(page, []byte(",")), []byte("5,4"))

	must(t, client.PutWithTTL(ctx, []byte("short"), []byte("lived"), 1000))
	left, err := client.GetKeyTTL(ctx, []byte("short"))
	must(t, err)
	if left == nil || *left > 1000 || *left < 900 {
		t.Fatalf("time to live %v", left)
	}
	client.SetAtomicForCAS(true)
	_, swapped, err := client.CompareAndSwap(ctx, key(0), []byte("one"), []byte("two"))
	must(t, err)
	if swapped {
		t.Fatal("swapped although the value was another one")
	}
	before, swapped, err := client.CompareAndSwap(ctx, key(0), []byte("zero"), []byte("two"))
	must(t, err)
	if !swapped {
		t.Fatalf("not swapped: %q", before)
	}
	must(t, client.Delete(ctx, key(1)))
	must(t, client.BatchDelete(ctx, [][]byte{key(2), key(3)}))
	must(t, client.DeleteRange(ctx, key(5), key(18)))
	_, page, err = client.Scan(ctx, []byte("k"), []byte("l"), 100)
	must(t, err)
	expect(t, "what is left", bytes.Join(page, []byte(",")), []byte("two,4,18,19"))
}

func newTxnClient(t *testing.T, endpoints []string) *txnkv.Client {
	t.Helper()
	client, err := txnkv.NewClient(endpoints)
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func begin(t *testing.T, client *txnkv.Client) *transaction.KVTxn {
	t.Helper()
	txn, err := client.Begin()
	must(t, err)
	return txn
}

// What a new transaction reads.
func get(t *testing.T, client *txnkv.Client, key []byte) []byte {
	t.Helper()
	value, err := begin(t, client).Get(context.Background(), key)
	if tikverr.IsErrNotFound(err) {
		return nil
	}
	must(t, err)
	return value
}

func TestTransactionsCommitConflictAndAreResolved(t *testing.T) {
	ctx := context.Background()
	endpoints := startStores(t)
	client := newTxnClient(t, endpoints)

	// One region: in one phase. Several: async commit, then two phases.
	for n, shape := range []func(*transaction.KVTxn){
		func(txn *transaction.KVTxn) { txn.SetEnable1PC(true) },
		func(txn *transaction.KVTxn) { txn.SetEnableAsyncCommit(true) },
		func(txn *transaction.KVTxn) {},
	} {
		if n == 1 {
			regions, err := client.SplitRegions(ctx, [][]byte{key(30), key(60)}, false, nil)
			must(t, err)
			if len(regions) != 2 {
				t.Fatalf("%d new regions instead of 2", len(regions))
			}
		}
		txn := begin(t, client)
		shape(txn)
		for k := 0; k < 90; k++ {
			must(t, txn.Set(key(k), []byte(fmt.Sprint(n))))
		}
		must(t, txn.Commit(ctx))
		probe := transaction.TxnProbe{KVTxn: txn}
		if n == 0 && !probe.GetCommitter().IsOnePC() || n == 1 && !probe.IsAsyncCommit() {
			t.Fatalf("transaction %d did not commit as it was told to", n)
		}
		for _, k := range []int{0, 45, 89} {
			expect(t, "what was committed", get(t, client, key(k)), []byte(fmt.Sprint(n)))
		}
	}

	first, second := begin(t, client), begin(t, client)
	must(t, first.Set(key(1), []byte("first")))
	must(t, second.Set(key(1), []byte("second")))
	must(t, first.Commit(ctx))
	if err := second.Commit(ctx); !tikverr.IsErrWriteConflict(err) {
		t.Fatalf("a write conflict was expected: %v", err)
	}

	owner, waiter := begin(t, client), begin(t, client)
	owner.SetPessimistic(true)
	waiter.SetPessimistic(true)
	must(t, owner.LockKeys(ctx, kv.NewLockCtx(owner.StartTS(), kv.LockAlwaysWait, time.Now()), key(2)))
	err := waiter.LockKeys(ctx, kv.NewLockCtx(waiter.StartTS(), kv.LockNoWait, time.Now()), key(2))
	if err == nil || !strings.Contains(err.Error(), "lock") {
		t.Fatalf("a lock of another transaction was expected in the way: %v", err)
	}
	must(t, owner.Set(key(2), []byte("owner")))
	must(t, owner.Commit(ctx))
	must(t, waiter.Rollback())
	expect(t, "what the owner of the lock wrote", get(t, client, key(2)), []byte("owner"))

	// Clients that die after they have prewritten: two phases are rolled back, async commit is committed.
	for n, isAsync := range []bool{false, true} {
		txn := begin(t, client)
		txn.SetEnableAsyncCommit(isAsync)
		for _, k := range []int{10, 40, 70} {
			must(t, txn.Set(key(k), []byte(fmt.Sprintf("dead %d", n))))
		}
		committer, err := transaction.TxnProbe{KVTxn: txn}.NewCommitter(1)
		must(t, err)
		if isAsync {
			committer.SetUseAsyncCommit()
		}
		committer.SetLockTTL(500)
		must(t, committer.PrewriteAllMutations(ctx))
		committer.CloseTTLManager()
		expected := []byte("2")
		if isAsync {
			expected = []byte("dead 1")
		}
		other := newTxnClient(t, endpoints)
		for _, k := range []int{70, 10, 40} {
			waitFor(t, "the fate of a dead client's transaction", func() bool { return bytes.Equal(get(t, other, key(k)), expected) })
		}
	}
}

func TestScansGoOnOverSplitsAndGarbageIsCollected(t *testing.T) {
	ctx := context.Background()
	client := newTxnClient(t, startStores(t))
	for round := 0; round < 2; round++ {
		txn := begin(t, client)
		for k := 0; k < 900; k++ {
			must(t, txn.Set(key(k), []byte(fmt.Sprint(round))))
		}
		must(t, txn.Commit(ctx))
	}
	txn := begin(t, client)
	rows, err := txn.Iter(key(0), nil)
	must(t, err)
	seen := 0
	for ; rows.Valid(); seen++ {
		expect(t, "the next key", rows.Key(), key(seen))
		expect(t, "its value", rows.Value(), []byte("1"))
		if seen%300 == 100 {
			_, err := client.SplitRegions(ctx, [][]byte{key(seen + 50), key(seen + 250)}, true, nil)
			must(t, err)
		}
		must(t, rows.Next())
	}
	if seen != 900 {
		t.Fatalf("%d keys instead of 900", seen)
	}
	backwards, err := txn.IterReverse(key(900))
	must(t, err)
	for ; backwards.Valid(); must(t, backwards.Next()) {
		seen--
		expect(t, "the key before", backwards.Key(), key(seen))
	}
	if seen != 0 {
		t.Fatalf("%d keys were not seen backwards", seen)
	}

	now, err := client.GetTimestamp(ctx)
	must(t, err)
	safePoint, err := client.GC(ctx, oracle.GoTimeToTS(oracle.GetTimeFromTS(now)))
	must(t, err)
	if safePoint == 0 {
		t.Fatal("no safe point")
	}
	expect(t, "a value after garbage collection", get(t, client, key(5)), []byte("1"))
}
