import { expect, it } from 'vitest'
import { layoutFlow, share } from './flow-layout.ts'

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

it.each([[[1]], [[1, 1_000_000]], [[0, 5, 5]], [[900, 90, 9, 1, 0]], [[1, 1, 1, 1, 1, 100_000]]])(
  'a height is divided without a rest, and nothing is too thin to be seen: %j',
  (counts) => {
    const heights = share(130, counts)
    expect(sum(heights)).toBeCloseTo(130)
    for (const [at, count] of counts.entries())
      if (count === 0) expect(heights[at]).toBe(0)
      else expect(heights[at]).toBeGreaterThanOrEqual(2.5)
  },
)

it('what comes in is what passes, is asked about, or is refused', () => {
  const { agents, servers, passed, asked, refused } = layoutFlow({
    agents: [
      { name: 'codex', calls: 70 },
      { name: 'amp', calls: 30 },
    ],
    servers: [{ name: 'files', calls: 90 }],
    ...{ calls: 90, asked: 20, refused: 10 },
  })
  expect(sum(agents.map(({ height }) => height))).toBeCloseTo(passed.height + asked.height + refused.height)
  expect(servers[0]?.height).toBeCloseTo(passed.height + asked.height)
  expect(refused.y).toBeCloseTo(asked.y + asked.height)
})

it('nothing is drawn without calls', () => {
  const { agents, passed } = layoutFlow({ agents: [], servers: [], calls: 0, asked: 0, refused: 0 })
  expect(agents).toEqual([])
  expect(passed.height).toBe(0)
})
