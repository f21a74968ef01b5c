package live_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"mcpsim/impl/event"
	"mcpsim/impl/live"
)

// workspace makes a home and a folder for an example.
func workspace() (home, dir string, done func()) {
	top, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	home, dir = filepath.Join(top, "home"), filepath.Join(top, "work")
	for _, d := range []string{filepath.Join(home, ".qwen"), filepath.Join(dir, ".qwen")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			log.Fatal(err)
		}
	}
	return home, dir, func() { _ = os.RemoveAll(top) }
}

// weather is a server in the agent itself.
func weather() *server.MCPServer {
	s := server.NewMCPServer("weather", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("forecast", mcp.WithDescription("Tomorrow's weather"), mcp.WithString("city", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("sunny in " + r.GetString("city", "")), nil
		})
	return s
}

// An agent's loop: the model is shown the tools there are now, names one, and gets a result or a sentence it can use.
func Example() {
	home, dir, done := workspace()
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	host, err := live.New(ctx, live.Options{Home: home, Dir: dir, Trusted: true,
		MCPConfig: []byte(`{"weather": {"type": "sdk"}}`),
		InProcess: map[string]*server.MCPServer{"weather": weather()}})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close(ctx)
	defer live.HandleSignals(host)()

	session, err := host.OpenSession(ctx, "main", nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := session.Ready(ctx); err != nil {
		log.Fatal(err)
	}

	// In every turn: the tools as they are now …
	tools, err := session.Tools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tools {
		fmt.Printf("%s: %s\n", t.ModelName, t.Definition.Description)
	}
	// … and what the model asks for.
	for _, name := range []string{"mcp__weather__forecast", "mcp__stocks__price"} {
		res, err := session.CallName(ctx, name, map[string]any{"city": "Lyon"})
		var missed *live.CallError
		switch {
		case errors.As(err, &missed):
			fmt.Println("for the model:", missed)
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(res.Content[0].(mcp.TextContent).Text)
		}
	}
	// Output:
	// mcp__weather__forecast: Tomorrow's weather
	// sunny in Lyon
	// for the model: there is no tool "mcp__stocks__price"
}

// A checked-in .mcp.json runs nothing until a person has seen what it would run. Here they reject it.
func ExampleSession_Questions() {
	home, dir, done := workspace()
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	file := `{"mcpServers": {"db": {"command": "db-server", "args": ["--all"], "env": {"DB_KEY": "s3cret"}}}}`
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(file), 0o644); err != nil {
		log.Fatal(err)
	}

	host, err := live.New(ctx, live.Options{Home: home, Dir: dir, Trusted: true})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close(ctx)
	session, err := host.OpenSession(ctx, "main", nil)
	if err != nil {
		log.Fatal(err)
	}
	questions, err := session.Questions(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range questions {
		fmt.Printf("%s, from the %s file, wants to run %s\n", q.Server, q.Source, q.Entry.Command)
		if err := session.Reject(ctx, q); err != nil {
			log.Fatal(err)
		}
	}
	status, err := session.Status(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range status.Servers {
		fmt.Printf("%s: %s (%s)\n", s.Name, s.State, s.Text)
	}
	// Output:
	// db, from the project file, wants to run db-server
	// db: held:rejected (rejected: edit the config to be asked again)
}

// What happens meanwhile comes as events: here, a file that is saved while the host runs.
func ExampleHost_Events() {
	home, dir, done := workspace()
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	host, err := live.New(ctx, live.Options{Home: home, Dir: dir, Trusted: true,
		InProcess: map[string]*server.MCPServer{"weather": weather()}})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close(ctx)
	if _, err := host.OpenSession(ctx, "main", []byte(`{"weather": {"type": "sdk"}}`)); err != nil {
		log.Fatal(err)
	}
	events := host.Events(1000)
	defer events.Close()

	settings := `{"mcp": {"excluded": ["weather"]}}`
	if err := os.WriteFile(filepath.Join(home, ".qwen", "settings.json"), []byte(settings), 0o644); err != nil {
		log.Fatal(err)
	}
	for d := range events.C {
		switch d.Event.Kind {
		case event.Notify:
			fmt.Println("changed:", d.Event.Changes)
		case event.Purged:
			fmt.Println("its tools are gone:", d.Event.Server)
			return
		}
	}
	// Output:
	// changed: [{user created}]
	// its tools are gone: weather
}
