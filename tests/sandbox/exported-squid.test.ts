import { parseHostRule } from '@sallyport/core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { askOnce, closeAll, connectRequest } from '../../packages/gateway/src/sandbox/egress/egress.test-kit.ts'
import { exportSquid } from '../../packages/gateway/src/sandbox/export/squid.ts'
import { promise } from '../promises.ts'
import { ALLOW, NAMES, REQUESTS, requestTunnel } from './egress-requests.ts'
import { EgressWorld } from './egress-world.ts'
import { canRunSquid, ExportedProxy } from './exported-proxy.ts'

const RUN = [
  'mount -t tmpfs none /run',
  'mount -t tmpfs none /var/log/squid',
  'chown proxy /run /var/log/squid',
  'squid -N -f $CONFIG',
].join('; ')

const MAPPED = ['[::ffff:198.51.100.2]:443']
/** Many names, of which each has another address when it is looked up for the second time. */
const REBINDING = Array.from({ length: 20 }, (_, index) => `rebind-${index}.test`)
const CHANGING = Object.fromEntries(REBINDING.map((name) => [name, [['198.51.100.2'], ['127.0.0.1'], ['10.77.0.2']]]))
const names = { ...NAMES, ...CHANGING, 'both.test': [['198.51.100.2', '10.77.0.2']] }

describe.skipIf(!canRunSquid())(`Squid with the exported policy (${promise('SEN-17')})`, () => {
  let world: EgressWorld
  let squid: ExportedProxy
  beforeAll(async () => {
    world = await EgressWorld.open()
    const config = exportSquid(
      ALLOW.flatMap((written) => parseHostRule(written) ?? []),
      { listen: '127.0.0.1', isContainer: false },
    )
    squid = await ExportedProxy.open({ world, config, names, run: RUN })
  })
  afterEach(closeAll)
  afterAll(async () => {
    await squid?.close()
    await world.close()
  })

  it.each(REQUESTS.filter(([target]) => !MAPPED.includes(target)))(
    '%s: FULL %s, PROXIED %s',
    async (target, full, proxied) => {
      world.forget()
      expect(await requestTunnel(world, squid.full, target)).toBe(full)
      expect(await requestTunnel(world, squid.proxied, target)).toBe(proxied)
      expect(world.ownMachine).toEqual([])
    },
  )

  it('an IPv4 address in the form of IPv6 is judged as the IPv4 address', async () => {
    expect(await requestTunnel(world, squid.full, '[::ffff:198.51.100.2]:443')).toBe('198.51.100.2 443')
    expect(await requestTunnel(world, squid.proxied, '[::ffff:198.51.100.2]:443')).toBe('403')
    expect(await requestTunnel(world, squid.proxied, '[::ffff:10.77.0.2]:5432')).toBe('10.77.0.2 5432')
    for (const target of ['[::ffff:10.77.0.2]:443', '[::ffff:7f00:1]:80', '[::127.0.0.1]:80', '[64:ff9b::a4d:2]:443'])
      expect(await requestTunnel(world, squid.full, target)).toBe('403')
    expect(world.ownMachine).toEqual([])
  })

  it.each([
    ['site.test.other.test:443', 'a suffix that is in front'],
    ['asite.test:443', 'a longer name'],
    ['evil-sub.test:443', 'a name that ends like a wildcard'],
    ['.sub.test:443', 'an empty name below a wildcard'],
    ['198.51.100.3:443', 'an address whose reverse lookup gives a listed name'],
    ['10.77.0.2:443', 'a listed address at another port'],
    ['0x0a4d0002:443', 'the same in another notation'],
    ['site.test:25', 'a listed host at another port'],
    ['site.test%00.other.test:443', 'a name with an escape'],
    ['other.test@site.test:443', 'a user in front of the host'],
  ])('%s is refused in PROXIED: %s', async (target) => {
    world.forget()
    const reply = await askOnce(squid.proxied, `${connectRequest(target).trimEnd()}\r\nConnection: close\r\n\r\n`)
    expect(reply).toMatch(/^HTTP\/1\.1 (400|403) /)
    expect(world.arrived).toEqual([])
    expect(world.ownMachine).toEqual([])
  })

  it('SITE.test. is site.test', async () => {
    expect(await requestTunnel(world, squid.proxied, 'SITE.test:443')).toBe('198.51.100.2 443')
    expect(await requestTunnel(world, squid.proxied, 'site.test.:443')).toBe('198.51.100.2 443')
  })

  it('plain requests are judged by their URL, and other protocols are refused', async () => {
    const get = (url: string, host = new URL(url).host): Promise<string> =>
      askOnce(squid.proxied, `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(await get('http://site.test/')).toContain('the internet')
    expect(await get('http://other.test/', 'site.test')).toContain('403 Forbidden')
    expect(await get('http://198.51.100.3/')).toContain('403 Forbidden')
    world.forget()
    for (const url of ['ftp://site.test/', 'ftp://site.test:80/', 'http://site.test:3128/squid-internal-mgr/info'])
      expect(await get(url)).toContain('403 Forbidden')
    expect(await get('cache_object://localhost/info', 'localhost')).toMatch(/^HTTP\/1\.1 (400|403) /)
    expect(world.arrived).toEqual([])
  })

  it('names that are refused are not looked up', async () => {
    squid.lookups.length = 0
    await requestTunnel(world, squid.proxied, 'stolen-data.other.test:443')
    await requestTunnel(world, squid.proxied, '198.51.100.3:443')
    await requestTunnel(world, squid.proxied, 'a.sub.test:443')
    expect(squid.lookups.filter((line) => !line.includes('sub.test'))).toEqual([])
  })

  it('a name that changes its address at each lookup is not followed to one that is not public', async () => {
    const replies = new Set<string>()
    for (const target of [...REBINDING, ...REBINDING])
      replies.add(await requestTunnel(world, squid.full, `${target}:443`))
    // Its first address is public, and remains the one that is used for a while.
    expect([...replies]).toEqual(['198.51.100.2 443'])
    // One address that is not public is enough to refuse a name.
    expect(await requestTunnel(world, squid.full, 'both.test:443')).toBe('403')
    expect(world.ownMachine).toEqual([])
  })
})
