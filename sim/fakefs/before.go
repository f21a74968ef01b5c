package fakefs

// Before lets f see every operation of the host just before it is done, and before any fault armed for it. A panic of f ends
// the host there, as a power cut does: the operation does not happen.
func (f *FS) Before(see func(op, path string)) {
	then := f.o.OnOp
	f.o.OnOp = func(op, path string) error {
		see(op, path)
		if then == nil {
			return nil
		}
		return then(op, path)
	}
}
