import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { admitProgram } from './admit.ts'

const start = (script: string) =>
  spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe', 'pipe', 'pipe'] })

const admission = {
  options: [],
  ports: [],
  expected: { mounts: [], user: { userMap: '', groupMap: '' }, gate: 5 },
  pipes: { options: 3, info: 4, gate: 5, filter: 6 },
}

it('ends a bubblewrap that hangs before there is a sandbox', async () => {
  const child = start('exec sleep 1000')
  const exited = once(child, 'exit')
  await expect(admitProgram(child, { ...admission, timeoutMs: 50 })).rejects.toThrow('was not ready after 0.05 seconds')
  expect(await exited).toEqual([null, 'SIGKILL'])
})

it('says how a bubblewrap ended that created no sandbox', async () => {
  await expect(admitProgram(start('exit 3'), admission)).rejects.toThrow('bubblewrap exited with code 3')
})
