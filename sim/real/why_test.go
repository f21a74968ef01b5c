package real

import (
	"strings"
	"testing"

	"mcpsim/corpus"
)

// TestTracesSayWhyTheyAreNotReal: a kept trace that cannot exist in the real world says so in its header, for whoever plays it
// elsewhere. How long one takes, and who plays it, is no reason of the trace's own.
func TestTracesSayWhyTheyAreNotReal(t *testing.T) {
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, tr := range all {
		if tr.Header.Real != "" {
			said++
			continue
		}
		if why := Why(tr, 1<<40); why != "" && !strings.Contains(why, "superuser") {
			t.Errorf("%s cannot be real (%s) and its header does not say so", tr.Name, why)
		}
	}
	if said == 0 {
		t.Error("no trace says so, so nothing was checked")
	}
}
