export { canonicalJson } from './canonical-json.ts'
export { hasDuplicateKey } from './duplicate-keys.ts'
export {
  describeResult,
  type Envelope,
  findInvalidMember,
  forbidsNull,
  type JsonMember,
  RESULT_SHAPE,
  type Span,
} from './envelope.ts'
export { findInexactNumber, hasInexactNumber, quoteInexactNumbers } from './inexact-number.ts'
export { isJson, jsonEnd } from './is-json.ts'
export type { ItemProblem } from './item-checker.ts'
export {
  addMembers,
  findMember,
  indentAt,
  type JsonStyle,
  removeMember,
  replaceSpan,
} from './json-edit.ts'
export { findJsonValue, formatPointer, readJsonPath, readPointer, rootSpan } from './json-path.ts'
export { JsonScanner, MAX_DEPTH } from './json-scanner.ts'
export { listJsonStrings } from './json-strings.ts'
export {
  countMembers,
  hasMoreValues,
  isDeeperThan,
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  tryParseJson,
} from './json-value.ts'
export {
  isJsonDeeperThan,
  isListAt,
  isObjectAt,
  isStringAt,
  listMembers,
  MemberCursor,
  skipSpace,
  stringEnd,
  valueEnd,
} from './json-walk.ts'
export { parseExactJson, printExactJson, sameExactJson } from './number-text.ts'
export { hasPlainItems } from './plain-items.ts'
export { cachePrinted, prettyPrintJson, printJson } from './print-json.ts'
export {
  MEMBER_SANITIZERS,
  sanitizeCompletion,
  sanitizeEntry,
  sanitizeLogMessage,
  sanitizeProgress,
} from './protocol-fields.ts'
export {
  findMemberSecrets,
  isEscapedJson,
  type RedactString,
  redactJson,
  redactJsonInSteps,
  redactJsonText,
  redactMember,
} from './redact-json.ts'
export { isGatewayKey, sanitizeClientInfo, sanitizeClientMeta, stripReservedMeta } from './reserved-meta.ts'
export { sameJson } from './same-json.ts'
