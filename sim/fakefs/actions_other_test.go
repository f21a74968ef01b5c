//go:build !linux

package fakefs

import "testing"

func TestActionsLookAlike(t *testing.T) {
	t.Skip("the fake raises the events of inotify; another system's watcher raises others")
}
