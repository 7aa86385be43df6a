import { isJsonObject, tryParseJson } from '@sallyport/core'
import type { HookAgent, HookCall } from './hook-agent.ts'

/** A tool may be handed a whole file. */
const MAX_BYTES = 64 * 1024 ** 2

/** The call of which the agent told on stdin, or what is wrong with what it said. */
export async function readHookCall(
  stdin: AsyncIterable<Buffer | string>,
  agent: HookAgent,
): Promise<HookCall | string> {
  const text = await readAll(stdin)
  if (text === undefined) return `it is larger than ${MAX_BYTES / 1024 ** 2} MB`
  if (text.trim() === '') return 'it is empty'
  const message = tryParseJson(text)
  if (message === undefined) return 'it is not JSON'
  return isJsonObject(message) ? agent.parseCall(message) : 'expected an object'
}

/** Read to the end in any case: an agent whose hook stops listening may take it for a crash. */
async function readAll(stdin: AsyncIterable<Buffer | string>): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stdin) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    length += bytes.length
    if (length > MAX_BYTES) chunks.length = 0
    else chunks.push(bytes)
  }
  return length > MAX_BYTES ? undefined : Buffer.concat(chunks).toString('utf8')
}
