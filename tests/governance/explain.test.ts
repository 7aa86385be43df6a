import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import type { Place, RunningGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { runNotesGateway } from './notes-gateway.ts'

const KEY = `AKIA${'IOSFODNN7EXAMPLF'}`

const recordsOf = (running: RunningGateway, type: string) => running.records().filter((record) => record.type === type)

async function call({ mcp }: RunningGateway, name: string, args: object = {}): Promise<string> {
  const { message } = await modernRequest(mcp, 'tools/call', { name, arguments: args })
  return message.result?.content?.[0]?.text ?? JSON.stringify(message)
}

const run = ({ home, state }: Place, ...args: readonly string[]) =>
  runCommand([...args, '--home', home, '--state', state])

async function explained(running: RunningGateway, type: string): Promise<string> {
  const id = String(recordsOf(running, type).at(-1)?.call_id)
  const { code, stdout, stderr } = await run(running, 'explain', id)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

/** The line of a field of a tool's entry. */
function placeOf({ home }: Place, tool: string, field: string): { readonly line: number; readonly text: string } {
  const lines = readFileSync(join(home, 'tools.yaml'), 'utf8').split('\n')
  const entry = lines.findIndex((line) => line.includes(`${tool}:`))
  const line = lines.findIndex((text, at) => at > entry && text.includes(`${field}:`))
  return { line: line + 1, text: lines[line]?.trim() ?? '' }
}

function edit({ home }: Place, change: (text: string) => string): void {
  const file = join(home, 'tools.yaml')
  writeFileSync(file, change(readFileSync(file, 'utf8')))
}

describe(`explain: ${promise('GOV-25')}`, () => {
  it('names the file and the line that decided, of calls that were allowed, refused, expired and of a changed tool', async () => {
    const running = await runNotesGateway()
    edit(running, (text) => text.replace(/pin: "sha256-[0-9a-f]{64}"/, 'pin: "sha256-other"'))
    await eventually(() => recordsOf(running, 'TOOLS_FILE_RELOADED').length, Boolean)

    await call(running, 'notes_list_notes')
    const allowed = await explained(running, 'TOOL_CALL_STARTED')
    const spared = placeOf(running, 'mcp__notes__list_notes', 'requires_approval')
    expect(allowed).toMatch(/^Allowed: notes\/list_notes by any \(\S+\) at .*, answered in \d+ ms\.\n/)
    expect(allowed).toContain(`${join(running.home, 'tools.yaml')}:${spared.line}\n`)
    expect(allowed).toContain(`  ${spared.text}\n`)

    expect(await call(running, 'notes_create_note', { title: 'a', text: 'b' })).toContain('DEFINITION_CHANGED')
    const drifted = await explained(running, 'POLICY_DENIED')
    const pin = placeOf(running, 'mcp__notes__create_note', 'pin')
    expect(drifted).toMatch(/^Refused: notes\/create_note .*, by the step pin \(DEFINITION_CHANGED\), and not sent/)
    expect(drifted).toContain(`tools.yaml:${pin.line}\n`)
    // In the folders of this command, so that it is about the same gateway.
    expect(drifted).toMatch(/`sallyport tools accept mcp__notes__create_note --\w+ \S+/)

    expect(await call(running, 'notes_delete_note', { id: 'n1' })).toContain('APPROVAL_EXPIRED')
    const expired = await explained(running, 'POLICY_DENIED')
    expect(expired).toMatch(/^Refused: notes\/delete_note .*, approved by nobody within \S+ m?s, and not sent/)
    expect(expired).toContain(`tools.yaml:${placeOf(running, 'mcp__notes__delete_note', 'requires_approval').line}\n`)

    await run(running, 'mode', 'ALERT', '--why', 'a test')
    await call(running, 'notes_delete_note', { id: 'n1' })
    const refused = await explained(running, 'POLICY_DENIED')
    expect(refused).toMatch(/^Refused: .*, by the step mode \(MODE_FORBIDS\)/)
    expect(refused).toContain(`tools.yaml:${placeOf(running, 'mcp__notes__delete_note', 'allowed_in_modes').line}\n`)
    expect(refused).toMatch(/^mode +ALERT$/m)
  })

  it('says who approved a call, by which channel, and which rule required it', async () => {
    const running = await runNotesGateway({ governance: { approval_timeout: '50s' } })
    const answer = call(running, 'notes_delete_note', { id: 'n1' })
    await eventually(() => recordsOf(running, 'APPROVAL_REQUESTED').length, Boolean)
    const { approval, call_id } = recordsOf(running, 'APPROVAL_REQUESTED')[0] ?? {}
    expect((await run(running, 'explain', String(call_id))).stdout).toMatch(/^Waiting: notes\/delete_note /)
    expect(await run(running, 'approvals', 'approve', String(approval))).toMatchObject({ code: 0 })
    await answer
    const text = await explained(running, 'TOOL_CALL_STARTED')
    expect(text).toMatch(/^Allowed: notes\/delete_note .*, approved by \S+ after \S+ m?s, answered in \d+ ms/)
    expect(text).toMatch(/^ {2}✓ approve +approved \(once\) by \S+\n +\S+tools\.yaml:\d+\n +requires_approval: true/m)
    expect(text).toMatch(/^ +approved once by \S+ \(over \S+\) after /m)
  })

  it('says that the file was changed since, also in JSON', async () => {
    const running = await runNotesGateway()
    await call(running, 'notes_delete_note', { id: 'n1' })
    expect(await explained(running, 'POLICY_DENIED')).not.toContain('changed since')
    edit(running, (text) => `# A new first line.\n${text}`)
    await eventually(() => recordsOf(running, 'TOOLS_FILE_RELOADED').length, Boolean)
    expect(await explained(running, 'POLICY_DENIED')).toContain('(the file was changed since, at ')
    const [denied] = recordsOf(running, 'POLICY_DENIED')
    const { stdout } = await run(running, 'explain', String(denied?.trace_id), '--json')
    const parsed = JSON.parse(stdout)
    expect(parsed).toMatchObject({ kind: 'trace', calls: [{ call_id: denied?.call_id }] })
    expect(parsed.rules).toEqual([
      expect.objectContaining({ file: join(running.home, 'tools.yaml'), text: expect.any(String) }),
    ])
  })
})

describe(`the arguments in records: ${promise('GOV-26')}`, () => {
  it.each([
    ['none', undefined],
    ['shape', { id: 'text of 7', token: 'text of 3' }],
    ['redacted', { id: 'visible', token: '[redacted: by its name]' }],
    ['full', { id: 'visible', token: 'abc' }],
  ])('are recorded as audit.arguments says: %s', async (how, expected) => {
    const running = await runNotesGateway({ audit: { arguments: how } })
    await call(running, 'notes_read_note', { id: 'visible', token: 'abc' })
    await call(running, 'notes_read_note', { id: 'visible' })
    const [denied] = recordsOf(running, 'POLICY_DENIED')
    const [started] = recordsOf(running, 'TOOL_CALL_STARTED')
    expect(denied).toMatchObject({ error: 'ARGUMENTS_INVALID' })
    expect(denied?.arguments).toEqual(expected)
    expect(started?.arguments).toEqual(expected && { id: expected.id })
  })

  it('contain no secret, however the call ended', async () => {
    const running = await runNotesGateway()
    expect(await call(running, 'notes_read_note', { id: KEY })).toContain('SECRET_REFUSED')
    expect(recordsOf(running, 'POLICY_DENIED')[0]).toMatchObject({
      arguments: { id: expect.stringMatching(/^\[redacted/) },
    })
    expect(JSON.stringify(running.records())).not.toContain(KEY)
    expect(await explained(running, 'POLICY_DENIED')).not.toContain(KEY)
  })
})

describe(`audit: ${promise('GOV-28')}`, () => {
  it('filters the events by verdict, tool, session and trace', async () => {
    const running = await runNotesGateway()
    await call(running, 'notes_list_notes')
    await call(running, 'notes_delete_note', { id: 'n1' })
    await call(running, 'notes_read_note', { id: 'gone' })
    const found = async (...flags: readonly string[]): Promise<readonly string[]> => {
      const { stdout } = await run(running, 'audit', '--json', ...flags)
      const events = stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
      return events.map(({ type, tool_name }) => `${type} ${String(tool_name).replace('mcp__notes__', '')}`)
    }
    expect(await found('--verdict', 'ask')).toEqual(['APPROVAL_REQUESTED delete_note'])
    expect(await found('--verdict', 'expired')).toEqual(['APPROVAL_EXPIRED delete_note', 'POLICY_DENIED delete_note'])
    expect(await found('--verdict', 'failed')).toEqual(['TOOL_CALL_COMPLETED read_note'])
    expect(await found('--verdict', 'deny', '--tool', 'notes/delete_*')).toEqual(['POLICY_DENIED delete_note'])
    expect(await found('--verdict', 'deny', '--tool', 'notes/list_*')).toEqual([])
    const { trace_id, session } = recordsOf(running, 'APPROVAL_REQUESTED')[0] ?? {}
    expect(await found('--trace', String(trace_id))).toHaveLength(3)
    expect(await found('--session', String(session), '--verdict', 'ask')).toHaveLength(1)
    expect(await found('--session', 'another', '--verdict', 'ask')).toEqual([])
    expect(await found('--until', '1d')).toEqual([])
  })
})
