// Command argocd is Argo CD's GitOps engine without Argo CD: it syncs directories into a cluster and compares them with
// it, with the options that Argo CD's application controller passes. Requests and answers are JSON, over HTTP on a
// socket.
//
// Argo CD's health checks in Lua, which are not part of the engine, are read from Argo CD's module and run here: with
// the engine's own ones (Deployment, Service, APIService, ...) they decide when a sync wave is healthy.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// request asks to sync an Application, or to compare it with the cluster.
type request struct {
	Op        string   `json:"op"`        // sync or diff
	App       string   `json:"app"`       // its name
	Dirs      []string `json:"dirs"`      // of manifests; none: the Application is empty
	Namespace string   `json:"namespace"` // of the destination
	Prune     bool     `json:"prune"`
	// options of the Application's syncPolicy
	ServerSideApply             bool    `json:"serverSideApply"`
	SkipDryRunOnMissingResource bool    `json:"skipDryRunOnMissingResource"`
	ServerSideDiff              bool    `json:"serverSideDiff"` // of the Application's compare-options
	Health                      scripts `json:"health"`         // of Argo CD's settings
	Seconds                     int     `json:"seconds"`        // until a sync is given up
}

// answer is what became of a request.
type answer struct {
	Error     string     `json:"error,omitempty"`
	Phase     string     `json:"phase,omitempty"` // of the operation
	Message   string     `json:"message,omitempty"`
	Resources []resource `json:"resources,omitempty"` // in the order of the sync
	OutOfSync []resource `json:"outOfSync,omitempty"` // with what differs
}

// resource is an object and what was done with it.
type resource struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Wave      int    `json:"wave,omitempty"`
	Order     int    `json:"order,omitempty"`
	Status    string `json:"status,omitempty"` // Synced, SyncFailed, Pruned, PruneSkipped; missing, extra, modified
	Message   string `json:"message,omitempty"`
	// Fields are the paths that differ.
	Fields []string `json:"fields,omitempty"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the cluster")
	socket := flag.String("socket", "", "where requests are answered")
	flag.Parse()
	if err := serve(*kubeconfig, *socket); err != nil {
		fmt.Fprintln(os.Stderr, "argocd:", err)
		os.Exit(1)
	}
}

// serve answers requests on a socket, one at a time, until the process is ended.
func serve(kubeconfig, socket string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	config.WarningHandler = rest.NoWarnings{}
	e, err := newEngine(config)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", socket)
	if err != nil {
		return err
	}
	var one sync.Mutex
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, asked *http.Request) {
			one.Lock()
			defer one.Unlock()
			var r request
			var a answer
			err := json.NewDecoder(asked.Body).Decode(&r)
			if err == nil {
				err = e.answer(asked.Context(), r, &a)
			}
			if err != nil {
				a.Error = err.Error()
			}
			_ = json.NewEncoder(w).Encode(a) // nobody is there to be told
		})}
	return server.Serve(l)
}

func (e *engine) answer(ctx context.Context, r request, a *answer) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(r.Seconds, 1))*time.Second)
	defer cancel()
	target, err := r.manifests()
	if err != nil {
		return err
	}
	switch r.Op {
	case "sync":
		return e.sync(ctx, r, target, a)
	case "diff":
		return e.diff(r, target, a)
	}
	return fmt.Errorf("there is no operation %q", r.Op)
}
