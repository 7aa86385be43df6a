import { AGENT_PROMISES } from './promises/agents.ts'
import { GATEWAY_PROMISES } from './promises/gateway.ts'
import { GOVERNANCE_PROMISES } from './promises/governance.ts'
import { ISOLATION_PROMISES } from './promises/isolation.ts'
import { KIT_PROMISES } from './promises/kit.ts'
import { SENSITIVITY_PROMISES } from './promises/sensitivity.ts'

/** What the product promises, area by area. A test that proves one cites it: `promise('GW-6')`. */
export const PROMISES = {
  'GW-1': {
    text: 'Servers over stdio, Streamable HTTP, legacy SSE, the Docker MCP Gateway and in-process; every key of the usual mcpServers shape',
    state: 'partial',
    missing: 'container images',
  },
  'GW-2': {
    text: 'Built-in tools go through the same pipeline, and no server can shadow them',
    state: 'partial',
    missing: 'read_result',
  },
  'GW-3': {
    text: 'Start-up is parallel; the last known catalogue is served at once; a bad server never delays the others',
    state: 'built',
  },
  'GW-4': {
    text: 'A death is noticed without a call; restarts back off; meanwhile calls fail at once with a named state',
    state: 'built',
  },
  'GW-5': {
    text: 'One process per stdio server for all sessions, or one per session where asked or needed; idle ones are stopped',
    state: 'built',
  },
  'GW-6': { text: 'No process, descriptor, timer or session outlives its owner, whoever is killed', state: 'built' },
  'GW-7': { text: 'Stdio framing is linear, UTF-8 safe, tolerant of garbage, and limited per message', state: 'built' },
  'GW-8': {
    text: 'Start-up, call and idle times are limited; progress extends a call; a late call is cancelled',
    state: 'built',
  },
  'GW-9': {
    text: 'A child gets a chosen environment, not all of it; HTTP never follows redirects to other origins',
    state: 'partial',
    missing: 'refusing metadata and link-local addresses: so far every URL comes from the operator',
  },
  'GW-11': {
    text: 'The Docker MCP Gateway is started from typed options; its meta tools are closed, mcp-exec is judged as the tool inside, and what keeps it from running is told apart with its fix',
    state: 'built',
  },
  'GW-12': {
    text: 'A changed config restarts only what changed; an invalid one leaves the last good one in force',
    state: 'built',
  },
  'GW-13': {
    text: 'Server ids have one form; a name that does not fit gets a slug; a clash is an error',
    state: 'built',
  },
  'GW-14': {
    text: 'Wire names are short, unique after folding, stable, and looked up in a table, never parsed',
    state: 'built',
  },
  'GW-15': {
    text: 'Where people type a tool, every form is accepted: canonical, server/tool, wire, bare, glob',
    state: 'built',
  },
  'GW-16': {
    text: 'Both eras on both sides, on one endpoint; where client and server differ, what a server asks is bridged',
    state: 'built',
  },
  'GW-17': {
    text: 'What a server says passes untouched and in order, reaches the right party and nobody else, and survives a broken stream',
    state: 'built',
  },
  'GW-18': {
    text: 'Nothing that the conformance suite finds in a server is lost on the way through the gateway',
    state: 'partial',
    missing: 'the scenarios of authorization: the gateway is no OAuth client of its servers yet',
  },
  'GW-19': {
    text: 'Lists are in a fixed order and vary by credential only; one bad tool does not hide the others',
    state: 'partial',
    missing: 'selections of agents and profiles',
  },
  'GW-20': { text: 'Answers of multiplexed calls cannot be swapped, whatever a server sends', state: 'built' },
  'GW-21': { text: 'Bad input gets a precise refusal, costs little, and never ends the process', state: 'built' },
  'GW-22': {
    text: 'The hot path parses once, without web-standard requests and without a schema library',
    state: 'built',
  },
  'GW-23': {
    text: 'A governed and recorded call costs about what a proxy costs that does nothing; memory, sessions, lists and starts have limits that the bench measures',
    state: 'partial',
    missing: 'the goals that docs/benchmarks.md shows as missed',
  },
  'GW-24': {
    text: 'The bench prints every goal next to the noise of the machine, and its page is made from the figures of a run',
    state: 'built',
  },
  'GW-25': { text: 'createGateway gives the same gateway and the same pipeline inside a program', state: 'built' },
  'GW-26': {
    text: 'Resources, prompts, completions and what servers ask of clients are routed by owner, and judged, limited and recorded as tools are',
    state: 'partial',
    missing: 'sensitivity labels, and selections of agents and profiles',
  },
  'GW-27': {
    text: 'Several windows share one gateway, which ends after the last one left; two never write one state',
    state: 'built',
  },
  'GW-28': {
    text: 'Everything works on Linux; file tools use descriptors there and a tested fallback elsewhere',
    state: 'built',
  },
  'GOV-1': {
    text: 'Every tool that is found has an entry in tools.yaml: what is there is left alone, what is not is appended',
    state: 'built',
  },
  'GOV-2': {
    text: 'What stood in tools.yaml is there byte for byte after an append, or the file is left alone and that is told',
    state: 'built',
  },
  'GOV-3': {
    text: 'Discovery again changes nothing; two gateways at once lose no entry and write none twice',
    state: 'built',
  },
  'GOV-4': {
    text: 'Keys stand in any form, the strictest of several entries counts, and no name or text of a server can change the policy of another tool',
    state: 'built',
  },
  'GOV-5': {
    text: 'An entry has the fields that the page on tools.yaml explains; anything else is a warning with the one that was meant',
    state: 'partial',
    missing: 'sensitivity, sensitive_paths, isolated and result are read and not enforced yet',
  },
  'GOV-6': {
    text: 'The risk of a tool is told from the words of its name, its annotations and its schema, each with its reason',
    state: 'built',
  },
  'GOV-7': {
    text: 'What follows from a risk, the telling words and name patterns are data in config.yaml',
    state: 'built',
  },
  'GOV-8': {
    text: 'Permissions are a set; what an untrusted server says of its tools only ever adds to it',
    state: 'partial',
    missing: 'servers that are kept off the network: so far none is',
  },
  'GOV-9': {
    text: 'A tool whose definition changed is shown as it was reviewed and refused until a person who saw the change accepts it',
    state: 'partial',
    missing: 'the change in the web page',
  },
  'GOV-10': {
    text: 'What a definition hides raises its risk, is written as a comment, and is pointed out wherever tools are shown',
    state: 'partial',
    missing: 'the web page',
  },
  'GOV-11': {
    text: 'A saved edit is in force within a second; an invalid file leaves the last good one in force and says line and column',
    state: 'built',
  },
  'GOV-12': {
    text: 'A tool is open in the modes that its entry, its category and the policy of the mode leave',
    state: 'built',
  },
  'GOV-13': {
    text: 'LOCKDOWN leaves essential READ tools with approval, from the next dispatch on; RECOVERY leaves READ tools; a mode outlives a restart',
    state: 'partial',
    missing: 'other replicas',
  },
  'GOV-14': {
    text: 'The mode gets stricter by itself, by windows and durations that are set; only a person relaxes it',
    state: 'built',
  },
  'GOV-15': {
    text: 'Every path among the arguments is judged in its canonical form; forbidden wins',
    state: 'built',
  },
  'GOV-16': { text: 'Rules for single arguments, and patterns of linear time over all of them', state: 'built' },
  'GOV-17': {
    text: 'Arguments are checked against the input schema before anything else, and a violation names the field',
    state: 'built',
  },
  'GOV-18': {
    text: 'Keys and tokens are refused in arguments, taken out of results and of what servers tell, and in no record or error',
    state: 'built',
  },
  'GOV-19': {
    text: 'A call that needs approval waits, starves no other, shows everything about itself, and expires',
    state: 'built',
  },
  'GOV-20': {
    text: 'Answered over the API, on the command line, by the client where it may, by a signed web hook; the first answer wins',
    state: 'partial',
    missing: 'the web UI, and clients of launches that `run` makes',
  },
  'GOV-21': {
    text: 'Deny with a reason, once, for the session, always; bound to arguments and definition; always is shown first',
    state: 'built',
  },
  'GOV-22': {
    text: 'Whatever keeps an approval from coming refuses the call, which was never dispatched; a restart grants nothing',
    state: 'built',
  },
  'GOV-23': { text: 'unattended_paths and governance.auto_approve spell out what needs no person', state: 'built' },
  'GOV-24': {
    text: 'Every call and every change of the gateway is an event that can be asked for',
    state: 'partial',
    missing: 'health checks, and the events of isolation and sandboxes',
  },
  'GOV-25': {
    text: 'Every decision is one record: who, what, each step, the rule with file and line; explain tells it to a person',
    state: 'partial',
    missing: 'the label of the session before and after, and the handle of a shaped result',
  },
  'GOV-26': {
    text: 'Arguments are kept as audit.arguments says, and a key or a token among them never',
    state: 'built',
  },
  'GOV-27': {
    text: 'A call is recorded before it is dispatched, and that survives kill -9; one that cannot be recorded is refused; a changed log is found out',
    state: 'built',
  },
  'GOV-28': {
    text: 'audit finds records by what they say, follows, exports, and keeps no more than it should',
    state: 'built',
  },
  'GOV-29': {
    text: 'Rules can be only watched, and recorded calls be decided again by other rules',
    state: 'built',
  },
  'GOV-30': {
    text: 'Figures for Prometheus; traces and metrics by OpenTelemetry where an exporter is set, with the trace passed on',
    state: 'built',
  },
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
    text: 'Where an agent cannot be held to our server it is said; connect prints the entry to paste',
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
  'AG-22': {
    text: 'The API lists servers and tools for each agent, and no editor of a profile overwrites another unawares',
    state: 'built',
  },
  'KIT-1': {
    text: 'Callers of a kit server are told apart by verified tokens, and tools learn who calls from the scope of the call only',
    state: 'built',
  },
  'KIT-2': {
    text: 'Whatever a user and a session are called, their folder lies under the root and is shared with nobody',
    state: 'built',
  },
  'KIT-8': {
    text: 'Kit servers and clients are configured in the config.yaml of the gateway, with variables in every text, and no value is ever told',
    state: 'built',
  },
  'KIT-10': {
    text: 'Progress, cancellation, logging, structured output, resources, prompts, elicitation and icons in both eras from one definition, over stdio, Streamable HTTP and in memory',
    state: 'built',
  },
  'KIT-15': {
    text: 'A template shows a server and a client with all that the kit does, and every command of the walk through it runs as shown',
    state: 'built',
  },
  'KIT-16': {
    text: 'sallyport new server makes a project that installs, runs, and passes its own tests',
    state: 'built',
  },
  'KIT-3': {
    text: 'Agents see /workspace and nothing else: links, hard links, devices and swaps between check and use lead nowhere, and no host path is told',
    state: 'built',
  },
  'KIT-7': {
    text: 'Connectors work on data without MCP or a model: File, Csv, Json, Sql (SQLite and PostgreSQL, kept to reading by their own sessions) and OpenApi',
    state: 'built',
  },
  'KIT-5': {
    text: 'Every tool of the kit declares its permission; tools that reach out are refused once the session holds private data',
    state: 'built',
  },
  'KIT-6': {
    text: 'A session’s private data is kept outside every workspace, only rises whoever writes, and travels with results, signed',
    state: 'built',
  },
  'KIT-9': {
    text: 'Errors of tools have three tiers, told apart over the wire; the texts of bugs stay in the log',
    state: 'built',
  },
  'KIT-17': { text: 'A client for tests is one line away, in both protocol eras', state: 'built' },
  'SEN-1': {
    text: 'Sensitivity starts PUBLIC, only rises, is merged by maximum, and is durable before the result that raised it leaves',
    state: 'partial',
    missing: 'the label in the gateway',
  },
  'ISO-13': {
    text: 'Presets in characters, tokens, rows, lines, items and keys; all configurable, more can be named; under the threshold nothing is touched',
    state: 'partial',
    missing: 'context.presets and context.cap of the gateway',
  },
  'ISO-14': {
    text: 'Truncation knows JSON, JSON lines, CSV and TSV, logs, text, Markdown, XML, HTML, YAML and bytes, by content and declared type',
    state: 'built',
  },
  'ISO-15': {
    text: 'A shaped text is never longer than the threshold nor than the input; no cut splits a pair, a grapheme or JSON',
    state: 'built',
  },
  'ISO-16': {
    text: 'The whole result is saved before it is shaped, by a handle that belongs to the session; it can be paged; age and size limit what is kept',
    state: 'partial',
    missing: 'the built-in tool of the gateway',
  },
  'ISO-17': {
    text: 'structuredContent is whole or left out with the reason in _meta',
    state: 'partial',
    missing: 'results that pass through the gateway',
  },
  'KIT-4': {
    text: 'contextResult and the option result of a tool save what a function returns, and shape it',
    state: 'built',
  },
  'ISO-1': {
    text: 'isolated, isolatedTools and a tool’s own isolated say whose results stay out of the caller’s context',
    state: 'partial',
    missing: 'agents’ own settings files, read in place',
  },
  'ISO-2': {
    text: 'One pure function says whether a tool is isolated, on every path; a sub-agent’s calls are never isolated again',
    state: 'built',
  },
  'ISO-3': {
    text: 'A call that is not isolated asks no model, and a result that nothing has reason to change leaves as its bytes',
    state: 'built',
  },
  'ISO-4': {
    text: 'An isolated tool looks to its caller as without isolation, plus _intent where it can be used',
    state: 'built',
  },
  'ISO-5': {
    text: 'mcp-executor is a built-in agent whose every part can be said otherwise; switched off, its tools fail by name',
    state: 'built',
  },
  'ISO-6': {
    text: 'Each run of the sub-agent begins with nothing, has the one tool and a way to end, and is refused everything else',
    state: 'built',
  },
  'ISO-7': {
    text: 'What the sub-agent hands over it points at, so that it is as it was received; every limit ends a run by name',
    state: 'built',
  },
  'ISO-8': {
    text: 'The caller sees the result under the original name, isError and content intact, and in _meta what the run cost',
    state: 'built',
  },
  'ISO-9': {
    text: 'Whatever goes wrong is a tool error with its fix, or falls back to a bounded result',
    state: 'built',
  },
  'ISO-10': {
    text: 'Models of Anthropic, OpenAI, Google and any OpenAI-compatible endpoint; keys are never logged',
    state: 'built',
  },
  'ISO-11': {
    text: 'A hostile result can reach no other tool; where a schema is set only values that validate cross back',
    state: 'built',
  },
  'ISO-12': {
    text: 'The tokens of an isolated call are bounded and do not grow with the caller’s history; a benchmark prints them',
    state: 'built',
  },
  'KIT-11': {
    text: 'getMcpClient opens a strict client by its name in config.yaml, one with two connections where url_isolated is given; an unknown name is answered with the names',
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
} as const satisfies Record<string, Promised>
  ...GATEWAY_PROMISES,
  ...GOVERNANCE_PROMISES,
  ...AGENT_PROMISES,
  ...KIT_PROMISES,
  ...SENSITIVITY_PROMISES,
  ...ISOLATION_PROMISES,
} as const

export type PromiseId = keyof typeof PROMISES

/** Cites a promise in a test's title or body. */
export function promise(id: PromiseId): PromiseId {
  if (!Object.hasOwn(PROMISES, id)) throw new Error(`${id} is no promise of those below tests/promises.`)
  return id
}
