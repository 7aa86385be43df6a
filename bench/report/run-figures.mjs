import { median, spread } from './figures.mjs'

/** Queries the numbers of a run: each is a median over rounds. `at` names a measurement: `{suite, gateway, case}`. */
export function createRunFigures({ rows }) {
  const rounds = (at) =>
    rows.filter((row) => row.suite === at.suite && row.gateway === at.gateway && row.case === String(at.case))
  const values = (at, key) => rounds(at).map((row) => row[key])
  return {
    middle: (at, key) => median(values(at, key)),
    most: (at, key) => Math.max(...values(at, key).filter(Number.isFinite), Number.NEGATIVE_INFINITY),
    spread: (at, key) => spread(values(at, key)),
    has: (suite, gateway) => rows.some((row) => row.suite === suite && row.gateway === gateway),
    /** The median of the ratios of each round: what slows a whole round down has no effect. */
    ratio: (at, base, key) => {
      const others = new Map(rounds({ ...at, gateway: base }).map((row) => [row.round, row[key]]))
      return median(rounds(at).map((row) => row[key] / others.get(row.round)))
    },
  }
}
