package history

// What the tests of other packages in this folder look at.
const APIVersion = apiVersion
const Kind = kind
