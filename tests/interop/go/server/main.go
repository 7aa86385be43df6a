// A server of the Go SDK, which speaks both eras, as its documentation shows: server <stdio|http>.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

type none struct{}
type textIn struct {
	Text string `json:"text" jsonschema:"the text"`
}
type addIn struct {
	A int `json:"a"`
	B int `json:"b"`
}
type sum struct {
	Result int `json:"result"`
}
type cityIn struct {
	City string `json:"city"`
}
type weather struct {
	City    string  `json:"city"`
	Degrees float64 `json:"degrees"`
}
type failIn struct {
	Reason string `json:"reason"`
}
type countIn struct {
	Steps int `json:"steps"`
}
type bigIn struct {
	Size int `json:"size"`
}

var waiting, cancelled atomic.Int32

func text(value string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: value}}}
}

func add[In, Out any](s *mcp.Server, name string, run mcp.ToolHandlerFor[In, Out]) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: "The tool " + name}, run)
}

// say adds a tool that returns a text.
func say[In any](s *mcp.Server, name string, run func(context.Context, *mcp.CallToolRequest, In) (string, error)) {
	add(s, name, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		value, err := run(ctx, req, in)
		if err != nil {
			return nil, nil, err
		}
		return text(value), nil, nil
	})
}

var nameForm = &mcp.ElicitParams{
	Message: "What is your name?",
	RequestedSchema: &jsonschema.Schema{
		Type:       "object",
		Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}},
		Required:   []string{"name"},
	},
}

// need adds a tool that asks the client in the way of both eras.
func need(s *mcp.Server, name string, request mcp.InputRequest, read func(any) string) {
	add(s, name, func(_ context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		if answer, ok := req.Params.InputResponses["answer"]; ok {
			return text(read(answer)), nil, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"answer": request}}, nil, nil
	})
}

func addAsking(s *mcp.Server) {
	need(s, "ask", nameForm, func(answer any) string {
		return fmt.Sprint("hello ", answer.(*mcp.ElicitResult).Content["name"])
	})
	message := &mcp.SamplingMessage{Role: "user", Content: &mcp.TextContent{Text: "Say a number"}}
	params := &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{message}, MaxTokens: 10}
	need(s, "sample", params, func(answer any) string {
		content := answer.(*mcp.CreateMessageWithToolsResult).Content
		return "the model says " + content[0].(*mcp.TextContent).Text
	})
	need(s, "roots", &mcp.ListRootsParams{}, func(answer any) string {
		uris := []string{}
		for _, root := range answer.(*mcp.ListRootsResult).Roots {
			uris = append(uris, root.URI)
		}
		return strings.Join(uris, ",")
	})
	say(s, "ask_at_once", func(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
		result, err := req.Session.Elicit(ctx, nameForm)
		if err != nil {
			return "", err
		}
		return fmt.Sprint("hello ", result.Content["name"]), nil
	})
}

func addTelling(s *mcp.Server) {
	say(s, "count", func(ctx context.Context, req *mcp.CallToolRequest, in countIn) (string, error) {
		for step := 1; step <= in.Steps; step++ {
			req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(),
				Progress:      float64(step),
				Total:         float64(in.Steps),
				Message:       fmt.Sprint("step ", step),
			})
			time.Sleep(30 * time.Millisecond)
		}
		return "counted", nil
	})
	say(s, "log", func(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
		for _, level := range []mcp.LoggingLevel{"debug", "info", "warning"} {
			data := fmt.Sprintf("a %s message", level)
			req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "interop", Data: data})
		}
		time.Sleep(50 * time.Millisecond)
		return "logged", nil
	})
	say(s, "touch", func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (string, error) {
		return "touched", s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "note://first"})
	})
	say(s, "grow", func(context.Context, *mcp.CallToolRequest, none) (string, error) {
		say(s, "extra", func(context.Context, *mcp.CallToolRequest, none) (string, error) { return "extra", nil })
		return "grown", nil
	})
}

func addPlain(s *mcp.Server) {
	say(s, "echo", func(_ context.Context, _ *mcp.CallToolRequest, in textIn) (string, error) { return in.Text, nil })
	add(s, "add", func(_ context.Context, _ *mcp.CallToolRequest, in addIn) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	add(s, "weather", func(_ context.Context, _ *mcp.CallToolRequest, in cityIn) (*mcp.CallToolResult, weather, error) {
		return nil, weather{in.City, 21.5}, nil
	})
	add(s, "picture", func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		data, err := base64.StdEncoding.DecodeString(picture)
		image := &mcp.ImageContent{Data: data, MIMEType: "image/png"}
		return &mcp.CallToolResult{Content: []mcp.Content{image}}, nil, err
	})
	say(s, "fail", func(_ context.Context, _ *mcp.CallToolRequest, in failIn) (string, error) {
		return "", errors.New(in.Reason)
	})
	say(s, "wait", func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (string, error) {
		waiting.Add(1)
		<-ctx.Done()
		cancelled.Add(1)
		waiting.Add(-1)
		return "", ctx.Err()
	})
	say(s, "status", func(context.Context, *mcp.CallToolRequest, none) (string, error) {
		return fmt.Sprintf("waiting %d, cancelled %d", waiting.Load(), cancelled.Load()), nil
	})
	say(s, "big", func(_ context.Context, _ *mcp.CallToolRequest, in bigIn) (string, error) {
		return strings.Repeat("0123456789", in.Size/10), nil
	})
	say(s, "slow_echo", func(_ context.Context, _ *mcp.CallToolRequest, in textIn) (string, error) {
		time.Sleep(100 * time.Millisecond)
		return in.Text, nil
	})
}

func contents(uri, value string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: value}}}
}

func addOffers(s *mcp.Server) {
	s.AddResource(&mcp.Resource{Name: "first", URI: "note://first", MIMEType: "text/plain"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return contents(req.Params.URI, "the first note"), nil
		})
	s.AddResource(&mcp.Resource{Name: "bytes", URI: "data://bytes", MIMEType: "application/octet-stream"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			bytes := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "application/octet-stream", Blob: []byte{0, 1, 2, 255}}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{bytes}}, nil
		})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "item", URITemplate: "item://{id}", MIMEType: "text/plain"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return contents(req.Params.URI, "item "+strings.TrimPrefix(req.Params.URI, "item://")), nil
		})
	arguments := []*mcp.PromptArgument{{Name: "name", Required: true}}
	s.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Greets somebody", Arguments: arguments},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			content := &mcp.TextContent{Text: "Greet " + req.Params.Arguments["name"]}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: content}}}, nil
		})
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	names := []string{}
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		if strings.HasPrefix(name, req.Params.Argument.Value) {
			names = append(names, name)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: names, Total: len(names)}}, nil
}

func main() {
	s := mcp.NewServer(&mcp.Implementation{Name: "interop-go", Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addPlain(s)
	addTelling(s)
	addAsking(s)
	addOffers(s)
	if os.Args[1] == "stdio" {
		if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	get := func(*http.Request) *mcp.Server { return s }
	// The SDK has sessions for the legacy era, and the modern era only without sessions.
	sessions := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			stateless.ServeHTTP(w, r)
		} else {
			sessions.ServeHTTP(w, r)
		}
	})))
}
