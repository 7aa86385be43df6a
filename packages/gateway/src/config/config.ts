export { addServers, type ParsedConfig } from './add-servers.ts'
export { describeIssue } from './config-issue.ts'
export { DEFAULT_SETTINGS } from './defaults.ts'
export type { NewServer } from './entry-lines.ts'
export { type Environment, unknownVariables } from './environment.ts'
export { followHome } from './follow-home.ts'
export { type Home, locateHome, locateState, requireHome, userHomeOf } from './home.ts'
export { type HomeContent, mostBytesOf, readHome, readHomeFile, withFile } from './home-content.ts'
export { TEMPLATE_VARIABLE, templateVariable } from './isolation-section.ts'
export { type LoadedSettings, loadSettings } from './load-settings.ts'
export { parseTree } from './located-tree.ts'
export { mayApprove } from './may-approve.ts'
export { narrowPrincipal } from './narrow-principal.ts'
export { isOwnGateway } from './own-gateway.ts'
export { parseYaml } from './parse-yaml.ts'
export { readPolicyFields } from './policy-fields.ts'
export { ProfileDesk, type ProfileInForce, profileInForce, requireProfile } from './profile-desk.ts'
export type { ProfileRef, ProfileWish } from './profile-edit.ts'
export { agentSlug, DEFAULT_VARIANT, profileKey } from './profile-name.ts'
export { choicesFor, getSelectedMcpTools, type ToolsChoice } from './profile-selection.ts'
export type { ProfilesFile } from './profiles-file.ts'
export { sameServer } from './same-server.ts'
export { secretsOf } from './secrets-of.ts'
export { isTransportHeader } from './server-address.ts'
export type {
  AutoApproval,
  DockerGatewayConfig,
  EscalationSettings,
  ExecutorSettings,
  GovernanceSettings,
  HttpServerConfig,
  IsolationSettings,
  JwtSettings,
  ModelSettings,
  ProfileSettings,
  Profiles,
  ProgramServerConfig,
  ServerConfig,
  Settings,
  StdioServerConfig,
} from './settings.ts'
export { prepareState } from './state-folder.ts'
export { recordTrust, renewTrust, requireTrust, type Trust, trustOf } from './trust.ts'
export { valueIn, writtenServers } from './written-servers.ts'
export { yamlProblem } from './yaml-problem.ts'
