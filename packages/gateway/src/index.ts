export { SallyportError } from '@sallyport/core'
export {
  createGateway,
  type EmbeddedGateway,
  type EmbeddedOptions,
  type ExecuteOptions,
  type McpToolDefinition,
  type ToolDescription,
} from './create-gateway.ts'
export type { ApprovalView, Approver, ProgramAnswer } from './governance/governance.ts'
export type { ToolFailure, ToolResult } from './tool-outcome.ts'
