export { SallyportError } from '@sallyport/core'
export {
  createGateway,
  type EmbeddedGateway,
  type EmbeddedOptions,
  type ExecuteOptions,
  type McpToolDefinition,
  type ToolDescription,
} from './compose/create-gateway.ts'
export type { ToolFailure, ToolResult } from './compose/tool-outcome.ts'
export type { ApprovalView, Approver, ProgramAnswer } from './governance/governance.ts'
