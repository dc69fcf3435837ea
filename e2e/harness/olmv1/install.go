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
	applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "olm.operatorframework.io/v1",
		"kind": "ClusterCatalog", "metadata": map[string]any{"name": "e2e"}, "spec": map[string]any{
			"source": map[string]any{"type": "Image", "image": map[string]any{"ref": image}}}}}
	force := true
	if _, err := s.Apply(ctx, applied, metav1.PatchOptions{FieldManager: "e2e", Force: &force}); err != nil {
		return err
	}
	return s.Wait(ctx, "the catalog", func() error {
		now, err := s.state(ctx, "clustercatalogs", "e2e")
		serving := meta.IsStatusConditionTrue(now.Conditions, "Serving")
		if err == nil && (now.ResolvedSource.Image.Ref != image || !serving) {
			err = errors.New(now.progress.Message)
		}
		return err
	})
}

// state is what a ClusterExtension or a ClusterCatalog says of itself.
type state struct {
	Conditions     []metav1.Condition
	Install        struct{ Bundle struct{ Version string } }
	ResolvedSource struct{ Image struct{ Ref string } }

	progress metav1.Condition // Progressing
	status   map[string]any
	observed bool // it is of the newest generation
}

func (s *Server) state(ctx context.Context, resources, name string) (state, error) {
	live, err := s.Dynamic.Resource(resource(resources)).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return state{}, err
	}
	return stateOf(live)
}

func stateOf(live *unstructured.Unstructured) (now state, err error) {
	now.status, _, _ = unstructured.NestedMap(live.Object, "status")
	data, err := json.Marshal(now.status)
	if err == nil {
		err = json.Unmarshal(data, &now)
	}
	now.progress = *cmp.Or(meta.FindStatusCondition(now.Conditions, "Progressing"), &metav1.Condition{})
	now.progress.Message = strings.TrimSpace(now.progress.Message)
	now.observed = now.progress.ObservedGeneration == live.GetGeneration()
	return now, err
}

// succeeded reports whether OLM v1 has installed what a ClusterExtension asks for.
func (s state) succeeded() bool {
	return meta.IsStatusConditionTrue(s.Conditions, "Installed") && s.progress.Reason == "Succeeded"
}

// Uninstall deletes a ClusterExtension and waits until it is gone.
func (s *Server) Uninstall(ctx context.Context, name string) error {
	client := s.Dynamic.Resource(resource("clusterextensions"))
	if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return s.Wait(ctx, "deletion of ClusterExtension "+name, func() error {
		now, err := s.state(ctx, "clusterextensions", name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return cmp.Or(err, fmt.Errorf("it is there: %s", now.progress.Message))
	})
}

// steady is how long OLM v1 says that something fails before it is taken at its word: it tries again many times in that
// time, so that a connection that broke once is no fault of the bundle.
const steady = 2 * time.Second

// Complaint waits until a ClusterExtension is installed, and returns the empty text, or says why it cannot be.
func (s *Server) Complaint(ctx context.Context, name string) (complaint string, err error) {
	var since time.Time // of the first failure after which nothing else was said
	err = s.Wait(ctx, "ClusterExtension "+name, func() error {
		now, err := s.state(ctx, "clusterextensions", name)
		if err != nil {
			return err
		}
		switch now.progress.Reason {
		case "Blocked":
			complaint = now.progress.Message
			return nil
		case "Retrying":
			if since.IsZero() { // what fails first is the reason, and later messages may be about what it left
				since, complaint = time.Now(), now.progress.Message
			}
			if time.Since(since) > steady {
				return nil
			}
		default:
			since, complaint = time.Time{}, ""
			if now.succeeded() {
				return nil
			}
		}
		return errors.New(now.progress.Message)
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
			now, err := stateOf(live)
			if err != nil {
				return versions, err
			}
			version := now.Install.Bundle.Version
			says = now.progress.Message
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
	err = s.Wait(ctx, "ClusterExtension "+name, func() error {
		now, err := s.state(ctx, "clusterextensions", name)
		if err != nil {
			return err
		}
		list, status = now.Conditions, now.status
		if says := fmt.Sprint(list); says != said || !now.observed {
			said, since = says, time.Now()
		}
		if time.Since(since) <= 2*steady {
			return errors.New(said)
		}
		return nil
	})
	return list, status, err
}
