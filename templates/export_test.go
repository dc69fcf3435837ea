package templates

// What the tests of other packages in this folder look at.
var Names = names
var Views = views
