package versions

import "flag"

// Update is set where the tests write their files anew.
var Update = flag.Bool("update", false, "write the generated files anew")
