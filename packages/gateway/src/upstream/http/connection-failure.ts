const BROKEN = 'BROKEN_HTTP'

const failure = (text: string, code: string): Error => Object.assign(new Error(text), { code })

/** What the other side sent is no response. */
export const brokenHttp = (what: string): Error => failure(what, BROKEN)

export const isBrokenHttp = (error: Error): boolean => 'code' in error && error.code === BROKEN

export const connectedTooLate = (): Error => failure('no connection in time', 'CONNECT_TIMEOUT')

export const closedThere = (): Error => failure('the server closed the connection', 'CONNECTION_CLOSED')

export const closedHere = (): Error => failure('the gateway closed the connection', 'CLOSED')
