import { createInterface } from 'node:readline/promises'
import {
  FatalToolError,
  type Form,
  type FormAnswer,
  getMcpClient,
  type McpClient,
  type Progress,
  RetryableToolError,
} from '@sallyport/kit'

/** `client.js <tool> <arguments as JSON> [<tool> <arguments> …]`, one run of calls for the user of RECORDS_TOKEN. */
const argv = process.argv.slice(2)
const bearerToken = process.env.RECORDS_TOKEN ?? ''

const client = await getMcpClient('records-client', { bearerToken, onElicit: askPerson })
try {
  if (argv.length === 0) console.log((await client.listTools()).map(({ name }) => name).join('\n'))
  while (argv.length > 0) await call(client, argv.shift() ?? '', argv.shift() ?? '{}')
} catch (error) {
  if (!(error instanceof FatalToolError)) throw error
  console.log(`the run is over: ${error.message}`)
  process.exitCode = 1
} finally {
  await client.close()
}

/** An error that a model could correct does not end the run. */
async function call(client: McpClient, tool: string, args: string): Promise<void> {
  try {
    const { content } = await client.callTool(tool, JSON.parse(args), { onProgress: showProgress })
    for (const block of content) if (block.type === 'text') console.log(block.text)
  } catch (error) {
    if (!(error instanceof RetryableToolError)) throw error
    console.log(`error: ${error.message}`)
  }
  if (client.isIsolated) console.log(`(${client.sensitivity}: from now on only the isolated instance is called)`)
}

function showProgress({ progress, total, message }: Progress): void {
  console.log(`${progress}/${total} ${message}`)
}

/** Forms of this server have one yes-or-no field. */
async function askPerson({ message, requestedSchema }: Form): Promise<FormAnswer> {
  const [field = ''] = Object.keys(requestedSchema.properties ?? {})
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${message} [y/N] `)
  terminal.close()
  return { action: 'accept', content: { [field]: answer.trim() === 'y' } }
}
