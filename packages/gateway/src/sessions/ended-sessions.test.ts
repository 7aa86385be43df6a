import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Principal } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { EndedSessions } from './ended-sessions.ts'

const ANN: Principal = { user: 'ann', agent: 'any', profile: 'default', session: 'local', role: 'agent' }

const KEPT = { ended: 1_000, isPurged: false }

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
    expect(await ended.end(ANN, KEPT)).toBe('local~2')
    expect(ended.renew(ANN)).toEqual({ ...ANN, session: 'local~2' })
    expect(ended.renew(ANN)).toBe(ended.renew(ANN))
    expect(await ended.end({ user: 'ann', session: 'local~2' }, KEPT)).toBe('local~3')
    expect(open().renew(ANN).session).toBe('local~3')
  })

  it('is that of one user only, and a name that only looks like a later one is its own', async () => {
    const ended = open()
    await ended.end(ANN, KEPT)
    expect(ended.renew({ ...ANN, user: 'bob' }).session).toBe('local')
    expect(await ended.end({ user: 'ann', session: 'local~7' }, KEPT)).toBe('local~7~2')
    expect(ended.renew(ANN).session).toBe('local~2')
  })

  it('stays ended if it is ended again: the next one goes on, and its data may be purged later', async () => {
    const ended = open()
    expect(await ended.end(ANN, KEPT)).toBe('local~2')
    expect(ended.isClosed(ANN)).toBe(false)
    expect(await ended.end(ANN, { ...KEPT, isPurged: true })).toBe('local~2')
    expect(ended.renew(ANN).session).toBe('local~2')
    expect([ended.isClosed(ANN), ended.isClosed({ user: 'ann', session: 'local~2' })]).toEqual([true, false])
    expect(open().removals).toEqual([{ owner: { user: 'ann', session: 'local' }, ended: 1_000, isPurged: true }])
    await ended.forgetRemoval(ANN)
    expect([ended.isClosed(ANN), ended.removals, open().removals]).toEqual([true, [], []])
  })

  it('is ended by each of several commands at once', async () => {
    const ended = open()
    const users = ['ann', 'bob', 'eve']
    await Promise.all(users.map((user) => ended.end({ user, session: 'local' }, KEPT)))
    expect(users.map((user) => open().renew({ ...ANN, user }).session)).toEqual(users.map(() => 'local~2'))
  })

  it.each(['', 'null', '{"ended":[]}'])('goes on if the file is damaged: %j', async (text) => {
    await writeFile(join(state, 'ended-sessions.json'), text)
    expect(open().renew(ANN)).toBe(ANN)
    expect(warnings).toEqual([expect.stringContaining('is damaged')])
  })
})
