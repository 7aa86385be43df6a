import { request } from 'node:http'
import type { Duplex } from 'node:stream'
import { SallyportError } from '@sallyport/core'
import { connectSocket, SOCKET_PROTOCOLS } from '../../serve/gateway-socket.ts'
import { parseProblem } from '../../serve/problem.ts'
import { createTimeoutError, RESPONSE_TIMEOUT_MS } from './gateway-timeout.ts'

export interface ConnectionOptions {
  readonly state: string
  /** A gateway that serves another home refuses the connection. */
  readonly home?: string | undefined
  /** Identifies the caller; without it the caller is the local agent. */
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** With it, the connection keeps waiting for a silent gateway; without it, a timeout is an error. */
  readonly onTimeout?: (error: SallyportError) => void
  /** How long the gateway may stay silent. */
  readonly timeoutMs?: number
}

/** A gateway that holds the state but has no socket is starting, or is stopping with its servers. */
export const JOIN_TIMEOUT_MS = 10_000
export const JOIN_RETRY_MS = 50

/** With these codes no gateway of this user listens. Opening the state reports what is wrong with its path. */
const NOT_LISTENING_CODES: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTDIR', 'EACCES'])

/** Joins the gateway that runs on a state; `undefined` if none does. */
export function connectToGateway(
  purpose: keyof typeof SOCKET_PROTOCOLS,
  options: ConnectionOptions,
): Promise<Duplex | undefined> {
  const headers = {
    connection: 'upgrade',
    upgrade: SOCKET_PROTOCOLS[purpose],
    ...(options.home !== undefined && { 'x-sallyport-home': encodeURIComponent(options.home) }),
    ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
    ...options.headers,
  }
  return new Promise((resolve, reject) => {
    const joining = request({ createConnection: () => connectSocket(options.state), path: '/', headers })
    const timer = setTimeout(async () => {
      const timeoutError = await createTimeoutError(options.state, options.timeoutMs)
      if (options.onTimeout) return options.onTimeout(timeoutError)
      reject(timeoutError)
      joining.destroy()
    }, options.timeoutMs ?? RESPONSE_TIMEOUT_MS)
    joining.once('close', () => clearTimeout(timer))
    joining.once('upgrade', (_response, socket, head) => {
      clearTimeout(timer)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    joining.once('response', (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.once('end', () => reject(parseErrorReply(body)))
    })
    joining.once('error', (error: NodeJS.ErrnoException) => {
      // A request that never connected emits no `close`.
      clearTimeout(timer)
      if (NOT_LISTENING_CODES.has(error.code ?? '')) resolve(undefined)
      else if (error instanceof SallyportError) reject(error)
      else
        reject(
          new SallyportError('GATEWAY_UNREACHABLE', `The gateway's socket cannot be used: ${error.message}.`, {
            cause: error,
          }),
        )
    })
    joining.end()
  })
}

/** Parses an error that another Sallyport process sent as JSON. */
export function parseErrorReply(text: string): SallyportError {
  const unclear = 'The gateway that runs on this state gave no clear answer.'
  const hint = 'It may run another version: stop it and try again.'
  try {
    return parseProblem(JSON.parse(text)) ?? new SallyportError('GATEWAY_UNREACHABLE', unclear, { hint })
  } catch (cause) {
    return new SallyportError('GATEWAY_UNREACHABLE', unclear, { hint, cause })
  }
}
