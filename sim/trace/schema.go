package trace

import (
	_ "embed"

	"mcpsim/model"
)

// SchemaJSON is the JSON Schema of the format: of one value of the stream, a header or a step. Steps follow the table
// Steps; a test holds the file against it.
//
//go:embed schema.json
var SchemaJSON []byte

// Schema generates the schema.
func Schema() []byte {
	var w writer
	w.open()
	w.str("$schema", "https://json-schema.org/draft/2020-12/schema")
	w.str("title", "A value of an mcpsim trace: the header, then steps")
	w.raw("anyOf", `[{"$ref":"#/$defs/header"},{"$ref":"#/$defs/step"}]`)
	w.key("$defs")
	w.open()
	w.raw("header", schemaHeader)
	w.key("step")
	w.open()
	w.key("oneOf")
	w.each(len(Steps), func(i int) { w.ref(string(Steps[i].Do) + "_step") })
	w.close()
	for i := range Steps {
		w.key(string(Steps[i].Do) + "_step")
		writeStepSchema(&w, &Steps[i])
	}
	for _, d := range schemaDefs {
		w.raw(d[0], d[1])
	}
	w.close()
	w.close()
	v, err := ParseValue(w.b)
	if err != nil {
		panic("trace: the schema is no JSON: " + err.Error())
	}
	return lines(v)
}

// lines prints the schema with one definition per line.
func lines(v *model.Value) []byte {
	b := []byte("{")
	for i, m := range v.Members {
		b = append(appendText(appendBreak(b, i, " ", "\n "), m.Key, false), ": "...)
		if m.Key != "$defs" {
			b = AppendValue(b, m.Value, "")
			continue
		}
		b = append(b, '{')
		for j, d := range m.Value.Members {
			b = append(appendText(appendBreak(b, j, " ", "\n  "), d.Key, false), ": "...)
			b = AppendValue(b, d.Value, "")
		}
		b = append(b, "\n }"...)
	}
	return append(b, "\n}\n"...)
}

func (w *writer) raw(k, json string) {
	w.key(k)
	w.b = append(w.b, json...)
}

func (w *writer) ref(def string) {
	w.open()
	w.str("$ref", "#/$defs/"+def)
	w.close()
}

func writeStepSchema(w *writer, d *StepDoc) {
	w.open()
	w.str("description", d.Doc)
	w.str("type", "object")
	w.key("properties")
	w.open()
	w.key("do")
	w.open()
	w.str("const", string(d.Do))
	w.close()
	for _, f := range d.Fields {
		w.raw(f.Name, f.Schema)
		if f.Also != "" && (f.Also != "note" || d.Do != Note) {
			w.raw(f.Also, f.Schema)
		}
	}
	w.close()
	w.value("required", model.Strs(requiredKeys(d)...))
	var either []string // fields that may be spelled in two ways
	for _, f := range d.Fields {
		if f.Required && f.Also != "" {
			either = append(either, `{"required":["`+f.Name+`"]},{"required":["`+f.Also+`"]}`)
		}
	}
	if either != nil {
		w.raw("anyOf", "["+either[0]+"]")
	}
	w.bool("additionalProperties", false)
	w.close()
}

func requiredKeys(d *StepDoc) []string {
	keys := []string{}
	if d.Do != ExpectStep && d.Do != Note {
		keys = append(keys, "do")
	}
	for _, f := range d.Fields {
		if f.Required && f.Also == "" {
			keys = append(keys, f.Name)
		}
	}
	return keys
}

const schemaHeader = `{"type":"object","required":["mcpsim"],"additionalProperties":false,"properties":{
	"mcpsim":{"const":1},"title":{"type":"string"},"why":{"type":"string"},"rules":{"type":"array","items":{"type":"string"}},
	"real":{"type":"string"},"modes":{"type":"string"},
	"launch":{"$ref":"#/$defs/launch"},
	"servers":{"type":"object","additionalProperties":{"$ref":"#/$defs/behaviour"}},
	"files":{"anyOf":[
		{"type":"object","propertyNames":{"$ref":"#/$defs/source"},"additionalProperties":{"type":["object","string","null"]}},
		{"type":"array","items":{"type":"object","required":["file"]}}]},
	"dirs":{"type":"array","items":{"$ref":"#/$defs/source"}},
	"records":{"anyOf":[{"const":"corrupt"},{"type":"array","items":{"$ref":"#/$defs/record","required":["server","config","status"]}}]},
	"faults":{"type":"array","items":{"type":"object","required":["kind"]}},
	"order":{"type":"number","multipleOf":1,"minimum":0}}}`

// schemaDefs are the definitions that the header and the steps refer to.
var schemaDefs = [][2]string{
	{"source", `{"enum":["user","workspace","project","system","defaults","approvals"]}`},
	{"launch", `{"type":"object","additionalProperties":false,"properties":{
		"mode":{"enum":["single","pool"]},"sessions":{"type":"array","items":{"$ref":"#/$defs/session"}},"trusted":{"type":"boolean"},
		"allowed":{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"string"}}]},
		"mcp_config":{"type":["object","null"]},"approvals":{"enum":["ask","off"]},"bare":{"type":"boolean"},
		"env":{"type":"object","additionalProperties":{"type":"string"}},"cwd":{"enum":["real","link","home"]},"initialized":{"type":"boolean"}}}`},
	{"session", `{"type":"string","minLength":1,"not":{"const":"host"}}`},
	{"names", `{"type":"array","items":{"type":"string"}}`},
	{"ms", `{"type":"number","multipleOf":1,"minimum":0}`},
	{"delay", `{"anyOf":[{"$ref":"#/$defs/ms"},{"type":"object","additionalProperties":false,"properties":{"ms":{"$ref":"#/$defs/ms"},"hold":{"enum":["request","answer"]}}}]}`},
	{"behaviour", `{"type":"object","additionalProperties":false,"properties":{
		"tools":{"$ref":"#/$defs/names"},"prompts":{"$ref":"#/$defs/names"},"resources":{"$ref":"#/$defs/names"},
		"delay":{"type":"object","propertyNames":{"$ref":"#/$defs/protocolStep"},"additionalProperties":{"$ref":"#/$defs/delay"}},
		"fault":{"enum":["refuse","exit","garbage","hang"]},"at":{"$ref":"#/$defs/protocolStep"},
		"ignore_term":{"type":"boolean"},"unkillable":{"type":"boolean"},"grandchild":{"type":"boolean"},"linger":{"$ref":"#/$defs/ms"}},
		"dependentRequired":{"at":["fault"]}}`},
	{"protocolStep", `{"enum":["start","init","tools","prompts","resources","call","end"]}`},
	{"record", `{"type":"object","required":["server","status"],"additionalProperties":false,"properties":{
		"server":{"type":"string"},"config":{"type":"object"},"status":{"enum":["approved","rejected"]}}}`},
	{"expect", `{"type":"object","properties":{"host":{"$ref":"#/$defs/hostExpect"}},"additionalProperties":{"$ref":"#/$defs/sessionExpect"}}`},
	{"sessionExpect", `{"type":"object","additionalProperties":false,"properties":{
		"servers":{"type":"object","additionalProperties":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}},
		"tools":{"$ref":"#/$defs/lists"},"prompts":{"$ref":"#/$defs/lists"},"resources":{"$ref":"#/$defs/lists"},
		"ask":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object","additionalProperties":false,"properties":{
			"server":{"type":"string"},"config":{"type":"object"},"source":{"enum":["project","workspace"]}}}]}},
		"notices":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{
			"file":{"type":"string"},"server":{"type":"string"},"key":{"type":"string"},"kind":{"type":"string"}}}},
		"shows":{"type":"object","additionalProperties":{"type":"object","additionalProperties":false,"properties":{
			"text":{"type":["string","null"]},"error":{"type":["string","null","boolean"]},"file":{"type":["string","null"]},"shadows":{"$ref":"#/$defs/names"}}}},
		"hint":{"type":"boolean"},
		"calls":{"type":"object","additionalProperties":{"type":"string"}}}}`},
	{"lists", `{"type":"object","additionalProperties":{"$ref":"#/$defs/names"}}`},
	{"counts", `{"type":"object","additionalProperties":{"type":"number","multipleOf":1,"minimum":0}}`},
	{"hostExpect", `{"type":"object","additionalProperties":false,"properties":{
		"pool":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{
			"server":{"type":"string"},"config":{"type":"object"},"sessions":{"$ref":"#/$defs/names"}}}},
		"records":{"type":"array","items":{"$ref":"#/$defs/record"}},
		"dials":{"$ref":"#/$defs/counts"},"processes":{"$ref":"#/$defs/counts"}}}`},
}
