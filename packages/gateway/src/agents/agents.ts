export type {
  AgentAdapter,
  AgentPlace,
  Enforcement,
  ImportedServer,
  NativeConfig,
  NativeFile,
  NativeScope,
  NativeServer,
  NativeToolFilter,
} from './agent-adapter.ts'
export { applyAgentMcpFilter, type NativeFiltering, type WrappedServer } from './agent-mcp-filter.ts'
export { type NativeReading, readAgent } from './read-agent.ts'
export { ADAPTERS, findAdapter } from './registry.ts'
