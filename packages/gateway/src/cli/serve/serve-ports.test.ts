import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cli, createTestHome } from '../cli.test-kit.ts'

/** An address for documentation: nobody has it, so nothing can be opened there. */
const ELSEWHERE = '192.0.2.1'

const serve = (config: string, ...args: string[]) => cli(['serve', ...args], { at: createTestHome(config) })

describe('serve --host with an address that others can reach', () => {
  it.each([ELSEWHERE, '0.0.0.0', '::', 'example.org', ''])('"%s" needs the consent of the config', async (host) => {
    const { exit, stderr } = await serve('mcp_servers: {}', '--host', host)
    expect(exit).toBe(2)
    expect(stderr).toMatch(/✗ USAGE .*other machines[\s\S]*allow_remote: true/)
  })

  it('is opened when the config consents', async () => {
    const { stderr } = await serve('gateway: {allow_remote: true}', '--host', ELSEWHERE)
    expect(stderr).toContain('✗ PORT_UNAVAILABLE')
  })

  it('is never opened without tokens, whatever the config says', async () => {
    const { exit, stderr } = await serve('gateway: {allow_remote: true}', '--no-auth', '--host', ELSEWHERE)
    expect(exit).toBe(2)
    expect(stderr).toContain('✗ USAGE --no-auth')
  })
})

it('serve --no-auth accepts only addresses of this machine', async () => {
  const taken = createServer().listen(0, '127.0.0.2')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const { stderr } = await serve('mcp_servers: {}', '--no-auth', '--host', '127.0.0.2', '--port', String(port))
  expect(stderr).toContain('✗ PORT_UNAVAILABLE')
})
