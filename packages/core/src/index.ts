export { type ArgumentRuleOptions, compileArgumentRules } from './argument-rules.ts'
export { Cancellation, callCancelled, MAY_BE_DONE } from './cancellation.ts'
export { closest, didYouMean } from './closest.ts'
export {
  ALLOW,
  compileSteps,
  type Decision,
  decide,
  openGate,
  type RuleSource,
  STEP_NAMES,
  type Step,
  type StepName,
  type StepVerdict,
  UNDECIDED,
  type Verdict,
} from './decide.ts'
export {
  DOCKER_ENVIRONMENT,
  DOCKER_GATEWAY_COMMAND,
  type DockerGatewayOptions,
  dockerGatewayArguments,
} from './docker-gateway.ts'
export { formatDuration, parseDuration } from './duration.ts'
export { type PolicySources, resolvePolicy, type ToolPolicy, type WrittenFields } from './effective-policy.ts'
export { ERRORS, type ErrorCode, type ErrorKind, messageOf, SallyportError } from './errors.ts'
export type { CallFacts, EventType, LoggedEvent, ReturnedFacts, SallyportEvent } from './events.ts'
export { cutRedacted, excerpt, quoteText } from './excerpt.ts'
export { type Expansion, expandVars, type VarIssue } from './expand-vars.ts'
export { ExpiringMap } from './expiring-map.ts'
export { findSecrets, redactCutText, redactText } from './find-secrets.ts'
export { type Finding, type FindingKind, findingText } from './finding.ts'
export type { FoundPath } from './found-path.ts'
export { isNameGlob, nameGlob } from './glob.ts'
export { hideHostPaths } from './host-paths.ts'
export {
  ISOLATION_FALLBACKS,
  ISOLATION_STRATEGIES,
  type IsolatedServer,
  type IsolationFallback,
  type IsolationFields,
  type IsolationStrategy,
  shouldIsolateTool,
} from './isolation-policy.ts'
export {
  addMembers,
  allowedEntry,
  canonicalJson,
  checkCompletion,
  checkLogMessage,
  checkProgress,
  clientMeta,
  countMembers,
  type Envelope,
  findInexactNumber,
  findJsonValue,
  findMember,
  hasInexactNumber,
  hasMoreParts,
  hasPlainItems,
  type ItemFlaw,
  indentAt,
  invalidMember,
  isDeeper,
  isJsonList,
  isJsonObject,
  isListAt,
  isNeverNull,
  isObjectAt,
  isTextDeeper,
  type Json,
  type JsonMember,
  type JsonObject,
  JsonScanner,
  type JsonStyle,
  jsonIn,
  jsonMembers,
  keepPrinted,
  MAX_DEPTH,
  OPTIONAL_MEMBERS,
  pointerTo,
  printForPerson,
  printJson,
  quoteInexactNumbers,
  RESULT_SHAPE,
  readJsonPath,
  readPointer,
  redactJson,
  redactJsonInSteps,
  redactJsonText,
  redactMember,
  removeMember,
  repeatsName,
  replaceSpan,
  resultShape,
  rootPlace,
  type ShowText,
  type Span,
  sameJson,
  withoutOwnMeta,
  withoutOwnName,
} from './json/json.ts'
export { type KeptHow, type KeptOptions, keptArguments } from './kept-arguments.ts'
export { type DiffLine, lineDiff } from './line-diff.ts'
export { isLoopback } from './loopback.ts'
export { maskSecrets, secretsAmong } from './mask-secrets.ts'
export { matchRuns } from './match-runs.ts'
export { type McpParam, PARAM_PREFIX, paramAgrees, paramText, readMcpParams } from './mcp-params.ts'
export { isMode, MODES, type Mode } from './mode.ts'
export { type ApprovalTraits, approvalNeeded, judgeMode, type ModeState, type ModeTraits } from './mode-rules.ts'
export { isStricter, type ModeChanger, NEXT_MODES, transitionFlaw } from './mode-transitions.ts'
export { isMultipleOf } from './multiple-of.ts'
export { nameTokens } from './name-tokens.ts'
export { foldName, hashedNames, NameTable, type Naming, plainName, renamed } from './names.ts'
export { wrappedOutputSchema } from './output-schema.ts'
export { compileOwnSchema } from './own-schema.ts'
export { findPaths, findUriPaths } from './path-arguments.ts'
export type { CallBases } from './path-readings.ts'
export { compilePathCover, compilePathRules, type PathJudge, type PathRules, pathPatternProblem } from './path-rules.ts'
export type { LinkLook, PathWorld } from './path-world.ts'
export { PERMISSIONS, type Permission, type PermissionDeclaration, readPermissions } from './permission.ts'
export { type InferredPermission, inferPermission, type PermissionOptions } from './permission-inference.ts'
export { compilePlain, type PlainSchema } from './plain-schema.ts'
export {
  findOtherTools,
  findPoison,
  INSPECTION_VERSION,
  type NeighbourOptions,
  type Neighbours,
} from './poisoning.ts'
export { ownerOf, type Principal, readOwner } from './principal.ts'
export {
  type Era,
  isLogLevel,
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
  LOG_LEVELS,
  type LogLevel,
  META,
  MODERN_VERSION,
  traceIdOf,
} from './protocol.ts'
export { isRandom } from './random-looking.ts'
export { type InferredRisk, inferRisk, type RiskOptions } from './risk.ts'
export { RISK_TOKENS, type RiskTokens } from './risk-tokens.ts'
export { createSecretSearch, mayHoldSecret } from './secret-anchors.ts'
export { judgeSecrets } from './secret-in.ts'
export { compileSelection, type Selection } from './selection.ts'
export {
  HIGHEST_SENSITIVITY,
  higherSensitivity,
  isAtLeast,
  isPrivate,
  isSensitivity,
  LOWEST_SENSITIVITY,
  parseSensitivity,
  SENSITIVITIES,
  type Sensitivity,
} from './sensitivity.ts'
export { isServerId, slugServerId } from './server-id.ts'
export {
  type ContentHints,
  type ContentKind,
  cellsOf,
  cellText,
  counted,
  detectKind,
  type Ends,
  findPreset,
  nextRecord,
  type Omission,
  type PageRange,
  type PageRequest,
  PRESETS,
  type Preset,
  type Presets,
  pageText,
  READ_RESULT_TOOL,
  readPresets,
  recordEnd,
  type ShapedText,
  type ShapingHints,
  shapeText,
  type TextPage,
} from './shaping/shaping.ts'
export { findWeakness, MAKE_SECRET } from './shared-secret.ts'
export { shellWord } from './shell-word.ts'
export { ShortLivedMap } from './short-lived-map.ts'
export { camelCase, snakeCase } from './spelling.ts'
export { splitWords } from './split-words.ts'
export { stricterPolicy } from './stricter-policy.ts'
export { takesPath } from './takes-path.ts'
export { isTellingName } from './telling-name.ts'
export type { CompilePattern, TextPattern } from './text-pattern.ts'
export { estimateTokens } from './tokens.ts'
export { BUILT_IN_SERVER, canonicalName, type ToolDefinition, type ToolRef } from './tool.ts'
export {
  type ArgumentRule,
  type ArgumentRules,
  type PolicyField,
  type PolicyFields,
  RISK_LEVELS,
  type RiskLevel,
  type Ruled,
  type SecretHandling,
  type ToolCategory,
  type ToolEntry,
  type ToolsFile,
} from './tool-policy.ts'
export { type CompiledSelectors, compileSelectors, type SelectableWorld } from './tool-selectors.ts'
export { toolTokens } from './tool-tokens.ts'
export { unknownArgument } from './unknown-argument.ts'
export {
  optionWords,
  saysMismatch,
  typeWords,
  unknownKey,
  type ValuePath,
  type Violation,
  violationsText,
} from './violation.ts'
export { cutText, plainText, visibleText } from './visible-text.ts'
