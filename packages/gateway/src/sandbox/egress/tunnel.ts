import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { EgressControl } from './egress-control.ts'
import { OpeningReader } from './opening-reader.ts'
import type { OutgoingConnection } from './outgoing-connection.ts'

/** Both ends of a connection, and who watches it. */
export interface Tunnel {
  readonly client: Duplex
  readonly upstream: Socket
  readonly connection: OutgoingConnection
  readonly control: EgressControl
}

/**
 * Carries bytes both ways. Those of the client are held back until its first ones have been judged; the server may speak
 * first, as those of mail and of databases do.
 */
export function carryTunnel(tunnel: Tunnel): void {
  const { client, connection, control } = tunnel
  const held: Buffer[] = []
  const reader = new OpeningReader()
  let deadline: NodeJS.Timeout | undefined
  const finish = (): void => {
    clearTimeout(deadline)
    client.off('data', hold)
    client.off('end', finishAtEnd)
  }
  const pass = (): void => {
    finish()
    carryToServer(tunnel, Buffer.concat(held))
  }
  const hold = (chunk: Buffer): void => {
    held.push(chunk)
    deadline ??= setTimeout(
      () => control.cut(connection, 'its TLS handshake was not completed in time'),
      control.limits.headMs,
    )
    const opening = reader.read(chunk)
    if (opening === undefined) return
    if (control.acceptOpening(connection, opening)) pass()
    else finish()
  }
  // The client has said all that it will say. Less than a ClientHello is not passed on.
  const finishAtEnd = (): void => {
    if (held.length === 0) pass()
    else control.cut(connection, 'its TLS handshake is not complete')
  }
  connection.onClose(finish)
  client.on('data', hold)
  client.once('end', finishAtEnd)
  carryToClient(tunnel)
}

/** Carries bytes both ways from the start. */
export function carryBothWays(tunnel: Tunnel, head: Buffer): void {
  carryToServer(tunnel, head)
  carryToClient(tunnel)
}

function carryToServer({ client, upstream, connection, control }: Tunnel, first: Buffer): void {
  client.on('data', ({ length }: Buffer) => control.count(connection, { sent: length }))
  if (first.length > 0) {
    control.count(connection, { sent: first.length })
    upstream.write(first)
  }
  client.pipe(upstream)
}

function carryToClient({ client, upstream, connection, control }: Tunnel): void {
  upstream.on('data', ({ length }: Buffer) => control.count(connection, { received: length }))
  upstream.pipe(client)
}

/** Ends the client with its connection: when that is cut, else as soon as it has read what there is to read. */
export function endTogether(client: Socket, connection: OutgoingConnection): void {
  client.on('error', () => connection.close())
  client.once('close', () => {
    // A client that has left may still be sending what it wrote before.
    if (!client.readableEnded) connection.close()
  })
  connection.onClose(() => {
    if (connection.cutReason === undefined) client.destroySoon()
    // Later, so that a switch of many connections takes no longer than needed: their outer ends are closed already.
    else setImmediate(() => client.destroy())
  })
}
