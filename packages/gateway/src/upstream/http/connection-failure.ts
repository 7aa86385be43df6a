const BROKEN = 'BROKEN_HTTP'

const createFailure = (text: string, code: string): Error => Object.assign(new Error(text), { code })

/** The other side did not send valid HTTP. */
export const brokenHttp = (what: string): Error => createFailure(what, BROKEN)

export const isBrokenHttp = (error: Error): boolean => 'code' in error && error.code === BROKEN

export const connectTimeout = (): Error => createFailure('no connection in time', 'CONNECT_TIMEOUT')

export const closedByServer = (): Error => createFailure('the server closed the connection', 'CONNECTION_CLOSED')

export const closedByGateway = (): Error => createFailure('the gateway closed the connection', 'CLOSED')
