package installer

// Short is for the tests outside of the package.
var Short = short
