package permissions

// What the tests of other packages in this folder look at.
const APIVersion = apiVersion
const Kind = kind

// Empty reports whether nobody gains or loses anything.
func (d Diff) Empty() bool { return len(d.Permissions)+len(d.Users) == 0 }
