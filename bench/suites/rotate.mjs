/** Each round begins with another gateway, so that none is always measured after the same one. */
export const rotate = (list, by) => list.map((_, index) => list[(index + by) % list.length])
