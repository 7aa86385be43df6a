import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { JwtRefusal } from './jwt-refusal.ts'
import type { JwtSettings } from './jwt-verifier.ts'

/** The time at which every test of tokens begins, in milliseconds and in the seconds of JWTs. */
export const START = Date.UTC(2030, 0, 1)
export const NOW = START / 1_000

const ISSUER = 'https://issuer.example'

export const CLAIMS = { iss: ISSUER, aud: 'sallyport', sub: 'ada', exp: NOW + 60 } as const

export const SETTINGS: JwtSettings = {
  issuers: [ISSUER],
  audience: ['sallyport'],
  algorithms: ['ES256', 'EdDSA', 'RS256'],
  jwksUri: undefined,
  secret: undefined,
  toleranceSeconds: 5,
}

export const problemOf = (outcome: object | JwtRefusal): string => ('problem' in outcome ? outcome.problem : 'accepted')

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly jwk: Awaited<ReturnType<typeof exportJWK>>
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
  readonly publicKey: Awaited<ReturnType<typeof generateKeyPair>>['publicKey']
}

export async function createSigningKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** A really signed token. `undefined` removes a claim or a header field. */
export function sign(key: SigningKey, claims: Fields, header: Fields = {}): Promise<string> {
  return new SignJWT(defined(claims))
    .setProtectedHeader(defined({ alg: key.alg, kid: key.kid, ...header }) as { alg: string })
    .sign(key.privateKey)
}

type Fields = Readonly<Record<string, unknown>>

const defined = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** An issuer's key endpoint on loopback, which counts its requests. */
export async function openKeyServer(keys: readonly SigningKey[]) {
  const issuer = {
    keys: keys.map(({ jwk }) => jwk) as readonly unknown[],
    fetches: 0,
    answer: undefined as ((response: ServerResponse) => void) | undefined,
  }
  const server = createServer((_, response) => {
    issuer.fetches++
    if (issuer.answer !== undefined) issuer.answer(response)
    else response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: issuer.keys }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(issuer, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise((done) => server.close(done))
    },
  })
}

export type KeyServer = Awaited<ReturnType<typeof openKeyServer>>
