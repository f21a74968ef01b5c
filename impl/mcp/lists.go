package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxPages bounds one list: a server that goes on for ever breaks the protocol, it does not fill the memory.
const maxPages = 1000

// ListTools returns the names of all tools, every page of them, in the server's order and as often as it names them. A
// server that does not declare tools has none (and is not asked).
func (c *Client) ListTools(ctx context.Context) ([]string, error) {
	if c.canned != nil {
		return c.canned.List(ctx, Tools)
	}
	if !c.declares(Tools) {
		return nil, nil
	}
	var names []string
	err := pages("tools", func(cursor mcp.Cursor) (mcp.Cursor, error) {
		var r mcp.ListToolsRequest
		r.Params.Cursor = cursor
		res, err := c.c.ListToolsByPage(ctx, r)
		if err != nil {
			return "", err
		}
		names = grow(names, len(res.Tools))
		for i := range res.Tools {
			names = append(names, res.Tools[i].Name)
		}
		return res.NextCursor, nil
	})
	return c.listed(names, err)
}

// ListPrompts returns the names of all prompts, like ListTools.
func (c *Client) ListPrompts(ctx context.Context) ([]string, error) {
	if c.canned != nil {
		return c.canned.List(ctx, Prompts)
	}
	if !c.declares(Prompts) {
		return nil, nil
	}
	var names []string
	err := pages("prompts", func(cursor mcp.Cursor) (mcp.Cursor, error) {
		var r mcp.ListPromptsRequest
		r.Params.Cursor = cursor
		res, err := c.c.ListPromptsByPage(ctx, r)
		if err != nil {
			return "", err
		}
		names = grow(names, len(res.Prompts))
		for i := range res.Prompts {
			names = append(names, res.Prompts[i].Name)
		}
		return res.NextCursor, nil
	})
	return c.listed(names, err)
}

// ListResources returns the names of all resources, like ListTools; one without a name goes by its URI.
func (c *Client) ListResources(ctx context.Context) ([]string, error) {
	if c.canned != nil {
		return c.canned.List(ctx, Resources)
	}
	if !c.declares(Resources) {
		return nil, nil
	}
	var names []string
	err := pages("resources", func(cursor mcp.Cursor) (mcp.Cursor, error) {
		var r mcp.ListResourcesRequest
		r.Params.Cursor = cursor
		res, err := c.c.ListResourcesByPage(ctx, r)
		if err != nil {
			return "", err
		}
		names = grow(names, len(res.Resources))
		for i := range res.Resources {
			name := res.Resources[i].Name
			if name == "" {
				name = res.Resources[i].URI
			}
			names = append(names, name)
		}
		return res.NextCursor, nil
	})
	return c.listed(names, err)
}

// pages follows a list to its end.
func pages(what string, page func(mcp.Cursor) (mcp.Cursor, error)) error {
	var cursor mcp.Cursor
	for range maxPages {
		next, err := page(cursor)
		switch {
		case err != nil:
			return err
		case next == "":
			return nil
		case next == cursor:
			return fmt.Errorf("%w: the list of %s repeats its cursor %q", ErrProtocol, what, next)
		}
		cursor = next
	}
	return fmt.Errorf("%w: the list of %s has more than %d pages", ErrProtocol, what, maxPages)
}

// declares reports whether the server offers a list. A modern server that declares nothing at all is asked.
func (c *Client) declares(k ListKind) bool {
	has := c.c.GetServerCapabilities()
	switch {
	case c.undeclared():
		return true
	case k == Tools:
		return has.Tools != nil
	case k == Prompts:
		return has.Prompts != nil
	}
	return has.Resources != nil
}

// undeclared reports whether the server speaks the modern era and left all capabilities out.
func (c *Client) undeclared() bool {
	has := c.c.GetServerCapabilities()
	return mcp.IsModernProtocol(c.c.ProtocolVersion()) && has.Tools == nil && has.Prompts == nil && has.Resources == nil
}

// listed is what a list came to. Who was asked without having declared the list may not know it.
func (c *Client) listed(names []string, err error) ([]string, error) {
	switch {
	case err == nil:
		return names, nil
	case c.undeclared() && errors.Is(err, mcp.ErrMethodNotFound):
		return nil, nil
	}
	return nil, err
}

func grow(names []string, n int) []string {
	if names == nil && n > 0 {
		return make([]string, 0, n)
	}
	return names
}
