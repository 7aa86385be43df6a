import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  clientHello,
  ECH,
  nameEntry,
  serverNames,
} from '../../packages/gateway/src/sandbox/egress/client-hello.test-kit.ts'
import {
  askOnce,
  Client,
  closeAll,
  connectRequest,
  openBridge,
  openTunnel,
} from '../../packages/gateway/src/sandbox/egress/egress.test-kit.ts'
import { promise } from '../promises.ts'
import { ALLOW, NAMES, OWN_ADDRESSES, REQUESTS, requestTunnel } from './egress-requests.ts'
import { canMakeNetworks, EgressWorld, type PolicyText } from './egress-world.ts'

const FULL: PolicyText = { mode: 'FULL', allow: [] }
const NONE: PolicyText = { mode: 'NONE', allow: [] }
const PROXIED: PolicyText = { mode: 'PROXIED', allow: ALLOW }

describe.skipIf(!canMakeNetworks())(`the egress proxy between two networks (${promise('SEN-10')})`, () => {
  let world: EgressWorld
  beforeAll(async () => {
    world = await EgressWorld.open()
  })
  afterEach(closeAll)
  afterAll(() => world.close())

  const reach = (target: string): Promise<string> => requestTunnel(world, world.socketPath, target)

  // Port 80 of the gateway itself has a listener too: nothing may reach it.
  it.each([...REQUESTS, ...OWN_ADDRESSES])('%s: FULL %s, PROXIED %s, NONE 403', async (target, full, proxied) => {
    // In FULL too, an address that is not public is reached only if it is listed.
    await world.openProxy({ policy: { ...PROXIED, mode: 'FULL' }, names: NAMES })
    expect(await reach(target)).toBe(full)
    await world.openProxy({ policy: PROXIED, names: NAMES })
    expect(await reach(target)).toBe(proxied)
    await world.setPolicy(NONE)
    const before = world.arrived.length
    expect(await reach(target)).toBe('403')
    expect(world.arrived).toHaveLength(before)
    expect(world.ownMachine).toEqual([])
  })

  it('curl loads a page with TLS, and none of another host', async () => {
    await world.openProxy({ policy: PROXIED, names: NAMES })
    const proxy = `http://127.0.0.1:${await openBridge(world.socketPath)}`
    const curl = (url: string) => promisify(execFile)('curl', ['-sSk', '--proxy', proxy, url], { env: {} })
    expect((await curl('https://site.test/')).stdout).toBe('the internet')
    expect((await curl('http://site.test/')).stdout).toBe('the internet')
    await expect(curl('https://other.test/')).rejects.toThrow('403')
    expect(world.arrived.filter((line) => line.includes('198.51.100.3'))).toEqual([])
  })

  it('a name that changes its address is not followed', async () => {
    await world.openProxy({
      policy: { mode: 'PROXIED', allow: ['rebind.test'] },
      names: { 'rebind.test': [['198.51.100.2'], ['127.0.0.1'], ['169.254.169.254'], ['10.77.0.2', '198.51.100.3']] },
    })
    expect(await reach('rebind.test:443')).toBe('198.51.100.2 443')
    expect(await reach('rebind.test:443')).toBe('403')
    expect(await reach('rebind.test:443')).toBe('403')
    expect(await reach('rebind.test:443')).toBe('198.51.100.3 443')
    expect(world.arrived).toEqual(['198.51.100.2 443', '198.51.100.3 443'])
    expect(world.ownMachine).toEqual([])
  })

  it('an address that does not answer is passed over for one that does', async () => {
    await world.openProxy({ policy: FULL, names: { 'slow.test': [['2001:db8:5::77', '198.51.100.2']] } })
    expect(await reach('slow.test:443')).toBe('198.51.100.2 443')
  })

  it('a narrower policy stops a connection that is just being made', async () => {
    await world.openProxy({ policy: FULL, names: { 'far.test': [['198.51.100.77']] } })
    const client = new Client(world.socketPath).send(connectRequest('far.test:443'))
    await expect.poll(async () => (await world.stats()).open).toBe(1)
    expect(await world.setPolicy(NONE)).toEqual({ cut: 1 })
    await client.receive('HTTP/1.1 403')
    expect((await world.stats()).open).toBe(0)
  })

  it('a narrower policy stops a connection that would reach an address which is no longer listed', async () => {
    const allow = ['far.test:5432', '10.77.0.2:5432']
    const names = { 'far.test': [['198.51.100.77', '10.77.0.2']] }
    await world.openProxy({ policy: { mode: 'PROXIED', allow }, names })
    const client = new Client(world.socketPath).send(connectRequest('far.test:5432'))
    await expect.poll(async () => (await world.stats()).open).toBe(1)
    expect(await world.setPolicy({ mode: 'PROXIED', allow: ['far.test:5432'] })).toEqual({ cut: 1 })
    await client.closed
    expect((await world.decisions()).at(-1)).toMatchObject({ ok: false, reason: 'its address is not public (private)' })
  })

  it('a narrower policy cuts tunnels that only the wider one let begin in their way', async () => {
    await world.openProxy({ policy: { ...PROXIED, mode: 'FULL' }, names: NAMES })
    const right = clientHello(serverNames(nameEntry('a.sub.test')))
    const wrong = [clientHello(), clientHello(serverNames(nameEntry('a.sub.test')), ECH), Buffer.from('not TLS')]
    for (const bytes of [right, ...wrong]) (await openTunnel(world.socketPath, 'a.sub.test:443')).send(bytes)
    await expect.poll(() => world.arrived.filter((line) => line === '198.51.100.3 443').length).toBe(4)
    await expect
      .poll(async () => (await world.stats()).sent)
      .toBe([right, ...wrong].reduce((sum, { length }) => sum + length, 0))
    expect(await world.setPolicy(PROXIED)).toEqual({ cut: 3 })
    const reasons = (await world.decisions()).filter(({ ok }) => !ok).map(({ reason }) => reason)
    expect(reasons).toEqual([
      'its TLS handshake names no host (no SNI)',
      'its TLS handshake may hide another host (encrypted ClientHello)',
      'only TLS may be sent to port 443',
    ])
    // And none of these can begin now.
    for (const bytes of wrong) await (await openTunnel(world.socketPath, 'a.sub.test:443')).send(bytes).closed
  })

  it('nothing arrives through a tunnel once the policy is NONE', async () => {
    await world.openProxy({ policy: FULL, names: NAMES })
    const tunnels = await Promise.all(Array.from({ length: 20 }, () => openTunnel(world.socketPath, 'other.test:5432')))
    // Each sends all the time, before and after the switch, and knows when it was.
    let hasSwitched = false
    const sending = tunnels.map(async ({ socket }) => {
      socket.setNoDelay()
      while (!socket.destroyed && socket.writable) {
        socket.write(hasSwitched ? 'SECRET' : 'public')
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    await expect.poll(() => world.arrived.filter((line) => line.includes('public')).length).toBeGreaterThan(20)
    const { cut } = await world.setPolicy(NONE)
    hasSwitched = true
    await Promise.all(sending)
    expect(cut).toBe(20)
    expect(await askOnce(world.socketPath, connectRequest('other.test:5432'))).toContain('the network mode is NONE')
    expect(world.arrived.filter((line) => line.includes('SECRET'))).toEqual([])
  })
})
