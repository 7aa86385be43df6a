/** The first to be visited is another one each round, so that none is always measured under the same neighbour's heat. */
export const rotate = (list, by) => list.map((_, index) => list[(index + by) % list.length])
