// The placement driver, driven by the client that the ecosystem's Go programs use.
//
// TRINE_BIN names the binary. Three processes are started on free ports of the loopback interface.
package interop

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	pd "github.com/tikv/pd/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// An election takes one to two seconds on an idle machine.
const patience = 60 * time.Second

type member struct {
	name, client, peer string
	command            *exec.Cmd
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (m *member) start(t *testing.T, directory, initial string) {
	binary := os.Getenv("TRINE_BIN")
	if binary == "" {
		t.Fatal("TRINE_BIN does not name the binary")
	}
	m.command = exec.Command(binary, "pd", "--name", m.name, "--data-dir", filepath.Join(directory, m.name),
		"--client-urls", "http://"+m.client, "--peer-urls", "http://"+m.peer, "--initial-cluster", initial, "--log-level", "warn")
	m.command.Stderr = os.Stderr
	output, err := m.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "clients:") {
			return
		}
	}
	t.Fatalf("%s did not say that it listens", m.name)
}

func (m *member) kill() {
	_ = m.command.Process.Kill()
	_ = m.command.Wait()
}

func startCluster(t *testing.T) ([]*member, string, string) {
	directory := t.TempDir()
	var members []*member
	var parts []string
	for n := 0; n < 3; n++ {
		m := &member{name: fmt.Sprintf("pd%d", n), client: freeAddress(t), peer: freeAddress(t)}
		members = append(members, m)
		parts = append(parts, m.name+"=http://"+m.peer)
	}
	initial := strings.Join(parts, ",")
	for _, m := range members {
		m.start(t, directory, initial)
		t.Cleanup(m.kill)
	}
	return members, directory, initial
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come about", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func bootstrap(t *testing.T, ctx context.Context, clusterID uint64, address string) {
	connection, err := grpc.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	answer, err := pdpb.NewPDClient(connection).Bootstrap(ctx, &pdpb.BootstrapRequest{
		Header: &pdpb.RequestHeader{ClusterId: clusterID},
		Store:  &metapb.Store{Id: 1, Address: "127.0.0.1:20160"},
		Region: &metapb.Region{
			Id:          2,
			RegionEpoch: &metapb.RegionEpoch{ConfVer: 1, Version: 1},
			Peers:       []*metapb.Peer{{Id: 3, StoreId: 1}},
		},
	})
	if err != nil || answer.GetHeader().GetError() != nil {
		t.Fatal(err, answer)
	}
}

func TestPlacementDriverServesTheOfficialClientWhileLeadersAreKilled(t *testing.T) {
	members, directory, initial := startCluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var addresses []string
	for _, m := range members {
		addresses = append(addresses, m.client)
	}
	var client pd.Client
	waitFor(t, "a cluster", func() bool {
		var err error
		client, err = pd.NewClientWithContext(ctx, addresses, pd.SecurityOption{})
		return err == nil
	})
	defer client.Close()
	bootstrap(t, ctx, client.GetClusterID(ctx), strings.TrimPrefix(client.GetLeaderAddr(), "http://"))

	var last uint64
	take := func() {
		t.Helper()
		waitFor(t, "a timestamp", func() bool {
			physical, logical, err := client.GetTS(ctx)
			if err != nil {
				return false
			}
			ts := uint64(physical)<<18 + uint64(logical)
			if ts <= last {
				t.Fatalf("%d after %d", ts, last)
			}
			last = ts
			return true
		})
	}
	for n := 0; n < 1000; n++ {
		take()
	}
	region, err := client.GetRegion(ctx, []byte("key"))
	if err != nil || region.Meta.Id != 2 || region.Leader.StoreId != 1 {
		t.Fatal(err, region)
	}
	if region, err = client.GetRegionByID(ctx, 2); err != nil || region.Meta.Id != 2 {
		t.Fatal(err, region)
	}
	if regions, err := client.ScanRegions(ctx, nil, nil, 10); err != nil || len(regions) != 1 {
		t.Fatal(err, regions)
	}
	if store, err := client.GetStore(ctx, 1); err != nil || store.Address != "127.0.0.1:20160" {
		t.Fatal(err, store)
	}
	if stores, err := client.GetAllStores(ctx); err != nil || len(stores) != 1 {
		t.Fatal(err, stores)
	}
	if min, err := client.UpdateServiceGCSafePoint(ctx, "backup", 3600, 100); err != nil || min != 100 {
		t.Fatal(err, min)
	}
	if point, err := client.UpdateGCSafePoint(ctx, 200); err != nil || point != 100 {
		t.Fatal(err, point)
	}
	if all, err := client.GetAllMembers(ctx); err != nil || len(all) != 3 {
		t.Fatal(err, all)
	}

	for round := 0; round < 3; round++ {
		leader := strings.TrimPrefix(client.GetLeaderAddr(), "http://")
		var killed *member
		for _, m := range members {
			if m.client == leader {
				killed = m
			}
		}
		if killed == nil {
			t.Fatalf("no member listens on %s", leader)
		}
		killed.kill()
		for n := 0; n < 100; n++ {
			take()
		}
		killed.start(t, directory, initial)
		waitFor(t, "a region", func() bool {
			region, err := client.GetRegion(ctx, []byte("key"))
			return err == nil && region != nil && region.Meta.Id == 2
		})
	}
}
