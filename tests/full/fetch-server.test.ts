import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { npmServer } from '../governance/governed-bench.ts'
import { readRecords } from '../harness/run-gateway.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import {
  canBuildNetworks,
  makeUserFolder,
  type Network,
  openNetwork,
  SALLYPORT,
  start,
} from '../sandbox/sandbox-world.ts'

const AVAILABLE = canBuildNetworks()
/**
 * By somebody else. It brings a parser of pages, so it is installed only here. Others end when a page breaks off
 * (mcp-fetch-server 1.1.2), which leaves no process to look at.
 */
const FETCH_SERVER = '@tokenizin/mcp-npx-fetch@1.0.0'

describe.skipIf(!AVAILABLE)(`a server of npm that fetches pages (${promise('SEN-7')}, ${promise('SEN-9')})`, () => {
  const folder = makeUserFolder('root')
  const path = (name: string): string => join(folder.path, name)
  let network: Network
  let client: StdioClient

  beforeAll(async () => {
    network = await openNetwork()
    for (const name of ['home', 'data', 'server']) mkdirSync(path(name))
    writeFileSync(path('data/pay.txt'), 'Ada earns 520138')
    for (const name of ['', 'data', 'data/pay.txt']) chmodSync(path(name), 0o755)
    writeFileSync(path('server/package.json'), '{"private":true}')
    const install = ['install', '--no-audit', '--no-fund', '--omit=dev', FETCH_SERVER]
    await promisify(execFile)('npm', install, { cwd: path('server') })
    const script = path('server/node_modules/@tokenizin/mcp-npx-fetch/dist/index.js')
    const config = {
      gateway: { startup_wait: '50s' },
      governance: { enforce: true, escalation: { policy_violations: false, tool_errors: false } },
      mcp_servers: {
        web: { command: process.execPath, args: [script], sandbox: 'auto' },
        files: {
          ...npmServer('filesystem', path('data')),
          ...{ sandbox: 'auto', mounts: [path('data')], sensitivity: 'secret' },
        },
      },
    }
    writeFileSync(path('home/config.yaml'), JSON.stringify(config))
    const open = { requires_approval: false }
    writeFileSync(path('home/tools.yaml'), JSON.stringify({ tools: { 'web/*': open, 'files/*': open } }))
    const serve = [...SALLYPORT, 'serve', '--stdio', '--home', path('home'), '--state', path('state')]
    client = new StdioClient(start(serve, { user: 'root', folder: folder.path, network }))
    await client.initialize()
  })
  afterAll(async () => {
    await client.leave()
    await network.close()
    folder.remove()
  })

  const fetchPage = async (page: string): Promise<{ readonly isError?: boolean; readonly text: string }> => {
    const url = `http://${network.v4}:${network.port}${page}`
    const { isError, content } = await client.call('web_fetch_html', { url })
    return { isError, text: content.map(({ text }: { readonly text: string }) => text).join('\n') }
  }

  it('loses the connection that it holds when its session turns SECRET, and sends nothing after that', async () => {
    const seen = await network.arrivals(async () => expect((await fetchPage('/page')).text).toContain('the internet'))
    expect(seen).toContain(`http ${network.v4}:${network.port} /page`)

    const held = fetchPage('/endless')
    await network.until(`http ${network.v4}:${network.port} /endless`)
    const after = await network.arrivals(async () => {
      const read = await client.call('files_read_text_file', { path: path('data/pay.txt') })
      expect(read.content[0].text).toContain('Ada earns 520138')
      await network.until('closed /endless')
      expect((await held).isError).toBe(true)
      for (const page of ['/page?pay=520138', '/endless'])
        expect(await fetchPage(page)).toMatchObject({
          isError: true,
          text: expect.stringContaining(`${network.v4}:${network.port}`),
        })
    })
    expect(after.filter((line) => line !== 'closed /endless')).toEqual([])

    const records = readRecords(path('state')).filter(({ server }) => server === 'web')
    const narrowed = records.filter(({ type }) => type === 'SANDBOX_NARROWED')
    expect(narrowed).toContainEqual(expect.objectContaining({ from: 'FULL', to: 'NONE' }))
    expect(narrowed.some(({ cut }) => Number(cut) >= 1)).toBe(true)
    // The process lives on.
    expect(records.filter(({ type }) => type === 'UPSTREAM_LOST')).toEqual([])
  })
})
