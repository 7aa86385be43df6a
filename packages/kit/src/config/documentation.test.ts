import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createMcpServer } from '../mcp-server.ts'
import { readKitConfig, SERVER_KEYS } from './kit-config.ts'
import { readServerConfig } from './server-config.ts'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))
const page = (name: string) => readFileSync(join(PACKAGE, '../../docs/kit', name), 'utf8')
const block = (text: string, language: string) =>
  new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(text)?.[1] ?? ''

it('the file in docs/kit/config.md is read without warnings', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'sallyport-kit-docs-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'config.yaml'), block(page('config.md'), 'yaml'))
  const environment = { JWT_SECRET: 'a long enough secret for HMAC-SHA256', DATA_FOLDER: '/srv/data' }
  const warnings: string[] = []
  const options = { cwd, environment, onWarning: (warning: string) => warnings.push(warning) }
  const { name, options: made, listen } = await readServerConfig('records', options)
  createMcpServer(name, made).assertMayListen('0.0.0.0')
  expect(listen).toEqual({ host: '127.0.0.1', port: 8000 })
  expect(await readKitConfig('data-tools', options)).toMatchObject({ kind: 'client', settings: { readTimeout: 60 } })
  expect(await readKitConfig('files', options)).toMatchObject({
    kind: 'upstream',
    settings: { args: ['@my/files', '/srv/data'] },
  })
  expect(warnings).toEqual([])
})

it('docs/kit/config.md names every key of a server', () => {
  const text = page('config.md')
  const keys = Object.keys(SERVER_KEYS).filter((key) => key !== 'description' && key !== 'type')
  const written = keys.map((key) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  expect(written.filter((key) => !text.includes(`\`${key}\``))).toEqual([])
})

it('the server in docs/kit/identity.md runs unchanged', () => {
  const code = `${block(page('identity.md'), 'js')}\nconsole.log((await server.authenticate({})).status)`
  const env = { ...process.env, JWT_SECRET: 'a long enough secret for HMAC-SHA256' }
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: PACKAGE,
    env,
    encoding: 'utf8',
  })
  expect(output).toBe('401\n')
})
