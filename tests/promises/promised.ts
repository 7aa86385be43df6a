/** One promise of the product, as data. */
export interface Promised {
  readonly text: string
  /** A partial promise is kept in the parts that are built; `missing` names the rest. */
  readonly state: 'built' | 'partial'
  readonly missing?: string
}
