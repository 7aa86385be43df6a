export type { AiSdkTool } from './ai-sdk-tool.ts'
export type { OperationOptions, Progress } from './call-timer.ts'
export type { BearerToken } from './endpoint.ts'
export {
  type ClientOptions,
  type ClientTarget,
  createMcpClient,
  getMcpClient,
  type NamedClientOptions,
  storedLabel,
} from './get-client.ts'
export type { EraChoice } from './link.ts'
export type { McpClient, ResourceListener, Subscription } from './mcp-client.ts'
export type { SharedLabel } from './session-label.ts'
export { FatalToolError, RetryableToolError } from './tool-failure.ts'
