import type { Promised } from './promised.ts'

export const ISOLATION_PROMISES = {
  'ISO-1': {
    text: 'isolated, isolatedTools and a tool’s own isolated say whose results stay out of the caller’s context, in files of agents that are imported or included too; a misspelt key closes its entry',
    state: 'built',
  },
  'ISO-2': {
    text: 'One pure function says whether a tool is isolated, on every path; a sub-agent’s calls are never isolated again',
    state: 'built',
  },
  'ISO-3': {
    text: 'A call that is not isolated asks no model, and a result that no rule changes is passed on byte for byte',
    state: 'built',
  },
  'ISO-4': {
    text: 'An isolated tool looks to its caller the same as without isolation, plus _intent if it is used',
    state: 'built',
  },
  'ISO-5': {
    text: 'mcp-executor is a built-in agent whose every part can be configured; if it is switched off, its tools fail with its name',
    state: 'built',
  },
  'ISO-6': {
    text: 'Each run of the sub-agent begins with an empty context, has the one tool and a way to end, and is refused everything else',
    state: 'built',
  },
  'ISO-7': {
    text: 'The sub-agent refers to what it returns, after the tool’s result is there; text of a model is marked; above the budget every caller gets a preview and a handle; every limit ends a run with its name',
    state: 'built',
  },
  'ISO-8': {
    text: 'The caller sees the result under the original name, isError and content intact, and in _meta what the run cost',
    state: 'built',
  },
  'ISO-9': {
    text: 'Every failure is a tool error with its fix, or falls back to a bounded result',
    state: 'built',
  },
  'ISO-10': {
    text: 'Models of Anthropic, OpenAI, Google and any OpenAI-compatible endpoint; keys are never logged',
    state: 'built',
  },
  'ISO-11': {
    text: 'A hostile result can reach no other tool; if a schema is set, only values that validate are returned, and no other text',
    state: 'built',
  },
  'ISO-12': {
    text: 'The tokens of an isolated call are bounded and do not grow with the caller’s history; a benchmark prints them',
    state: 'built',
  },
  'ISO-13': {
    text: 'Presets in characters, tokens, rows, lines, items and keys; all configurable, more can be named; under the threshold nothing is touched. By default programs get results whole; an agent that its credential or URL names gets as much as it shows its model; what clients say of themselves can only lower that; what is cut fills its limit',
    state: 'built',
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
    text: 'The whole result is saved before it is shaped, by a handle that belongs to the session; it can be paged; no selection separates a tool from the reader of its results; a quarantined run gives no handle; age and size limit what is kept',
    state: 'built',
  },
  'ISO-17': {
    text: 'structuredContent is whole or left out with the reason in _meta; no output schema is listed that this would break',
    state: 'built',
  },
  'ISO-18': {
    text: 'The hooks of Gemini CLI and Claude Code deny isolated tools with the call to make instead; everything else continues, also after an error',
    state: 'built',
  },
  'ISO-19': { text: 'The docs say plainly what the hook can do and what only the gateway can', state: 'built' },
} as const satisfies Record<string, Promised>
