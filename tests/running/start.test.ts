import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { endProcess, MAIN, makePlace, type Place, REPOSITORY, runGateway } from '../harness/run-gateway.ts'
import { isToolChange, openWindow, StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)
const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-start-'))
  undo.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function place(config: object | string = {}): Place {
  const made = makePlace(config)
  undo.push(async () => {
    // A gateway in the background ends a moment after its last window, and writes until then.
    await eventually(
      () => processesWith(made.state),
      ({ length }) => length === 0,
    )
    made.remove()
  })
  return made
}

function window(at: Place): StdioClient {
  const client = openWindow(at)
  undo.push(() => client.leave())
  return client
}

async function gateway(config: object | string) {
  const running = await runGateway({ config })
  undo.push(() => running.stop())
  return running
}

/** A server that starts only once its gate is open, and then with the switches that are in a file. */
function gatedServer() {
  const folder = emptyFolder()
  const [gate, switches] = [join(folder, 'gate'), join(folder, 'switches')]
  writeFileSync(switches, '')
  const script = `while [ -e ${gate} ]; do sleep 0.02; done; exec node ${fixture('hostile-server.mjs')} $(cat ${switches})`
  return {
    entry: { command: 'sh', args: ['-c', script] },
    shut: () => writeFileSync(gate, ''),
    open: () => rmSync(gate),
    switchTo: (text: string) => writeFileSync(switches, text),
  }
}

/** A home whose server was up before, so that a start knows what it offers. */
async function knownPlace(): Promise<Place> {
  const at = place({ mcp_servers: { one: { command: 'node', args: [fixture('hostile-server.mjs')] } } })
  const before = await runGateway({ place: at })
  undo.push(() => endProcess(before.child))
  await modernRequest(before.mcp, 'tools/list')
  await endProcess(before.child)
  return at
}

describe('serve --demo in an empty folder', () => {
  async function startDemo() {
    const cwd = emptyFolder()
    // A HOME of its own: nothing of this may reach the user's real folders.
    const env = { ...process.env, HOME: emptyFolder(), XDG_CONFIG_HOME: '', XDG_STATE_HOME: '' }
    const child = spawn(process.execPath, [MAIN, 'serve', '--demo', '--port', '0'], { cwd, env, stdio: 'pipe' })
    undo.push(() => endProcess(child))
    let words = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      words += text
    })
    await eventually(
      () => words,
      (text) => text.includes('Ctrl-C'),
    )
    const login = /Web page\s+(\S+)/.exec(words)?.[1] ?? ''
    const connect = /claude mcp add gw -- (.+)/.exec(words)?.[1] ?? ''
    return { cwd, child, login, connect, url: new URL(login).origin, userHome: env.HOME }
  }

  it('prints a line that connects an agent, from wherever that agent starts it', async () => {
    const { connect } = await startDemo()
    const agent = new StdioClient(spawn('sh', ['-c', `exec ${connect}`], { stdio: 'pipe', cwd: '/' }))
    undo.push(() => agent.leave())
    expect(await agent.initialize()).toMatchObject({ result: { serverInfo: { name: 'sallyport' } } })
    const names = await eventually(
      () => agent.toolNames(),
      (seen) => seen.some((name) => name.startsWith('clock_')) && seen.some((name) => name.startsWith('notes_')),
    )
    expect(names).toContain('sallyport_read_file')
    expect(await agent.call('notes_list_notes', {})).not.toMatchObject({ isError: true })
    expect(connect, 'the line contains no credential').not.toMatch(/token|bearer/i)
  })

  it('prints a login link that works once', async () => {
    const { login, url } = await startDemo()
    expect(login).toMatch(/\/login\?token=.+/)
    const first = await fetch(login, { redirect: 'manual' })
    expect(first.status).toBe(303)
    const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? ''
    expect((await fetch(`${url}/api/status`, { headers: { cookie } })).status).toBe(200)
    const again = await fetch(login, { redirect: 'manual' })
    expect(again.headers.get('set-cookie')).toBeNull()
    expect((await fetch(`${url}/api/status`)).status).toBe(401)
  })

  it('writes only into that folder, and leaves no process', async () => {
    const { cwd, child, userHome } = await startDemo()
    await eventually(
      () => processesWith(userHome),
      (pids) => pids.length >= 3,
    )
    await endProcess(child)
    expect(child.exitCode).toBe(0)
    expect(readdirSync(cwd)).toEqual(['.sallyport-demo'])
    expect(readdirSync(userHome)).toEqual([])
    await eventually(
      () => processesWith(userHome),
      (pids) => pids.length === 0,
    )
  })
})

describe(`${promise('GW-3')} starting up`, () => {
  it('serves the last known catalogue while a server still starts, and says so when it turns out to differ', async () => {
    const slow = gatedServer()
    const home = place({ gateway: { linger: '50ms', startup_wait: '30s' }, mcp_servers: { slow: slow.entry } })
    const first = window(home)
    await first.initialize()
    expect(await first.toolNames()).toContain('slow_echo')
    await first.leave()
    await eventually(
      () => processesWith(home.state),
      (pids) => pids.length === 0,
    )

    slow.shut()
    slow.switchTo('tools=1')
    const second = window(home)
    await second.initialize()
    const known = await second.toolNames()
    expect(known).toContain('slow_echo')
    expect(known).not.toContain('slow_tool_0')
    slow.open()
    await second.next(isToolChange)
    await eventually(
      () => second.toolNames(),
      (names) => names.includes('slow_tool_0'),
    )
  })

  it('lets calls wait for their server, even if its catalog is known', async () => {
    const at = await knownPlace()
    const call = async (url: string): Promise<unknown> =>
      (await modernRequest(url, 'tools/call', { name: 'one_echo', arguments: { text: 'early' } })).message.result
    const first = await runGateway({ place: at })
    undo.push(() => endProcess(first.child))
    expect(await call(first.mcp)).toMatchObject({ content: [{ text: '{"text":"early"}' }] })
    await endProcess(first.child)
    const second = await runGateway({ place: at })
    undo.push(() => endProcess(second.child))
    const headers = { authorization: `Bearer ${second.token('operator')}` }
    const { servers } = (await (await fetch(`${second.url}/api/servers`, { headers })).json()) as {
      readonly servers: readonly { readonly id: string }[]
    }
    expect(servers.map(({ id }) => id)).toContain('one')
  })

  it('can be stopped before any server was started', async () => {
    const at = await knownPlace()
    const running = await runGateway({ place: at })
    await endProcess(running.child)
    expect(running.child.exitCode).toBe(0)
    expect(running.stderr()).toMatch(/^! config\.yaml:\S+ governance\.enforce: rules are only watched.*\n$/)
    expect(running.records().at(-1)).toMatchObject({ type: 'GATEWAY_STOPPED' })
    expect(processesWith(at.state)).toEqual([])
  })

  it('lets the handshake and the first list wait for unknown servers', async () => {
    const slow = gatedServer()
    slow.shut()
    const home = place({ gateway: { linger: '50ms', startup_wait: '30s' }, mcp_servers: { slow: slow.entry } })
    const agent = window(home)
    const opening = agent.initialize()
    const list = agent.toolNames()
    await agent.request('ping')
    expect(agent.received.some(({ result }) => result?.tools ?? result?.serverInfo)).toBe(false)
    slow.open()
    await opening
    expect(await list).toContain('slow_echo')
  })

  it('lets it wait at most startup_wait, and announces later servers', async () => {
    const slow = gatedServer()
    slow.shut()
    const home = place({ gateway: { linger: '50ms', startup_wait: '100ms' }, mcp_servers: { slow: slow.entry } })
    const agent = window(home)
    await agent.initialize()
    const names = await agent.toolNames()
    expect(names).toContain('sallyport_read_file')
    expect(names).not.toContain('slow_echo')
    const change = agent.next(isToolChange)
    slow.open()
    await change
    expect(await agent.toolNames()).toContain('slow_echo')
  })

  it('is not delayed by a server that is missing, broken or refuses', async () => {
    const hostile = (...switches: string[]) => ({ command: 'node', args: [fixture('hostile-server.mjs'), ...switches] })
    const { mcp } = await gateway({
      gateway: { startup_wait: '50s' },
      mcp_servers: {
        missing: { command: '/nowhere/at-all' },
        dying: hostile('exit-at-start'),
        refusing: { url: 'http://127.0.0.1:1/mcp' },
        good: hostile(),
      },
    })
    const client = await LegacyClient.open(mcp)
    const { message } = await client.request('tools/list')
    expect(JSON.stringify(message)).toContain('good_echo')
    expect(await client.call('good_echo', { a: 1 })).toMatchObject({ content: [{ text: '{"a":1}' }] })
  })
})

describe(`${promise('GW-2')} ${promise('GW-28')} the built-in tools`, () => {
  it('work on the workspace only, and are recorded like any other', async () => {
    const running = await gateway({})
    const outside = join(running.state, '..', 'outside.txt')
    writeFileSync(outside, 'not yours')
    const client = await LegacyClient.open(running.mcp)
    const workspace = await workspaceOf(client, running.state)
    writeFileSync(join(workspace, 'notes.txt'), 'inside')
    symlinkSync(outside, join(workspace, 'link.txt'))
    symlinkSync('..', join(workspace, 'up'))

    expect(await client.call('sallyport_read_file', { path: '/workspace/notes.txt' })).toMatchObject({
      content: [{ type: 'text', text: 'inside' }],
    })
    expect(JSON.stringify(await client.call('sallyport_list_directory'))).toContain('notes.txt')
    expect(await client.call('sallyport_system_metrics_snapshot')).toMatchObject({ structuredContent: {} })
    const ways = [
      '/etc/passwd',
      '/workspace/../outside.txt',
      '/workspace/link.txt',
      `/workspace/up/${basename(workspace)}/notes.txt`,
    ]
    for (const path of [...ways, outside, '../outside.txt', '/workspace/\0', '/proc/self/environ']) {
      const refused = await client.call('sallyport_read_file', { path })
      expect(refused, path).toMatchObject({ isError: true })
      expect(JSON.stringify(refused)).not.toContain('not yours')
    }
    expect(running.records()).toContainEqual(
      expect.objectContaining({ type: 'TOOL_CALL_STARTED', tool_name: 'mcp__sallyport__read_file', is_mcp: false }),
    )
  })

  it.each(['sallyport', 'Sallyport', 'SALLYPORT!'])('keep their id reserved: %s', async (id) => {
    const home = place(`mcp_servers:\n  ${id}: {command: node}\n`)
    const outcome = await runCommand(['servers', '--json', '--home', home.home, '--state', home.state])
    expect(outcome.code).toBe(1)
    expect(errorOf(outcome)).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/config\.yaml:2:3 .*the gateway's own tools/),
    })
  })

  /** The folder of the only session there is, which its first look makes. */
  async function workspaceOf(client: LegacyClient, state: string): Promise<string> {
    await client.call('sallyport_list_directory')
    const [folder = ''] = readdirSync(join(state, 'workspaces'))
    return join(state, 'workspaces', folder)
  }

  /** A gateway over a server with one tool, and a file that only the built-in tool can read. */
  async function withRival(settings: object, server: string, tool: string) {
    const calls = join(emptyFolder(), 'calls')
    const entry = { command: 'node', args: [fixture('counting-server.mjs'), calls, tool] }
    const running = await gateway({ ...settings, mcp_servers: { [server]: entry } })
    const client = await LegacyClient.open(running.mcp)
    writeFileSync(join(await workspaceOf(client, running.state), 'notes.txt'), 'from the workspace')
    const { message } = await client.request('tools/list')
    const names = (message.result.tools as { name: string }[]).map(({ name }) => name)
    const own = await client.call('sallyport_read_file', { path: '/workspace/notes.txt' })
    expect(own).toMatchObject({ content: [{ text: 'from the workspace' }] })
    return { running, client, names }
  }

  it.each([
    ['a server id that reads on into theirs', 'file'],
    ['a name that folds into theirs', 'FILE'],
  ])('cannot be shadowed by %s', async (_title, tool) => {
    const { client, names } = await withRival({}, 'sallyport-read', tool)
    const folded = names.map((name) => name.toLowerCase())
    expect(new Set(folded).size).toBe(names.length)
    const theirs = names.filter((name) => /file/i.test(name) && name !== 'sallyport_read_file')
    expect(theirs, names.join()).toHaveLength(1)
    expect(await client.call(theirs[0] ?? '', { id: 'theirs' })).toMatchObject({ content: [{ text: 'theirs' }] })
  })

  it('cannot be shadowed with bare names: the other tool is left out, and that is reported', async () => {
    const { running, names } = await withRival({ gateway: { naming: 'bare' } }, 'files', 'sallyport_read_file')
    expect(names.filter((name) => name === 'sallyport_read_file')).toHaveLength(1)
    const status = await fetch(`${running.url}/api/status`, {
      headers: { authorization: `Bearer ${running.token('operator')}` },
    })
    expect(await status.json()).toMatchObject({
      warnings: [expect.stringContaining('files: "sallyport_read_file" cannot be given a unique name')],
    })
  })
})
