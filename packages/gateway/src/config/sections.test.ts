// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are part of what is tested.

import { describe, expect, it } from 'vitest'
import { loadConfig, loadProblems } from './home/home.test-kit.ts'
import { describeIssue } from './reading/config-issue.ts'

const LONG = 'a long enough secret for HMAC-SHA256'

describe('the gateway section', () => {
  it('sets the keys that it names and leaves the defaults of the others', async () => {
    const { settings } = await loadConfig(
      'gateway: {host: "::1", port: 0, startup_wait: 0, linger: 2s, max_body: 512KB, max_sessions: 5, allowed_hosts: [a.example:80], allowed_origins: ["https://a.example"]}',
    )
    expect(settings.gateway).toEqual({
      host: '::1',
      port: 0,
      allowRemote: false,
      naming: 'prefixed',
      allowedHosts: ['a.example:80'],
      allowedOrigins: ['https://a.example'],
      startupWait: 0,
      linger: 2000,
      maxBodyBytes: 512 * 1024,
      maxSessions: 5,
      maxCallsInFlight: 1024,
    })
  })

  it.each(['0.0.0.0', '::', '192.168.1.5', 'example.org', '127.evil.example', '0x7f000001'])(
    'does not listen on %s unless the danger is spelt out',
    async (host) => {
      expect((await loadProblems(`gateway: {host: "${host}"}`)).join()).toContain('allow_remote: true')
      expect((await loadConfig(`gateway: {host: "${host}", allow_remote: true}`)).settings.gateway.host).toBe(host)
    },
  )

  it.each([
    ['port: 65536', 'a whole number from 0 to 65535; got 65536'],
    ['port: 1.5', 'got 1.5'],
    ['port: http', 'got "http"'],
    ['naming: bar', 'Did you mean "bare"?'],
    ['max_body: 1', 'from 1KB to 1GB'],
    ['max_body: lots', 'got "lots"'],
    ['max_sessions: 0', 'from 1'],
    ['allowed_hosts: ["*"]', 'expected a host name'],
    ['allowed_origins: ["*"]', 'expected an exact origin'],
    ['allowed_origins: ["https://a.example/"]', 'without a path'],
    ['allowed_origins: "https://a.example"', 'expected a list of origins'],
    ['startup_wait: 5', 'with its unit'],
  ])('is refused for {%s}', async (entry, problem) => {
    expect((await loadProblems(`gateway: {${entry}}`)).join('\n')).toContain(problem)
  })

  it('allows bare names with one enabled server only', async () => {
    const one = 'gateway: {naming: bare}\nmcp_servers: {a: {command: x}, b: {command: x, disabled: true}}'
    expect((await loadConfig(one)).settings.gateway.naming).toBe('bare')
    expect(await loadProblems('gateway: {naming: bare}\nmcp_servers: {a: {command: x}, b: {command: x}}')).toEqual([
      'config.yaml:1:11 gateway.naming: "bare" names are possible with one enabled server; got 2. Use "prefixed" or "mcp".',
    ])
  })
})

describe('the auth section', () => {
  it('verifies with a shared secret by HS256 only, unless other algorithms are set', async () => {
    const { settings, warnings } = await loadConfig('auth: {jwt: {secret: "${S}", audience: me}}', { S: LONG })
    expect(settings.jwt).toEqual({
      issuers: [],
      audience: ['me'],
      algorithms: ['HS256'],
      jwksUri: undefined,
      secret: LONG,
      toleranceSeconds: 5,
      maxAgeSeconds: undefined,
    })
    expect(warnings).toEqual([])
  })

  it('verifies with the keys of an issuer, never with a shared secret', async () => {
    const { settings } = await loadConfig(
      'auth: {jwt: {jwks_uri: "https://i/jwks", issuers: ["https://i"], clock_tolerance: 30}}',
    )
    expect(settings.jwt).toMatchObject({
      algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'],
      toleranceSeconds: 30,
    })
  })

  it('may have both kinds of keys, each with its own algorithms', async () => {
    const both = 'secret: "${S}", jwks_uri: "https://i/jwks", issuers: ["https://i"]'
    const { settings } = await loadConfig(`auth: {jwt: {${both}}}`, { S: LONG })
    expect(settings.jwt?.algorithms).toEqual(['HS256', 'RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'])
    const chosen = await loadConfig(`auth: {jwt: {${both}, algorithms: [HS512, RS512]}}`, {
      S: `${LONG} and for HMAC-SHA512 as well`,
    })
    expect(chosen.settings.jwt?.algorithms).toEqual(['HS512', 'RS512'])
  })

  it.each(['EdDSA', 'Ed25519'])('accepts both names of the algorithm if %s is set', async (name) => {
    const { settings } = await loadConfig(`auth: {jwt: {jwks_uri: "https://i", issuers: [i], algorithms: [${name}]}}`)
    expect(settings.jwt?.algorithms).toEqual(['EdDSA', 'Ed25519'])
  })

  it.each([
    ['issuers: [a]', 'got neither'],
    ['secret: "${S}", algorithms: []', 'at least one algorithm'],
    ['secret: "${S}", algorithms: [none]', 'expected one of "HS256"'],
    ['secret: "${S}", algorithms: [RS256]', 'RS256 needs "jwks_uri"'],
    ['jwks_uri: "https://i", issuers: [i], algorithms: [HS256]', 'HS256 needs "secret"'],
    ['jwks_uri: "http://i", issuers: [i]', 'expected an https address'],
    ['jwks_uri: "https://i"', 'expected "issuers"'],
    ['jwks_uri: "https://i", secret: "${S}", issuers: [i], algorithms: [RS256]', 'for "secret"; got none'],
    ['jwks_uri: "https://i", secret: "${S}", issuers: [i], algorithms: [HS256]', 'for "jwks_uri"; got none'],
    ['jwks_uri: "https://u:p@i", issuers: [i]', 'without a user name and password'],
    ['jwks_uri: "file:///etc/keys", issuers: [i]', 'another scheme than http(s)'],
    ['secret: "", issuers: [i]', 'not empty'],
    ['jwks_uri: "https://i", issuers: ["https://i#x"]', 'which has no "#"'],
    ['jwks_uri: "https://i", issuers: [i], algorithms: [RSA256]', 'Did you mean "RS256"?'],
  ])('is refused for {%s}', async (entry, problem) => {
    expect((await loadProblems(`auth: {jwt: {${entry}}}`, { S: LONG })).join('\n')).toContain(problem)
  })

  it.each([
    ['', 'hunter2', 'it has 7 bytes; expected at least 32'],
    ['', 'x'.repeat(100), 'it has fewer than 8 different characters'],
    ['', 'changeme9'.repeat(5), 'it repeats a short piece'],
    ['algorithms: [HS256, HS384], ', LONG, 'it has 36 bytes; expected at least 48'],
    ['algorithms: [HS512], ', LONG, 'it has 36 bytes; expected at least 64'],
  ])('refuses a secret that can be guessed: {%s} %#', async (other, secret, weakness) => {
    const output = (await loadProblems(`auth: {jwt: {${other}secret: "\${S}"}}`, { S: secret })).join('\n')
    expect(output).toContain(`auth.jwt.secret: this secret can be guessed: ${weakness}.`)
    expect(output).toContain('`openssl rand -hex 32`, and set the variable JWT_SECRET')
    expect(output).not.toContain(secret)
  })

  it('warns of a secret that is written in the file', async () => {
    const output = (await loadConfig(`auth: {jwt: {secret: ${LONG}}}`)).warnings.map(describeIssue).join('\n')
    expect(output).toContain('Write "${JWT_SECRET}"')
    expect(output).not.toContain(LONG)
  })

  it('limits the age of tokens if max_age is set', async () => {
    const { settings } = await loadConfig('auth: {jwt: {secret: "${S}", max_age: 1h}}', { S: LONG })
    expect(settings.jwt?.maxAgeSeconds).toBe(3_600)
    expect((await loadProblems('auth: {jwt: {secret: "${S}", max_age: 0}}', { S: LONG })).join()).toContain('max_age')
  })
})

describe('the audit section', () => {
  it('sets how durable records are', async () => {
    expect((await loadConfig('audit: {durability: power, required: false}')).settings.audit).toMatchObject({
      durability: 'power',
      required: false,
    })
  })
})
