import type { LocalTokens } from './local-tokens.ts'

const BEARER = /^bearer (\S+)$/i
/** What `setTimeout` can count to. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** The token in an Authorization header; what is no bearer token is the empty one, which never counts. */
export function readBearerToken(authorization: string): string {
  return BEARER.exec(authorization)?.[1] ?? ''
}

/** For a connection that is authenticated once: calls back as soon as its token is revoked or has expired. */
export function watchToken(tokens: LocalTokens, token: string, onEnd: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const look = (): void => {
    clearTimeout(timer)
    const credential = tokens.verify(token)
    if (credential === undefined) return onEnd()
    if (!Number.isFinite(credential.expiresAt)) return
    timer = setTimeout(look, Math.min(Math.max(1, credential.expiresAt - Date.now()), MAX_TIMEOUT_MS)).unref()
  }
  const unsubscribe = tokens.onChange(look)
  look()
  return () => {
    unsubscribe()
    clearTimeout(timer)
  }
}
