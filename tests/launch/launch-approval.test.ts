import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { inTerminal } from '../harness/in-terminal.ts'
import { readRecords } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { LaunchBench, type Seen, type StartOptions } from './launch-bench.ts'

const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** A user whose rules want every `echo` approved, and soon. */
function bench(governance: object = {}): LaunchBench {
  const made = new LaunchBench({ governance })
  undo.push(() => made.close())
  writeFileSync(join(made.place.home, 'tools.yaml'), 'tools:\n  one/echo: { requires_approval: true }\n')
  return made
}

/** An agent that calls `echo` and would approve it where it is asked. */
async function callEcho(at: LaunchBench, args: readonly string[], options: StartOptions): Promise<Seen> {
  const env = { ...options.env, FAKE_ANSWER: 'once', FAKE_TOOL: 'one_echo', FAKE_ARGUMENTS: '{"text":"made"}' }
  const run = at.start([...args, 'call'], { ...options, env })
  await run.end()
  return run.seen()
}

describe(`${promise('GOV-20')} the person in front of an agent that \`run\` started (${promise('AG-17')})`, () => {
  it('is asked by the agent itself, and may approve', async () => {
    const at = bench()
    const { asked, answer } = await callEcho(at, [], { through: inTerminal })
    const message = expect.stringContaining('Approve a call of mcp__one__echo')
    expect(asked).toEqual([{ message, fields: ['answer', 'why'] }])
    expect(answer?.result?.content).toEqual([{ type: 'text', text: '{"text":"made"}' }])
    const answered = readRecords(at.place.state).find(({ type }) => type === 'APPROVAL_ANSWERED')
    expect(answered).toMatchObject({ answer: 'once', via: 'client' })
  })

  it('sees no field that Codex could not leave empty', async () => {
    const env = { FAKE_NAME: 'codex-mcp-client' }
    const { asked, answer } = await callEcho(bench(), [], { through: inTerminal, env })
    expect(asked).toMatchObject([{ fields: ['answer'] }])
    expect(answer?.result?.isError).not.toBe(true)
  })

  it.each([
    ['there is no terminal', [], {}],
    ['the agent runs without a person', ['-p', 'do it'], { through: inTerminal }],
  ])('is not asked if %s', async (_where, args, options) => {
    const { asked, answer } = await callEcho(bench({ approval_timeout: '1s' }), args, options)
    expect(asked).toEqual([])
    expect(JSON.stringify(answer)).toContain('APPROVAL_EXPIRED')
  })

  it('is not asked if the profile says so', async () => {
    const at = bench({ approval_timeout: '1s' })
    at.writeProfiles({ CLAUDE_CODE: { DEFAULT: { client_approval: false } } })
    const { asked, answer } = await callEcho(at, [], { through: inTerminal })
    expect(asked).toEqual([])
    expect(JSON.stringify(answer)).toContain('APPROVAL_EXPIRED')
  })
})
