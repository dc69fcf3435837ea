package cluster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/olm"
)

// network stands in for the network of a cluster without nodes. The API server reaches Services through it (an egress
// selector of type HTTPConnect). Behind every Service is a server in the place of its pods: see pods.go. Addresses of
// loopback are those of programs beside the cluster, and reached.
type network struct {
	server  *http.Server
	cluster atomic.Pointer[Cluster]
	calls   sync.Map // what was answered: Call to number
}

var quiet = log.New(io.Discard, "", 0)

const egressConfig = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: %q}}}
`

func newNetwork(socket, configFile string) (*network, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", socket)
	if err != nil {
		return nil, err
	}
	n := &network{}
	n.server = &http.Server{Handler: http.HandlerFunc(n.connect), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = n.server.Serve(l) }() // until stop
	return n, os.WriteFile(configFile, fmt.Appendf(nil, egressConfig, socket), 0o600)
}

func (n *network) stop() { n.server.Close() }

// connect takes a tunnel over and is itself what is at its end.
func (n *network) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if host, _, err := net.SplitHostPort(r.Host); err == nil && (host == "localhost" || host == "127.0.0.1") {
		forward(r.Context(), &peeked{conn, buffered.Reader}, r.Host)
		return
	}
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
	// Serve hands the one connection to a goroutine and then meets the end of the listener. A connection without
	// a certificate gets no answer.
	behind := http.Server{Handler: http.HandlerFunc(n.answer), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet}
	config := &tls.Config{GetCertificate: n.certificate}
	_ = behind.Serve(&oneConn{conn: tls.Server(&peeked{conn, buffered.Reader}, config)})
}

// forward connects a tunnel with a program on loopback, until one of them ends.
func forward(ctx context.Context, conn net.Conn, address string) {
	defer conn.Close()
	to, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		fmt.Fprint(conn, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer to.Close()
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
	ended := make(chan struct{}, 2)
	for _, ends := range [][2]net.Conn{{conn, to}, {to, conn}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1]) // an end is an end
			ended <- struct{}{}
		}()
	}
	<-ended
}

// CSVs and APIServices are resources for the dynamic client.
var (
	CSVs        = schema.GroupVersionResource{Group: olm.Group, Version: "v1alpha1", Resource: "clusterserviceversions"}
	APIServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// endpoints sets an address for every Service behind an APIService, and behind a webhook if the API server asks
// webhooks. Any address will do: the network answers for all. With StandIns it makes Services that a webhook of Trust
// names and that are not there.
func (c *Cluster) endpoints(ctx context.Context) error {
	resources := []schema.GroupVersionResource{APIServices}
	if c.webhooks {
		resources = append(resources, CRDs, admissionResource("validatingwebhookconfigurations"),
			admissionResource("mutatingwebhookconfigurations"))
	}
	for _, r := range resources {
		list, err := c.Dynamic.Resource(r).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			for _, client := range ClientConfigs(&o) {
				if err := c.endpoint(ctx, client); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *Cluster) endpoint(ctx context.Context, client ClientConfig) error {
	of := client.Service
	service, err := c.Client.CoreV1().Services(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
	if _, trusted := c.trusted.Load(client.Host()); apierrors.IsNotFound(err) && trusted && c.StandIns {
		port, _, _ := unstructured.NestedInt64(client.Fields, "service", "port")
		service = &corev1.Service{}
		service.Spec.Ports = []corev1.ServicePort{{Port: int32(cmp.Or(port, 443))}}
		service.Name, service.Labels = of.Name, map[string]string{StandIn: "true"}
		service, err = c.Client.CoreV1().Services(of.Namespace).Create(ctx, service, metav1.CreateOptions{})
	}
	if err != nil {
		return nil //nolint:nilerr // not made yet
	}
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.9.0.1"}}}}
	slice.Name, slice.Labels = of.Name, map[string]string{discoveryv1.LabelServiceName: of.Name}
	for _, p := range service.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port})
	}
	_, err = c.Client.DiscoveryV1().EndpointSlices(of.Namespace).Create(ctx, slice, metav1.CreateOptions{})
	return Exists(err)
}

// StandIn is a label of a Service that endpoints makes.
const StandIn = "e2e.olmgen.dev/stand-in"

// oneConn is a listener that yields one connection.
type oneConn struct {
	conn net.Conn
	used bool
}

func (l *oneConn) Accept() (net.Conn, error) {
	if l.used {
		return nil, net.ErrClosed
	}
	l.used = true
	return l.conn, nil
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

// peeked reads first what the HTTP server had read ahead.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }
