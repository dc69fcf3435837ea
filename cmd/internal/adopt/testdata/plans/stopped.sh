#!/bin/sh
# The commands of plan.md, to read and to copy from, step by step.
# It stops at once, templates of kubectl have variables of their own, only an undo may read a list, and flags are words:
# shellcheck disable=SC2016,SC2034,SC2086,SC2317
echo 'This script is to be read: run its commands step by step.' >&2
exit 1

set -eu
# csv ns component
operators='tug.v1.0.0 bay tug.bay
ferry.v1.0.0 harbour ferry.harbour'
# selector
selectors='olm.owner=tug.v1.0.0,olm.owner.namespace=bay,olm.owner.kind=ClusterServiceVersion
olm.owner=tug.v1.0.0,olm.copiedFrom=bay
olm.owner=ferry.v1.0.0,olm.owner.namespace=harbour,olm.owner.kind=ClusterServiceVersion
olm.owner=ferry.v1.0.0,olm.copiedFrom=harbour
olm.owner=og,olm.owner.namespace=harbour,olm.owner.kind=OperatorGroup'
# kind name ns
deleted='installplans.operators.coreos.com install-ferry harbour
subscriptions.operators.coreos.com ferry-sub harbour
operatorconditions.operators.coreos.com ferry.v1.0.0 harbour
clusterroles.rbac.authorization.k8s.io group
operatorgroups.operators.coreos.com og harbour
roles.rbac.authorization.k8s.io gone harbour
operators.operators.coreos.com tug.bay
operators.operators.coreos.com ferry.harbour'
# kind name ns
created='services new harbour'
labelled=deployments.apps,serviceaccounts,roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,clusterroles.rbac.authorization.k8s.io,clusterrolebindings.rbac.authorization.k8s.io,statefulsets.apps,daemonsets.apps,jobs.batch,cronjobs.batch,persistentvolumeclaims,ingresses.networking.k8s.io,services,configmaps,networkpolicies.networking.k8s.io,poddisruptionbudgets.policy,priorityclasses.scheduling.k8s.io,customresourcedefinitions.apiextensions.k8s.io,apiservices.apiregistration.k8s.io,validatingwebhookconfigurations.admissionregistration.k8s.io,mutatingwebhookconfigurations.admissionregistration.k8s.io

# 1. Back up, render, review and commit
SINCE
BACKUP
RENDER
VERIFY BUT KNOWN
echo "$created" | while read -r kind name ns; do by=$(kubectl get "$kind" "$name" ${ns:+-n "$ns"} --ignore-not-found --show-managed-fields -o 'jsonpath={.metadata.managedFields[*].manager}'); case " $by " in "  "|*" olmgen "*) ;; *) echo "$kind $ns/$name is there: $by made it" >&2; exit 1;; esac; done
kubectl apply --server-side --force-conflicts --field-manager=olmgen -k out --dry-run=server

# 2. Stop OLM
kubectl -n olm scale deployment olm-operator catalog-operator --replicas=0
kubectl -n olm wait pods -l 'app in (olm-operator,catalog-operator)' --for=delete --timeout=5m
# undo: kubectl -n olm scale deployment olm-operator --replicas=3
# undo: kubectl -n olm scale deployment catalog-operator --replicas=1

# 3. Take the objects over
{ echo ---; kubectl get --ignore-not-found --show-managed-fields -o yaml -k out; } >> before/replaced.yaml
kubectl apply --server-side --force-conflicts --field-manager=olmgen -k out
echo "$selectors" | while read -r selector; do kubectl label "$labelled" -A -l "$selector" olm.owner- olm.owner.kind- olm.owner.namespace- olm.copiedFrom-; done
# undo: kubectl apply --server-side --force-conflicts --field-manager=olmgen -k before
# undo: echo "$created" | while read -r kind name ns; do kubectl delete "$kind" "$name" ${ns:+-n "$ns"} --ignore-not-found --cascade=orphan; done

# 4. The point of no return: delete the ClusterServiceVersions
echo "$selectors" | while read -r selector; do left=$(kubectl get "$labelled" -A -l "$selector" -o name); test -z "$left"; done
left=$(kubectl get pods -A -l 'app in (olm-operator,catalog-operator)' -o name); test -z "$left"
SINCE
# The guard has passed.
echo "$operators" | while read -r csv ns component; do at=$(kubectl get clusterserviceversions.operators.coreos.com "$csv" -n "$ns" --ignore-not-found -o go-template='{{range $i, $f := .metadata.finalizers}}{{if eq $f "operators.coreos.com/csv-cleanup"}}{{$i}}{{end}}{{end}}'); [ -z "$at" ] || kubectl patch clusterserviceversions.operators.coreos.com "$csv" -n "$ns" --type=json -p '[{"op":"test","path":"/metadata/finalizers/'"$at"'","value":"operators.coreos.com/csv-cleanup"},{"op":"remove","path":"/metadata/finalizers/'"$at"'"}]'; done
echo "$operators" | while read -r csv ns component; do kubectl delete clusterserviceversions.operators.coreos.com -A -l "olm.copiedFrom=$ns" --field-selector "metadata.name=$csv" --cascade=orphan --timeout=5m; kubectl delete clusterserviceversions.operators.coreos.com "$csv" -n "$ns" --ignore-not-found --cascade=orphan --timeout=5m; done

# 5. Delete what only OLM used, start OLM, and verify
echo "$operators" | while read -r csv ns component; do kubectl label "$labelled",namespaces,secrets,installplans.operators.coreos.com -A -l "operators.coreos.com/$component" "operators.coreos.com/$component-"; done
echo "$deleted" | while read -r kind name ns; do kubectl delete "$kind" "$name" ${ns:+-n "$ns"} --ignore-not-found --cascade=orphan; done
kubectl -n olm scale deployment olm-operator --replicas=3
kubectl -n olm scale deployment catalog-operator --replicas=1
AGAIN
#!/bin/sh
# The way back from plan.md after its point of no return. It stops OLM for a moment and restarts no pod: OLM takes the objects for its own again.
# ClusterServiceVersions, Subscriptions and OperatorGroups get other UIDs, so that webhooks select no namespace for some seconds.
# It stops at once, templates of kubectl have variables of their own, only an undo may read a list, and flags are words:
# shellcheck disable=SC2016,SC2034,SC2086,SC2317
echo 'This script is to be read: run its commands step by step.' >&2
exit 1

set -eu
# sub ns csv updated
subscriptions='ferry-sub harbour ferry.v1.0.0 2026-01-01T00:00:00Z'
# kind name ns
created='services new harbour'

kubectl -n olm scale deployment olm-operator catalog-operator --replicas=0
kubectl -n olm wait pods -l 'app in (olm-operator,catalog-operator)' --for=delete --timeout=5m
kubectl apply --server-side --force-conflicts --field-manager=olmgen -k before-olm
kubectl apply --server-side --force-conflicts --field-manager=olmgen -k before
while read -r uid kind name ns; do
  echo "s/$uid/$(kubectl get "$kind" "$name" ${ns:+-n "$ns"} -o 'jsonpath={.metadata.uid}')/"
done < before/owners.txt > before/owners.sed
sed -f before/owners.sed before/owners.yaml | kubectl apply --server-side --force-conflicts --field-manager=olmgen-owners -f -
echo "$created" | while read -r kind name ns; do kubectl delete "$kind" "$name" ${ns:+-n "$ns"} --ignore-not-found --cascade=orphan; done
kubectl apply --server-side --force-conflicts --field-manager=olmgen -k before-subscriptions
echo "$subscriptions" | while read -r sub ns csv updated; do kubectl patch subscriptions.operators.coreos.com "$sub" -n "$ns" --subresource=status --type=merge -p '{"status":{"state":"AtLatestKnown","currentCSV":"'"$csv"'","installedCSV":"'"$csv"'","lastUpdated":"'"$updated"'"}}'; done
kubectl -n olm scale deployment olm-operator --replicas=3
kubectl -n olm scale deployment catalog-operator --replicas=1
