package rehearse

// WriteCase writes what was played into a directory.
func (r *Report) WriteCase(dir string, anonymize bool, states ...*State) error { return nil }
