export { DEFAULT_SETTINGS } from './defaults.ts'
export { diffTexts, hashChange, notAsShownError } from './file-change.ts'
export { followHome } from './home/follow-home.ts'
export { findUserHome, type Home, locateHome, locateKeys, locateState, requireHome } from './home/home.ts'
export { type HomeContent, maxHomeFileBytes, readHome, readHomeFile, withFile } from './home/home-content.ts'
export { prepareState } from './home/state-folder.ts'
export { checkTrust, recordTrust, renewTrust, requireTrust, type Trust } from './home/trust.ts'
export { type LoadedSettings, loadSettings } from './load-settings.ts'
export type { ProfileRef, ProfileUpdate } from './profiles/profile-edit.ts'
export { NO_PROFILE, profileEtag } from './profiles/profile-etag.ts'
export { agentSlug, DEFAULT_VARIANT, profileKey } from './profiles/profile-name.ts'
export {
  type EffectiveProfile,
  findEffectiveProfile,
  ProfilesEditor,
  requireProfile,
} from './profiles/profiles-editor.ts'
export { describeIssue } from './reading/config-issue.ts'
export { describeUnknownVariables, type Environment } from './reading/environment.ts'
export { describeYamlProblem, parseTree } from './reading/located-tree.ts'
export { parseYaml } from './reading/parse-yaml.ts'
export { placeholderName, TEMPLATE_PLACEHOLDER } from './sections/isolation-section.ts'
export {
  findSelections,
  getSelectedMcpTools,
  mayApprove,
  narrowPrincipal,
  type ToolSelection,
} from './sections/narrow-principal.ts'
export { readPolicyFields } from './sections/policy-fields.ts'
export { addServers, type NewServer, type ParsedConfig } from './servers/add-servers.ts'
export { collectSecrets } from './servers/credentials.ts'
export type { ServerChange } from './servers/edit-servers.ts'
export { isOwnGateway } from './servers/included-servers.ts'
export {
  findPrivateRoute,
  isSandboxed,
  listPossibleRoutes,
  type PrivateRoute,
  refusesSandbox,
} from './servers/private-route.ts'
export { isImageName } from './servers/sandbox-entry.ts'
export { isTransportHeader } from './servers/server-address.ts'
export { type ConfigPreview, ServersEditor } from './servers/servers-editor.ts'
export { isSameServer, parseYamlValue, readWrittenServers } from './servers/written-servers.ts'
export type {
  AutoApproval,
  DockerGatewayConfig,
  EscalationSettings,
  ExecutorSettings,
  GovernanceSettings,
  HttpServerConfig,
  IsolationSettings,
  JwtSettings,
  LabelSettings,
  ModelSettings,
  ProfileSettings,
  Profiles,
  ProgramServerConfig,
  ServerConfig,
  ServerSandbox,
  Settings,
  StdioServerConfig,
} from './settings.ts'
export { imageOf } from './settings.ts'
