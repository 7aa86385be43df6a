export { hasOpenStatement, watchUnowned } from './call-statements.ts'
export { findConnectRefusal } from './connect-refusal.ts'
export { adoptGatewayLabel } from './gateway-label.ts'
export type { Label, PrivateDataset } from './label.ts'
export { finalizeLabel, PRIVATE_DATA_META, readLabelEntry } from './label-meta.ts'
export { type LabelOptions, type LabelSettings, readLabelOptions } from './label-settings.ts'
export { type LabelOwner, type LabelStore, type LabelStoreOptions, openLabelStore } from './label-store.ts'
export { hasLabel, type PrivateData, privateData } from './session-data.ts'
export {
  type LabelClaim,
  type LabelTrust,
  readLabelClaim,
  readLabelMeta,
  type SessionClaim,
  signLabel,
  verifyLabel,
} from './signed-label.ts'
