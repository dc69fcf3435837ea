package compare

// What the tests of other packages in this folder look at.
const APIVersion = apiVersion
const Kind = kind
const RuleAPIRequired = ruleAPIRequired
const RuleCRDOwner = ruleCRDOwner
const RuleInstallMode = ruleInstallMode
const RuleUpgradePath = ruleUpgradePath

var Schema = schema
var Sections = sections

// ChangeText is for tests.
var ChangeText = changeText
