export {
  APPROVAL_ANSWERS,
  type ApprovalAnswer,
  type ApprovalSubject,
  type EffectiveAnswer,
  findAbandonedApprovals,
  type Grant,
  type PendingApproval,
} from './approval.ts'
export { ApprovalHook } from './approval-hook.ts'
export { type ApprovalView, toApprovalView } from './approval-view.ts'
export { Approvals } from './approvals.ts'
export { CallTracker } from './call-tracker.ts'
export { EntryQuota } from './entry-quota.ts'
export { type InferenceOptions, inferPolicy } from './infer-policy.ts'
export {
  ChildSession,
  type LabelHolder,
  type LabelledSession,
  type LabelRaise,
  type PrivateDataset,
  PUBLIC_LABEL,
  type SessionLabel,
  SessionLabels,
  UNTRUSTED_DATASET,
} from './labels/session-labels.ts'
export type { LineChange } from './line-change.ts'
export { compilePattern } from './linear-pattern.ts'
export { type ModeRecord, type ModeState, openModeState, readMode } from './mode-state.ts'
export { type ModeWatch, openModeWatch } from './mode-watch.ts'
export {
  cachePin,
  computePin,
  decodeDigests,
  encodeDigests,
  findNeighborMentions,
  inspectionKey,
  inspectOffer,
  OfferRegistry,
  resolveFindings,
  reviewedText,
  type StoredDigests,
} from './offer-registry.ts'
export { createServerPathContext, REMOTE_PATH_CONTEXT } from './path-context.ts'
export { type Approver, openProgramApproval, type ProgramAnswer } from './program-approval.ts'
export { RetryableApprovals } from './retryable-approvals.ts'
export { type ArgumentCheck, openArgumentCheck } from './schema-check/schema-check.ts'
export { formatIssue, readToolsBytes, ToolsEditor, type ToolsFileChange } from './tools-editor.ts'
export type { FieldChange, NewEntry } from './tools-file/tools-file.ts'
