import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { cli, createTestHome, startProgram, type TestHome, waitForOutput } from '../cli.test-kit.ts'

const TOOLS = 'tools:\n  mcp__clock__current_time: { requires_approval: true, enforce: true }\n'

/** A call in a terminal of its own: what it says at first, and what it has printed when it is over. */
async function call(at: TestHome, ...flags: readonly string[]) {
  const child = startProgram(['call', 'clock/current_time', ...flags, '--state', at.state], { at })
  let out = ''
  child.stdout?.on('data', (chunk) => {
    out += String(chunk)
  })
  const words = await waitForOutput(child.stderr, /approvals approve .+\n$/)
  const over = once(child, 'close').then(([exit]) => ({ exit, stdout: out }))
  return { words, over }
}

/** Runs what stands after the name of the program. */
const answer = (command: string) => cli(command.split(' ').slice(1))

describe(`a call that waits for approval (${promise('GOV-20')})`, () => {
  it('reports that at once, with the command that answers it', async () => {
    const at = createTestHome()
    writeFileSync(join(at.home, 'tools.yaml'), TOOLS)
    // The first has a gateway of its own, which the second joins over its socket.
    const first = await call(at)
    const second = await call(at, '--json')
    const { waiting } = JSON.parse(second.words)
    expect(waiting).toMatchObject({ approval: expect.any(String), expires: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(await answer(waiting.command.replace('approve', 'deny'))).toMatchObject({ exit: 0 })
    const refused = await second.over
    expect(refused.exit).toBe(4)
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'APPROVAL_DENIED' } })

    expect(first.words).toMatch(/^… The call waits for approval \w+ until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\. /m)
    const [, command = ''] = /another terminal: (.+)\n$/.exec(first.words) ?? []
    expect(await answer(command)).toMatchObject({ exit: 0 })
    expect(await first.over).toMatchObject({ exit: 0, stdout: expect.stringContaining('UTC') })
  })

  it('reports one of a private session as what can be approved, since the call itself does not wait', async () => {
    const at = createTestHome()
    const tool = { permission: ['CONNECT'], sensitivity: 'confidential', requires_approval: false, enforce: true }
    writeFileSync(join(at.home, 'tools.yaml'), JSON.stringify({ tools: { mcp__clock__current_time: tool } }))
    const call = (...flags: readonly string[]) => cli(['call', 'clock/current_time', ...flags], { at })
    // This call makes the session private.
    expect(await call()).toMatchObject({ exit: 0 })
    const refused = await call()
    expect(refused.exit).toBe(4)
    expect(refused.stderr).toMatch(
      /^… The call does not wait\. It can be approved until .*\n {2}Approve it with: sallyport /,
    )
    expect(refused.stderr).not.toContain('waits for approval')
    const { stderr } = await call('--json')
    expect(JSON.parse(stderr.split('\n')[0] ?? '')).toMatchObject({
      approvable: { approval: expect.any(String), command: expect.stringContaining(at.state) },
    })
  })
})
