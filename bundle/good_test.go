package bundle

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The files of a small good bundle. Tests break it in one place each.
const (
	csvFile         = "manifests/memcached.clusterserviceversion.yaml"
	crdFile         = "manifests/memcacheds.yaml"
	roleFile        = "manifests/metrics-role.yaml"
	serviceFile     = "manifests/metrics-service.yaml"
	annotationsFile = "metadata/annotations.yaml"
)

const goodCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: memcached-operator.v0.0.1
spec:
  displayName: Memcached
  version: 0.0.1
  installModes:
  - type: OwnNamespace
    supported: true
  - type: AllNamespaces
    supported: true
  customresourcedefinitions:
    owned:
    - name: memcacheds.cache.example.com
      version: v1
      kind: Memcached
  install:
    strategy: deployment
    spec:
      permissions:
      - serviceAccountName: memcached-operator
        rules:
        - apiGroups: [""]
          resources: [configmaps]
          verbs: [get]
      clusterPermissions:
      - serviceAccountName: memcached-operator
        rules:
        - nonResourceURLs: [/metrics]
          verbs: [get]
      deployments:
      - name: memcached-operator
        spec:
          replicas: 1
          selector:
            matchLabels: {app: memcached}
          template:
            metadata:
              labels: {app: memcached}
            spec:
              serviceAccountName: memcached-operator
              containers:
              - name: manager
                image: example.com/memcached:1
                env:
                - name: PORT
                  value: "8080"
                resources:
                  limits:
                    memory: 64Mi
`

const goodCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
spec:
  group: cache.example.com
  names:
    kind: Memcached
    plural: memcacheds
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
`

const goodRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: metrics-reader
rules:
- nonResourceURLs: [/metrics]
  verbs: [get]
`

const goodService = `apiVersion: v1
kind: Service
metadata:
  name: metrics
spec:
  ports:
  - port: 8443
`

const goodAnnotations = `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: memcached-operator
  operators.operatorframework.io.bundle.channels.v1: alpha, stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`

// files are the files of a bundle by path.
type files map[string]string

func good() files {
	return files{csvFile: goodCSV, crdFile: goodCRD, roleFile: goodRole, serviceFile: goodService, annotationsFile: goodAnnotations}
}

func (f files) fs() fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range f {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// move returns the files below other directories: pairs of an old and a new prefix.
func (f files) move(prefixes ...string) files {
	out := files{}
	for name, text := range f {
		for i := 0; i < len(prefixes); i += 2 {
			if rest, ok := strings.CutPrefix(name, prefixes[i]); ok {
				name = prefixes[i+1] + rest
				break
			}
		}
		out[name] = text
	}
	return out
}

// change breaks a bundle.
type change func(t *testing.T, f files)

// replace exchanges a text that occurs once in a file.
func replace(file, old, new string) change {
	return func(t *testing.T, f files) {
		t.Helper()
		if n := strings.Count(f[file], old); n != 1 {
			t.Fatalf("%q occurs %d times in %s", old, n, file)
		}
		f[file] = strings.Replace(f[file], old, new, 1)
	}
}

func put(file, text string) change { return func(_ *testing.T, f files) { f[file] = text } }

func drop(file string) change { return func(_ *testing.T, f files) { delete(f, file) } }

func all(changes ...change) change {
	return func(t *testing.T, f files) {
		for _, c := range changes {
			c(t, f)
		}
	}
}
