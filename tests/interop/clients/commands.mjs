/**
 * How a client program is driven: one JSON command a line on stdin, `{id, do, …}`. It answers `{id, result}` or
 * `{id, error}`, and reports what it received meanwhile as `{event, …}`.
 */
import { createInterface } from 'node:readline'

/** What every client answers if a server asks it. */
export const ANSWERS = {
  'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
  'sampling/createMessage': { role: 'assistant', model: 'scripted', content: { type: 'text', text: 'forty-two' } },
  'roots/list': { roots: [{ uri: 'file:///somewhere', name: 'somewhere' }] },
}

export const put = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)

/** @param {Record<string, (command: any, signal: AbortSignal) => Promise<unknown>>} verbs */
export function obey(verbs) {
  const running = new Map()
  const lines = createInterface({ input: process.stdin })
  put({ event: 'ready' })
  lines.on('line', async (line) => {
    const command = JSON.parse(line)
    if (command.do === 'cancel') return running.get(command.of)?.abort()
    const control = new AbortController()
    running.set(command.id, control)
    try {
      put({ id: command.id, result: (await verbs[command.do](command, control.signal)) ?? null })
    } catch (error) {
      put({ id: command.id, error: String(error?.message ?? error) })
    }
    running.delete(command.id)
  })
  lines.on('close', async () => {
    await verbs.close({}).catch(() => {})
    process.exit()
  })
}
