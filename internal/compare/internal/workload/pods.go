package workload

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// verdict returns how bad a change of a field is, and why. Old and new are empty where the field is missing.
type verdict func(c *change.Change)

// Rule is about the fields that a pattern matches.
type Rule struct {
	Pattern func() *regexp.Regexp
	Part    change.Part
	Judge   verdict // nil: it is worth knowing
}

func field(pattern string) func() *regexp.Regexp { return lazy.Regexp(pattern) }

// podRules are about the fields of workloads. The first one that matches counts.
var podRules = []Rule{
	{field(`\.(hostNetwork|hostPID|hostIPC)$`), change.Security, gains(findings.Error,
		"its pods share this with the node", "true")},
	{field(`securityContext\.privileged$`), change.Security, gains(findings.Error,
		"the container has all rights of root on the node", "true")},
	{field(`securityContext\.capabilities\.add\[`), change.Security, capability},
	{field(`securityContext\.capabilities\.drop\[`), change.Security, loses("the container keeps more capabilities")},
	{field(`securityContext\.allowPrivilegeEscalation$`), change.Security, weaker("false",
		"a process may get more rights than its parent")},
	{field(`securityContext\.runAsNonRoot$`), change.Security, weaker("true", "the container may run as root")},
	{field(`securityContext\.readOnlyRootFilesystem$`), change.Security, weaker("true",
		"the container may write to its root file system")},
	{field(`securityContext\.runAsUser$`), change.Security, gains(findings.Warning, "the container runs as root", "0")},
	{field(`securityContext\.(seccompProfile|appArmorProfile)\.type$`), change.Security, profile},
	{field(`securityContext\.procMount$`), change.Security, gains(findings.Error,
		"the container sees all of /proc", "Unmasked")},
	{field(`securityContext\.`), change.Security, nil},
	{field(`volumes\[[^\]]*\]\.hostPath\.path$`), change.Security, given(findings.Error,
		"the pod has this directory of the node")},
	{field(`ports\[[^\]]*\]\.hostPort$`), change.Security, given(findings.Warning, "the pod takes a port of the node")},
	{field(`volumeMounts\[[^\]]*\]\.mountPropagation$`), change.Security, gains(findings.Error,
		"what the container mounts appears on the node", "Bidirectional")},
	{field(`volumeMounts\[[^\]]*\]\.readOnly$`), change.Security, weaker("true", "the container may write to it")},
	{field(`\.hostUsers$`), change.Security, weaker("false", "root in the container is root on the node")},
	{field(`annotations\["olm\.targetNamespaces"\]$`), change.Workload, func(c *change.Change) {
		if len(fewer(strings.Split(c.Old, ","), strings.Split(c.New, ","))) > 0 {
			c.Severity, c.Message = findings.Warning, notWatched
		}
	}},
	{field(`annotations\["openshift\.io/required-scc"\]$`), change.Security, when(
		func(c *change.Change) bool { return c.New != "" && !danger.Restricted(c.New) }, findings.Warning,
		"OpenShift admits its pods by these SecurityContextConstraints")},
	{field(`\.automountServiceAccountToken$`), change.Account, nil},
	{field(`\.serviceAccount(Name)?$`), change.Account, always(findings.Warning,
		"its pods have the permissions of another account")},
	{field(`(ontainers\[[^\]]*\]\.image|\.env\[RELATED_IMAGE_[^\]]*\]\.value|volumes\[[^\]]*\]\.image\.reference)$`),
		change.Image, Moved},
	{field(`ontainers\[[^\]]*\]\.(args|command)`), change.Arguments, ifImage},
	{field(`ontainers\[[^\]]*\]\.env(From)?\[`), change.Env, ifImage},
	{field(`\.resources\.`), change.Resources, nil},
	{field(`\.volumes\[[^\]]*\]\.(secret\.secretName|projected\.sources\[.*\]\.secret\.name)$`), change.Volumes,
		given(findings.Warning, "the pod reads this Secret")},
	{field(`\.volumes\[.*\.serviceAccountToken\.audience$`), change.Volumes, given(findings.Warning,
		"the pod has a token for this audience")},
	{field(`\.(volumes|volumeMounts|volumeDevices)\[`), change.Volumes, nil},
	{field(`\.(livenessProbe|readinessProbe|startupProbe)\.`), change.Probes, nil},
	{field(`^spec\.paused$`), change.Workload, gains(findings.Warning, "no new pod starts while it is paused", "true")},
	{field(`^spec\.replicas$`), change.Workload, gains(findings.Warning, "no pod of it runs", "0")},
}

func when(is func(c *change.Change) bool, s findings.Severity, why string) verdict {
	return func(c *change.Change) {
		if is(c) {
			c.Severity, c.Message = s, why
		}
	}
}

// gains judges a field that gets a value which is worse than others.
func gains(s findings.Severity, why string, bad ...string) verdict {
	return when(func(c *change.Change) bool { return slices.Contains(bad, c.New) }, s, why)
}

// given judges a field that gets any other value.
func given(s findings.Severity, why string) verdict {
	return when(func(c *change.Change) bool { return c.Change != change.Removed }, s, why)
}

// weaker judges a field that loses the value which is better than others.
func weaker(good, why string) verdict {
	return when(func(c *change.Change) bool { return c.Old == good }, findings.Warning, why)
}

func loses(why string) verdict {
	return when(func(c *change.Change) bool { return c.Change == change.Removed }, findings.Warning, why)
}

func always(s findings.Severity, why string) verdict {
	return when(func(*change.Change) bool { return true }, s, why)
}

// harmless are the capabilities that the Pod Security Standards allow (Kubernetes: pod-security-admission,
// check_capabilities_baseline.go).
var harmless = []string{"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
	"NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}

func capability(c *change.Change) {
	if c.Change != change.Added {
		return
	}
	name := strings.TrimSuffix(c.Field[strings.LastIndexByte(c.Field, '[')+1:], "]")
	switch {
	case name == "NET_BIND_SERVICE":
	case slices.Contains(harmless, name):
		c.Severity, c.Message = findings.Warning, "the container gets a capability"
	default:
		c.Severity, c.Message = findings.Error, "Pod Security allows this capability on no level but privileged"
	}
}

func profile(c *change.Change) {
	switch c.New {
	case "Unconfined":
		c.Severity, c.Message = findings.Error, "no profile confines the container"
	case "":
		c.Severity, c.Message = findings.Warning, "the container has no profile of its own any more"
	}
}

// Moved judges where an image is from.
func Moved(c *change.Change) {
	if c.Old == "" || c.New == "" {
		return
	}
	before, pinned := images.Repository(c.Old)
	after, stillPinned := images.Repository(c.New)
	var why []string
	if before != after {
		why = append(why, "it is from another repository")
	}
	if pinned && !stillPinned {
		why = append(why, "no digest pins it any more")
	}
	if len(why) > 0 {
		c.Severity, c.Message = findings.Warning, strings.Join(why, "; ")
	}
}

func registry(image string) string {
	repository, _ := images.Repository(image)
	host, _, _ := strings.Cut(repository, "/")
	return host
}

// fromElsewhere judges a new container, workload or volume whose image is from a registry that was not used.
func fromElsewhere(c *change.Change, used map[string]bool) {
	if c.Change != change.Added || len(used) == 0 {
		return
	}
	whole := c.Part == change.Workload && (c.Field == "" || strings.Contains(c.Field, "ontainers["))
	for image := range strings.SplitSeq(cmp.Or(c.New, c.Message), ", ") {
		if (whole && image != "" || c.Part == change.Volumes && images.Qualified(image)) && !used[registry(image)] {
			c.New, c.Part, c.Severity = cmp.Or(c.New, c.Message), change.Image, findings.Warning
			c.Message = "the older release has no image of the registry " + registry(image)
		}
	}
}

// judge fills in what a rule says of a change.
func judge(c *change.Change, rules []Rule, otherwise change.Part) {
	c.Severity, c.Part = findings.Info, otherwise
	for _, r := range rules {
		if !r.Pattern().MatchString(c.Field) {
			continue
		}
		c.Part = r.Part
		if r.Judge != nil {
			r.Judge(c)
		}
		return
	}
}
