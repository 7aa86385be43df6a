import { cutText, toVisibleText } from '@sallyport/core'

const MAX_LABEL_LENGTH = 120

/**
 * A name that a server chose, as it stands in figures and traces. It is cut and cleaned before anything is counted under
 * it: a series that is printed twice makes a whole scrape void.
 */
export const cleanLabel = (name: string): string => toVisibleText(cutText(name, MAX_LABEL_LENGTH))
