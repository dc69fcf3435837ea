package compare

// ChangeText is for tests.
var ChangeText = changeText
