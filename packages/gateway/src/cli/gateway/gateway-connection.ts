import { request } from 'node:http'
import type { Duplex } from 'node:stream'
import { SallyportError } from '@sallyport/core'
import { connectSocket, SOCKET_PROTOCOLS } from '../../serve/gateway-socket.ts'
import { parseProblem } from '../../serve/problem.ts'
import { createTimeoutError, RESPONSE_TIMEOUT_MS } from './gateway-timeout.ts'

export interface ConnectionOptions {
  readonly state: string
  /** Whoever names one is refused by the gateway of another. */
  readonly home?: string | undefined
  /** Whom the connection speaks for; the local agent without one. */
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Who gives it goes on waiting for a gateway that says nothing; to anybody else that is a failure. */
  readonly onTimeout?: (error: SallyportError) => void
  /** How long the gateway may say nothing at all. */
  readonly timeoutMs?: number
}

/** A gateway that has the state but not its socket is about to open it, or about to be gone with its servers. */
export const JOIN_TIMEOUT_MS = 10_000
export const JOIN_RETRY_MS = 50

/** Where the path to the socket is barred, none of ours listens; opening the state says what is wrong with it. */
const NOT_LISTENING_CODES: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTDIR', 'EACCES'])

/** Joins the gateway that runs on a state; undefined when none does. */
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
    const asked = request({ createConnection: () => connectSocket(options.state), path: '/', headers })
    const timer = setTimeout(async () => {
      const silent = await createTimeoutError(options.state, options.timeoutMs)
      if (options.onTimeout) return options.onTimeout(silent)
      reject(silent)
      asked.destroy()
    }, options.timeoutMs ?? RESPONSE_TIMEOUT_MS)
    asked.once('close', () => clearTimeout(timer))
    asked.once('upgrade', (_response, socket, head) => {
      clearTimeout(timer)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    asked.once('response', (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.once('end', () => reject(parseErrorReply(body)))
    })
    asked.once('error', (error: NodeJS.ErrnoException) => {
      // One that was never connected does not close.
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
    asked.end()
  })
}

/** An error that another process of ours told in JSON. */
export function parseErrorReply(text: string): SallyportError {
  const unclear = 'The gateway that runs on this state gave no clear answer.'
  const hint = 'It may be of another version: stop it and try again.'
  try {
    return parseProblem(JSON.parse(text)) ?? new SallyportError('GATEWAY_UNREACHABLE', unclear, { hint })
  } catch (cause) {
    return new SallyportError('GATEWAY_UNREACHABLE', unclear, { hint, cause })
  }
}
