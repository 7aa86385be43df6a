import { describe, expect, it } from 'vitest'
import { addressRefusal, urlRefusal } from './url-policy.ts'

const REFUSED = [
  // Schemes and credentials
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'data:text/plain,x',
  'javascript:alert(1)',
  'ws://example.com/',
  'http://user@example.com/',
  'http://user:pass@example.com/',
  'http://:pass@example.com/',
  // Loopback and this host
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.255.255.254/',
  'http://0/',
  'http://0.0.0.0/',
  'http://[::]/',
  'http://[::1]/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://a.localhost/',
  // Odd spellings of 127.0.0.1, 10.0.0.1 and 169.254.169.254
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://127.0.0.1./',
  'http://１２７.0.0.1/',
  'http://127。0。0。1/',
  'http://%31%32%37.0.0.1/',
  'http://012.0.0.1/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  // Link-local and metadata
  'http://169.254.169.254/latest/meta-data/',
  'http://169.254.170.2/',
  'http://[fe80::1]/',
  'http://[febf::1]/',
  'http://[fd00:ec2::254]/',
  'http://100.100.100.200/',
  'http://192.0.0.192/',
  'http://168.63.129.16/',
  'http://metadata.google.internal/',
  'http://metadata.google.internal./',
  'http://metadata/',
  'http://instance-data/',
  // Private networks
  'http://10.0.0.1/',
  'http://10.255.255.255/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://198.18.0.1/',
  'http://[fc00::1]/',
  'http://[fdff::1]/',
  'http://[fec0::1]/',
  'http://router/',
  'http://db.internal/',
  'http://printer.local/',
  'http://api.default.svc/',
  'http://api.default.svc.cluster.local/',
  'http://nas.home.arpa/',
  // IPv4 inside IPv6
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:0:10.0.0.1]/',
  'http://[64:ff9b::10.0.0.1]/',
  'http://[64:ff9b:1::1]/',
  'http://[2002:7f00:1::]/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[2001:0:1::1]/',
  // Nobody's
  'http://224.0.0.1/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://192.0.2.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://[100::1]/',
]

const ALLOWED = [
  'https://example.com/mcp',
  'http://example.com:8080/',
  'https://mcp.internal.example.com/',
  'https://8.8.8.8/',
  'https://9.255.255.255/',
  'https://11.0.0.1/',
  'https://100.63.255.255/',
  'https://100.128.0.1/',
  'https://128.0.0.1/',
  'https://169.253.255.255/',
  'https://172.15.255.255/',
  'https://172.32.0.1/',
  'https://192.167.255.255/',
  'https://223.255.255.255/',
  'https://[2606:4700::1111]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[64:ff9b::8.8.8.8]/',
  'https://[2002:808:808::1]/',
]

describe('the policy for URLs', () => {
  it.each(REFUSED)('refuses %s from a server', (text) => {
    expect(urlRefusal(new URL(text), 'foreign')).toBeTypeOf('string')
  })

  it.each(ALLOWED)('allows %s from a server', (text) => {
    expect(urlRefusal(new URL(text), 'foreign')).toBeUndefined()
  })

  it.each([...REFUSED, ...ALLOWED])('leaves %s to the operator as long as it is http', (text) => {
    const url = new URL(text)
    expect(urlRefusal(url, 'operator') === undefined).toBe(/^https?:$/.test(url.protocol))
  })

  it('never repeats a password in its reason', () => {
    expect(urlRefusal(new URL('http://user:hunter2@example.com/'), 'foreign')).not.toContain('hunter2')
  })
})

describe('the policy for addresses that a name resolved to', () => {
  it.each([
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    'fe80::1%eth0',
    '169.254.169.254',
    'not-an-address',
    '1.2.3',
    '1::2::3',
    '',
  ])('refuses %s', (address) => {
    expect(addressRefusal(address)).toBeTypeOf('string')
  })

  it.each(['8.8.8.8', '2606:4700::1111', '2606:4700:0:0:0:0:0:1111'])('allows %s', (address) => {
    expect(addressRefusal(address)).toBeUndefined()
  })
})
