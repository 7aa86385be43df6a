import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLabelRecords } from './label-records.ts'

const OWNER = { user: 'ann', session: 's1' }
const PAY = { name: 'pay', sensitivity: 'SECRET' } as const

let state: string
let problems: string[]

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'sallyport-labels-'))
  problems = []
})

afterEach(() => rmSync(state, { recursive: true, force: true }))

describe('a label that cannot be stored', () => {
  it('is an error without a path, which agents must not see; the log gets that once', async () => {
    writeFileSync(join(state, 'session-labels'), 'in the way')
    const records = openLabelRecords(state, undefined, (text) => problems.push(text))
    for (const work of [() => records.raise(OWNER, PAY), () => records.settle(OWNER)]) {
      const error = await work().then(
        () => undefined,
        (thrown: Error & { text: string }) => thrown,
      )
      expect(error).toMatchObject({ code: 'STATE_UNUSABLE' })
      expect(error?.text).not.toContain(state)
    }
    expect(problems).toEqual([expect.stringContaining(state)])
  })
})
