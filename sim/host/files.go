package host

import "mcpsim/sim/fakefs"

// Files is the file system of the present world; each Reset makes another.
func (st *FakeStage) Files() *fakefs.FS { return st.fs }
