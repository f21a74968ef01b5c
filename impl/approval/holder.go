package approval

// holder says who has the lock, if the file system can tell (the real one writes it into the lock file).
func (s *Store) holder() string {
	if f, ok := s.fs.(interface{ LockHolder(path string) string }); ok {
		if who := f.LockHolder(s.o.Path + ".lock"); who != "" {
			return "another process (" + who + ")"
		}
	}
	return "another process"
}
