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
export { EntryQuota } from './entry-shares.ts'
export { type InferenceOptions, inferPolicy } from './infer-policy.ts'
export {
  cachePin,
  decodeDigests,
  encodeDigests,
  findNeighborMentions,
  inspectionKey,
  inspectOffer,
  OfferRegistry,
  pinOf,
  resolveFindings,
  reviewedText,
  type StoredDigests,
} from './known-offers.ts'
export { findAbandonedApprovals } from './left-approvals.ts'
export type { LineChange } from './line-change.ts'
export { compilePattern } from './linear-pattern.ts'
export { type ModeRecord, type ModeState, openModeState, readMode } from './mode-keeper.ts'
export { type ModeWatch, openModeWatch } from './mode-watch.ts'
export { REMOTE_PATH_WORLD } from './path-world.ts'
export { RetryableApprovals } from './patient-approvals.ts'
export { type Approver, openProgramApproval, type ProgramAnswer } from './program-approval.ts'
export { type ArgumentCheck, openArgumentCheck } from './schema-check/schema-check.ts'
export { createServerPathWorld } from './server-world.ts'
export type { FieldChange, NewEntry } from './tools-file/tools-file.ts'
export { formatIssue, readToolsBytes, ToolsEditor, type ToolsFileChange } from './tools-keeper.ts'
