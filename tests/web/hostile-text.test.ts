import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { findBarriers, openWebBench, shoot, type WebBench } from './web-bench.ts'

const OFFERING = fileURLToPath(new URL('../fixtures/offering-server.mjs', import.meta.url))

const MARKUP = `"><img src=x onerror="document.title='pwned'"><script>document.title='pwned'</script><svg onload=alert(1)>`
const HIDDEN = 'a\u202egnp.exe\u2066b\u2069\u200b\u001b[31mred\u001b[0m\u0007\u009b2J\u2028c'
const LOOKALIKE = 'p\u0430yp\u0430l'
const STACKED = `Z${'\u0351\u036b\u0343\u036a'.repeat(200)}algo`
const WIDE = 'W'.repeat(100_000)
const UNSEEN = '\u200b'.repeat(100_000)
const TEXTS = { MARKUP, HIDDEN, LOOKALIKE, STACKED, WIDE, UNSEEN }

/** What must be in no text and no attribute of the page: it turns the direction of text, hides, or is a command. */
const DANGEROUS = /(?![\n\t\r])[\p{Cc}\p{Bidi_Control}\u200b\u2028]/u

const schema = {
  type: 'object',
  properties: { text: { type: 'string', description: `${MARKUP}${HIDDEN}` }, [HIDDEN]: { type: 'string' } },
}
const tools = [
  ...Object.values(TEXTS).map((text) => ({ name: `n_${text}`, title: text, description: text, inputSchema: schema })),
  ...Object.entries(TEXTS).map(([name, text]) => ({
    name: `d_${name}`,
    title: text,
    description: text,
    inputSchema: schema,
  })),
  { name: '__proto__', description: 'constructor', inputSchema: schema },
  { name: 'delete_everything', description: MARKUP, inputSchema: schema },
]

/** Every address of the page, from its own list of screens, and those with something open. */
function listAddresses(found: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const text = readFileSync(join(REPOSITORY, 'packages/web/src/screens/screens.ts'), 'utf8')
  const paths = [...text.matchAll(/path: '([^']+)'/g)].map(([, path = '']) => path.replace(/\/:.*$/, '') || '/')
  return paths.flatMap((path) => [path, ...(found[path] ?? [])]).filter((path) => path !== '/calls')
}

describe(`hostile text on every screen (${promise('WEB-4')})`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-hostile-'))
  let bench: WebBench
  let addresses: readonly string[]

  beforeAll(async () => {
    const offers = join(folder, 'offers.json')
    writeFileSync(offers, JSON.stringify({ tools, instructions: `${MARKUP}${HIDDEN}` }))
    const last = JSON.stringify(`${MARKUP}\n${HIDDEN}\n${WIDE}\n`)
    bench = await openWebBench(
      {
        governance: { enforce: true },
        // Nobody waits for the server that dies.
        gateway: { startup_wait: '5s' },
        mcp_servers: {
          hostile: { command: process.execPath, args: [OFFERING, offers] },
          dying: { command: process.execPath, args: ['-e', `process.stderr.write(${last}); process.exitCode = 3`] },
        },
      },
      {
        'profiles.json': {
          executors: {
            CODEX: { DEFAULT: {}, BAD: { title: `${MARKUP}${HIDDEN}`, selected_mcp_tools: [`x/${HIDDEN}`, MARKUP] } },
          },
        },
        'tools.yaml': {
          tools: {
            'hostile/*': { requires_approval: false },
            'hostile/delete_everything': { requires_approval: true },
          },
        },
      },
    )
    addresses = listAddresses(await makeTraces())
  })

  afterAll(async () => {
    await bench?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Sessions, agents, calls and approvals with such names. Returns the addresses that show them. */
  async function makeTraces(): Promise<Readonly<Record<string, readonly string[]>>> {
    const session = `${LOOKALIKE} ${MARKUP}`.slice(0, 250)
    const clients = [await LegacyClient.open(bench.gateway.mcp, {}, `${MARKUP}${HIDDEN}`)]
    const token = await mint({ agent: 'codex', session })
    clients.push(await LegacyClient.open(bench.gateway.mcp, { authorization: `Bearer ${token}` }))
    const made = clients.flatMap((client) => [
      ...[MARKUP, HIDDEN, WIDE, UNSEEN].map((text) => client.call('hostile_d_MARKUP', { text, [HIDDEN]: text })),
      ...tools.slice(0, 6).map(({ name }) => client.call(`hostile_${name}`, {})),
      client.call(MARKUP, {}),
    ])
    let isOver = false
    void Promise.all(made).finally(() => {
      isOver = true
    })
    // All of these definitions are suspicious, so a person is asked.
    await eventually(
      () => approveAll().then(() => isOver),
      (value) => value,
    )
    const sessions = await api('/api/sessions')
    const name = sessions.sessions.find((one: { session: string }) => one.session.includes('img'))?.session ?? session
    await api('/api/sessions/raise', { session: name, sensitivity: 'INTERNAL', why: `${MARKUP}${HIDDEN}` })
    // Nobody waits for its answer.
    void clients[0]
      ?.call('hostile_delete_everything', { text: `${MARKUP}${HIDDEN}`, [HIDDEN]: UNSEEN })
      .catch(() => undefined)
    await eventually(
      async () => (await api('/api/approvals')).approvals.length,
      (count) => count === 1,
    )
    const calls = bench.gateway
      .records()
      .filter(({ type }) => type === 'TOOL_CALL_STARTED' || type === 'TOOL_CALL_FAILED')
    return {
      '/calls': calls
        .filter((_call, at) => at % 6 === 0 || at === calls.length - 1)
        .map(({ call_id }) => `/calls/${call_id}`),
      '/sessions': [`/sessions/${encodeURIComponent(name)}`],
      '/agents': ['/agents/codex.bad', '/agents/codex.default'],
      '/servers': ['/servers/hostile', '/servers/dying'],
      '/settings/mcp': ['/settings/mcp/codex'],
    }
  }

  async function approveAll(): Promise<void> {
    for (const { id } of (await api('/api/approvals')).approvals) await api(`/api/approvals/${id}`, { answer: 'once' })
  }

  async function api(path: string, body?: object): Promise<any> {
    const headers = { authorization: `Bearer ${bench.gateway.token('operator')}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    return (await fetch(`${bench.gateway.url}${path}`, { headers, ...sent })).json()
  }

  const mint = async (wish: object): Promise<string> => (await api('/api/tokens', wish)).token

  it.each(['desktop', 'phone'] as const)('is harmless and visible, and no wider than the window (%s)', async (size) => {
    const { page, problems, close } = await bench.open('/', { size, scheme: size === 'phone' ? 'dark' : 'light' })
    const dialogs: string[] = []
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    const wrong: object[] = []
    let seen = ''
    for (const address of addresses) {
      await page.goto(`${bench.gateway.url}${address}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => page.locator('.loading, .skeleton').count()).toBe(0)
      await openAll(page)
      const found = await inspect(page)
      seen += found.text
      if (found.problems.length > 0) wrong.push({ address, ...found, text: undefined })
      const barriers = await findBarriers(page)
      if (barriers.length > 0) wrong.push({ address, barriers })
      await shoot(page, `hostile-${size}${address.replaceAll(/[^a-z]+/gi, '-').slice(0, 40)}`)
    }
    expect(wrong).toEqual([])
    expect([dialogs, problems]).toEqual([[], []])
    for (const visible of ['U+202E', 'U+200B', 'U+001B', 'U+0430', '<img src=x']) expect(seen).toContain(visible)
    await close()
  })
})

/** Folded values and closed details hide text, too. */
async function openAll(page: Page): Promise<void> {
  await page.evaluate(`for (const details of document.querySelectorAll('details')) details.open = true`)
  const folds = page.locator('.fold')
  for (let left = Math.min(4, await folds.count()); left > 0; left--)
    if ((await folds.count()) > 0) await folds.first().click()
}

async function inspect(page: Page): Promise<{ readonly problems: readonly string[]; readonly text: string }> {
  const found = await page.evaluate<{
    html: string
    text: string
    title: string
    made: number
    width: number
    view: number
  }>(
    `({
      html: document.documentElement.outerHTML,
      text: document.body.innerText,
      title: document.title,
      made: document.querySelectorAll('img, iframe, object, embed, #app script, svg[onload]').length,
      width: document.documentElement.scrollWidth,
      view: innerWidth,
    })`,
  )
  const dangerous = DANGEROUS.exec(found.html)
  const problems = [
    ...(dangerous
      ? [`a raw character: ${JSON.stringify(found.html.slice(dangerous.index - 150, dangerous.index + 20))}`]
      : []),
    ...(/pwned/.test(found.title) ? ['it has run'] : []),
    ...(found.made > 0 ? ['markup became elements'] : []),
    ...(found.width > found.view
      ? [`it is ${found.width} wide, in a window of ${found.view}: ${await findWide(page)}`]
      : []),
  ]
  return { problems, text: found.text }
}

/** The innermost elements that end outside of the window. */
const findWide = (page: Page): Promise<string> =>
  page.evaluate(
    `[...document.querySelectorAll('main *')]
      .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.closest('.scroll-x, .cut, .chips') === null)
      .filter((each, _at, all) => !all.some((other) => other !== each && each.contains(other)))
      .slice(0, 5).map((each) => each.outerHTML.slice(0, 200)).join('\\n')`,
  )
