//! A client of the Rust SDK, in the era that the target names: client <target as JSON>.
#![allow(deprecated)] // The SDK calls sampling, roots and logging deprecated, as the protocol does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command as Process;

#[derive(Deserialize)]
struct Target {
    url: Option<String>,
    #[serde(default)]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    era: String,
}

#[derive(Deserialize)]
#[serde(default)]
struct Command {
    id: i64,
    r#do: String,
    of: i64,
    name: String,
    args: JsonObject,
    uri: String,
    level: LoggingLevel,
    argument: HashMap<String, String>,
}

impl Default for Command {
    fn default() -> Self {
        Self {
            id: 0,
            r#do: String::new(),
            of: 0,
            name: String::new(),
            args: JsonObject::new(),
            uri: String::new(),
            level: LoggingLevel::Info,
            argument: HashMap::new(),
        }
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Client = RunningService<RoleClient, Interop>;

fn put(message: Value) {
    println!("{message}");
}

fn put_event(event: &str, params: impl Serialize) {
    put(json!({ "event": event, "params": params }));
}

#[derive(Clone)]
struct Interop;

impl ClientHandler for Interop {
    fn get_info(&self) -> ClientConfig {
        let capabilities =
            ClientCapabilities::builder().enable_elicitation().enable_sampling().enable_roots().build();
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        put(json!({ "event": "asked", "method": "elicitation/create", "params": request }));
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ada" })))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        put(json!({ "event": "asked", "method": "sampling/createMessage", "params": request }));
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text("forty-two"), "scripted".into()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///somewhere").with_name("somewhere")]))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        put_event("progress", params);
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        put_event("log", params);
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        put_event("updated", params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        put(json!({ "event": "tools changed" }));
    }
}

/// Reports what a subscription of the modern era brings.
async fn listen(client: &Client, filter: SubscriptionFilter) -> Result<(), Failure> {
    let mut subscription = client.listen(filter).await?;
    tokio::spawn(async move {
        while let Ok(Some(notification)) = subscription.next().await {
            match notification {
                ServerNotification::ResourceUpdatedNotification(update) => put_event("updated", update.params),
                ServerNotification::ToolListChangedNotification(_) => put(json!({ "event": "tools changed" })),
                _ => {}
            }
        }
    });
    Ok(())
}

async fn call(client: &Client, command: Command, is_modern: bool) -> Result<Value, Failure> {
    let mut params = CallToolRequestParams::new(command.name).with_arguments(command.args);
    // The SDK adds a progress token of its own to each request.
    if is_modern {
        params.meta.get_or_insert_default().set_log_level(LoggingLevel::Info);
    }
    Ok(serde_json::to_value(client.call_tool(params).await?)?)
}

async fn perform(client: &Client, command: Command, is_modern: bool) -> Result<Value, Failure> {
    Ok(match command.r#do.as_str() {
        "listTools" => serde_json::to_value(client.list_tools(None).await?)?,
        "call" => call(client, command, is_modern).await?,
        "listResources" => serde_json::to_value(client.list_resources(None).await?)?,
        "listTemplates" => serde_json::to_value(client.list_resource_templates(None).await?)?,
        "read" => serde_json::to_value(client.read_resource(ReadResourceRequestParams::new(command.uri)).await?)?,
        "subscribe" if is_modern => {
            let filter = SubscriptionFilter::builder().resource_subscription(command.uri).build();
            serde_json::to_value(listen(client, filter).await?)?
        }
        "subscribe" => serde_json::to_value(client.subscribe(SubscribeRequestParams::new(command.uri)).await?)?,
        "watch" if is_modern => {
            serde_json::to_value(listen(client, SubscriptionFilter::builder().tools_list_changed().build()).await?)?
        }
        "listPrompts" => serde_json::to_value(client.list_prompts(None).await?)?,
        "getPrompt" => {
            let params = GetPromptRequestParams::new(command.name).with_arguments(command.args);
            serde_json::to_value(client.get_prompt(params).await?)?
        }
        "complete" => {
            let argument = ArgumentInfo::new(&command.argument["name"], &command.argument["value"]);
            let params = CompleteRequestParams::new(Reference::for_prompt(command.name), argument);
            serde_json::to_value(client.complete(params).await?)?
        }
        "setLevel" if !is_modern => {
            serde_json::to_value(client.set_level(SetLevelRequestParams::new(command.level)).await?)?
        }
        _ => Value::Null,
    })
}

async fn connect(target: &Target) -> Result<Client, Failure> {
    let lifecycle = match target.era.as_str() {
        "modern" => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        _ => ClientLifecycleMode::Initialize,
    };
    Ok(match &target.url {
        Some(url) => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            Interop.serve_with_lifecycle(transport, lifecycle).await?
        }
        None => {
            let mut process = Process::new(&target.command);
            process.args(&target.args);
            Interop.serve_with_lifecycle(TokioChildProcess::new(process)?, lifecycle).await?
        }
    })
}

/// With one thread: the SDK handles each notification in a task of its own, in any order if there are more threads.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let target: Target = serde_json::from_str(&std::env::args().nth(1).expect("a target"))?;
    let is_modern = target.era == "modern";
    let client = Arc::new(connect(&target).await?);
    put(json!({ "event": "ready" }));
    let running = Mutex::new(HashMap::new());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let command: Command = serde_json::from_str(&line)?;
        let mut running = running.lock().expect("the lock");
        if command.r#do == "cancel" {
            // Whoever drops a call cancels it.
            if let Some(task) = running.remove(&command.of) {
                let task: tokio::task::JoinHandle<()> = task;
                task.abort();
            }
            continue;
        }
        let client = client.clone();
        let id = command.id;
        let task = tokio::spawn(async move {
            match perform(&client, command, is_modern).await {
                Ok(result) => put(json!({ "id": id, "result": result })),
                Err(error) => put(json!({ "id": id, "error": error.to_string() })),
            }
        });
        running.insert(id, task);
    }
    if let Ok(client) = Arc::try_unwrap(client) {
        client.cancel().await?;
    }
    Ok(())
}
