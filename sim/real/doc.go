// Package real plays a trace in the real world: a temporary directory, the kernel's file events, the machine's clock, MCP
// servers that are processes and HTTP endpoints (sim/realserver), and the live host in front of them.
//
// A play takes the time that its trace says. What the world's side of a trace needs and no world has (a process that no
// signal ends) makes a trace one that is not for real: Why says so, and nothing else does.
//
// The machine that judges lives on the host's loop. Everything that it is told happens in a turn of that loop, and a turn
// is one instant; so an instant means the same as in the simulated world.
package real
