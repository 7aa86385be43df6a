import { expect } from 'vitest'
import { Client, connectRequest } from '../../packages/gateway/src/sandbox/egress/egress.test-kit.ts'
import type { EgressWorld } from './egress-world.ts'

/** The list of the requests below. */
export const ALLOW: readonly string[] = ['site.test', '*.sub.test', 'db.test:5432', '10.77.0.2:5432', '[fd99::2]:443']

/** For each name the answers of its lookups, in order; the last one remains. */
export const NAMES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'site.test': [['198.51.100.2', '2001:db8:5::2']],
  'six.test': [['2001:db8:5::2']],
  'a.sub.test': [['198.51.100.3']],
  'sub.test': [['198.51.100.3']],
  'db.test': [['10.77.0.2']],
  'other.test': [['198.51.100.3']],
  'inner.test': [['10.77.0.2']],
  'loop.test': [['127.0.0.1'], ['::1']],
  'metadata.test': [['169.254.169.254']],
}

type Row = readonly [target: string, full: string, proxied: string]

/** What a tunnel to a target must lead to in FULL and in PROXIED: an address and a port, or a status. */
export const REQUESTS: readonly Row[] = [
  ['198.51.100.2:80', '198.51.100.2 80', '403'],
  ['198.51.100.2:5432', '198.51.100.2 5432', '403'],
  ['[2001:db8:5::2]:443', '2001:db8:5::2 443', '403'],
  ['site.test:80', '198.51.100.2 80', '198.51.100.2 80'],
  ['site.test:443', '198.51.100.2 443', '198.51.100.2 443'],
  ['site.test:5432', '198.51.100.2 5432', '403'],
  ['site.test:53', '198.51.100.2 53', '403'],
  ['six.test:443', '2001:db8:5::2 443', '403'],
  ['a.sub.test:443', '198.51.100.3 443', '198.51.100.3 443'],
  ['sub.test:443', '198.51.100.3 443', '403'],
  ['other.test:443', '198.51.100.3 443', '403'],
  ['db.test:5432', '10.77.0.2 5432', '10.77.0.2 5432'],
  ['10.77.0.2:5432', '10.77.0.2 5432', '10.77.0.2 5432'],
  ['[fd99::2]:443', 'fd99::2 443', 'fd99::2 443'],
  ['inner.test:443', '403', '403'],
  ['10.77.0.2:443', '403', '403'],
  ['172.20.0.2:443', '403', '403'],
  ['192.168.77.2:443', '403', '403'],
  ['0xc0a84d02:443', '403', '403'],
  ['100.64.0.2:443', '403', '403'],
  ['198.18.0.2:443', '403', '403'],
  ['[fd99::2]:5432', '403', '403'],
  ['[::ffff:198.51.100.2]:443', '403', '403'],
  ['169.254.169.254:80', '403', '403'],
  ['168.63.129.16:80', '403', '403'],
  ['metadata.test:443', '403', '403'],
  ['127.0.0.1:80', '403', '403'],
  ['[::1]:80', '403', '403'],
  ['0.0.0.0:80', '403', '403'],
  ['loop.test:443', '403', '403'],
]

/** Public addresses of the machine of the proxy itself. */
export const OWN_ADDRESSES: readonly Row[] = [
  ['198.51.100.1:443', '403', '403'],
  ['[2001:db8:5::1]:443', '403', '403'],
]

/** Asks a proxy for a tunnel. Returns the address and the port at which it arrived, or the status of the refusal. */
export async function requestTunnel(world: EgressWorld, socketPath: string, target: string): Promise<string> {
  // What comes with a connection is printed too, maybe after the answer to it.
  const connections = (): readonly string[] => world.arrived.filter((line) => /^\S+ \d+$/.test(line))
  const before = connections().length
  const client = new Client(socketPath).send(connectRequest(target))
  await client.receive('\r\n\r\n')
  const status = client.text.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3)
  if (status === '200' && target.endsWith(':80')) {
    client.send(`GET / HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    await client.receive(' 200 OK')
  }
  if (status === '200') await expect.poll(() => connections().length).toBeGreaterThan(before)
  client.socket.destroy()
  return status === '200' ? (connections()[before] ?? '') : status
}
