package olmv1

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

const patience = 60 * time.Second // for OLM v1 to do something

func resource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "olm.operatorframework.io", Version: "v1", Resource: plural}
}

// Server is a cluster with OLM v1 and a registry.
type Server struct {
	*cluster.Cluster
	*catalog.Registry
}

// Serve makes a catalog the only one of the cluster and waits until it is served.
func (s *Server) Serve(ctx context.Context, c *Catalog) error {
	image, err := s.PushCatalog("catalog", c.Content)
	if err != nil {
		return err
	}
	catalogs := s.Dynamic.Resource(resource("clustercatalogs"))
	applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "olm.operatorframework.io/v1",
		"kind": "ClusterCatalog", "metadata": map[string]any{"name": "e2e"}, "spec": map[string]any{
			"source": map[string]any{"type": "Image", "image": map[string]any{"ref": image}}}}}
	force := true
	if _, err := s.Apply(ctx, applied, metav1.PatchOptions{FieldManager: "e2e", Force: &force}); err != nil {
		return err
	}
	return s.await(ctx, "the catalog", func() (bool, string, error) {
		live, err := catalogs.Get(ctx, "e2e", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		now, err := statusOf(live)
		return now.ResolvedSource.Image.Ref == image && now.is("Serving"), now.condition("Progressing").Message, err
	})
}

// State is what a ClusterExtension says of itself.
type State struct {
	Version   string // installed
	Installed bool
	Says      string // the message of the condition Progressing
	Reason    string // of that
}

// Extension reads the state of a ClusterExtension.
func (s *Server) Extension(ctx context.Context, name string) (State, error) {
	live, err := s.Dynamic.Resource(resource("clusterextensions")).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return State{}, err
	}
	return stateOf(live)
}

func stateOf(live *unstructured.Unstructured) (State, error) {
	now, err := statusOf(live)
	progress := now.condition("Progressing")
	return State{Version: now.Install.Bundle.Version, Installed: now.is("Installed"), Says: progress.Message,
		Reason: progress.Reason}, err
}

// status is that of a ClusterExtension or a ClusterCatalog.
type status struct {
	Conditions []metav1.Condition
	Install    struct{ Bundle struct{ Version string } }

	ResolvedSource struct{ Image struct{ Ref string } }
}

func statusOf(live *unstructured.Unstructured) (now status, err error) {
	value, _, _ := unstructured.NestedMap(live.Object, "status")
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &now)
	}
	return now, err
}

func (s status) condition(kind string) metav1.Condition {
	found := cmp.Or(meta.FindStatusCondition(s.Conditions, kind), &metav1.Condition{})
	found.Message = strings.TrimSpace(found.Message)
	return *found
}

func (s status) is(kind string) bool { return s.condition(kind).Status == metav1.ConditionTrue }

// Install waits until a ClusterExtension has a version, or any if that is empty.
func (s *Server) Install(ctx context.Context, name, version string) error {
	return s.await(ctx, "ClusterExtension "+name, func() (bool, string, error) {
		state, err := s.Extension(ctx, name)
		if err != nil {
			return false, "", err
		}
		done := state.Installed && state.Reason == "Succeeded" && (version == "" || state.Version == version)
		if !done && state.Reason == "Blocked" {
			return false, "", fmt.Errorf("OLM v1 refuses it: %s", state.Says)
		}
		return done, fmt.Sprintf("installed %q: %s", state.Version, state.Says), nil
	})
}

// Uninstall deletes a ClusterExtension and waits until it is gone.
func (s *Server) Uninstall(ctx context.Context, name string) error {
	client := s.Dynamic.Resource(resource("clusterextensions"))
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return s.await(ctx, "deletion of ClusterExtension "+name, func() (bool, string, error) {
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		if err != nil {
			return false, "", err
		}
		state, err := stateOf(live)
		return false, state.Says, err
	})
}

// await tries until it is done, and says at the end what was said last.
func (s *Server) await(ctx context.Context, what string, look func() (bool, string, error)) error {
	for started := time.Now(); ; {
		done, said, err := look()
		switch {
		case done:
			return nil
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("%s: %w", what, err)
		case time.Since(started) > patience:
			return fmt.Errorf("%s: not done after %s: %s", what, patience, said)
		}
		if err := s.Check(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// steady is how long OLM v1 says that something fails before it is taken at its word: it tries again many times in that
// time, so that a connection that broke once is no fault of the bundle.
const steady = 2 * time.Second

// Complaint waits until a ClusterExtension is installed, and returns the empty text, or says why it cannot be.
func (s *Server) Complaint(ctx context.Context, name string) (complaint string, err error) {
	var since time.Time // of the first failure after which nothing else was said
	err = s.await(ctx, "ClusterExtension "+name, func() (bool, string, error) {
		state, err := s.Extension(ctx, name)
		if err != nil {
			return false, "", err
		}
		switch state.Reason {
		case "Blocked":
			complaint = state.Says
			return true, "", nil
		case "Retrying":
			if since.IsZero() { // what fails first is the reason, and later messages may be about what it left
				since, complaint = time.Now(), state.Says
			}
			return time.Since(since) > steady, state.Says, nil
		}
		since, complaint = time.Time{}, ""
		return state.Installed && state.Reason == "Succeeded", state.Says, nil
	})
	return complaint, err
}

// Versions calls change, which leads to updates, and returns the versions that are installed one after the other until
// the last of them is there and stays.
func (s *Server) Versions(ctx context.Context, name, last string, change func() error) (versions []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	w, err := s.Dynamic.Resource(resource("clusterextensions")).Watch(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	if err := change(); err != nil {
		return nil, err
	}
	var quiet <-chan time.Time // after the last version
	var says string
	for {
		select {
		case e, open := <-w.ResultChan():
			live, ok := e.Object.(*unstructured.Unstructured)
			if !open || !ok {
				return versions, fmt.Errorf("ClusterExtension %s: the updates stop at %s, want %s: %s", name,
					strings.Join(versions, ", "), last, says)
			}
			state, err := stateOf(live)
			if err != nil {
				return versions, err
			}
			version := state.Version
			says = state.Says
			if version != "" && (len(versions) == 0 || versions[len(versions)-1] != version) {
				versions = append(versions, version)
			}
			if version == last && quiet == nil {
				quiet = time.After(3 * time.Second)
			}
		case <-quiet:
			return versions, nil
		}
	}
}

// Settled waits until OLM v1 says the same of the newest generation of a ClusterExtension for a while, and returns its
// conditions and its status.
func (s *Server) Settled(ctx context.Context, name string) (list []metav1.Condition, status map[string]any, err error) {
	var since time.Time
	said := ""
	err = s.await(ctx, "ClusterExtension "+name, func() (bool, string, error) {
		live, err := s.Dynamic.Resource(resource("clusterextensions")).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		typed, err := statusOf(live)
		if err != nil {
			return false, "", err
		}
		status, _, _ = unstructured.NestedMap(live.Object, "status")
		list = typed.Conditions
		observed := typed.condition("Progressing").ObservedGeneration
		if now := fmt.Sprint(list); now != said || observed != live.GetGeneration() {
			said, since = now, time.Now()
		}
		return time.Since(since) > 2*steady, said, nil
	})
	return list, status, err
}
