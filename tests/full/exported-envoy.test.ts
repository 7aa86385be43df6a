import { parseHostRule } from '@sallyport/core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { askOnce, closeAll, connectRequest } from '../../packages/gateway/src/sandbox/egress/egress.test-kit.ts'
import { exportEnvoy } from '../../packages/gateway/src/sandbox/export/envoy.ts'
import { promise } from '../promises.ts'
import { ALLOW, NAMES, REQUESTS, requestTunnel } from '../sandbox/egress-requests.ts'
import { EgressWorld } from '../sandbox/egress-world.ts'
import { ExportedProxy, installEnvoy } from '../sandbox/exported-proxy.ts'

const envoy = installEnvoy()
const RUN = `${envoy?.path} --config-path $CONFIG --disable-hot-restart --log-level error --concurrency 1`
const REBINDING = Array.from({ length: 20 }, (_, index) => `rebind-${index}.test`)
const names = {
  ...NAMES,
  ...Object.fromEntries(REBINDING.map((name) => [name, [['198.51.100.2'], ['127.0.0.1'], ['10.77.0.2']]])),
  'both.test': [['10.77.0.2', '198.51.100.2']],
  'second.test': [['198.51.100.9', '10.77.0.2']],
}

describe.skipIf(envoy === undefined)(`Envoy with the exported policy (${promise('SEN-17')})`, () => {
  let exported: string
  let world: EgressWorld
  let proxy: ExportedProxy
  beforeAll(async () => {
    world = await EgressWorld.open()
    exported = exportEnvoy(
      ALLOW.flatMap((written) => parseHostRule(written) ?? []),
      '127.0.0.1',
    )
    proxy = await ExportedProxy.open({ world, config: exported, names, run: RUN })
  })
  afterEach(closeAll)
  afterAll(async () => {
    await proxy?.close()
    await world.close()
    envoy?.remove()
  })

  it.each(REQUESTS)('%s: FULL %s, PROXIED %s', async (target, full, proxied) => {
    world.forget()
    // It takes this notation for a name, which does not exist.
    const expected = target.startsWith('0x') ? '503' : full
    expect(await requestTunnel(world, proxy.full, target)).toBe(expected)
    expect(await requestTunnel(world, proxy.proxied, target)).toBe(proxied)
    expect(world.ownMachine).toEqual([])
  })

  it.each([
    ['site.test.other.test:443', 'a suffix that is in front'],
    ['asite.test:443', 'a longer name'],
    ['evil-sub.test:443', 'a name that ends like a wildcard'],
    ['.sub.test:443', 'an empty name below a wildcard'],
    ['198.51.100.3:443', 'an address whose reverse lookup gives a listed name'],
    ['10.77.0.2:443', 'a listed address at another port'],
    ['0x0a4d0002:5432', 'the same in another notation'],
    ['[::ffff:10.77.0.2]:5432', 'a listed address in the form of IPv6'],
    ['site.test:25', 'a listed host at another port'],
    ['site.test%00.other.test:443', 'a name with an escape'],
    ['other.test@site.test:443', 'a user in front of the host'],
  ])('%s is refused in PROXIED: %s', async (target) => {
    world.forget()
    const reply = await askOnce(proxy.proxied, `${connectRequest(target).trimEnd()}\r\nConnection: close\r\n\r\n`)
    expect(reply).toMatch(/^HTTP\/1\.1 (400|403) /)
    expect(world.arrived).toEqual([])
    expect(world.ownMachine).toEqual([])
  })

  it('plain requests are judged by their URL', async () => {
    const get = (url: string, host = new URL(url).host): Promise<string> =>
      askOnce(proxy.proxied, `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(await get('http://site.test/')).toContain('the internet')
    expect(await get('http://other.test/', 'site.test')).toContain('403 Forbidden')
    expect(await get('http://198.51.100.3/')).toContain('403 Forbidden')
  })

  it('names that are refused are not looked up', async () => {
    proxy.lookups.length = 0
    await requestTunnel(world, proxy.proxied, 'stolen-data.other.test:443')
    await requestTunnel(world, proxy.proxied, '198.51.100.3:443')
    expect(proxy.lookups.filter((line) => line.includes('stolen'))).toEqual([])
  })

  it('a name that changes its address at each lookup is not followed to one that is not public', async () => {
    const replies = new Set<string>()
    for (const target of [...REBINDING, ...REBINDING])
      replies.add(await requestTunnel(world, proxy.full, `${target}:443`))
    expect([...replies]).toEqual(['198.51.100.2 443'])
    expect(await requestTunnel(world, proxy.full, 'both.test:443')).toBe('403')
    expect(world.ownMachine).toEqual([])
  })

  it('only the first address of a name is checked, as the file says', async () => {
    expect(exported).toContain('Envoy checks the first address of a name')
    // Nobody answers at the first one, so that Envoy tries the second.
    expect(await requestTunnel(world, proxy.full, 'second.test:443')).toBe('10.77.0.2 443')
  })
})
