import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder, npmServer } from '../governance/governed-bench.ts'
import { createLocalEverything, type EverythingServer } from '../harness/everything-server.ts'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { type Outcome, runCommand } from '../harness/run-command.ts'
import { endProcess, makePlace, type Place, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const SALARY = 'Ada earns 5200'

let folder: ReturnType<typeof makeFolder>
let outside: EverythingServer
/** Offers the same as the one before. */
let copy: EverythingServer
let place: Place
let gateway: RunningGateway

/** Servers from npm: one that reads files, and one that anything may leave by; what it receives is kept in a file. */
beforeAll(async () => {
  folder = makeFolder()
  for (const name of ['hr', 'public']) mkdirSync(join(folder.path, name))
  writeFileSync(join(folder.path, 'hr/salaries.txt'), SALARY)
  writeFileSync(join(folder.path, 'public/menu.txt'), 'soup')
  outside = createLocalEverything()
  copy = createLocalEverything()
  place = makePlace({
    governance: { enforce: true, escalation: { policy_violations: false } },
    mcp_servers: {
      files: { ...npmServer('filesystem', folder.path), sensitive_paths: [`${folder.path}/hr/**`] },
      outside: outside.entry,
      copy: copy.entry,
    },
  })
  const open = { requires_approval: false }
  const tools = { 'files/read_text_file': { ...open, permission: ['READ'] }, 'outside/echo': open }
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools }))
  gateway = await runGateway({ place, args: [] })
})

afterAll(async () => {
  await gateway.stop()
  await outside.close()
  await copy.close()
  folder.remove()
})

async function mint(wish: object): Promise<string> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
  const reply = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body: JSON.stringify(wish) })
  return ((await reply.json()) as { token: string }).token
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const openClient = async (wish: object, path = '/mcp'): Promise<LegacyClient> =>
  LegacyClient.open(`${gateway.url}${path}`, bearer(await mint(wish)))

const read = (client: LegacyClient, path: string) =>
  client.call('files_read_text_file', { path: join(folder.path, path) })
const send = (client: LegacyClient, message: string) => client.call('outside_echo', { message })
const textOf = (result: Record<string, any>): string => JSON.stringify(result)

const command = (...args: string[]): Promise<Outcome> =>
  runCommand([...args, '--home', place.home, '--state', place.state])

/** Whether the outside server has received the text; it is the witness, not our own records. */
const hasLeft = (text: string): boolean => outside.receivedText().includes(text)

describe(`private data of one server (${promise('SEN-1')}, ${promise('SEN-5')}, ${promise('GOV-5')})`, () => {
  it('does not leave by another one, whatever the session does', async () => {
    const ada = await openClient({ agent: 'codex', session: 'payroll' })
    expect(textOf(await read(ada, 'public/menu.txt'))).toContain('soup')
    expect(textOf(await send(ada, 'before-payroll'))).toContain('Echo: before-payroll')
    expect(textOf(await read(ada, 'hr/salaries.txt'))).toContain(SALARY)
    const refused = textOf(await send(ada, `first: ${SALARY}`))
    expect(refused).toContain('PRIVATE_SESSION')
    expect(refused).toContain('this session holds private data (CONFIDENTIAL')
    expect(refused).toContain('reads it with a tool that is isolated')

    // A new connection, another agent and profile, another path, another era, a window: it is the same session.
    const sameSession = { agent: 'claude-code', session: 'payroll' }
    expect(textOf(await send(await openClient(sameSession), `second: ${SALARY}`))).toContain('PRIVATE_SESSION')
    const narrowed = await openClient({ session: 'payroll' }, '/mcp/gemini-cli.default')
    expect(textOf(await send(narrowed, `third: ${SALARY}`))).toContain('PRIVATE_SESSION')
    const params = { name: 'outside_echo', arguments: { message: `fourth: ${SALARY}` } }
    const modern = await modernRequest(gateway.mcp, 'tools/call', params, bearer(await mint(sameSession)))
    expect(textOf(modern.message)).toContain('PRIVATE_SESSION')

    // What is not a tool reaches out, too.
    for (const [method, params] of [
      ['resources/read', { uri: 'demo://resource/static/document/features.md' }],
      ['prompts/get', { name: 'outside_simple_prompt' }],
    ] as const) {
      const { message } = await ada.request(method, params)
      expect(textOf(message), method).toMatch(/PRIVATE_SESSION|holds private data/)
    }
    // But what the gateway itself has stored for the session does not.
    const own = await ada.request('resources/read', { uri: 'sallyport://results/r_missing' })
    expect(textOf(own.message)).not.toMatch(/PRIVATE_SESSION|holds private data/)
    expect(hasLeft('before-payroll')).toBe(true)
    expect(hasLeft(SALARY)).toBe(false)
    expect(textOf(await read(ada, 'public/menu.txt'))).toContain('soup')
    expect(textOf(await send(await openClient({ agent: 'codex' }), 'somebody-else'))).toContain('Echo')
  })

  it('does not leave after the gateway was killed', async () => {
    const other = await openClient({ agent: 'codex', session: 'killed' })
    await read(other, 'hr/salaries.txt')
    const gone = new Promise((resolve) => gateway.child.once('exit', resolve))
    gateway.child.kill('SIGKILL')
    await gone
    gateway = await runGateway({ place, args: [] })
    for (const session of ['payroll', 'killed']) {
      const again = await openClient({ agent: 'codex', session })
      expect(textOf(await send(again, `after ${session}: ${SALARY}`))).toContain('PRIVATE_SESSION')
    }
    expect(hasLeft(SALARY)).toBe(false)
  })

  it('is recorded with the rule that raised the label, and explained', async () => {
    const raised = gateway.records().filter(({ type }) => type === 'SENSITIVITY_RAISED')
    expect(raised[0]).toMatchObject({
      session: 'payroll',
      from: 'PUBLIC',
      to: 'CONFIDENTIAL',
      server: 'files',
      rule: { file: expect.stringContaining('config.yaml') },
    })
    const [denied] = gateway.records().filter(({ error }) => error === 'PRIVATE_SESSION')
    expect(denied).toMatchObject({ label_before: 'CONFIDENTIAL', decided_by: { step: 'label' } })
    const { stdout } = await command('explain', String(denied?.trace_id))
    expect(stdout).toContain('holds private data')
  })
})

describe(`the ways out (${promise('SEN-6')})`, () => {
  it('are a person who approves this one call, with all that would leave', async () => {
    const ada = await openClient({ agent: 'codex', session: 'approved' })
    await read(ada, 'hr/salaries.txt')
    const message = `approved: ${SALARY}`
    const refused = textOf(await send(ada, message))
    const [, id = ''] = /sallyport approvals approve (\w+)/.exec(refused) ?? []
    const shown = await command('approvals', 'show', id)
    expect(shown.stdout).toContain(message)
    expect(shown.stdout).toContain('Private data may leave with this call')
    expect((await command('approvals', 'approve', id, '--session')).code).not.toBe(0)
    expect(await command('approvals', 'approve', id)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/approved, this once\. .* has to make the same call again\./),
    })
    expect(textOf(await send(ada, `${message}!`))).toContain('PRIVATE_SESSION')
    expect(textOf(await send(ada, message))).toContain('Echo: approved')
    expect(textOf(await send(ada, message))).toContain('PRIVATE_SESSION')
    expect(outside.receivedText().split(message)).toHaveLength(2)
    expect(hasLeft(`${message}!`)).toBe(false)
  })

  it('are not an approval of the same prompt, resource or completion of another server', async () => {
    const ada = await openClient({ agent: 'codex', session: 'copied' })
    await read(ada, 'hr/salaries.txt')
    const ref = (server: string) => ({ type: 'ref/prompt', name: `${server}_completable_prompt` })
    const requests: readonly (readonly [method: string, params: (server: string) => object])[] = [
      ['prompts/get', (server) => ({ name: `${server}_args_prompt`, arguments: { city: 'copied-1' } })],
      ['completion/complete', (server) => ({ ref: ref(server), argument: { name: 'department', value: 'copied-2' } })],
      [
        'resources/read',
        (server) => ({ uri: `${server === 'copy' ? 'sallyport+copy:' : ''}demo://resource/dynamic/text/7?copied-3` }),
      ],
    ]
    for (const [method, params] of requests) {
      const refused = textOf((await ada.request(method, params('outside'))).message)
      const [, id = ''] = /sallyport approvals approve (\w+)/.exec(refused) ?? []
      expect((await command('approvals', 'approve', id)).code, refused).toBe(0)
      expect(textOf((await ada.request(method, params('copy'))).message), method).toContain('PRIVATE_SESSION')
      await ada.request(method, params('outside'))
    }
    for (const text of ['copied-1', 'copied-2', 'copied-3']) {
      expect(outside.receivedText(), text).toContain(text)
      expect(copy.receivedText(), text).not.toContain(text)
    }
  })

  it('are a new session, which an operator can begin', async () => {
    const local = await LegacyClient.open(gateway.mcp, bearer(gateway.token('agent')))
    await read(local, 'hr/salaries.txt')
    expect(textOf(await send(local, 'local-1'))).toContain('PRIVATE_SESSION')
    const listed = JSON.parse((await command('sessions', '--json')).stdout) as { sessions: Record<string, unknown>[] }
    expect(listed.sessions.find(({ session }) => session === 'local')).toMatchObject({
      sensitivity: 'CONFIDENTIAL',
      private: true,
      datasets: [{ name: expect.stringContaining('files: '), sensitivity: 'CONFIDENTIAL' }],
    })
    const ended = await command('sessions', 'end', 'local', '--purge')
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('local~2') })
    expect((await command('sessions')).stdout).toMatch(/^local \(ended\) +CONFIDENTIAL /m)
    const records = await command('audit', '--type', 'SESSION_ENDED')
    expect(records.stdout).toMatch(/ SESSION_ENDED +local +CONFIDENTIAL/)
    // What the conversation has read, it still knows: only a new connection is in the new session.
    const { status } = await local.request('tools/call', { name: 'outside_echo', arguments: { message: 'local-2' } })
    expect(status).toBe(404)
    const fresh = await LegacyClient.open(gateway.mcp, bearer(gateway.token('agent')))
    expect(textOf(await send(fresh, 'local-3'))).toContain('Echo: local-3')
    expect(['local-1', 'local-2'].filter(hasLeft)).toEqual([])
  })

  it('are not a session that a window still has', async () => {
    const window = openWindow(place)
    await window.initialize()
    await window.call('files_read_text_file', { path: join(folder.path, 'hr/salaries.txt') })
    await command('sessions', 'end', 'local~2')
    expect(textOf(await window.call('outside_echo', { message: 'window-1' }))).toContain('PRIVATE_SESSION')
    await endProcess(window.child)
    expect(hasLeft('window-1')).toBe(false)
  })
})

describe(`the label that an operator raises (${promise('SEN-2')}, ${promise('SEN-3')})`, () => {
  it('is in force at once, and never falls', async () => {
    const client = await openClient({ agent: 'codex', session: 'raised' })
    expect(textOf(await send(client, 'raised-1'))).toContain('Echo')
    expect(await command('sessions', 'raise', 'raised', 'secret', '--why', 'a test')).toMatchObject({ code: 0 })
    expect(textOf(await send(client, 'raised-2'))).toContain('PRIVATE_SESSION')
    expect((await command('sessions', 'raise', 'raised', 'PUBLIC')).stderr).toContain('is SECRET')
    expect(textOf(await send(client, 'raised-3'))).toContain('PRIVATE_SESSION')
    expect(await command('sessions', 'raise', 'nobody', 'SECRET')).toMatchObject({ code: 3 })
    expect(await command('sessions', 'raise', 'raised', 'SECRETT')).toMatchObject({ code: 2 })
    expect(['raised-2', 'raised-3'].filter(hasLeft)).toEqual([])
  })
})
