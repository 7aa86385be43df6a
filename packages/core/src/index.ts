export {
  CALLER_META,
  CALLER_TOKEN_HEADER,
  CALLER_TOKEN_PREFIX,
  CALLER_VARIABLES,
  RESULT_META,
} from './caller-token.ts'
export { Cancellation, callCancelledError, MAY_HAVE_RUN_HINT } from './cancellation.ts'
export {
  buildDockerGatewayArguments,
  DOCKER_ENVIRONMENT,
  DOCKER_GATEWAY_COMMAND,
  type DockerGatewayOptions,
} from './docker-gateway.ts'
export { ERRORS, type ErrorCode, type ErrorKind, messageOf, SallyportError } from './errors.ts'
export type { CallFacts, EventType, LoggedEvent, ReturnedFacts, SallyportEvent } from './events.ts'
export { ExpiringMap } from './expiring-map.ts'
export {
  addMembers,
  cachePrinted,
  canonicalJson,
  countMembers,
  describeResult,
  type Envelope,
  findInexactNumber,
  findInvalidMember,
  findJsonValue,
  findMember,
  forbidsNull,
  formatPointer,
  hasDuplicateKey,
  hasInexactNumber,
  hasMoreValues,
  hasPlainItems,
  type ItemProblem,
  indentAt,
  isDeeperThan,
  isGatewayKey,
  isJsonDeeperThan,
  isJsonList,
  isJsonObject,
  isListAt,
  isObjectAt,
  type Json,
  type JsonMember,
  type JsonObject,
  JsonScanner,
  type JsonStyle,
  listMembers,
  MAX_DEPTH,
  MEMBER_SANITIZERS,
  parseExactJson,
  prettyPrintJson,
  printExactJson,
  printJson,
  quoteInexactNumbers,
  RESULT_SHAPE,
  type RedactString,
  readJsonPath,
  readPointer,
  redactJson,
  redactJsonInSteps,
  redactJsonText,
  redactMember,
  removeMember,
  replaceSpan,
  rootSpan,
  type Span,
  sameExactJson,
  sameJson,
  sanitizeClientInfo,
  sanitizeClientMeta,
  sanitizeCompletion,
  sanitizeEntry,
  sanitizeLogMessage,
  sanitizeProgress,
  stripReservedMeta,
  tryParseJson,
} from './json/json.ts'
export { isLoopback } from './loopback.ts'
export { foldName, hashedNames, mcpName, NameTable, type Naming, plainName, toWireName } from './names.ts'
export {
  type ConnectionOpening,
  type EgressPolicy,
  type EgressVerdict,
  judgeAddress,
  judgeOpening,
  judgeTarget,
} from './network/egress-policy.ts'
export { formatHostAndPort, type HostAndPort, parseHost, parseHostAndPort } from './network/host.ts'
export { formatHostRule, type HostRule, isListed, parseHostRule } from './network/host-rules.ts'
export { isAddress } from './network/ip-address.ts'
export { isNetworkMode, isWiderMode, NETWORK_MODES, type NetworkMode, networkModeFor } from './network/network-mode.ts'
export {
  type AddressBlock,
  type AddressRange,
  listNonPublicRanges,
  NON_PUBLIC_BLOCKS,
  PUBLIC_ADDRESSES,
} from './network/non-public-addresses.ts'
export type { FoundPath } from './paths/found-path.ts'
export { hideHostPaths } from './paths/host-paths.ts'
export { findPaths, findUriPaths } from './paths/path-arguments.ts'
export type { LinkStatus, PathContext } from './paths/path-context.ts'
export type { CallRoots } from './paths/path-interpretations.ts'
export {
  checkPathPattern,
  compilePathMatcher,
  compilePathRules,
  type PathCheck,
  type PathRules,
} from './paths/path-rules.ts'
export { takesPath } from './paths/takes-path.ts'
export { type ArgumentRuleOptions, compileArgumentRules } from './policy/argument-rules.ts'
export {
  ALLOW,
  compileSteps,
  type Decision,
  decide,
  type RuleSource,
  STEP_NAMES,
  type Step,
  type StepName,
  type StepVerdict,
  UNDECIDED,
  type Verdict,
} from './policy/decide.ts'
export { type PolicySources, resolvePolicy, type SourcedFields, type ToolPolicy } from './policy/effective-policy.ts'
export {
  ISOLATION_FALLBACKS,
  ISOLATION_STRATEGIES,
  type IsolatedServer,
  type IsolationFallback,
  type IsolationFields,
  type IsolationStrategy,
  shouldIsolateTool,
} from './policy/isolation-policy.ts'
export { mergePolicies } from './policy/merge-policies.ts'
export { isMode, MODES, type Mode } from './policy/mode.ts'
export {
  type ApprovalTraits,
  evaluateMode,
  type ModeRules,
  type ModeTraits,
  resolveApproval,
} from './policy/mode-rules.ts'
export { checkTransition, isStricter, type ModeChanger, NEXT_MODES } from './policy/mode-transitions.ts'
export { PERMISSIONS, type Permission, type PermissionDeclaration, readPermissions } from './policy/permission.ts'
export { compileSelection, type Selection } from './policy/selection.ts'
export {
  compareSensitivity,
  HIGHEST_SENSITIVITY,
  higherSensitivity,
  isAtLeast,
  isPrivate,
  isSensitivity,
  LOWEST_SENSITIVITY,
  parseSensitivity,
  SENSITIVITIES,
  type Sensitivity,
  type SensitivityRule,
  toSensitivityRule,
} from './policy/sensitivity.ts'
export { type CompiledSelectors, compileSelectors, type SelectionContext } from './policy/tool-selectors.ts'
export {
  type ArgumentRule,
  type ArgumentRules,
  type ParsedToolsFile,
  type PolicyField,
  type PolicyFields,
  type PolicyValue,
  RISK_LEVELS,
  type RiskLevel,
  type SecretHandling,
  type ToolCategory,
  type ToolEntry,
} from './policy/tools-file.ts'
export { ADMIN_ROLES, type AdminRole, hasRole, type Principal, parseOwnerKey, toOwnerKey } from './principal.ts'
export {
  type Era,
  isLogLevel,
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
  LOG_LEVELS,
  type LogLevel,
  META,
  MODERN_VERSION,
  parseTraceId,
} from './protocol.ts'
export { type Finding, type FindingKind, formatFinding } from './risk/finding.ts'
export { type InferredPermission, inferPermission, type PermissionOptions } from './risk/permission-inference.ts'
export {
  findOtherTools,
  findPoison,
  INSPECTION_VERSION,
  type NeighborOptions,
  type Neighbors,
} from './risk/poisoning.ts'
export { type InferredRisk, inferRisk, type RiskOptions } from './risk/risk.ts'
export { RISK_TOKENS, type RiskTokens } from './risk/risk-tokens.ts'
export { tokenizeName } from './risk/tokenize-name.ts'
export { checkArgumentName } from './schema/check-argument-name.ts'
export { formatParam, type McpParam, matchesParam, PARAM_PREFIX, readMcpParams } from './schema/mcp-params.ts'
export { isMultipleOf } from './schema/multiple-of.ts'
export { wrapOutputSchema } from './schema/output-schema.ts'
export { compileSimpleSchema, type SchemaValidator } from './schema/simple-schema.ts'
export { compileTrustedSchema } from './schema/trusted-schema.ts'
export {
  formatMismatch,
  formatOptions,
  formatTypes,
  formatViolations,
  unknownKeyViolation,
  type ValuePath,
  type Violation,
} from './schema/violation.ts'
export { checkSecrets } from './secrets/argument-secrets.ts'
export { findSecrets, redactText, redactTruncatedText } from './secrets/find-secrets.ts'
export { looksRandom } from './secrets/looks-random.ts'
export { listSecretForms, maskSecrets } from './secrets/mask-secrets.ts'
export { findPersonalData } from './secrets/personal-data.ts'
export {
  type ArgumentDetail,
  isSecretFieldName,
  type RecordedOptions,
  toRecordedArguments,
} from './secrets/recorded-arguments.ts'
export { createSecretSearch, mayHoldSecret } from './secrets/secret-anchors.ts'
export { findWeakness, GENERATE_SECRET_HINT } from './secrets/shared-secret.ts'
export { isServerId, slugServerId } from './server-id.ts'
export { instanceIn, isolatedName, type ServerInstance, serverOfInstance } from './server-instance.ts'
export {
  type ContentHints,
  type ContentKind,
  detectKind,
  type Ends,
  findPreset,
  formatCount,
  nextRecordStart,
  type Omission,
  type PageRange,
  type PageRequest,
  PRESETS,
  type Preset,
  type Presets,
  pageText,
  READ_RESULT_TOOL,
  type ResultPage,
  readCell,
  readPresets,
  recordEnd,
  type ShapedText,
  type ShapingHints,
  shapeText,
  splitCells,
} from './shaping/shaping.ts'
export { ShortLivedMap } from './short-lived-map.ts'
export { type DiffLine, diffLines } from './text/diff-lines.ts'
export { formatDuration, parseDuration } from './text/duration.ts'
export { estimateTokens, estimateToolTokens } from './text/estimate-tokens.ts'
export { excerpt, quoteText, redactAndCut } from './text/excerpt.ts'
export { type Expansion, expandVars, type VarIssue } from './text/expand-vars.ts'
export { didYouMean, findClosest } from './text/find-closest.ts'
export { toCamelCase, toSnakeCase } from './text/key-case.ts'
export { matchWildcards } from './text/match-wildcards.ts'
export { compileNameGlob, isNameGlob } from './text/name-glob.ts'
export { quoteForShell } from './text/quote-for-shell.ts'
export { splitShellWords } from './text/split-shell-words.ts'
export type { CompilePattern, TextPattern } from './text/text-pattern.ts'
export { cutText, toPlainText, toVisibleText } from './text/visible-text.ts'
export { BUILT_IN_SERVER, canonicalName, type ToolDefinition, type ToolRef } from './tool.ts'
