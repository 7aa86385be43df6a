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
    text: 'Files as they are in the world: comments, marks, odd names, thousands of servers, broken ones with line and column',
    state: 'built',
  },
  'AG-4': {
    text: 'Selected servers pass on verbatim, in the agent’s own shape; single tools by its own filter, else by the gateway',
    state: 'built',
  },
  'AG-5': { text: 'An agent without MCP has no servers, and that is no error', state: 'built' },
  'AG-6': {
    text: 'A profile is an agent and a variant, with a selection, a title, a token budget and a session; what else its file holds is kept',
    state: 'built',
  },
  'AG-7': {
    text: 'Selectors name servers, tools and globs over both; order makes no difference, and what is taken away stays away',
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
    text: 'Lists and calls meet the selection of the profile that the credential names, and of the one in the URL',
    state: 'built',
  },
  'AG-12': {
    text: 'A changed profile counts at once: its clients are told, and calls of tools that it no longer selects say why they are refused',
    state: 'built',
  },
  'AG-13': {
    text: 'An agent can be run with its own servers, as far as its profile selects them, by its own flag or environment',
    state: 'built',
  },
  'AG-14': {
    text: 'run starts the real CLI with the gateway as its only MCP server, and starts and stops the gateway where none runs',
    state: 'built',
  },
  'AG-15': {
    text: 'A run leaves no file and no token behind; exit code, signals, terminal, input, folder and environment are the agent’s own',
    state: 'built',
  },
  'AG-16': {
    text: 'An agent that would have servers besides ours is not started unless that is allowed and recorded; where that cannot be known it is said; connect prints the entry to paste',
    state: 'built',
  },
  'AG-17': {
    text: 'A run makes the gateway the one that approves and gives calls time; who cannot wait is told to repeat the call; servers do not get the model’s key',
    state: 'built',
  },
  'AG-18': {
    text: 'agents, import and init: what is installed, the servers of all agents in one config, and the first minute',
    state: 'built',
  },
  'AG-19': {
    text: 'tools cost: what the definition of each tool costs an agent in every turn, by server and profile, as an estimate',
    state: 'built',
  },
  'AG-20': { text: 'Names survive the rules of every agent: unique and intact', state: 'built' },
  'AG-21': {
    text: 'What makes an agent ask its hook is printed, for a person to paste; nothing is written',
    state: 'built',
  },
  'AG-22': {
    text: 'The API lists servers and tools for each agent, and no editor of a profile overwrites another unawares',
    state: 'built',
  },
} as const satisfies Record<string, Promised>
