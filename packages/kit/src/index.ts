export type { LogLevel } from '@sallyport/core'
export type { CallContext, Elicited, ElicitOptions, SampleRequest } from './call/call.ts'
export {
  type AiSdkTool,
  type BearerToken,
  type ClientOptions,
  type ClientTarget,
  createMcpClient,
  type EraChoice,
  FatalToolError,
  getMcpClient,
  type McpClient,
  type NamedClientOptions,
  type OperationOptions,
  type Progress,
  type ResourceListener,
  RetryableToolError,
  type SharedLabel,
  type Subscription,
  storedLabel,
} from './client/client.ts'
export {
  type KitConfig,
  type KitConfigOptions,
  readKitConfig,
  readServerConfig,
  type ServerConfig,
} from './config/config.ts'
export type { Form, FormAnswer, FormAnswerer } from './form.ts'
export {
  createHttpHandler,
  type HttpHandler,
  type HttpHandlerOptions,
  type HttpLimits,
  type HttpOptions,
  type HttpServing,
  serveHttp,
} from './http/http.ts'
export {
  type Authentication,
  type AuthOptions,
  type Caller,
  currentScope,
  type ForwardedCaller,
  type GatewayAuthOptions,
  getCaller,
  getSessionId,
  getUserId,
  type Identity,
  type JwtOptions,
  ownerFolder,
  type RequestHeaders,
  type RequestScope,
} from './identity/identity.ts'
export { findKeyFolder, type KeyLocation, type SessionKey, SessionKeys, type SessionKeysOptions } from './keys/keys.ts'
export { type ConnectOptions, createMcpServer, type McpServer } from './mcp-server.ts'
export { offerResults } from './offer-results.ts'
export type {
  Bug,
  Completer,
  Icon,
  PromptArgument,
  PromptHandler,
  PromptMessage,
  PromptOptions,
  Registration,
  ResourceOptions,
  ResourceReader,
  ResourceRequest,
  ResourceTemplateOptions,
  ServerOptions,
  ToolAnnotations,
  ToolHandler,
  ToolOptions,
} from './offers/offers.ts'
export { CONNECT, type Permission, type PermissionDeclaration, READ, WRITE } from './permission.ts'
export {
  type Label,
  type LabelClaim,
  type LabelOptions,
  type LabelOwner,
  type LabelStore,
  type LabelStoreOptions,
  type LabelTrust,
  openLabelStore,
  PRIVATE_DATA_META,
  type PrivateData,
  type PrivateDataset,
  privateData,
  readLabelMeta,
  type SessionClaim,
  signLabel,
  verifyLabel,
} from './private-data/private-data.ts'
export type { Connection, Send } from './protocol/protocol.ts'
export {
  type AboutResult,
  type ContextResult,
  type ContextResultOptions,
  contextResult,
  currentResultStore,
  openResultStore,
  READ_RESULT_INPUT,
  type ReadResultArguments,
  type ReadResultOptions,
  type ResultShaping,
  type ResultStore,
  type ResultStoreLimits,
  type ResultStoreOptions,
  readResult,
  type SavedResult,
  SHAPED_META,
  type SweepOptions,
  shapeToolResult,
  sweepResults,
} from './results/results.ts'
export type { ArgumentsOf, InputSchema, PlainSchema, Schema, StandardSchema, ValueOf } from './schema/schema.ts'
export { type StdioStreams, serveStdio } from './serve-stdio.ts'
export { ToolFatalError, ToolRetryError } from './tool-error.ts'
export { type Content, type ToolResult, textContent, toolResult, type WholeResult } from './tool-result.ts'
export {
  createWorkspace,
  currentWorkspace,
  currentWorkspaceRoot,
  type DirectoryEntry,
  type DirectoryPage,
  type EntryFacts,
  type FilePage,
  type FindOptions,
  type FoundFile,
  type FoundFiles,
  hostToWorkspacePath,
  type OpenFile,
  type Page,
  type Workspace,
  type WorkspaceLimits,
  type WorkspaceOptions,
  type WrittenFile,
  workspaceToHostPath,
} from './workspace/workspace.ts'
