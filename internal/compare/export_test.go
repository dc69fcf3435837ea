package compare

// What the tests of other packages in this folder look at.
const APIVersion = apiVersion
const Kind = kind

var Sections = sections

// ChangeText is for tests.
var ChangeText = changeText

// TitleOf is exported for tests.
var TitleOf = titleOf
