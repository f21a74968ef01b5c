package corpus

import "mcpsim/sim/trace"

// All reads every trace, in order of name.
func All() ([]*trace.Trace, error) {
	var out []*trace.Trace
	for _, name := range List() {
		tr, err := Read(name)
		if err != nil {
			return nil, err
		}
		out = append(out, tr)
	}
	return out, nil
}
