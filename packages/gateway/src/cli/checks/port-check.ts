import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Check, ok, wrong } from './check.ts'

export interface PortCheckOptions {
  readonly host: string
  readonly port: number
  /** Where the gateway of this state listens, if one runs. */
  readonly ours: readonly string[]
}

/** Whether `serve` could listen where it is told to. */
export async function checkPort({ host, port, ours }: PortCheckOptions): Promise<Check> {
  const place = `${host}:${port}`
  if (ours.some((url) => URL.canParse(url) && new URL(url).port === String(port)))
    return ok('port', `${place} is the gateway of this state`)
  const code = await tryToListen(host, port)
  if (code === undefined) return ok('port', `${place} is free`)
  const finding = code === 'EADDRINUSE' ? `${place} is taken by another program.` : `${place} cannot be used (${code}).`
  return wrong('port', finding, 'Stop that program, or choose another with gateway.port or `serve --port`.')
}

async function tryToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  server.listen({ host, port, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown error'
  }
  server.close()
  await once(server, 'close')
  return undefined
}
