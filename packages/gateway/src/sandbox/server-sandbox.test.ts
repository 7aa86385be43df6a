import type { ChildProcess } from 'node:child_process'
import type { NetworkMode } from '@sallyport/core'
import { expect, it } from 'vitest'
import type { Sandbox } from './open-sandbox.ts'
import { ServerSandbox } from './server-sandbox.ts'

/** A sandbox whose program cannot be stopped, as if the engine of its container did not answer. */
function createUnstoppable() {
  const modes: NetworkMode[] = []
  const notes: string[] = []
  const sandbox: Pick<Sandbox, 'admit' | 'setPolicy'> = {
    admit: async () => ({ pid: 1, signal: () => {}, stop: () => Promise.reject(new Error('no answer')) }),
    setPolicy: ({ mode }) => {
      modes.push(mode)
      return { cut: 0 }
    },
  }
  const opened = new ServerSandbox({
    ...{ sandbox: sandbox as Sandbox, driver: 'docker', hasHostNetwork: false },
    ...{ mode: 'FULL', since: 0, onClose: () => {} },
    server: {
      ...{
        server: 'files',
        driver: 'docker',
        image: undefined,
        command: ['files'],
        cwd: undefined,
        env: {},
        mounts: [],
      },
      ...{ networkMode: () => 'FULL', calls: () => [], onNote: (text) => notes.push(text) },
    },
  })
  return { opened, modes, notes }
}

it('takes the network from a program that cannot be stopped, and never gives it back', async () => {
  const { opened, modes, notes } = createUnstoppable()
  await opened.admit({} as ChildProcess)
  opened.stop('was stopped: its session has ended')
  await expect.poll(() => modes).toEqual(['NONE'])
  expect(notes).toEqual(['It could not be stopped, so it has no network any more.'])
  expect(opened.facts.mode).toBe('NONE')
  // The label of another session has risen, or the list of allowed hosts has changed.
  opened.apply((mode) => ({ mode, allow: [] }))
  expect(modes).toEqual(['NONE', 'NONE'])
  expect(opened.endReason).toBe('was stopped: its session has ended')
})
