import type { Promised } from './promised.ts'

export const AGENT_PROMISES = {
  'AG-1': {
    text: 'An adapter for each agent: where its own file is, what servers it names, and what they would be in our config',
    state: 'built',
  },
  'AG-2': {
    text: 'No process of ours opens an agent’s own file for writing',
    state: 'built',
  },
  'AG-3': {
    text: 'Real files: comments, byte order marks, unusual names, thousands of servers, broken ones with line and column',
    state: 'built',
  },
  'AG-4': {
    text: 'Selected servers are passed on unchanged, in the agent’s own format; single tools by its own filter, otherwise by the gateway',
    state: 'built',
  },
  'AG-5': { text: 'An agent without MCP has no servers, and that is no error', state: 'built' },
  'AG-6': {
    text: 'A profile is an agent and a variant, with a selection, a title, a token budget and a session; other fields of its file are preserved',
    state: 'built',
  },
  'AG-7': {
    text: 'Selectors name servers, tools and globs over both; order makes no difference, and exclusion always wins',
    state: 'built',
  },
  'AG-8': {
    text: 'No selection means all tools, an empty one none, and selectors that match nothing select nothing',
    state: 'built',
  },
  'AG-9': {
    text: 'One pure filter over every format: the same without a selection, and otherwise only less',
    state: 'built',
  },
  'AG-10': { text: 'A run may narrow what its profile selects, and never widen it', state: 'built' },
  'AG-11': {
    text: 'Lists and calls follow the selection of the profile that the credential names, and of the one in the URL',
    state: 'built',
  },
  'AG-12': {
    text: 'A changed profile takes effect at once: its clients are notified, and calls of tools that it no longer selects are refused with the reason',
    state: 'built',
  },
  'AG-13': {
    text: 'An agent can be run with its own servers, as far as its profile selects them, by its own flag or environment',
    state: 'built',
  },
  'AG-14': {
    text: 'run starts the real CLI with the gateway as its only MCP server, and starts and stops the gateway if none runs',
    state: 'built',
  },
  'AG-15': {
    text: 'A run leaves no file and no token behind; exit code, signals, terminal, input, folder and environment are the agent’s own',
    state: 'built',
  },
  'AG-16': {
    text: 'An agent that would have servers besides ours is not started unless that is allowed and recorded; if that cannot be known, run says so; connect prints the entry to paste',
    state: 'built',
  },
  'AG-17': {
    text: 'A run leaves approval to the gateway and sets long timeouts; an agent that cannot wait is told to repeat the call; servers do not get the model’s key',
    state: 'built',
  },
  'AG-18': {
    text: 'agents, import and init: what is installed, the servers of all agents in one config, and the first steps',
    state: 'built',
  },
  'AG-19': {
    text: 'tools cost: what the definition of each tool costs an agent in every turn, by server and profile, as an estimate',
    state: 'built',
  },
  'AG-20': { text: 'Names survive the rules of every agent: unique and intact', state: 'built' },
  'AG-21': {
    text: 'The settings for an agent’s hook are printed, for a person to paste; nothing is written',
    state: 'built',
  },
  'AG-22': {
    text: 'The API lists servers and tools for each agent, and no editor of a profile overwrites a change that it has not read',
    state: 'built',
  },
} as const satisfies Record<string, Promised>
