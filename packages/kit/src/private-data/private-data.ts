export type { Label, PrivateDataset } from './label.ts'
export { type LabelOwner, type LabelStore, type LabelStoreOptions, openLabelStore } from './label-store.ts'
export { type PrivateData, privateData } from './session-data.ts'
