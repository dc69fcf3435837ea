package kubernetes

import (
	"context"
	"net"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	services "k8s.io/kubernetes/pkg/registry/core/service/storage"
)

// allocate sets what the storage of a Service sets before it is validated: addresses, their families, and ports
// (Kubernetes: pkg/registry/core/service/storage, beginCreate and beginUpdate). The cluster has both families.
func allocate(ctx context.Context, obj, old runtime.Object) error {
	if _, ok := obj.(*core.Service); !ok {
		return nil
	}
	s, err := serviceStorage()
	if err != nil {
		return err
	}
	dry := []string{metav1.DryRunAll}
	if old == nil {
		_, err = s.BeginCreate(ctx, obj, &metav1.CreateOptions{DryRun: dry})
	} else {
		_, err = s.BeginUpdate(ctx, obj, old, &metav1.UpdateOptions{DryRun: dry})
	}
	return err
}

// serviceStorage is the storage of Services, which stores nothing.
var serviceStorage = sync.OnceValues(func() (*services.REST, error) {
	families := map[core.IPFamily]ipallocator.Interface{}
	networks := map[core.IPFamily]string{core.IPv4Protocol: "10.96.0.0/16", core.IPv6Protocol: "fd00::/112"}
	for family, cidr := range networks {
		_, network, err := net.ParseCIDR(cidr)
		if err != nil {
			return nil, err
		}
		all, err := ipallocator.NewInMemory(network)
		if err != nil {
			return nil, err
		}
		families[family] = anywhere{all.DryRun()}
	}
	ports, err := portallocator.NewInMemory(utilnet.PortRange{Base: 30000, Size: 2768})
	if err != nil {
		return nil, err
	}
	nowhere := generic.RESTOptions{ResourcePrefix: "services", StorageConfig: &storagebackend.ConfigForResource{},
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error),
			func() runtime.Object, func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (
			storage.Interface, factory.DestroyFunc, error) {
			return nil, func() {}, nil
		}}
	s, _, _, err := services.NewREST(nowhere, core.IPv4Protocol, families, ports, nil, nil, nil)
	return s, err
})

// anywhere are addresses of which each that is asked for is free: which ones a cluster has is not known.
type anywhere struct{ ipallocator.Interface }

func (anywhere) Allocate(net.IP) error           { return nil }
func (a anywhere) DryRun() ipallocator.Interface { return a }
