export type {
  AgentAdapter,
  AgentResults,
  HostContext,
  ImportedServer,
  NativeConfig,
  NativeFile,
  NativeScope,
  NativeServer,
} from './agent-adapter.ts'
export { applyAgentMcpFilter } from './agent-mcp-filter.ts'
export type { AgentOverlay, Overlay, OverlayRequest, ParsedNativeFile } from './agent-overlay.ts'
export { folderFromVariable, joinPath } from './agent-paths.ts'
export { claudeCode } from './claude-code/claude-code.ts'
export { buildConnectEntry, type ConnectEntry } from './connect-entry.ts'
export { type DetectedAgent, detectAgents } from './detect-agents.ts'
export { findProgram } from './find-program.ts'
export { hasFlag } from './flag-values.ts'
export { geminiCli } from './gemini-cli/gemini-cli.ts'
export {
  type AddedServer,
  type FoundServer,
  type ImportPlan,
  type ImportRequest,
  listFoundServers,
  mergeServers,
  parsePastedServers,
  type ServerOrigin,
  toNewServer,
} from './import/import.ts'
export { findOverlay } from './overlays.ts'
export { type NativeFileResult, readAgentConfigs } from './read-agent-configs.ts'
export { ADAPTERS, findAdapter } from './registry.ts'
export { findOtherServers, projectFolders, type SourceSearch } from './server-sources.ts'
export { syncBackChanges } from './sync-back-changes.ts'
export { TOKEN_VARIABLE, tokenVariableName } from './token-variable.ts'
export { selectWrappedTools } from './wrapped-tools.ts'
export { writeOverlay } from './write-overlay.ts'
