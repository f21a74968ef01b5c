// Package realserver is a scripted MCP server that really runs: as a process over stdio, or over HTTP. It acts as a
// trace's behaviour says, and reports what happens to it to a controller over a unix socket.
//
//	MCPSIM_SERVER_SOCKET     where the controller listens; without it nothing is reported
//	MCPSIM_SERVER_BEHAVIOUR  the behaviour, as in a trace; the controller's answer to the first report replaces it
//
// Both sides write one JSON value a line. A server begins with a report of its start and waits for the controller's first
// command; its end, however it comes, closes its connection. A server whose controller is gone ends.
//
//	server      {"event":"start","command":"srv-a 1","pid":7,"ppid":6,"pgid":7,"transport":"stdio"}
//	controller  {"behaviour":{"tools":["x"],"delay":{"call":20}}}      null: none is listed, so it refuses
//	server      {"event":"request","method":"tools/list"}
//	controller  {"list_changed":["tools","prompts"]}
//	server      {"event":"input_closed"}   {"event":"signal","signal":"terminated"}   {"event":"exit","code":0}
//	controller  {"mark":3}
//	server      {"event":"mark","mark":3}                          everything before is done
//	controller  {"crash":true}
//
// MCPSIM_SERVER_CONN is repeated in the report of the start, as the header Mcpsim-Server-Conn is over HTTP.
//
// A helper (behaviour "grandchild") is a process of its own in the server's group, reports its start with "helper":true,
// and holds the server's stdout and stderr open.
package realserver
