package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// handedOut are ports of this process's clusters.
var handedOut sync.Map

// FreePorts returns ports of loopback that nobody listens on. They are below those that the system gives to outgoing
// connections: one of these could take the port before the server for which it is meant has started.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for try := 0; len(ports) < n && try < 1000; try++ {
		port := 20000 + rand.IntN(12000)
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		l.Close()
		if _, taken := handedOut.LoadOrStore(port, true); !taken {
			ports = append(ports, port)
		}
	}
	if len(ports) < n {
		return nil, fmt.Errorf("no free ports on 127.0.0.1 between 20000 and 32000")
	}
	return ports, nil
}
