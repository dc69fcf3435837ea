package cluster

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// network stands in for the network of a cluster without nodes. The API server reaches Services through it (an egress
// selector of type HTTPConnect), and behind every Service is the same extension API server: it knows the APIs that the
// CSVs in the cluster say they serve, and has the certificate that OLM made for the Service.
type network struct {
	server  *http.Server
	cluster atomic.Pointer[Cluster]
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
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
	// Serve hands the one connection to a goroutine and then meets the end of the listener. A connection without
	// a certificate gets no answer.
	behind := http.Server{Handler: http.HandlerFunc(n.discovery), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet}
	config := &tls.Config{GetCertificate: n.certificate}
	_ = behind.Serve(&oneConn{conn: tls.Server(&peeked{conn, buffered.Reader}, config)})
}

// certificate is the one that OLM made for the Service.
func (n *network) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	parts := strings.Split(hello.ServerName, ".")
	c := n.cluster.Load()
	if c == nil || len(parts) < 2 {
		return nil, fmt.Errorf("no such service: %s", hello.ServerName)
	}
	secret, err := c.Client.CoreV1().Secrets(parts[1]).Get(hello.Context(), parts[0]+"-cert", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	return &cert, err
}

// discovery answers /apis/<group>/<version>.
func (n *network) discovery(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 3 || parts[0] != "apis" {
		http.NotFound(w, r)
		return
	}
	list := metav1.APIResourceList{GroupVersion: parts[1] + "/" + parts[2]}
	list.Kind, list.APIVersion = "APIResourceList", "v1"
	csvs, err := n.cluster.Load().Dynamic.Resource(CSVs).List(r.Context(), metav1.ListOptions{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, csv := range csvs.Items {
		owned, _, _ := unstructured.NestedSlice(csv.Object, "spec", "apiservicedefinitions", "owned")
		for _, api := range owned {
			api := api.(map[string]any)
			name, _ := api["name"].(string)
			kind, _ := api["kind"].(string)
			known := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
			if api["group"] == parts[1] && api["version"] == parts[2] && !known {
				list.APIResources = append(list.APIResources,
					metav1.APIResource{Name: name, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get"}})
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list) // nobody is there to be told
}

// CSVs and APIServices are resources for the dynamic client.
var (
	CSVs = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1",
		Resource: "clusterserviceversions"}
	APIServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// endpoints sets an address for every Service behind an APIService. Any address will do: the network answers for all.
func (c *Cluster) endpoints(ctx context.Context) error {
	apis, err := c.Dynamic.Resource(APIServices).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, api := range apis.Items {
		ns, _, _ := unstructured.NestedString(api.Object, "spec", "service", "namespace")
		name, _, _ := unstructured.NestedString(api.Object, "spec", "service", "name")
		if name == "" {
			continue
		}
		service, err := c.Client.CoreV1().Services(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			continue // not made yet
		}
		slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.9.0.1"}}}}
		slice.Name, slice.Labels = name, map[string]string{discoveryv1.LabelServiceName: name}
		for _, p := range service.Spec.Ports {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port})
		}
		if _, err := c.Client.DiscoveryV1().EndpointSlices(ns).Create(ctx, slice,
			metav1.CreateOptions{}); Exists(err) != nil {
			return err
		}
	}
	return nil
}

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
