package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"mcpsim/sim/realserver"
)

func newFakeServer() *cobra.Command {
	var f struct {
		behaviour, name, http, report, listen string
		tools, prompts, resources             []string
	}
	c := &cobra.Command{
		Use:   "fakeserver",
		Short: "A scripted MCP server over stdio or HTTP, which can report what happens to it",
		Long: `Serves MCP as a script says, over stdin and stdout or, with -http, over streamable HTTP and the older SSE transport.

-behaviour is the script, in the words of a trace ("servers" in its header): JSON, or a file that holds it. It is one
behaviour, or a map from command lines or URLs to behaviours, or a whole trace; of a map the longest key that -name
begins with counts. A behaviour may have:

  "tools", "prompts", "resources"   what it lists
  "delay"    {"start":…,"init":…,"tools":…,"prompts":…,"resources":…,"call":…,"end":…} in ms
  "fault"    refuse, exit, garbage or hang, "at" one of those steps (default: start for refuse, else init)
  "ignore_term" true   it outlives its closed input and SIGTERM
  "grandchild" true    it starts a helper in its process group
  "era" "modern"       it answers MCP 2026-07-28 too, not only the handshake revisions

-report SOCKET connects to a unix socket and reports, one JSON object a line: its start with pid, parent and process
group, every request, its closed input, signals, its exit. It begins when whoever listens has answered its start with a
line: {} or a command such as {"behaviour":{"tools":["z"]}}, {"list_changed":["tools"]}, {"crash":true}; commands may
follow at any time. It ends when the listener is gone. -listen SOCKET is such a listener: it prints the reports of any
number of servers, and sends each line of its standard input to all of them.`,
		Example: `  in .mcp.json:
    {"mcpServers": {"slow": {"command": "mcpsim", "args": ["fakeserver", "-behaviour", "{\"tools\":[\"x\"],\"delay\":{\"start\":2000}}"]}}}
  by hand:
    mcpsim fakeserver -tools read,write
    mcpsim fakeserver -http 127.0.0.1:8123 -tools read
    mcpsim fakeserver -listen /tmp/s.sock        and elsewhere   mcpsim fakeserver -tools read -report /tmp/s.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set := cmd.Flags().Changed
			if f.listen != "" {
				if f.http != "" || f.report != "" || set("behaviour") || set("tools") {
					return errors.New("-listen is for the other side: it takes no flags of a server")
				}
				return listenReports(cmd.InOrStdin(), cmd.OutOrStdout(), f.listen)
			}
			if f.name == "" {
				f.name = strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " ")
			}
			b, err := readBehaviour(f.behaviour, f.name)
			if err != nil {
				return err
			}
			for _, l := range []struct {
				flag string
				from []string
				to   *[]string
			}{{"tools", f.tools, &b.Tools}, {"prompts", f.prompts, &b.Prompts}, {"resources", f.resources, &b.Resources}} {
				if set(l.flag) {
					*l.to = l.from
				}
			}
			if f.http == "" {
				realserver.ServeStdio(f.name, *b, f.report, os.Stdin, os.Stdout)
				return nil
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			err = realserver.ServeHTTP(ctx, f.name, f.http, *b, f.report, func(url string) { fmt.Fprintln(cmd.OutOrStdout(), url) })
			if ctx.Err() != nil {
				return nil
			}
			return err
		},
	}
	c.Flags().StringVar(&f.behaviour, "behaviour", "{}", "the script: JSON or a file, see above")
	c.Flags().StringSliceVar(&f.tools, "tools", nil, "tools to list, instead of the script's")
	c.Flags().StringSliceVar(&f.prompts, "prompts", nil, "prompts to list")
	c.Flags().StringSliceVar(&f.resources, "resources", nil, "resources to list")
	c.Flags().StringVar(&f.name, "name", "", "the command line or URL to look up in a map, and to report (default: this one)")
	c.Flags().StringVar(&f.http, "http", "", "serve over HTTP at this address, such as 127.0.0.1:8123 (port 0: any); the URL is printed")
	c.Flags().StringVar(&f.report, "report", "", "report to this unix socket")
	c.Flags().StringVar(&f.listen, "listen", "", "listen at this unix socket and print what servers report")
	return c
}

// readBehaviour reads a script: JSON, or a file that holds it.
func readBehaviour(text, name string) (*realserver.Behaviour, error) {
	from, data := "-behaviour", []byte(text)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		var err error
		if data, err = os.ReadFile(text); err != nil {
			return nil, fmt.Errorf("-behaviour: %w; give JSON such as {\"tools\":[\"x\"]}, or a file that holds it", err)
		}
		from = text
	}
	var first map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&first); err != nil {
		return nil, fmt.Errorf("%s: expected a JSON object: %w", from, err)
	}
	if _, isTrace := first["mcpsim"]; isTrace {
		list := first["servers"]
		first = nil
		if len(list) > 0 {
			if err := json.Unmarshal(list, &first); err != nil {
				return nil, fmt.Errorf("%s: \"servers\": expected an object: %w", from, err)
			}
		}
		return lookUp(first, from, name)
	}
	b, err := realserver.ParseBehaviour(data)
	if err == nil {
		return b, nil
	}
	for _, v := range first {
		if !bytes.HasPrefix(bytes.TrimSpace(v), []byte("{")) {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	return lookUp(first, from, name)
}

func lookUp(servers map[string]json.RawMessage, from, name string) (*realserver.Behaviour, error) {
	best, found := "", false
	var keys []string
	for k := range servers {
		keys = append(keys, k)
		if strings.HasPrefix(name, k) && (!found || len(k) > len(best)) {
			best, found = k, true
		}
	}
	if !found {
		slices.Sort(keys)
		return nil, fmt.Errorf("%s: no key is a beginning of %q (there are %q); give one as -name", from, name, keys)
	}
	b, err := realserver.ParseBehaviour(servers[best])
	if err != nil {
		return nil, fmt.Errorf("%s: %q: %w", from, best, err)
	}
	return b, nil
}

// listenReports prints what servers report, and passes the lines of in on to all of them, until a signal comes.
func listenReports(in io.Reader, out io.Writer, path string) error {
	ln, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
	var mu sync.Mutex
	servers := map[net.Conn]bool{}
	go func() {
		for s := bufio.NewScanner(in); s.Scan(); {
			if !json.Valid(s.Bytes()) {
				fmt.Fprintf(os.Stderr, "mcpsim: not JSON, not sent: %s\n", s.Text())
				continue
			}
			mu.Lock()
			for c := range servers {
				_, _ = fmt.Fprintf(c, "%s\n", s.Bytes())
			}
			mu.Unlock()
		}
	}()
	for {
		c, err := ln.Accept()
		if err != nil {
			mu.Lock()
			for c := range servers {
				_ = c.Close()
			}
			mu.Unlock()
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		mu.Lock()
		servers[c] = true
		mu.Unlock()
		go func() {
			_, _ = io.WriteString(c, "{}\n") // go on, as you were told
			for s := bufio.NewScanner(c); s.Scan(); {
				mu.Lock()
				fmt.Fprintf(out, "%s\n", s.Bytes())
				mu.Unlock()
			}
			mu.Lock()
			delete(servers, c)
			mu.Unlock()
			_ = c.Close()
		}()
	}
}
