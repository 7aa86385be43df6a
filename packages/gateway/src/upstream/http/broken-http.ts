const CODE = 'BROKEN_HTTP'

/** What the other side sent is no response. */
export function brokenHttp(what: string): Error {
  return Object.assign(new Error(what), { code: CODE })
}

export const isBrokenHttp = (error: Error): boolean => 'code' in error && error.code === CODE
