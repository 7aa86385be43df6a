//! A server of the Rust SDK, which speaks both eras, as its documentation shows: server <stdio|http>.
#![allow(deprecated)] // The SDK calls sampling, roots and logging deprecated, as the protocol does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::InputResponses;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt, elicit_safe, prompt, prompt_handler, prompt_router, schemars,
    tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const FIRST: &str = "note://first";

#[derive(Deserialize, JsonSchema)]
struct TextIn {
    /// the text
    text: String,
}
#[derive(Deserialize, JsonSchema)]
struct AddIn {
    a: i64,
    b: i64,
}
#[derive(Serialize, JsonSchema)]
struct Sum {
    result: i64,
}
#[derive(Deserialize, JsonSchema)]
struct CityIn {
    city: String,
}
#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    degrees: f64,
}
#[derive(Deserialize, JsonSchema)]
struct FailIn {
    reason: String,
}
#[derive(Deserialize, JsonSchema)]
struct CountIn {
    steps: i32,
}
#[derive(Deserialize, JsonSchema)]
struct BigIn {
    size: usize,
}
#[derive(Serialize, Deserialize, JsonSchema)]
struct Name {
    name: String,
}
elicit_safe!(Name);

/// What all connections of the process share.
#[derive(Default)]
struct State {
    waiting: AtomicI32,
    cancelled: AtomicI32,
    has_grown: AtomicBool,
    is_verbose: AtomicBool,
    sinks: Mutex<HashMap<i32, SubscriptionSink>>,
    next_sink: AtomicI32,
}

#[derive(Clone, Default)]
struct Interop {
    state: Arc<State>,
}

type Context = RequestContext<RoleServer>;
type Response = Result<CallToolResponse, ErrorData>;

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn text(value: impl Into<String>) -> Response {
    Ok(CallToolResult::success(vec![ContentBlock::text(value)]).into())
}

fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn name_form() -> ElicitRequestParams {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "What is your name?".into(),
        requested_schema: serde_json::from_value(schema).expect("a schema"),
    }
}

fn prompt_for_model() -> CreateMessageRequestParams {
    CreateMessageRequestParams::new(vec![SamplingMessage::user_text("Say a number")], 10)
}

/// The SDK asks a modern client in the result, and a legacy one in the middle of the handler.
fn input_required(request: InputRequest) -> Response {
    Ok(InputRequiredResult::from_input_requests([("answer".to_string(), request)].into()).into())
}

fn read_answer<T: for<'de> Deserialize<'de>>(responses: InputResponses) -> Result<Option<T>, ErrorData> {
    let answer = responses.0.and_then(|mut all| all.remove("answer"));
    answer.map(|value| serde_json::from_value(value).map_err(failed)).transpose()
}

#[tool_router]
impl Interop {
    #[tool(description = "Returns its text")]
    fn echo(&self, Parameters(TextIn { text }): Parameters<TextIn>) -> String {
        text
    }

    #[tool(description = "Adds two numbers")]
    fn add(&self, Parameters(AddIn { a, b }): Parameters<AddIn>) -> Json<Sum> {
        Json(Sum { result: a + b })
    }

    #[tool(description = "The weather of a city", annotations(read_only_hint = true))]
    fn weather(&self, Parameters(CityIn { city }): Parameters<CityIn>) -> Json<Weather> {
        Json(Weather { city, degrees: 21.5 })
    }

    #[tool(description = "A picture")]
    fn picture(&self) -> CallToolResult {
        CallToolResult::success(vec![ContentBlock::image(PICTURE, "image/png")])
    }

    #[tool(description = "Fails")]
    fn fail(&self, Parameters(FailIn { reason }): Parameters<FailIn>) -> Result<String, String> {
        Err(reason)
    }

    #[tool(description = "Reports progress")]
    async fn count(&self, Parameters(CountIn { steps }): Parameters<CountIn>, context: Context) -> Response {
        for step in 1..=steps {
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, step.into())
                    .with_total(steps.into())
                    .with_message(format!("step {step}"));
                context.peer.notify_progress(progress).await.map_err(failed)?;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        text("counted")
    }

    #[tool(description = "Logs")]
    async fn log(&self, context: Context) -> Response {
        let wants_debug = self.state.is_verbose.load(SeqCst);
        for (level, name) in [
            (LoggingLevel::Debug, "debug"),
            (LoggingLevel::Info, "info"),
            (LoggingLevel::Warning, "warning"),
        ] {
            if is_modern(&context) && context.meta.log_level().is_none() || name == "debug" && !wants_debug {
                continue;
            }
            let data = json!(format!("a {name} message"));
            let message = LoggingMessageNotificationParam::new(level, data).with_logger("interop");
            context.peer.notify_logging_message(message).await.map_err(failed)?;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        text("logged")
    }

    #[tool(description = "Waits until it is cancelled")]
    async fn wait(&self, context: Context) -> Response {
        self.state.waiting.fetch_add(1, SeqCst);
        context.ct.cancelled().await;
        self.state.cancelled.fetch_add(1, SeqCst);
        self.state.waiting.fetch_sub(1, SeqCst);
        text("cancelled")
    }

    #[tool(description = "Who waits, and who was cancelled")]
    fn status(&self) -> String {
        let State { waiting, cancelled, .. } = &*self.state;
        format!("waiting {}, cancelled {}", waiting.load(SeqCst), cancelled.load(SeqCst))
    }

    #[tool(description = "Asks the user")]
    async fn ask(&self, responses: InputResponses, context: Context) -> Response {
        let answer = match read_answer::<ElicitResult>(responses)? {
            Some(answer) => answer,
            None if is_modern(&context) => {
                return input_required(InputRequest::Elicitation(ElicitRequest::new(name_form())));
            }
            None => context.peer.create_elicitation(name_form()).await.map_err(failed)?,
        };
        let content = answer.content.unwrap_or_default();
        text(format!("hello {}", content["name"].as_str().unwrap_or("nobody")))
    }

    #[tool(description = "Asks the user in the middle of the handler")]
    async fn ask_at_once(&self, context: Context) -> Response {
        let answer = context.peer.elicit::<Name>("What is your name?").await.map_err(failed)?;
        text(format!("hello {}", answer.map_or("nobody".into(), |Name { name }| name)))
    }

    #[tool(description = "Asks the model of the client")]
    async fn sample(&self, responses: InputResponses, context: Context) -> Response {
        let answer = match read_answer::<CreateMessageResult>(responses)? {
            Some(answer) => answer,
            None if is_modern(&context) => {
                return input_required(InputRequest::CreateMessage(CreateMessageRequest::new(prompt_for_model())));
            }
            None => context.peer.create_message(prompt_for_model()).await.map_err(failed)?,
        };
        let said = answer.message.content.first().and_then(|block| block.as_text()).map(|block| block.text.clone());
        text(format!("the model says {}", said.unwrap_or_default()))
    }

    #[tool(description = "The folders of the client")]
    async fn roots(&self, responses: InputResponses, context: Context) -> Response {
        let answer = match read_answer::<ListRootsResult>(responses)? {
            Some(answer) => answer,
            None if is_modern(&context) => return input_required(InputRequest::ListRoots(Default::default())),
            None => context.peer.list_roots().await.map_err(failed)?,
        };
        text(answer.roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(","))
    }

    #[tool(description = "A large text")]
    fn big(&self, Parameters(BigIn { size }): Parameters<BigIn>) -> String {
        "0123456789".repeat(size / 10)
    }

    #[tool(description = "Returns its text later")]
    async fn slow_echo(&self, Parameters(TextIn { text }): Parameters<TextIn>) -> String {
        tokio::time::sleep(Duration::from_millis(100)).await;
        text
    }

    #[tool(description = "Changes the first note")]
    async fn touch(&self, context: Context) -> Response {
        if is_modern(&context) {
            for sink in self.sinks(|accepted| accepted.resource_subscriptions.is_some()).await {
                sink.notify_resource_updated(FIRST).await.map_err(failed)?;
            }
        } else {
            let change = ResourceUpdatedNotificationParam::new(FIRST);
            context.peer.notify_resource_updated(change).await.map_err(failed)?;
        }
        text("touched")
    }

    #[tool(description = "Adds a tool")]
    async fn grow(&self, context: Context) -> Response {
        self.state.has_grown.store(true, SeqCst);
        if is_modern(&context) {
            for sink in self.sinks(|accepted| accepted.tools_list_changed == Some(true)).await {
                sink.notify_tool_list_changed().await.map_err(failed)?;
            }
        } else {
            context.peer.notify_tool_list_changed().await.map_err(failed)?;
        }
        text("grown")
    }
}

#[tool_router(router = extra_router)]
impl Interop {
    #[tool(description = "Another tool")]
    fn extra(&self) -> String {
        "extra".into()
    }
}

#[prompt_router]
impl Interop {
    #[prompt(name = "greet", description = "Greets somebody")]
    fn greet(&self, Parameters(Name { name }): Parameters<Name>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Greet {name}"))]
    }
}

impl Interop {
    fn tools(&self) -> ToolRouter<Self> {
        let tools = Self::tool_router();
        if self.state.has_grown.load(SeqCst) { tools + Self::extra_router() } else { tools }
    }

    /// The SDK acknowledges before it runs `listen`, so that a call can overtake it.
    async fn sinks(&self, wants: impl Fn(&SubscriptionFilter) -> bool) -> Vec<SubscriptionSink> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let sinks = self.state.sinks.lock().expect("the lock");
        sinks.values().filter(|sink| wants(sink.accepted())).cloned().collect()
    }
}

#[tool_handler(router = self.tools())]
#[prompt_handler(router = Self::prompt_router())]
impl ServerHandler for Interop {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_completions()
            .enable_logging()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("interop-rust", "1.0.0"))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        self.state.is_verbose.store(matches!(request.level, LoggingLevel::Debug), SeqCst);
        Ok(())
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        let names = ["Ada", "Alan", "Grace"].into_iter();
        let found: Vec<_> = names.filter(|name| name.starts_with(&request.argument.value)).map(String::from).collect();
        let total = u32::try_from(found.len()).map_err(failed)?;
        Ok(CompleteResult::new(CompletionInfo::with_pagination(found, Some(total), false).map_err(failed)?))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![
            Resource::new(FIRST, "first").with_mime_type("text/plain"),
            Resource::new("data://bytes", "bytes").with_mime_type("application/octet-stream"),
        ]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let item = ResourceTemplate::new("item://{id}", "item").with_mime_type("text/plain");
        Ok(ListResourceTemplatesResult::with_all_items(vec![item]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let contents = match uri.as_str() {
            FIRST => ResourceContents::text("the first note", uri).with_mime_type("text/plain"),
            "data://bytes" => ResourceContents::blob("AAEC/w==", uri).with_mime_type("application/octet-stream"),
            _ => match uri.strip_prefix("item://") {
                Some(id) => ResourceContents::text(format!("item {id}"), uri.clone()).with_mime_type("text/plain"),
                None => return Err(ErrorData::resource_not_found("unknown resource", Some(json!({ "uri": uri })))),
            },
        };
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let own = self.state.next_sink.fetch_add(1, SeqCst);
        self.state.sinks.lock().expect("the lock").insert(own, context.sink().clone());
        context.cancelled().await;
        self.state.sinks.lock().expect("the lock").remove(&own);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let interop = Interop::default();
    if std::env::args().nth(1).as_deref() == Some("stdio") {
        interop.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    // With sessions for the legacy era; what is modern needs none.
    let service: StreamableHttpService<Interop, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(interop.clone()),
        Default::default(),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
