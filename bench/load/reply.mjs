const BEGINNING = 300

/** A reply. Its text is created only when it is read. */
export function createReply({ status, head, parts, bytes }) {
  return {
    status,
    head,
    bytes,
    beginning: () => parts[0]?.subarray(0, BEGINNING).toString() ?? '',
    text: () => Buffer.concat(parts).toString(),
  }
}

/** The result in a reply, whether it came as JSON or as server-sent events. Anything but a result is thrown. */
export function resultOf(reply) {
  const text = reply.text()
  if (reply.status !== 200) throw new Error(`HTTP ${reply.status}: ${text.slice(0, 200)}`)
  const message = text.startsWith('{') ? JSON.parse(text) : lastAnswerOf(text)
  if (message === undefined) throw new Error(`no JSON-RPC answer in: ${text.slice(0, 200)}`)
  if (message.error) throw new Error(`JSON-RPC error ${message.error.code}: ${message.error.message}`)
  if (message.result.isError) throw new Error(`tool error: ${JSON.stringify(message.result.content).slice(0, 200)}`)
  return message.result
}

function lastAnswerOf(events) {
  return events
    .split(/\r?\n\r?\n/)
    .map(dataOf)
    .filter((data) => data !== '')
    .map((data) => JSON.parse(data))
    .findLast((message) => message.id !== undefined && (message.result || message.error))
}

const dataOf = (event) =>
  event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart())
    .join('\n')
