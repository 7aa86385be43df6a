import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Outcome } from '../harness/run-command.ts'
import { type Network, openNetwork, probe, run, type Start } from './sandbox-world.ts'

/** What a program may reach. */
export interface Reach {
  readonly mode: 'FULL' | 'PROXIED' | 'NONE'
  readonly allow?: readonly string[]
}

/** A way of isolating a program. */
export interface Isolation {
  /** Who starts it, and where. */
  readonly start: () => Start
  /** The command that runs another one in a sandbox. */
  readonly wrap: (reach: Reach, command: readonly string[]) => readonly string[]
  /** Whether it explains on stderr how a refused connection can be allowed. */
  readonly explains: boolean
}

/** What each network mode lets through, with a second network as the internet, whose listener is the oracle. */
export function describeNetworkModes(name: string, { start, wrap, explains }: Isolation): void {
  describe(name, () => {
    let network: Network
    beforeAll(async () => {
      network = await openNetwork()
    })
    afterAll(() => network.close())

    const ask = (reach: Reach, command: readonly string[]): Promise<Outcome> =>
      run(wrap(reach, command), { ...start(), network })
    const listed = (): Reach => ({ mode: 'PROXIED', allow: [`${network.v4}:${network.port}`] })
    const modes = (): readonly Reach[] => [{ mode: 'NONE' }, listed(), { mode: 'FULL' }]

    /** One after the other, in one sandbox. */
    const all = (): readonly string[] => {
      const { v4, v6, port } = network
      return probe('each', ...['tcp', 'udp'].flatMap((kind) => [v4, v6].map((host) => `${kind} ${host} ${port}`)))
    }

    it('has no TCP or UDP of its own over IPv4 or IPv6, in any mode', async () => {
      const open = await network.arrivals(async () =>
        expect((await run(all(), { ...start(), network })).stdout).toBe('yes\n'.repeat(4)),
      )
      expect(open.map((line) => line.split(' ')[0]).sort()).toEqual(['tcp', 'tcp', 'udp', 'udp'])
      const [v4, v6] = ['no ENETUNREACH\n', 'no (?:ENETUNREACH|EADDRNOTAVAIL)\n']
      const closed = await network.arrivals(async () => {
        for (const reach of modes())
          expect((await ask(reach, all())).stdout).toMatch(new RegExp(`^${v4}${v6}${v4}${v6}$`))
      })
      expect(closed).toEqual([])
    })

    const curl = (url: string, ...more: readonly string[]): readonly string[] => ['curl', '-sS', '-g', ...more, url]
    const page = (): string => `http://${network.v4}:${network.port}/page`

    it('reaches public addresses through the proxy in FULL', async () => {
      const seen = await network.arrivals(async () =>
        expect(await ask({ mode: 'FULL' }, curl(page()))).toMatchObject({ code: 0, stdout: 'the internet' }),
      )
      expect(seen).toContain(`http ${network.v4}:${network.port} /page`)
      const v6 = `http://[${network.v6}]:${network.port}/six`
      expect(await ask({ mode: 'FULL' }, curl(v6))).toMatchObject({ code: 0, stdout: 'the internet' })
    })

    it('reaches the listed host and no other in PROXIED', async () => {
      expect(await ask(listed(), curl(page()))).toMatchObject({ code: 0, stdout: 'the internet' })
      const seen = await network.arrivals(async () => {
        const other = await ask(listed(), curl(`http://[${network.v6}]:${network.port}/six`, '--fail'))
        expect(other).toMatchObject({ code: 22, stdout: '' })
        if (explains) {
          expect(other.stderr).toMatch(/! A connection to .*2a00:1234::2.* was refused: /)
          expect(other.stderr).toContain(`\n  To allow it, add --allow [${network.v6}]:${network.port}\n`)
        }
        expect(await ask(listed(), curl(page(), '--noproxy', '*'))).toMatchObject({ code: 7, stdout: '' })
      })
      expect(seen).toEqual([])
    })

    it('reaches nothing in NONE', async () => {
      const seen = await network.arrivals(async () => {
        const refused = await ask({ mode: 'NONE' }, curl(page(), '--fail'))
        expect(refused).toMatchObject({ code: 22, stdout: '' })
        if (!explains) return
        expect(refused.stderr).toContain(`A connection to ${network.v4}:${network.port} was refused`)
        const target = `${network.v4}:${network.port}`
        expect(refused.stderr).toContain(`\n  To allow it, add --mode PROXIED --allow ${target}\n`)
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
      expect(await ask({ mode: 'FULL' }, command)).toMatchObject({ stdout: 'the internet the internet\n' })
      expect((await ask({ mode: 'NONE' }, command)).stdout).toMatch(/^no /)
    })
  })
}
