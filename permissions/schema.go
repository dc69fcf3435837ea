package permissions

import _ "embed"

// Schema is the JSON Schema of a report in JSON.
//
//go:embed schema.json
var Schema []byte
