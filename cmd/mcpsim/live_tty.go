package main

import (
	"os"
)

func runLiveTerminal(w *liveWorld, in, out *os.File, signals <-chan os.Signal) (os.Signal, error) {
	return runLiveLines(w, in, out, signals)
}
