export type {
  AgentAdapter,
  AgentPlace,
  ImportedServer,
  NativeConfig,
  NativeFile,
  NativeScope,
  NativeServer,
} from './agent-adapter.ts'
export { joinPath, namedFolder } from './agent-folders.ts'
export { applyAgentMcpFilter } from './agent-mcp-filter.ts'
export type { AgentOverlay, Overlay, OverlayRequest, OwnFile } from './agent-overlay.ts'
export { carryBack } from './carry-back.ts'
export { claudeCode } from './claude-code/claude-code.ts'
export { type ConnectEntry, connectEntry } from './connect-entry.ts'
export { findProgram } from './find-program.ts'
export { hasFlag } from './flag-values.ts'
export { geminiCli } from './gemini-cli/gemini-cli.ts'
export {
  type AddedServer,
  type FoundServer,
  type ImportPlan,
  type ImportWish,
  mergeServers,
  type ServerSource,
} from './import/import.ts'
export { type AgentSight, lookAtAgents } from './look-at-agent.ts'
export { overlayOf } from './overlays.ts'
export { type NativeReading, readAgent } from './read-agent.ts'
export { ADAPTERS, findAdapter } from './registry.ts'
export { findOtherServers, projectFolders, type SourceSearch } from './server-sources.ts'
export { selectWrapped } from './wrapped-tools.ts'
export { writeOverlay } from './write-overlay.ts'
