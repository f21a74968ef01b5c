package model_test

import (
	"fmt"

	"mcpsim/model"
)

// A gated server waits for approval of exactly the config it has; a list may keep a server out whatever its source.
func ExampleDecide() {
	launch := &model.Launch{}
	table := model.NewTable(launch)
	command := func(name string) *model.Value {
		return model.Obj(model.Member{Key: "command", Value: model.Str(name)})
	}
	user := model.Obj(
		model.Member{Key: "mcpServers", Value: model.Obj(
			model.Member{Key: "files", Value: command("srv-files")},
			model.Member{Key: "web", Value: command("srv-web")})},
		model.Member{Key: "mcp", Value: model.Obj(
			model.Member{Key: "excluded", Value: model.Strs("w*")})})
	project := model.Obj(model.Member{Key: "mcpServers", Value: model.Obj(
		model.Member{Key: "build", Value: command("srv-build")})})

	m := &model.Memory{Launch: launch, Trusted: true, Records: map[string]model.Record{},
		Sessions: []*model.SessionState{{ID: "s1", Removed: map[string]bool{"old": true}}}}
	m.Files[model.User], _ = table.Load(model.User, nil, model.Content{State: model.Good, Value: user})
	m.Files[model.Project], _ = table.Load(model.Project, nil, model.Content{State: model.Good, Value: project})

	e := model.Derive(m)
	for _, server := range []string{"files", "web", "build", "old", "nobody"} {
		fmt.Println(server, model.Decide(e, "s1", server) == model.Admitted)
	}

	build := e.Server("s1", "build").Config
	m.Records["build"] = model.Record{Config: build.ID, Approved: true}
	fmt.Println("build", model.Decide(model.Derive(m), "s1", "build") == model.Admitted)
	// Output:
	// files true
	// web false
	// build false
	// old false
	// nobody false
	// build true
}
