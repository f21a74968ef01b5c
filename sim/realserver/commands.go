package realserver

import (
	"os"
	"path/filepath"
	"strings"
)

// Commands keeps dir, which is to be in the PATH of who starts servers, as the behaviours say: a command (the first word of
// a listed command line) is there, as a link to exe, unless every line of it refuses at its start. So a server that refuses
// cannot be started, as in a simulated world. exe has to call Main when IsServer.
func (c *Controller) Commands(dir, exe string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bin, c.exe = dir, exe
	for line := range c.behaviours {
		if err := c.install(line); err != nil {
			return err
		}
	}
	return nil
}

// install brings one command's link up to date. The lock is held.
func (c *Controller) install(line string) error {
	if c.bin == "" {
		return nil
	}
	command, _, _ := strings.Cut(line, " ")
	if command == "" || strings.Contains(command, "/") {
		return nil
	}
	there := false
	for l, b := range c.behaviours {
		if first, _, _ := strings.Cut(l, " "); first == command && b.faultAt("start") != "refuse" {
			there = true
		}
	}
	path := filepath.Join(c.bin, command)
	if !there {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		return nil
	}
	if err := os.Symlink(c.exe, path); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}
