import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import {
  canBuildNetworks,
  makeUserFolder,
  type Network,
  openNetwork,
  probe,
  run,
  sandboxed,
  USERS,
} from './sandbox-world.ts'

const AVAILABLE = canBuildNetworks()

describe.skipIf(!AVAILABLE)(`a program in a sandbox (${promise('SEN-18')})`, () => {
  let network: Network
  beforeAll(async () => {
    network = await openNetwork()
  })
  afterAll(() => network.close())

  describe.each(USERS)('started by %s', (user) => {
    const folder = makeUserFolder(user)
    afterAll(() => folder.remove())
    const outside = async (...words: readonly string[]) => (await run(probe(...words), options())).stdout.trim()
    const inside = async (flags: readonly string[], ...words: readonly string[]) =>
      (await run(sandboxed(flags, probe(...words)), options())).stdout.trim()
    const options = () => ({ user, folder: folder.path, network })
    const modes = (): readonly (readonly string[])[] => [
      [],
      ['--mode', 'NONE'],
      ['--mode', 'PROXIED', '--allow', `${network.v4}:${network.port}`],
      ['--mode', 'FULL'],
    ]

    it.each([
      ['TCP over IPv4', () => ['tcp', network.v4, `${network.port}`], /^no ENETUNREACH$/],
      ['TCP over IPv6', () => ['tcp', network.v6, `${network.port}`], /^no (ENETUNREACH|EADDRNOTAVAIL)$/],
      ['UDP over IPv4', () => ['udp', network.v4, `${network.port}`], /^no ENETUNREACH$/],
      ['UDP over IPv6', () => ['udp', network.v6, `${network.port}`], /^no (ENETUNREACH|EADDRNOTAVAIL)$/],
    ])('has no %s of its own, in any mode', async (_, words, refused) => {
      const [kind] = words() as [string]
      const open = await network.arrivals(async () => expect(await outside(...words())).toBe('yes'))
      expect(open).toEqual([expect.stringContaining(kind)])
      const closed = await network.arrivals(async () => {
        for (const flags of modes()) expect(await inside(flags, ...words())).toMatch(refused)
      })
      expect(closed).toEqual([])
    })

    const curl = (url: string, ...more: readonly string[]): readonly string[] => ['curl', '-sS', '-g', ...more, url]
    const page = (): string => `http://${network.v4}:${network.port}/page`
    const ask = (flags: readonly string[], command: readonly string[]) => run(sandboxed(flags, command), options())

    it('reaches public addresses through the proxy in FULL', async () => {
      const seen = await network.arrivals(async () =>
        expect(await ask(['--mode', 'FULL'], curl(page()))).toMatchObject({ code: 0, stdout: 'the internet' }),
      )
      expect(seen).toContain(`http ${network.v4}:${network.port} /page`)
      const v6 = `http://[${network.v6}]:${network.port}/six`
      expect(await ask(['--mode', 'FULL'], curl(v6))).toMatchObject({ code: 0, stdout: 'the internet' })
    })

    it('reaches the listed host and no other in PROXIED', async () => {
      const allow = ['--mode', 'PROXIED', '--allow', `${network.v4}:${network.port}`]
      expect(await ask(allow, curl(page()))).toMatchObject({ code: 0, stdout: 'the internet' })
      const seen = await network.arrivals(async () => {
        const other = await ask(allow, curl(`http://[${network.v6}]:${network.port}/six`, '--fail'))
        expect(other).toMatchObject({ code: 22, stdout: '' })
        expect(other.stderr).toMatch(/! A connection to .*2a00:1234::2.* was refused: /)
        expect(other.stderr).toContain(`\n  To allow it, add --allow [${network.v6}]:${network.port}\n`)
        expect(await ask(allow, curl(page(), '--noproxy', '*'))).toMatchObject({ code: 7, stdout: '' })
      })
      expect(seen).toEqual([])
    })

    it('reaches nothing in NONE, which is the default', async () => {
      const seen = await network.arrivals(async () => {
        for (const flags of [[], ['--mode', 'NONE']]) {
          const refused = await ask(flags, curl(page(), '--fail'))
          expect(refused).toMatchObject({ code: 22, stdout: '' })
          expect(refused.stderr).toContain(`A connection to ${network.v4}:${network.port} was refused`)
          expect(refused.stderr).toContain(
            `\n  To allow it, add --mode PROXIED --allow ${network.v4}:${network.port}\n`,
          )
        }
      })
      expect(seen).toEqual([])
    })

    it('reaches what a program of Node asks for with fetch and http.request', async () => {
      const program = `
        const http = require('node:http')
        fetch(${JSON.stringify(page())}).then((response) => response.text()).then((text) => {
          http.get(${JSON.stringify(page())}, (response) => { response.on('data', (chunk) => console.log(text, String(chunk))) })
        }, (error) => console.log('no', error.cause?.message ?? error.message))`
      const command = [process.execPath, '-e', program]
      expect(await ask(['--mode', 'FULL'], command)).toMatchObject({ stdout: 'the internet the internet\n' })
      expect((await ask(['--mode', 'NONE'], command)).stdout).toMatch(/^no /)
    })
  })
})
