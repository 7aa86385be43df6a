import { describe, expect, it } from 'vitest'
import { createContainerDriver } from './container-driver.ts'
import { DOCKER } from './engine.ts'
import { explainReply } from './engine-problems.ts'

describe('a container engine', () => {
  it('is not used where its containers run in a virtual machine', async () => {
    const owner = () => ({ state: 'a', run: 'b', process: '1' })
    const driver = createContainerDriver({ kind: DOCKER, environment: process.env, owner, platform: 'darwin' })
    expect(await driver.probe()).toMatchObject({ ok: false, reason: expect.stringContaining('virtual machine') })
  })

  it.each([
    ['Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?', 'systemctl start docker'],
    ['permission denied while trying to connect to the Docker daemon socket at unix:///x', 'group "docker"'],
    ['error setting rlimits: RLIMIT_NOFILE: operation not permitted', 'default_ulimits'],
    ['crun: cgroups in hybrid mode not supported', 'runc'],
    ['unknown flag: --pull', 'too old'],
    ['something else', 'docker run --rm'],
  ])('that says %j is explained', (stderr, fix) => {
    const problem = explainReply(DOCKER, { code: 1, stdout: '', stderr })
    expect(problem.reason).toContain('docker: ')
    expect(problem.fix).toContain(fix)
  })

  it('that does not answer is explained too', () => {
    const problem = explainReply(DOCKER, { code: null, stdout: '', stderr: '' })
    expect(problem.reason).toBe('docker: docker ended with a timeout and no message')
  })
})
