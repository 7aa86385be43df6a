/** Docker reads its lists as CSV: a comma would make two of one, a quote one of two, and a hyphen in front an option. */
export const LIST_ITEM = /^[^-\s,"'][^\s,"']*$/

export const isListItem = (text: string): boolean => LIST_ITEM.test(text)
