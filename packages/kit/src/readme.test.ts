import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MODERN_META } from './raw-client.test-kit.ts'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))

test('the server in the README runs unchanged', async () => {
  const readme = await readFile(`${PACKAGE}README.md`, 'utf8')
  const code = /```js\n(.*?)```/s.exec(readme)?.[1] ?? ''
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: PACKAGE,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const params = { name: 'search_records', arguments: { query: 'tea' }, _meta: MODERN_META }
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`)
  const [line] = await once(child.stdout, 'data')
  expect(JSON.parse(line).result.structuredContent).toEqual([{ title: 'About tea' }])
  child.stdin.end()
  expect(await exited).toEqual([0, null])
})
