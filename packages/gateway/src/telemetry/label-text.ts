import { cutText, visibleText } from '@sallyport/core'

const LONGEST = 120

/**
 * A name that a server chose, as it stands in figures and traces. It is cut and cleaned before anything is counted under
 * it: a series that is printed twice makes a whole scrape void.
 */
export const labelText = (name: string): string => visibleText(cutText(name, LONGEST))
