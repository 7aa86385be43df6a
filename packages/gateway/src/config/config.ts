export type { NewServer } from './add-servers.ts'
export { addServers, type ParsedConfig } from './add-servers.ts'
export { describeIssue } from './config-issue.ts'
export { DEFAULT_SETTINGS } from './defaults.ts'
export { describeUnknownVariables, type Environment } from './environment.ts'
export { followHome } from './follow-home.ts'
export { type Home, locateHome, locateState, requireHome, userHomeOf } from './home.ts'
export { type HomeContent, maxHomeFileBytes, readHome, readHomeFile, withFile } from './home-content.ts'
export { isOwnGateway } from './included-servers.ts'
export { placeholderName, TEMPLATE_PLACEHOLDER } from './isolation-section.ts'
export { type LoadedSettings, loadSettings } from './load-settings.ts'
export { describeYamlProblem, parseTree } from './located-tree.ts'
export { mayApprove } from './may-approve.ts'
export { findSelections, getSelectedMcpTools, narrowPrincipal, type ToolSelection } from './narrow-principal.ts'
export { parseYaml } from './parse-yaml.ts'
export { readPolicyFields } from './policy-fields.ts'
export { type EffectiveProfile, findEffectiveProfile, ProfilesEditor, requireProfile } from './profile-desk.ts'
export type { ProfileRef, ProfileUpdate } from './profile-edit.ts'
export { agentSlug, DEFAULT_VARIANT, profileKey } from './profile-name.ts'
export type { ProfilesFile } from './profiles-file.ts'
export { isSameServer } from './same-server.ts'
export { collectSecrets } from './secrets-of.ts'
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
export { checkTrust, recordTrust, renewTrust, requireTrust, type Trust } from './trust.ts'
export { parseYamlValue, readWrittenServers } from './written-servers.ts'
