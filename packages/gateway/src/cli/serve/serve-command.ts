import { SallyportError } from '@sallyport/core'
import { defineCommand } from '../define-command.ts'

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new SallyportError('USAGE', `--port is ${JSON.stringify(text)}; expected a number from 0 to 65535.`)
}

export interface ServeFlags {
  readonly host?: string
  readonly port?: number
  readonly 'no-auth'?: boolean
  readonly stdio?: boolean
  readonly agent?: string
  readonly demo?: boolean
  readonly background?: boolean
  readonly launch?: string
  readonly window?: string
  readonly tokenFrom?: string
}

export const serveCommand = defineCommand<ServeFlags>({
  brief: 'Run the gateway',
  description:
    'One MCP endpoint over all the servers of config.yaml. Several windows share one gateway: the first `serve --stdio` starts it, the others join it, and it ends a little after the last one left.',
  examples: [
    ['serve', 'MCP and the web page on 127.0.0.1:4747'],
    ['serve --demo', 'Try it with two bundled servers, on a state in this folder'],
    ['serve --stdio --agent claude-code', 'Speak MCP on stdin and stdout: what an agent starts'],
    ['serve --port 0 --no-auth', 'Any free port, without tokens, for trying things on this machine'],
  ],
  flags: {
    host: {
      kind: 'parsed',
      parse: String,
      optional: true,
      placeholder: 'address',
      brief: 'The address to listen on (gateway.host, 127.0.0.1)',
    },
    port: {
      kind: 'parsed',
      parse: parsePort,
      optional: true,
      placeholder: 'number',
      brief: 'The port to listen on; 0 takes a free one (gateway.port, 4747)',
    },
    'no-auth': {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      brief: 'Let everybody on this machine use the tools without a token',
    },
    stdio: { kind: 'boolean', optional: true, withNegated: false, brief: 'Speak MCP on stdin and stdout' },
    agent: {
      kind: 'parsed',
      parse: String,
      optional: true,
      placeholder: 'agent[.profile]',
      brief: 'With --stdio: the agent that starts it, which decides how much of a large result it is shown',
    },
    demo: {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      brief: 'Serve the demonstration home, with its state in ./.sallyport-demo',
    },
    background: {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      hidden: true,
      brief: 'Serve the windows that join, and end after the last one',
    },
    launch: {
      kind: 'parsed',
      parse: String,
      optional: true,
      hidden: true,
      placeholder: 'folder',
      brief: 'Be a window of the run with this folder',
    },
    window: {
      kind: 'parsed',
      parse: String,
      optional: true,
      hidden: true,
      placeholder: 'number',
      brief: 'Which window of the run to be',
    },
    tokenFrom: {
      kind: 'parsed',
      parse: String,
      optional: true,
      hidden: true,
      placeholder: 'variable',
      brief: 'The variable that holds the token of this window (SALLYPORT_TOKEN)',
    },
  },
  run: async (context, flags) => {
    const { serve } = await import('./serve.ts')
    await serve(context, flags)
  },
})
