// A client of the Go SDK, in the era that the target names: client <target as JSON>.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type target struct {
	URL     string   `json:"url"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Era     string   `json:"era"`
}

type command struct {
	ID       int                        `json:"id"`
	Do       string                     `json:"do"`
	Of       int                        `json:"of"`
	Name     string                     `json:"name"`
	Args     json.RawMessage            `json:"args"`
	URI      string                     `json:"uri"`
	Level    string                     `json:"level"`
	Progress bool                       `json:"progress"`
	Argument mcp.CompleteParamsArgument `json:"argument"`
}

type object map[string]any

var lock sync.Mutex

func put(message object) {
	line, err := json.Marshal(message)
	if err != nil {
		log.Fatal(err)
	}
	lock.Lock()
	defer lock.Unlock()
	fmt.Println(string(line))
}

func options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			put(object{"event": "asked", "method": "elicitation/create", "params": req.Params})
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			put(object{"event": "asked", "method": "sampling/createMessage", "params": req.Params})
			content := &mcp.TextContent{Text: "forty-two"}
			return &mcp.CreateMessageResult{Role: "assistant", Model: "scripted", Content: content}, nil
		},
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			put(object{"event": "log", "params": req.Params})
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			put(object{"event": "progress", "params": req.Params})
		},
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			put(object{"event": "updated", "params": req.Params})
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			put(object{"event": "tools changed"})
		},
	}
}

func perform(ctx context.Context, session *mcp.ClientSession, c command, isModern bool) (any, error) {
	switch c.Do {
	case "listTools":
		return session.ListTools(ctx, nil)
	case "call":
		params := &mcp.CallToolParams{Name: c.Name, Arguments: c.Args}
		if isModern {
			params.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": "info"}
		}
		if c.Progress {
			params.SetProgressToken(fmt.Sprint("token ", c.ID))
		}
		return session.CallTool(ctx, params)
	case "listResources":
		return session.ListResources(ctx, nil)
	case "listTemplates":
		return session.ListResourceTemplates(ctx, nil)
	case "read":
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: c.URI})
	case "subscribe":
		return nil, session.Subscribe(context.Background(), &mcp.SubscribeParams{URI: c.URI})
	case "listPrompts":
		return session.ListPrompts(ctx, nil)
	case "getPrompt":
		args := map[string]string{}
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return nil, err
		}
		return session.GetPrompt(ctx, &mcp.GetPromptParams{Name: c.Name, Arguments: args})
	case "complete":
		ref := &mcp.CompleteReference{Type: "ref/prompt", Name: c.Name}
		return session.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: c.Argument})
	case "setLevel":
		if isModern {
			return nil, nil
		}
		return nil, session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(c.Level)})
	}
	return nil, nil
}

func main() {
	var to target
	if err := json.Unmarshal([]byte(os.Args[1]), &to); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, options())
	client.AddRoots(&mcp.Root{URI: "file:///somewhere", Name: "somewhere"})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: to.URL}
	if to.URL == "" {
		transport = &mcp.CommandTransport{Command: exec.Command(to.Command, to.Args...)}
	}
	isModern := to.Era == "modern"
	version := "2025-11-25"
	if isModern {
		version = "2026-07-28"
	}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	put(object{"event": "ready"})
	cancels := sync.Map{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			log.Fatal(err)
		}
		if c.Do == "cancel" {
			if cancel, ok := cancels.Load(c.Of); ok {
				cancel.(context.CancelFunc)()
			}
			continue
		}
		callCtx, cancel := context.WithCancel(ctx)
		cancels.Store(c.ID, cancel)
		go func() {
			result, err := perform(callCtx, session, c, isModern)
			if err != nil {
				put(object{"id": c.ID, "error": err.Error()})
			} else {
				put(object{"id": c.ID, "result": result})
			}
		}()
	}
}
