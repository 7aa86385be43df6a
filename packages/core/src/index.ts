export { type ArgumentRuleOptions, compileArgumentRules } from './argument-rules.ts'
export { Cancellation, callCancelledError, MAY_HAVE_RUN_HINT } from './cancellation.ts'
export { didYouMean, findClosest } from './closest.ts'
export {
  ALLOW,
  compileSteps,
  createPassThroughStep,
  type Decision,
  decide,
  type RuleSource,
  STEP_NAMES,
  type Step,
  type StepName,
  type StepVerdict,
  UNDECIDED,
  type Verdict,
} from './decide.ts'
export {
  buildDockerGatewayArguments,
  DOCKER_ENVIRONMENT,
  DOCKER_GATEWAY_COMMAND,
  type DockerGatewayOptions,
} from './docker-gateway.ts'
export { formatDuration, parseDuration } from './duration.ts'
export { type PolicySources, resolvePolicy, type SourcedFields, type ToolPolicy } from './effective-policy.ts'
export { ERRORS, type ErrorCode, type ErrorKind, messageOf, SallyportError } from './errors.ts'
export type { CallFacts, EventType, LoggedEvent, ReturnedFacts, SallyportEvent } from './events.ts'
export { excerpt, quoteText, redactAndCut } from './excerpt.ts'
export { type Expansion, expandVars, type VarIssue } from './expand-vars.ts'
export { ExpiringMap } from './expiring-map.ts'
export { findSecrets, redactText, redactTruncatedText } from './find-secrets.ts'
export { type Finding, type FindingKind, formatFinding } from './finding.ts'
export type { FoundPath } from './found-path.ts'
export { compileNameGlob, isNameGlob } from './glob.ts'
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
  prettyPrintJson,
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
export { type ArgumentDetail, isSecretFieldName, type RecordedOptions, toRecordedArguments } from './kept-arguments.ts'
export { type DiffLine, diffLines } from './line-diff.ts'
export { isLoopback } from './loopback.ts'
export { listSecretForms, maskSecrets } from './mask-secrets.ts'
export { matchWildcards } from './match-runs.ts'
export { formatParam, type McpParam, matchesParam, PARAM_PREFIX, readMcpParams } from './mcp-params.ts'
export { isMode, MODES, type Mode } from './mode.ts'
export { type ApprovalTraits, evaluateMode, type ModeRules, type ModeTraits, resolveApproval } from './mode-rules.ts'
export { checkTransition, isStricter, type ModeChanger, NEXT_MODES } from './mode-transitions.ts'
export { isMultipleOf } from './multiple-of.ts'
export { tokenizeName } from './name-tokens.ts'
export { foldName, hashedNames, NameTable, type Naming, plainName, toWireName } from './names.ts'
export { wrapOutputSchema } from './output-schema.ts'
export { compileTrustedSchema } from './own-schema.ts'
export { findPaths, findUriPaths } from './path-arguments.ts'
export type { CallRoots } from './path-readings.ts'
export { checkPathPattern, compilePathMatcher, compilePathRules, type PathCheck, type PathRules } from './path-rules.ts'
export type { LinkStatus, PathContext } from './path-world.ts'
export { PERMISSIONS, type Permission, type PermissionDeclaration, readPermissions } from './permission.ts'
export { type InferredPermission, inferPermission, type PermissionOptions } from './permission-inference.ts'
export { compileSimpleSchema, type SchemaValidator } from './plain-schema.ts'
export {
  findOtherTools,
  findPoison,
  INSPECTION_VERSION,
  type NeighborOptions,
  type Neighbors,
} from './poisoning.ts'
export { type Principal, parseOwnerKey, toOwnerKey } from './principal.ts'
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
export { looksRandom } from './random-looking.ts'
export { type InferredRisk, inferRisk, type RiskOptions } from './risk.ts'
export { RISK_TOKENS, type RiskTokens } from './risk-tokens.ts'
export { createSecretSearch, mayHoldSecret } from './secret-anchors.ts'
export { checkSecrets } from './secret-in.ts'
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
export { findWeakness, GENERATE_SECRET_HINT } from './shared-secret.ts'
export { quoteForShell } from './shell-word.ts'
export { ShortLivedMap } from './short-lived-map.ts'
export { toCamelCase, toSnakeCase } from './spelling.ts'
export { splitShellWords } from './split-words.ts'
export { mergePolicies } from './stricter-policy.ts'
export { takesPath } from './takes-path.ts'
export type { CompilePattern, TextPattern } from './text-pattern.ts'
export { estimateTokens } from './tokens.ts'
export { BUILT_IN_SERVER, canonicalName, type ToolDefinition, type ToolRef } from './tool.ts'
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
} from './tool-policy.ts'
export { type CompiledSelectors, compileSelectors, type SelectionContext } from './tool-selectors.ts'
export { estimateToolTokens } from './tool-tokens.ts'
export { checkArgumentName } from './unknown-argument.ts'
export {
  formatMismatch,
  formatOptions,
  formatTypes,
  formatViolations,
  unknownKeyViolation,
  type ValuePath,
  type Violation,
} from './violation.ts'
export { cutText, toPlainText, toVisibleText } from './visible-text.ts'
