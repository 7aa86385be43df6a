import { describe, expect, it } from 'vitest'
import { PRESETS } from './preset.ts'
import { shapeText } from './shape-text.ts'

const preset = { ...PRESETS.default, threshold: 8_000, previewTokens: 4_000 } as NonNullable<typeof PRESETS.default>
const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `row ${id}` }))
const wide = Object.fromEntries(rows.map(({ name }) => [name, 1]))

describe('the notice of a JSON preview', () => {
  it.each([
    ['a list within an object', JSON.stringify({ rows, total: 1 })],
    ['keys within an object', JSON.stringify({ wide, total: 1 })],
    ['keys of each of a few lines', `${JSON.stringify(wide)}\n${JSON.stringify(wide)}`],
  ])('does not say that it is complete if parts of %s are left out', (_, text) => {
    const { notice } = shapeText(text, preset)
    expect(notice).toContain('parts cut')
    expect(notice).not.toContain('only white space')
  })

  it('says so if only white space is missing', () => {
    const text = JSON.stringify({ a: [1, 2] }).replace(',', `,${' '.repeat(9_000)}`)
    expect(shapeText(text, preset).notice).toContain('only white space')
  })
})
