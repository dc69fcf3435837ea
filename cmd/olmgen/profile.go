package main

// profileHelp explains the profiles.
const profileHelp = `The profiles:
  olm               everything that OLM v0 creates
  plain             the same for a cluster without OLM: no OperatorGroup, CSV or
                    OperatorCondition
  descoped          like plain, but bound only where an administrator says:
                    see olmgen descope
  olmv1             everything that the renderer of OLM v1 creates
  subscription      what hands the operator to OLM v0: Namespace, OperatorGroup,
                    Subscription and, on request, CatalogSource
  clusterextension  what hands it to OLM v1: ClusterExtension, and admin, edit
                    and view ClusterRoles of its APIs`
