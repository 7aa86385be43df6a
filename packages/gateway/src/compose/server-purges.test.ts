import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toOwnerKey } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { type CallerTokens, EndedSessions } from '../sessions/sessions.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { ServerPurges } from './server-purges.ts'

const ownerOf = (session: string) => ({ user: 'ada', session })

let state: string
let ended: EndedSessions
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'server-purges-'))
  ended = new EndedSessions({ state, onWarning: (text) => expect.fail(text) })
})
afterEach(() => rmSync(state, { recursive: true }))

/** A server that answers at once, but about the session `first` only when it is released, and then with an error. */
function openServer() {
  const asked: string[] = []
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const request = async ({ session }: { readonly session: string }) => {
    const isFirst = session === toOwnerKey(ownerOf('first'))
    asked.push(isFirst ? 'first' : 'another')
    if (isFirst) await released
    const answer = isFirst ? { error: { code: 1, message: 'no' } } : { result: { files: 1, bytes: 2 } }
    return { frame: { parts: [Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }))] } }
  }
  const purges = new ServerPurges({
    ended,
    servers: () => ['slow'],
    find: () => ({ request }) as unknown as Upstream,
    callers: { findForPurge: () => undefined } as unknown as Pick<CallerTokens, 'findForPurge'>,
    onWarning: (text) => expect.fail(text),
  })
  return { purges, release, asked }
}

const purgeLocally = async (...sessions: readonly string[]): Promise<void> => {
  for (const session of sessions) await ended.end(ownerOf(session), { ended: 0, isPurged: true })
}

describe(`${promise('SEN-23')} a server that keeps silent about one session`, () => {
  test('does not keep the data of others from being removed at once', async () => {
    await purgeLocally('first', 'second', 'third')
    const { purges, release, asked } = openServer()
    purges.retry()
    await vi.waitFor(() => expect(asked).toEqual(['first']))
    expect(await purges.purge(ownerOf('third'))).toMatchObject([{ server: 'slow', outcome: 'removed' }])
    release()
    await purges.close()
  })

  test('is asked once more, however often it connects meanwhile', async () => {
    await purgeLocally('first', 'second')
    const { purges, release, asked } = openServer()
    const connectOften = (): void => {
      for (let connected = 0; connected < 50; connected++) purges.retry()
    }
    connectOften()
    await vi.waitFor(() => expect(asked).toEqual(['first']))
    connectOften()
    release()
    await vi.waitFor(() => expect(asked).toEqual(['first', 'another', 'first']))
    await purges.close()
    expect(asked).toHaveLength(3)
    expect(ended.removalsAtServers).toEqual([{ owner: ownerOf('first'), done: [] }])
  })
})
