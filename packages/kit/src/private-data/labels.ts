/** The store of labels alone, for programs that keep labels of their own and must not load the whole kit. */
export type { Label, PrivateDataset } from './label.ts'
export { type LabelOwner, type LabelStore, type LabelStoreOptions, openLabelStore } from './label-store.ts'
