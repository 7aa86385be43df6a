import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { errorOf, type Outcome, runCommand } from '../harness/run-command.ts'
import { endProcess, type RunningGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { runNotesGateway } from './notes-gateway.ts'

const call = ({ mcp }: RunningGateway, name: string, args: object = {}) =>
  modernRequest(mcp, 'tools/call', { name, arguments: args })

/** Reads, a search, one that is not approved, and one that is no good. */
async function someCalls(running: RunningGateway): Promise<void> {
  await call(running, 'notes_list_notes')
  await call(running, 'notes_list_notes')
  await call(running, 'notes_search_notes', { words: 'a' })
  await call(running, 'notes_search_notes', { words: 'b' })
  await call(running, 'notes_delete_note', { id: 'n1' })
  await call(running, 'notes_read_note', { wrong: true })
  await call(running, 'sallyport_system_metrics_snapshot')
}

function changed({ home }: RunningGateway, change: (text: string) => string): string {
  const file = join(home, 'new-tools.yaml')
  copyFileSync(join(home, 'tools.yaml'), file)
  writeFileSync(file, change(readFileSync(file, 'utf8')))
  return file
}

const inEntry = (text: string, tool: string, lines: string): string =>
  text.replace(`  ${tool}:\n`, `  ${tool}:\n${lines}`)
const replay = ({ home, state }: RunningGateway, ...args: readonly string[]): Promise<Outcome> =>
  runCommand(['replay', ...args, '--home', home, '--state', state])

describe(`replay: ${promise('GOV-29')}`, () => {
  it('changes nothing by the rules that were in force, while a gateway runs and after it', async () => {
    const running = await runNotesGateway()
    await someCalls(running)
    const expected = { code: 0, stdout: '', stderr: '7 calls: 7 unchanged, 0 changed.\n' }
    expect(await replay(running, '--since', '1h', '--fail-on-change')).toEqual(expected)
    await endProcess(running.child)
    expect(await replay(running, '--fail-on-change')).toEqual(expected)
    expect(running.records().filter(({ type }) => type === 'GATEWAY_STARTED')).toHaveLength(1)
  })

  it('lists what a stricter file changes by tool and rule, and exits with 6 if that is requested', async () => {
    const running = await runNotesGateway()
    await someCalls(running)
    const file = changed(running, (text) => {
      const strict = inEntry(text, 'mcp__notes__list_notes', '    requires_approval_in_modes: [NORMAL]\n')
      return inEntry(strict, 'mcp__notes__search_notes', '    arguments: { words: { enum: [b] } }\n')
    })
    const line =
      readFileSync(file, 'utf8')
        .split('\n')
        .findIndex((text) => text.includes('enum: [b]')) + 1
    const { code, stdout, stderr } = await replay(running, '--tools', file, '--fail-on-change')
    expect(stdout).toMatch(/^2 calls of mcp__notes__list_notes: allowed → asks\n/)
    expect(stdout).toContain(`1 call of mcp__notes__search_notes: allowed → refused\n`)
    expect(stdout).toContain(`${file}:${line}\n  such as `)
    expect(stderr).toMatch(/^7 calls: 4 unchanged, 3 changed\.\n✗ VERDICTS_CHANGED 3 of 7 calls/)
    expect(code).toBe(6)
    expect(await replay(running, '--tools', file, '--tool', 'notes/list_*', '--json')).toMatchObject({ code: 0 })
    const only = JSON.parse((await replay(running, '--tools', file, '--tool', 'notes/search_*', '--json')).stdout)
    expect(only).toMatchObject({ calls: 2, changed: 1, changes: [{ from: 'allow', to: 'deny', rule: { file, line } }] })
    expect(await replay(running, '--tools', file, '--until', '1h')).toMatchObject({ code: 0, stdout: '' })
  })

  it('shows what a less strict file would allow, and what another mode would have decided', async () => {
    const running = await runNotesGateway()
    await someCalls(running)
    const file = changed(running, (text) => text.replaceAll('requires_approval: true', 'requires_approval: false'))
    expect((await replay(running, '--tools', file)).stdout).toMatch(
      /^1 call of mcp__notes__delete_note: asks → allowed\n/,
    )
    const locked = JSON.parse((await replay(running, '--mode', 'lockdown', '--json')).stdout)
    expect(locked).toMatchObject({ calls: 7, same: 1, changed: 6 })
    const config = join(running.home, 'new-config.yaml')
    writeFileSync(
      config,
      readFileSync(join(running.home, 'config.yaml'), 'utf8').replace(
        '"notes.mjs"],',
        '"notes.mjs"],"exclude_tools":["list_notes"],',
      ),
    )
    const excluded = await replay(running, '--config', config)
    expect(excluded.stdout).toMatch(
      /^2 calls of mcp__notes__list_notes: allowed → refused\n.*\n {2}\S*new-config\.yaml:1\n/,
    )
  })

  it('prints warnings for its files, and says that rules that are not enforced refuse nothing', async () => {
    const running = await runNotesGateway()
    await someCalls(running)
    const { governance: _, ...config } = JSON.parse(readFileSync(join(running.home, 'config.yaml'), 'utf8'))
    const file = join(running.home, 'watching.yaml')
    writeFileSync(file, JSON.stringify({ ...config, governance: { enforce: false, approval_timeot: '60s' } }))
    const { stderr } = await replay(running, '--config', file)
    expect(stderr).toMatch(/^! watching\.yaml:1:\d+ governance\.enforce: rules are only watched/m)
    expect(stderr).toMatch(
      /^! watching\.yaml:1:\d+ governance\.approval_timeot: .* Did you mean "approval_timeout"\?$/m,
    )
  })

  it('counts a call as undecided if a rule needs a value that is not recorded', async () => {
    const running = await runNotesGateway({ audit: { arguments: 'shape' } })
    await someCalls(running)
    const file = changed(running, (text) =>
      inEntry(text, 'mcp__notes__search_notes', '    arguments: { words: { enum: [b] } }\n'),
    )
    const { code, stdout, stderr } = await replay(running, '--tools', file, '--fail-on-change')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '7 calls: 5 unchanged, 0 changed, 2 cannot be decided.\n' })
    expect(stdout).toMatch(/^Undecided:\n {2}2 calls of mcp__notes__search_notes: a rule checks arguments/)
  })

  it('refuses a file that is broken or missing, and names the line', async () => {
    const running = await runNotesGateway()
    const broken = changed(running, (text) => `${text}\n  : [`)
    const refused = await replay(running, '--tools', broken, '--json')
    expect([refused.code, errorOf(refused).code]).toEqual([1, 'TOOLS_FILE_INVALID'])
    expect(errorOf(refused).message).toMatch(/new-tools\.yaml:\d+:\d+: /)
    expect(errorOf(await replay(running, '--tools', 'nowhere.yaml', '--json')).code).toBe('USAGE')
    expect(errorOf(await replay(running, '--mode', 'NORMALE', '--json')).message).toContain('NORMAL')
  })
})
