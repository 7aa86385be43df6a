import { CALLER_VARIABLES } from '@sallyport/core'
import type { Transport } from './transport.ts'

/** The public keys with which servers verify caller tokens. */
export interface CallerKeySource {
  /** As JSON, and the id of the newest one. Rejects if there are no usable keys: then the server is not started. */
  publish(): Promise<{ readonly jwks: string; readonly newest: string }>
}

/** A server that is told who calls. */
interface Forwarding {
  /** The server's id in the configuration, the same for both of its instances. */
  readonly server: string
  readonly keys: CallerKeySource
}

/** The variables with which a program verifies tokens. Its transport then knows which keys the program has. */
export function createStartVariables({ server, keys }: Forwarding, transport: () => Transport) {
  return async (): Promise<Readonly<Record<string, string>>> => {
    const { jwks, newest } = await keys.publish()
    Object.assign(transport(), { audience: { server, keyId: newest } })
    return { [CALLER_VARIABLES.keys]: jwks, [CALLER_VARIABLES.server]: server }
  }
}

/** The same transport, to a server that was given keys by a person, or reads the published ones. */
export function addAudience<Own extends Transport>(transport: Own, { server, keys }: Forwarding): Own {
  const open = transport.open.bind(transport)
  return Object.assign(transport, {
    open: async (...args: Parameters<Transport['open']>): Promise<void> => {
      await keys.publish()
      Object.assign(transport, { audience: { server, keyId: undefined } })
      await open(...args)
    },
  })
}
