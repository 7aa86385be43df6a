export { canonicalJson } from './canonical-json.ts'
export type { Envelope, JsonMember, Span } from './envelope.ts'
export { findInexactNumber, hasInexactNumber, quoteInexactNumbers } from './inexact-number.ts'
export type { ItemFlaw } from './item-notes.ts'
export {
  addMembers,
  findMember,
  indentAt,
  type JsonStyle,
  removeMember,
  replaceSpan,
} from './json-edit.ts'
export { findJsonValue, pointerTo, readJsonPath, readPointer, rootPlace } from './json-path.ts'
export { isJson, jsonEnd } from './json-proof.ts'
export { JsonScanner, MAX_DEPTH } from './json-scanner.ts'
export { jsonTexts } from './json-texts.ts'
export {
  countMembers,
  hasMoreParts,
  isDeeper,
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  jsonIn,
} from './json-value.ts'
export {
  isListAt,
  isObjectAt,
  isTextAt,
  isTextDeeper,
  jsonMembers,
  MemberCursor,
  skipSpace,
  textEnd,
  valueEnd,
} from './json-walk.ts'
export { clientMeta, withoutOwnMeta, withoutOwnName } from './own-meta.ts'
export { hasPlainItems } from './plain-items.ts'
export { keepPrinted, printForPerson, printJson } from './printed-json.ts'
export { allowedEntry, checkCompletion, checkLogMessage, checkProgress, OPTIONAL_MEMBERS } from './protocol-fields.ts'
export {
  mayHideJson,
  redactJson,
  redactJsonInSteps,
  redactJsonText,
  redactMember,
  type ShowText,
  secretsOfMember,
} from './redact-json.ts'
export { repeatsName } from './repeated-names.ts'
export { invalidMember, isNeverNull, RESULT_SHAPE, resultShape } from './result-shape.ts'
export { sameJson } from './same-json.ts'
