export {
  APPROVAL_ANSWERS,
  type ApprovalAnswer,
  type ApprovalSubject,
  type EffectiveAnswer,
  type Grant,
  type PendingApproval,
} from './approval.ts'
export { ApprovalHook } from './approval-hook.ts'
export { type ApprovalView, toApprovalView } from './approval-view.ts'
export { Approvals } from './approvals.ts'
export { CallTracker } from './call-fate.ts'
export { cachePin, decodeDigests, encodeDigests, pinOf, reviewedText, type StoredDigests } from './definition-pin.ts'
export { EntryQuota } from './entry-shares.ts'
export { type InferenceOptions, inferPolicy } from './infer-policy.ts'
export {
  findNeighborMentions,
  inspectionKey,
  inspectOffer,
  OfferRegistry,
  resolveFindings,
} from './known-offers.ts'
export { findAbandonedApprovals } from './left-approvals.ts'
export type { LineChange } from './line-change.ts'
export { compilePattern } from './linear-pattern.ts'
export { type ModeRecord, readMode } from './mode-file.ts'
export { type ModeState, openModeState } from './mode-keeper.ts'
export { type ModeWatch, openModeWatch } from './mode-watch.ts'
export { REMOTE_PATH_WORLD } from './path-world.ts'
export { RetryableApprovals } from './patient-approvals.ts'
export { type Approver, openProgramApproval, type ProgramAnswer } from './program-approval.ts'
export { type ArgumentCheck, openArgumentCheck } from './schema-check/schema-check.ts'
export { createServerPathWorld } from './server-world.ts'
export { formatIssue, readToolsBytes } from './tools-bytes.ts'
export type { FieldChange, NewEntry } from './tools-file/tools-file.ts'
export { ToolsEditor, type ToolsFileChange } from './tools-keeper.ts'
