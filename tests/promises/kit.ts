import type { Promised } from './promised.ts'

export const KIT_PROMISES = {
  'KIT-1': {
    text: 'Callers of a kit server are identified by verified tokens, and tools learn who calls from the scope of the call only',
    state: 'built',
  },
  'KIT-2': {
    text: 'Whatever the names of a user and a session, their folder is under the root and shared with nobody',
    state: 'built',
  },
  'KIT-3': {
    text: 'Agents see /workspace and nothing else: links, hard links, devices and swaps between check and use lead nowhere, and no host path is shown',
    state: 'built',
  },
  'KIT-4': {
    text: 'contextResult and the option result of a tool save what a function returns, and shape it',
    state: 'built',
  },
  'KIT-5': {
    text: 'Every tool of the kit declares its permission; tools that reach the network are refused once the session has private data',
    state: 'built',
  },
  'KIT-6': {
    text: 'A session’s private data is kept outside every workspace, only rises whoever writes, and travels with results, signed',
    state: 'built',
  },
  'KIT-7': {
    text: 'Connectors work on data without MCP or a model: File, Csv, Json, Sql (SQLite and PostgreSQL, read-only by their own sessions) and OpenApi',
    state: 'built',
  },
  'KIT-8': {
    text: 'Kit servers and clients are configured in the config.yaml of the gateway, with variables in every string, and no value is ever shown',
    state: 'built',
  },
  'KIT-9': {
    text: 'Errors of tools have three tiers, distinguishable over the wire; messages of bugs stay in the log',
    state: 'built',
  },
  'KIT-10': {
    text: 'Progress, cancellation, logging, structured output, resources, prompts, elicitation and icons in both eras from one definition, over stdio, Streamable HTTP and in memory',
    state: 'built',
  },
  'KIT-11': {
    text: 'getMcpClient opens a strict client by its name in config.yaml, with two connections if url_isolated is given; an unknown name is answered with the names',
    state: 'built',
  },
  'KIT-12': {
    text: 'A fatal error of a tool, also behind the usual wrappers, ends the run; other ones can be corrected; the same failure again and again is fatal; no other text can end the run',
    state: 'built',
  },
  'KIT-13': {
    text: 'Two connections are opened at the start; once private data is known nothing reaches the normal instance any more, without a reconnect and for good',
    state: 'built',
  },
  'KIT-14': {
    text: 'The client plugs into the AI SDK and into the tool formats of the OpenAI and Anthropic SDKs',
    state: 'built',
  },
  'KIT-15': {
    text: 'A template shows a server and a client with all that the kit does, and every command of the walk through it runs as shown',
    state: 'built',
  },
  'KIT-16': {
    text: 'sallyport new server makes a project that installs, runs, and passes its own tests; its compose file runs two instances of one image, of which one has no network',
    state: 'built',
  },
  'KIT-17': { text: 'A client for tests is one line away, in both protocol eras', state: 'built' },
  'KIT-18': {
    text: 'Only toolResult() makes a whole result; whatever else a handler returns is data, and sets neither resultType, inputRequests nor _meta of ours; what JSON cannot carry is refused',
    state: 'built',
  },
  'KIT-19': {
    text: 'A server is mounted into node:http, Express, Hono and other servers on Node, beside their own routes, with the same checks',
    state: 'partial',
    missing: 'serving the metadata of a protected resource; runtimes other than Node',
  },
} as const satisfies Record<string, Promised>
