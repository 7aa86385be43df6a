import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ORACLES, yaml12 } from '../../packages/gateway/src/governance/tools-file/yaml-oracle.test-kit.ts'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { type Outcome, runCommand } from '../harness/run-command.ts'
import {
  endProcess,
  makePlace,
  type Place,
  REPOSITORY,
  type RunningGateway,
  runGateway,
} from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { createChangingTools, type ToolText } from './changing-tools.ts'

const server = (name: string): string =>
  join(REPOSITORY, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`)

function placeWith(servers: Readonly<Record<string, object>>): Place {
  const place = makePlace({ governance: {}, mcp_servers: servers })
  onTestFinished(() => place.remove())
  return place
}

async function run(place: Place): Promise<RunningGateway> {
  const gateway = await runGateway({ place })
  onTestFinished(() => endProcess(gateway.child))
  return gateway
}

const fileOf = ({ home }: Place): string => join(home, 'tools.yaml')
const yamlOf = (place: Place): string => (existsSync(fileOf(place)) ? readFileSync(fileOf(place), 'utf8') : '')
const toolsIn = (text: string): Readonly<Record<string, Record<string, unknown>>> =>
  (yaml12(text)?.value as { tools?: Record<string, Record<string, unknown>> } | undefined)?.tools ?? {}
const entriesOf = (place: Place): ReturnType<typeof toolsIn> => toolsIn(yamlOf(place))
const sallyport = ({ home, state }: Place, ...args: readonly string[]): Promise<Outcome> =>
  runCommand([...args, '--home', home, '--state', state])

async function namesIn({ mcp }: RunningGateway): Promise<readonly string[]> {
  const { message } = await modernRequest(mcp, 'tools/list')
  return message.result.tools.map(({ name }: { name: string }) => name)
}

describe(`${promise('GOV-1')} the first start`, () => {
  it('with three servers from npm writes a file that a person can review', async () => {
    const place = placeWith({
      everything: { command: 'node', args: [server('everything')] },
      files: { command: 'node', args: [server('filesystem'), REPOSITORY] },
      memory: { command: 'node', args: [server('memory')] },
    })
    const gateway = await run(place)
    await eventually(
      () => Object.keys(entriesOf(place)).length,
      (count) => count >= 40,
    )
    await eventually(
      () => gateway.stderr(),
      (text) => /new tools written to .*tools\.yaml \(\d+ high risk\)/.test(text),
    )
    const text = yamlOf(place)
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME')
      .replaceAll(/sha256-[0-9a-f]{64}/g, 'DIGEST')
    expect(text.slice(0, text.indexOf('tool_categories'))).toMatch(/^(# .*\n|#\n)+\n$/)
    expect(text).toContain(WRITE_FILE)
    expect(text).toContain(READ_GRAPH)
    const order = Object.keys(entriesOf(place)).map((name) => name.split('__')[1])
    // Some list more tools once they are connected: those are appended.
    expect(order.filter((name, at) => name !== order[at - 1]).length).toBeLessThanOrEqual(5)
    for (const [, entry] of Object.entries(entriesOf(place)))
      expect(entry.requires_approval, JSON.stringify(entry)).toBe(entry.risk_level === 'high')
  })

  it(`again changes nothing (${promise('GOV-3')})`, async () => {
    const tools = createChangingTools({ name: 'read_a' }, { name: 'write_b' })
    const place = placeWith({ wiki: tools.entry })
    await sallyport(place, 'tools')
    const before = yamlOf(place)
    expect(Object.keys(entriesOf(place))).toEqual(['mcp__wiki__read_a', 'mcp__wiki__write_b'])
    rmSync(place.state, { recursive: true })
    await sallyport(place, 'tools')
    expect(yamlOf(place)).toBe(before)
  })
})

const WRITE_FILE = `
  # Auto-discovered: TIME
  # Description: Create a new file or completely overwrite an existing file with new c…
  mcp__files__write_file:
    category: "mcp"
    permission: [READ, WRITE, CONNECT] # inferred: "write"; reaches the network
    risk_level: "high"          # inferred: "write"
    requires_approval: true
    allowed_in_modes: ["NORMAL"]
    pin: "DIGEST" # digest of name, description, schemas, annotations
    # forbidden_paths: []
    # allowed_paths: []
    # timeout_seconds: 30
`
const READ_GRAPH = `
  # Auto-discovered: TIME
  # Description: Read the entire knowledge graph
  mcp__memory__read_graph:
    category: "mcp"
    permission: [READ, CONNECT] # inferred: "read"; reaches the network
    risk_level: "low"           # inferred: "read"
    requires_approval: false
    allowed_in_modes: ["NORMAL", "ALERT", "DEGRADED"]
    pin: "DIGEST" # digest of name, description, schemas, annotations
`

describe(`${promise('GOV-2')} what people wrote`, () => {
  it('is preserved byte for byte after an append, wherever the section is', async () => {
    const mine =
      '\uFEFF# mine\r\ntools:   # all\r\n    "mcp__x__y":   {hidden: true}\r\n\r\n# the rest\r\nmode_policies: {}'
    const place = placeWith({ wiki: createChangingTools({ name: 'read_a' }).entry })
    writeFileSync(fileOf(place), mine)
    await sallyport(place, 'tools')
    const [before = '', after = ''] = mine.split('\r\n# the rest')
    const text = readFileSync(fileOf(place), 'utf8')
    expect(text.startsWith(before)).toBe(true)
    expect(text).toContain(`\r\n# the rest${after}`)
    expect(text.replaceAll('\r\n', '')).not.toContain('\n')
    expect(Object.keys(toolsIn(text))).toEqual(['mcp__x__y', 'mcp__wiki__read_a'])
  })

  it('is left alone if nothing can be appended safely, and that is reported', async () => {
    const place = placeWith({ wiki: createChangingTools({ name: 'write_a' }).entry })
    const mine = 'tools: {mcp__x__y: {hidden: true}}\n'
    writeFileSync(fileOf(place), mine)
    const gateway = await run(place)
    await eventually(
      () => gateway.stderr(),
      (text) => text.includes('New tools are not written to tools.yaml'),
    )
    expect(yamlOf(place)).toBe(mine)
    expect(gateway.stderr()).toContain('block style')
    const doctor = await sallyport(place, 'doctor')
    expect(doctor).toMatchObject({ code: 6, stdout: expect.stringContaining('mcp__wiki__write_a has no entry') })
    const { tools } = JSON.parse((await sallyport(place, 'tools', 'write_a', '--json')).stdout)
    expect(tools).toMatchObject([{ risk: 'high', requiresApproval: true, hasEntry: false, source: 'inferred' }])
  })

  it('is left alone if it is read-only, and that is reported', async () => {
    const place = placeWith({ wiki: createChangingTools({ name: 'write_a' }).entry })
    const mine = 'tools:\n  mcp__x__y:\n    hidden: true\n'
    writeFileSync(fileOf(place), mine, { mode: 0o444 })
    const before = statSync(fileOf(place))
    const gateway = await run(place)
    await eventually(
      () => gateway.stderr(),
      (text) => text.includes('New tools are not written to tools.yaml') && text.includes('it is read-only'),
    )
    const [doctor, check] = [await sallyport(place, 'doctor'), await sallyport(place, 'tools', 'check')]
    expect(doctor.stdout).toContain(`${fileOf(place)}: it is read-only.`)
    expect(check).toMatchObject({ code: 6, stdout: expect.stringContaining('it is read-only') })
    const { ino, mode, uid } = statSync(fileOf(place))
    expect([yamlOf(place), ino, mode, uid]).toEqual([mine, before.ino, before.mode, before.uid])
  })
})

describe(`${promise('GOV-4')} a server with hostile names and texts`, () => {
  const INJECTED = 'mcp_shell: {category: mcp, allowed_in_modes: [NORMAL], hidden: false}'
  const HOSTILE: readonly ToolText[] = [
    { name: 'foo: bar' },
    { name: '- x' },
    { name: '&anchor' },
    { name: '"quoted" \'twice\'' },
    { name: '#comment' },
    { name: '<<' },
    { name: 'a\n  mcp__shell__run: {hidden: false}' },
    { name: 'cr', description: `Search\r  ${INJECTED}` },
    { name: 'lf', description: `Search\n  ${INJECTED}` },
    { name: 'nel', description: `Search\u0085  ${INJECTED}` },
    { name: 'ls', description: `Search\u2028  ${INJECTED}\u2029  ${INJECTED}` },
    { name: 'end', description: '...\n---\ntools: {}' },
    { name: 'hash', description: '# # #: [' },
    { name: 'long', description: 'x '.repeat(35_000) },
    { name: 'nul', description: 'a\u0000b\u0007\u001b[31m' },
  ]
  const MINE = '# mine\ntools:\n  mcp__shell__run:\n    hidden: true\n    allowed_in_modes: []\n\nmode_policies: {}\n'

  it('changes nothing of others, and the file stays valid for both parsers', async () => {
    const tools = createChangingTools(...HOSTILE)
    const place = placeWith({ evil: tools.entry, shell: createChangingTools({ name: 'run' }).entry })
    writeFileSync(fileOf(place), MINE)
    const gateway = await run(place)
    await eventually(
      () => Object.keys(entriesOf(place)).length,
      (count) => count === HOSTILE.length + 1,
    )
    const text = yamlOf(place)
    for (const [parser, read] of Object.entries(ORACLES)) {
      const { tools: entries, ...others } = (read(text)?.value ?? {}) as Record<string, Record<string, unknown>>
      expect(Object.keys(entries ?? {}).sort(), parser).toEqual(
        ['mcp__shell__run', ...HOSTILE.map(({ name }) => `mcp__evil__${name}`)].sort(),
      )
      expect(entries?.mcp__shell__run).toEqual({ hidden: true, allowed_in_modes: [] })
      expect(others).toEqual({ mode_policies: {}, tool_categories: { mcp: expect.anything() } })
    }
    for (const line of text.split('\n').filter((one) => one.includes('# Description:')))
      expect([...(line.split('# Description: ')[1] ?? '')].length).toBeLessThanOrEqual(70)
    expect(await namesIn(gateway)).not.toContain('shell_run')
    expect((await sallyport(place, 'tools', 'check')).code).toBe(0)
  })

  it('gets no entry for a tool whose name would be a pattern: that would be one about other tools', async () => {
    const tools = createChangingTools({ name: '*_page' }, { name: 'read_page' }, { name: 'drop_page' })
    const place = placeWith({ evil: tools.entry })
    const gateway = await run(place)
    await eventually(
      () => Object.keys(entriesOf(place)),
      (keys) => keys.length > 0,
    )
    expect(Object.keys(entriesOf(place))).toEqual(['mcp__evil__read_page', 'mcp__evil__drop_page'])
    const { message } = await modernRequest(gateway.mcp, 'tools/call', { name: 'evil_read_page', arguments: {} })
    expect(message.result.content).toEqual([{ type: 'text', text: 'called read_page' }])
    const check = await sallyport(place, 'tools', 'check')
    expect([check.code, check.stdout]).toEqual([6, expect.stringContaining('its name contains * or ?')])
    appendFileSync(fileOf(place), '\n  evil_page: { requires_approval: true }\n')
    await eventually(
      () => sallyport(place, 'tools', 'check'),
      ({ code }) => code === 0,
    )
  })

  it('is quoted in printed commands, so that a shell reads each name as one word', async () => {
    const place = placeWith({ evil: createChangingTools({ name: 'read; $(id) it' }).entry })
    writeFileSync(fileOf(place), "tools:\n  'mcp__evil__read; $(id) it': { pin: sha256-0 }\n")
    const { stdout } = await sallyport(place, 'tools', 'check')
    expect(stdout).toContain("sallyport tools accept 'mcp__evil__read; $(id) it'\n")
  })
})

describe(`${promise('GOV-4')} an entry with a misspelt name`, () => {
  it('is reported by the check, with the tool that was probably meant', async () => {
    const place = placeWith({ wiki: createChangingTools({ name: 'drop_page' }).entry })
    writeFileSync(fileOf(place), 'tools:\n  wiki/drop_pgae: { hidden: true }\n  wiki/drop_page: {}\n')
    const { code, stdout } = await sallyport(place, 'tools', 'check')
    expect(stdout).toContain(`${fileOf(place)}:2: no tool is called "wiki/drop_pgae". Did you mean "wiki/drop_page"?`)
    // It was to hide a tool, which is open.
    expect(code).toBe(6)
  })

  it('with a pattern is reported by the start and the check, and fails the check if it leaves a tool unrestricted', async () => {
    const { entry } = createChangingTools({ name: 'drop_page' })
    const place = makePlace({
      governance: { patterns: { 'mcp_wiki_*': { requires_approval: true } }, auto_approve: [{ tool: 'wikki/read_*' }] },
      mcp_servers: { wiki: { ...entry, excludeTools: ['drop-*'] } },
    })
    onTestFinished(() => place.remove())
    const gateway = await run(place)
    const open = [
      'governance.patterns: no tool is called "mcp_wiki_*". Did you mean a name such as "mcp__wiki__drop_page"?',
      'excludeTools of wiki: no tool is called "drop-*". Did you mean a name such as "drop_page"?',
    ]
    const harmless = 'governance.auto_approve: no tool is called "wikki/read_*".'
    for (const text of [...open, harmless])
      await eventually(
        () => gateway.stderr(),
        (output) => output.includes(text),
      )
    const { code, stdout } = await sallyport(place, 'tools', 'check', '--json')
    const problems: readonly { level: string; problem: string }[] = JSON.parse(stdout).problems
    const levelOf = (text: string): unknown => problems.find(({ problem }) => problem.includes(text))?.level
    expect([...open, harmless].map(levelOf)).toEqual(['wrong', 'wrong', 'warning'])
    expect(code).toBe(6)
  })
})

describe(`${promise('GOV-3')} two gateways with one home`, () => {
  it('that discover at once lose no entry and write none twice', async () => {
    const place = placeWith({})
    const tools = (round: number, from: string): readonly ToolText[] =>
      Array.from({ length: 50 }, (_, at) => ({ name: `r${round}_${from}_${at}` }))
    const [shared, own] = [createChangingTools(), createChangingTools()]
    place.writeConfig({ mcp_servers: { shared: shared.entry, own: own.entry } })
    const second = { ...place, state: `${place.state}-2` }
    await Promise.all([run(place), run(second)])
    const expected: string[] = []
    for (let round = 0; round < 3; round++) {
      shared.offer(...tools(round, 's'))
      own.offer(...tools(round, 'o'))
      expected.push(...tools(round, 's').map(({ name }) => `mcp__shared__${name}`))
      expected.push(...tools(round, 'o').map(({ name }) => `mcp__own__${name}`))
      await eventually(
        () => Object.keys(entriesOf(place)).length,
        (count) => count >= expected.length,
      )
    }
    // A duplicate key would not be parsed at all.
    expect(Object.keys(entriesOf(place)).sort()).toEqual(expected.sort())
  })

  it('of which one is killed again and again leave a whole file, and nothing beside it', async () => {
    const tools = createChangingTools({ name: 'first' })
    const place = placeWith({ wiki: tools.entry })
    for (let round = 0; round < 6; round++) {
      tools.offer(...Array.from({ length: 40 }, (_, at) => ({ name: `r${round}_${at}` })))
      const { child } = await runGateway({ place })
      const gone = new Promise((resolve) => child.once('exit', resolve))
      // At another moment each time, around the time when it writes.
      await new Promise((resolve) => setTimeout(resolve, 60 + round * 25))
      child.kill('SIGKILL')
      await gone
      expect(yaml12(yamlOf(place)), yamlOf(place)).toBeDefined()
    }
    await run(place)
    await eventually(
      () => Object.keys(entriesOf(place)).filter((key) => key.includes('r5_')).length,
      (count) => count === 40,
    )
    await eventually(
      () => readdirSync(place.home).sort(),
      (names) => names.join() === 'config.yaml,tools.yaml',
    )
  })
})

describe(`${promise('GOV-11')} a saved edit`, () => {
  it('renames, hides and re-describes tools while the gateway runs', async () => {
    const tools = createChangingTools({ name: 'read_a', description: 'A.' }, { name: 'read_b' }, { name: 'read_c' })
    const place = placeWith({ wiki: tools.entry })
    const gateway = await run(place)
    await eventually(
      () => Object.keys(entriesOf(place)).length,
      (count) => count === 3,
    )
    writeFileSync(
      fileOf(place),
      yamlOf(place)
        .replace('mcp__wiki__read_a:', 'mcp__wiki__read_a:\n    rename: look up\n    description_override: Ours.')
        .replace('mcp__wiki__read_b:', 'mcp__wiki__read_b:\n    hidden: true'),
    )
    const names = await eventually(
      () => namesIn(gateway),
      (seen) => seen.includes('look_up'),
    )
    expect(names.filter((name) => !name.startsWith('sallyport_'))).toEqual(['look_up', 'wiki_read_c'])
    const call = async (name: string) =>
      (await modernRequest(gateway.mcp, 'tools/call', { name, arguments: {} })).message
    expect((await call('look_up')).result).toMatchObject({ content: [{ text: 'called read_a' }] })
    expect(JSON.stringify(await call('wiki_read_a'))).toContain('error')
    expect(JSON.stringify(await call('wiki_read_b'))).toContain('hidden')
    const { message } = await modernRequest(gateway.mcp, 'tools/list')
    expect(message.result.tools.find(({ name }: { name: string }) => name === 'look_up').description).toBe('Ours.')
    expect(tools.calls()).toEqual(['read_a'])
  })

  it('with a mistake is reported with line and column, and changes nothing', async () => {
    const tools = createChangingTools({ name: 'read_a' })
    const place = placeWith({ wiki: tools.entry })
    const gateway = await run(place)
    await eventually(
      () => Object.keys(entriesOf(place)).length,
      (count) => count === 1,
    )
    writeFileSync(fileOf(place), yamlOf(place).replace('requires_approval: false', 'requires_approval: nope'))
    await eventually(
      () => gateway.stderr(),
      (text) => text.includes('tools.yaml is not used'),
    )
    const where = /tools\.yaml:\d+:5: requires_approval: expected true or false/
    expect(gateway.stderr()).toMatch(where)
    const rejected = await eventually(
      () => gateway.records().find(({ type }) => type === 'TOOLS_FILE_REJECTED'),
      (record) => record !== undefined,
    )
    expect(rejected?.message).toMatch(where)
    const headers = { authorization: `Bearer ${gateway.token('operator')}` }
    const status = (await (await fetch(`${gateway.url}/api/status`, { headers })).json()) as { warnings: string[] }
    expect(status.warnings).toEqual([expect.stringMatching(where)])
    const doctor = await sallyport(place, 'doctor', '--json')
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; level: string; finding: string }[] }
    expect(checks.filter(({ name }) => name === 'tools')).toMatchObject([
      { level: 'wrong', finding: expect.stringMatching(where) },
    ])
    expect((await sallyport(place, 'tools', 'check')).code).toBe(6)
    const { message } = await modernRequest(gateway.mcp, 'tools/call', { name: 'wiki_read_a', arguments: {} })
    expect(message.result).toMatchObject({ content: [{ text: 'called read_a' }] })
  })

  it('with a mistake at the start refuses every call, until it is corrected', async () => {
    const tools = createChangingTools({ name: 'read_a' })
    const place = placeWith({ wiki: tools.entry })
    writeFileSync(fileOf(place), 'tools: [')
    const gateway = await run(place)
    const call = async () =>
      (await modernRequest(gateway.mcp, 'tools/call', { name: 'wiki_read_a', arguments: {} })).message
    await eventually(
      () => gateway.stderr(),
      (text) => text.includes('No tool can be called until it is corrected'),
    )
    // The server may not have listed its tools yet.
    await eventually(
      async () => JSON.stringify(await call()),
      (answer) => answer.includes('while tools.yaml has an error'),
    )
    expect(await namesIn(gateway)).toEqual([])
    expect(yamlOf(place)).toBe('tools: [')
    writeFileSync(fileOf(place), '')
    await eventually(
      () => namesIn(gateway),
      (names) => names.includes('wiki_read_a'),
    )
    expect((await call()).result).toMatchObject({ content: [{ text: 'called read_a' }] })
    expect(tools.calls()).toEqual(['read_a'])
    await eventually(
      () => Object.keys(entriesOf(place)),
      (keys) => keys.includes('mcp__wiki__read_a'),
    )
  })
})
