package permissions

import _ "embed"

// schema is the JSON Schema of a report in JSON.
//
//go:embed schema.json
var schema []byte
