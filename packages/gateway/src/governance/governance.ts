export {
  APPROVAL_ANSWERS,
  type ApprovalAnswer,
  type ApprovalSubject,
  type CountedAnswer,
  type Grant,
  type PendingApproval,
} from './approval.ts'
export { ApprovalHook } from './approval-hook.ts'
export { type ApprovalView, approvalView } from './approval-view.ts'
export { Approvals } from './approvals.ts'
export { CallFate } from './call-fate.ts'
export { type KeptDigests, pinOf, printDigests, readDigests, recallPin, reviewedText } from './definition-pin.ts'
export { EntryShares } from './entry-shares.ts'
export { type InferenceOptions, inferPolicy } from './infer-policy.ts'
export {
  findingsIn,
  inspect,
  inspectionOf,
  KnownOffers,
  neighbourFindings,
} from './known-offers.ts'
export { leftApprovals } from './left-approvals.ts'
export type { LineChange } from './line-change.ts'
export { compilePattern } from './linear-pattern.ts'
export { type ModeRecord, readMode } from './mode-file.ts'
export { type ModeKeeper, openModeKeeper } from './mode-keeper.ts'
export { type ModeWatch, openModeWatch } from './mode-watch.ts'
export { REMOTE_PATH_WORLD } from './path-world.ts'
export { PatientApprovals } from './patient-approvals.ts'
export { type Approver, openProgramApproval, type ProgramAnswer } from './program-approval.ts'
export { type ArgumentCheck, openArgumentCheck } from './schema-check/schema-check.ts'
export { serverPathWorld } from './server-world.ts'
export { issueText, readToolsBytes } from './tools-bytes.ts'
export type { FieldChange, NewEntry } from './tools-file/tools-file.ts'
export { type FileNews, ToolsKeeper } from './tools-keeper.ts'
