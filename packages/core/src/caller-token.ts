/** The key of `_meta` in which the gateway says who makes a request, and the capability of servers that read it. */
export const CALLER_META = 'sallyport/caller'
/** The key of a result's `_meta` in which such a server names the preset for it. */
export const RESULT_META = 'sallyport/result'
/** The variables with which a program that the gateway starts can verify caller tokens. */
export const CALLER_VARIABLES = { keys: 'SALLYPORT_CALLER_KEYS', server: 'SALLYPORT_SERVER_ID' } as const

/** The header of a caller token, up to the id of its key. */
export const CALLER_TOKEN_HEADER = '{"alg":"EdDSA","typ":"sallyport-caller+jwt","kid":"'
/** How every caller token begins: the same in base64url. The header has a multiple of three bytes, so nothing follows. */
export const CALLER_TOKEN_PREFIX = 'eyJhbGciOiJFZERTQSIsInR5cCI6InNhbGx5cG9ydC1jYWxsZXIrand0Iiwia2lkIjoi'
