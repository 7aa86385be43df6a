import type { LocalTokens } from './local-tokens.ts'

const BEARER = /^bearer (\S+)$/i
/** The limit of `setTimeout`. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** The token in an Authorization header; an empty string, which is never valid, if it has no bearer token. */
export function readBearerToken(authorization: string): string {
  return BEARER.exec(authorization)?.[1] ?? ''
}

/** For a connection that is authenticated only once: calls back as soon as its token is revoked or has expired. */
export function watchToken(tokens: LocalTokens, token: string, onEnd: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const check = (): void => {
    clearTimeout(timer)
    const credential = tokens.verify(token)
    if (credential === undefined) return onEnd()
    if (!Number.isFinite(credential.expiresAt)) return
    timer = setTimeout(check, Math.min(Math.max(1, credential.expiresAt - Date.now()), MAX_TIMEOUT_MS)).unref()
  }
  const unsubscribe = tokens.onChange(check)
  check()
  return () => {
    unsubscribe()
    clearTimeout(timer)
  }
}
