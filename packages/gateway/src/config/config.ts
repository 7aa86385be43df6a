export { type ConfigIssue, describeIssue } from './config-issue.ts'
export { DEFAULT_SETTINGS } from './defaults.ts'
export { type Environment, readEnvironment, unknownVariables } from './environment.ts'
export { type Home, type LocateOptions, locateHome, locateState, requireHome } from './home.ts'
export { type HomeContent, readHome } from './home-content.ts'
export { configJsonSchema } from './json-schema.ts'
export { type LoadedSettings, type LoadOptions, loadSettings } from './load-settings.ts'
export { sameServer } from './same-server.ts'
export type {
  AuditSettings,
  GatewaySettings,
  HttpServerConfig,
  JwtSettings,
  Place,
  ServerConfig,
  Settings,
  StdioServerConfig,
  Timeouts,
} from './settings.ts'
export { prepareState, type StateFolder } from './state-folder.ts'
export { recordTrust, requireTrust, type Trust, type TrustQuestion, trustOf } from './trust.ts'
export { type SettingsChange, SettingsWatch, type WatchOptions, watchSettings } from './watch-settings.ts'
