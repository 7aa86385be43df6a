import type { JsonObject } from '@sallyport/core'

/** A picture that clients may show. */
export interface Icon {
  /** `https:` or `data:`. */
  readonly src: string
  readonly mimeType?: string
  /** `48x48`, or `any` for a scalable picture. */
  readonly sizes?: readonly string[]
  readonly theme?: 'light' | 'dark'
}

/** The member `icons` of a definition, if there are any. */
export function iconsField(icons: readonly Icon[] | undefined): JsonObject {
  return icons === undefined ? {} : { icons: icons as unknown as readonly JsonObject[] }
}
