import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { canSandbox } from './sandbox-world.ts'

const AVAILABLE = canSandbox()
/** Only these limit all processes together. An ordinary user may not create groups everywhere. */
const GROUPS = AVAILABLE && canCreateGroups()

function canCreateGroups(): boolean {
  try {
    const [path = ''] = /(?<=^\d+:memory:).*$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? []
    accessSync(join('/sys/fs/cgroup/memory', path), constants.W_OK)
    return process.getuid?.() === 0
  } catch {
    return false
  }
}

let gateway: RunningGateway

beforeAll(async () => {
  const shell = {
    command: process.execPath,
    args: [join(REPOSITORY, 'tests/fixtures/shell-server.mjs')],
    sandbox: 'auto',
  }
  const config = {
    governance: { enforce: false },
    sandbox: { limits: { memory: '300MB', temporary_files: '32MB' } },
    mcp_servers: {
      shell,
      large: { ...shell, limits: { processes: 64, temporary_files: '1GB' } },
      hungry: { ...shell, limits: { temporary_files: '1GB' } },
    },
  }
  gateway = await runGateway({ config })
})
afterAll(() => gateway.stop())

async function run(script: string, server = 'shell'): Promise<string> {
  const params = { name: `${server}_run`, arguments: { script } }
  const { message } = await modernRequest(gateway.mcp, 'tools/call', params)
  return message.result?.content?.[0]?.text ?? JSON.stringify(message)
}

/** How many processes see this one, from outside. */
const countWith = (text: string): number =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandLine(name).includes(text)).length

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

describe.skipIf(!AVAILABLE)(`the limits of a server in a sandbox (${promise('SEN-13')})`, () => {
  it('are those of the section, and for its own keys those of its entry', async () => {
    const script = 'cat /proc/self/limits; df --output=size -B1 /tmp | tail -1'
    const [shell, large] = [await run(script), await run(script, 'large')]
    expect(shell).toMatch(/^Max data size\s+314572800\s+314572800/m)
    expect(shell).toMatch(/^Max core file size\s+0\s+0/m)
    expect(shell).toMatch(/^\s*33554432$/m)
    expect(large).toMatch(/^Max processes\s+64\s+64/m)
    expect(large).toMatch(/^Max data size\s+314572800/m)
    expect(large).toMatch(/^\s*1073741824$/m)
  })

  it('end a program that needs more memory, and let it live if it writes too many temporary files', async () => {
    expect(await run('head -c 400M /dev/zero | tail -c 400M | wc -c')).toMatch(
      /memory exhausted|Cannot allocate|Killed/,
    )
    expect(await run('dd if=/dev/zero of=/tmp/big bs=1M count=100; rm /tmp/big')).toContain('No space left on device')
  })

  it.skipIf(!GROUPS)('hold for all of its processes together, also for those of root', async () => {
    const forks = 'i=0; while [ $i -lt 300 ]; do sleep 98765 >/dev/null 2>&1 & i=$((i+1)); done'
    expect(await run(forks, 'large')).toMatch(/Cannot fork|Resource temporarily unavailable/)
    expect(countWith('98765')).toBeLessThan(64)
  })

  it.skipIf(!GROUPS)('hold for memory and temporary files together, and say so', async () => {
    // The kernel kills the largest process, which is the server here.
    const text = await run('dd if=/dev/zero of=/tmp/big bs=1M count=900; sleep 1000', 'hungry')
    expect(text).toContain('limit of 300 MiB (sandbox.limits.memory)')
  })
})
