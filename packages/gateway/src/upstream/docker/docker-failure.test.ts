import { describe, expect, it } from 'vitest'
import { explainDockerFailure } from './docker-failure.ts'

const PLUGIN = 'this Docker has no `mcp` plugin'
const DAEMON = 'the Docker daemon does not run, or cannot be reached'

describe('the last output of Docker', () => {
  it.each([
    [["docker: 'mcp' is not a docker command.", "See 'docker --help'"], PLUGIN],
    [['docker: unknown command: docker mcp', '', "Run 'docker --help' for more information"], PLUGIN],
    [['unknown flag: --servers', "See 'docker --help'."], PLUGIN],
    [['Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?'], DAEMON],
    [['failed to connect to the docker API at unix:///d.sock; check if the path is correct'], DAEMON],
    [['- Reading configuration', 'Docker Desktop is not running'], DAEMON],
    [['permission denied while trying to connect to the Docker daemon socket at unix:///d'], 'this user may not use'],
    [['unknown flag: --static', "See 'docker mcp gateway run --help'."], 'does not know one of the options'],
  ])('%j', (lines, meaning) => {
    expect(explainDockerFailure(lines)).toContain(meaning)
  })

  it('is quoted, but shortened', () => {
    const text = explainDockerFailure([`Cannot connect to the Docker daemon at ${'x'.repeat(5_000)}`])
    expect(text).toContain('(it said: Cannot connect')
    expect(text?.length).toBeLessThan(400)
  })

  it.each([[[]], [['listening', 'exit status 2']]])('gives no explanation if it is unknown: %j', (lines) => {
    expect(explainDockerFailure(lines)).toBeUndefined()
  })
})
