import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../harness/repository.ts'
import { promise } from '../promises.ts'

const HOOK = `
  export async function resolve(specifier, context, next) {
    const found = await next(specifier, context)
    process._rawDebug('loaded ' + found.url)
    return found
  }`

/** What is loaded from outside of this repository's own packages, in a process of its own. */
async function foreignModules(code: string): Promise<readonly string[]> {
  const hook = JSON.stringify(`data:text/javascript,${encodeURIComponent(HOOK)}`)
  const script = `import { register } from 'node:module'\nregister(${hook})\n${code}`
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: ROOT,
  })
  const urls = stderr.split('\n').flatMap((line) => (line.startsWith('loaded ') ? [line.slice('loaded '.length)] : []))
  expect(urls.length).toBeGreaterThan(1)
  return urls.filter((url) => url.includes('/node_modules/'))
}

test.each([
  '@sallyport/kit',
  '@sallyport/kit/client/ai-sdk',
  '@sallyport/kit/client/anthropic',
  '@sallyport/kit/client/openai',
])('importing %s loads no package but our own', async (specifier) => {
  expect(await foreignModules(`await import('${specifier}')`)).toEqual([])
})

test(`the adapters of OpenAI and Anthropic work without their SDKs: ${promise('KIT-14')}`, async () => {
  const loaded = await foreignModules(`
    const { createMcpClient, createMcpServer } = await import('@sallyport/kit')
    const { createChatTools } = await import('@sallyport/kit/client/openai')
    const { createAnthropicTools } = await import('@sallyport/kit/client/anthropic')
    const client = await createMcpClient({ server: createMcpServer('s', { version: '1' }) })
    await createChatTools(client)
    await createAnthropicTools(client)
    await client.close()`)
  expect(loaded.some((url) => url.includes('/node_modules/@modelcontextprotocol/client/'))).toBe(true)
  expect(loaded.filter((url) => /node_modules\/(ai|openai|@anthropic-ai|@ai-sdk)\//.test(url))).toEqual([])
})
