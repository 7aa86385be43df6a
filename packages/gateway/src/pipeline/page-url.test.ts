import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { pageUrlProblem } from './page-url.ts'

describe(`a page to which a server sends a person (${promise('GW-26')})`, () => {
  it.each([
    'https://example.com',
    'https://example.com/',
    'HTTPS://Example.COM:8443/a%20b?x=%C3%A9&y=https://other.example/@#z',
    'https://xn--bcher-kva.example/login',
    'https://192.0.2.1/a',
    'https://[2001:db8::1]/a',
    'http://localhost:3000/cb?state=1',
    'http://127.0.0.1/',
    'http://[::1]:8080/x',
  ])('may be %s', (url) => {
    expect(pageUrlProblem(url)).toBeUndefined()
  })

  it.each([
    ...['', ' ', 'x', 'javascript:alert(1)', 'JaVaScRiPt://example.com/%0aalert(1)', 'data:text/html,x'],
    ...[
      'file:///etc/passwd',
      'vscode://a/b',
      'blob:https://a/b',
      'about:blank',
      'ftp://example.com/',
      'ws://example.com',
    ],
    ...['http://example.com/', 'http://127.0.0.1.example.com/', 'http://localhost.example.com', 'http://0.0.0.0/'],
    ...[
      'https://user@example.com/',
      'https://a:b@example.com/',
      'https://example.com@evil.example/',
      'https://@x.example',
    ],
    ...[
      'https://exa\u202emple.com/',
      'https://example.com/\u202egnp.exe',
      'https://example.com/%E2%80%AEx',
      'https://a/%0d',
      'https://a/%C2%9b31m',
    ],
    ...[
      'https://аpple.com/',
      'https://ｅxample.com',
      'https://example.com/ä',
      'https://example.com/a b',
      'https://a/\tb',
    ],
    ...['https:/example.com', 'https:example.com', 'https:///example.com', 'https:\\\\example.com', 'https://a\\@b/'],
    ...[
      '//example.com',
      'http://2130706433/',
      'http://0177.0.0.1/',
      'http://127.1/',
      'https://0x7f.1/',
      'https://ex%61mple.com',
    ],
    ...[
      `https://example.com/${'a'.repeat(2_048)}`,
      'https://',
      'https://:80/',
      'https://example.com:99999/',
      'https://[::1',
    ],
    ...[' https://example.com/', 'https://example.com/\n', 'view-source:https://example.com', 'intent://x#Intent;end'],
  ])('is not %j', (url) => {
    expect(pageUrlProblem(url)).toEqual(expect.any(String))
  })

  it.each([undefined, null, 7, {}, ['https://example.com']])('is not %j', (url) => {
    expect(pageUrlProblem(url)).toBe('its URL is missing')
  })
})
