package compare

import (
	"slices"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// Trigger is a kind of difference that can fail a pipeline.
type Trigger string

// The triggers.
const (
	AnyDifference     Trigger = "any"
	AnyError          Trigger = "error"
	AnyWarning        Trigger = "warning"
	PermissionsGained Trigger = "permissions-gained"
	RiskGained        Trigger = "risk-gained"
	PermissionsLost   Trigger = "permissions-lost"
	UsersGained       Trigger = "users-gained"
	CRDBreaking       Trigger = "crd-breaking"
	CRDChanged        Trigger = "crd-changed"
	SecurityWeakened  Trigger = "security-weakened"
	ImageMoved        Trigger = "image-moved"
	WebhooksChanged   Trigger = "webhooks-changed"
	APIRemoved        Trigger = "api-removed"
	OLMRefuses        Trigger = "olm-refuses"
	OperatorUnknown   Trigger = ruleUnresolved
	SupportEnded      Trigger = "support-ended"
	Incompatible      Trigger = "incompatible"
)

// Triggers are all triggers with what they are about.
var Triggers = []struct {
	Trigger
	Text string
}{
	{AnyDifference, "any difference"},
	{AnyError, "a difference of severity error"},
	{AnyWarning, "a difference of severity warning or error"},
	{PermissionsGained, "an account, user, group or unbound role gains a permission"},
	{RiskGained,
		"an account, user, group or unbound role gains a permission of a dangerous group, such as to read Secrets"},
	{PermissionsLost, "an account, user, group or unbound role loses a permission"},
	{UsersGained, "the roles admin, edit, view or cluster-reader gain a permission"},
	{CRDBreaking, "a CRD refuses or drops what it took, or a request that it served fails"},
	{CRDChanged, "any finding about a CRD"},
	{SecurityWeakened, "a pod gets more rights on its node, or a weaker security context"},
	{ImageMoved, "an image is from another repository, or no digest pins it any more"},
	{WebhooksChanged, "an admission webhook is new, gone or changed"},
	{APIRemoved, "an operator does not provide an API any more"},
	{OLMRefuses, "OLM would refuse the upgrade, or an operator would fail"},
	{OperatorUnknown, "what asks for an operator is new or changes, and nobody knows which OLM would install"},
	{SupportEnded, "by its catalog, the support of NEW has ended on the date, and not that of OLD"},
	{Incompatible, "by its catalog, NEW is not for the release of OpenShift, and OLD is"},
}

// Meets reports whether a report has a difference that a trigger is about.
func (r *Report) Meets(t Trigger) bool {
	changed := func(part change.Part, is func(change.Change) bool) bool {
		return slices.ContainsFunc(slices.Concat(r.Workloads, r.Identity), func(c change.Change) bool {
			return c.Part == part && is(c)
		})
	}
	bad := func(c change.Change) bool { return c.Severity != findings.Info }
	item := func(list []permissions.Item, c permissions.Change) bool {
		return slices.ContainsFunc(list, func(i permissions.Item) bool {
			return i.Change == c && i.Risk != permissions.NoEffect
		})
	}
	switch t {
	case AnyDifference:
		return !r.Empty() || len(r.Charts)+len(r.Ignored) > 0
	case AnyError:
		return r.worst() == findings.Error
	case AnyWarning:
		return slices.Contains([]findings.Severity{findings.Error, findings.Warning}, r.worst())
	case PermissionsGained:
		return item(r.Permissions, permissions.Gained) || r.unknownRole(change.Added, false)
	case RiskGained:
		return slices.ContainsFunc(slices.Concat(r.Permissions, r.Users), isRisk) || r.unknownRole(change.Added, true)
	case PermissionsLost:
		return item(r.Permissions, permissions.Lost) || r.unknownRole(change.Removed, false) ||
			changed(change.Object, func(c change.Change) bool { return c.Message == leavesBound })
	case UsersGained:
		return item(r.Users, permissions.Gained)
	case CRDBreaking:
		return r.Breaking() > 0
	case CRDChanged:
		return len(r.CRDs) > 0
	case SecurityWeakened:
		return changed(change.Security, bad)
	case ImageMoved:
		return changed(change.Image, bad)
	case WebhooksChanged:
		return changed(change.Webhook, func(change.Change) bool { return true })
	case APIRemoved:
		return changed(change.Provided, func(c change.Change) bool { return c.Change == change.Removed })
	case OLMRefuses:
		return slices.ContainsFunc(r.OLM, refuses)
	case OperatorUnknown:
		return slices.ContainsFunc(r.Unresolved, func(u Unresolved) bool { return u.Changed })
	case SupportEnded, Incompatible:
		return slices.ContainsFunc(r.OLM, func(c Consequence) bool {
			return c.Rule == fit.Prefix+string(t) && c.Severity != findings.Info
		})
	}
	return false
}

// isRisk reports whether a change of rights is a danger.
func isRisk(i permissions.Item) bool {
	return severityOf(i) != findings.Info ||
		i.Change == permissions.Gained && slices.Contains(permissions.Dangerous, i.Risk)
}

// unknownRole reports whether somebody gets or loses a role that nobody knows; writes: one that may write by its name.
func (r *Report) unknownRole(c change.Kind, writes bool) bool {
	return slices.ContainsFunc(r.Workloads, func(w change.Change) bool {
		return w.Part == change.Account && w.Field == "roleRef" && w.Change == c &&
			(!writes || !danger.ReadsByName(w.New))
	})
}

// Breaking counts the findings about CRDs that break clients or stored objects.
func (r *Report) Breaking() int {
	return lists.Count(r.CRDs, func(c CRD) bool { return c.Severity == findings.Error })
}
