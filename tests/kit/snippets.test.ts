import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { filesBelow, ROOT } from '../harness/repository.ts'
import { snippetsOf } from '../harness/snippets.ts'

const run = promisify(execFile)

/** What a page leaves out, and what its program then has to print. */
interface Trial {
  readonly before?: string
  readonly after: string
  /** The snippet is the body of a function that `after` calls, and that ends with this. */
  readonly inFunction?: string
  /** What is written differently, since the page names things that are not here. */
  readonly put?: Readonly<Record<string, string>>
  readonly prints: string
}

const SERVER = `
  import { createMcpServer, READ, WRITE, ToolRetryError, toolResult, textContent, offerResults } from '@sallyport/kit'
  import { connectInMemory } from '@sallyport/kit/testing'`
const call = (tool: string, args: object = {}, options = '{}'): string => `
  const caller = await connectInMemory(server, ${options})
  console.log((await caller.callTool('${tool}', ${JSON.stringify(args)})).content.map(({ text, type }) => text ?? type).join())
  caller.close()`
/** Calls the snippet within a request, which has a user and a workspace. */
const WITHIN_A_CALL = `
  const server = createMcpServer('trial', { version: '1.0.0' })
  server.tool('trial', { description: 'Runs the snippet', permission: READ }, () => snippet())${call('trial')}`
const CLIENT = `${SERVER}
  import { createMcpClient } from '@sallyport/kit'
  const server = createMcpServer('notes', { version: '1.0.0' })
  server.tool('echo', { description: 'Answers', permission: READ }, () => 'answered')
  const client = await createMcpClient({ server })`

const TRIALS: Readonly<Record<string, readonly Trial[]>> = {
  'docs/kit/asking.md': [
    {
      before: `${SERVER}
        import { z } from 'zod'
        const server = createMcpServer('folders', { version: '1.0.0' })
        const input = z.object({ path: z.string() })
        const removeFolder = (path) => 'removed ' + path`,
      after: call(
        'delete_folder',
        { path: '/tmp/x' },
        "{ onElicit: () => ({ action: 'accept', content: { sure: true } }) }",
      ),
      prints: 'removed /tmp/x\n',
    },
  ],
  'docs/kit/authors.md': [
    {
      inFunction: '',
      before: `${SERVER}
        class OrderNotFound extends Error {}
        const id = 7
        const orders = { find: async () => { throw new OrderNotFound() } }`,
      after: WITHIN_A_CALL,
      prints: 'There is no order 7. List the orders first.\n',
    },
  ],
  'docs/kit/client.md': [
    {
      put: { "'npx', args: ['@my/files']": "process.execPath, args: ['files.mjs']" },
      before: `
        import { createMcpServer, serveHttp, serveStdio, READ } from '@sallyport/kit'
        import { writeFile } from 'node:fs/promises'
        const server = createMcpServer('records', { version: '1.0.0', dev: true })
        server.tool('search_records', { description: 'Searches', permission: READ, input: { type: 'object', properties: { query: { type: 'string' } } } }, ({ query }) => 'found ' + query)
        const { url, close } = await serveHttp(server, { port: 0 })
        await writeFile('config.yaml', 'mcp_servers: { records: { type: client, url: "' + url + '" } }')
        await writeFile('files.mjs', "import { createMcpServer, serveStdio } from '@sallyport/kit'; await serveStdio(createMcpServer('files'))")
        const token = 'any'`,
      after: `
        console.log(result.content[0].text)
        await files.close()
        await local.close()
        await close()`,
      prints: 'found tea\n',
    },
    {
      before: `${CLIENT}
        import { MockLanguageModelV4 } from 'ai/test'
        const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
        const model = new MockLanguageModelV4({ doGenerate: async ({ tools }) => ({
          content: [{ type: 'text', text: 'ok' }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [],
          response: { id: console.log(tools.map(({ name }) => name).join()) ?? '1' } }) })
        const prompt = 'hello'`,
      after: 'await client.close()',
      prints: 'echo\n',
    },
    {
      before: `${CLIENT}
        const anthropic = { messages: { create: async ({ tools }) => ({
          content: [{ type: 'tool_use', id: 'a', name: tools[0].name, input: {} }] }) } }
        const [model, messages] = ['any', []]`,
      after: `
        console.log(results[0].content[0].text, typeof createChatTools, typeof createResponsesTools)
        await client.close()`,
      prints: 'answered function function\n',
    },
  ],
  'docs/kit/config.md': [
    {
      put: { 'await serveHttp': 'const { url, close } = await serveHttp' },
      before: `
        import { writeFile } from 'node:fs/promises'
        await writeFile('config.yaml', 'mcp_servers: { records: { type: server, dev: true, port: 0 } }')`,
      after: 'console.log(new URL(url).pathname)\nawait close()',
      prints: '/mcp\n',
    },
  ],
  'docs/kit/connectors.md': [
    {
      inFunction: 'return rows',
      before: `${SERVER}
        const given = 'region,total\\nnorth,2000\\nsouth,5\\n'`,
      put: { 'const { rows,': "await FileConnector.write('/workspace/sales.csv', given)\nconst { rows," },
      after: WITHIN_A_CALL,
      prints: '[{"region":"north","total":"2000"}]\n',
    },
    {
      inFunction: 'return privateData().label()',
      before: `${SERVER}
        import { privateData } from '@sallyport/kit'
        import { CsvConnector, FileConnector } from '@sallyport/kit/connectors'`,
      put: { 'await Csv': "await FileConnector.write('/workspace/salaries.csv', 'name\\nada\\n')\nawait Csv" },
      after: WITHIN_A_CALL,
      prints: expect.stringContaining('salaries') as string,
    },
  ],
  'docs/kit/http.md': [
    { put: { '8080': '0' }, after: 'console.log(new URL(url).pathname)\nawait close()', prints: '/mcp\n' },
    {
      put: { 'listen(3000': 'listen(0' },
      after: `
        await new Promise((done) => listener.once('listening', done))
        const url = 'http://127.0.0.1:' + listener.address().port
        console.log(await (await fetch(url)).text(), (await fetch(url + '/mcp')).status)
        mcp.close()
        listener.close().closeAllConnections()`,
      prints: 'my own page 403\n',
    },
  ],
  'docs/kit/open-api.md': [
    {
      before: `
        import { writeFile } from 'node:fs/promises'
        import { connectInMemory } from '@sallyport/kit/testing'
        const get = (operationId) => ({ get: { operationId, summary: operationId, responses: { 200: { description: 'ok' } } } })
        const spec = { openapi: '3.1.0', info: { title: 'Pets', version: '1' }, paths: { '/pets': get('list_pets'), '/pet': get('get_pet') } }
        await writeFile('pets.yaml', JSON.stringify(spec))`,
      after: `
        const caller = await connectInMemory(server)
        console.log((await caller.listTools()).map(({ name }) => name).join())
        caller.close()`,
      prints: 'get_pet,list_pets\n',
    },
  ],
  'docs/kit/results.md': [
    { inFunction: '', before: `${SERVER}\nconst base64 = 'AAAA'`, after: WITHIN_A_CALL, prints: 'Two pages.,image\n' },
    {
      before: `${SERVER}\nconst searchLog = () => 'one line'`,
      after: call('search_log'),
      prints: 'one line\n',
    },
  ],
  'docs/kit/sql.md': [
    {
      put: { '/srv/data/sales.db': 'sales.db' },
      before: `
        import { createRequire } from 'node:module'
        import { connectInMemory } from '@sallyport/kit/testing'
        process.env.CRM_URL = 'postgres://nobody@127.0.0.1:1/none'
        const Database = createRequire(import.meta.url)('libsql')
        const database = new Database('sales.db')
        database.exec('create table orders (id); insert into orders values (41)')
        database.close()`,
      after: `${call('ask_sales', { sql: 'select id + 1 as next from orders' })}\nawait SqlConnector.close()`,
      prints: expect.stringContaining('42') as string,
    },
  ],
  'docs/kit/workspace.md': [
    {
      before: `${SERVER}
        const server = createMcpServer('notes', { version: '1.0.0' })
        const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }`,
      after: call('save_note', { text: 'tea' }),
      prints: expect.stringContaining('"size":4') as string,
    },
  ],
  'docs/embedding.md': [
    {
      // The first one is run by readme.test.ts.
      before: `
        import { createGateway } from 'sallyport'
        import { mkdir } from 'node:fs/promises'
        await mkdir('gateway-home')`,
      after: "console.log('closed')",
      prints: 'closed\n',
    },
  ],
}

/** Run by the test that is named. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'docs/approvals.md': 'tests/approvals/approval-ways.test.ts',
  'docs/kit/behind-the-gateway.md': 'tests/kit/callers.test.ts',
  'docs/kit/identity.md': 'packages/kit/src/config/documentation.test.ts',
  'docs/kit/private-data.md': 'packages/kit/src/testing/docs.test.ts',
  'docs/kit/testing.md': 'packages/kit/src/testing/docs.test.ts',
  'packages/gateway/README.md': 'tests/full/packed.test.ts',
  'packages/kit/README.md': 'packages/kit/src/readme.test.ts',
}
/** Declarations that are made from the code. */
const MADE = /^docs\/api\//

let folder: string

beforeAll(() => {
  // Inside of the repository, where the packages are found by their names.
  folder = mkdtempSync(join(ROOT, 'packages/gateway/.embedding-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function programOf(text: string, { before = '', after, inFunction, put = {} }: Trial): string {
  const whole = Object.entries(put).reduce((made, [from, to]) => {
    expect(made).toContain(from)
    return made.replace(from, () => to)
  }, text)
  if (inFunction === undefined) return `${before}\n${whole}\n${after}\n`
  const imports = whole.match(/^import .*$/gm)?.join('\n') ?? ''
  const rest = whole.replaceAll(/^import .*$/gm, '')
  return `${before}\n${imports}\nasync function snippet() {\n${rest}\n${inFunction}\n}\n${after}\n`
}

const runs = Object.entries(TRIALS).flatMap(([page, trials]) =>
  trials.map((trial, index) => ({
    page,
    trial,
    number: index + 1,
    snippet: snippetsOf(page, 'js', 'ts').slice(-trials.length)[index],
  })),
)

it.each(runs)('$page: program $number runs as it is written there', async ({ trial, snippet }) => {
  const cwd = mkdtempSync(join(folder, 'run-'))
  writeFileSync(join(cwd, 'program.mjs'), programOf(snippet?.text ?? '', trial))
  const env = { ...process.env, SALLYPORT_DATA: join(cwd, 'data') }
  const { stdout } = await run(process.execPath, ['program.mjs'], { cwd, env })
  expect(stdout).toEqual(trial.prints)
})

it('every program of the pages is run by a test', () => {
  const pages = filesBelow('.').filter(
    (path) => /^(?:docs|packages\/\w+\/README)\b.*\.md$/.test(path) && !MADE.test(path),
  )
  const withPrograms = pages.filter((page) => snippetsOf(page, 'js', 'ts').length > 0)
  expect(withPrograms.filter((page) => !(page in TRIALS) && !(page in ELSEWHERE))).toEqual([])
})
