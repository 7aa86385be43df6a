import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Principal } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { EndedSessions } from './ended-sessions.ts'

const ANN: Principal = { user: 'ann', agent: 'any', profile: 'default', session: 'local', role: 'agent' }

let state: string
let warnings: string[]

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'ended-sessions-'))
  warnings = []
})

afterEach(() => rm(state, { recursive: true, force: true }))

const open = (): EndedSessions => new EndedSessions({ state, onWarning: (text) => warnings.push(text) })

describe(`a session that was ended (${promise('SEN-3')})`, () => {
  it('is followed by another one of the same caller, also after a restart', async () => {
    const ended = open()
    expect(ended.renew(ANN)).toBe(ANN)
    expect(await ended.end(ANN)).toBe('local~2')
    expect(ended.renew(ANN)).toEqual({ ...ANN, session: 'local~2' })
    expect(ended.renew(ANN)).toBe(ended.renew(ANN))
    expect(await ended.end({ user: 'ann', session: 'local~2' })).toBe('local~3')
    expect(open().renew(ANN).session).toBe('local~3')
  })

  it('is that of one user only, and a name that only looks like a later one is its own', async () => {
    const ended = open()
    await ended.end(ANN)
    expect(ended.renew({ ...ANN, user: 'bob' }).session).toBe('local')
    expect(await ended.end({ user: 'ann', session: 'local~7' })).toBe('local~7~2')
    expect(ended.renew(ANN).session).toBe('local~2')
  })

  it.each(['', 'null', '{"ended":[]}'])('goes on if the file is damaged: %j', async (text) => {
    await writeFile(join(state, 'ended-sessions.json'), text)
    expect(open().renew(ANN)).toBe(ANN)
    expect(warnings).toEqual([expect.stringContaining('is damaged')])
  })
})
