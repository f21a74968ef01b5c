package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// scripted answers each method with the next of its results; a result that is no object is an error's text.
type scripted struct {
	results map[string][]string
	asked   []string
	start   error
	handler func(mcp.JSONRPCNotification)
	opts    []Option
}

func (s *scripted) Start(context.Context) error                                     { return s.start }
func (s *scripted) SendNotification(context.Context, mcp.JSONRPCNotification) error { return nil }
func (s *scripted) SetNotificationHandler(f func(notification mcp.JSONRPCNotification)) {
	s.handler = f
}
func (s *scripted) Close() error            { return nil }
func (s *scripted) GetSessionId() string    { return "" }
func (s *scripted) ClientOptions() []Option { return s.opts }

func (s *scripted) SendRequest(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	params, _ := json.Marshal(r.Params)
	var p struct{ Cursor string }
	_ = json.Unmarshal(params, &p)
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+p.Cursor))
	list := s.results[r.Method]
	if len(list) == 0 {
		return &transport.JSONRPCResponse{ID: r.ID, Error: &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "no " + r.Method}}, nil
	}
	if len(list) > 1 {
		s.results[r.Method] = list[1:]
	}
	return &transport.JSONRPCResponse{ID: r.ID, Result: json.RawMessage(list[0])}, nil
}

func initResult(caps string) []string {
	return []string{`{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"1"},"capabilities":` + caps + `}`}
}

const allCaps = `{"tools":{},"prompts":{},"resources":{}}`

func begin(t *testing.T, s *scripted, changed func(ListKind)) *Client {
	t.Helper()
	c := NewClient(s, changed)
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := c.Initialize(context.Background()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestListsAreWhole(t *testing.T) {
	s := &scripted{results: map[string][]string{
		"initialize":     initResult(allCaps),
		"tools/list":     {`{"tools":[{"name":"b"},{"name":"a"}],"nextCursor":"1"}`, `{"tools":[],"nextCursor":"2"}`, `{"tools":[{"name":"b"}]}`},
		"prompts/list":   {`{"prompts":null}`},
		"resources/list": {`{"resources":[{"name":"r","uri":"u:r"},{"uri":"u:2"}]}`},
	}}
	c := begin(t, s, nil)
	tools, err1 := c.ListTools(context.Background())
	prompts, err2 := c.ListPrompts(context.Background())
	resources, err3 := c.ListResources(context.Background())
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tools, prompts, resources); got != "[b a b] [] [r u:2]" {
		t.Error(got)
	}
	if want := "initialize, tools/list, tools/list 1, tools/list 2, prompts/list, resources/list"; strings.Join(s.asked, ", ") != want {
		t.Errorf("asked %v: the legacy era starts with its handshake", s.asked)
	}
	if c.ProtocolVersion() != "2025-06-18" {
		t.Error(c.ProtocolVersion())
	}
}

func TestWhatIsNotDeclaredIsNotAsked(t *testing.T) {
	s := &scripted{results: map[string][]string{"initialize": initResult(`{"prompts":{}}`)}}
	c := begin(t, s, nil)
	for _, list := range []func(context.Context) ([]string, error){c.ListTools, c.ListResources} {
		if names, err := list(context.Background()); names != nil || err != nil {
			t.Errorf("%v, %v", names, err)
		}
	}
	if _, err := c.ListPrompts(context.Background()); Class(err) != "protocol" || len(s.asked) != 2 {
		t.Errorf("%v, asked %v", err, s.asked)
	}
}

func TestEndlessListsBreakTheProtocol(t *testing.T) {
	s := &scripted{results: map[string][]string{"initialize": initResult(allCaps), "tools/list": {`{"tools":[],"nextCursor":"same"}`}}}
	for i := range maxPages + 5 {
		s.results["prompts/list"] = append(s.results["prompts/list"], fmt.Sprintf(`{"prompts":[],"nextCursor":"%d"}`, i))
	}
	c := begin(t, s, nil)
	if _, err := c.ListTools(context.Background()); Class(err) != "protocol" || len(s.asked) != 3 {
		t.Errorf("%v", err)
	}
	if _, err := c.ListPrompts(context.Background()); Class(err) != "protocol" {
		t.Errorf("%v", err)
	}
}

func TestNotificationsAreTold(t *testing.T) {
	s := &scripted{results: map[string][]string{"initialize": initResult(allCaps)}}
	var got []ListKind
	begin(t, s, func(k ListKind) { got = append(got, k) })
	for _, m := range []string{"notifications/tools/list_changed", "notifications/message", "notifications/resources/list_changed", "notifications/prompts/list_changed"} {
		n := mcp.JSONRPCNotification{}
		n.Method = m
		s.handler(n)
	}
	if !reflect.DeepEqual(got, []ListKind{Tools, Resources, Prompts}) {
		t.Error(got)
	}
}

func TestCallsAnswerOrFail(t *testing.T) {
	s := &scripted{results: map[string][]string{"initialize": initResult(allCaps),
		"tools/call": {`{"content":[{"type":"text","text":"hi"}],"isError":true}`, `"garbage"`}}}
	c := begin(t, s, nil)
	if res, err := c.Call(context.Background(), "x", nil); err != nil || !res.IsError {
		t.Errorf("%v, %v: the tool's own failure is a result", res, err)
	}
	if _, err := c.Call(context.Background(), "x", map[string]any{"a": 1}); Class(err) != "protocol" {
		t.Errorf("%v", err)
	}
	s.results["tools/call"] = nil
	var broken *transport.Error
	if _, err := c.Call(context.Background(), "x", nil); Class(err) != "protocol" || errors.As(err, &broken) {
		t.Errorf("%v", err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestClass(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{ErrRefused, "refused"}, {dial, "refused"}, {&net.DNSError{Name: "x"}, "refused"},
		{ErrExit, "exit"}, {fmt.Errorf("%w: %w", ErrExit, io.EOF), "exit"},
		{context.DeadlineExceeded, "timeout"}, {&net.DNSError{IsTimeout: true}, "timeout"},
		{ErrProtocol, "protocol"}, {errors.New("what?"), "protocol"}, {mcp.ErrMethodNotFound, "protocol"},
		{ErrClosed, "closed"}, {transport.ErrTransportClosed, "closed"}, {transport.ErrSessionTerminated, "closed"}, {io.ErrUnexpectedEOF, "closed"},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, "closed"}, {context.Canceled, "closed"},
	} {
		for _, err := range []error{c.err, transport.NewError(c.err)} {
			if c.err == nil {
				err = nil
			}
			if got := Class(err); got != c.want {
				t.Errorf("%v is %s, want %s", err, got, c.want)
			}
		}
	}
}

func TestAFailedStartIsRefusedUnlessItSaysMore(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{{fs.ErrNotExist, "refused"}, {errors.New("fork failed"), "refused"}, {ErrExit, "exit"}, {ErrProtocol, "protocol"}, {context.DeadlineExceeded, "timeout"},
		{ErrClosed, "closed"}} {
		err := NewClient(&scripted{start: c.err}, nil).Start(context.Background())
		if Class(err) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v is %s, want %s", err, Class(err), c.want)
		}
	}
}

func TestASilentProbeFallsBack(t *testing.T) {
	s := &scripted{opts: []Option{WithModernEra(time.Minute)}, results: map[string][]string{"initialize": initResult(allCaps)}}
	begin(t, s, nil)
	if strings.Join(s.asked, ", ") != "server/discover, initialize" {
		t.Errorf("asked %v", s.asked)
	}
}

func TestAModernServerIsListenedTo(t *testing.T) {
	srv := server.NewMCPServer("s", "1", server.WithToolCapabilities(true), server.WithPromptCapabilities(false))
	srv.AddTool(mcp.NewTool("x"), nil)
	told := make(chan ListKind, 10)
	c := NewClient(transport.NewInProcessTransport(srv), func(k ListKind) { told <- k }, WithModernEra(time.Minute), OnListenEnd(func(err error) {
		t.Errorf("the stream ended: %v", err)
	}))
	ctx := context.Background()
	if err := errors.Join(c.Start(ctx), c.Initialize(ctx)); err != nil {
		t.Fatal(err)
	}
	if !mcp.IsModernProtocol(c.ProtocolVersion()) {
		t.Fatal(c.ProtocolVersion())
	}
	if k := <-told; k != Tools { // acknowledged: what changed before was announced to nobody
		t.Error(k)
	}
	srv.AddTool(mcp.NewTool("y"), nil)
	if k := <-told; k != Tools {
		t.Error(k)
	}
	if names, err := c.ListTools(ctx); err != nil || strings.Join(names, " ") != "x y" {
		t.Errorf("%v, %v", names, err)
	}
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}
