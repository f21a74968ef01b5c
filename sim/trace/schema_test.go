package trace

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write schema.json anew")

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("trace.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("trace.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaFileIsWhatTheTableSays(t *testing.T) {
	if *update {
		if err := os.WriteFile("schema.json", Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(SchemaJSON, Schema()) {
		t.Error("schema.json is stale: go test ./sim/trace -run TestSchemaFile -update")
	}
}

func TestSchemaAcceptsEveryExampleAndRefusesWhatTheParserRefuses(t *testing.T) {
	s := compiled(t)
	valid := func(text string) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(v)
	}
	for _, d := range Steps {
		if err := valid(d.Example); err != nil {
			t.Errorf("%s: %v", d.Example, err)
		}
	}
	for _, text := range []string{`{"mcpsim":1}`, `{"do":"mkdir","dir":"user"}`, `{"do":"note","text":"x"}`, `{"do":"crash","key":"k"}`} {
		if err := valid(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`{}`, `[]`, `{"mcpsim":2}`, `{"do":"settle","ms":1}`, `{"do":"advance"}`, `{"do":"mkdir"}`,
		`{"do":"write","file":"usr"}`, `{"expect":{"s1":{"x":1}}}`, `{"mcpsim":1,"servers":{"a":{"at":"init"}}}`, `{"mcpsim":1,"launch":{"mode":"x"}}`} {
		if valid(text) == nil {
			t.Errorf("%s: the schema accepts it", text)
		}
	}
}
